//! When a failed RenderTask of a Target runs again: by itself after a failure that may pass, such as a registry's outage,
//! and at once when somebody asks for it at the Target.
//!
//! The RenderTask's own annotation counts: `<what was asked for>/<how often by itself since>`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::jobs::conditions::Reason;

/// After the first failure; each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(900);
/// The reasons of failures that may pass.
const PASSING: [Reason; 8] = [
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
    /// When.
    pub ended: Option<Timestamp>,
}

/// What is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retry {
    /// Nothing: the same would happen.
    Never,
    /// It runs again when its retry annotation has this value.
    Now(String),
    /// It runs again after this.
    After(Duration),
}

/// What is to be done about a failed task. `asked`: the value of the Target's own retry annotation.
pub fn retry(task: FailedTask<'_>, asked: &str, now: Timestamp) -> Retry {
    let (answered, count) = parse(task.annotation.unwrap_or(""));
    if answered != asked {
        return Retry::Now(format!("{asked}/0"));
    }
    if !PASSING.iter().any(|reason| reason.as_str() == task.reason) {
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

fn parse(annotation: &str) -> (&str, u32) {
    let parts = annotation.rsplit_once('/');
    let parsed = parts.and_then(|(answered, count)| Some((answered, count.parse().ok()?)));
    parsed.unwrap_or(("", 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again_with_longer_and_longer_pauses() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let after = |seconds| Retry::After(Duration::from_secs(seconds));
        let now = |value: &str| Retry::Now(value.to_owned());
        // The reason, the task's annotation, the Target's, seconds since the end; what is done.
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
            // Somebody asks, and asks again.
            ("AuthFailed", None, "a/b", 0, now("a/b/0")),
            ("AuthFailed", Some("a/b/0"), "a/b", 9999, Retry::Never),
            ("AuthFailed", Some("a/b/0"), "c", 0, now("c/0")),
            ("Evicted", Some("c/0"), "c", 60, now("c/1")),
            // Set by hand at the task itself.
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
