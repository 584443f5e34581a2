//! One reconcile of a ClusterStack: its chart is resolved, and each cluster gets its addon when it is its turn.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::chart_cache::{ChartRequest, ChartState, ChartVersionOrDigest};
use super::cluster::ClusterView;
use super::conditions::reasons;
use super::objects::hex;
use super::select::{AddonState, Candidate, Plan, SelectedCluster, StackSpecView, plan, selects, winner};
use super::{ClusterAddons, Shared, addon_name, secrets};
use crate::api::LocalReference;
use crate::api::cluster_addons::{
    CLUSTER_ADDONS, CLUSTER_STACKS, ClusterAddonSpec, ClusterCounts, ClusterStackSpec, ClusterStackStatus,
    PinnedChart, ResolvedChart,
};
use crate::names::MANAGER;
use crate::runtime::conditions::{self, Finding, READY, STALLED, SUSPENDED, find, update};
use crate::runtime::events::{self, Notice};
use crate::runtime::owned;
use crate::runtime::views::{MetadataOnly, Object};
use crate::runtime::{Action, Cx, Error, Key, Kind, KindId, ObjectState, Watched, status};

/// The condition that the chart is resolved and on disk.
const CHART_DOWNLOADED: &str = "ChartDownloaded";
/// The condition that clusters are selected, and which are not the stack's.
const CLUSTERS_SELECTED: &str = "ClustersSelected";
/// How long a chart that is on its way is waited for.
const DOWNLOAD_INTERVAL: Duration = Duration::from_secs(10);
/// How long a failed download is waited for.
const FAILED_INTERVAL: Duration = Duration::from_secs(30);

const NEW: &str = "New";
const READY_STATE: &str = "Ready";
const PROGRESSING: &str = "Progressing";
const STALLED_STATE: &str = "Stalled";

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
    conditions: Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition>,
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

/// The state for metrics.
pub(super) fn state_of(
    conditions: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition],
) -> ObjectState<'static> {
    let name = if conditions.is_empty() {
        NEW
    } else if conditions::is(conditions, SUSPENDED, "True") {
        SUSPENDED
    } else if conditions::is(conditions, STALLED, "True") {
        STALLED_STATE
    } else if conditions::is(conditions, READY, "True") {
        READY_STATE
    } else {
        PROGRESSING
    };
    ObjectState {
        name,
        waiting: matches!(name, NEW | PROGRESSING),
    }
}

impl Kind for ClusterStacks {
    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let found = cx.api::<FullStack>(key).get_opt(&key.name).await;
        let Some(object) = found.map_err(Error::api("reading the ClusterStack"))? else {
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

/// The conditions without those that are only there while they are true.
pub(super) fn without(
    conditions: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition],
) -> Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition> {
    let kept = conditions
        .iter()
        .filter(|one| ![STALLED, SUSPENDED].contains(&one.type_.as_str()));
    kept.cloned().collect()
}

/// Why there is no chart.
struct NoChart {
    reason: &'static str,
    message: String,
    is_stalled: bool,
    requeue: Duration,
}

impl NoChart {
    fn failed(message: String, is_stalled: bool) -> Self {
        Self {
            reason: reasons::DOWNLOAD_FAILED,
            message,
            is_stalled,
            requeue: FAILED_INTERVAL,
        }
    }

