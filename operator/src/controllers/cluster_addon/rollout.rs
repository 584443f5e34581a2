//! From a rendered chart to a cluster that has it: stage by stage, then what it no longer has is deleted.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};
use solar_server_side_apply::ObjectKey;

use super::addon::{FAILED_WAIT, WAIT};
use super::apply::entries;
use super::conditions::{CHART_APPLIED, CLUSTER_READY, Halt, reasons};
use super::deletion::{DeleteOf, delete_in_order};
use super::inventory;
use super::objects::RenderedObjects;
use super::pass::{End, Pass};
use super::stage_run::{self, ReadyStage, run_stage};
use super::stages;
use super::workload::{Workload, WorkloadError};
use crate::api::cluster_addons::{AppliedVersion, ResourceStatus, StagePhase};
use crate::runtime::Error;

/// The delay before objects that are being deleted are requeued.
const DELETING_WAIT: Duration = Duration::from_secs(5);
/// How many objects a message names.
const MAX_NAMED: usize = 3;

/// What is applied.
pub(super) struct Work<'a> {
    pub(super) rendered: &'a RenderedObjects,
    /// The addon, for the annotation of its objects.
    pub(super) owner: &'a str,
    /// The time that templates have seen.
    pub(super) rendered_at: Timestamp,
    /// The release's name.
    pub(super) release: &'a str,
    /// The release's namespace.
    pub(super) namespace: &'a str,
    /// The Cluster, for conditions.
    pub(super) cluster: &'a Value,
    /// Which of the stages that have an `onlyIf` are due.
    pub(super) only_if: BTreeMap<String, bool>,
    /// What is recorded at the end.
    pub(super) applied: AppliedVersion,
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
    let mut ready = stage_run::prepare(pass, workload, work, planned, is_same);
    let desired = stage_run::desired(&ready, work, workload);
    let keys: Vec<ObjectKey> = desired.iter().map(|one| one.key.clone()).collect();
    let mut resources: BTreeMap<ObjectKey, ResourceStatus> = BTreeMap::new();
    if is_same {
        resources.extend(pass.known.resources.iter().map(|one| (key_of(one), one.clone())));
    }
    pass.next.input = Some(work.applied.input.clone());
    pass.next.rendered_at = Some(Time(work.rendered_at));
    pass.next.stages = ready.iter().map(|stage| stage.status.clone()).collect();
    pass.next.inventory = inventory::before(&pass.known.inventory, &keys);
    // A crash from here on loses no object.
    pass.write().await?;
    if let Err(end) = make_namespace(workload, work.namespace).await {
        return Ok(end);
    }
    let end = run_stages(pass, workload, &mut ready, work, &mut resources).await;
    let unknown = ready
        .iter()
        .flat_map(|stage| stage.unknown.iter().map(|(key, _)| key));
    pass.next.resources = listed(resources, keys.iter().chain(unknown));
    pass.next.stages = ready.iter().map(|stage| stage.status.clone()).collect();
    if let Some(end) = end {
        return Ok(end);
    }
    if let Some(end) = prune(pass, workload, &keys, work.owner).await {
        return Ok(end);
    }
    pass.next.inventory = entries(&desired);
    let now = pass.cx.now();
    pass.next.last_applied = Some(AppliedVersion {
        at: Some(Time(now)),
        ..work.applied.clone()
    });
    pass.shared.drift_checks.record(pass.uid(), now);
    let text = message(pass);
    pass.notice("Applied", text.clone());
    Ok(End::Ready(text, pass.shared.settings.drift_interval))
}

