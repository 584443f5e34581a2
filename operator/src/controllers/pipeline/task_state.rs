//! The state of a RenderTask, from its status.

use super::task_retry;
use crate::controllers::rendertask::TaskStatusView;
use crate::jobs::conditions::{Reason, kinds};

/// The state of a RenderTask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    /// It is in progress, or waits for something.
    Pending {
        /// What it waits for.
        message: String,
    },
    /// The chart is in the registry.
    Rendered {
        /// Its URL: `oci://host/path:tag`.
        chart_url: String,
        /// The digest of its manifest; other renderers may report none.
        digest: Option<String>,
    },
    /// It failed for good.
    Failed {
        /// The task's reason.
        reason: String,
        /// The task's message.
        message: String,
    },
}

impl TaskState {
    /// The state of an existing task; `chart_url` is its destination.
    pub fn of(status: Option<&TaskStatusView>, chart_url: &str) -> Self {
        let pending = |message: &str| Self::Pending {
            message: message.to_owned(),
        };
        let Some(status) = status else {
            return pending("the RenderTask was created");
        };
        let condition = |kind| status.condition(kind).filter(|one| one.status == "True");
        if let Some(failed) = condition(kinds::JOB_FAILED) {
            return Self::Failed {
                reason: failed.reason.clone(),
                message: failed.message.clone(),
            };
        }
        if condition(kinds::JOB_SUCCEEDED).is_some() {
            // A digest may arrive for a while after success; meanwhile Ready is Unknown.
            let ready = status.condition(kinds::READY);
            let awaits = status.digest.is_none() && ready.is_some_and(|ready| ready.status == "Unknown");
            if awaits {
                return pending("the chart's digest is not known yet");
            }
            return Self::Rendered {
                chart_url: status.chart_url.clone().unwrap_or_else(|| chart_url.to_owned()),
                digest: status.digest.clone(),
            };
        }
        match status.condition(kinds::JOB_SCHEDULED) {
            Some(scheduled) if scheduled.message.is_empty() => pending(&scheduled.reason),
            Some(scheduled) => pending(&format!("{}: {}", scheduled.reason, scheduled.message)),
            None => pending("the RenderTask was created"),
        }
    }

    /// Whether it has failed, and is not retried by itself.
    pub fn has_failed_for_good(&self) -> bool {
        matches!(self, Self::Failed { reason, .. } if !task_retry::is_temporary(reason))
    }

    /// Whether it failed because the tag has another chart.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Failed { reason, .. } if reason == Reason::Conflict.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::TaskStatus;
    use crate::jobs::conditions::State;
    use crate::runtime::conditions::merge;
    use jiff::Timestamp;

    const URL: &str = "oci://h.example/a:1";

    fn of(state: &State, digest: Option<&str>) -> TaskState {
        let status = TaskStatus {
            conditions: merge(&[], &state.findings(), Some(1), Timestamp::UNIX_EPOCH),
            digest: digest.map(str::to_owned),
            ..TaskStatus::default()
        };
        let status = serde_json::to_value(&status).expect("JSON");
        TaskState::of(Some(&serde_json::from_value(status).expect("a view")), URL)
    }

    #[test]
    fn each_state_of_a_task_is_read() {
        let pending = |message: &str| TaskState::Pending {
            message: message.into(),
        };
        let rendered = |digest: Option<&str>| TaskState::Rendered {
            chart_url: URL.into(),
            digest: digest.map(str::to_owned),
        };
        let message = || "m".to_owned();
        let table = [
            (
                State::NotScheduled {
                    reason: Reason::PushSecretNotFound,
                    message: message(),
                },
                None,
                pending("PushSecretNotFound: m"),
            ),
            (
                State::Scheduled {
                    message: String::new(),
                },
                None,
                pending("JobScheduled"),
            ),
            (
                State::Succeeded { message: message() },
                Some("sha256:1"),
                rendered(Some("sha256:1")),
            ),
            (
                State::AwaitingDigest,
                None,
                pending("the chart's digest is not known yet"),
            ),
            (State::WithoutDigest, None, rendered(None)),
            (
                State::Failed {
                    reason: Reason::Conflict,
                    message: message(),
                },
                None,
                TaskState::Failed {
                    reason: "Conflict".into(),
                    message: message(),
                },
            ),
        ];
        for (state, digest, expected) in table {
            assert_eq!(of(&state, digest), expected, "{state:?}");
            let is_conflict = state.summary() == kinds::JOB_FAILED;
            assert_eq!(of(&state, digest).is_conflict(), is_conflict, "{state:?}");
        }
        assert_eq!(TaskState::of(None, URL), pending("the RenderTask was created"));
    }
}
