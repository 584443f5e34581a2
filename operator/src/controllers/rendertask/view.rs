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
