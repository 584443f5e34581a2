//! Registry authentication: challenges (RFC 9110, 11.6.1), Docker's token service, and the state between requests. Only
//! the pure parts; the client sends the requests.
//!
//! Source: the token authentication specification of CNCF distribution.

use std::time::Duration;

use base64::Engine as _;
use http::HeaderValue;
use tokio::time::Instant;

use crate::oci::auth::credentials::{CredentialLookup, Credentials};
use crate::secret::Secret;

/// The lifetime of a token without `expires_in` (the specification's 60 s).
const DEFAULT_LIFE: u64 = 60;
/// A token that expires within this time is no longer used.
const MARGIN: Duration = Duration::from_secs(5);

/// The authentication state of one registry.
#[derive(Debug, Default)]
pub(in crate::oci) struct Session {
    /// The current header.
    pub(in crate::oci) held: Option<Held>,
    /// The result of the credential lookup, which is done once.
    pub(in crate::oci) found: Option<CredentialLookup>,
}

/// An Authorization header in use.
#[derive(Debug, Clone)]
pub(in crate::oci) struct Held {
    /// The header, marked as sensitive.
    pub(in crate::oci) header: HeaderValue,
    /// Whether it is based on the user's credentials (a token may be anonymous).
    pub(in crate::oci) authenticated: bool,
    expires: Option<Instant>,
}

/// One challenge of a WWW-Authenticate header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::oci) struct Challenge {
    /// The scheme, in lower case.
    pub(in crate::oci) scheme: String,
    /// The parameters, with names in lower case.
    pub(in crate::oci) parameters: Vec<(String, String)>,
}

/// A token server's response.
#[derive(serde::Deserialize)]
pub(in crate::oci) struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

impl Session {
    /// The current header, unless it is about to expire.
    pub(in crate::oci) fn current(&self) -> Option<Held> {
        self.held
            .clone()
            .filter(|held| held.expires.is_none_or(|end| Instant::now() + MARGIN < end))
    }
}

impl Held {
    pub(in crate::oci) fn basic(username: &str, password: &Secret) -> Option<Self> {
        Some(Self {
            header: basic(username, password)?,
            authenticated: true,
            expires: None,
        })
    }

    pub(in crate::oci) fn bearer(token: &Secret, authenticated: bool, life: Option<u64>) -> Option<Self> {
        Some(Self {
            header: sensitive(&format!("Bearer {}", token.expose()))?,
            authenticated,
            expires: life.map(|seconds| Instant::now() + Duration::from_secs(seconds.min(86_400))),
        })
    }
}

impl TokenAnswer {
    /// The token, and its lifetime in seconds.
    pub(in crate::oci) fn into_token(self) -> Option<(Secret, u64)> {
        let token = self
            .token
            .filter(|text| !text.is_empty())
            .or(self.access_token)
            .filter(|text| !text.is_empty())?;
        Some((Secret::new(token), self.expires_in.unwrap_or(DEFAULT_LIFE)))
    }
}