    fn status(
        &self,
        known: &ClusterStackStatus,
        generation: Option<i64>,
        now: Timestamp,
    ) -> ClusterStackStatus {
        let finding = |kind, status| Finding {
            kind,
            status,
            reason: self.reason,
            message: self.message.clone(),
        };
        let mut findings = vec![finding(CHART_DOWNLOADED, "False"), finding(READY, "False")];
        if self.is_stalled {
            findings.push(finding(STALLED, "True"));
        }
        ClusterStackStatus {
            observed_generation: generation,
            conditions: update(&without(&known.conditions), &findings, generation, now),
            ..known.clone()
        }
    }
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
            match request(&self.0, cx, &key.namespace, spec, &spec.chart.repository, version).await? {
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

    /// Creates and updates the addons of the clusters whose turn it is.
    async fn roll_out(
        &self,
        cx: &Cx,
        key: &Key,
        labels: &BTreeMap<String, String>,
        spec: &ClusterStackSpec,
        chart: &ResolvedChart,
    ) -> Result<Plan, Error> {
        let desired = |cluster: &str| desired(&key.name, cluster, spec, chart);
        let clusters = self.0.settings.version.in_namespace(cx, &key.namespace);
        let clusters: Vec<_> = clusters
            .iter()
            .filter(|cluster| cluster.metadata.deletion_timestamp.is_none())
            .collect();
        let stacks = stacks(cx, &key.namespace);
        let own = StackSpecView {
            cluster_selector: spec.cluster_selector.clone(),
            class_names: spec.class_names.clone(),
        };
        let selected = clusters.iter().filter_map(|cluster| {
            let (labels, class) = labels_and_class(cluster);
            selects(&own, &labels, class).then(|| {
                let winner = winner(stacks.iter().map(StackSummary::candidate), &labels, class);
                // The store may not have this stack's last change.
                (*cluster, winner.unwrap_or(&key.name).to_owned())
            })
        });
        let selected: Vec<_> = selected.collect();
        let addons = cx.store::<ClusterAddons>();
        let addons: Vec<_> = selected
            .iter()
            .map(|(cluster, _)| {
                let name = addon_name(&cluster.name().name);
                addons.get(&crate::key::ObjectName::new(&key.namespace, &name))
            })
            .collect();
        let names: Vec<String> = selected.iter().map(|(cluster, _)| cluster.name().name).collect();
        let states: Vec<_> = selected
            .iter()
            .zip(&addons)
            .zip(&names)
            .map(|(((cluster, winner), addon), name)| SelectedCluster {
                name,
                winner,
                addon: addon.as_ref().map(|addon| AddonState {
                    is_owned: owned::is_controlled_by(&addon.metadata, cluster.uid()),
                    is_deleting: addon.metadata.deletion_timestamp.is_some(),
                    spec: addon.view().map_or(&super::addon::NO_SPEC, |view| &view.spec),
                    is_ready: super::addon::is_ready(addon),
                    is_unreachable: super::addon::is_unreachable(addon),
                }),
            })
            .collect();
        let plan = plan(&key.name, &states, desired, &spec.update_policy);
        for name in &plan.create {
            let cluster = selected.iter().find(|(cluster, _)| cluster.name().name == *name);
            if let Some((cluster, _)) = cluster {
                self.create(cx, key, labels, cluster, &desired(name)).await?;
            }
        }
        for name in &plan.update {
            set_spec(cx, key, name, &desired(name)).await?;
        }
        Ok(plan)
    }

    async fn create(
        &self,
        cx: &Cx,
        key: &Key,
        labels: &BTreeMap<String, String>,
        cluster: &Object<ClusterView>,
        spec: &ClusterAddonSpec,
    ) -> Result<(), Error> {
        let kind = self.0.settings.version.kind();
        // The stack's own, so that --label-selector chooses both or neither.
        let mut labels = labels.clone();
        labels.insert("app.kubernetes.io/managed-by".to_owned(), MANAGER.to_owned());
        labels.insert("app.kubernetes.io/part-of".to_owned(), "solar".to_owned());
        let object = json!({
            "apiVersion": CLUSTER_ADDONS.api_version(), "kind": CLUSTER_ADDONS.kind,
            "metadata": {
                "name": addon_name(&cluster.name().name), "namespace": key.namespace,
                "labels": labels,
                // Before anything is applied.
                "finalizers": [super::finalizer()],
                "ownerReferences": [{
                    "apiVersion": kind.api_version(), "kind": kind.kind, "name": cluster.name().name,
                    "uid": cluster.uid(), "controller": true,
                }],
            },
            "spec": spec,
        });
        match owned::create_object(cx, CLUSTER_ADDONS, &key.namespace, &object).await {
            Ok(_) => Ok(()),
            // The store will show it.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(error) => Err(Error::api("creating a ClusterAddon")(error)),
        }
    }
}

/// Replaces an addon's spec.
async fn set_spec(cx: &Cx, key: &Key, cluster: &str, spec: &ClusterAddonSpec) -> Result<(), Error> {
    let api: Api<Object<MetadataOnly>> = cx.api_in(CLUSTER_ADDONS, Some(&key.namespace));
    let mut body = serde_json::to_value(spec)?;
    // A merge patch keeps what it doesn't name.
    for field in ["stages"] {
        if body.get(field).is_none() {
            body[field] = Value::Null;
        }
    }
    if body["chart"].get("version").is_none() {
        body["chart"]["version"] = Value::Null;
    }
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patched = api
        .patch(
            &addon_name(cluster),
            &params,
            &Patch::Merge(json!({"spec": body})),
        )
        .await;
    match patched {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(Error::api("updating a ClusterAddon")(error)),
    }
}

/// The request of a chart, with the credentials and the key of its stack; or why there is none.
pub(super) async fn request(
    shared: &Shared,
    cx: &Cx,
    namespace: &str,
    spec: &ClusterStackSpec,
    repository: &str,
    version: ChartVersionOrDigest,
) -> Result<Result<ChartRequest, String>, Error> {
    let place = repository.trim_start_matches("oci://");
    let host = place.split('/').next().unwrap_or_default();
    if let Some(refusal) = shared.settings.allowed_hosts.refusal(namespace, host) {
        return Ok(Err(refusal));
    }
    let credentials = match &spec.chart.pull_secret_ref {
        None => None,
        Some(secret) => match secrets::pull_credentials(cx, namespace, &secret.name, place).await? {
            Ok(credentials) => credentials,
            Err(message) => return Ok(Err(message)),
        },
    };
    let key = match &spec.chart.verify {
        None => None,
        Some(verify) => match secrets::verifying_key(cx, namespace, &verify.key_secret_ref.name).await? {
            Ok(key) => Some(key),
            Err(message) => return Ok(Err(message)),
        },
    };
    Ok(Ok(ChartRequest {
        namespace: namespace.to_owned(),
        repository: place.to_owned(),
        version,
        insecure: spec.chart.insecure,
        credentials,
        key,
    }))
}

/// A stack of a namespace, as far as it selects clusters.
pub(super) struct StackSummary {
    name: String,
    created: Option<Timestamp>,
    spec: StackSpecView,
}

impl StackSummary {
    pub(super) fn candidate(&self) -> Candidate<'_> {
        Candidate {
            name: &self.name,
            created: self.created,
            spec: &self.spec,
        }
    }
}

/// The stacks of a namespace that aren't being deleted.
pub(super) fn stacks(cx: &Cx, namespace: &str) -> Vec<StackSummary> {
    let stacks = cx.store::<ClusterStacks>().in_namespace(namespace);
    let alive = stacks
        .iter()
        .filter(|stack| stack.metadata.deletion_timestamp.is_none());
    let summaries = alive.filter_map(|stack| {
        Some(StackSummary {
            name: stack.name().name,
            created: stack.metadata.creation_timestamp.as_ref().map(|time| time.0),
            spec: stack.view()?.spec.clone(),
        })
    });
    summaries.collect()
}

/// What selectors see of a cluster.
pub(super) fn labels_and_class(cluster: &Object<ClusterView>) -> (BTreeMap<String, String>, Option<&str>) {
    let labels = cluster.metadata.labels.clone().unwrap_or_default();
    (labels, cluster.view().and_then(ClusterView::class))
}

/// The hash of what of a stack an addon depends on beside its chart and its stages.
pub(super) fn values_hash(spec: &ClusterStackSpec) -> String {
    let ClusterStackSpec {
        release_name,
        namespace,
        values,
        values_template,
        kubernetes_versions,
        ..
    } = spec;
    let text = json!([
        release_name,
        namespace,
        values,
        values_template,
        kubernetes_versions
    ]);
    hex(&Sha256::digest(text.to_string().as_bytes()))
}

fn desired(stack: &str, cluster: &str, spec: &ClusterStackSpec, chart: &ResolvedChart) -> ClusterAddonSpec {
    let ResolvedChart {
        repository,
        version,
        digest,
    } = chart.clone();
    ClusterAddonSpec {
        cluster_ref: LocalReference {
            name: cluster.to_owned(),
        },
        stack_ref: LocalReference {
            name: stack.to_owned(),
        },
        chart: PinnedChart {
            repository,
            version,
            digest,
        },
        values_hash: values_hash(spec),
        stages: spec.stages.clone(),
        prune: spec.prune,
    }
}

fn findings_of(plan: &Plan) -> Vec<Finding<&'static str>> {
    let finding = |kind, status, reason, message: String| Finding {
        kind,
        status,
        reason,
        message,
    };
    let ClusterCounts {
        selected,
        up_to_date,
        ready,
        conflicting,
    } = plan.counts;
    let conflicts = plan
        .conflicting
        .iter()
        .map(|(cluster, stack)| format!("{cluster} belongs to the older stack {stack}"));
    let taken = plan.taken.iter().map(|cluster| {
        let name = addon_name(cluster);
        format!("{cluster}: the ClusterAddon {name} is not owned by the cluster")
    });
    let problems: Vec<String> = conflicts.chain(taken).collect();
    let selection = if problems.is_empty() {
        finding(
            CLUSTERS_SELECTED,
            "True",
            reasons::SUCCEEDED,
            format!("{selected} clusters are selected"),
        )
    } else {
        let reason = if conflicting > 0 {
            "Conflict"
        } else {
            "NameConflict"
        };
        finding(CLUSTERS_SELECTED, "False", reason, problems.join("; "))
    };
    let counts = format!("{ready} of {selected} clusters are ready, {up_to_date} are up to date");
    let ready = if ready == selected && plan.taken.is_empty() {
        finding(READY, "True", reasons::SUCCEEDED, counts)
    } else if plan.waiting.is_empty() {
        finding(READY, "False", "Progressing", counts)
    } else {
        let message = format!("{counts}; waiting for updatePolicy: {}", plan.waiting.join(", "));
        finding(READY, "False", reasons::WAITING_FOR_TURN, message)
    };
    let downloaded = finding(CHART_DOWNLOADED, "True", reasons::SUCCEEDED, String::new());
    vec![downloaded, selection, ready]
}

