//! Helm's hooks: each object is created anew, and has to end before the next one.
//!
//! A hook that was created for the present input says so in an annotation, so that a restart continues with the one that
//! runs.

use kube::api::DynamicObject;
use serde_json::Value;
use solar_server_side_apply::PreparedObject;

use super::deletion::{DeleteOf, Deletion, delete};
use super::objects::ChartHook;
use super::workload::{Workload, WorkloadError};

/// The annotation with the input that a hook was created for.
const INPUT_ANNOTATION: &str = "solar.opendefense.cloud/addon-input";

/// How far hooks are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HookProgress {
    /// All have succeeded.
    Succeeded,
    /// One runs.
    Running(String),
    /// One has failed.
    Failed(String),
}

/// Goes on with hooks, as far as that is possible without waiting.
pub(super) async fn advance(
    workload: &Workload,
    hooks: &[(PreparedObject, ChartHook)],
    (input, owner): (&str, &str),
) -> Result<HookProgress, WorkloadError> {
    for (prepared, hook) in hooks {
        let key = &prepared.key;
        let live = workload.get(&prepared.object, key).await?;
        let own = live.filter(|live| is_of(live, input));
        let Some(live) = own else {
            // Whatever its policy says, a Job or a pod of before has ended, and doesn't start again.
            let is_replaced = hook.delete_policies.is_empty()
                || has(hook, "before-hook-creation")
                || is_waited_for(&prepared.object);
            if is_replaced {
                let deleted = delete(workload, key, DeleteOf::Addon(owner)).await?;
                if matches!(deleted, Deletion::Requested(_)) {
                    return Ok(HookProgress::Running(format!("{key} of before is being deleted")));
                }
            }
            let mut object = prepared.object.clone();
            object["metadata"]["annotations"][INPUT_ANNOTATION] = input.into();
            workload.apply(&object, key, false).await?;
            if is_waited_for(&object) {
                return Ok(HookProgress::Running(format!("{key} was created")));
            }
            continue;
        };
        match end(&live.data, &key.kind) {
            Some(true) => {}
            Some(false) => {
                if has(hook, "hook-failed") {
                    delete(workload, key, DeleteOf::Addon(owner)).await?;
                }
                return Ok(HookProgress::Failed(format!("{key} has failed")));
            }
            None => return Ok(HookProgress::Running(format!("{key} runs"))),
        }
    }
    for (prepared, _) in hooks.iter().filter(|(_, hook)| has(hook, "hook-succeeded")) {
        delete(workload, &prepared.key, DeleteOf::Addon(owner)).await?;
    }
    Ok(HookProgress::Succeeded)
}

fn has(hook: &ChartHook, policy: &str) -> bool {
    hook.delete_policies.iter().any(|one| one == policy)
}

fn is_of(live: &DynamicObject, input: &str) -> bool {
    let annotations = live.metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(INPUT_ANNOTATION))
        .is_some_and(|own| own == input)
}

fn is_waited_for(object: &Value) -> bool {
    matches!(object["kind"].as_str(), Some("Job" | "Pod"))
}

/// Whether a Job or a pod has ended, and well. Others have, as soon as they exist.
fn end(data: &Value, kind: &str) -> Option<bool> {
    match kind {
        "Job" => {
            let conditions = data.pointer("/status/conditions").and_then(Value::as_array);
            let is = |kind: &str| {
                let mut conditions = conditions.into_iter().flatten();
                conditions.any(|one| one["type"] == kind && one["status"] == "True")
            };
            if is("Failed") {
                Some(false)
            } else {
                is("Complete").then_some(true)
            }
        }
        "Pod" => match data.pointer("/status/phase").and_then(Value::as_str) {
            Some("Succeeded") => Some(true),
            Some("Failed") => Some(false),
            _ => None,
        },
        _ => Some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn jobs_and_pods_end_and_others_are_there_at_once() {
        let job = |kind: &str| json!({"status": {"conditions": [{"type": kind, "status": "True"}]}});
        let table = [
            ("Job", json!({}), None),
            ("Job", job("Complete"), Some(true)),
            ("Job", job("SuccessCriteriaMet"), None),
            ("Job", job("Failed"), Some(false)),
            ("Pod", json!({"status": {"phase": "Running"}}), None),
            ("Pod", json!({"status": {"phase": "Succeeded"}}), Some(true)),
            ("Pod", json!({"status": {"phase": "Failed"}}), Some(false)),
            ("ConfigMap", json!({}), Some(true)),
        ];
        for (kind, data, expected) in table {
            assert_eq!(end(&data, kind), expected, "{kind} {data}");
        }
    }
}
