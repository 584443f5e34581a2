//! The fields of a Job and of its pods that are kept: small enough for thousands of them.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::JobStatus;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, PodStatus};

use super::partial::{PartialJob, PartialPod};
use super::pod::CONTAINER;
use crate::runtime::conditions::cut;

/// The kubelet's limit for a termination message, in bytes.
const MAX_TERMINATION_MESSAGE: usize = 4096;
/// The maximum length of the text about what a pod waits for, in bytes.
const MAX_WAITING: usize = 512;
/// How much is kept of the end of a failed init container's message, in bytes.
const MAX_INIT_MESSAGE: usize = 400;

/// A Job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSnapshot {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its creation time.
    pub created: Option<Timestamp>,
    /// It is being deleted.
    pub deleting: bool,
    /// Pods that are pending or running.
    pub active: i32,
    /// Pods that have succeeded.
    pub succeeded: i32,
    /// Pods that have failed.
    pub failed: i32,
    /// When it was started.
    pub started: Option<Timestamp>,
    /// How it ended, if it has.
    pub end: Option<JobEnd>,
    /// Why the Job controller can't create a pod, if the events were read.
    pub refusal: Option<String>,
    /// `spec.suspend`: it makes no pods.
    pub suspended: bool,
}

/// The Job's condition Complete or Failed.
#[derive(Debug, Clone, PartialEq)]
pub struct JobEnd {
    /// Complete; otherwise Failed.
    pub complete: bool,
    /// The condition's reason.
    pub reason: String,
    /// The condition's message.
    pub message: String,
    /// Since when.
    pub at: Option<Timestamp>,
}

/// A pod.
#[derive(Debug, Clone, PartialEq)]
pub struct PodSnapshot {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// The UID of the Job it belongs to.
    pub job_uid: String,
    /// Its creation time.
    pub created: Option<Timestamp>,
    /// How it ended, if it has.
    pub end: Option<PodEnd>,
    /// What it waits for, if that may not pass by itself; for a pod that never ran, what it waited for last.
    pub waiting: Option<String>,
    /// Whether the container runs or ran, or an init container has failed.
    pub ran: bool,
    /// It is being deleted.
    pub deleting: bool,
}

/// The end of a pod.
#[derive(Debug, Clone, PartialEq)]
pub struct PodEnd {
    /// When the container was started; `None` if it never was.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// The exit code; `None` if the container never ran: an init container's codes are not the renderer's.
    pub exit_code: Option<i32>,
    /// The reason: `Completed`, `Error`, `OOMKilled`, `Evicted` …
    pub reason: String,
    /// The container's termination message, or else the kubelet's message.
    pub message: String,
}

impl JobSnapshot {
    /// Whether it creates pods: not if it has finished, is suspended, or is only kept by a finalizer.
    pub fn runs(&self) -> bool {
        self.end.is_none() && !self.suspended && !self.deleting
    }
}

impl From<&PartialJob> for JobSnapshot {
    fn from(job: &PartialJob) -> Self {
        let parts = job.view();
        let status = parts.and_then(|parts| parts.status.as_ref());
        let count = |pick: fn(&JobStatus) -> Option<i32>| status.and_then(pick).unwrap_or(0);
        Self {
            namespace: job.namespace().to_owned(),
            name: job.name().name,
            uid: job.uid().to_owned(),
            created: job.metadata.creation_timestamp.as_ref().map(|time| time.0),
            deleting: job.metadata.deletion_timestamp.is_some(),
            active: count(|status| status.active),
            succeeded: count(|status| status.succeeded),
            failed: count(|status| status.failed),
            started: status
                .and_then(|status| status.start_time.as_ref())
                .map(|time| time.0),
            end: status.and_then(job_end),
            refusal: None,
            suspended: parts.and_then(|parts| parts.spec.suspend).unwrap_or(false),
        }
    }
}

fn job_end(status: &JobStatus) -> Option<JobEnd> {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let condition = conditions
        .iter()
        .find(|one| one.status == "True" && matches!(one.type_.as_str(), "Complete" | "Failed"))?;
    let complete = condition.type_ == "Complete";
    let completed = status.completion_time.as_ref().filter(|_| complete);
    Some(JobEnd {
        complete,
        reason: condition.reason.clone().unwrap_or_default(),
        message: condition.message.clone().unwrap_or_default(),
        at: completed
            .or(condition.last_transition_time.as_ref())
            .map(|time| time.0),
    })
}

