//! `ClusterStack`: which clusters get which chart.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CLUSTER_STACKS;
use crate::api::LocalReference;
use crate::api::crd::{Column, Names, definition, structural};
use crate::api::pipeline::LabelSelector;

/// `host[:port]/path`, with or without `oci://`.
const CHART_REPOSITORY: &str = r"^(oci://)?([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+$";
/// What can be written as a tag: `+` becomes `_`.
const CHART_VERSION: &str = r"^[A-Za-z0-9_][A-Za-z0-9._+-]*$";
const DIGEST: &str = "^sha256:[0-9a-f]{64}$";
/// Helm's rule for the names of releases.
const RELEASE_NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const NAMESPACE: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// The name of a stage, of a subchart or of a ClusterClass.
const PLAIN_NAME: &str = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$";
/// Helm's events that a stage can be for.
const HOOK: &str = "^(pre|post)-(install|upgrade)$";
/// Seconds, minutes or hours.
const DURATION: &str = "^[1-9][0-9]{0,4}(s|m|h)$";

const DEFAULT_NAMESPACE: &str = "kube-system";

const COLUMNS: [Column; 6] = [
    ("Chart", "string", ".spec.chart.repository", 0),
    ("Version", "string", ".status.chart.version", 0),
    ("Clusters", "integer", ".status.clusters.selected", 0),
    ("Up to date", "integer", ".status.clusters.upToDate", 0),
    (
        "Ready",
        "string",
        ".status.conditions[?(@.type==\"Ready\")].status",
        0,
    ),
    ("Age", "date", ".metadata.creationTimestamp", 0),
];

/// Which clusters of the namespace get which chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "has(self.clusterSelector) || (has(self.classNames) && size(self.classNames) > 0)",
     "message": "clusterSelector or classNames is required: no cluster is selected without one"},
]))]
pub struct ClusterStackSpec {
    /// The labels of the clusters. An empty selector selects all clusters of the namespace. With classNames, both must
    /// match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<LabelSelector>,
    /// The ClusterClasses of the clusters: `spec.topology.class`, or `classRef.name` of v1beta2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253), regex(pattern = PLAIN_NAME)))]
    pub class_names: Vec<String>,
    /// The chart.
    pub chart: StackChart,
    /// The name of the release, for templates. It can't be changed: names and selectors of objects depend on it.
    #[schemars(
        length(min = 1, max = 53),
        regex(pattern = RELEASE_NAME),
        extend("x-kubernetes-validations" = [{"rule": "self == oldSelf", "message": "releaseName can't be changed"}])
    )]
    pub release_name: String,
    /// The namespace of the release in the clusters, which is created if it doesn't exist. It can't be changed.
    #[serde(default = "default_namespace")]
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = NAMESPACE),
        extend("x-kubernetes-validations" = [{"rule": "self == oldSelf", "message": "namespace can't be changed"}])
    )]
    pub namespace: String,
    /// The chart's values.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "values_schema")]
    pub values: Map<String, Value>,
    /// A template of more values, which are merged over `values`: YAML with minijinja's tags `<< >>` and `<% %>`. In
    /// scope are `cluster`, `controlPlane`, `infraCluster` and `kubernetesVersion`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 65_536))]
    pub values_template: String,
    /// The versions of Kubernetes that the chart supports, as ranges (`1.31.x`, `>=1.31.0-0 <1.34.0-0`). A cluster whose
    /// version is in none of them gets nothing. All versions if empty. A provider's suffix (`-eks-1`) is ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 1, max = 128)))]
    pub kubernetes_versions: Vec<String>,
    /// Subcharts that are applied or deleted one after the other, after the rest of the chart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[schemars(extend("x-kubernetes-validations" = [
        {"rule": "self.all(one, self.filter(other, other.name == one.name).size() == 1)", "message": "names of stages must differ"},
    ]))]
    pub stages: Vec<StackStage>,
    /// How a change is rolled out to clusters that have the chart already.
    #[serde(default)]
    pub update_policy: UpdatePolicy,
    /// Delete the objects from a cluster that is no longer selected, or whose stack is deleted.
    #[serde(default = "yes")]
    pub prune: bool,
    /// Whether objects in the clusters are compared with the chart's every 10 minutes, and corrected.
    #[serde(default)]
    pub drift_detection: DriftDetection,
    /// Change nothing in any cluster. Deleting the stack still deletes what was applied.
    #[serde(default)]
    pub suspend: bool,
}

