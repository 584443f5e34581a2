//! One reconcile of a ClusterStack: its chart is resolved, and each cluster gets its addon when it is its turn.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Deserialize;

use super::chart_cache::{ChartState, ChartVersionOrDigest};
use super::conditions::reasons;
use super::select::StackSpecView;
use super::stack_status::{
    NEW, NoChart, PROGRESSING, READY_STATE, STALLED_STATE, findings_of, state_of, without, write,
};
use super::{Shared, chart_request};
use crate::api::cluster_addons::{
    CLUSTER_STACKS, ClusterCounts, ClusterStackSpec, ClusterStackStatus, ResolvedChart,
};
use crate::runtime::conditions::{self, SUSPENDED, update};
use crate::runtime::views::Object;
use crate::runtime::{Action, Cx, Error, Key, Kind, KindId, ObjectState, Watched, status};

/// The delay before a chart that is being downloaded is requeued.
const DOWNLOAD_INTERVAL: Duration = Duration::from_secs(10);

/// What is kept of a ClusterStack.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StackView {
    /// What selects clusters.
    pub spec: StackSpecView,
    /// The conditions.
    status: Option<ConditionsView>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct ConditionsView {
    conditions: Vec<Condition>,
}

/// A ClusterStack as a whole.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct FullStack {
    pub(super) spec: ClusterStackSpec,
    #[serde(default)]
    pub(super) status: Option<ClusterStackStatus>,
}

/// The controller of ClusterStacks.
pub struct ClusterStacks(pub(super) Arc<Shared>);

impl Watched for ClusterStacks {
    const ID: KindId = CLUSTER_STACKS;
    const STATES: &'static [&'static str] = &[NEW, PROGRESSING, READY_STATE, STALLED_STATE, SUSPENDED];
    type View = StackView;

    fn state(stack: &Object<StackView>) -> Option<ObjectState<'_>> {
        let status = stack.view().and_then(|view| view.status.as_ref());
        let conditions = status.map_or(&[][..], |status| &status.conditions);
        Some(state_of(conditions))
    }

    /// Its status is for users.
    fn concerns_others(before: &Object<StackView>, after: &Object<StackView>) -> bool {
        before.metadata.generation != after.metadata.generation
            || before.metadata.deletion_timestamp != after.metadata.deletion_timestamp
            || before.uid() != after.uid()
    }
}

impl Kind for ClusterStacks {
    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let found = cx.api::<FullStack>(key).get_opt(&key.name).await;
        let Some(mut object) = found.map_err(Error::api("reading the ClusterStack"))? else {
            return Ok(Action::done());
        };
        if object.metadata.deletion_timestamp.is_some() {
            return Ok(Action::done());
        }
        let stack = match &object.view {
            Ok(stack) => stack.clone(),
            Err(_) => return Ok(Action::done()),
        };
        let known = stack.status.clone().unwrap_or_default();
        if stack.spec.suspend {
            let conditions = conditions::suspended(&known.conditions, object.metadata.generation, cx.now());
            let next = ClusterStackStatus {
                conditions,
                ..known.clone()
            };
            return write(cx, key, &object, &known, &next, None).await;
        }
        let chart = match self.chart(cx, key, &stack.spec, &known).await? {
            Ok(chart) => chart,
            Err(problem) => {
                let next = problem.status(&known, object.metadata.generation, cx.now());
                let requeue = problem.requeue;
                return write(cx, key, &object, &known, &next, Some(requeue)).await;
            }
        };
        let known = record_chart(cx, key, &mut object, known, &chart).await?;
        let labels = object.metadata.labels.clone().unwrap_or_default();
        let plan = self.roll_out(cx, key, &labels, &stack.spec, &chart).await?;
        let findings = findings_of(&plan);
        let next = ClusterStackStatus {
            observed_generation: object.metadata.generation,
            conditions: update(
                &without(&known.conditions),
                &findings,
                object.metadata.generation,
                cx.now(),
            ),
            chart: Some(chart),
            clusters: Some(plan.counts),
        };
        write(cx, key, &object, &known, &next, None).await
    }
}

/// Writes the chart into the status before any cluster gets it: a write that fails afterwards must not resolve the
/// version to another digest.
async fn record_chart(
    cx: &Cx,
    key: &Key,
    object: &mut Object<FullStack>,
    known: ClusterStackStatus,
    chart: &ResolvedChart,
) -> Result<ClusterStackStatus, Error> {
    if known.chart.as_ref() == Some(chart) {
        return Ok(known);
    }
    let next = ClusterStackStatus {
        chart: Some(chart.clone()),
        // Nobody has it yet.
        clusters: known.clusters.map(|counts| ClusterCounts {
            up_to_date: 0,
            ready: 0,
            ..counts
        }),
        ..known.clone()
    };
    let version = object.metadata.resource_version.as_deref();
    if let Some(metadata) = status::patch(cx, key, version, &known, &next).await? {
        object.metadata = metadata;
    }
    Ok(next)
}

impl ClusterStacks {
    /// The chart's digest: the one it was resolved to before, as long as the stack names the same version.
    async fn chart(
        &self,
        cx: &Cx,
        key: &Key,
        spec: &ClusterStackSpec,
        known: &ClusterStackStatus,
    ) -> Result<Result<ResolvedChart, NoChart>, Error> {
        let before = known.chart.as_ref().filter(|before| {
            before.repository == spec.chart.repository && before.version == spec.chart.version
        });
        let version = match (&spec.chart.digest, before, &spec.chart.version) {
            (Some(digest), ..) => ChartVersionOrDigest::Digest(digest.clone()),
            (None, Some(before), _) => ChartVersionOrDigest::Digest(before.digest.clone()),
            (None, None, version) => ChartVersionOrDigest::Version(version.clone().unwrap_or_default()),
        };
        let request =
            match chart_request::of_stack(&self.0, cx, &key.namespace, spec, &spec.chart.repository, version)
                .await?
            {
                Ok(request) => request,
                Err(message) => return Ok(Err(NoChart::failed(message, true))),
            };
        let (wake, own) = (cx.clone(), key.clone());
        Ok(match self.0.charts.get(&request, move || wake.wake(own)) {
            ChartState::Ready { digest, .. } => Ok(ResolvedChart {
                repository: spec.chart.repository.clone(),
                version: spec.chart.version.clone(),
                digest,
            }),
            ChartState::Downloading => Err(NoChart {
                reason: reasons::NOT_DOWNLOADED_YET,
                message: "the chart is being downloaded".to_owned(),
                is_stalled: false,
                requeue: DOWNLOAD_INTERVAL,
            }),
            ChartState::Failed(message) => Err(NoChart::failed(message, false)),
        })
    }
}
