//! The state and result of a Job: a pure function of the Job, its pods, the previous status, and the time.
//!
//! It is independent of tasks: every controller that runs a Job with one container reads its result here. No client, no
//! clock.

mod termination_message;

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use solar_render::report::Outcome;

use crate::api::{Attempt, MAX_ATTEMPTS};
use crate::jobs::conditions::{Reason, State, kinds};
use crate::runtime::conditions::{self, cut};
pub use termination_message::Reported;
use termination_message::TerminationMessage;

use super::snapshot::{JobEnd, JobSnapshot, PodEnd, PodSnapshot};

/// How often a complete Job is reconciled while its digest is awaited.
pub const DIGEST_INTERVAL: Duration = Duration::from_secs(10);
/// How long after its completion a Job's digest is awaited.
pub const DIGEST_TIMEOUT: SignedDuration = SignedDuration::from_secs(60);
/// How often a failed Job is reconciled while none of its pods has been seen to end.
pub const POD_INTERVAL: Duration = Duration::from_secs(1);
/// How long after its failure a Job's pods are awaited.
pub const POD_TIMEOUT: SignedDuration = SignedDuration::from_secs(10);
/// The Job controller's reason for a Job that exceeded its deadline.
const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";
/// How often a task is reconciled whose Job has no pods yet.
pub const NO_POD_INTERVAL: Duration = Duration::from_secs(10);
/// How often a task is reconciled whose Job's pods don't start: a Secret that they need may have been deleted.
pub const NO_START_INTERVAL: Duration = Duration::from_secs(30);
/// How old a pod is before the message says that it has not started.
const SLOW_START: SignedDuration = SignedDuration::from_secs(20);
/// The maximum length of an attempt's message, in bytes.
const MAX_ATTEMPT_MESSAGE: usize = 512;

/// The parts of the previous status that are used.
#[derive(Debug, Clone, Copy, Default)]
pub struct Previous<'a> {
    /// Its conditions.
    pub conditions: &'a [Condition],
    /// The finished pods.
    pub attempts: &'a [Attempt],
    /// The digest that was reported.
    pub digest: Option<&'a str>,
    /// The outcome that was reported.
    pub outcome: Option<Outcome>,
}

/// The state and result of a Job.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Its state; the conditions follow from it. `None`: nothing is new, and the previous state is kept.
    pub state: Option<State>,
    /// The digest that was reported.
    pub digest: Option<String>,
    /// The outcome that was reported.
    pub outcome: Option<Outcome>,
    /// What else an import has reported.
    pub reported: Reported,
    /// The finished pods, oldest first.
    pub attempts: Vec<Attempt>,
    /// When the Job was started.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub completed: Option<Timestamp>,
    /// When to reconcile again, unless a change does so earlier.
    pub requeue: Option<Duration>,
}

/// Observes a Job and those of `pods` that belong to it.
pub fn observe(
    job: Option<&JobSnapshot>,
    pods: &[PodSnapshot],
    previous: Previous<'_>,
    now: Timestamp,
) -> Observation {
    let Some(job) = job else {
        return without_job(previous);
    };
    // A UID alone is not enough: pods of other namespaces can name it.
    let own = |pod: &&PodSnapshot| pod.job_uid == job.uid && pod.namespace == job.namespace;
    let pods: Vec<&PodSnapshot> = pods.iter().filter(own).collect();
    let attempts = attempts(job, &pods, previous.attempts);
    let winner = winner(&pods);
    let digest = winner
        .as_ref()
        .and_then(|result| result.digest.as_ref())
        .map(ToString::to_string);
    let mut observation = Observation {
        state: None,
        digest: digest.or_else(|| previous.digest.map(str::to_owned)),
        outcome: winner
            .as_ref()
            .and_then(|result| result.outcome)
            .or(previous.outcome),
        reported: winner
            .as_ref()
            .map(|result| result.reported.clone())
            .unwrap_or_default(),
        attempts,
        started: job.started,
        completed: None,
        requeue: None,
    };
    match &job.end {
        None => running(job, &pods, &mut observation, now),
        Some(end) if end.complete => complete(end, winner.as_ref(), &mut observation, now),
        Some(end) => failed(job, end, &pods, &mut observation, now),
    }
    observation
}

