//! Who may read `/metrics`: [`MetricsAccess`] asks the cluster, as the API server's own pages do.
//!
//! A scraper sends the token of its ServiceAccount. TokenReview says whose it is, SubjectAccessReview whether that user
//! may `get` the non-resource URL `/metrics`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// How long an answer of the cluster counts.
const ANSWER_LIFE: Duration = Duration::from_secs(60);
/// How many answers are kept at most.
const MAX_ANSWERS: usize = 100;
/// The length from which on nothing is a token.
const MAX_TOKEN: usize = 16 << 10;
/// How many tokens the API server is asked about at a time: whoever sends many wrong ones must not keep it busy.
const MAX_REVIEWS: usize = 4;
/// How long the API server may take to answer, and a token waits for its turn.
const REVIEW_LIMIT: Duration = Duration::from_secs(10);

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// The user may read it.
    Allowed,
    /// There is no token, or it is nobody's.
    Unauthenticated,
    /// The user may not.
    Forbidden,
    /// The API server can't be asked.
    Unknown,
}

/// Asks the cluster, and remembers its answers for a minute.
#[derive(Clone)]
pub(super) struct MetricsAccess {
    client: Client,
    answers: Arc<Mutex<Answers>>,
    turns: Arc<Semaphore>,
}

/// By a hash of the token: the token itself is not kept.
type Answers = BTreeMap<[u8; 32], (Instant, Access)>;

impl MetricsAccess {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            answers: Arc::default(),
            turns: Arc::new(Semaphore::new(MAX_REVIEWS)),
        }
    }

    /// Whether whoever sent these headers may read `/metrics`.
    pub(super) async fn check(&self, headers: &HeaderMap) -> Access {
        let Some(token) = bearer(headers) else {
            return Access::Unauthenticated;
        };
        let key: [u8; 32] = Sha256::digest(token).into();
        if let Some(known) = remembered(&mut self.lock(), &key, Instant::now()) {
            return known;
        }
        let asked = async {
            let _turn = self.turns.acquire().await;
            self.ask(token).await
        };
        let access = match timeout(REVIEW_LIMIT, asked).await {
            Ok(Ok(access)) => access,
            Ok(Err(error)) => {
                tracing::warn!(%error, "can't ask who may read /metrics");
                return Access::Unknown;
            }
            Err(_) => return Access::Unknown,
        };
        let mut answers = self.lock();
        if answers.len() >= MAX_ANSWERS {
            answers.clear();
        }
        answers.insert(key, (Instant::now(), access));
        access
    }

    async fn ask(&self, token: &str) -> kube::Result<Access> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let review = reviews.create(&PostParams::default(), &review).await?;
        let status = review.status.filter(|status| status.authenticated == Some(true));
        let Some(user) = status.and_then(|status| status.user) else {
            return Ok(Access::Unauthenticated);
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let review = reviews
            .create(&PostParams::default(), &access_review(user))
            .await?;
        Ok(match review.status.is_some_and(|status| status.allowed) {
            true => Access::Allowed,
            false => Access::Forbidden,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn access_review(user: UserInfo) -> SubjectAccessReview {
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some("/metrics".to_owned()),
                verb: Some("get".to_owned()),
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

/// The token of `Authorization: Bearer TOKEN`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let is_token = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= MAX_TOKEN;
    is_token.then_some(token)
}

/// The answer to a token, if it is young enough. One that is not is forgotten.
fn remembered(answers: &mut Answers, key: &[u8; 32], now: Instant) -> Option<Access> {
    let (at, access) = *answers.get(key)?;
    if now.duration_since(at) >= ANSWER_LIFE {
        answers.remove(key);
        return None;
    }
    Some(access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bearer_tokens_are_tokens() {
        let longest = format!("Bearer {}", "x".repeat(MAX_TOKEN));
        let too_long = format!("{longest}x");
        let cases = [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            (&longest, Some(&longest["Bearer ".len()..])),
            (&too_long, None),
            ("Bearer", None),
            ("Bearer ", None),
            ("Basic YTpi", None),
            ("", None),
        ];
        for (header, expected) in cases {
            let headers = [(AUTHORIZATION, header.parse().unwrap())].into_iter().collect();
            assert_eq!(bearer(&headers), expected, "{header}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }

    #[test]
    fn answers_are_forgotten_after_a_minute() {
        let now = Instant::now();
        let mut answers: Answers = [([0; 32], (now, Access::Allowed))].into();
        let almost = now + ANSWER_LIFE - Duration::from_millis(1);
        assert_eq!(remembered(&mut answers, &[0; 32], almost), Some(Access::Allowed));
        assert_eq!(remembered(&mut answers, &[1; 32], almost), None);
        assert_eq!(remembered(&mut answers, &[0; 32], now + ANSWER_LIFE), None);
        assert!(answers.is_empty());
    }
}
