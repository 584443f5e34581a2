//! Whether a request is retried, and after which delay: [`decide`], a pure function.
//!
//! Only transient failures are retried. A registry that understood the request and refused it
//! (400, 401, 403, 404, 413, 501 …) would refuse it again.

use std::time::{Duration, SystemTime};

/// The total number of attempts to resolve a name.
const RESOLVE_ATTEMPTS: u32 = 2;
/// The total number of attempts with a link to a server's storage that the server makes anew for each.
const LINK_ATTEMPTS: u32 = 3;

/// The number of attempts of a request, and the delays between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The total number of attempts, including the first; 0 counts as 1.
    pub attempts: u32,
    /// The maximum delay before the second attempt; it doubles with each one.
    pub base: Duration,
    /// The maximum backoff delay.
    pub cap: Duration,
    /// The maximum delay that a registry may request with Retry-After.
    pub retry_after_cap: Duration,
}

impl Default for RetryPolicy {
    /// 8 attempts, delays from 200 ms to at most 10 s, Retry-After of at most 60 s.
    fn default() -> Self {
        Self {
            attempts: 8,
            base: Duration::from_millis(200),
            cap: Duration::from_secs(10),
            retry_after_cap: Duration::from_secs(60),
        }
    }
}

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// No connection.
    Connect,
    /// The name can't be resolved: usually a typo, sometimes a resolver that is slow to start.
    Resolve,
    /// No response, or no progress, within the timeout.
    Timeout,
    /// The connection was closed before the response was complete.
    Cut,
    /// The server responded with this status.
    Status(u16),
    /// The upload session was lost, as on a restart of the registry, or behind a load balancer. A new session may
    /// succeed.
    SessionLost,
    /// The storage that a server redirects to refused the link (401, 403), as it does once it has expired. Another
    /// request gets a fresh one.
    LinkExpired,
    /// The registry doesn't see a blob of the manifest yet: that may take a moment, above all if several clients upload
    /// the same blob.
    BlobUnseen,
}

/// The decision after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Retry after this delay.
    Retry(Duration),
    /// Report the failure.
    GiveUp,
}

/// Decides after attempt number `attempt` (from 1). `retry_after` is the delay that the server requested; `entropy`
/// adds jitter, to spread clients that failed together.
pub fn decide(
    policy: &RetryPolicy,
    attempt: u32,
    cause: Cause,
    retry_after: Option<Duration>,
    entropy: u64,
) -> Decision {
    let attempts = match cause {
        Cause::Resolve => policy.attempts.min(RESOLVE_ATTEMPTS),
        Cause::LinkExpired => policy.attempts.min(LINK_ATTEMPTS),
        _ => policy.attempts,
    };
    if attempt >= attempts || !is_transient(cause) {
        return Decision::GiveUp;
    }
    let wait = match retry_after {
        Some(asked) if !asked.is_zero() => asked.min(policy.retry_after_cap),
        _ => backoff(policy, attempt, entropy),
    };
    Decision::Retry(wait)
}

/// Whether the same request may succeed later.
pub fn is_transient(cause: Cause) -> bool {
    match cause {
        Cause::Connect
        | Cause::Resolve
        | Cause::Timeout
        | Cause::Cut
        | Cause::SessionLost
        | Cause::LinkExpired
        | Cause::BlobUnseen => true,
        Cause::Status(501) => false,
        Cause::Status(status) => is_transient_status(status),
    }
}

/// Whether a status is about the server's state, not about the request.
pub(in crate::oci) fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..=599)
}

/// Between half of the exponential delay and all of it.
fn backoff(policy: &RetryPolicy, attempt: u32, entropy: u64) -> Duration {
    let factor = 1u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let full = policy.base.saturating_mul(factor).min(policy.cap);
    let half = full / 2;
    let share = u32::try_from(entropy % 1024).unwrap_or(0);
    half + half.saturating_mul(share) / 1023
}

/// Reads a Retry-After header: seconds, or an HTTP date (RFC 9110, 10.2.3). A past date means no delay.
pub fn parse_retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

