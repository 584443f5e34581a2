//! Computes the status from the applied step, and writes it with one patch.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::api::ObjectMeta;
use solar_render::report::Outcome;

use super::Context;
use super::apply::{Applied, Done};
use super::dereference::Found;
use crate::api::{Run, Task, TaskStatus};
use crate::jobs::conditions::{Reason, State, kinds};
use crate::jobs::observe::{Observation, ended};
use crate::runtime::Error;
use crate::runtime::Key;
use crate::runtime::conditions::{find, is, merge, not_ready};
use crate::runtime::status;
use crate::runtime::views::MetadataOnly;

/// The printer column of a task of unknown state.
const UNKNOWN: &str = "Unknown";

/// The next status. Pure.
pub(super) fn next(task: &Task, applied: &Applied, now: Timestamp) -> TaskStatus {
    let mut status = following(task, applied, now);
    spec_changed(task, &mut status, now);
    status
}

fn following(task: &Task, applied: &Applied, now: Timestamp) -> TaskStatus {
    let mut status = task.known();
    match &applied.done {
        Done::Nothing => {
            recovered(&mut status, now);
            return status;
        }
        Done::CleanedUp { .. } => status.config_secret_ref = None,
        Done::FinalizedWithoutDigest => {
            status.config_secret_ref = None;
            let state = settled(&status);
            if matches!(state, State::Succeeded { .. }) {
                status.chart_url = Some(task.spec.chart_url());
            }
            status.completion_time.get_or_insert(Time(now));
            set_state(task, &mut status, &state, now);
        }
        Done::Blocked { run, blocked } => {
            begin(&mut status, run);
            status.job_ref = None;
            let state = State::NotScheduled {
                reason: blocked.reason,
                message: blocked.message.clone(),
            };
            set_state(task, &mut status, &state, now);
        }
        Done::Failed { run, reason, message } => {
            status.run = Some(run.clone());
            status.completion_time = Some(Time(now));
            let state = State::Failed {
                reason: *reason,
                message: message.clone(),
            };
            set_state(task, &mut status, &state, now);
        }
        Done::Observed {
            run,
            observation,
            job,
            secret,
        } => {
            begin(&mut status, run);
            status.job_ref = Some(job.clone());
            status.config_secret_ref.clone_from(secret);
            observed(task, &mut status, observation, now);
        }
    }
    status
}

/// The final state of a deleted Job whose pod exited with 0.
fn settled(status: &TaskStatus) -> State {
    let outcome = status.outcome.map_or("done", Outcome::as_str);
    match &status.digest {
        Some(digest) => State::Succeeded {
            message: format!("{outcome}: {digest}"),
        },
        None => State::WithoutDigest,
    }
}

/// Clears the error of a task that was Stalled: Ready follows from JobScheduled again.
fn recovered(status: &mut TaskStatus, now: Timestamp) {
    let failed = |one: &Condition| one.reason == Reason::ReconcileFailed.as_str();
    status
        .conditions
        .retain(|one| one.type_ != kinds::STALLED || !failed(one));
    let scheduled = find(&status.conditions, kinds::JOB_SCHEDULED).cloned();
    let ready = status.conditions.iter_mut().find(|one| one.type_ == kinds::READY);
    let Some(ready) = ready.filter(|one| failed(one)) else {
        return;
    };
    let (reason, message) = scheduled.map_or_else(
        || {
            (
                Reason::DoesNotExist.as_str().to_owned(),
                "there is no Job yet".to_owned(),
            )
        },
        |one| (one.reason, one.message),
    );
    *ready = Condition {
        status: "Unknown".to_owned(),
        reason,
        message,
        last_transition_time: Time(now),
        ..ready.clone()
    };
}

/// The CRD makes specs immutable. With an older or edited CRD, the result of the Job is not reported for a spec that it
/// was not created from.
fn spec_changed(task: &Task, status: &mut TaskStatus, now: Timestamp) {
    let (made, generation) = (
        status.run.as_ref().and_then(|run| run.generation),
        task.metadata.generation,
    );
    let (Some(made), Some(generation), Some(_)) = (made, generation, &status.job_ref) else {
        return;
    };
    if made == generation || awaits_digest(status) {
        return;
    }
    let message = format!(
        "the spec has changed since the Job was made: this status is of generation {made}, not of {generation}; \
        make another task"
    );
    for condition in &mut status.conditions {
        condition.observed_generation = Some(made);
    }
    let before = task.known().conditions;
    set_not_ready(task, status, &before, (Reason::SpecChanged, &message), now);
    status.observed_generation = Some(generation);
    status.state = Some(Reason::SpecChanged.as_str().to_owned());
}

