//! Decides what to do next for a task: a pure function of the task, its Job, its push Secret, and the time.
//!
//! It is idempotent: the next reconcile recognises by UIDs what was done before a crash, and does not repeat it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::api::{Run, Task, TaskStatus};
use crate::jobs::conditions::{Reason, kinds};
use crate::jobs::index::FoundJob;
use crate::jobs::observe::{Ended, ended};
use crate::runtime::conditions;

#[cfg(test)]
mod tests;

/// After how many lost Jobs a task fails.
pub(super) const MAX_LOST_JOBS: u32 = 3;
/// How often a task that failed with AuthFailed is reconciled to check its push Secret for a change.
pub(super) const ROTATION_INTERVAL: Duration = Duration::from_secs(300);
/// When a task that waits for a deletion is requeued; the deletion wakes it earlier.
const DELETION_INTERVAL: Duration = Duration::from_secs(10);

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing, except a requeue after this delay, if any.
    Requeue(Option<Duration>),
    /// Its end is recorded: its remaining objects are deleted.
    CleanUp {
        /// Whether the Job still exists.
        job: bool,
    },
    /// Its Job exists: its state is recorded.
    Record(Run),
    /// It will run again: the Job of the last run is deleted first.
    DeleteOldJob,
    /// A Job is created.
    Start(Run),
    /// Its Jobs were deleted repeatedly: it has failed.
    Fail(Run),
    /// Its Job was complete, or its pod had exited with 0, and the Job was deleted: no digest will arrive any more.
    FinalizeWithoutDigest,
}

/// Whether a decision depends on the push Secret.
pub(super) fn reads_push_secret(task: &Task, job: Option<&FoundJob>) -> bool {
    if task.spec.push_secret_ref.is_none() {
        return false;
    }
    let status = task.status.as_ref();
    let conditions = status.map_or(&[][..], |status| &status.conditions);
    match ended(conditions) {
        None => job.is_none(),
        Some(Ended::Succeeded) => false,
        Some(Ended::Failed(reason)) => {
            let run = status.and_then(|status| status.run.as_ref());
            let asked = task.retry() != run.and_then(|run| run.retry.as_deref());
            asked || reason == Reason::AuthFailed.as_str()
        }
    }
}

/// Decides the next step. `push_version` is the push Secret's resourceVersion, if it exists and was read.
pub(super) fn decide(
    task: &Task,
    job: Option<&FoundJob>,
    push_version: Option<&str>,
    now: Timestamp,
) -> Decision {
    let status = task.known();
    match ended(&status.conditions) {
        Some(Ended::Succeeded) => after_success(&status, job),
        Some(Ended::Failed(reason)) => {
            let rotates = reason == Reason::AuthFailed.as_str();
            match next_run(task, &status, rotates, push_version, now) {
                Some(run) => again(&status, job, run),
                None => after_failure(task, &status, rotates, now),
            }
        }
        None => unfinished(task, &status, job, push_version),
    }
}

fn after_success(status: &TaskStatus, job: Option<&FoundJob>) -> Decision {
    let job = job.is_some_and(|job| !job.gone && !job.view.deleting);
    if job || status.config_secret_ref.is_some() {
        Decision::CleanUp { job }
    } else {
        Decision::Requeue(None)
    }
}

/// The next run of a failed task, if its annotation requests one or its credentials have changed.
fn next_run(
    task: &Task,
    status: &TaskStatus,
    rotates: bool,
    push_version: Option<&str>,
    now: Timestamp,
) -> Option<Run> {
    let run = status.run.clone().unwrap_or_default();
    let next = |after_rotation| Run {
        generation: task.metadata.generation,
        retry: task.retry().map(str::to_owned),
        push_secret_version: push_version.map(str::to_owned),
        after_rotation,
        lost_jobs: 0,
    };
    if task.retry().is_some() && task.retry() != run.retry.as_deref() {
        return Some(next(false));
    }
    // After some crashes the version at the Job's creation is unknown: that counts as unchanged.
    let known = run.push_secret_version.as_deref();
    let changed = push_version.is_some() && known.is_some() && push_version != known;
    let may = rotates && !run.after_rotation && expiry(task, status) > now;
    (may && changed).then(|| next(true))
}

