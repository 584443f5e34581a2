//! A Target that is being deleted: its charts are no longer bound, its RenderTasks go, the Secrets of its key pairs, then its finalizer.
//!
//! It only waits until the API server has accepted the deletions of tasks, so that neither the namespace of Targets nor
//! that of tasks is kept.

use kube::api::ListParams;

use super::super::charts_in_use;
use super::key_pairs::{self, Undeleted};
use super::wakes::TARGET;
use super::{FINALIZER, apply};
use crate::api::pipeline::Target;
use crate::controllers::pipeline::conditions::Reason;
use crate::controllers::pipeline::namespaces;
use crate::controllers::pipeline::task_owner::{finalizer, is_owned, selector};
use crate::controllers::rendertask::{RenderTasks, TaskView};
use crate::runtime::conditions::ConditionReason as _;
use crate::runtime::events::{self, Notice};
use crate::runtime::{Action, Cx, Error, Key, ObjectName, Watched as _, finalizers};

/// Deletes the tasks of a Target that is being deleted, then removes its finalizer.
pub(super) async fn finalize(cx: &Cx, key: &Key, target: &Target) -> Result<Action, Error> {
    let finalizer = finalizer(FINALIZER);
    if !finalizers::has(&target.metadata, &finalizer) {
        return Ok(Action::done());
    }
    let tasks = cx.store::<RenderTasks>().by(TARGET, &key.object_name());
    // The charts that were pushed just before, or are being pushed, have no artifact yet; in a namespace that is being deleted none can be made.
    if !namespaces::is_terminating(cx, target.namespace()) {
        let registry = target.spec.render_registry_ref.resolved(target.namespace());
        apply::bind(cx, &target.key(), &registry, &tasks, |_| true).await?;
    }
    charts_in_use::release_all(cx, &target.key()).await?;
    let known = tasks
        .iter()
        .filter(|task| task.metadata.deletion_timestamp.is_none());
    let known = known.map(|task| (task.name(), task.uid().to_owned()));
    apply::delete(cx, known.collect()).await?;
    let unseen = unseen(cx, target).await?;
    apply::delete(cx, unseen).await?;
    let undeleted = key_pairs::delete_all(cx, target).await?;
    let undeleted = undeleted.into_iter().map(|Undeleted { secret, message }| Notice {
        warning: true,
        reason: Reason::Rejected.name(),
        action: "DeleteKeyPair",
        note: format!("the Secret {secret} with a private key is left, delete it: {message}"),
    });
    events::publish(cx, key, &target.metadata, undeleted.collect()).await;
    finalizers::remove(cx, key, &target.metadata, &finalizer).await?;
    Ok(Action::done())
}

/// Tasks that were created just before, which the watch may not have delivered: listed in the namespace of the last
/// ones.
async fn unseen(cx: &Cx, target: &Target) -> Result<Vec<(ObjectName, String)>, Error> {
    let namespace = target
        .spec
        .render_registry_ref
        .resolved(target.namespace())
        .namespace;
    let api = cx.api_in::<TaskView>(RenderTasks::ID, Some(&namespace));
    let params = ListParams::default().labels(&selector(&target.key()));
    let tasks = api
        .list(&params)
        .await
        .map_err(Error::api("listing the Target's RenderTasks"))?;
    let left = tasks.items.iter().filter(|task| {
        let view = task.view();
        task.metadata.deletion_timestamp.is_none() && view.is_some_and(|view| is_owned(view, &target.key()))
    });
    Ok(left.map(|task| (task.name(), task.uid().to_owned())).collect())
}
