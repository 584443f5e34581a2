//! From a rendered chart to a cluster that has it: stage by stage, then what it no longer has is deleted.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Map, Value, json};

use super::addon::{DRIFT_INTERVAL, End, Pass, WAIT};
use super::apply::{self, Deletion, PreparedObject, Scopes, deletion_phase, entries};
use super::conditions::{CHART_APPLIED, CLUSTER_READY, Halt, STAGES_COMPLETED, reasons};
use super::evaluate::{Answer, Question};
use super::hooks::{self, HookProgress};
use super::inventory::{self, ObjectKey};
use super::objects::{ChartHook, RenderedObjects};
use super::stages::{self, PlannedStage, StageKind, is_kept};
use super::workload::{Workload, WorkloadError};
use crate::api::cluster_addons::{
    AddonStageStatus, AppliedVersion, ResourceStatus, StageAction, StagePhase, WaitFor,
};
use crate::runtime::Error;

/// How long a stage that runs is waited for.
const STAGE_WAIT: Duration = Duration::from_secs(5);
/// How long objects that could not be applied, and a stage that has failed, are waited for.
const FAILED_WAIT: Duration = Duration::from_secs(20);
/// How long hooks may take.
const HOOK_TIMEOUT: Duration = Duration::from_secs(300);
/// How many objects a message names.
const MAX_NAMED: usize = 3;

/// What is applied.
pub(super) struct Work<'a> {
    pub(super) rendered: &'a RenderedObjects,
    /// The addon, for the annotation of its objects.
    pub(super) owner: &'a str,
    /// The release's.
    pub(super) namespace: &'a str,
    /// The Cluster, for conditions.
    pub(super) cluster: &'a Value,
    /// What is recorded at the end.
    pub(super) applied: AppliedVersion,
}

/// A stage with its objects as they are sent.
struct ReadyStage<'a> {
    planned: PlannedStage<'a>,
    objects: Vec<(PreparedObject, Option<ChartHook>)>,
    /// Objects of kinds that the cluster doesn't have, and the reason.
    unknown: Vec<(ObjectKey, String)>,
    status: AddonStageStatus,
}

impl ReadyStage<'_> {
    fn sent(&self) -> Vec<PreparedObject> {
        self.objects.iter().map(|(object, _)| object.clone()).collect()
    }

    fn is_kept(&self) -> bool {
        is_kept(&self.planned, self.status.phase)
    }
}

/// What the Ready condition says.
pub(super) fn message(pass: &Pass<'_>) -> String {
    let chart = &pass.spec.chart;
    let version = chart.version.as_deref().unwrap_or(&chart.digest);
    let count = pass.next.resources.len();
    format!("{count} objects of {} {version} are applied", chart.repository)
}

/// Applies the chart.
pub(super) async fn roll_out(
    pass: &mut Pass<'_>,
    workload: &mut Workload,
    work: &Work<'_>,
) -> Result<End, Error> {
    let is_same = pass.known.input.as_deref() == Some(work.applied.input.as_str());
    let own = pass.spec.stages.clone();
    let planned = stages::plan(&work.rendered.objects, &own, pass.known.last_applied.is_none());
    let mut ready = match prepare(pass, workload, work, planned, is_same).await {
        Ok(ready) => ready,
        Err(end) => return Ok(end),
    };
    let desired = desired(&ready, work, workload);
    let keys: Vec<ObjectKey> = desired.iter().map(|one| one.key.clone()).collect();
    let mut resources: BTreeMap<ObjectKey, ResourceStatus> = BTreeMap::new();
    if is_same {
        resources.extend(pass.known.resources.iter().map(|one| (key_of(one), one.clone())));
    }
    pass.next.input = Some(work.applied.input.clone());
    pass.next.stages = ready.iter().map(|stage| stage.status.clone()).collect();
    pass.next.inventory = inventory::before(&pass.known.inventory, &keys);
    // A crash from here on loses no object.
    pass.write().await?;
    if let Err(end) = make_namespace(workload, work.namespace).await {
        return Ok(end);
    }
    let mut end = None;
    for stage in &mut ready {
        if matches!(stage.status.phase, StagePhase::Completed | StagePhase::Skipped) {
            continue;
        }
        if let Err(halted) = run_stage(pass, workload, stage, work, &mut resources).await {
            end = Some(halted);
            break;
        }
    }
    let unknown = ready
        .iter()
        .flat_map(|stage| stage.unknown.iter().map(|(key, _)| key));
    let order: BTreeMap<&ObjectKey, usize> = keys.iter().chain(unknown).zip(0..).collect();
    let mut listed: Vec<_> = resources
        .into_iter()
        .filter_map(|(key, one)| Some((*order.get(&key)?, one)))
        .collect();
    listed.sort_by_key(|(place, _)| *place);
    pass.next.resources = listed.into_iter().map(|(_, one)| one).collect();
    pass.next.stages = ready.iter().map(|stage| stage.status.clone()).collect();
    if let Some(end) = end {
        return Ok(end);
    }
    if let Some(end) = prune(pass, workload, &keys, work.owner).await {
        return Ok(end);
    }
    pass.next.inventory = entries(&desired);
    let now = Time(pass.cx.now());
    pass.next.last_applied = Some(AppliedVersion {
        at: Some(now.clone()),
        ..work.applied.clone()
    });
    pass.next.last_drift_check = Some(now);
    let text = message(pass);
    pass.notice("Applied", text.clone());
    Ok(End::Ready(text, DRIFT_INTERVAL))
}

