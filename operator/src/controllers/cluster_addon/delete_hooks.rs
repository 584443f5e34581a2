//! Helm's hooks of a removal, `pre-delete` and `post-delete`.
//!
//! When a chart is removed, its stack and values may be gone. So the hooks are kept where the chart is: in a Secret of the
//! release's namespace, as Helm keeps a release. It is an object of the chart like others, in the inventory by its hash;
//! one that somebody has changed is not used, since hooks are applied with the rights of the cluster's administrator.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use solar_server_side_apply::{ObjectKey, PreparedObject};

use super::apply::Scopes;
use super::conditions::{Halt, STAGES_COMPLETED, reasons};
use super::deletion::{DeleteOf, Removal, delete_in_order};
use super::hooks::{self, HookProgress};
use super::inventory;
use super::objects::{ChartHook, ChartObject};
use super::pass::Pass;
use super::workload::{Workload, WorkloadError};
use crate::api::cluster_addons::{AddonStageStatus, StageAction, StagePhase};
use crate::runtime::Error;

/// Helm's events of a removal.
pub(super) const PRE_DELETE: &str = "pre-delete";
pub(super) const POST_DELETE: &str = "post-delete";
const EVENTS: [&str; 2] = [PRE_DELETE, POST_DELETE];
const SECRET_TYPE: &str = "solar.opendefense.cloud/delete-hooks";
const SECRET_KEY: &str = "hooks.json";
/// The beginning and the end of the Secret's name; the release's is between them.
const NAME: [&str; 2] = ["solar-operator.", ".delete-hooks"];

/// A hook as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptHook {
    events: Vec<String>,
    delete_policies: Vec<String>,
    object: Value,
}

/// The Secret with the hooks of a removal; `None`: the chart has none.
pub(super) fn secret(objects: &[ChartObject], release: &str) -> Option<Value> {
    let hooks = objects.iter().filter_map(|one| {
        let hook = one.hook.as_ref()?;
        let events = hook.events.iter().filter(|event| EVENTS.contains(event));
        let events: Vec<String> = events.map(|event| (*event).to_owned()).collect();
        (!events.is_empty()).then(|| KeptHook {
            events,
            delete_policies: hook.delete_policies.clone(),
            object: one.object.clone(),
        })
    });
    let hooks: Vec<KeptHook> = hooks.collect();
    if hooks.is_empty() {
        return None;
    }
    let text = serde_json::to_vec(&hooks).unwrap_or_default();
    let [before, after] = NAME;
    Some(of_data(
        &format!("{before}{release}{after}"),
        &STANDARD.encode(text),
    ))
}

fn of_data(name: &str, data: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": SECRET_TYPE,
        "data": {SECRET_KEY: data},
    })
}

/// The hooks of a removal, as the cluster has kept them.
pub(super) struct DeleteHooks {
    /// The Secret's key.
    pub(super) secret: ObjectKey,
    /// In their order, or why they can't be used.
    hooks: Result<Vec<(KeptHook, PreparedObject)>, String>,
}

/// The hooks of an addon that is being removed; `None`: its chart has none.
pub(super) async fn kept(pass: &Pass<'_>, workload: &Workload) -> Result<Option<DeleteHooks>, WorkloadError> {
    let entry = pass.known.inventory.iter().find(|entry| {
        let [before, after] = NAME;
        let is_named = entry.name.starts_with(before) && entry.name.ends_with(after);
        entry.kind == "Secret" && entry.group.is_empty() && is_named
    });
    let Some(entry) = entry else {
        return Ok(None);
    };
    let secret = inventory::key_of(entry);
    let Some(live) = workload.get_key(&secret).await? else {
        return Ok(None);
    };
    let data = live.data.pointer(&format!("/data/{SECRET_KEY}"));
    let data = data.and_then(Value::as_str).unwrap_or("");
    let owner = pass.key.to_string();
    let scopes = Scopes::new(workload, &owner, []);
    // As it was sent, so that its hash tells whether it still is that.
    let sent = scopes.prepare(&of_data(&secret.name, data), &secret.namespace)?;
    if inventory::hash(&sent.object) != entry.hash {
        let hooks = Err(format!("{secret} was changed in the cluster"));
        return Ok(Some(DeleteHooks { secret, hooks }));
    }
    let hooks = STANDARD.decode(data).ok();
    let hooks = hooks.and_then(|text| serde_json::from_slice::<Vec<KeptHook>>(&text).ok());
    let hooks = hooks.ok_or_else(|| format!("{secret} has no hooks"));
    let prepare = |hook: KeptHook| match scopes.prepare(&hook.object, &secret.namespace) {
        Ok(prepared) => Ok((hook, prepared)),
        Err(error) => Err(error.to_string()),
    };
    let hooks = hooks.and_then(|hooks| hooks.into_iter().map(prepare).collect());
    Ok(Some(DeleteHooks { secret, hooks }))
}

/// The result of a stage of a removal.
pub(super) enum HookStage {
    /// It is completed.
    Completed,
    /// It is not, yet.
    Halted(Halt),
    /// The cluster has not answered.
    Failed(WorkloadError),
}