impl From<&PartialPod> for PodSnapshot {
    fn from(pod: &PartialPod) -> Self {
        let owners = pod.metadata.owner_references.iter().flatten();
        let job = owners
            .into_iter()
            .find(|owner| owner.kind == "Job" && owner.controller == Some(true));
        let status = pod.view().and_then(|parts| parts.status.as_ref());
        let container = status.and_then(container_status);
        let end = status.and_then(|status| pod_end(status, container));
        Self {
            namespace: pod.namespace().to_owned(),
            name: pod.name().name,
            uid: pod.uid().to_owned(),
            job_uid: job.map(|owner| owner.uid.clone()).unwrap_or_default(),
            created: pod.metadata.creation_timestamp.as_ref().map(|time| time.0),
            waiting: if end.is_some() {
                None
            } else {
                status.and_then(|status| waiting(status, container))
            },
            ran: container
                .and_then(|container| container.state.as_ref())
                .is_some_and(has_run)
                || status.and_then(failed_init_container).is_some(),
            deleting: pod.metadata.deletion_timestamp.is_some(),
            end,
        }
    }
}

impl PodSnapshot {
    /// Keeps from an older view what a terminating pod no longer reports.
    pub fn after(&mut self, old: &Self) {
        if !self.ran && self.waiting.is_none() && (self.deleting || self.end.is_some()) {
            self.waiting.clone_from(&old.waiting);
        }
    }

    /// The pod was deleted. If its end was never seen, this is its end.
    pub fn deleted(&mut self) {
        self.end.get_or_insert_with(|| PodEnd {
            started: None,
            finished: None,
            exit_code: None,
            reason: "Deleted".to_owned(),
            message: String::new(),
        });
    }
}

fn has_run(state: &ContainerState) -> bool {
    let ended = state
        .terminated
        .as_ref()
        .is_some_and(|end| end.started_at.is_some());
    state.running.is_some() || ended
}

/// The renderer's container; other controllers may have injected more.
fn container_status(status: &PodStatus) -> Option<&ContainerStatus> {
    let all = status.container_statuses.as_deref().unwrap_or_default();
    all.iter().find(|one| one.name == CONTAINER).or(all.first())
}

/// The init container that has failed, after which no other container starts.
fn failed_init_container(status: &PodStatus) -> Option<(&str, &ContainerStateTerminated)> {
    let all = status.init_container_statuses.as_deref().unwrap_or_default();
    all.iter().find_map(|one| {
        let terminated = one.state.as_ref()?.terminated.as_ref()?;
        (terminated.exit_code != 0).then_some((one.name.as_str(), terminated))
    })
}

/// The end of a pod whose container was never started, because of an init container.
fn init_end(status: &PodStatus) -> Option<PodEnd> {
    let (name, end) = failed_init_container(status)?;
    let message = end.message.as_deref().unwrap_or("").trim();
    // An error is what a program writes last.
    let from = message.ceil_char_boundary(message.len().saturating_sub(MAX_INIT_MESSAGE));
    let last = message.get(from..).unwrap_or("");
    let code = end.exit_code;
    Some(PodEnd {
        started: end.started_at.as_ref().map(|time| time.0),
        finished: end.finished_at.as_ref().map(|time| time.0),
        exit_code: None,
        reason: end.reason.clone().unwrap_or_default(),
        message: format!("the init container {name} ended with exit code {code}: {last}"),
    })
}

