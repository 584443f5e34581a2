//! `RenderArtifact`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schemas::OBJECT_NAME;
use super::{Column, ObjectReference, Spec};
use crate::api::spec::{BASE_URL, REPOSITORY, TAG};

/// The chart's destination. Only `registryRef` may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.baseURL == oldSelf.baseURL && self.repository == oldSelf.repository && self.tag == oldSelf.tag",
    "message": "baseURL, repository and tag are immutable",
}]))]
pub struct RenderArtifactSpec {
    /// The registry, and maybe a path in it.
    #[serde(rename = "baseURL")]
    #[schemars(length(min = 1, max = 512), regex(pattern = BASE_URL))]
    pub base_url: String,
    /// The path below `baseURL`.
    #[schemars(length(min = 1, max = 512), regex(pattern = REPOSITORY))]
    pub repository: String,
    /// The tag.
    #[schemars(length(min = 1, max = 128), regex(pattern = TAG))]
    pub tag: String,
    /// The name of the RenderTask that pushed it.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub render_task_ref: String,
    /// The Registry whose credentials delete the tag; its host must be that of `baseURL`. One of another namespace
    /// requires a ReferenceGrant for kind RenderArtifact there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_ref: Option<ObjectReference>,
}

/// The observed state of a pushed chart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RenderArtifactStatus {
    /// The generation of the spec that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// OCICleanup, Ready, Stalled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The chart's URL: `oci://host/path:tag`.
    #[serde(rename = "chartURL", skip_serializing_if = "Option::is_none")]
    pub chart_url: Option<String>,
    /// The digest of its manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Spec for RenderArtifactSpec {
    type Status = RenderArtifactStatus;
    const KIND: &'static str = "RenderArtifact";
    const PLURAL: &'static str = "renderartifacts";
    const SHORT: &'static str = "ra";
    const ABOUT: &'static str =
        "A chart that was pushed for a Target; its tag is deleted when no RenderBinding is left.";
    const COLUMNS: &'static [Column] = &[
        ("Repository", "string", ".spec.repository"),
        ("Tag", "string", ".spec.tag"),
        ("ChartURL", "string", ".status.chartURL"),
    ];
}
