//! The fields of a task that are kept: its owner, the destination of its chart, and its state.
//!
//! There are as many tasks as charts, so status fields that no controller reads are not kept.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::api::TaskSpec;
use crate::api::metadata;
use crate::jobs::conditions::{Reason, kinds};
use crate::names::MANAGER;
use crate::runtime::views::bounded;

/// The renderer's exit codes after which no chart of its own is in the registry: invalid input, a conflict, and refused
/// credentials.
const PERMANENT_EXIT_CODES: [i32; 4] = [1, 2, 3, 4];

/// The classes of errors, with such an exit code, that may come after the push: a registry that refuses the signature.
const AFTER_PUSH: [&str; 2] = ["refused", "protocol"];

/// The kept fields of a task.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TaskView {
    /// Its labels, in part.
    pub metadata: TaskMetadataView,
    /// Its spec, in part.
    pub spec: TaskSpecView,
    /// Its status, in part.
    pub status: Option<TaskStatusView>,
}

/// The kept fields of a task's metadata, in addition to those of every object.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TaskMetadataView {
    /// The labels about its owner.
    pub labels: Option<TaskLabels>,
}

/// The labels about a task's owner. Label values have at most 63 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TaskLabels {
    /// The value of `managed-by`.
    #[serde(rename = "app.kubernetes.io/managed-by")]
    pub managed_by: String,
    /// The UID of its owner.
    #[serde(rename = "solar.opendefense.cloud/owner-uid")]
    pub owner_uid: String,
    /// The hash of the bootstrap chart's input.
    #[serde(rename = "solar.opendefense.cloud/bootstrap-input")]
    pub bootstrap_input: String,
    /// The RenderArtifact of the chart that it pushes.
    #[serde(rename = "solar.opendefense.cloud/render-artifact")]
    pub artifact: String,
}

/// The kept fields of a task's spec.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskSpecView {
    /// The kind of its owner.
    #[serde(deserialize_with = "bounded")]
    pub owner_kind: String,
    /// The name of its owner.
    #[serde(deserialize_with = "bounded")]
    pub owner_name: String,
    /// The namespace of its owner.
    #[serde(deserialize_with = "bounded")]
    pub owner_namespace: String,
    /// The registry.
    #[serde(rename = "baseURL", deserialize_with = "bounded")]
    pub base_url: String,
    /// The path below it.
    #[serde(deserialize_with = "bounded")]
    pub repository: String,
    /// The tag.
    #[serde(deserialize_with = "bounded")]
    pub tag: String,
}

/// The kept fields of a task's status.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskStatusView {
    /// JobSucceeded, JobFailed, or the reason of the condition JobScheduled.
    pub state: Option<String>,
    /// The URL of the pushed chart.
    #[serde(rename = "chartURL")]
    pub chart_url: Option<String>,
    /// Its digest.
    pub digest: Option<String>,
    /// JobScheduled, JobSucceeded, JobFailed, Ready.
    #[serde(deserialize_with = "conditions")]
    pub conditions: Vec<TaskConditionView>,
    /// When the Job ended.
    pub completion_time: Option<Time>,
    /// The generation of the spec that it is about.
    pub observed_generation: Option<i64>,
    /// Whether the Secret with the renderer's config is still to be deleted.
    pub config_secret_ref: Option<IgnoredAny>,
    /// Whether a finished pod may have pushed, whatever it reported: of its attempts.
    #[serde(rename = "attempts", deserialize_with = "has_pushed")]
    pub may_have_pushed: bool,
    /// The present run, in part.
    pub run: TaskRunView,
}

/// The kept fields of a task's run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskRunView {
    /// How many of its Jobs were deleted before they finished.
    pub lost_jobs: u32,
}

/// The kept fields of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskConditionView {
    /// Its type.
    pub kind: &'static str,
    /// True, False or Unknown.
    pub status: String,
    /// Its reason.
    pub reason: String,
    /// Its message; only kept where it says why a task waits or has failed.
    pub message: String,
}

impl TaskView {
    /// Whether this operator created it for an owner of this kind, namespace and name.
    pub fn was_made_for(&self, kind: &str, namespace: &str, name: &str) -> bool {
        let labels = self.metadata.labels.as_ref();
        labels.is_some_and(|labels| labels.managed_by == MANAGER)
            && self.spec.owner_kind == kind
            && self.spec.owner_namespace == namespace
            && self.spec.owner_name == name
    }

    /// Whether its chart has the same destination as a spec's.
    pub fn has_destination_of(&self, spec: &TaskSpec) -> bool {
        self.pushes_to(&spec.base_url, &spec.repository, &spec.tag)
    }

    /// Whether its chart is pushed to this destination.
    pub fn pushes_to(&self, base_url: &str, repository: &str, tag: &str) -> bool {
        let spec = &self.spec;
        let kept = [
            (&spec.base_url, base_url),
            (&spec.repository, repository),
            (&spec.tag, tag),
        ];
        kept.into_iter()
            .all(|(kept, whole)| *kept == metadata::bounded(whole.to_owned()))
    }
}

