//! An addon that is being deleted: what was applied is deleted from the cluster, unless the cluster goes away itself.

use std::time::Duration;

use super::addon::WAIT;
use super::cluster::ClusterView;
use super::conditions::{CHART_APPLIED, CLUSTER_READY, Halt, reasons};
use super::deletion::{DeleteOf, Removal, delete_in_order};
use super::inventory::ObjectKey;
use super::pass::Pass;
use super::workload::{Workload, WorkloadError};
use super::{finalizer, scope, secrets};
use crate::runtime::events::{self, Notice};
use crate::runtime::views::Object;
use crate::runtime::{Action, Error, finalizers};

/// The delay before objects that are being deleted are requeued.
const DELETING_WAIT: Duration = Duration::from_secs(2);

/// Deletes what was applied, and then lets the addon go.
pub(super) async fn remove(
    mut pass: Pass<'_>,
    cluster: Option<&Object<ClusterView>>,
) -> Result<Action, Error> {
    if !finalizers::has(&pass.metadata, &finalizer()) {
        return Ok(Action::done());
    }
    if !stays(&pass, cluster).await? || !pass.spec.prune || pass.known.inventory.is_empty() {
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
    let removal = delete_all(&mut pass, &workload).await;
    match (removal.failed, removal.left.first()) {
        (None, None) => release(&pass, Some("all objects are deleted from the cluster")).await,
        (None, Some(key)) => {
            let message = match removal.left.len() {
                1 => format!("{key} is being deleted"),
                count => format!("{key} and {} others are being deleted", count - 1),
            };
            let halt = Halt::wait(CHART_APPLIED, reasons::DELETING, message);
            give_up_or_wait(pass, halt, DELETING_WAIT).await
        }
        (Some((_, error)), _) if error.is_unreachable() => {
            give_up_or_wait(pass, unreachable(&error), WAIT).await
        }
        (Some((key, error)), _) => {
            let message = format!("deleting {key}: {error}");
            let halt = Halt::wait(CHART_APPLIED, reasons::FAILED_TO_DELETE, message);
            give_up_or_wait(pass, halt, WAIT).await
        }
    }
}

/// Whether the cluster stays. The API server is asked: the garbage collector deletes an addon after its Cluster, but the
/// watch may deliver the addon first, and a Cluster that was moved to another management cluster keeps its objects.
async fn stays(pass: &Pass<'_>, cluster: Option<&Object<ClusterView>>) -> Result<bool, Error> {
    let alive = cluster.filter(|cluster| cluster.metadata.deletion_timestamp.is_none());
    match alive {
        Some(cluster) => scope::is_alive(pass.cx, pass.shared.settings.version, cluster).await,
        None => Ok(false),
    }
}

fn unreachable(error: &WorkloadError) -> Halt {
    Halt::wait(CLUSTER_READY, reasons::CLUSTER_UNREACHABLE, error.to_string())
}

/// Deletes what was applied, last applied first. After the time limit of a removal everything is deleted at once: what
/// is left then is given up, and what would have waited for it must not stay because of that.
async fn delete_all(pass: &mut Pass<'_>, workload: &Workload) -> Removal {
    let owner = pass.key.to_string();
    let is_last = is_given_up(pass);
    let keys: Vec<ObjectKey> = pass.next.inventory.iter().rev().map(ObjectKey::from).collect();
    let removal = delete_in_order(workload, &keys, DeleteOf::Addon(&owner), |_| !is_last).await;
    pass.next
        .inventory
        .retain(|entry| !removal.done.contains(&ObjectKey::from(entry)));
    removal
}

/// Whether the removal has taken as long as it may.
fn is_given_up(pass: &Pass<'_>) -> bool {
    let since = pass.metadata.deletion_timestamp.as_ref().map(|time| time.0);
    let age = since.map_or(Duration::ZERO, |since| {
        pass.cx.now().duration_since(since).unsigned_abs()
    });
    age >= pass.shared.settings.deletion_timeout
}

/// A cluster that can't be reached must not keep the addon for ever.
async fn give_up_or_wait(pass: Pass<'_>, halt: Halt, wait: Duration) -> Result<Action, Error> {
    if !is_given_up(&pass) {
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
    pass.shared.drift_checks.forget(pass.uid());
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
