//! An addon that is being deleted: what was applied is deleted from the cluster, unless the cluster goes away itself.

use std::time::Duration;

use super::addon::{Pass, WAIT};
use super::apply::{self, Deletion, deletion_phase};
use super::cluster::ClusterView;
use super::conditions::{CHART_APPLIED, CLUSTER_READY, Halt, reasons};
use super::inventory::ObjectKey;
use super::workload::{Workload, WorkloadError};
use super::{finalizer, secrets};
use crate::runtime::events::{self, Notice};
use crate::runtime::views::Object;
use crate::runtime::{Action, Error, finalizers};

/// How long objects that are being deleted are waited for.
const DELETING_WAIT: Duration = Duration::from_secs(2);

/// Deletes what was applied, and then lets the addon go.
pub(super) async fn remove(
    mut pass: Pass<'_>,
    cluster: Option<&Object<ClusterView>>,
) -> Result<Action, Error> {
    if !finalizers::has(&pass.metadata, &finalizer()) {
        return Ok(Action::done());
    }
    let stays = cluster.is_some_and(|cluster| cluster.metadata.deletion_timestamp.is_none());
    if !stays || !pass.spec.prune || pass.known.inventory.is_empty() {
        return release(&pass, None).await;
    }
    let connected = secrets::connect(pass.cx, &pass.key.namespace, &pass.spec.cluster_ref.name).await?;
    let mut workload = match connected {
        Ok(workload) => workload,
        Err(halt) => return give_up_or_wait(pass, halt, WAIT).await,
    };
    if let Err(error) = workload.discover().await {
        return give_up_or_wait(pass, unreachable(&error), WAIT).await;
    }
    let left = delete_all(&mut pass, &workload).await;
    match left {
        Ok(None) => release(&pass, Some("all objects are deleted from the cluster")).await,
        Ok(Some(key)) => {
            let message = format!("{key} and others are being deleted");
            let halt = Halt::wait(CHART_APPLIED, reasons::DELETING, message);
            give_up_or_wait(pass, halt, DELETING_WAIT).await
        }
        Err((key, error)) if !error.is_unreachable() => {
            let message = format!("deleting {key}: {error}");
            let halt = Halt::wait(CHART_APPLIED, reasons::FAILED_TO_DELETE, message);
            give_up_or_wait(pass, halt, WAIT).await
        }
        Err((_, error)) => give_up_or_wait(pass, unreachable(&error), WAIT).await,
    }
}

fn unreachable(error: &WorkloadError) -> Halt {
    Halt::wait(CLUSTER_READY, reasons::CLUSTER_UNREACHABLE, error.to_string())
}

/// Deletes phase by phase, last applied first; returns an object that is still there.
async fn delete_all(
    pass: &mut Pass<'_>,
    workload: &Workload,
) -> Result<Option<ObjectKey>, (ObjectKey, WorkloadError)> {
    let owner = pass.key.to_string();
    for phase in 0..=3 {
        let keys: Vec<ObjectKey> = pass.next.inventory.iter().rev().map(ObjectKey::from).collect();
        let mut left = None;
        for key in keys.into_iter().filter(|key| deletion_phase(key) == phase) {
            match apply::delete(workload, &key, &owner).await {
                Ok(Deletion::Requested) => left = Some(key),
                Ok(Deletion::Gone | Deletion::Kept) => {
                    pass.next.inventory.retain(|entry| ObjectKey::from(entry) != key);
                }
                Err(error) => return Err((key, error)),
            }
        }
        // Controllers of custom objects must see them go, and namespaces must be empty.
        if left.is_some() {
            return Ok(left);
        }
    }
    Ok(None)
}

/// A cluster that can't be reached must not keep the addon for ever.
async fn give_up_or_wait(pass: Pass<'_>, halt: Halt, wait: Duration) -> Result<Action, Error> {
    let since = pass.metadata.deletion_timestamp.as_ref().map(|time| time.0);
    let age = since.map_or(Duration::ZERO, |since| {
        pass.cx.now().duration_since(since).unsigned_abs()
    });
    if age < pass.shared.settings.deletion_timeout {
        return pass.halted(&halt, Some(wait)).await;
    }
    let count = pass.next.inventory.len();
    let note = format!(
        "{count} objects are left in the cluster, which is given up: {}",
        halt.message
    );
    tracing::warn!(note, "a ClusterAddon is deleted without its objects");
    events::publish(
        pass.cx,
        pass.key,
        &pass.metadata,
        vec![notice(true, "Abandoned", &note)],
    )
    .await;
    release(&pass, None).await
}

async fn release(pass: &Pass<'_>, note: Option<&str>) -> Result<Action, Error> {
    if let Some(note) = note {
        events::publish(
            pass.cx,
            pass.key,
            &pass.metadata,
            vec![notice(false, "Removed", note)],
        )
        .await;
    }
    finalizers::remove(pass.cx, pass.key, &pass.metadata, &finalizer()).await?;
    Ok(Action::done())
}

fn notice(warning: bool, reason: &'static str, note: &str) -> Notice {
    Notice {
        warning,
        reason,
        action: "Remove",
        note: note.to_owned(),
    }
}
