//! The next status: [`next`], a pure function of what is known and what was done; and the writing of it.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::apply::Applied;
use super::conditions::{self, reasons};
use super::decide::{MAX_ATTEMPTS, next_attempt};
use super::dereference::Found;
use super::job::target_text;
use crate::api::OwnedReference;
use crate::api::artifact::{ArtifactFormat, ArtifactStatus, ImportPhase, ImportRun};
use crate::jobs::conditions::{Reason, State};
use crate::jobs::observe::Observation;
use crate::runtime::conditions::{Finding, READY, find, merge};
use crate::runtime::events::{self, Notice};
use crate::runtime::{Action, Cx, Error, status};

/// When an Artifact is reconciled whose Job was created, if no watch has delivered it.
const STARTED_INTERVAL: Duration = Duration::from_secs(10);
/// The maximum backoff of an Artifact that waits for a user.
const BLOCKED_INTERVAL: Duration = Duration::from_secs(300);

/// A status, the delay until the next reconcile, and an event.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) status: ArtifactStatus,
    pub(super) requeue: Option<Duration>,
    pub(super) notice: Option<Notice>,
}

/// Writes the next status if it differs, and publishes the event.
pub(super) async fn write(
    cx: &Cx,
    found: &Found,
    applied: Applied,
    permanent: &BTreeSet<i32>,
) -> Result<Action, Error> {
    let Next {
        status: next,
        requeue,
        notice,
    } = next(found, applied, permanent, cx.now());
    let version = found.metadata.resource_version.as_deref();
    let written = status::patch(cx, &found.key, version, &found.status, &next).await?;
    if written.is_some() {
        let ready = find(&next.conditions, READY);
        tracing::info!(
            phase = next.phase.map_or("", ImportPhase::as_str),
            reason = ready.map_or("", |ready| ready.reason.as_str()),
            message = ready.map_or("", |ready| ready.message.as_str()),
            "status changed"
        );
        events::publish(cx, &found.key, &found.metadata, notice.into_iter().collect()).await;
    }
    Ok(Action { requeue })
}

/// The status after a step.
pub(super) fn next(found: &Found, applied: Applied, permanent: &BTreeSet<i32>, now: Timestamp) -> Next {
    let known = found.status.clone();
    match applied {
        Applied::Nothing(requeue) => quiet(known, requeue),
        Applied::Replacing(requeue) => {
            let message = "the Jobs of an older run are being deleted";
            let findings = conditions::in_progress(reasons::JOB_NOT_CREATED, message);
            quiet(pending(found, &findings, now), Some(requeue))
        }
        Applied::Begun(run) => begun(found, run, now),
        Applied::Waiting {
            message,
            by_itself: true,
            requeue,
        } => {
            let findings = conditions::in_progress(reasons::JOB_NOT_CREATED, &message);
            quiet(pending(found, &findings, now), requeue)
        }
        Applied::Waiting { message, requeue, .. } => {
            let requeue = requeue.map(|after| with_backoff(found, after, now));
            quiet(pending(found, &conditions::blocked(&message), now), requeue)
        }
        Applied::Started {
            job,
            workspace,
            created,
        } => started(found, job, workspace, created, now),
        Applied::Observed {
            observation,
            has_run,
            exit_code,
        } => {
            let is_permanent = exit_code.is_some_and(|code| permanent.contains(&code));
            observed(found, *observation, has_run, is_permanent, now)
        }
        Applied::Lost => {
            let message = "the Job was deleted before it had finished";
            failed_attempt(found, known, message, false, now)
        }
        Applied::WorkspaceDeleted => {
            let run = known.run.clone().unwrap_or_default();
            let status = ArtifactStatus {
                workspace_ref: None,
                run: Some(ImportRun {
                    workspace_deleted: true,
                    ..run
                }),
                ..known
            };
            quiet(status, Some(Duration::ZERO))
        }
        Applied::Advanced => quiet(advanced(known, found.generation()), Some(Duration::ZERO)),
        Applied::Completed => {
            let message = find(&known.conditions, READY).map_or("", |ready| ready.message.as_str());
            let findings = conditions::ready(reasons::COMPLETED, message);
            quiet(with(found, &known, ImportPhase::Succeeded, &findings, now), None)
        }
    }
}