/// Whether and how a Job finished, according to the conditions.
pub fn ended(conditions: &[Condition]) -> Option<Ended<'_>> {
    if let Some(failure) = conditions::find(conditions, kinds::JOB_FAILED)
        && failure.status == "True"
    {
        return Some(Ended::Failed(&failure.reason));
    }
    let succeeded = conditions::is(conditions, kinds::JOB_SUCCEEDED, "True");
    // Its digest may still arrive.
    let settled = !conditions::is(conditions, kinds::READY, "Unknown");
    (succeeded && settled).then_some(Ended::Succeeded)
}

/// How a Job finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended<'a> {
    /// Successfully, possibly without a digest.
    Succeeded,
    /// It failed, for this reason.
    Failed(&'a str),
}

fn without_job(previous: Previous<'_>) -> Observation {
    let state = match ended(previous.conditions) {
        Some(_) => None,
        None => Some(State::NotScheduled {
            reason: Reason::DoesNotExist,
            message: "there is no Job yet".to_owned(),
        }),
    };
    Observation {
        state,
        digest: previous.digest.map(str::to_owned),
        outcome: previous.outcome,
        reported: Reported::default(),
        attempts: previous.attempts.to_vec(),
        started: None,
        completed: None,
        requeue: None,
    }
}

fn running(job: &JobSnapshot, pods: &[&PodSnapshot], observation: &mut Observation, now: Timestamp) {
    let JobSnapshot {
        active,
        succeeded,
        failed,
        ..
    } = job;
    let mut message = format!("pods: {active} active, {succeeded} succeeded, {failed} failed");
    let waiting = pods
        .iter()
        .filter(|pod| pod.end.is_none())
        .find_map(|pod| pod.waiting.as_ref().map(|reason| (&pod.name, reason)));
    if let Some((name, reason)) = waiting {
        message.push_str(&format!("; {name} waits: {reason}"));
    } else if job.deleting {
        message.push_str("; the Job is being deleted");
    } else if job.suspended {
        message.push_str("; the Job is suspended");
    } else if let Some(refusal) = &job.refusal {
        message.push_str(&format!("; no pod can be made: {refusal}"));
    } else if let Some(pod) = pods.iter().find(|pod| starts_slowly(pod, now)) {
        message.push_str(&format!("; {} has not started yet", pod.name));
    }
    if job.deleting || (pods.iter().all(|pod| pod.end.is_some()) && *succeeded == 0) {
        observation.requeue = Some(NO_POD_INTERVAL);
    } else if !pods.iter().any(|pod| pod.ran) {
        observation.requeue = Some(NO_START_INTERVAL);
    }
    observation.state = Some(State::Scheduled { message });
}

/// A kubelet that pulls an image or waits for a volume only reports ContainerCreating.
fn starts_slowly(pod: &PodSnapshot, now: Timestamp) -> bool {
    let age = pod.created.map(|created| now.duration_since(created));
    pod.end.is_none() && !pod.ran && age.is_some_and(|age| age >= SLOW_START)
}

fn complete(
    end: &JobEnd,
    winner: Option<&TerminationMessage>,
    observation: &mut Observation,
    now: Timestamp,
) {
    observation.completed = end.at;
    let Some(digest) = &observation.digest else {
        let since = end.at.map_or(SignedDuration::ZERO, |at| now.duration_since(at));
        if since < DIGEST_TIMEOUT {
            observation.state = Some(State::AwaitingDigest);
            observation.requeue = Some(DIGEST_INTERVAL);
        } else {
            observation.state = Some(State::WithoutDigest);
        }
        return;
    };
    let outcome = observation.outcome.map_or("done", Outcome::as_str);
    let signed = winner
        .and_then(|result| result.signature)
        .map_or("", |signature| match signature {
            Outcome::Signed => ", signed",
            _ => ", signed before",
        });
    let mut message = format!("{outcome}{signed}: {digest}");
    if let Some(rendered) = winner.and_then(|result| result.rendered.as_ref()) {
        message.push_str(&format!(
            "; it was there before, and this config renders {rendered}"
        ));
    }
    observation.state = Some(State::Succeeded { message });
}

