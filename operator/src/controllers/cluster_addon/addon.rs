//! One reconcile of a ClusterAddon: the steps to a cluster with the chart applied, each of which may end it.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::api::ObjectMeta;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use solar_render::engine::RenderRequest;
use solar_render::semver::{Constraint, Version};

use super::chart_cache::{ChartArchive, ChartState, ChartVersionOrDigest};
use super::cluster::ClusterView;
use super::conditions::{
    CHART_APPLIED, CHART_DOWNLOADED, CLUSTER_READY, Halt, VALUES_TEMPLATED, findings, reasons,
};
use super::evaluate::{Answer, Question};
use super::objects::{self, RenderedObjects, hex};
use super::stack::{self, FullStack, StackSummary, labels_and_class, state_of, values_hash, without};
use super::{POOL, Shared, remove, rollout, scope, secrets};
use crate::api::REQUESTED_AT_ANNOTATION;
use crate::api::cluster_addons::{
    AddonStatus, AppliedVersion, CLUSTER_ADDONS, CLUSTER_STACKS, ClusterAddonSpec, ClusterStackSpec,
    DriftDetection,
};
use crate::key::ObjectName;
use crate::runtime::conditions::{self, READY, SUSPENDED, find, update};
use crate::runtime::events::{self, Notice};
use crate::runtime::views::Object;
use crate::runtime::{Action, Cx, Error, Key, Kind, KindId, ObjectState, Pool, Watched, owned, status};

/// How long a cluster that isn't there, and a chart that is on its way, are waited for.
pub(super) const WAIT: Duration = Duration::from_secs(10);
/// How long objects that could not be applied are waited for.
const FAILED_WAIT: Duration = Duration::from_secs(20);
/// How often objects are compared with the cluster's.
pub(super) const DRIFT_INTERVAL: Duration = Duration::from_secs(600);

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
        let stacks = stack::stacks(cx, &key.namespace);
        let (labels, class) = labels_and_class(&cluster);
        let winner = super::select::winner(stacks.iter().map(StackSummary::candidate), &labels, class);
        match winner {
            None => {
                tracing::info!("no stack selects the cluster any more");
                owned::delete_object(cx, key, pass.metadata.uid.as_deref().unwrap_or(""))
                    .await
                    .map_err(Error::api("deleting a ClusterAddon"))?;
                return Ok(Action::done());
            }
            // That one takes it over.
            Some(winner) if winner != pass.spec.stack_ref.name => return Ok(Action::done()),
            Some(_) => {}
        }
        let Some(stack) = full_stack(cx, key, &pass.spec.stack_ref.name).await? else {
            return Ok(Action::requeue(WAIT));
        };
        if stack.suspend {
            let next = conditions::suspended(&pass.known.conditions, pass.metadata.generation, cx.now());
            pass.next.conditions = next;
            pass.write().await?;
            return Ok(Action::done());
        }
        match self.steps(&mut pass, &cluster, &stack).await? {
            End::Ready(message, requeue) => pass.ready(&message, requeue).await,
            End::Halted(halt, requeue) => pass.halted(&halt, requeue).await,
            // Its stack has other values, and has not given them to this cluster yet.
            End::NotItsTurn => Ok(Action::done()),
        }
    }
}

async fn full_stack(cx: &Cx, key: &Key, name: &str) -> Result<Option<ClusterStackSpec>, Error> {
    let key = Key {
        kind: CLUSTER_STACKS,
        namespace: key.namespace.clone(),
        name: name.to_owned(),
    };
    let found = cx.api::<FullStack>(&key).get_opt(name).await;
    let found = found.map_err(Error::api("reading the ClusterStack"))?;
    Ok(found.and_then(|stack| stack.view.ok()).map(|stack| stack.spec))
}

/// How the steps end.
pub(super) enum End {
    /// The cluster has the chart.
    Ready(String, Duration),
    /// It goes no further now.
    Halted(Halt, Option<Duration>),
    /// Nothing is to be done.
    NotItsTurn,
}

/// A reconcile of one addon.
pub(super) struct Pass<'a> {
    pub(super) shared: &'a Shared,
    pub(super) cx: &'a Cx,
    pub(super) key: &'a Key,
    pub(super) metadata: ObjectMeta,
    pub(super) spec: ClusterAddonSpec,
    /// As it is stored.
    pub(super) known: AddonStatus,
    /// As it is to be.
    pub(super) next: AddonStatus,
    pub(super) notices: Vec<Notice>,
}