/// Reads a `RateLimit` header, as Hugging Face sends it with 429: `"api";r=0;t=55` says that nothing remains of the
/// limit for 55 seconds. The longest of several.
pub fn parse_rate_limit(text: &str) -> Option<Duration> {
    let seconds = text.split(',').filter_map(|limit| {
        let value = |wanted: &str| {
            let mut pairs = limit.split(';').filter_map(|part| part.trim().split_once('='));
            pairs.find(|(name, _)| *name == wanted)?.1.parse::<u64>().ok()
        };
        value("t").filter(|_| value("r") == Some(0))
    });
    seconds.max().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn only_transient_failures_are_retried() {
        let policy = RetryPolicy::default();
        let retried = |cause| matches!(decide(&policy, 1, cause, None, 0), Decision::Retry(_));
        for cause in [
            Cause::Connect,
            Cause::Timeout,
            Cause::Cut,
            Cause::SessionLost,
            Cause::LinkExpired,
            Cause::BlobUnseen,
        ] {
            assert!(retried(cause), "{cause:?}");
        }
        for status in [408, 429, 500, 502, 503, 504, 599] {
            assert!(retried(Cause::Status(status)), "{status}");
        }
        for status in [200, 301, 400, 401, 403, 404, 405, 413, 416, 501] {
            assert!(!retried(Cause::Status(status)), "{status}");
        }
    }

    #[test]
    fn delays_double_within_jitter_up_to_the_cap_and_end_after_the_last_attempt() {
        let policy = RetryPolicy::default();
        let table = [
            (1, 200),
            (2, 400),
            (3, 800),
            (4, 1600),
            (5, 3200),
            (6, 6400),
            (7, 10_000),
        ];
        for (attempt, full) in table {
            let at = |entropy| decide(&policy, attempt, Cause::Connect, None, entropy);
            assert_eq!(at(0), Decision::Retry(MS(full / 2)), "attempt {attempt}");
            assert_eq!(at(1023), Decision::Retry(MS(full)), "attempt {attempt}");
            for entropy in [1, 77, u64::MAX] {
                let Decision::Retry(wait) = at(entropy) else {
                    panic!("attempt {attempt} gave up");
                };
                assert!(wait >= MS(full / 2) && wait <= MS(full), "{wait:?}");
            }
        }
        assert_eq!(decide(&policy, 8, Cause::Connect, None, 0), Decision::GiveUp);
        // A typo in a host's name once took 18 s.
        assert_eq!(
            decide(&policy, 1, Cause::Resolve, None, 0),
            Decision::Retry(MS(100))
        );
        assert_eq!(decide(&policy, 2, Cause::Resolve, None, 0), Decision::GiveUp);
        let expired = |attempt| decide(&policy, attempt, Cause::LinkExpired, None, 0);
        assert_eq!(expired(2), Decision::Retry(MS(200)));
        assert_eq!(expired(LINK_ATTEMPTS), Decision::GiveUp);
        let patient = RetryPolicy {
            attempts: 100,
            ..policy
        };
        assert_eq!(
            decide(&patient, 64, Cause::Connect, None, 1023),
            Decision::Retry(MS(10_000))
        );
    }

    #[test]
    fn retry_after_is_honoured_and_capped() {
        let policy = RetryPolicy::default();
        let after = |seconds| {
            decide(
                &policy,
                1,
                Cause::Status(429),
                Some(Duration::from_secs(seconds)),
                0,
            )
        };
        assert_eq!(after(3), Decision::Retry(MS(3000)));
        assert_eq!(after(3600), Decision::Retry(MS(60_000)));
        assert_eq!(after(0), Decision::Retry(MS(100)));
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let table = [
            ("7", Some(7)),
            (" 7 ", Some(7)),
            ("Sun, 06 Nov 1994 08:49:40 GMT", Some(3)),
            ("Sunday, 06-Nov-94 08:49:40 GMT", Some(3)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("", None),
            ("soon", None),
            ("-1", None),
        ];
        for (text, seconds) in table {
            assert_eq!(
                parse_retry_after(text, now),
                seconds.map(Duration::from_secs),
                "{text}"
            );
        }
    }

    #[test]
    fn a_used_up_limit_says_when_it_is_reset() {
        let table = [
            ("\"api\";r=0;t=55", Some(55)),
            (" \"api\" ; r=0 ; t=7 ", Some(7)),
            (
                "\"api\";r=0;t=55, \"pages\";r=0;t=240, \"resolvers\";r=9;t=300",
                Some(240),
            ),
            ("\"api\";r=12;t=55", None),
            ("\"api\";r=0", None),
            ("\"api\";t=55", None),
            ("\"api\";r=0;t=-1", None),
            ("", None),
        ];
        for (text, seconds) in table {
            assert_eq!(parse_rate_limit(text), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