/// The stages that aren't completed, until one isn't.
async fn run_stages(
    pass: &mut Pass<'_>,
    workload: &mut Workload,
    ready: &mut [ReadyStage<'_>],
    work: &Work<'_>,
    resources: &mut BTreeMap<ObjectKey, ResourceStatus>,
) -> Option<End> {
    for stage in ready {
        if matches!(stage.status.phase, StagePhase::Completed | StagePhase::Skipped) {
            continue;
        }
        if let Err(end) = run_stage(pass, workload, stage, work, resources).await {
            return Some(end);
        }
    }
    None
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

/// Deletes what the chart no longer has. Custom objects have to be gone before their controllers and CRDs go, unless that
/// takes longer than a removal may.
pub(super) async fn prune(
    pass: &mut Pass<'_>,
    workload: &Workload,
    keys: &[ObjectKey],
    owner: &str,
) -> Option<End> {
    let obsolete = inventory::obsolete(&pass.next.inventory, keys);
    let (now, limit) = (pass.cx.now(), pass.shared.settings.deletion_timeout);
    let must_wait =
        |since: Option<Timestamp>| since.is_none_or(|since| now.duration_since(since).unsigned_abs() < limit);
    let removal = delete_in_order(workload, &obsolete, DeleteOf::Addon(owner), must_wait).await;
    let left = |key: &ObjectKey| removal.left.contains(key);
    pass.next.inventory.retain(|entry| {
        let key = inventory::key_of(entry);
        // What is being deleted goes by itself, unless others wait for it.
        !removal.done.contains(&key) && (removal.is_blocked || !left(&key))
    });
    if !removal.deleted.is_empty() || !removal.left.is_empty() {
        let deleted = removal.deleted.iter().chain(&removal.left);
        let deleted: Vec<String> = deleted.map(ToString::to_string).collect();
        pass.notice("Pruned", format!("deleted: {}", named(&deleted)));
    }
    match (&removal.failed, removal.left.first()) {
        (Some((_, error @ WorkloadError::Unreachable(_))), _) => Some(failed_request(error)),
        (Some((key, error)), _) => {
            let message = format!("deleting {key}: {error}");
            let halt = Halt::wait(CHART_APPLIED, reasons::FAILED_TO_DELETE, message);
            Some(End::Halted(halt, Some(FAILED_WAIT)))
        }
        (None, Some(key)) if removal.is_blocked => {
            let message = format!("{key}, which the chart no longer has, is being deleted");
            let halt = Halt::wait(CHART_APPLIED, reasons::DELETING, message);
            Some(End::Halted(halt, Some(DELETING_WAIT)))
        }
        (None, _) => None,
    }
}

/// What ends a reconcile when objects have failed.
pub(super) fn failed(unreachable: Option<&str>, resources: &[ResourceStatus]) -> Option<End> {
    if let Some(message) = unreachable {
        return Some(failed_request(&WorkloadError::Unreachable(message.to_owned())));
    }
    let failed = resources.iter().filter(|one| !one.synced);
    let failed: Vec<String> = failed
        .map(|one| format!("{}: {}", key_of(one), one.message))
        .collect();
    if failed.is_empty() {
        return None;
    }
    let count = resources.len();
    let message = format!("{} of {count} objects failed: {}", failed.len(), named(&failed));
    let halt = Halt::wait(CHART_APPLIED, reasons::FAILED_TO_APPLY, message);
    Some(End::Halted(halt, Some(FAILED_WAIT)))
}

/// A request that has failed.
pub(super) fn failed_request(error: &WorkloadError) -> End {
    if error.is_unreachable() {
        let halt = Halt::wait(CLUSTER_READY, reasons::CLUSTER_UNREACHABLE, error.to_string());
        return End::Halted(halt, Some(WAIT));
    }
    let halt = Halt::wait(CHART_APPLIED, reasons::FAILED_TO_APPLY, error.to_string());
    End::Halted(halt, Some(FAILED_WAIT))
}

/// The first few of a list.
pub(super) fn named(all: &[String]) -> String {
    let shown = all.get(..MAX_NAMED.min(all.len())).unwrap_or_default().join("; ");
    match all.len().checked_sub(MAX_NAMED) {
        Some(more) if more > 0 => format!("{shown}; and {more} more"),
        _ => shown,
    }
}

pub(super) fn key_of(resource: &ResourceStatus) -> ObjectKey {
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

/// The resources of the status, in the order of applying.
pub(super) fn listed<'k>(
    resources: BTreeMap<ObjectKey, ResourceStatus>,
    order: impl Iterator<Item = &'k ObjectKey>,
) -> Vec<ResourceStatus> {
    let order: BTreeMap<&ObjectKey, usize> = order.zip(0..).collect();
    let mut listed: Vec<_> = resources
        .into_iter()
        .filter_map(|(key, one)| Some((*order.get(&key)?, one)))
        .collect();
    listed.sort_by_key(|(index, _)| *index);
    listed.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_first_objects() {
        let names = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
        assert_eq!(named(&names(2)), "0; 1");
        assert_eq!(named(&names(3)), "0; 1; 2");
        assert_eq!(named(&names(5)), "0; 1; 2; and 2 more");
    }
}