impl<'a> Pass<'a> {
    fn new(shared: &'a Shared, cx: &'a Cx, key: &'a Key, metadata: ObjectMeta, addon: FullAddon) -> Self {
        let FullAddon { spec, status } = addon;
        let known = status.unwrap_or_default();
        Self {
            shared,
            cx,
            key,
            metadata,
            spec,
            next: known.clone(),
            known,
            notices: Vec::new(),
        }
    }

    pub(super) fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or("")
    }

    /// The value of the annotation that requests a reconcile.
    fn request(&self) -> Option<String> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations.get(REQUESTED_AT_ANNOTATION).cloned()
    }

    /// Writes the status as far as it is.
    pub(super) async fn write(&mut self) -> Result<(), Error> {
        let version = self.metadata.resource_version.as_deref();
        let written = status::patch(self.cx, self.key, version, &self.known, &self.next).await?;
        if let Some(metadata) = written {
            self.metadata.resource_version = metadata.resource_version;
            self.known = self.next.clone();
        }
        Ok(())
    }

    fn set(&mut self, halt: Option<&Halt>, message: &str) {
        let generation = self.metadata.generation;
        let before = find(&self.known.conditions, READY).map(|one| one.reason.clone());
        let found = findings(halt, message);
        self.next.conditions = update(
            &without(&self.known.conditions),
            &found,
            generation,
            self.cx.now(),
        );
        self.next.observed_generation = generation;
        if let Some(halt) = halt.filter(|halt| before.as_deref() != Some(halt.reason)) {
            self.notices.push(Notice {
                warning: halt.is_stalled || halt.reason == reasons::FAILED_TO_APPLY,
                reason: halt.reason,
                action: "Apply",
                note: halt.message.clone(),
            });
        }
    }

    pub(super) async fn halted(mut self, halt: &Halt, requeue: Option<Duration>) -> Result<Action, Error> {
        self.set(Some(halt), "");
        self.finish(requeue).await
    }

    async fn ready(mut self, message: &str, requeue: Duration) -> Result<Action, Error> {
        self.set(None, message);
        self.finish(Some(requeue)).await
    }

    async fn finish(mut self, requeue: Option<Duration>) -> Result<Action, Error> {
        self.write().await?;
        let notices = std::mem::take(&mut self.notices);
        events::publish(self.cx, self.key, &self.metadata, notices).await;
        Ok(requeue.map_or_else(Action::done, Action::requeue))
    }

    pub(super) fn notice(&mut self, reason: &'static str, note: String) {
        self.notices.push(Notice {
            warning: false,
            reason,
            action: "Apply",
            note,
        });
    }
}

/// Whether the addon isn't written for the stack as it is now, or the cluster not initialized.
fn too_early(pass: &Pass<'_>, cluster: &Object<ClusterView>, stack: &ClusterStackSpec) -> Option<End> {
    if values_hash(stack) != pass.spec.values_hash || stack.stages != pass.spec.stages {
        return Some(End::NotItsTurn);
    }
    if cluster.view().is_some_and(ClusterView::is_initialized) {
        return None;
    }
    let message = "the control plane is not initialized";
    let halt = Halt::wait(CLUSTER_READY, reasons::CONTROL_PLANE_NOT_READY, message);
    Some(End::Halted(halt, Some(WAIT)))
}

