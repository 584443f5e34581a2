//! The events about a task.

use super::Context;
use super::apply::{Applied, Done, Refused};
use super::dereference::Found;
use crate::api::{Scope, TaskStatus};
use crate::jobs::conditions::{Reason, kinds};
use crate::jobs::observe::{Ended, ended};
use crate::runtime::conditions::find;
use crate::runtime::events::{self, Notice};

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
        context.metrics.ended(Scope::of(found.key.kind), &outcome);
    }
    let notices = notices(found, next, applied);
    events::publish(&context.cx, &found.key, &found.task.metadata, notices).await;
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
            Some(run) if run.after_rotation => "the push Secret has changed: retrying".to_owned(),
            run => format!(
                "requested: {}",
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