impl TaskStatusView {
    /// The condition of a type.
    pub fn condition(&self, kind: &str) -> Option<&TaskConditionView> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}

/// Whether a pod ran that didn't end with an exit code that says that nothing was pushed. The registry may have failed
/// after it has taken the chart, or the pod was killed.
fn has_pushed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Attempt {
        started: Option<Time>,
        exit_code: Option<i32>,
        class: String,
    }
    let attempts = Option::<Vec<Attempt>>::deserialize(deserializer)?.unwrap_or_default();
    let may_have_pushed = |attempt: &Attempt| {
        let is_final = attempt
            .exit_code
            .is_some_and(|code| PERMANENT_EXIT_CODES.contains(&code));
        attempt.started.is_some() && (!is_final || AFTER_PUSH.contains(&attempt.class.as_str()))
    };
    Ok(attempts.iter().any(may_have_pushed))
}

fn conditions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<TaskConditionView>, D::Error> {
    let conditions = Vec::<Condition>::deserialize(deserializer)?;
    Ok(conditions.into_iter().filter_map(kept).collect())
}

fn kept(condition: Condition) -> Option<TaskConditionView> {
    let known = [
        kinds::JOB_SCHEDULED,
        kinds::JOB_SUCCEEDED,
        kinds::JOB_FAILED,
        kinds::READY,
    ];
    let kind = known.into_iter().find(|kind| *kind == condition.type_)?;
    let says_why = match kind {
        kinds::JOB_FAILED => true,
        kinds::JOB_SCHEDULED => condition.reason != Reason::Finished.as_str(),
        _ => false,
    };
    Some(TaskConditionView {
        kind,
        status: condition.status,
        reason: condition.reason,
        message: if says_why {
            condition.message
        } else {
            String::new()
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_that_was_killed_or_lost_the_registry_may_have_pushed() {
        let table = [
            (json!(null), json!(null), "", false),
            (json!("2026-01-01T00:00:00Z"), json!(null), "", true),
            (json!("2026-01-01T00:00:00Z"), json!(0), "", true),
            (json!("2026-01-01T00:00:00Z"), json!(1), "config", false),
            (json!("2026-01-01T00:00:00Z"), json!(3), "conflict", false),
            (json!("2026-01-01T00:00:00Z"), json!(4), "auth", false),
            (json!("2026-01-01T00:00:00Z"), json!(4), "refused", true),
            (json!("2026-01-01T00:00:00Z"), json!(5), "network", true),
            (json!("2026-01-01T00:00:00Z"), json!(137), "", true),
        ];
        for (started, code, class, expected) in table {
            let attempt = json!({"jobName": "j", "started": started, "exitCode": code, "class": class});
            let status =
                json!({"attempts": [{"exitCode": 1}, attempt], "run": {"lostJobs": 2, "retry": "x"}});
            let status: TaskStatusView = serde_json::from_value(status).expect("a status");
            assert_eq!(status.may_have_pushed, expected, "{attempt}");
            assert_eq!(status.run.lost_jobs, 2);
        }
        let empty: TaskStatusView = serde_json::from_value(json!({"attempts": null})).expect("a status");
        assert!(!empty.may_have_pushed);
    }

    #[test]
    fn the_status_fields_that_controllers_read_are_kept() {
        let condition = |kind: &str, reason: &str| {
            json!({"type": kind, "status": "False", "reason": reason, "message": "m",
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let status: TaskStatusView = serde_json::from_value(json!({
            "state": "JobFailed", "attempts": [{"message": "long"}],
            "conditions": [condition("JobScheduled", "Finished"), condition("JobFailed", "AuthFailed"),
                condition("Ready", "AuthFailed"), condition("Stalled", "AuthFailed")],
        }))
        .expect("a status");
        let kept: Vec<_> = status
            .conditions
            .iter()
            .map(|one| (one.kind, one.message.as_str()))
            .collect();
        assert_eq!(kept, [("JobScheduled", ""), ("JobFailed", "m"), ("Ready", "")]);
        assert_eq!(
            status.condition("JobFailed").map(|one| one.reason.as_str()),
            Some("AuthFailed")
        );
    }

    #[test]
    fn a_task_is_ours_by_its_label_and_its_owner() {
        let view = |by: &str, name: &str| -> TaskView {
            serde_json::from_value(json!({
                "metadata": {"name": "x", "labels": {"app.kubernetes.io/managed-by": by, "other": "label"}},
                "spec": {"ownerKind": "Target", "ownerNamespace": "tenant", "ownerName": name},
            }))
            .expect("a view")
        };
        let is_ours = |view: TaskView| view.was_made_for("Target", "tenant", "edge");
        assert!(is_ours(view("solar-operator", "edge")));
        assert!(!is_ours(view("kubectl", "edge")));
        assert!(!is_ours(view("solar-operator", "other")));
        assert!(!is_ours(
            serde_json::from_value(json!({"metadata": {"name": "x"}})).expect("a view")
        ));
    }
}
