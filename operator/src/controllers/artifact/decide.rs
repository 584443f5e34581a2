//! What to do about an Artifact. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::ArtifactSettings;
use super::conditions::reasons;
use super::dereference::{Found, JobState};
use crate::api::artifact::{ImportPhase, ImportRun};
use crate::runtime::conditions::{READY, find};

/// How many Jobs an import gets.
pub const MAX_ATTEMPTS: i32 = 4;
/// The delay before the second attempt; it doubles with each one.
const FIRST_DELAY: SignedDuration = SignedDuration::from_secs(10);

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    /// Nothing, until the delay has passed or something changes.
    Nothing(Option<Duration>),
    /// Delete the Jobs of older runs, and begin this one.
    Begin(ImportRun),
    /// Create the volume and the Job of the current attempt.
    Start,
    /// No Job may be created: suspended.
    Suspended,
    /// Another owner's Job has the name.
    Conflict,
    /// Report the state of the Job.
    Observe,
    /// The Job of the current attempt has vanished before its end was seen.
    Lost,
    /// The import has ended: delete the volume.
    DeleteWorkspace,
    /// The result is that of the present generation, too.
    Advance,
    /// The Job of a successful import is gone.
    Complete,
}

pub(super) fn decide(found: &Found, now: Timestamp, settings: &ArtifactSettings) -> Decision {
    let Some(run) = &found.status.run else {
        return Decision::Begin(first_run(found));
    };
    // An edit that the import doesn't depend on leaves it alone.
    let is_edited = run.generation != found.generation();
    if is_edited && run.input != Some(found.input()) {
        return Decision::Begin(first_run(found));
    }
    let wants_retry = found.retry().is_some() && found.retry() != run.retry.as_deref();
    if wants_retry && found.status.phase == Some(ImportPhase::Failed) {
        // Attempts are counted on, so that no two Jobs have one name.
        let attempt = run.attempt.saturating_add(1);
        return Decision::Begin(ImportRun {
            attempt,
            first_attempt: attempt,
            ..first_run(found)
        });
    }
    if found.has_ended() {
        return after_end(found, run, settings);
    }
    match &found.job {
        JobState::Found(_) => Decision::Observe,
        JobState::Foreign => Decision::Conflict,
        JobState::Missing if was_created(found) => Decision::Lost,
        JobState::Missing if found.spec.suspend => Decision::Suspended,
        JobState::Missing => match run.not_before.as_ref().map(|time| time.0.duration_since(now)) {
            Some(left) if left.is_positive() => Decision::Nothing(Some(left.unsigned_abs())),
            _ => Decision::Start,
        },
    }
}

fn after_end(found: &Found, run: &ImportRun, settings: &ArtifactSettings) -> Decision {
    // Not by the reference in the status: the write after the Job's creation may have failed.
    if !run.workspace_deleted && !settings.keep_workspace {
        return Decision::DeleteWorkspace;
    }
    if found.status.observed_generation != Some(found.generation()) {
        return Decision::Advance;
    }
    let ready = find(&found.status.conditions, READY).map(|ready| ready.reason.as_str());
    match found.job {
        JobState::Missing if ready == Some(reasons::SUCCEEDED) => Decision::Complete,
        _ => Decision::Nothing(None),
    }
}

/// Whether the status says that the Job of the current attempt was created.
fn was_created(found: &Found) -> bool {
    let job = found.status.job_ref.as_ref();
    job.is_some_and(|job| job.name == found.job_name())
}

fn first_run(found: &Found) -> ImportRun {
    ImportRun {
        generation: found.generation(),
        input: Some(found.input()),
        attempt: 1,
        first_attempt: 1,
        retry: found.retry().map(str::to_owned),
        not_before: None,
        workspace_deleted: false,
    }
}

/// The run with another attempt, after one has failed; `None`: that was the last.
pub(super) fn next_attempt(run: &ImportRun, now: Timestamp) -> Option<ImportRun> {
    let made = run.attempt.saturating_sub(run.first_attempt).saturating_add(1);
    if made >= MAX_ATTEMPTS {
        return None;
    }
    let doublings = u32::try_from(made - 1).unwrap_or(0);
    let delay = FIRST_DELAY.saturating_mul(2i32.saturating_pow(doublings));
    Some(ImportRun {
        attempt: run.attempt + 1,
        not_before: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now + delay)),
        ..run.clone()
    })
}