fn failed(
    job: &JobSnapshot,
    end: &JobEnd,
    pods: &[&PodSnapshot],
    observation: &mut Observation,
    now: Timestamp,
) {
    // A node's clock may be behind the API server's: times are only compared for deleted pods.
    let of_this_job = |attempt: &&Attempt| {
        let finished = attempt.finished.as_ref().map(|time| time.0);
        let since = finished.is_none() || finished >= job.created;
        pods.iter().any(|pod| pod.uid == attempt.pod_uid) || (attempt.job_name == job.name && since)
    };
    let last = observation.attempts.iter().rev().find(of_this_job);
    // The two times may be of different clocks: a large difference doesn't make the task wait.
    let since = end
        .at
        .map_or(SignedDuration::ZERO, |at| now.duration_since(at).abs());
    if last.is_none() && job.failed > 0 && end.reason != DEADLINE_EXCEEDED && since < POD_TIMEOUT {
        // Pods have a watch of their own, which may be behind, and their messages say why.
        observation.requeue = Some(POD_INTERVAL);
        return;
    }
    observation.digest = None;
    observation.outcome = None;
    observation.completed = Some(end.at.unwrap_or(now));
    let reason = failure_reason(end, last);
    let mut message = match last {
        Some(attempt) if !attempt.message.is_empty() => attempt.message.clone(),
        Some(attempt) => format!("pod {} ended: {}", attempt.pod_name, how(attempt)),
        None => end.message.clone(),
    };
    if reason == Reason::DeadlineExceeded && message != end.message {
        message = format!("{}; {message}", end.message);
    }
    observation.state = Some(State::Failed { reason, message });
}

fn failure_reason(end: &JobEnd, last: Option<&Attempt>) -> Reason {
    if end.reason == DEADLINE_EXCEEDED {
        return Reason::DeadlineExceeded;
    }
    let by_class = last.and_then(|attempt| termination_message::reason_of_class(&attempt.class));
    let by_policy = || {
        let code = last.and_then(|attempt| attempt.exit_code);
        code.filter(|_| end.reason == "PodFailurePolicy")
            .and_then(termination_message::reason_of_exit_code)
    };
    by_class
        .or_else(by_policy)
        .unwrap_or(Reason::BackoffLimitExceeded)
}

fn how(attempt: &Attempt) -> String {
    match attempt.exit_code {
        Some(code) if attempt.class.is_empty() => format!("exit code {code}"),
        Some(code) => format!("exit code {code}, {}", attempt.class),
        None => attempt.class.clone(),
    }
}

/// The termination message of the pod that exited with 0.
fn winner(pods: &[&PodSnapshot]) -> Option<TerminationMessage> {
    let ends = pods.iter().filter_map(|pod| pod.end.as_ref());
    let good = ends
        .filter(|end| end.exit_code == Some(0))
        .max_by_key(|end| end.finished);
    good.map(|end| TerminationMessage::parse(&end.message))
}

/// The recorded attempts, and the pods that have ended since.
fn attempts(job: &JobSnapshot, pods: &[&PodSnapshot], known: &[Attempt]) -> Vec<Attempt> {
    let mut all: Vec<Attempt> = known.to_vec();
    let mut new: Vec<Attempt> = pods
        .iter()
        .filter_map(|pod| pod.end.as_ref().map(|end| attempt(job, pod, end)))
        .filter(|attempt| !known.iter().any(|old| old.pod_uid == attempt.pod_uid))
        .collect();
    new.sort_by(|one, other| {
        let key = |attempt: &Attempt| {
            (
                attempt.finished.as_ref().map(|time| time.0),
                attempt.pod_name.clone(),
            )
        };
        key(one).cmp(&key(other))
    });
    all.extend(new);
    let surplus = all.len().saturating_sub(MAX_ATTEMPTS);
    all.drain(..surplus);
    all
}

fn attempt(job: &JobSnapshot, pod: &PodSnapshot, end: &PodEnd) -> Attempt {
    let result = TerminationMessage::parse(&end.message);
    let message = match (&result.failure, result.outcome) {
        (Some(failure), _) => failure.message.as_str(),
        (None, Some(_)) => "",
        (None, None) => end.message.trim(),
    };
    // The kubelet's message for a container that never ran says less than what it waited for.
    let waited = pod
        .waiting
        .as_ref()
        .filter(|_| !pod.ran)
        .map(|reason| format!("waited: {reason}"));
    let message = waited.as_deref().unwrap_or(message);
    Attempt {
        job_name: job.name.clone(),
        pod_name: pod.name.clone(),
        pod_uid: pod.uid.clone(),
        started: end.started.map(Time),
        finished: end.finished.map(Time),
        exit_code: end.exit_code,
        class: termination_message::class(end, &result),
        message: cut(message, MAX_ATTEMPT_MESSAGE),
    }
}
