//! Decides the next step from the Job that deletes a tag. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use solar_render::report::Outcome;

use crate::controllers::pipeline::conditions::{Reason, types};
use crate::jobs::conditions::{Reason as JobReason, State};
use crate::jobs::index::FoundJob;
use crate::jobs::observe::{POD_INTERVAL, POD_TIMEOUT, Previous, observe};
use crate::jobs::snapshot::PodSnapshot;
use crate::runtime::conditions::find;

/// The first backoff after a failed deletion of a tag; it doubles with each failure.
pub(super) const MIN_BACKOFF: Duration = Duration::from_secs(10);
/// The maximum backoff.
pub(super) const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// How often an artifact with refused credentials is reconciled to check whether they have changed.
const CREDENTIALS_INTERVAL: Duration = Duration::from_secs(30);

/// The observed state of an artifact's clean-up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed<'a> {
    /// The Job, if it exists.
    pub(super) job: Option<&'a FoundJob>,
    /// Its pods.
    pub(super) pods: &'a [PodSnapshot],
    /// The artifact's conditions.
    pub(super) conditions: &'a [Condition],
    /// The current value of the annotation that requests a retry.
    pub(super) retry: Option<&'a str>,
    /// The resourceVersion of the push Secret, if it was read.
    pub(super) secret_version: Option<&'a str>,
    /// The wall clock.
    pub(super) now: Timestamp,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A Job is created.
    Start,
    /// The Job runs.
    Wait {
        /// When to reconcile again, unless a change does so earlier.
        requeue: Option<Duration>,
    },
    /// The tag is deleted.
    Done,
    /// The Job has failed, which is reported until the backoff has passed.
    Failed {
        /// AuthFailed or DeleteFailed.
        reason: Reason,
        /// The human-readable message.
        message: String,
        /// When to reconcile again.
        requeue: Duration,
    },
    /// The failed Job is deleted, and another one replaces it.
    Replace,
}

/// Decides the next step for an artifact's tag.
pub(super) fn step(observed: &Observed<'_>) -> Step {
    let Observed { job, pods, now, .. } = *observed;
    let Some(job) = job else { return Step::Start };
    let observation = observe(Some(&job.view), pods, Previous::default(), now);
    let Some(end) = &job.view.end else {
        return Step::Wait {
            requeue: observation.requeue,
        };
    };
    let ended_at = end.at.unwrap_or(now);
    let (reason, message) = match (end.complete, observation.state) {
        (true, _) => match observation.outcome {
            Some(Outcome::Deleted | Outcome::Absent) => return Step::Done,
            // The pods' own watch may be behind.
            None if now.duration_since(ended_at) < POD_TIMEOUT && !job.gone => return wait_for_pods(),
            _ => (
                Reason::DeleteFailed,
                "the Job has ended without reporting that the tag is deleted".to_owned(),
            ),
        },
        // The tag has other content: ours is gone.
        (
            false,
            Some(State::Failed {
                reason: JobReason::Conflict,
                ..
            }),
        ) => return Step::Done,
        (false, Some(State::Failed { reason, message })) => {
            let short = match reason {
                JobReason::AuthFailed => Reason::AuthFailed,
                _ => Reason::DeleteFailed,
            };
            (short, format!("{}: {message}", reason.as_str()))
        }
        (false, _) => return wait_for_pods(),
    };
    let is_asked = job.run.as_ref().is_some_and(|run| {
        let other_secret = observed.secret_version.is_some()
            && observed.secret_version != run.push_secret_version.as_deref();
        run.retry.as_deref() != observed.retry || other_secret
    });
    let left = remaining(observed.conditions, ended_at, now);
    if is_asked || left.is_zero() {
        return Step::Replace;
    }
    let requeue = if reason == Reason::AuthFailed {
        left.min(CREDENTIALS_INTERVAL)
    } else {
        left
    };
    Step::Failed {
        reason,
        message,
        requeue,
    }
}

fn wait_for_pods() -> Step {
    Step::Wait {
        requeue: Some(POD_INTERVAL),
    }
}

