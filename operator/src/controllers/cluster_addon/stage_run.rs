//! One stage of a rollout: its objects are applied or deleted, its hooks run, and its conditions are waited for.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Map, Value};
use solar_server_side_apply::{ObjectKey, PreparedObject};

use super::addon::FAILED_WAIT;
use super::apply::{self, Scopes};
use super::conditions::{Halt, STAGES_COMPLETED, reasons};
use super::delete_hooks;
use super::deletion::{DeleteOf, delete_in_order};
use super::evaluate::{Answer, Question};
use super::hooks::{self, HookProgress};
use super::objects::ChartHook;
use super::pass::{End, Pass};
use super::rollout::{Work, failed, failed_request, key_of};
use super::stages::{CHART, PlannedStage, StageKind, is_kept};
use super::workload::Workload;
use crate::api::cluster_addons::{AddonStageStatus, ResourceStatus, StageAction, StagePhase, WaitFor};

/// The delay before a running stage is requeued.
const STAGE_WAIT: Duration = Duration::from_secs(5);
/// How long hooks may take.
const HOOK_TIMEOUT: Duration = Duration::from_secs(300);

/// A stage with its objects as they are sent.
pub(super) struct ReadyStage<'a> {
    pub(super) planned: PlannedStage<'a>,
    objects: Vec<(PreparedObject, Option<ChartHook>)>,
    /// Objects of kinds that the cluster doesn't have, and the reason.
    pub(super) unknown: Vec<(ObjectKey, String)>,
    pub(super) status: AddonStageStatus,
}

impl ReadyStage<'_> {
    pub(super) fn sent(&self) -> Vec<PreparedObject> {
        self.objects.iter().map(|(object, _)| object.clone()).collect()
    }

    pub(super) fn is_kept(&self) -> bool {
        is_kept(&self.planned, self.status.phase)
    }
}

/// The stages with their objects as they are sent. Those of the same input are as far as they were.
pub(super) fn prepare<'a>(
    pass: &Pass<'_>,
    workload: &Workload,
    work: &Work<'_>,
    planned: Vec<PlannedStage<'a>>,
    is_same: bool,
) -> Vec<ReadyStage<'a>> {
    let scopes = Scopes::new(workload, work.owner, &work.rendered.objects);
    let known: &[AddonStageStatus] = if is_same { &pass.known.stages } else { &[] };
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = Vec::new();
    for planned in planned {
        // A stage of the stack may have the name of one of Helm's.
        let number = names.entry(planned.name.clone()).or_default();
        let status = known.iter().filter(|one| one.name == planned.name).nth(*number);
        *number += 1;
        let status = status.cloned().unwrap_or_else(|| AddonStageStatus {
            name: planned.name.clone(),
            action: planned.action,
            phase: first_phase(&planned, &work.only_if),
            started: None,
            message: String::new(),
        });
        let (mut objects, mut unknown) = (Vec::new(), Vec::new());
        for object in &planned.objects {
            match scopes.prepare(&object.object, work.namespace) {
                Ok(prepared) => objects.push((prepared, object.hook.clone())),
                Err(error) => unknown.push((ObjectKey::of(&object.object, ""), error.to_string())),
            }
        }
        if planned.name == CHART
            && planned.of_stack.is_none()
            && let Some(secret) = delete_hooks::secret(&work.rendered.objects, work.release)
        {
            // It is a kind that every cluster has.
            let prepared = scopes.prepare(&secret, work.namespace);
            objects.extend(prepared.map(|secret| (secret, None)));
        }
        all.push(ReadyStage {
            planned,
            objects,
            unknown,
            status,
        });
    }
    all
}

/// Pending, or skipped when its hook is not due or its condition is not true.
fn first_phase(planned: &PlannedStage<'_>, only_if: &BTreeMap<String, bool>) -> StagePhase {
    let of_stack = planned.of_stack.map(|stage| stage.name.as_str());
    let is_true = of_stack
        .and_then(|name| only_if.get(name))
        .is_none_or(|is_true| *is_true);
    if planned.is_due && is_true {
        StagePhase::Pending
    } else {
        StagePhase::Skipped
    }
}

/// All objects that the chart has in the cluster, in install order: those of stages that are kept, and hooks, also those
/// that are not due now.
pub(super) fn desired(ready: &[ReadyStage<'_>], work: &Work<'_>, workload: &Workload) -> Vec<PreparedObject> {
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

/// Goes on with one stage; `Err`: it isn't completed.
pub(super) async fn run_stage(
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
        (StageAction::Delete, _) => delete_stage(workload, stage).await?,
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

/// It is requeued: what it waits for may come.
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
        if let Some(end) = failed(outcomes.unreachable.as_deref(), &outcomes.resources) {
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
        other => Progress::Failed(format!("waitFor: {}", other.refusal())),
    })
}

/// Deletes the objects of a stage, whoever has made them: the stack says so.
async fn delete_stage(workload: &Workload, stage: &ReadyStage<'_>) -> Result<Progress, End> {
    let keys: Vec<ObjectKey> = stage
        .objects
        .iter()
        .rev()
        .map(|(one, _)| one.key.clone())
        .collect();
    let removal = delete_in_order(workload, &keys, DeleteOf::Anybody, |_| true).await;
    if let Some((key, error)) = &removal.failed {
        if error.is_unreachable() {
            return Err(failed_request(error));
        }
        return Ok(Progress::Running(format!("deleting {key}: {error}")));
    }
    Ok(removal.left.first().map_or(Progress::Completed, |key| {
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
}