fn again(status: &TaskStatus, job: Option<&FoundJob>, run: Run) -> Decision {
    let Some(job) = job.filter(|job| !job.gone) else {
        return Decision::Start(run);
    };
    let of_last_run = status.job_ref.as_ref().is_none_or(|old| old.uid == job.view.uid);
    match (of_last_run, job.view.deleting) {
        (_, true) => Decision::Requeue(Some(DELETION_INTERVAL)),
        (true, false) => Decision::DeleteOldJob,
        // It was created for a newer run before the operator crashed.
        (false, false) => Decision::Record(job.run.clone().unwrap_or(run)),
    }
}

fn after_failure(task: &Task, status: &TaskStatus, rotates: bool, now: Timestamp) -> Decision {
    let kept = status.config_secret_ref.is_some();
    let left = expiry(task, status).duration_since(now);
    if left <= SignedDuration::ZERO {
        return if kept {
            Decision::CleanUp { job: false }
        } else {
            Decision::Requeue(None)
        };
    }
    let left = left.unsigned_abs();
    let used = status.run.as_ref().is_some_and(|run| run.after_rotation);
    Decision::Requeue(if rotates && !used {
        Some(left.min(ROTATION_INTERVAL))
    } else {
        kept.then_some(left)
    })
}

/// When a failed task's Secret is deleted.
fn expiry(task: &Task, status: &TaskStatus) -> Timestamp {
    let ended = status
        .completion_time
        .as_ref()
        .map_or(Timestamp::MIN, |time| time.0);
    let ttl = SignedDuration::from_secs(task.spec.failed_job_ttl.into());
    ended.saturating_add(ttl).unwrap_or(Timestamp::MAX)
}

fn unfinished(
    task: &Task,
    status: &TaskStatus,
    job: Option<&FoundJob>,
    push_version: Option<&str>,
) -> Decision {
    let mut run = status.run.clone().unwrap_or_default();
    let known = status.job_ref.as_ref().map(|job| job.uid.as_str());
    // A Job that finished before its deletion counts like an existing one, unless it is of an earlier run.
    let counts = |job: &&FoundJob| {
        let earlier = known.is_some_and(|uid| uid != job.view.uid);
        !job.gone || (job.view.end.is_some() && !earlier)
    };
    let Some(job) = job.filter(counts) else {
        let complete = conditions::is(&status.conditions, kinds::JOB_SUCCEEDED, "True");
        if known.is_some() && (complete || last_pod_succeeded(status)) {
            return Decision::FinalizeWithoutDigest;
        }
        run.lost_jobs = run.lost_jobs.saturating_add(u32::from(known.is_some()));
        if run.lost_jobs >= MAX_LOST_JOBS {
            // This doesn't answer a retry that was requested meanwhile.
            return Decision::Fail(run);
        }
        run.generation = task.metadata.generation;
        run.push_secret_version = push_version.map(str::to_owned);
        // The next Job answers every retry that was requested before its creation.
        run.retry = task.retry().map(str::to_owned);
        return Decision::Start(run);
    };
    if job.view.deleting && job.view.end.is_none() && known != Some(job.view.uid.as_str()) {
        return Decision::Requeue(Some(DELETION_INTERVAL));
    }
    if known == Some(job.view.uid.as_str()) {
        return Decision::Record(run);
    }
    // It was created before the operator crashed, which did not record it.
    Decision::Record(job.run.clone().unwrap_or_else(|| {
        // A Job that the status knows was lost.
        run.lost_jobs = run.lost_jobs.saturating_add(u32::from(known.is_some()));
        run.retry = task.retry().map(str::to_owned);
        run
    }))
}

/// Whether the last recorded pod has exited with 0. It is of this run: an earlier one would have ended with it.
fn last_pod_succeeded(status: &TaskStatus) -> bool {
    let last = status.attempts.last();
    last.is_some_and(|attempt| attempt.exit_code == Some(0))
}
