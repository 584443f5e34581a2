//! One reconcile of a ClusterAddon: the steps to a cluster with the chart applied, each of which may end it.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Deserialize;

use super::cluster::ClusterView;
use super::conditions::{CLUSTER_READY, Halt, reasons};
use super::pass::{End, Pass};
use super::select::{StackSpecView, selects, winner};
use super::stack::FullStack;
use super::stack_rollout::{self, StackSummary, labels_and_class};
use super::stack_status::state_of;
use super::{POOL, Shared, remove};
use crate::api::cluster_addons::{
    AddonStatus, CLUSTER_ADDONS, CLUSTER_STACKS, ClusterAddonSpec, ClusterStackSpec,
};
use crate::key::ObjectName;
use crate::runtime::conditions::{self, READY, SUSPENDED};
use crate::runtime::views::Object;
use crate::runtime::{Action, Cx, Error, Key, Kind, KindId, ObjectState, Pool, Watched, owned};

/// The delay before a cluster that is not reachable yet, and a chart that is being downloaded, are requeued.
pub(super) const WAIT: Duration = Duration::from_secs(10);
/// The delay before objects that could not be applied are requeued.
pub(super) const FAILED_WAIT: Duration = Duration::from_secs(20);
/// The delay after what only a change of the stack or of the cluster can mend.
pub(super) const STALLED_WAIT: Duration = Duration::from_secs(600);

/// What is kept of a ClusterAddon.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AddonView {
    /// The spec.
    pub spec: ClusterAddonSpec,
    #[serde(default)]
    status: Option<AddonStatusView>,
}

/// What a stack and the metrics read of a status; its lists of objects are not kept.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AddonStatusView {
    observed_generation: Option<i64>,
    conditions: Vec<Condition>,
}

/// Of an addon that can't be decoded.
pub(super) static NO_SPEC: ClusterAddonSpec = ClusterAddonSpec {
    cluster_ref: crate::api::LocalReference { name: String::new() },
    stack_ref: crate::api::LocalReference { name: String::new() },
    chart: crate::api::cluster_addons::PinnedChart {
        repository: String::new(),
        version: None,
        digest: String::new(),
    },
    values_hash: String::new(),
    stages: Vec::new(),
    prune: false,
};

/// Whether its present spec is applied.
pub(super) fn is_ready(addon: &Object<AddonView>) -> bool {
    let status = addon.view().and_then(|view| view.status.as_ref());
    status.is_some_and(|status| {
        status.observed_generation == addon.metadata.generation
            && conditions::is(&status.conditions, READY, "True")
    })
}

/// Whether its cluster can't be reached.
pub(super) fn is_unreachable(addon: &Object<AddonView>) -> bool {
    let status = addon.view().and_then(|view| view.status.as_ref());
    status.is_some_and(|status| conditions::is(&status.conditions, CLUSTER_READY, "False"))
}

/// A ClusterAddon as a whole.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct FullAddon {
    pub(super) spec: ClusterAddonSpec,
    #[serde(default)]
    pub(super) status: Option<AddonStatus>,
}

/// The controller of ClusterAddons.
pub struct ClusterAddons(pub(super) Arc<Shared>);

impl Watched for ClusterAddons {
    const ID: KindId = CLUSTER_ADDONS;
    const STATES: &'static [&'static str] = &["New", "Progressing", "Ready", "Stalled", SUSPENDED];
    type View = AddonView;

    fn state(addon: &Object<AddonView>) -> Option<ObjectState<'_>> {
        let status = addon.view().and_then(|view| view.status.as_ref());
        Some(state_of(status.map_or(&[], |status| &status.conditions)))
    }

    /// A stack counts those that are ready.
    fn concerns_others(before: &Object<AddonView>, after: &Object<AddonView>) -> bool {
        let seen = |one: &Object<AddonView>| {
            (
                one.uid().to_owned(),
                one.metadata.generation,
                one.metadata.deletion_timestamp.is_some(),
                is_ready(one),
                is_unreachable(one),
            )
        };
        seen(before) != seen(after)
    }
}