impl ClusterAddons {
    async fn steps(
        &self,
        pass: &mut Pass<'_>,
        cluster: &Object<ClusterView>,
        stack: &ClusterStackSpec,
    ) -> Result<End, Error> {
        let (cx, key) = (pass.cx, pass.key);
        if let Some(end) = too_early(pass, cluster, stack) {
            return Ok(end);
        }
        let mut workload = match secrets::connect(cx, &key.namespace, &cluster.name().name).await? {
            Ok(workload) => workload,
            Err(halt) => return Ok(End::Halted(halt, Some(WAIT))),
        };
        let archive = match self.archive(pass, stack).await? {
            Ok(archive) => archive,
            Err((halt, after)) => return Ok(End::Halted(halt, Some(after))),
        };
        let whole = scope::cluster(cx, self.0.settings.version, cluster).await?;
        let (request, applied) = match self
            .values(pass, cluster, stack, (&whole, &workload.version))
            .await?
        {
            Ok(values) => values,
            Err(halt) => return Ok(End::Halted(halt, Some(DRIFT_INTERVAL))),
        };
        let is_applied = pass
            .known
            .last_applied
            .as_ref()
            .is_some_and(|last| last.input == applied.input);
        let is_requested = pass.request() != pass.known.last_handled_reconcile_at;
        pass.next.last_handled_reconcile_at = pass.request();
        if is_applied
            && !is_requested
            && let Some(wait) = drift_wait(pass, stack)
        {
            return Ok(End::Ready(rollout::message(pass), wait));
        }
        if let Err(error) = workload.discover().await {
            let halt = Halt::wait(CLUSTER_READY, reasons::CLUSTER_UNREACHABLE, error.to_string());
            return Ok(End::Halted(halt, Some(WAIT)));
        }
        let rendered_for = workload.rendered_for();
        let rendered = match self.render(pass, archive, request, rendered_for).await? {
            Ok(rendered) => rendered,
            Err(message) => {
                let halt = Halt::stall(CHART_APPLIED, reasons::RENDER_FAILED, message);
                return Ok(End::Halted(halt, Some(DRIFT_INTERVAL)));
            }
        };
        let owner = key.to_string();
        let work = rollout::Work {
            owner: &owner,
            rendered: &rendered,
            namespace: &stack.namespace,
            cluster: &whole,
            applied,
        };
        if is_applied {
            rollout::check_drift(pass, &mut workload, &work).await
        } else {
            rollout::roll_out(pass, &mut workload, &work).await
        }
    }

    /// The request of the rendering with all values, and what is recorded of it.
    async fn values(
        &self,
        pass: &Pass<'_>,
        cluster: &Object<ClusterView>,
        stack: &ClusterStackSpec,
        (whole, version): (&serde_json::Value, &str),
    ) -> Result<Result<(RenderRequest, AppliedVersion), Halt>, Error> {
        let templated = match self.template(pass, cluster, stack, (whole, version)).await? {
            Ok(text) => text,
            Err(halt) => return Ok(Err(halt)),
        };
        let release = (stack.release_name.as_str(), stack.namespace.as_str());
        let (request, values) = match objects::merge_values(release, &stack.values, &templated) {
            Ok(merged) => merged,
            Err(problem) => {
                let message = problem.to_string();
                return Ok(Err(Halt::stall(
                    VALUES_TEMPLATED,
                    reasons::TEMPLATE_FAILED,
                    message,
                )));
            }
        };
        if let Some(message) = unsupported(&stack.kubernetes_versions, version) {
            return Ok(Err(Halt::stall(
                CHART_APPLIED,
                reasons::VERSION_NOT_SUPPORTED,
                message,
            )));
        }
        let mut applied = AppliedVersion {
            digest: pass.spec.chart.digest.clone(),
            values,
            kubernetes_version: version.to_owned(),
            input: String::new(),
            at: None,
        };
        applied.input = input(&pass.spec, &applied, release);
        Ok(Ok((request, applied)))
    }

    /// The chart's archive.
    async fn archive(
        &self,
        pass: &Pass<'_>,
        stack: &ClusterStackSpec,
    ) -> Result<Result<ChartArchive, (Halt, Duration)>, Error> {
        let chart = &pass.spec.chart;
        let digest = ChartVersionOrDigest::Digest(chart.digest.clone());
        let namespace = &pass.key.namespace;
        let request = stack::request(&self.0, pass.cx, namespace, stack, &chart.repository, digest).await?;
        let request = match request {
            Ok(request) => request,
            Err(message) => {
                let halt = Halt::stall(CHART_DOWNLOADED, reasons::DOWNLOAD_FAILED, message);
                return Ok(Err((halt, FAILED_WAIT)));
            }
        };
        let (wake, own) = (pass.cx.clone(), pass.key.clone());
        Ok(match self.0.charts.get(&request, move || wake.wake(own)) {
            ChartState::Ready { archive, .. } => Ok(archive),
            ChartState::Downloading => {
                let message = "the chart is being downloaded";
                Err((
                    Halt::wait(CHART_DOWNLOADED, reasons::NOT_DOWNLOADED_YET, message),
                    WAIT,
                ))
            }
            ChartState::Failed(message) => Err((
                Halt::wait(CHART_DOWNLOADED, reasons::DOWNLOAD_FAILED, message),
                FAILED_WAIT,
            )),
        })
    }