/// Whether its digest is still awaited, according to Ready.
fn awaits_digest(status: &TaskStatus) -> bool {
    is(&status.conditions, kinds::JOB_SUCCEEDED, "True") && is(&status.conditions, kinds::READY, "Unknown")
}

/// Sets Ready and Stalled; other conditions are kept. `before`: the previous conditions, for their timestamps.
fn set_not_ready(
    task: &Task,
    status: &mut TaskStatus,
    before: &[Condition],
    (reason, message): (Reason, &str),
    now: Timestamp,
) {
    let new = merge(
        before,
        &not_ready(reason.as_str(), message),
        task.metadata.generation,
        now,
    );
    status.conditions.retain(|old| find(&new, &old.type_).is_none());
    status.conditions.extend(new);
}

/// Clears the result of an earlier run.
fn begin(status: &mut TaskStatus, run: &Run) {
    status.run = Some(run.clone());
    status.digest = None;
    status.outcome = None;
    status.chart_url = None;
    status.start_time = None;
    status.completion_time = None;
}

fn observed(task: &Task, status: &mut TaskStatus, observation: &Observation, now: Timestamp) {
    let Observation {
        state,
        digest,
        outcome,
        attempts,
        started,
        completed,
        requeue: _,
        reported: _,
    } = observation;
    status.digest.clone_from(digest);
    status.outcome = *outcome;
    status.attempts.clone_from(attempts);
    status.start_time = started.map(Time);
    status.completion_time = completed.map(Time);
    if matches!(state, Some(State::Succeeded { .. })) {
        status.chart_url = Some(task.spec.chart_url());
    }
    match state {
        Some(state) => set_state(task, status, state, now),
        // It isn't known yet how this run ended; the last run's end is obsolete.
        None if ended(&status.conditions).is_some() => {
            let message = "the Job has ended; waiting for its pods' results".to_owned();
            set_state(task, status, &State::Scheduled { message }, now);
        }
        None => recovered(status, now),
    }
}

fn set_state(task: &Task, status: &mut TaskStatus, state: &State, now: Timestamp) {
    status.observed_generation = task.metadata.generation;
    status.conditions = merge(
        &status.conditions,
        &state.findings(),
        task.metadata.generation,
        now,
    );
    status.state = Some(state.summary().to_owned());
}

/// Writes the status if it differs. A write of another client in the meantime, such as a newer leader, is not
/// overwritten. Returns the task's metadata after the write; `None`: there was nothing to write.
pub(super) async fn patch(
    context: &Context,
    found: &Found,
    next: &TaskStatus,
) -> Result<Option<ObjectMeta>, Error> {
    let version = found.task.metadata.resource_version.as_deref();
    status::patch(&context.cx, &found.key, version, &found.task.known(), next).await
}

/// Reports a task that can't be decoded as failed. This only needs its metadata.
pub(super) async fn unreadable(context: &Context, key: &Key, error: &serde_json::Error) -> Result<(), Error> {
    let head = context.cx.api::<MetadataOnly>(key).get_opt(&key.name).await;
    let Some(head) = head.map_err(Error::api("reading the task's metadata"))? else {
        return Ok(());
    };
    let (generation, now) = (head.metadata.generation, context.now());
    let state = State::Failed {
        reason: Reason::ConfigInvalid,
        message: format!("the task can't be decoded, maybe its CRD is of another version: {error}"),
    };
    let status = TaskStatus {
        observed_generation: generation,
        state: Some(state.summary().to_owned()),
        conditions: merge(&[], &state.findings(), generation, now),
        completion_time: Some(Time(now)),
        ..TaskStatus::default()
    };
    let version = head.metadata.resource_version.as_deref();
    let written = status::write(&context.cx, key, version, &serde_json::to_value(status)?).await;
    written.map(|_| ())
}

