//! `ClusterAddon`: the chart of a stack in one cluster. Users read it and never write it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CLUSTER_ADDONS, StackStage, StageAction};
use crate::api::LocalReference;
use crate::api::crd::{Column, Names, definition, structural};

const COLUMNS: [Column; 6] = [
    ("Cluster", "string", ".spec.clusterRef.name", 0),
    ("Stack", "string", ".spec.stackRef.name", 0),
    ("Version", "string", ".spec.chart.version", 0),
    (
        "Ready",
        "string",
        ".status.conditions[?(@.type==\"Ready\")].status",
        0,
    ),
    (
        "Reason",
        "string",
        ".status.conditions[?(@.type==\"Ready\")].reason",
        0,
    ),
    ("Age", "date", ".metadata.creationTimestamp", 0),
];

/// The chart of a stack in one cluster. The operator writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAddonSpec {
    /// The cluster.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self == oldSelf", "message": "clusterRef can't be changed"}]))]
    pub cluster_ref: LocalReference,
    /// The stack that the chart and its values come from.
    pub stack_ref: LocalReference,
    /// The chart.
    pub chart: PinnedChart,
    /// The SHA-256 of the stack's values, its valuesTemplate, and its release's name and namespace. While the stack has
    /// others, the cluster waits for its turn.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub values_hash: String,
    /// The stack's stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub stages: Vec<StackStage>,
    /// Delete what was applied when the ClusterAddon is deleted.
    #[serde(default)]
    pub prune: bool,
}

/// A chart by its digest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinnedChart {
    /// The chart's repository.
    #[schemars(length(min = 1, max = 512))]
    pub repository: String,
    /// The version that the digest was resolved from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub version: Option<String>,
    /// The digest of the chart's manifest.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
}

/// The state of a ClusterAddon.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AddonStatus {
    /// The generation of the spec that was reconciled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// ClusterReady, ChartDownloaded, ValuesTemplated, ChartApplied, StagesCompleted, Ready and Stalled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The stages of the current chart and values, in order. Helm's hooks are stages, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub stages: Vec<AddonStageStatus>,
    /// The state of each object of the chart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub resources: Vec<ResourceStatus>,
    /// The objects that the operator has applied in the cluster or is about to apply, in install order. Only these are
    /// deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub inventory: Vec<InventoryEntry>,
    /// The chart and values that were applied completely last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_applied: Option<AppliedVersion>,
    /// The last value of the annotation `reconcile.fluxcd.io/requestedAt` that was handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// The time that templates see, which certificates are valid from: when `input` was first rolled out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendered_at: Option<Time>,
    /// What the stages are for: the SHA-256 of chart, values, stages and the cluster's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub input: Option<String>,
}

/// The state of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonStageStatus {
    /// The stage's name.
    pub name: String,
    /// Whether its objects are applied or deleted.
    pub action: StageAction,
    /// Its phase.
    pub phase: StagePhase,
    /// When its objects were applied, or its first hook was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Time>,
    /// The condition or object that it waits for, or why it has failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The phase of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StagePhase {
    /// An earlier stage is not completed.
    Pending,
    /// Its objects were applied or deleted, and its conditions are not true yet.
    Running,
    /// It is completed.
    Completed,
    /// Its condition `onlyIf` is not true.
    Skipped,
    /// It has failed.
    Failed,
}

/// The state of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceStatus {
    /// Its API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether the cluster has it as the chart does.
    pub synced: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// An object that the operator has applied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InventoryEntry {
    /// Its API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The beginning of the SHA-256 of the object as it was applied; empty before that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hash: String,
}

/// A chart and values that were applied completely.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AppliedVersion {
    /// The chart's digest.
    pub digest: String,
    /// The SHA-256 of the merged values.
    pub values: String,
    /// The cluster's version.
    pub kubernetes_version: String,
    /// The value of `status.input` that it was applied for.
    pub input: String,
    /// When it was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// The whole object, for the schema.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Root {
    /// The chart of a stack in one cluster. The operator writes it.
    spec: ClusterAddonSpec,
    /// Its state.
    #[serde(default)]
    #[schemars(with = "AddonStatus")]
    status: AddonStatus,
}

/// The CRD.
pub(super) fn crd() -> Result<CustomResourceDefinition, serde_json::Error> {
    let names = Names {
        kind: CLUSTER_ADDONS.kind,
        plural: CLUSTER_ADDONS.plural,
        short: "caddon",
        scope: "Namespaced",
    };
    let about = "The chart of a ClusterStack in one cluster. The operator alone writes it.";
    Ok(definition(
        &names,
        COLUMNS.into_iter(),
        structural::<Root>(about)?,
    ))
}
