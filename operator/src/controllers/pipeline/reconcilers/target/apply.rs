//! Creates RenderTasks, and deletes them when they are no longer needed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{ObjectMeta, Patch, PatchParams};
use serde_json::json;

use super::super::charts_in_use::{self, Chart, Destination, Use};
use super::rendered;
use super::wakes::TARGET;
use crate::api::pipeline::{ObjectKey, Target};
use crate::api::{ARTIFACT_LABEL, RETRY_ANNOTATION, Scope, Task, api_version};
use crate::controllers::pipeline::conditions::Reference;
use crate::controllers::pipeline::release_task::PlanError;
use crate::controllers::pipeline::target_plan::{NewTask, TargetPlan};
use crate::controllers::pipeline::task_retry::{self, FailedTask, Retry};
use crate::controllers::rendertask::{RenderTasks, TaskStatusView, TaskView};
use crate::jobs::conditions::{Reason, kinds};
use crate::names::MANAGER;
use crate::runtime::views::{MetadataOnly, Object};
use crate::runtime::{Cx, Error, Key, ObjectName, Watched as _, api_message, owned};

/// How many requests of one reconcile are sent at a time.
const PARALLEL: usize = 8;

/// The result of creating a task.
enum Created {
    Now,
    /// A task of this name exists that the watch has not delivered yet.
    Exists,
    /// The tag that it would push is being deleted, of this RenderArtifact.
    Waits(String),
    Refused(PlanError),
}

/// Creates the missing tasks; the API server's refusals are recorded in the plan. Returns whether something is left to
/// do: the store is behind, or a tag must be deleted first.
pub(super) async fn create(cx: &Cx, target: &ObjectKey, plan: &mut TargetPlan) -> Result<bool, Error> {
    let new = std::mem::take(&mut plan.create);
    let created = stream::iter(new).map(|task| async move {
        let created = create_one(cx, target, &task).await?;
        Ok::<_, Error>((task.key, created))
    });
    let created: Vec<_> = created.buffer_unordered(PARALLEL).try_collect().await?;
    let mut is_behind = false;
    for (key, created) in created {
        match created {
            Created::Now => {}
            Created::Exists => is_behind = true,
            Created::Waits(artifact) => {
                is_behind = true;
                let namespace = &target.namespace;
                plan.wait(
                    &key,
                    &format!("waits until its tag is deleted: RenderArtifact {namespace}/{artifact}"),
                );
            }
            Created::Refused(error) => plan.refuse(&key, &error),
        }
    }
    Ok(is_behind)
}

async fn create_one(cx: &Cx, target: &ObjectKey, new: &NewTask) -> Result<Created, Error> {
    let NewTask { key, spec, labels } = new;
    let destination = Destination {
        base_url: &spec.base_url,
        repository: &spec.repository,
        tag: &spec.tag,
    };
    let artifact = charts_in_use::artifact_of(target, destination);
    if !charts_in_use::may_push(cx, target, &artifact).await? {
        return Ok(Created::Waits(artifact));
    }
    let mut labels = labels.clone();
    labels.insert(ARTIFACT_LABEL.to_owned(), artifact);
    let kind = Scope::Namespaced.id();
    let task = Task {
        api_version: Some(api_version()),
        kind: Some(kind.kind.to_owned()),
        metadata: ObjectMeta {
            name: Some(key.name.clone()),
            namespace: Some(key.namespace.clone()),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        spec: spec.clone(),
        status: None,
    };
    match owned::create_object(cx, kind, &key.namespace, &task).await {
        Ok(_) => {
            tracing::info!(task = %key, tag = spec.tag, "created a RenderTask");
            Ok(Created::Now)
        }
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(Created::Exists),
        // A quota, admission, a namespace that is being deleted, or what the CRD doesn't allow: of this one task.
        Err(error @ kube::Error::Api(_)) if is_refusal(&error) => Ok(Created::Refused(PlanError::Rejected {
            task: key.clone(),
            message: api_message(&error),
        })),
        Err(error) => Err(Error::api("creating a RenderTask")(error)),
    }
}

/// Whether the API server refuses what was asked for: asking again at once would not help.
pub(super) fn is_refusal(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 400 | 403 | 404 | 413 | 422))
}

