//! `Target`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::schemas::any_map;
use super::{Column, ObjectReference, Spec};

/// Where charts for the environment are pushed to, and what they get.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetSpec {
    /// The Registry that charts are pushed to; it must have `solarSecretRef`. One of another namespace requires a
    /// ReferenceGrant there.
    pub render_registry_ref: ObjectReference,
    /// Data that every release chart on this Target gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_map")]
    pub userdata: Option<Box<RawValue>>,
}

/// What became of a Target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetStatus {
    /// The generation of the spec that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// RegistryResolved, ReleasesResolved, ReleasesRendered, BootstrapReady, Ready, Stalled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The number N of the newest bootstrap chart, whose tag is `v0.0.N`. It rises when the chart's input changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_version: Option<i64>,
    /// The hash of the input of the bootstrap chart of that number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_input: Option<String>,
    /// The last bootstrap chart that was pushed, as `oci://host/path:tag`.
    #[serde(rename = "bootstrapChartURL", skip_serializing_if = "Option::is_none")]
    pub bootstrap_chart_url: Option<String>,
    /// The digest of its manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_digest: Option<String>,
    /// The Releases that are bound to this Target.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub releases: Vec<TargetRelease>,
}

/// A Release that is bound to a Target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetRelease {
    /// The Release's effective unique name; absent while it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_name: Option<String>,
    /// The ReleaseBinding, as `namespace/name`.
    pub binding: String,
    /// The Release, as `namespace/name`.
    pub release: String,
    /// The RenderTask, as `namespace/name`; absent until it is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub render_task: Option<String>,
    /// Where its chart was pushed, as `oci://host/path:tag`.
    #[serde(rename = "chartURL", skip_serializing_if = "Option::is_none")]
    pub chart_url: Option<String>,
    /// The digest of the chart's manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// How far it is.
    pub state: ReleaseState,
}

/// How far a Release is on a Target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ReleaseState {
    /// Its chart is being rendered.
    #[default]
    Pending,
    /// Its chart was pushed.
    Rendered,
    /// Its chart can't be rendered or pushed.
    Failed,
    /// The Release, its ComponentVersion or a grant is missing.
    Missing,
    /// Another Release is deployed in its stead.
    Filtered,
}

impl Spec for TargetSpec {
    type Status = TargetStatus;
    const KIND: &'static str = "Target";
    const PLURAL: &'static str = "targets";
    const SHORT: &'static str = "tgt";
    const ABOUT: &'static str =
        "An environment that Releases are deployed to, by one bootstrap chart that Flux follows.";
    const COLUMNS: &'static [Column] = &[
        ("Render Registry", "string", ".spec.renderRegistryRef.name"),
        ("Bootstrap Version", "integer", ".status.bootstrapVersion"),
    ];
}