impl Kind for ClusterAddons {
    const POOL: Pool = POOL;
    const TIMEOUT: Duration = Duration::from_secs(300);

    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let found = cx.api::<FullAddon>(key).get_opt(&key.name).await;
        let Some(object) = found.map_err(Error::api("reading the ClusterAddon"))? else {
            return Ok(Action::done());
        };
        let Ok(addon) = object.view else {
            return Ok(Action::done());
        };
        let mut pass = Pass::new(&self.0, cx, key, object.metadata, addon);
        let version = self.0.settings.version;
        let name = ObjectName::new(&key.namespace, &pass.spec.cluster_ref.name);
        let cluster = version.get(cx, &name);
        let cluster = cluster.filter(|cluster| owned::is_controlled_by(&pass.metadata, cluster.uid()));
        if pass.metadata.deletion_timestamp.is_some() {
            return remove::remove(pass, cluster.as_deref()).await;
        }
        // What belongs to no cluster of ours is collected, or was never ours.
        let Some(cluster) = cluster else {
            return Ok(Action::done());
        };
        if cluster.metadata.deletion_timestamp.is_some() {
            let halt = Halt::wait(CLUSTER_READY, reasons::DELETING, "the cluster is being deleted");
            return pass.halted(&halt, None).await;
        }
        let stacks = stack_rollout::stacks(cx, &key.namespace);
        let (labels, class) = labels_and_class(&cluster);
        match winner(stacks.iter().map(StackSummary::candidate), &labels, class) {
            None => return deselected(pass, &cluster).await,
            // That one takes it over.
            Some(winner) if winner != pass.spec.stack_ref.name => return Ok(Action::done()),
            Some(_) => {}
        }
        let Some(stack) = stack_of(&pass).await?.and_then(|stack| stack.view.ok()) else {
            return Ok(Action::requeue(WAIT));
        };
        let stack: ClusterStackSpec = stack.spec;
        if stack.suspend {
            return pass.suspended().await;
        }
        match self.steps(&mut pass, &cluster, &stack).await? {
            End::Ready(message, requeue) => pass.ready(&message, requeue).await,
            End::Halted(halt, requeue) => pass.halted(&halt, requeue).await,
            // Its stack has other values, and has not given them to this cluster yet.
            End::NotItsTurn => Ok(Action::done()),
        }
    }
}

/// No stack that the watch has delivered selects the cluster. What is in the cluster is only deleted when the stack's
/// own state confirms that: the store may lack a stack whose labels no longer match the operator's selector, or that
/// can't be decoded.
async fn deselected(pass: Pass<'_>, cluster: &Object<ClusterView>) -> Result<Action, Error> {
    let stack = stack_of(&pass).await?;
    let stack = stack.filter(|stack| stack.metadata.deletion_timestamp.is_none());
    if let Some(stack) = stack {
        let Ok(FullStack { spec, .. }) = &stack.view else {
            return Ok(Action::requeue(STALLED_WAIT));
        };
        let own = StackSpecView::from(spec);
        let (labels, class) = labels_and_class(cluster);
        if selects(&own, &labels, class) {
            return Ok(Action::requeue(STALLED_WAIT));
        }
        if spec.suspend {
            return pass.suspended().await;
        }
    }
    tracing::info!("no stack selects the cluster any more");
    owned::delete_object(pass.cx, pass.key, pass.uid())
        .await
        .map_err(Error::api("deleting a ClusterAddon"))?;
    Ok(Action::done())
}

/// The addon's stack, as the API server has it.
async fn stack_of(pass: &Pass<'_>) -> Result<Option<Object<FullStack>>, Error> {
    let name = &pass.spec.stack_ref.name;
    let key = Key {
        kind: CLUSTER_STACKS,
        namespace: pass.key.namespace.clone(),
        name: name.clone(),
    };
    let found = pass.cx.api::<FullStack>(&key).get_opt(name).await;
    found.map_err(Error::api("reading the ClusterStack"))
}