/// A terminated container is the pod's end, whatever the phase: the phase follows two seconds later, and containers are
/// never restarted.
fn pod_end(status: &PodStatus, container: Option<&ContainerStatus>) -> Option<PodEnd> {
    let terminated = container
        .and_then(|container| container.state.as_ref())
        .and_then(|state| state.terminated.as_ref());
    if let Some(end) = terminated {
        return Some(PodEnd {
            started: end.started_at.as_ref().map(|time| time.0),
            finished: end.finished_at.as_ref().map(|time| time.0),
            exit_code: Some(end.exit_code),
            reason: status
                .reason
                .clone()
                .or_else(|| end.reason.clone())
                .unwrap_or_default(),
            message: cut(end.message.as_deref().unwrap_or(""), MAX_TERMINATION_MESSAGE),
        });
    }
    let has_ended = matches!(status.phase.as_deref(), Some("Failed" | "Succeeded"));
    if let Some(end) = init_end(status).filter(|_| has_ended) {
        return Some(end);
    }
    // It was evicted, or its node was lost, before the container ended.
    has_ended.then(|| {
        let conditions = status.conditions.as_deref().unwrap_or_default();
        let disruption = conditions
            .iter()
            .find(|one| one.type_ == "DisruptionTarget" && one.status == "True");
        PodEnd {
            started: status.start_time.as_ref().map(|time| time.0),
            finished: disruption
                .and_then(|one| one.last_transition_time.as_ref())
                .map(|time| time.0),
            exit_code: None,
            reason: status
                .reason
                .clone()
                .or_else(|| disruption.map(|_| "Evicted".to_owned()))
                .unwrap_or_default(),
            message: cut(
                status
                    .message
                    .as_deref()
                    .or(disruption.and_then(|one| one.message.as_deref()))
                    .unwrap_or(""),
                MAX_TERMINATION_MESSAGE,
            ),
        }
    })
}

fn waiting(status: &PodStatus, container: Option<&ContainerStatus>) -> Option<String> {
    let inits = status.init_container_statuses.iter().flatten();
    for one in container.into_iter().chain(inits) {
        let state = one.state.as_ref().and_then(|state| state.waiting.as_ref());
        let Some(waiting) = state else { continue };
        let reason = waiting.reason.as_deref().unwrap_or("");
        if !matches!(reason, "" | "ContainerCreating" | "PodInitializing") {
            return Some(waiting_message(reason, waiting.message.as_deref()));
        }
    }
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let scheduled = conditions
        .iter()
        .find(|one| one.type_ == "PodScheduled" && one.status == "False")?;
    Some(waiting_message(
        scheduled.reason.as_deref().unwrap_or("not scheduled"),
        scheduled.message.as_deref(),
    ))
}

fn waiting_message(reason: &str, message: Option<&str>) -> String {
    let text = match message {
        Some(message) if !message.is_empty() => format!("{reason}: {message}"),
        _ => reason.to_owned(),
    };
    cut(&text, MAX_WAITING)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(phase: &str, init: &Value) -> PodSnapshot {
        let renderer = json!({"waiting": {"reason": "PodInitializing"}});
        let container = |name: &str, state: &Value| json!({"name": name, "image": "x", "imageID": "", "ready": false, "restartCount": 0, "state": state});
        let object = json!({
            "metadata": {"name": "tiny-x", "namespace": "tenant", "uid": "pod-1"},
            "status": {
                "phase": phase,
                "initContainerStatuses": [
                    container("import", &json!({"terminated": {"exitCode": 0, "reason": "Completed"}})),
                    container("push", init),
                ],
                "containerStatuses": [container("renderer", &renderer)],
            },
        });
        let pod: PartialPod = serde_json::from_value(object).expect("a pod");
        PodSnapshot::from(&pod)
    }

    /// It once had neither a message nor anything else that says why.
    #[test]
    fn the_end_of_a_pod_by_an_init_container_has_its_last_words_and_not_its_exit_code() {
        let log = format!("{}\nError: 401 unauthorized\n", "é".repeat(1000));
        let state = json!({"terminated": {"exitCode": 1, "reason": "Error", "message": log,
            "finishedAt": "2026-01-01T00:00:00Z"}});
        let end = pod("Failed", &state).end.expect("its end");
        assert_eq!((end.exit_code, end.reason.as_str()), (None, "Error"));
        assert!(end.finished.is_some());
        let PodEnd { message, .. } = end;
        assert!(
            message.starts_with("the init container push ended with exit code 1: é"),
            "{message}"
        );
        assert!(message.ends_with("Error: 401 unauthorized"), "{message}");
        assert!(message.len() < 2 * MAX_INIT_MESSAGE, "{}", message.len());
        assert_eq!(pod("Pending", &json!({"running": {}})).end, None);
    }

    #[test]
    fn a_pod_waits_for_what_its_init_containers_wait_for() {
        let state = json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}});
        let waiting = pod("Pending", &state).waiting;
        assert_eq!(waiting.as_deref(), Some("ImagePullBackOff: no such image"));
        let state = json!({"waiting": {"reason": "PodInitializing"}});
        assert_eq!(pod("Pending", &state).waiting, None);
    }
}