/// A chart in a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "has(self.version) != has(self.digest)", "message": "exactly one of version and digest is required"},
]))]
pub struct StackChart {
    /// The chart's repository, `oci://host[:port]/path` with its name at the end.
    #[schemars(length(min = 1, max = 512), regex(pattern = CHART_REPOSITORY))]
    pub repository: String,
    /// The chart's version. It is resolved to a digest once, when the stack is created or its chart is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = CHART_VERSION))]
    pub version: Option<String>,
    /// The digest of the chart's manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DIGEST))]
    pub digest: Option<String>,
    /// The registry is reached over plain HTTP.
    #[serde(default)]
    pub insecure: bool,
    /// The Secret with the credentials to pull with, of type kubernetes.io/dockerconfigjson.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<LocalReference>,
    /// Apply the chart only if it is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<ChartVerification>,
}

/// How a chart's signature is verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChartVerification {
    /// The Secret with the public key, in `cosign.pub`.
    pub key_secret_ref: LocalReference,
}

/// A part of the chart, or objects with one of Helm's hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StackStage {
    /// The stage's name.
    #[schemars(length(min = 1, max = 63), regex(pattern = PLAIN_NAME))]
    pub name: String,
    /// The subchart whose objects it has: a name, or names joined by `/` for one in another subchart.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = "^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$")
    )]
    pub chart_path: String,
    /// Whether they are applied or deleted. `delete` also deletes objects that others have created.
    #[serde(default)]
    pub action: StageAction,
    /// Only the subchart's objects with this hook of Helm, when the hook is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = HOOK))]
    pub hook: Option<String>,
    /// The conditions on which it is completed. Without them it is completed when its objects are applied or deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_for: Option<WaitFor>,
    /// The condition without which it is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_if: Option<OnlyIf>,
}

/// Whether a stage's objects are applied or deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StageAction {
    /// They are applied.
    #[default]
    Apply,
    /// They are deleted.
    Delete,
}

/// The conditions on which a stage is completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitFor {
    /// CEL expressions that must be true for each object of the stage. In scope are `object` and `cluster`.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 1024)))]
    pub cel: Vec<String>,
    /// The time limit of the stage: `90s`, `5m` or `1h`.
    #[serde(default = "default_timeout")]
    #[schemars(regex(pattern = DURATION))]
    pub timeout: String,
}

/// The condition without which a stage is skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OnlyIf {
    /// A CEL expression. The stage is skipped, and what it has applied before is deleted, unless it is true. In scope are
    /// `cluster` and `kubernetesVersion`.
    #[schemars(length(min = 1, max = 1024))]
    pub cel: String,
}

/// How a change is rolled out to clusters that have the chart already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdatePolicy {
    /// How many clusters may be without a ready addon before the next one is changed. No limit without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_unavailable: Option<i32>,
    /// Change no cluster that has the chart already. New clusters still get it.
    pub paused: bool,
}

/// Whether objects in the clusters are corrected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DriftDetection {
    /// They are corrected.
    #[default]
    On,
    /// They are not, until the chart or its values change.
    Off,
}

/// The state of a ClusterStack.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStackStatus {
    /// The generation of the spec that was reconciled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// ChartDownloaded, ClustersSelected, Ready and Stalled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The chart that clusters get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<ResolvedChart>,
    /// How many clusters there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<ClusterCounts>,
}

/// A chart with its digest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResolvedChart {
    /// The repository.
    pub repository: String,
    /// The version that was resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digest of its manifest.
    pub digest: String,
}

/// How many clusters a stack has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterCounts {
    /// Those that it selects, and no older stack does.
    pub selected: i32,
    /// Those whose ClusterAddon has the stack's chart and values.
    pub up_to_date: i32,
    /// Those in which these are applied.
    pub ready: i32,
    /// Those that an older stack selects, too.
    pub conflicting: i32,
}

/// The whole object, for the schema.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Root {
    /// Which clusters of the namespace get which chart.
    spec: ClusterStackSpec,
    /// Its state.
    #[serde(default)]
    #[schemars(with = "ClusterStackStatus")]
    status: ClusterStackStatus,
}

/// The CRD.
pub(super) fn crd() -> Result<CustomResourceDefinition, serde_json::Error> {
    let names = Names {
        kind: CLUSTER_STACKS.kind,
        plural: CLUSTER_STACKS.plural,
        short: "cstack",
        scope: "Namespaced",
    };
    let about = "A chart that is kept applied in the Cluster API clusters that it selects.";
    Ok(definition(
        &names,
        COLUMNS.into_iter(),
        structural::<Root>(about)?,
    ))
}

/// Any values: nothing of them is dropped.
fn values_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn default_namespace() -> String {
    DEFAULT_NAMESPACE.to_owned()
}

fn default_timeout() -> String {
    "5m".to_owned()
}

fn yes() -> bool {
    true
}
