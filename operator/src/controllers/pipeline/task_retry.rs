//! When a failed RenderTask of a Target is retried: by itself after a temporary failure, such as a registry's outage,
//! and at once when the Target's annotation requests it.
//!
//! The RenderTask's own annotation holds the state: `<requested value>/<number of automatic retries since>`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::jobs::conditions::Reason;

/// The delay after the first failure; it doubles with each retry.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
/// The maximum delay.
const MAX_PAUSE: Duration = Duration::from_secs(900);
/// The reasons of temporary failures.
const TEMPORARY: [Reason; 8] = [
    Reason::RegistryUnavailable,
    Reason::InputOutput,
    Reason::RendererCrashed,
    Reason::Cancelled,
    Reason::DeadlineExceeded,
    Reason::BackoffLimitExceeded,
    Reason::Evicted,
    Reason::JobLost,
];

/// A RenderTask that has failed.
#[derive(Debug, Clone, Copy)]
pub struct FailedTask<'a> {
    /// The value of its retry annotation.
    pub annotation: Option<&'a str>,
    /// Why it failed.
    pub reason: &'a str,
    /// When it failed.
    pub ended: Option<Timestamp>,
}

/// When it is retried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retry {
    /// Never: it would fail again.
    Never,
    /// Now, by setting its retry annotation to this value.
    Now(String),
    /// After this delay.
    After(Duration),
}

/// Decides when a failed task is retried. `asked`: the value of the Target's own retry annotation.
pub fn retry(task: FailedTask<'_>, asked: &str, now: Timestamp) -> Retry {
    let (answered, count) = parse(task.annotation.unwrap_or(""));
    if answered != asked {
        return Retry::Now(format!("{asked}/0"));
    }
    if !is_temporary(task.reason) {
        return Retry::Never;
    }
    let pause = FIRST_PAUSE
        .saturating_mul(2_u32.saturating_pow(count))
        .min(MAX_PAUSE);
    let since = task
        .ended
        .map_or(SignedDuration::ZERO, |ended| now.duration_since(ended));
    let since = Duration::try_from(since).unwrap_or_default();
    match pause.checked_sub(since).filter(|left| !left.is_zero()) {
        Some(left) => Retry::After(left),
        None => Retry::Now(format!("{asked}/{}", count.saturating_add(1))),
    }
}

/// Whether a task that failed with this reason is retried by itself.
pub fn is_temporary(reason: &str) -> bool {
    TEMPORARY.iter().any(|one| one.as_str() == reason)
}

fn parse(annotation: &str) -> (&str, u32) {
    let parts = annotation.rsplit_once('/');
    let parsed = parts.and_then(|(answered, count)| Some((answered, count.parse().ok()?)));
    parsed.unwrap_or(("", 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_failures_are_retried_with_backoff() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let after = |seconds| Retry::After(Duration::from_secs(seconds));
        let now = |value: &str| Retry::Now(value.to_owned());
        // The reason, the task's annotation, the Target's, seconds since the end; the expected retry.
        let table = [
            ("RegistryUnavailable", None, "", 0, after(60)),
            ("RegistryUnavailable", None, "", 59, after(1)),
            ("RegistryUnavailable", None, "", 60, now("/1")),
            ("RegistryUnavailable", Some("/1"), "", 60, after(60)),
            ("RegistryUnavailable", Some("/2"), "", 300, now("/3")),
            ("RegistryUnavailable", Some("/40"), "", 0, after(900)),
            (
                "RegistryUnavailable",
                Some("/4294967295"),
                "",
                900,
                now("/4294967295"),
            ),
            ("AuthFailed", None, "", 9999, Retry::Never),
            ("Conflict", Some("/1"), "", 9999, Retry::Never),
            // A retry is requested, and requested again.
            ("AuthFailed", None, "a/b", 0, now("a/b/0")),
            ("AuthFailed", Some("a/b/0"), "a/b", 9999, Retry::Never),
            ("AuthFailed", Some("a/b/0"), "c", 0, now("c/0")),
            ("Evicted", Some("c/0"), "c", 60, now("c/1")),
            // Set by a user on the task itself.
            ("Evicted", Some("by hand"), "", 0, after(60)),
        ];
        for (reason, annotation, asked, since, expected) in table {
            let task = FailedTask {
                annotation,
                reason,
                ended: Some(at(1000)),
            };
            let found = retry(task, asked, at(1000 + since));
            assert_eq!(found, expected, "{reason} {annotation:?} {asked} {since}");
        }
        // A clock that was set back.
        let task = FailedTask {
            annotation: None,
            reason: "Evicted",
            ended: Some(at(1000)),
        };
        assert_eq!(retry(task, "", at(1)), after(60));
    }
}