impl DeleteHooks {
    /// Goes on with the hooks of an event. A completed stage is in the status before anything else is done.
    pub(super) async fn run(
        &self,
        pass: &mut Pass<'_>,
        workload: &Workload,
        event: &str,
    ) -> Result<HookStage, Error> {
        let at = stage_of(pass, event);
        if pass.next.stages.get(at).map(|stage| stage.phase) == Some(StagePhase::Completed) {
            return Ok(HookStage::Completed);
        }
        let progress = match &self.hooks {
            Ok(hooks) => {
                let due = hooks
                    .iter()
                    .filter(|(hook, _)| hook.events.iter().any(|one| one == event));
                let due: Vec<_> = due.map(|(hook, object)| (object.clone(), policy(hook))).collect();
                let input = format!("{}-{event}", pass.uid());
                let owner = pass.key.to_string();
                match hooks::advance(workload, &due, (&input, &owner)).await {
                    Ok(progress) => progress,
                    Err(error) => return Ok(HookStage::Failed(error)),
                }
            }
            Err(message) => HookProgress::Failed(message.clone()),
        };
        let (phase, reason, message) = match progress {
            HookProgress::Succeeded => (StagePhase::Completed, reasons::SUCCEEDED, String::new()),
            HookProgress::Running(message) => (StagePhase::Running, reasons::STAGE_RUNNING, message),
            HookProgress::Failed(message) => (StagePhase::Failed, reasons::STAGE_FAILED, message),
        };
        let now = pass.cx.now();
        if let Some(stage) = pass.next.stages.get_mut(at) {
            stage.phase = phase;
            stage.started.get_or_insert(Time(now));
            stage.message.clone_from(&message);
        }
        if phase == StagePhase::Completed {
            pass.write().await?;
            return Ok(HookStage::Completed);
        }
        let message = format!("stage {event}: {message}");
        Ok(HookStage::Halted(Halt::wait(STAGES_COMPLETED, reason, message)))
    }

    /// Deletes the hooks' objects and the Secret, when all others are gone.
    pub(super) async fn delete(
        &self,
        workload: &Workload,
        owner: &str,
        must_wait: impl Fn(Option<jiff::Timestamp>) -> bool,
    ) -> Removal {
        let hooks = self.hooks.iter().flatten().map(|(_, object)| object.key.clone());
        let keys: Vec<ObjectKey> = hooks.collect();
        let removal = delete_in_order(workload, &keys, DeleteOf::Addon(owner), &must_wait).await;
        if removal.failed.is_some() || (!removal.left.is_empty() && must_wait(None)) {
            return removal;
        }
        // The last one: after a crash, it says what else there is.
        let secret = std::slice::from_ref(&self.secret);
        delete_in_order(workload, secret, DeleteOf::Addon(owner), must_wait).await
    }
}

fn policy(hook: &KeptHook) -> ChartHook {
    ChartHook {
        events: Vec::new(),
        weight: 0,
        delete_policies: hook.delete_policies.clone(),
    }
}

/// The index of an event's stage in the status, which has those of the removal alone from now on.
fn stage_of(pass: &mut Pass<'_>, event: &str) -> usize {
    let names = pass.next.stages.iter().map(|stage| stage.name.as_str());
    if !names.eq(EVENTS) {
        pass.next.stages = EVENTS
            .map(|event| AddonStageStatus {
                name: event.to_owned(),
                action: StageAction::Apply,
                phase: StagePhase::Pending,
                started: None,
                message: String::new(),
            })
            .to_vec();
    }
    usize::from(event == POST_DELETE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, events: &[&'static str]) -> ChartObject {
        ChartObject {
            object: json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}),
            chart_path: String::new(),
            is_crd_file: false,
            hook: (!events.is_empty()).then(|| ChartHook {
                events: events.to_vec(),
                weight: 0,
                delete_policies: vec!["hook-failed".to_owned()],
            }),
        }
    }

    #[test]
    fn hooks_of_a_removal_are_kept_and_no_others() {
        let others = [object("a", &[]), object("b", &["post-install"])];
        assert_eq!(secret(&others, "shop"), None);
        let all = [
            object("both", &["pre-delete", "post-install"]),
            object("b", &["post-install"]),
            object("last", &["post-delete"]),
        ];
        let kept = secret(&all, "shop").expect("a Secret");
        assert_eq!(kept["metadata"]["name"], "solar-operator.shop.delete-hooks");
        let text = kept["data"][SECRET_KEY].as_str().expect("data");
        let text = STANDARD.decode(text).expect("base64");
        let hooks: Vec<KeptHook> = serde_json::from_slice(&text).expect("hooks");
        let names: Vec<_> = hooks
            .iter()
            .map(|hook| {
                (
                    hook.object["metadata"]["name"].as_str().unwrap_or(""),
                    hook.events.join(" "),
                )
            })
            .collect();
        let expected = [("both", "pre-delete"), ("last", "post-delete")];
        assert_eq!(names, expected.map(|(name, events)| (name, events.to_owned())));
        assert_eq!(secret(&all, "shop"), Some(kept), "the same every time");
    }
}
