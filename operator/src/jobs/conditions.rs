//! A Job-backed resource: its [`State`], and the conditions that follow from it.

use crate::runtime::conditions::{ConditionReason, MAX_MESSAGE, RECONCILE_FAILED};

/// The types of conditions.
pub mod kinds {
    /// The Job exists and is not finished.
    pub const JOB_SCHEDULED: &str = "JobScheduled";
    /// The Job is complete.
    pub const JOB_SUCCEEDED: &str = "JobSucceeded";
    /// The Job has failed for good.
    pub const JOB_FAILED: &str = "JobFailed";
    pub use crate::runtime::conditions::{READY, STALLED};
}

/// The reason of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The Job exists and is not finished.
    JobScheduled,
    /// There is no Job yet.
    DoesNotExist,
    /// The limit of concurrent Jobs is reached.
    Queued,
    /// A Job or Secret of this name has another owner.
    NameConflict,
    /// The push Secret doesn't exist.
    PushSecretNotFound,
    /// The Secret with the signing key doesn't exist.
    SignKeySecretNotFound,
    /// The push Secret is for another registry, or has no annotation with its host.
    RegistryHostMismatch,
    /// The platform does not let Jobs of the namespace use the registry's host.
    RegistryHostNotAllowed,
    /// There is no ConfigMap with CA certificates.
    ConfigMapNotFound,
    /// The namespace of Jobs does not exist.
    NamespaceNotFound,
    /// The namespace of Jobs is being deleted.
    NamespaceTerminating,
    /// A quota, admission or RBAC rejects the Job or the Secret.
    Forbidden,
    /// The Job has finished.
    Finished,
    /// The Job is complete.
    JobSucceeded,
    /// The Job is complete, and no pod has reported a digest.
    DigestUnavailable,
    /// The config, chart, template or values are wrong.
    ConfigInvalid,
    /// The tag exists with another chart.
    Conflict,
    /// The registry refuses the credentials.
    AuthFailed,
    /// The registry rejects the request, or its responses are inconsistent.
    RegistryRefused,
    /// The registry or the network failed, despite retries.
    RegistryUnavailable,
    /// A file operation in the container failed.
    InputOutput,
    /// An internal error of the renderer, or it was killed.
    RendererCrashed,
    /// The renderer received SIGTERM.
    Cancelled,
    /// The Job exceeded `activeDeadlineSeconds`.
    DeadlineExceeded,
    /// Too many pods have failed without a termination message.
    BackoffLimitExceeded,
    /// The pod was evicted.
    Evicted,
    /// Jobs were deleted repeatedly before they finished.
    JobLost,
    /// Too many consecutive errors.
    ReconcileFailed,
    /// The spec has changed since the Job was made, which the CRD forbids.
    SpecChanged,
}

/// The state of a Job-backed resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// There is no Job yet.
    NotScheduled {
        /// Why.
        reason: Reason,
        /// For people.
        message: String,
    },
    /// The Job exists and is not finished.
    Scheduled {
        /// The human-readable message: its pods, and what they wait for.
        message: String,
    },
    /// The Job is complete, and its result is known.
    Succeeded {
        /// The result.
        message: String,
    },
    /// The Job is complete, and its result may still arrive.
    AwaitingDigest,
    /// The Job is complete, and no digest was found.
    WithoutDigest,
    /// The Job has failed for good.
    Failed {
        /// Why.
        reason: Reason,
        /// For people.
        message: String,
    },
}

/// One condition of a Job-backed resource.
pub type Finding = crate::runtime::conditions::Finding<Reason>;

impl ConditionReason for Reason {
    const MAX_MESSAGE: usize = MAX_MESSAGE;

    fn name(self) -> &'static str {
        self.as_str()
    }
}

impl Reason {
    /// The reason as written in a condition.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JobScheduled => "JobScheduled",
            Self::DoesNotExist => "DoesNotExist",
            Self::Queued => "Queued",
            Self::NameConflict => "NameConflict",
            Self::PushSecretNotFound => "PushSecretNotFound",
            Self::SignKeySecretNotFound => "SignKeySecretNotFound",
            Self::RegistryHostMismatch => "RegistryHostMismatch",
            Self::RegistryHostNotAllowed => "RegistryHostNotAllowed",
            Self::ConfigMapNotFound => "ConfigMapNotFound",
            Self::NamespaceNotFound => "NamespaceNotFound",
            Self::NamespaceTerminating => "NamespaceTerminating",
            Self::Forbidden => "Forbidden",
            Self::Finished => "Finished",
            Self::JobSucceeded => "JobSucceeded",
            Self::DigestUnavailable => "DigestUnavailable",
            Self::ConfigInvalid => "ConfigInvalid",
            Self::Conflict => "Conflict",
            Self::AuthFailed => "AuthFailed",
            Self::RegistryRefused => "RegistryRefused",
            Self::RegistryUnavailable => "RegistryUnavailable",
            Self::InputOutput => "InputOutput",
            Self::RendererCrashed => "RendererCrashed",
            Self::Cancelled => "Cancelled",
            Self::DeadlineExceeded => "DeadlineExceeded",
            Self::BackoffLimitExceeded => "BackoffLimitExceeded",
            Self::Evicted => "Evicted",
            Self::JobLost => "JobLost",
            Self::ReconcileFailed => RECONCILE_FAILED,
            Self::SpecChanged => "SpecChanged",
        }
    }
}