/// Compares the objects with the cluster's, and applies those that differ.
pub(super) async fn check_drift(
    pass: &mut Pass<'_>,
    workload: &mut Workload,
    work: &Work<'_>,
) -> Result<End, Error> {
    let own = pass.spec.stages.clone();
    let planned = stages::plan(&work.rendered.objects, &own, false);
    let ready = match prepare(pass, workload, work, planned, true).await {
        Ok(ready) => ready,
        Err(end) => return Ok(end),
    };
    let kept = ready
        .iter()
        .filter(|stage| stage.is_kept() && stage.planned.kind == StageKind::Objects);
    let objects: Vec<PreparedObject> = kept.flat_map(ReadyStage::sent).collect();
    let drifted = match apply::drifted(workload, &objects).await {
        Ok(drifted) => drifted,
        Err(error) => return Ok(failed_request(&error)),
    };
    if !drifted.is_empty() {
        let outcomes = apply::apply(workload, &drifted).await;
        let names: Vec<String> = drifted.iter().map(|one| one.key.to_string()).collect();
        for outcome in &outcomes.resources {
            if let Some(known) = pass
                .next
                .resources
                .iter_mut()
                .find(|one| key_of(one) == key_of(outcome))
            {
                *known = outcome.clone();
            }
        }
        if let Some(end) = failed(&outcomes) {
            return Ok(end);
        }
        pass.notice("DriftCorrected", format!("changed back: {}", named(&names)));
    }
    pass.next.last_drift_check = Some(Time(pass.cx.now()));
    Ok(End::Ready(message(pass), DRIFT_INTERVAL))
}

/// The stages with their objects as they are sent. Those of the same input are as far as they were.
async fn prepare<'a>(
    pass: &Pass<'_>,
    workload: &Workload,
    work: &Work<'_>,
    planned: Vec<PlannedStage<'a>>,
    is_same: bool,
) -> Result<Vec<ReadyStage<'a>>, End> {
    let scopes = Scopes::new(workload, work.owner, &work.rendered.objects);
    let mut all = Vec::new();
    for planned in planned {
        let known = pass
            .known
            .stages
            .iter()
            .find(|one| one.name == planned.name && is_same);
        let status = match known {
            Some(known) => known.clone(),
            None => AddonStageStatus {
                name: planned.name.clone(),
                action: planned.action,
                phase: first_phase(pass, workload, work, &planned).await?,
                started: None,
                message: String::new(),
            },
        };
        let (mut objects, mut unknown) = (Vec::new(), Vec::new());
        for object in &planned.objects {
            match scopes.prepare(&object.object, work.namespace) {
                Ok(prepared) => objects.push((prepared, object.hook.clone())),
                Err(error) => unknown.push((ObjectKey::of(&object.object, ""), error.to_string())),
            }
        }
        all.push(ReadyStage {
            planned,
            objects,
            unknown,
            status,
        });
    }
    Ok(all)
}

