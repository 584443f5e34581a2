//! `Target`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::schemas::any_map;
use super::{Column, ObjectReference, Spec};

/// Where charts for the environment are pushed to, and their userdata.
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
    /// Whether the charts of this Target are signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<SigningSpec>,
    /// Suspends reconciling while it is true, except for its own deletion. Running Jobs continue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,
}

/// Whether a Target's charts are signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SigningSpec {
    /// Signs them with a cosign key pair that the operator creates for this Target: a Secret in the Registry's namespace.
    /// Each new value of the annotation `solar.opendefense.cloud/rotate-signing-key` requests another pair.
    #[serde(default)]
    pub enabled: bool,
}

/// The observed state of a Target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TargetStatus {
    /// The generation of the spec that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// RegistryResolved, ReleasesResolved, SigningKeyReady, ReleasesRendered, BootstrapReady, Ready, Stalled, Suspended.
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
    /// The key pairs of this Target. They stay when signing is switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing: Option<SigningKeys>,
    /// The Releases that are bound to this Target.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub releases: Vec<TargetRelease>,
}

/// The key pairs of a Target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SigningKeys {
    /// The newest pair. It signs the charts of Releases, and the bootstrap chart unless there is a previous one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<KeyPair>,
    /// During a rotation, the pair before: it signs the bootstrap chart that brings both public keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<KeyPair>,
    /// The value of the annotation `solar.opendefense.cloud/rotate-signing-key` that the newest pair is the answer to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<String>,
    /// The hash of the content of the bootstrap chart that brought both public keys, once it was pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handed_over: Option<String>,
    /// Pairs that sign nothing any more. Their Secrets are deleted when the next bootstrap chart was pushed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub retired: Vec<KeyPair>,
}

/// A cosign key pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyPair {
    /// Its number: 1, and one more for each pair that follows.
    pub number: u32,
    /// Its Secret, which only Jobs read.
    pub secret_ref: ObjectReference,
    /// Its public key, in PEM.
    pub public_key: String,
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
    /// The state of its chart.
    pub state: ReleaseState,
}

/// The state of a Release on a Target.
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
    /// Another Release is deployed instead.
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