/// Sets the condition Stalled, after too many consecutive errors. The next successful reconcile clears it, so none may
/// run meanwhile.
pub(crate) async fn stall(context: &Context, key: &Key, message: &str) -> Result<(), Error> {
    let task = context.task_api(key).get_opt(&key.name).await;
    let Some(task) = task.map_err(Error::api("reading the task"))? else {
        return Ok(());
    };
    let Some(status) = stalled(&task, message, context.now()) else {
        return Ok(());
    };
    let found = Found::of_task(key.clone(), task);
    patch(context, &found, &status).await.map(|_| ())
}

/// The status of a task that can't be reconciled. Pure. `None`: it has ended; or its Job has succeeded, and only the
/// digest is awaited, which has a timeout.
fn stalled(task: &Task, message: &str, now: Timestamp) -> Option<TaskStatus> {
    let mut status = task.known();
    if ended(&status.conditions).is_some() || awaits_digest(&status) {
        return None;
    }
    status.state.get_or_insert_with(|| UNKNOWN.to_owned());
    let before = status.conditions.clone();
    set_not_ready(
        task,
        &mut status,
        &before,
        (Reason::ReconcileFailed, message),
        now,
    );
    Some(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::conditions::Finding;

    /// Ready once continued to report errors that were over.
    #[test]
    fn errors_that_are_over_are_not_reported_any_more() {
        let now = Timestamp::UNIX_EPOCH;
        let failed = |kind, status| Finding {
            kind,
            status,
            reason: Reason::ReconcileFailed,
            message: "no answer".into(),
        };
        let stalled = [failed(kinds::READY, "False"), failed(kinds::STALLED, "True")];
        let running = State::Scheduled {
            message: "pods: 1 active".into(),
        };
        for (before, reason) in [(running.findings(), "JobScheduled"), (Vec::new(), "DoesNotExist")] {
            let scheduled = before.into_iter().filter(|one| one.kind == kinds::JOB_SCHEDULED);
            let findings: Vec<Finding> = scheduled.chain(stalled.clone()).collect();
            let mut status = TaskStatus {
                conditions: merge(&[], &findings, Some(1), now),
                ..TaskStatus::default()
            };
            recovered(&mut status, now);
            assert!(find(&status.conditions, kinds::STALLED).is_none());
            let ready = find(&status.conditions, kinds::READY).expect("it");
            assert_eq!(
                (ready.status.as_str(), ready.reason.as_str()),
                ("Unknown", reason)
            );
        }
    }

    fn known_as(state: &State, generation: i64) -> Task {
        let mut task = crate::tests::task();
        task.metadata.generation = Some(generation);
        task.status = Some(TaskStatus {
            observed_generation: Some(1),
            conditions: merge(&[], &state.findings(), Some(1), Timestamp::UNIX_EPOCH),
            state: Some(state.summary().to_owned()),
            job_ref: Some(crate::api::OwnedReference {
                namespace: "tenant".into(),
                name: "render-shop".into(),
                uid: "job-1".into(),
            }),
            digest: Some("sha256:1".into()),
            run: Some(Run {
                generation: Some(1),
                ..Run::default()
            }),
            ..TaskStatus::default()
        });
        task
    }

    fn after(task: &Task, second: i64) -> TaskStatus {
        let applied = Applied {
            done: Done::Nothing,
            created_job: false,
            refused: None,
            requeue: None,
        };
        next(task, &applied, Timestamp::from_second(second).expect("a time"))
    }

    /// Such a Job was once counted as lost, and after three of them the task failed.
    #[test]
    fn a_deleted_job_whose_pod_exited_with_0_is_a_success() {
        let running = State::Scheduled {
            message: "pods: 0 active".into(),
        };
        for (digest, ready) in [(Some("sha256:1"), "True"), (None, "False")] {
            let mut task = known_as(&running, 1);
            let known = task.status.as_mut().expect("a status");
            known.digest = digest.map(str::to_owned);
            known.attempts = vec![crate::api::Attempt {
                job_name: "render-shop".into(),
                pod_name: "p".into(),
                pod_uid: "pod-1".into(),
                started: None,
                finished: None,
                exit_code: Some(0),
                class: "created".into(),
                message: String::new(),
            }];
            let decision =
                crate::controllers::rendertask::decide::decide(&task, None, None, Timestamp::UNIX_EPOCH);
            assert_eq!(
                decision,
                crate::controllers::rendertask::decide::Decision::FinalizeWithoutDigest
            );
            let applied = Applied {
                done: Done::FinalizedWithoutDigest,
                created_job: false,
                refused: None,
                requeue: None,
            };
            let status = next(&task, &applied, Timestamp::UNIX_EPOCH);
            assert!(is(&status.conditions, kinds::JOB_SUCCEEDED, "True"), "{status:?}");
            assert!(is(&status.conditions, kinds::READY, ready), "{status:?}");
            assert_eq!(status.chart_url.is_some(), digest.is_some());
            assert_eq!(status.digest.as_deref(), digest);
        }
    }

    fn succeeded() -> State {
        State::Succeeded {
            message: "done".into(),
        }
    }

    /// The digest of the previous spec was once kept silently.
    #[test]
    fn the_result_of_a_job_is_not_reported_for_a_spec_that_it_was_not_made_from() {
        let mut changed = known_as(&succeeded(), 2);
        let status = after(&changed, 5);
        let of = |kind| find(&status.conditions, kind).expect("it");
        let (ready, stalled) = (of(kinds::READY), of(kinds::STALLED));
        assert_eq!(
            (
                ready.status.as_str(),
                ready.reason.as_str(),
                stalled.status.as_str()
            ),
            ("False", "SpecChanged", "True")
        );
        assert!(ready.message.contains("of generation 1, not of 2"), "{ready:?}");
        assert_eq!(of(kinds::JOB_SUCCEEDED).observed_generation, Some(1));
        assert_eq!(
            (status.state.as_deref(), status.observed_generation),
            (Some("SpecChanged"), Some(2))
        );
        // It is written only once.
        changed.status = Some(status.clone());
        assert_eq!(after(&changed, 9), status);
        let same = known_as(&succeeded(), 1);
        assert_eq!(after(&same, 5), same.known());
        // While a digest is awaited, that is reported first.
        let awaits = known_as(&State::AwaitingDigest, 2);
        assert_eq!(after(&awaits, 5), awaits.known());
    }

    #[test]
    fn only_unfinished_tasks_become_stalled() {
        let failed = State::Failed {
            reason: Reason::Conflict,
            message: "there".into(),
        };
        let running = State::Scheduled {
            message: "pods: 1 active".into(),
        };
        let table = [
            (succeeded(), false),
            (State::AwaitingDigest, false),
            (State::WithoutDigest, false),
            (failed, false),
            (running, true),
        ];
        for (state, stalls) in table {
            let task = known_as(&state, 1);
            let status = stalled(&task, "no answer", Timestamp::UNIX_EPOCH);
            assert_eq!(status.is_some(), stalls, "{state:?}");
            if let Some(status) = status {
                assert!(is(&status.conditions, kinds::STALLED, "True"));
                assert!(is(&status.conditions, kinds::JOB_SCHEDULED, "True"), "that stays");
                assert_eq!(status.state.as_deref(), Some("JobScheduled"));
            }
        }
        let new = stalled(&crate::tests::task(), "no answer", Timestamp::UNIX_EPOCH);
        let new = new.expect("a status");
        assert_eq!(new.state.as_deref(), Some("Unknown"));
    }

    /// Run 1 had failed; how run 2 ended is not known yet.
    #[test]
    fn the_failure_of_the_last_run_is_not_reported_for_this_one() {
        let failed = State::Failed {
            reason: Reason::Conflict,
            message: "there".into(),
        };
        let mut status = TaskStatus {
            conditions: merge(&[], &failed.findings(), Some(1), Timestamp::UNIX_EPOCH),
            ..TaskStatus::default()
        };
        let observation = Observation {
            state: None,
            digest: None,
            outcome: None,
            reported: crate::jobs::observe::Reported::default(),
            attempts: Vec::new(),
            started: None,
            completed: None,
            requeue: None,
        };
        let task = crate::tests::task();
        observed(&task, &mut status, &observation, Timestamp::UNIX_EPOCH);
        assert_eq!(ended(&status.conditions), None);
        assert_eq!(status.state.as_deref(), Some("JobScheduled"));
    }
}