/// Pending, or skipped when its hook is not due or its condition is not true.
async fn first_phase(
    pass: &Pass<'_>,
    workload: &Workload,
    work: &Work<'_>,
    planned: &PlannedStage<'_>,
) -> Result<StagePhase, End> {
    if !planned.is_due {
        return Ok(StagePhase::Skipped);
    }
    let Some(condition) = planned.of_stack.and_then(|stage| stage.only_if.as_ref()) else {
        return Ok(StagePhase::Pending);
    };
    let scope = json!({"cluster": work.cluster, "kubernetesVersion": workload.version});
    let question = Question::Conditions {
        expressions: vec![condition.cel.clone()],
        scopes: scope.as_object().cloned().into_iter().collect(),
    };
    match pass.shared.evaluator.ask(&question).await {
        Answer::True => Ok(StagePhase::Pending),
        Answer::False { .. } => Ok(StagePhase::Skipped),
        other => {
            let message = format!("stage {}: onlyIf: {}", planned.name, refusal(other));
            let halt = Halt::stall(STAGES_COMPLETED, reasons::STAGE_FAILED, message);
            Err(End::Halted(halt, Some(DRIFT_INTERVAL)))
        }
    }
}

fn refusal(answer: Answer) -> String {
    match answer {
        Answer::Refused(message) => message,
        _ => "internal error: an answer to another question".to_owned(),
    }
}