/// Deletes the tasks that are no longer needed.
pub(super) async fn clean_up(cx: &Cx, key: &Key, plan: &TargetPlan) -> Result<(), Error> {
    let owned = cx.store::<RenderTasks>().by(TARGET, &key.object_name());
    let obsolete = plan.obsolete(&owned);
    let target = ObjectKey::new(&key.namespace, &key.name);
    if let Reference::Resolved(registry) = &plan.registry {
        let is_dropped = |task: &Object<TaskView>| obsolete.iter().any(|one| one.uid() == task.uid());
        bind(cx, &target, registry, &owned, is_dropped).await?;
    }
    let artifacts: Vec<String> = obsolete
        .iter()
        .filter_map(|task| artifact(task).map(str::to_owned))
        .collect();
    let target = &target;
    let released = stream::iter(artifacts)
        .map(|artifact| async move { charts_in_use::release(cx, target, &artifact).await });
    let released = released.buffer_unordered(PARALLEL);
    released.try_for_each(async |()| Ok(())).await?;
    let obsolete = obsolete.iter().map(|task| (task.name(), task.uid().to_owned()));
    delete(cx, obsolete.collect()).await
}

/// Binds the charts that tasks have pushed to a Registry: also those that are no longer needed, or nobody would delete
/// their tags. Of tasks that are dropped, those too that may be pushing at this moment, or have just pushed.
pub(super) async fn bind(
    cx: &Cx,
    target: &ObjectKey,
    registry: &ObjectKey,
    tasks: &[Arc<Object<TaskView>>],
    is_dropped: impl Fn(&Object<TaskView>) -> bool,
) -> Result<(), Error> {
    let mut unbound = Vec::new();
    for task in tasks {
        let Some(push) = push(registry, task, is_dropped(task)) else {
            continue;
        };
        let chart = chart(target, registry, task);
        let Some(chart) = chart.filter(|chart| !charts_in_use::is_bound(cx, chart)) else {
            continue;
        };
        match push {
            Push::Reported(digest) => unbound.push(chart.with_digest(digest)),
            Push::Unreported => unbound.push(chart),
            Push::UnreportedBootstrap => {
                let digest = rendered::digest(cx, task).await?;
                unbound.extend(digest.map(|digest| chart.with_digest(&digest)));
            }
        }
    }
    let bound = stream::iter(unbound).map(|chart| async move {
        if charts_in_use::bind(cx, &chart).await? == Use::Deleting {
            tracing::debug!(?chart, "its tag is being deleted");
        }
        Ok(())
    });
    let bound = bound.buffer_unordered(PARALLEL);
    bound.try_for_each(async |()| Ok(())).await
}

/// What a task has pushed.
enum Push<'a> {
    /// A chart with this digest.
    Reported(&'a str),
    /// Maybe the chart of a Release: its tag is a hash of its content.
    Unreported,
    /// Maybe a bootstrap chart. Under its number there may be somebody else's content, which only the digest tells from
    /// ours.
    UnreportedBootstrap,
}

/// What a task has pushed, when it has, or may have before it is dropped.
fn push<'a>(registry: &ObjectKey, task: &'a Object<TaskView>, is_dropped: bool) -> Option<Push<'a>> {
    let view = task.view()?;
    let is_usable = task.namespace() == registry.namespace && task.metadata.deletion_timestamp.is_none();
    let status = view.status.as_ref().filter(|_| is_usable)?;
    if let Some(digest) = &status.digest {
        return Some(Push::Reported(digest));
    }
    if !is_dropped || !may_have_pushed(status) {
        return None;
    }
    let labels = view.metadata.labels.as_ref();
    let is_bootstrap = labels.is_some_and(|labels| !labels.bootstrap_input.is_empty());
    Some(if is_bootstrap {
        Push::UnreportedBootstrap
    } else {
        Push::Unreported
    })
}

/// Whether a task that reports no digest may have pushed its chart: its pod runs, or it failed after the push, as when
/// the registry was away before it had confirmed the chart, or the pod was killed.
fn may_have_pushed(status: &TaskStatusView) -> bool {
    let failed = status
        .condition(kinds::JOB_FAILED)
        .filter(|one| one.status == "True");
    if failed.is_some_and(|failed| failed.reason == Reason::Conflict.as_str()) {
        // The tag has somebody else's content.
        return false;
    }
    status.state.as_deref() == Some(kinds::JOB_SCHEDULED)
        || failed.is_some_and(|failed| task_retry::is_temporary(&failed.reason))
        || status.may_have_pushed
        || status.run.lost_jobs > 0
}

