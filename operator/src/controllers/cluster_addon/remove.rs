//! An addon that is being deleted: what was applied is deleted from the cluster, unless the cluster goes away itself.

use std::time::Duration;

use solar_server_side_apply::ObjectKey;

use super::addon::WAIT;
use super::cluster::ClusterView;
use super::conditions::{CHART_APPLIED, CLUSTER_READY, Halt, reasons};
use super::delete_hooks::{self, DeleteHooks, HookStage, POST_DELETE, PRE_DELETE};
use super::deletion::{DeleteOf, Removal, delete_in_order};
use super::inventory::key_of;
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
    // Once for the whole reconcile: nothing is given up before all of it was deleted without waiting.
    let is_last = is_given_up(&pass);
    let connected = secrets::connect(pass.cx, &pass.key.namespace, &pass.spec.cluster_ref.name).await?;
    let mut workload = match connected {
        Ok(workload) => workload,
        Err(halt) => return give_up_or_wait(pass, halt, (WAIT, is_last)).await,
    };
    if let Err(error) = workload.discover().await {
        return give_up_or_wait(pass, unreachable(&error), (WAIT, is_last)).await;
    }
    match run(&mut pass, &workload, is_last).await? {
        Progress::Removed => release(&pass, Some("all objects are deleted from the cluster")).await,
        Progress::Halted(halt, wait) => give_up_or_wait(pass, halt, (wait, is_last)).await,
    }
}

/// How far a removal is.
enum Progress {
    Removed,
    Halted(Halt, Duration),
}

/// Hooks before, objects, hooks after: as `helm uninstall` does. A removal that has taken as long as it may (`is_last`) has
/// no hooks.
async fn run(pass: &mut Pass<'_>, workload: &Workload, is_last: bool) -> Result<Progress, Error> {
    let hooks = match delete_hooks::kept(pass, workload).await {
        Ok(hooks) => hooks,
        Err(error) => return Ok(failed_request("reading the hooks", &error)),
    };
    let due = hooks.as_ref().filter(|_| !is_last);
    if let Some(halted) = run_hooks(pass, workload, due, PRE_DELETE).await? {
        return Ok(halted);
    }
    if let Some(halted) = left(&delete_all(pass, workload, hooks.as_ref(), is_last).await) {
        return Ok(halted);
    }
    if let Some(halted) = run_hooks(pass, workload, due, POST_DELETE).await? {
        return Ok(halted);
    }
    let Some(hooks) = hooks else {
        return Ok(Progress::Removed);
    };
    let owner = pass.key.to_string();
    let removal = hooks.delete(workload, &owner, |_| !is_last).await;
    Ok(left(&removal).unwrap_or(Progress::Removed))
}

/// What stops a removal: a hook.
async fn run_hooks(
    pass: &mut Pass<'_>,
    workload: &Workload,
    hooks: Option<&DeleteHooks>,
    event: &str,
) -> Result<Option<Progress>, Error> {
    let Some(hooks) = hooks else {
        return Ok(None);
    };
    Ok(match hooks.run(pass, workload, event).await? {
        HookStage::Completed => None,
        HookStage::Halted(halt) => Some(Progress::Halted(halt, DELETING_WAIT)),
        HookStage::Failed(error) => Some(failed_request(event, &error)),
    })
}

/// What stops a removal: objects.
fn left(removal: &Removal) -> Option<Progress> {
    if let Some((key, error)) = &removal.failed {
        return Some(failed_request(&key.to_string(), error));
    }
    let key = removal.left.first()?;
    let message = match removal.left.len() {
        1 => format!("{key} is being deleted"),
        count => format!("{key} and {} others are being deleted", count - 1),
    };
    let halt = Halt::wait(CHART_APPLIED, reasons::DELETING, message);
    Some(Progress::Halted(halt, DELETING_WAIT))
}

fn failed_request(what: &str, error: &WorkloadError) -> Progress {
    if error.is_unreachable() {
        return Progress::Halted(unreachable(error), WAIT);
    }
    let message = format!("{what}: {error}");
    let halt = Halt::wait(CHART_APPLIED, reasons::FAILED_TO_DELETE, message);
    Progress::Halted(halt, WAIT)
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
async fn delete_all(
    pass: &mut Pass<'_>,
    workload: &Workload,
    hooks: Option<&DeleteHooks>,
    is_last: bool,
) -> Removal {
    let owner = pass.key.to_string();
    let keys = pass.next.inventory.iter().rev().map(key_of);
    let keys: Vec<ObjectKey> = keys
        .filter(|key| hooks.is_none_or(|hooks| *key != hooks.secret))
        .collect();
    let removal = delete_in_order(workload, &keys, DeleteOf::Addon(&owner), |_| !is_last).await;
    pass.next
        .inventory
        .retain(|entry| !removal.done.contains(&key_of(entry)));
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
async fn give_up_or_wait(
    pass: Pass<'_>,
    halt: Halt,
    (wait, is_last): (Duration, bool),
) -> Result<Action, Error> {
    if !is_last {
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