/// A Basic header.
pub(in crate::oci) fn basic(username: &str, password: &Secret) -> Option<HeaderValue> {
    let pair = format!("{username}:{}", password.expose());
    let coded = base64::engine::general_purpose::STANDARD.encode(pair);
    sensitive(&format!("Basic {coded}"))
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl Challenge {
    /// A parameter's value.
    pub(in crate::oci) fn get(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// The challenge to answer with these credentials: Bearer before Basic, and Basic only with a user name.
pub(in crate::oci) fn choose(
    challenges: Vec<Challenge>,
    credentials: Option<&Credentials>,
) -> Option<Challenge> {
    let can_basic = matches!(credentials, Some(Credentials::Basic { .. }));
    let by = |scheme: &str| challenges.iter().find(|one| one.scheme == scheme);
    by("bearer")
        .or_else(|| by("basic").filter(|_| can_basic))
        .cloned()
}

/// Parses all WWW-Authenticate headers: several challenges may share one. Malformed ones are skipped.
pub(in crate::oci) fn parse_challenges<'h>(headers: impl Iterator<Item = &'h str>) -> Vec<Challenge> {
    let mut list = Vec::new();
    for header in headers {
        for item in split_outside_quotes(header) {
            let item = item.trim();
            if item.is_empty() {
                continue;
            }
            let before_equals = item.split('=').next().unwrap_or(item);
            let parameter = match before_equals.trim_end().split_once(char::is_whitespace) {
                // `Bearer realm="…"` or `Bearer`: a new challenge.
                Some((scheme, _)) => {
                    list.push(Challenge::new(scheme));
                    item.get(scheme.len()..).unwrap_or("")
                }
                None if !item.contains('=') => {
                    list.push(Challenge::new(item));
                    continue;
                }
                None => item,
            };
            if let (Some(challenge), Some((name, value))) = (list.last_mut(), parameter.split_once('=')) {
                challenge
                    .parameters
                    .push((name.trim().to_ascii_lowercase(), unquote(value.trim())));
            }
        }
    }
    list
}

impl Challenge {
    fn new(scheme: &str) -> Self {
        Self {
            scheme: scheme.to_ascii_lowercase(),
            parameters: Vec::new(),
        }
    }
}

fn split_outside_quotes(text: &str) -> Vec<&str> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |character| {
        let splits = character == ',' && !quoted;
        if character == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = character == '\\' && quoted && !escaped;
        splits
    })
    .collect()
}

fn unquote(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"') else {
        return value.to_owned();
    };
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut plain = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next()),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(scheme: &str, parameters: &[(&str, &str)]) -> Challenge {
        Challenge {
            scheme: scheme.to_owned(),
            parameters: parameters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn challenges_are_parsed_in_all_their_forms() {
        let table: [(&[&str], Vec<Challenge>); 7] = [
            (
                &[r#"Bearer realm="https://a/t?x=1,2",service="s",scope="repository:a/b:pull,push""#],
                vec![challenge(
                    "bearer",
                    &[
                        ("realm", "https://a/t?x=1,2"),
                        ("service", "s"),
                        ("scope", "repository:a/b:pull,push"),
                    ],
                )],
            ),
            (
                &[r#"Basic realm="a \"b\"", Bearer realm=x"#],
                vec![
                    challenge("basic", &[("realm", "a \"b\"")]),
                    challenge("bearer", &[("realm", "x")]),
                ],
            ),
            (
                &["BASIC", "bearer Realm = \"x\" , service=s"],
                vec![
                    challenge("basic", &[]),
                    challenge("bearer", &[("realm", "x"), ("service", "s")]),
                ],
            ),
            (&["Negotiate"], vec![challenge("negotiate", &[])]),
            (&[""], vec![]),
            (&["realm=x"], vec![]),
            (
                &["Basic realm=\"open"],
                vec![challenge("basic", &[("realm", "open")])],
            ),
        ];
        for (headers, expected) in table {
            assert_eq!(parse_challenges(headers.iter().copied()), expected, "{headers:?}");
        }
    }

    #[test]
    fn bearer_is_preferred_and_basic_needs_a_user() {
        let both = || vec![challenge("basic", &[]), challenge("bearer", &[])];
        let user = Credentials::Basic {
            username: "u".into(),
            password: Secret::new("p"),
        };
        assert_eq!(choose(both(), Some(&user)).unwrap().scheme, "bearer");
        let only_basic = || vec![challenge("basic", &[])];
        assert_eq!(choose(only_basic(), Some(&user)).unwrap().scheme, "basic");
        assert_eq!(choose(only_basic(), None), None);
    }

    #[test]
    fn headers_are_never_in_debug_output() {
        let held = Held::basic("u", &Secret::new("hunter2")).unwrap();
        let shown = format!("{held:?}");
        assert!(!shown.contains("dTpo"), "{shown}");
    }

    proptest::proptest! {
        #[test]
        fn no_header_makes_it_panic(text in "\\PC*", junk in "[a-zA-Z=,\"\\\\ ]*") {
            let _ = parse_challenges([text.as_str(), junk.as_str()].into_iter());
        }
    }
}