/// The remaining backoff of a deletion that failed at `failed_at`: the delay is as long as it has been failing.
pub(super) fn remaining(conditions: &[Condition], failed_at: Timestamp, now: Timestamp) -> Duration {
    let since = find(conditions, types::OCI_CLEANUP).map_or(failed_at, |one| one.last_transition_time.0);
    let failing = failed_at
        .duration_since(since)
        .max(SignedDuration::ZERO)
        .unsigned_abs();
    let backoff = failing.clamp(MIN_BACKOFF, MAX_BACKOFF);
    let passed = now
        .duration_since(failed_at)
        .max(SignedDuration::ZERO)
        .unsigned_abs();
    backoff.saturating_sub(passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Run;
    use crate::controllers::pipeline::conditions::{ArtifactState, artifact};
    use crate::jobs::snapshot::{JobEnd, JobSnapshot, PodEnd};
    use crate::runtime::conditions::merge;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn job(complete: Option<bool>, ended: i64) -> FoundJob {
        let end = complete.map(|complete| JobEnd {
            complete,
            reason: "PodFailurePolicy".into(),
            message: "a pod failed".into(),
            at: Some(at(ended)),
        });
        FoundJob {
            view: JobSnapshot {
                namespace: "system".into(),
                name: "delete-1".into(),
                uid: "job-1".into(),
                created: Some(at(0)),
                deleting: false,
                active: 0,
                succeeded: 0,
                failed: 1,
                started: Some(at(0)),
                end,
                refusal: None,
                suspended: false,
            },
            gone: false,
            watched: true,
            run: Some(Run {
                push_secret_version: Some("7".into()),
                ..Run::default()
            }),
        }
    }

    fn pod(exit_code: i32, message: &str) -> PodSnapshot {
        PodSnapshot {
            namespace: "system".into(),
            name: "delete-1-a".into(),
            uid: "pod-1".into(),
            job_uid: "job-1".into(),
            created: Some(at(0)),
            end: Some(PodEnd {
                started: Some(at(1)),
                finished: Some(at(2)),
                exit_code: Some(exit_code),
                reason: "Error".into(),
                message: message.into(),
            }),
            waiting: None,
            ran: true,
            deleting: false,
        }
    }

    fn failing_since(second: i64) -> Vec<Condition> {
        let failed = ArtifactState::CleanupFailed {
            reason: Reason::AuthFailed,
            message: "401".into(),
        };
        merge(&[], &artifact(&failed), None, at(second))
    }

    fn result(class: &str) -> String {
        format!(
            r#"{{"schema":1,"error":{{"class":"{class}","transient":false,"message":"what {class} said"}}}}"#
        )
    }

    fn of(job: Option<&FoundJob>, pods: &[PodSnapshot], conditions: &[Condition], now: i64) -> Step {
        step(&Observed {
            job,
            pods,
            conditions,
            retry: None,
            secret_version: Some("7"),
            now: at(now),
        })
    }

    #[test]
    fn a_tag_is_deleted_when_the_renderer_reports_it() {
        assert_eq!(of(None, &[], &[], 0), Step::Start);
        let running = of(Some(&job(None, 0)), &[], &[], 5);
        assert!(matches!(running, Step::Wait { .. }), "{running:?}");
        for outcome in ["deleted", "absent"] {
            let message = format!(r#"{{"schema":1,"outcome":"{outcome}","reference":"h/r:1"}}"#);
            let done = of(Some(&job(Some(true), 3)), &[pod(0, &message)], &[], 3);
            assert_eq!(done, Step::Done, "{outcome}");
        }
        // The tag has other content.
        let other = of(Some(&job(Some(false), 3)), &[pod(3, &result("digest"))], &[], 3);
        assert_eq!(other, Step::Done);
        // Another program, or a push.
        let pushed = pod(0, r#"{"schema":1,"outcome":"created","reference":"h/r:1"}"#);
        let failed = of(Some(&job(Some(true), 3)), &[pushed], &[], 3);
        assert!(
            matches!(
                failed,
                Step::Failed {
                    reason: Reason::DeleteFailed,
                    ..
                }
            ),
            "{failed:?}"
        );
        // Its pods may still arrive.
        assert!(matches!(
            of(Some(&job(Some(true), 3)), &[], &[], 4),
            Step::Wait { .. }
        ));
        assert!(matches!(
            of(Some(&job(Some(true), 3)), &[], &[], 13),
            Step::Replace | Step::Failed { .. }
        ));
    }

    #[test]
    fn a_refusal_of_the_credentials_is_distinguished_from_other_errors() {
        let table = [
            ("auth", 4, Reason::AuthFailed, "AuthFailed: what auth said"),
            (
                "refused",
                4,
                Reason::DeleteFailed,
                "RegistryRefused: what refused said",
            ),
            (
                "network",
                5,
                Reason::DeleteFailed,
                "RegistryUnavailable: what network said",
            ),
        ];
        for (class, code, reason, message) in table {
            let found = of(Some(&job(Some(false), 3)), &[pod(code, &result(class))], &[], 3);
            let expected = Step::Failed {
                reason,
                message: message.into(),
                requeue: MIN_BACKOFF,
            };
            assert_eq!(found, expected, "{class}");
        }
    }

    #[test]
    fn it_is_retried_with_backoff_and_at_once_on_request_or_changed_credentials() {
        let pods = [pod(4, &result("refused"))];
        // Failing since 0; when the last Job ended, now, the remaining backoff.
        for (ended, now, left) in [
            (0, 0, 10),
            (0, 9, 1),
            (40, 40, 40),
            (40, 70, 10),
            (9000, 9000, 300),
        ] {
            let found = of(Some(&job(Some(false), ended)), &pods, &failing_since(0), now);
            assert!(
                matches!(&found, Step::Failed { requeue, .. } if *requeue == Duration::from_secs(left)),
                "{ended} {now}: {found:?}"
            );
        }
        assert_eq!(
            of(Some(&job(Some(false), 40)), &pods, &failing_since(0), 80),
            Step::Replace
        );
        let job = job(Some(false), 40);
        let conditions = failing_since(0);
        let observed = Observed {
            job: Some(&job),
            pods: &pods,
            conditions: &conditions,
            retry: None,
            secret_version: Some("8"),
            now: at(41),
        };
        assert_eq!(step(&observed), Step::Replace, "another Secret");
        let asked = Observed {
            secret_version: None,
            retry: Some("now"),
            ..observed
        };
        assert_eq!(step(&asked), Step::Replace, "asked");
    }

    #[test]
    fn refused_credentials_are_checked_every_half_minute() {
        let found = of(
            Some(&job(Some(false), 400)),
            &[pod(4, &result("auth"))],
            &failing_since(0),
            401,
        );
        assert!(
            matches!(found, Step::Failed { requeue, .. } if requeue == CREDENTIALS_INTERVAL),
            "{found:?}"
        );
    }
}
