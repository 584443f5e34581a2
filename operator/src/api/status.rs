//! The status of a task.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use solar_render::report::Outcome;

/// How many finished pods a status keeps: the newest.
pub const MAX_ATTEMPTS: usize = 10;

/// The observed state of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskStatus {
    /// The generation of the spec that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// In one word: JobSucceeded, JobFailed, or the reason of the condition JobScheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// JobScheduled, JobSucceeded, JobFailed, Ready, Stalled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The Job of this run; of a finished one it may be gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_ref: Option<OwnedReference>,
    /// The Secret that holds the renderer's config, while there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_secret_ref: Option<OwnedReference>,
    /// The chart's URL: `oci://host/path:tag`.
    #[serde(rename = "chartURL", skip_serializing_if = "Option::is_none")]
    pub chart_url: Option<String>,
    /// The digest of the manifest that is at `chartURL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub digest: Option<String>,
    /// What the renderer did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// When the Job was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// The newest finished pods, oldest first, of all runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub attempts: Vec<Attempt>,
    /// The state of the current run that later reconciles need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
}

/// An object that was made for the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnedReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// A finished pod.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The Job it belonged to.
    pub job_name: String,
    /// The pod.
    pub pod_name: String,
    /// The pod's UID.
    pub pod_uid: String,
    /// When the renderer was started; absent when it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Time>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Time>,
    /// The renderer's exit code; absent when it never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The outcome, or the class of the error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// The renderer's message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The state of the current run that later reconciles need.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Run {
    /// The generation of the spec that the Job was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The value of the annotation `solar.opendefense.cloud/retry` that this run has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<String>,
    /// The push Secret's resourceVersion when the Job was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_secret_version: Option<String>,
    /// This run is the one that a changed push Secret gives to a task that failed with AuthFailed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub after_rotation: bool,
    /// How many Jobs of this run were deleted before they finished.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost_jobs: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