impl State {
    /// The summary for the printer column.
    pub fn summary(&self) -> &'static str {
        match self {
            Self::NotScheduled { reason, .. } => reason.as_str(),
            Self::Scheduled { .. } => kinds::JOB_SCHEDULED,
            Self::Succeeded { .. } | Self::AwaitingDigest | Self::WithoutDigest => kinds::JOB_SUCCEEDED,
            Self::Failed { .. } => kinds::JOB_FAILED,
        }
    }

    /// All conditions; a type that isn't among them is removed.
    pub fn findings(&self) -> Vec<Finding> {
        let succeeded = |ready: &'static str, reason, message: &str| {
            vec![
                finished(),
                finding(
                    kinds::JOB_SUCCEEDED,
                    "True",
                    Reason::JobSucceeded,
                    "the Job is complete",
                ),
                finding(kinds::READY, ready, reason, message),
            ]
        };
        match self {
            Self::NotScheduled { reason, message } => {
                // What passes by itself is in progress; the rest needs a user's action.
                let passes = matches!(reason, Reason::DoesNotExist | Reason::Queued);
                let ready = if passes { "Unknown" } else { "False" };
                vec![
                    finding(kinds::JOB_SCHEDULED, "False", *reason, message),
                    finding(kinds::READY, ready, *reason, message),
                ]
            }
            Self::Scheduled { message } => vec![
                finding(kinds::JOB_SCHEDULED, "True", Reason::JobScheduled, message),
                finding(kinds::READY, "Unknown", Reason::JobScheduled, message),
            ],
            Self::Succeeded { message } => succeeded("True", Reason::JobSucceeded, message),
            Self::AwaitingDigest => succeeded(
                "Unknown",
                Reason::DigestUnavailable,
                "no pod has reported a digest yet",
            ),
            Self::WithoutDigest => succeeded(
                "False",
                Reason::DigestUnavailable,
                "the Job is complete, and no pod has reported a digest",
            ),
            Self::Failed { reason, message } => vec![
                finished(),
                finding(kinds::JOB_FAILED, "True", *reason, message),
                finding(kinds::READY, "False", *reason, message),
                finding(kinds::STALLED, "True", *reason, message),
            ],
        }
    }
}

fn finding(kind: &'static str, status: &'static str, reason: Reason, message: &str) -> Finding {
    Finding {
        kind,
        status,
        reason,
        message: message.to_owned(),
    }
}

fn finished() -> Finding {
    finding(
        kinds::JOB_SCHEDULED,
        "False",
        Reason::Finished,
        "the Job has ended",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::conditions::{find, is, merge};
    use jiff::Timestamp;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn failed() -> State {
        State::Failed {
            reason: Reason::Conflict,
            message: "m".into(),
        }
    }

    #[test]
    fn a_success_after_a_failure_leaves_no_failure_behind() {
        let before = merge(&[], &failed().findings(), Some(1), at(1));
        let success = State::Succeeded {
            message: "done".into(),
        };
        let after = merge(&before, &success.findings(), Some(1), at(2));
        assert!(is(&after, kinds::JOB_SUCCEEDED, "True") && is(&after, kinds::READY, "True"));
        assert!(find(&after, kinds::JOB_FAILED).is_none() && find(&after, kinds::STALLED).is_none());
    }

    #[test]
    fn only_a_change_of_status_moves_the_time() {
        let one = |text: &str| State::Scheduled { message: text.into() }.findings();
        let first = merge(&[], &one("a"), Some(1), at(1));
        let second = merge(&first, &one("b"), Some(1), at(2));
        assert_eq!(second[0].message, "b");
        assert_eq!(second[0].last_transition_time.0, at(1));
        let third = merge(&second, &failed().findings(), Some(1), at(3));
        assert_eq!(
            find(&third, kinds::JOB_SCHEDULED)
                .expect("it")
                .last_transition_time
                .0,
            at(3)
        );
    }

    #[test]
    fn states_have_the_conditions_for_kstatus_and_the_printer_column() {
        let blocked = |reason| State::NotScheduled {
            reason,
            message: String::new(),
        };
        // State, column, JobScheduled, JobSucceeded, JobFailed, Ready, Stalled.
        let table = [
            (
                blocked(Reason::Queued),
                "Queued",
                ["False", "", "", "Unknown", ""],
            ),
            (
                blocked(Reason::NameConflict),
                "NameConflict",
                ["False", "", "", "False", ""],
            ),
            (
                State::Scheduled {
                    message: String::new(),
                },
                "JobScheduled",
                ["True", "", "", "Unknown", ""],
            ),
            (
                State::Succeeded {
                    message: String::new(),
                },
                "JobSucceeded",
                ["False", "True", "", "True", ""],
            ),
            (
                State::AwaitingDigest,
                "JobSucceeded",
                ["False", "True", "", "Unknown", ""],
            ),
            (
                State::WithoutDigest,
                "JobSucceeded",
                ["False", "True", "", "False", ""],
            ),
            (failed(), "JobFailed", ["False", "", "True", "False", "True"]),
        ];
        for (state, summary, expected) in table {
            let conditions = merge(&[], &state.findings(), None, at(0));
            let kinds = [
                kinds::JOB_SCHEDULED,
                kinds::JOB_SUCCEEDED,
                kinds::JOB_FAILED,
                kinds::READY,
                kinds::STALLED,
            ];
            let found = kinds.map(|kind| find(&conditions, kind).map_or("", |one| one.status.as_str()));
            assert_eq!((state.summary(), found), (summary, expected), "{state:?}");
        }
    }
}
