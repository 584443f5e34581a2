//! Events (events.k8s.io) about what happened to a task.
//!
//! They follow from a change of the status, so that a reconcile that changes nothing publishes none. One
//! that can't be written is a line in the log and no more.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};

use super::Context;
use super::apply::{Applied, Done, Refused};
use super::dereference::Found;
use crate::api::{Scope, TaskStatus, api_version};
use crate::conditions::{Reason, cut, find, kinds};
use crate::jobs::observe::{Ended, ended};
use crate::names::{MANAGER, fitted};

/// The longest note, in bytes.
const MAX_NOTE: usize = 1024;
/// Where events about cluster-scoped objects are.
const CLUSTER_EVENTS: &str = "default";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Notice {
    warning: bool,
    reason: &'static str,
    action: &'static str,
    note: String,
}

pub(super) async fn publish(context: &Context, found: &Found, next: &TaskStatus, applied: &Applied) {
    let before = found.task.known();
    let before_end = ended(&before.conditions);
    let after_end = ended(&next.conditions);
    if before_end.is_none()
        && let Some(end) = after_end
    {
        let outcome = match end {
            Ended::Succeeded => next
                .outcome
                .map_or("unknown", |outcome| outcome.as_str())
                .to_owned(),
            Ended::Failed(reason) => reason.to_owned(),
        };
        tracing::info!(outcome, digest = next.digest, "task finished");
        context.metrics.ended(found.key.scope, &outcome);
    }
    let now = context.now();
    let namespace = match found.key.scope {
        Scope::Namespaced => found.key.namespace.as_str(),
        Scope::Cluster => CLUSTER_EVENTS,
    };
    let events: Api<Event> = Api::namespaced(context.client.clone(), namespace);
    for (number, notice) in notices(found, next, applied).into_iter().enumerate() {
        let event = event(context, found, namespace, &notice, now, number);
        if let Err(error) = events.create(&PostParams::default(), &event).await {
            let error = super::api_message(&error);
            tracing::warn!(reason = notice.reason, error, "failed to write an event");
        }
    }
}

/// The events to publish. Pure.
fn notices(found: &Found, next: &TaskStatus, applied: &Applied) -> Vec<Notice> {
    let before = found.task.known();
    let (before_end, after_end) = (ended(&before.conditions), ended(&next.conditions));
    let message = |kind: &str| {
        find(&next.conditions, kind)
            .map_or("", |one| one.message.as_str())
            .to_owned()
    };
    let mut list = Vec::new();
    let mut add = |warning, reason, action, note: String| {
        list.push(Notice {
            warning,
            reason,
            action,
            note,
        });
    };
    if matches!(before_end, Some(Ended::Failed(_))) && after_end.is_none() {
        let note = match next.run.as_ref() {
            Some(run) if run.after_rotation => "the push Secret has changed: one more run".to_owned(),
            run => format!(
                "asked for: {}",
                run.and_then(|run| run.retry.as_deref()).unwrap_or("")
            ),
        };
        add(false, "RetryRequested", "Retry", note);
    }
    if applied.created_job {
        let name = next.job_ref.as_ref().map_or("", |job| job.name.as_str());
        add(false, "JobCreated", "Create", format!("created Job {name}"));
    }
    if let Done::Blocked { blocked, .. } = &applied.done {
        let was = find(&before.conditions, kinds::JOB_SCHEDULED).map(|one| one.reason.as_str());
        let note = blocked.message.clone();
        match (blocked.reason, applied.refused) {
            (Reason::NameConflict, _) if was != Some(Reason::NameConflict.as_str()) => {
                add(true, "NameConflict", "Create", note);
            }
            (_, Some(Refused::Secret)) => add(true, "CreateSecretFailed", "Create", note),
            (_, Some(Refused::Job)) => add(true, "CreateJobFailed", "Create", note),
            _ => {}
        }
    }
    match after_end.filter(|_| before_end.is_none() || applied.created_job) {
        Some(Ended::Succeeded) => add(false, "JobSucceeded", "Observe", message(kinds::READY)),
        Some(Ended::Failed(reason)) => {
            add(
                true,
                "JobFailed",
                "Observe",
                format!("{reason}: {}", message(kinds::JOB_FAILED)),
            );
        }
        None => {}
    }
    list
}

fn event(
    context: &Context,
    found: &Found,
    namespace: &str,
    notice: &Notice,
    now: Timestamp,
    number: usize,
) -> Event {
    let metadata = &found.task.metadata;
    let unique = format!("{:x}{number:x}", now.as_nanosecond());
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{unique}", fitted(&found.key.name))),
            namespace: Some(namespace.to_owned()),
            ..Default::default()
        },
        type_: Some(if notice.warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(notice.reason.to_owned()),
        action: Some(notice.action.to_owned()),
        note: Some(cut(&notice.note, MAX_NOTE)),
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(MANAGER.to_owned()),
        reporting_instance: Some(context.settings.instance.clone()),
        regarding: Some(ObjectReference {
            api_version: Some(api_version()),
            kind: Some(found.key.scope.kind().to_owned()),
            name: metadata.name.clone(),
            namespace: metadata.namespace.clone(),
            uid: metadata.uid.clone(),
            resource_version: metadata.resource_version.clone(),
            ..Default::default()
        }),
        ..Default::default()
    }
}