/// All objects that the chart has in the cluster, in install order: those of stages that are kept, and hooks, also those
/// that are not due now.
fn desired(ready: &[ReadyStage<'_>], work: &Work<'_>, workload: &Workload) -> Vec<PreparedObject> {
    let kept = ready.iter().filter(|stage| stage.is_kept());
    let mut all: Vec<PreparedObject> = kept.flat_map(ReadyStage::sent).collect();
    let scopes = Scopes::new(workload, work.owner, &work.rendered.objects);
    let hooks = work.rendered.objects.iter().filter(|one| {
        let events = one.hook.as_ref().map(|hook| &hook.events);
        let mut events = events.into_iter().flatten();
        events.any(|event| event.ends_with("-install") || event.ends_with("-upgrade"))
    });
    for hook in hooks {
        if let Ok(prepared) = scopes.prepare(&hook.object, work.namespace)
            && !all.iter().any(|one| one.key == prepared.key)
        {
            all.push(prepared);
        }
    }
    all
}

/// Creates the release's namespace where it is missing, as `helm install --create-namespace` does. It is not in the
/// inventory: others may put their own objects into it.
async fn make_namespace(workload: &Workload, name: &str) -> Result<(), End> {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let key = ObjectKey::of(&object, "");
    let made = match workload.get(&object, &key).await {
        Ok(Some(_)) => return Ok(()),
        Ok(None) => workload.apply(&object, &key, false).await,
        Err(error) => Err(error),
    };
    made.map(|_| ()).map_err(|error| failed_request(&error))
}

/// Goes on with one stage; `Err`: it isn't completed.
async fn run_stage(
    pass: &mut Pass<'_>,
    workload: &mut Workload,
    stage: &mut ReadyStage<'_>,
    work: &Work<'_>,
    resources: &mut BTreeMap<ObjectKey, ResourceStatus>,
) -> Result<(), End> {
    let progress = match (stage.planned.action, &stage.planned.kind) {
        (StageAction::Apply, StageKind::Objects) => {
            apply_stage(pass, workload, stage, work, resources).await?
        }
        (StageAction::Delete, _) => delete_stage(workload, stage, work.owner).await?,
        (StageAction::Apply, StageKind::Hooks) => hook_stage(pass, workload, stage, work, resources).await?,
    };
    match progress {
        Progress::Completed => {
            stage.status.phase = StagePhase::Completed;
            stage.status.message.clear();
            Ok(())
        }
        Progress::Running(message) => {
            stage.status.phase = StagePhase::Running;
            let started = stage.status.started.get_or_insert_with(|| Time(pass.cx.now())).0;
            let limit = time_limit(stage.planned.of_stack.and_then(|own| own.wait_for.as_ref()));
            stage.status.message = message;
            if pass.cx.now().duration_since(started).unsigned_abs() > limit {
                let why = format!("not within {limit:?}: {}", stage.status.message);
                return Err(stage_failed(stage, why));
            }
            let message = format!("stage {}: {}", stage.status.name, stage.status.message);
            let halt = Halt::wait(STAGES_COMPLETED, reasons::STAGE_RUNNING, message);
            Err(End::Halted(halt, Some(STAGE_WAIT)))
        }
        Progress::Failed(message) => Err(stage_failed(stage, message)),
    }
}

/// It is looked at again: what it waits for may come.
fn stage_failed(stage: &mut ReadyStage<'_>, message: String) -> End {
    stage.status.phase = StagePhase::Failed;
    let text = format!("stage {}: {message}", stage.status.name);
    stage.status.message = message;
    let halt = Halt::stall(STAGES_COMPLETED, reasons::STAGE_FAILED, text);
    End::Halted(halt, Some(FAILED_WAIT))
}

/// How far a stage is.
enum Progress {
    Completed,
    Running(String),
    Failed(String),
}

async fn apply_stage(
    pass: &Pass<'_>,
    workload: &mut Workload,
    stage: &mut ReadyStage<'_>,
    work: &Work<'_>,
    resources: &mut BTreeMap<ObjectKey, ResourceStatus>,
) -> Result<Progress, End> {
    let objects = stage.sent();
    if stage.status.started.is_none() {
        let mut outcomes = apply::apply(workload, &objects).await;
        let unknown = stage.unknown.iter();
        outcomes
            .resources
            .extend(unknown.map(|(key, reason)| apply::resource(key, Some(reason.clone()))));
        resources.extend(outcomes.resources.iter().map(|one| (key_of(one), one.clone())));
        if let Some(end) = failed(&outcomes) {
            return Err(end);
        }
        stage.status.started = Some(Time(pass.cx.now()));
    }
    let Some(wait) = stage.planned.of_stack.and_then(|own| own.wait_for.as_ref()) else {
        return Ok(Progress::Completed);
    };
    wait_for(pass, workload, &objects, wait, work).await
}

async fn wait_for(
    pass: &Pass<'_>,
    workload: &Workload,
    objects: &[PreparedObject],
    wait: &WaitFor,
    work: &Work<'_>,
) -> Result<Progress, End> {
    let mut scopes = Vec::new();
    for one in objects {
        let live = workload
            .get(&one.object, &one.key)
            .await
            .map_err(|error| failed_request(&error))?;
        let Some(live) = live else {
            return Ok(Progress::Running(format!("{} is not there", one.key)));
        };
        let live = serde_json::to_value(live).unwrap_or_default();
        let scope = [("object", live), ("cluster", work.cluster.clone())];
        let scope: Map<String, Value> = scope
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        scopes.push(scope);
    }
    let question = Question::Conditions {
        expressions: wait.cel.clone(),
        scopes,
    };
    Ok(match pass.shared.evaluator.ask(&question).await {
        Answer::True => Progress::Completed,
        Answer::False { scope, expression } => {
            let key = objects
                .get(scope)
                .map(|one| one.key.to_string())
                .unwrap_or_default();
            Progress::Running(format!("{key}: {expression}"))
        }
        other => Progress::Failed(format!("waitFor: {}", refusal(other))),
    })
}

async fn delete_stage(workload: &Workload, stage: &ReadyStage<'_>, owner: &str) -> Result<Progress, End> {
    let mut left = None;
    for one in stage.sent().iter().rev() {
        let deleted = apply::delete(workload, &one.key, owner).await;
        match deleted.map_err(|error| failed_request(&error))? {
            Deletion::Requested => left = Some(one.key.to_string()),
            Deletion::Gone | Deletion::Kept => {}
        }
    }
    Ok(left.map_or(Progress::Completed, |key| {
        Progress::Running(format!("{key} is being deleted"))
    }))
}

async fn hook_stage(
    pass: &Pass<'_>,
    workload: &Workload,
    stage: &mut ReadyStage<'_>,
    work: &Work<'_>,
    resources: &mut BTreeMap<ObjectKey, ResourceStatus>,
) -> Result<Progress, End> {
    stage.status.started.get_or_insert_with(|| Time(pass.cx.now()));
    if let Some((_, reason)) = stage.unknown.first() {
        return Ok(Progress::Failed(reason.clone()));
    }
    let hooks = stage.objects.iter();
    let hooks: Vec<_> = hooks
        .filter_map(|(object, hook)| Some((object.clone(), hook.clone()?)))
        .collect();
    let progress = hooks::advance(workload, &hooks, (&work.applied.input, work.owner)).await;
    Ok(match progress.map_err(|error| failed_request(&error))? {
        HookProgress::Succeeded => {
            resources.extend(
                hooks
                    .iter()
                    .map(|(one, _)| (one.key.clone(), apply::resource(&one.key, None))),
            );
            Progress::Completed
        }
        HookProgress::Running(message) => Progress::Running(message),
        HookProgress::Failed(message) => Progress::Failed(message),
    })
}

/// Deletes what the chart no longer has.
async fn prune(pass: &mut Pass<'_>, workload: &Workload, keys: &[ObjectKey], owner: &str) -> Option<End> {
    let mut obsolete = inventory::obsolete(&pass.next.inventory, keys);
    obsolete.sort_by_key(deletion_phase);
    let mut deleted = Vec::new();
    for key in obsolete {
        match apply::delete(workload, &key, owner).await {
            Ok(Deletion::Kept) => {}
            Ok(Deletion::Gone | Deletion::Requested) => deleted.push(key.to_string()),
            Err(error @ WorkloadError::Unreachable(_)) => return Some(failed_request(&error)),
            Err(error) => {
                let message = format!("deleting {key}: {error}");
                let halt = Halt::wait(CHART_APPLIED, reasons::FAILED_TO_DELETE, message);
                return Some(End::Halted(halt, Some(FAILED_WAIT)));
            }
        }
        pass.next.inventory.retain(|entry| ObjectKey::from(entry) != key);
    }
    if !deleted.is_empty() {
        pass.notice("Pruned", format!("deleted: {}", named(&deleted)));
    }
    None
}

/// What ends a reconcile when objects have failed.
fn failed(outcomes: &apply::Outcomes) -> Option<End> {
    if let Some(message) = &outcomes.unreachable {
        return Some(failed_request(&WorkloadError::Unreachable(message.clone())));
    }
    let failed: Vec<String> = outcomes
        .failed()
        .map(|one| format!("{}: {}", key_of(one), one.message))
        .collect();
    if failed.is_empty() {
        return None;
    }
    let count = outcomes.resources.len();
    let message = format!("{} of {count} objects failed: {}", failed.len(), named(&failed));
    let halt = Halt::wait(CHART_APPLIED, reasons::FAILED_TO_APPLY, message);
    Some(End::Halted(halt, Some(FAILED_WAIT)))
}

/// A request that has failed.
fn failed_request(error: &WorkloadError) -> End {
    if error.is_unreachable() {
        let halt = Halt::wait(CLUSTER_READY, reasons::CLUSTER_UNREACHABLE, error.to_string());
        return End::Halted(halt, Some(WAIT));
    }
    let halt = Halt::wait(CHART_APPLIED, reasons::FAILED_TO_APPLY, error.to_string());
    End::Halted(halt, Some(FAILED_WAIT))
}

/// The first few of a list.
fn named(all: &[String]) -> String {
    let shown = all.get(..MAX_NAMED.min(all.len())).unwrap_or_default().join("; ");
    match all.len().checked_sub(MAX_NAMED) {
        Some(more) if more > 0 => format!("{shown}; and {more} more"),
        _ => shown,
    }
}

fn key_of(resource: &ResourceStatus) -> ObjectKey {
    let ResourceStatus {
        group,
        kind,
        namespace,
        name,
        synced: _,
        message: _,
    } = resource.clone();
    ObjectKey {
        group,
        kind,
        namespace,
        name,
    }
}

/// How long a stage may run. The CRD has checked the text: a number and `s`, `m` or `h`.
fn time_limit(wait: Option<&WaitFor>) -> Duration {
    let Some(text) = wait.map(|wait| wait.timeout.as_str()) else {
        return HOOK_TIMEOUT;
    };
    let number = text.trim_end_matches(['s', 'm', 'h']).parse::<u64>().ok();
    let unit = match text.chars().last() {
        Some('m') => 60,
        Some('h') => 3600,
        _ => 1,
    };
    number.map_or(HOOK_TIMEOUT, |number| {
        Duration::from_secs(number.saturating_mul(unit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limits_are_in_seconds_minutes_or_hours() {
        let wait = |timeout: &str| WaitFor {
            cel: Vec::new(),
            timeout: timeout.to_owned(),
        };
        for (text, seconds) in [("90s", 90), ("5m", 300), ("2h", 7200)] {
            assert_eq!(
                time_limit(Some(&wait(text))),
                Duration::from_secs(seconds),
                "{text}"
            );
        }
        assert_eq!(time_limit(None), HOOK_TIMEOUT);
    }

    #[test]
    fn a_message_names_the_first_objects() {
        let names = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
        assert_eq!(named(&names(2)), "0; 1");
        assert_eq!(named(&names(3)), "0; 1; 2");
        assert_eq!(named(&names(5)), "0; 1; 2; and 2 more");
    }
}