async fn write(
    cx: &Cx,
    key: &Key,
    object: &Object<FullStack>,
    known: &ClusterStackStatus,
    next: &ClusterStackStatus,
    requeue: Option<Duration>,
) -> Result<Action, Error> {
    let version = object.metadata.resource_version.as_deref();
    let written = status::patch(cx, key, version, known, next).await?;
    if let Some(metadata) = written {
        let reason = |status: &ClusterStackStatus, kind: &str| {
            find(&status.conditions, kind).map(|one| (one.status.clone(), one.reason.clone()))
        };
        let mut notices = Vec::new();
        for kind in [CHART_DOWNLOADED, CLUSTERS_SELECTED] {
            let (before, after) = (reason(known, kind), reason(next, kind));
            let Some((status, _)) = after.as_ref().filter(|_| before != after) else {
                continue;
            };
            let message = find(&next.conditions, kind).map_or("", |one| one.message.as_str());
            notices.push(notice(kind, status == "False", message));
        }
        events::publish(cx, key, &metadata, notices).await;
    }
    Ok(requeue.map_or_else(Action::done, Action::requeue))
}

fn notice(kind: &'static str, is_false: bool, message: &str) -> Notice {
    let (reason, note) = match (kind, is_false) {
        (CHART_DOWNLOADED, false) => ("ChartResolved", "the chart is resolved and downloaded"),
        (CHART_DOWNLOADED, true) => ("ChartNotDownloaded", message),
        (_, false) => ("ClustersSelected", message),
        (_, true) => ("ClustersConflicting", message),
    };
    Notice {
        warning: is_false && kind == CLUSTERS_SELECTED,
        reason,
        action: "RollOut",
        note: note.to_owned(),
    }
}