fn quiet(status: ArtifactStatus, requeue: Option<Duration>) -> Next {
    Next {
        status,
        requeue,
        notice: None,
    }
}

/// The known status, of another generation.
fn advanced(known: ArtifactStatus, generation: i64) -> ArtifactStatus {
    let mut conditions = known.conditions.clone();
    for condition in &mut conditions {
        condition.observed_generation = Some(generation);
    }
    ArtifactStatus {
        observed_generation: Some(generation),
        conditions,
        ..known
    }
}

/// The known status with another phase and other conditions.
fn with(
    found: &Found,
    known: &ArtifactStatus,
    phase: ImportPhase,
    findings: &[Finding<&'static str>],
    now: Timestamp,
) -> ArtifactStatus {
    ArtifactStatus {
        phase: Some(phase),
        conditions: merge(&known.conditions, findings, found.metadata.generation, now),
        ..known.clone()
    }
}

fn pending(found: &Found, findings: &[Finding<&'static str>], now: Timestamp) -> ArtifactStatus {
    with(found, &found.status, ImportPhase::Pending, findings, now)
}

fn started(
    found: &Found,
    job: OwnedReference,
    workspace: OwnedReference,
    created: bool,
    now: Timestamp,
) -> Next {
    let message = format!("the Job {} was created", job.name);
    let findings = conditions::in_progress(reasons::JOB_PENDING, &message);
    Next {
        status: ArtifactStatus {
            job_ref: Some(job),
            workspace_ref: Some(workspace),
            ..pending(found, &findings, now)
        },
        requeue: Some(STARTED_INTERVAL),
        notice: created.then(|| normal("JobCreated", "CreateJob", &message)),
    }
}

/// The delay is the time that it has been blocked, up to a limit.
fn with_backoff(found: &Found, after: Duration, now: Timestamp) -> Duration {
    let since = find(&found.status.conditions, READY).filter(|ready| ready.status == "False");
    let age = since.map_or(Duration::ZERO, |ready| {
        now.duration_since(ready.last_transition_time.0).unsigned_abs()
    });
    after.max(age.min(BLOCKED_INTERVAL))
}

/// A new run: nothing of the last one's result is left, but its attempts.
fn begun(found: &Found, run: ImportRun, now: Timestamp) -> Next {
    let known = &found.status;
    let findings = conditions::in_progress(reasons::JOB_NOT_CREATED, "the Job is created next");
    Next {
        status: ArtifactStatus {
            observed_generation: known.observed_generation,
            phase: Some(ImportPhase::Pending),
            conditions: merge(&known.conditions, &findings, found.metadata.generation, now),
            attempts: known.attempts.clone(),
            workspace_ref: known.workspace_ref.clone(),
            run: Some(run),
            ..ArtifactStatus::default()
        },
        requeue: Some(Duration::ZERO),
        notice: None,
    }
}

fn observed(
    found: &Found,
    observation: Observation,
    has_run: bool,
    is_permanent: bool,
    now: Timestamp,
) -> Next {
    let started = observation.started.map(Time);
    // The write after the Job's creation may have failed.
    let job_ref = found.job().map(|job| OwnedReference {
        namespace: job.view.namespace.clone(),
        name: job.view.name.clone(),
        uid: job.view.uid.clone(),
    });
    let known = ArtifactStatus {
        job_ref: job_ref.or_else(|| found.status.job_ref.clone()),
        attempts: observation.attempts.clone(),
        start_time: started.or_else(|| found.status.start_time.clone()),
        ..found.status.clone()
    };
    let requeue = observation.requeue;
    let goes_on = |phase, reason, message: &str| {
        let findings = conditions::in_progress(reason, message);
        quiet(with(found, &known, phase, &findings, now), requeue)
    };
    match observation.state.clone() {
        None => quiet(known, requeue),
        Some(State::Scheduled { message }) if has_run => {
            goes_on(ImportPhase::Running, reasons::JOB_RUNNING, &message)
        }
        Some(State::NotScheduled { message, .. } | State::Scheduled { message }) => {
            goes_on(ImportPhase::Pending, reasons::JOB_PENDING, &message)
        }
        Some(State::AwaitingDigest) => {
            let message = "the Job is complete, and its digest is awaited";
            goes_on(ImportPhase::Running, reasons::JOB_RUNNING, message)
        }
        Some(State::Succeeded { message }) => succeeded(found, &known, observation, &message, now),
        Some(State::WithoutDigest) => {
            let message = "DigestUnavailable: the Job is complete, and no pod has reported a digest";
            failed_attempt(found, known, message, true, now)
        }
        Some(State::Failed { reason, message }) => {
            let message = format!("{}: {message}", reason.as_str());
            let is_permanent = is_permanent || reason == Reason::Conflict;
            failed_attempt(found, known, &message, is_permanent, now)
        }
    }
}

fn succeeded(
    found: &Found,
    known: &ArtifactStatus,
    observation: Observation,
    message: &str,
    now: Timestamp,
) -> Next {
    let reported = observation.reported;
    let findings = conditions::ready(reasons::SUCCEEDED, message);
    Next {
        status: ArtifactStatus {
            observed_generation: found.metadata.generation,
            digest: observation.digest,
            reference: reported.reference.or_else(|| default_reference(found)),
            size: reported.content_size.and_then(|size| i64::try_from(size).ok()),
            revision: reported.revision,
            completion_time: observation.completed.map(Time),
            ..with(found, known, ImportPhase::Succeeded, &findings, now)
        },
        // The volume is deleted next.
        requeue: Some(Duration::ZERO),
        notice: Some(normal("Pushed", "Import", message)),
    }
}

/// Another attempt, or the end.
fn failed_attempt(
    found: &Found,
    known: ArtifactStatus,
    message: &str,
    is_permanent: bool,
    now: Timestamp,
) -> Next {
    let run = known.run.clone().unwrap_or_default();
    let made = run.attempt.saturating_sub(run.first_attempt).saturating_add(1);
    let following = next_attempt(&run, now).filter(|_| !is_permanent);
    let generation = found.metadata.generation;
    if let Some(run) = following {
        let message = format!("attempt {made} of {MAX_ATTEMPTS} failed, and another one follows: {message}");
        let findings = conditions::in_progress(reasons::JOB_NOT_CREATED, &message);
        return Next {
            notice: Some(warning("AttemptFailed", &message)),
            status: ArtifactStatus {
                phase: Some(ImportPhase::Pending),
                conditions: merge(&known.conditions, &findings, generation, now),
                job_ref: None,
                run: Some(run),
                ..known
            },
            requeue: Some(Duration::ZERO),
        };
    }
    Next {
        notice: Some(warning("JobFailed", message)),
        status: ArtifactStatus {
            observed_generation: generation,
            phase: Some(ImportPhase::Failed),
            conditions: merge(&known.conditions, &conditions::failed(message), generation, now),
            completion_time: Some(Time(now)),
            ..known
        },
        requeue: Some(Duration::ZERO),
    }
}

/// A chart's tag is only known from the result.
fn default_reference(found: &Found) -> Option<String> {
    let target = &found.spec.target;
    let is_known = target.tag.is_some() || found.spec.format != ArtifactFormat::Chart;
    is_known.then(|| target_text(target, found.spec.format))
}

fn normal(reason: &'static str, action: &'static str, note: &str) -> Notice {
    Notice {
        warning: false,
        reason,
        action,
        note: note.to_owned(),
    }
}

fn warning(reason: &'static str, note: &str) -> Notice {
    Notice {
        warning: true,
        reason,
        action: "Import",
        note: note.to_owned(),
    }
}