    /// What the template of values prints.
    async fn template(
        &self,
        pass: &Pass<'_>,
        cluster: &Object<ClusterView>,
        stack: &ClusterStackSpec,
        (whole, version): (&serde_json::Value, &str),
    ) -> Result<Result<String, Halt>, Error> {
        if stack.values_template.is_empty() {
            return Ok(Ok(String::new()));
        }
        let scope = scope::of_template(pass.cx, cluster, whole.clone(), version).await?;
        let question = Question::Template {
            stack: pass.spec.stack_ref.name.clone(),
            text: stack.values_template.clone(),
            scope,
        };
        let message = match self.0.evaluator.ask(&question).await {
            Answer::Text(text) => return Ok(Ok(text)),
            Answer::Refused(message) => message,
            Answer::True | Answer::False { .. } => "internal error: the template has no text".to_owned(),
        };
        Ok(Err(Halt::stall(
            VALUES_TEMPLATED,
            reasons::TEMPLATE_FAILED,
            message,
        )))
    }

    /// Renders on a thread of its own. A chart that makes keys or passwords gets a seed that nobody else knows.
    async fn render(
        &self,
        pass: &Pass<'_>,
        archive: ChartArchive,
        request: RenderRequest,
        cluster: objects::RenderedFor,
    ) -> Result<Result<RenderedObjects, String>, Error> {
        let mut seed = 0;
        loop {
            let Ok(_slot) = self.0.renderers.acquire().await else {
                return Ok(Err("the operator is shutting down".to_owned()));
            };
            let (archive, request, cluster) = (archive.clone(), request.clone(), cluster.clone());
            let rendering = tokio::task::spawn_blocking(move || {
                let bytes = archive.read()?;
                objects::render(&bytes, &request, &cluster, seed).map_err(|problem| problem.to_string())
            });
            let rendered = match rendering.await {
                Ok(rendered) => rendered,
                Err(_) => Err("internal error: the rendering failed".to_owned()),
            };
            match rendered {
                Ok(rendered) if !rendered.predictable.is_empty() && seed == 0 => {
                    seed = secrets::seed(pass.cx, pass.key, pass.uid()).await?.max(1);
                }
                other => return Ok(other),
            }
        }
    }
}

/// Everything that the objects in a cluster depend on.
fn input(spec: &ClusterAddonSpec, applied: &AppliedVersion, release: (&str, &str)) -> String {
    let text = json!([
        spec.chart.digest,
        applied.values,
        spec.stages,
        applied.kubernetes_version,
        release.0,
        release.1
    ]);
    hex(&Sha256::digest(text.to_string().as_bytes()))
}

/// How long the objects needn't be compared; `None`: they are compared now.
fn drift_wait(pass: &Pass<'_>, stack: &ClusterStackSpec) -> Option<Duration> {
    if stack.drift_detection == DriftDetection::Off {
        return Some(DRIFT_INTERVAL);
    }
    let Some(Time(last)) = &pass.known.last_drift_check else {
        return None;
    };
    let age = pass.cx.now().duration_since(*last).unsigned_abs();
    DRIFT_INTERVAL.checked_sub(age).filter(|left| !left.is_zero())
}

/// Why a stack isn't for a cluster of this version.
fn unsupported(ranges: &[String], version: &str) -> Option<String> {
    if ranges.is_empty() {
        return None;
    }
    let Ok(version) = Version::parse(version.trim_start_matches('v')) else {
        return Some(format!("the cluster's version {version} can't be read"));
    };
    for range in ranges {
        match Constraint::parse(range) {
            Ok(constraint) if constraint.check(&version) => return None,
            Ok(_) => {}
            Err(_) => {
                return Some(format!(
                    "spec.kubernetesVersions: {range:?} is no range of versions"
                ));
            }
        }
    }
    Some(format!(
        "the cluster's version {version} is in none of the ranges {}",
        ranges.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clusters_version_is_in_one_of_the_ranges() {
        let ranges = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let table = [
            (ranges(&[]), None),
            (ranges(&["1.32.x", "1.33.x"]), None),
            (ranges(&[">=1.31.0-0 <1.34.0-0"]), None),
            (ranges(&["1.32.x"]), Some("none of the ranges")),
            (ranges(&["new"]), Some("no range")),
        ];
        for (ranges, expected) in table {
            let found = unsupported(&ranges, "v1.33.2");
            match expected {
                None => assert_eq!(found, None, "{ranges:?}"),
                Some(part) => assert!(
                    found.as_deref().is_some_and(|text| text.contains(part)),
                    "{found:?}"
                ),
            }
        }
        assert!(unsupported(&ranges(&["1.x"]), "unknown").is_some());
    }
}
