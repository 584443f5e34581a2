//! `ClusterStack` and `ClusterAddon`: a chart that is kept applied in the workload clusters of Cluster API.
//!
//! A user writes ClusterStacks; the operator alone writes ClusterAddons, one for each cluster that a stack selects.

mod addon;
mod stack;

pub use addon::{
    AddonStageStatus, AddonStatus, AppliedVersion, ClusterAddonSpec, InventoryEntry, PinnedChart,
    ResourceStatus, StagePhase,
};
pub use stack::{
    ChartVerification, ClusterCounts, ClusterStackSpec, ClusterStackStatus, DriftDetection, OnlyIf,
    ResolvedChart, StackChart, StackStage, StageAction, UpdatePolicy, WaitFor,
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{GROUP, VERSION};
use crate::key::KindId;

/// The kind of stacks.
pub const CLUSTER_STACKS: KindId = KindId {
    kind: "ClusterStack",
    group: GROUP,
    version: VERSION,
    plural: "clusterstacks",
    namespaced: true,
};

/// The kind of addons.
pub const CLUSTER_ADDONS: KindId = KindId {
    kind: "ClusterAddon",
    group: GROUP,
    version: VERSION,
    plural: "clusteraddons",
    namespaced: true,
};

/// The CRDs of both.
pub fn crds() -> Result<[CustomResourceDefinition; 2], serde_json::Error> {
    Ok([stack::crd()?, addon::crd()?])
}
