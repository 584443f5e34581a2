//! ClusterStacks and ClusterAddons: a chart that is kept applied in the clusters of Cluster API.
//!
//! A ClusterStack resolves its chart to a digest and decides which cluster gets it when (`select`); for each it writes a
//! ClusterAddon. A ClusterAddon's reconcile goes through the steps of `conditions`: the cluster is there, the chart is on
//! disk (`chart_cache`), the values are templated ([`evaluate`]), the chart is rendered (`objects`) and applied in
//! stages (`stages`, `apply`, `hooks`, and `delete_hooks` for those of a removal). Later the objects are compared with the cluster's (`drift`), and deleted (`deletion`).
//!
//! # Guarantees
//! - A cluster that no stack selects gets nothing.
//! - What is applied is a digest; a version is resolved once.
//! - What may be in a cluster is in the inventory before it is sent, and only what is there, or what a stage of the stack
//!   says, is deleted.
//! - Neither a registry, nor a workload cluster, nor a template can hold up others, or fill this process.
//! - Credentials of workload clusters are read from one Secret each, are never kept, and can't be printed.

mod addon;
mod apply;
mod chart_cache;
mod chart_request;
mod cluster;
mod conditions;
mod delete_hooks;
mod deletion;
mod drift;
mod evaluate;
mod hooks;
mod inventory;
mod kubeconfig;
mod objects;
mod pass;
mod remove;
mod rollout;
mod scope;
mod secrets;
mod select;
mod stack;
mod stack_rollout;
mod stack_status;
mod stage_run;
mod stages;
mod steps;
mod workload;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

pub use self::addon::{AddonView, ClusterAddons};
pub use self::cluster::{CLUSTER_GROUP, ClusterApiVersion, Clusters};
pub use self::evaluate::{COMMAND as EVALUATE_COMMAND, serve as evaluate};
pub use self::stack::{ClusterStacks, StackView};

use self::chart_cache::ChartCache;
use self::drift::DriftChecks;
use self::evaluate::Evaluator;
use crate::jobs::allowed_hosts::AllowedHosts;
use crate::key::ObjectName;
use crate::runtime::{Controllers, Pool, Stores};

/// How many charts are rendered at a time: each may take the memory of one.
const RENDERERS: usize = 2;
/// How many templates and conditions are evaluated at a time.
const EVALUATORS: usize = 2;

/// The workers of ClusterAddons. They mostly wait for clusters, and one that doesn't answer must not hold up others.
const POOL: Pool = Pool {
    name: "clusters",
    workers: Some(256),
};

/// The settings of the controllers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterAddonSettings {
    /// The version of Clusters that the API server serves.
    pub version: ClusterApiVersion,
    /// The folder of the chart cache.
    pub cache: PathBuf,
    /// How long a removal is retried: of a cluster that can't be reached, or whose objects don't go.
    pub deletion_timeout: Duration,
    /// How often the objects of a cluster are compared with its chart's.
    pub drift_interval: Duration,
    /// The registry hosts that charts may come from, by namespace.
    pub allowed_hosts: AllowedHosts,
}

/// What both controllers share.
struct Shared {
    settings: ClusterAddonSettings,
    charts: ChartCache,
    evaluator: Evaluator,
    renderers: Semaphore,
    drift_checks: DriftChecks,
}

/// Adds the controllers and what they watch.
pub fn add(controllers: Controllers, settings: ClusterAddonSettings) -> Controllers {
    let version = settings.version;
    let shared = Arc::new(Shared {
        charts: ChartCache::at(&settings.cache),
        settings,
        evaluator: Evaluator::new(EVALUATORS),
        renderers: Semaphore::new(RENDERERS),
        drift_checks: DriftChecks::default(),
    });
    let controllers = controllers
        .kind(ClusterStacks(Arc::clone(&shared)))
        .kind(ClusterAddons(shared))
        .wake::<ClusterStacks, ClusterStacks>(|stack, stores| stacks_of(stack.namespace(), stores))
        .wake::<ClusterStacks, ClusterAddons>(|stack, stores| {
            let addons = stores.of::<ClusterAddons>().in_namespace(stack.namespace());
            let name = stack.name().name;
            let own = addons.iter().filter(|addon| {
                let spec = addon.view().map(|view| &view.spec);
                spec.is_none_or(|spec| spec.stack_ref.name == name)
            });
            own.map(|addon| addon.name()).collect()
        })
        .wake::<ClusterAddons, ClusterStacks>(|addon, _| {
            let stack = addon.view().map(|view| view.spec.stack_ref.name.clone());
            let stack = stack.map(|stack| ObjectName::new(addon.namespace(), &stack));
            stack.into_iter().collect()
        });
    match version {
        ClusterApiVersion::V1Beta1 => add_clusters::<1>(controllers),
        ClusterApiVersion::V1Beta2 => add_clusters::<2>(controllers),
    }
}

/// A change of a cluster is for its addon, and for the stacks that may select it.
fn add_clusters<const BETA: u8>(controllers: Controllers) -> Controllers {
    controllers
        .stored::<Clusters<BETA>>()
        .wake::<Clusters<BETA>, ClusterStacks>(|cluster, stores| stacks_of(cluster.namespace(), stores))
        .wake::<Clusters<BETA>, ClusterAddons>(|cluster, _| {
            let name = addon_name(&cluster.name().name);
            vec![ObjectName::new(cluster.namespace(), &name)]
        })
}

fn stacks_of(namespace: &str, stores: &Stores) -> Vec<ObjectName> {
    let stacks = stores.of::<ClusterStacks>().in_namespace(namespace);
    stacks.iter().map(|stack| stack.name()).collect()
}

/// The name of a cluster's addon.
fn addon_name(cluster: &str) -> String {
    format!("cluster-addon-{cluster}")
}

/// The finalizer that keeps an addon until its objects are deleted.
fn finalizer() -> String {
    format!("{}/cluster-addon-finalizer", crate::api::GROUP)
}
