//! `Release`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::schemas::{NAMESPACE, OPTIONAL_NAME, any_map};
use super::{Column, LabelSelector, ObjectReference, Spec};

/// Which component version is deployed, and how.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!has(oldSelf.uniqueName) || oldSelf.uniqueName == '' || (has(self.uniqueName) && self.uniqueName == oldSelf.uniqueName)",
    "message": "uniqueName is immutable once it is set",
}]))]
pub struct ReleaseSpec {
    /// The ComponentVersion that is deployed. One of another namespace requires a ReferenceGrant there.
    pub component_version_ref: ObjectReference,
    /// The namespace that the component is deployed to, on the target; empty: where Flux installs the release.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63), regex(pattern = NAMESPACE))]
    pub target_namespace: String,
    /// Of several Releases with one unique name, one is deployed to a target. Without it: the Component's name.
    /// Immutable once it is set.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253), regex(pattern = OPTIONAL_NAME))]
    pub unique_name: String,
    /// Releases with these labels are not deployed to the same target; the one with the higher priority is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anti_affinity: Option<LabelSelector>,
    /// The component's Helm values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_map")]
    pub values: Option<Box<RawValue>>,
    /// How long the Job and the config Secret of a failed rendering are kept, in seconds. Without it: an hour.
    #[serde(default, rename = "failedJobTTL", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub failed_job_ttl: Option<i32>,
    /// Of several Releases with one unique name, and of those that exclude each other, the highest is deployed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i32,
}

/// The observed state of a Release.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReleaseStatus {
    /// The generation of the spec that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// ComponentVersionResolved, Ready, Stalled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// `uniqueName`, else the Component's name: of several Releases with the same, one is deployed to a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_unique_name: Option<String>,
    /// Kept as it is, and not set: each Target renders the Release with a RenderTask of its own, which the Target's
    /// `status.releases` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub render_task_ref: Option<RenderTaskReference>,
}

/// A RenderTask.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RenderTaskReference {
    /// `solar.opendefense.cloud/v1alpha1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// `RenderTask`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its namespace: the Registry's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

impl Spec for ReleaseSpec {
    type Status = ReleaseStatus;
    const KIND: &'static str = "Release";
    const PLURAL: &'static str = "releases";
    const SHORT: &'static str = "rel";
    const ABOUT: &'static str =
        "A ComponentVersion with values, deployed to the targets that ReleaseBindings or Profiles name.";
    const COLUMNS: &'static [Column] = &[
        ("ComponentVersion Ref", "string", ".spec.componentVersionRef.name"),
        ("Unique Name", "string", ".status.effectiveUniqueName"),
    ];
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}