/// The chart that a task pushes.
fn chart(target: &ObjectKey, registry: &ObjectKey, task: &Object<TaskView>) -> Option<Chart> {
    let view = task.view()?;
    artifact(task)?;
    let destination = Destination {
        base_url: &view.spec.base_url,
        repository: &view.spec.repository,
        tag: &view.spec.tag,
    };
    let name = &task.name().name;
    Some(Chart::new(target, registry, name, destination))
}

/// The artifact that a task's label names.
fn artifact(task: &Object<TaskView>) -> Option<&str> {
    let labels = task.view()?.metadata.labels.as_ref()?;
    Some(labels.artifact.as_str()).filter(|name| !name.is_empty())
}

/// Retries failed tasks, where that may help. Returns the delay until the next retry.
pub(super) async fn retry(
    cx: &Cx,
    key: &Key,
    target: &Target,
    plan: &TargetPlan,
) -> Result<Option<Duration>, Error> {
    let owned = cx.store::<RenderTasks>().by(TARGET, &key.object_name());
    let annotations = target.metadata.annotations.as_ref();
    let asked = annotations.and_then(|annotations| annotations.get(RETRY_ANNOTATION));
    let asked = asked.map_or("", String::as_str);
    let mut next = None;
    for task in plan.failed(&owned) {
        let status = task.view().and_then(|view| view.status.as_ref());
        let failed = status.and_then(|status| status.condition(kinds::JOB_FAILED));
        let failed = FailedTask {
            annotation: task.annotation(RETRY_ANNOTATION),
            reason: failed.map_or("", |failed| failed.reason.as_str()),
            ended: status.and_then(|status| Some(status.completion_time.as_ref()?.0)),
        };
        match task_retry::retry(failed, asked, cx.now()) {
            Retry::Never => {}
            Retry::After(wait) => next = Some(next.map_or(wait, |next: Duration| next.min(wait))),
            Retry::Now(value) => annotate(cx, &task.key(RenderTasks::ID), &value).await?,
        }
    }
    Ok(next)
}

async fn annotate(cx: &Cx, task: &Key, value: &str) -> Result<(), Error> {
    tracing::info!(%task, value, "retrying a failed RenderTask");
    let patch = Patch::Merge(json!({"metadata": {"annotations": {RETRY_ANNOTATION: value}}}));
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patched = cx
        .api::<MetadataOnly>(task)
        .patch(&task.name, &params, &patch)
        .await;
    match patched {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(Error::api("requesting a retry of a RenderTask")(error)),
    }
}

/// Deletes tasks, by name and UID.
pub(super) async fn delete(cx: &Cx, tasks: Vec<(ObjectName, String)>) -> Result<(), Error> {
    let deleted = stream::iter(tasks).map(|(name, uid)| async move {
        let key = RenderTasks::ID.key(name);
        let deleted = owned::delete_object(cx, &key, &uid).await;
        deleted.map_err(Error::api("deleting a RenderTask"))
    });
    let deleted = deleted.buffer_unordered(PARALLEL);
    deleted.try_for_each(async |_| Ok(())).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only a running Job counted once, and the tag of one that had failed after its push stayed for ever.
    #[test]
    fn a_dropped_task_may_have_pushed_unless_its_end_says_otherwise() {
        let failed = |reason: &str, attempts: serde_json::Value| {
            let condition = json!({"type": "JobFailed", "status": "True", "reason": reason, "message": "m",
                "lastTransitionTime": "2026-01-01T00:00:00Z"});
            json!({"state": "JobFailed", "conditions": [condition], "attempts": attempts})
        };
        let ran = |code: i32, class: &str| json!([{"started": "2026-01-01T00:00:00Z", "exitCode": code, "class": class}]);
        let table = [
            (json!({}), false),
            (json!({"state": "Queued"}), false),
            (json!({"state": "Queued", "run": {"lostJobs": 1}}), true),
            (json!({"state": "Queued", "attempts": ran(5, "network")}), true),
            (json!({"state": "JobScheduled"}), true),
            (failed("RegistryUnavailable", ran(5, "registry")), true),
            (failed("DeadlineExceeded", json!([])), true),
            (failed("AuthFailed", ran(4, "auth")), false),
            (failed("RegistryRefused", ran(4, "refused")), true),
            (failed("ConfigInvalid", json!([])), false),
            // Before the conflict there was a network error.
            (failed("Conflict", ran(5, "network")), false),
        ];
        for (status, expected) in table {
            let view: TaskStatusView = serde_json::from_value(status.clone()).expect("a status");
            assert_eq!(may_have_pushed(&view), expected, "{status}");
        }
    }
}
