//! Reads everything that a decision needs.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Event, Secret};
use kube::Api;
use kube::api::ListParams;

use super::Context;
use super::subject::Subject;
use crate::api::{REGISTRY_HOST_ANNOTATION, Scope, Task};
use crate::controllers::rendertask::decide::reads_push_secret;
use crate::jobs::JobSettings;
use crate::jobs::index::FoundJob;
use crate::jobs::observe::{Ended, ended};
use crate::jobs::partial::{JOBS, PartialJob};
use crate::jobs::registry_access::has_ca_certificates;
use crate::jobs::snapshot::PodSnapshot;
use crate::names::is_name;
use crate::runtime::Key;
use crate::runtime::owned;
use crate::runtime::owned::is_owned_by;
use crate::runtime::{Error, api_message};

/// How old a Job without pods is before its events are read.
const NO_POD_DELAY: SignedDuration = SignedDuration::from_secs(5);

/// A task and the objects it refers to or owns.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) task: Task,
    /// Its Job, if it exists.
    pub(super) job: Option<FoundJob>,
    /// Whether a Job with its name has another owner.
    pub(super) foreign_job: bool,
    /// Its Job's pods.
    pub(super) pods: Vec<PodSnapshot>,
    /// The push Secret, if the decision depends on it.
    pub(super) push_secret: PushSecret,
    /// Whether the Secret with the signing key exists; true if the decision doesn't depend on it.
    pub(super) sign_key: bool,
    /// Whether the ConfigMap with CA certificates exists with its key; true if the decision doesn't depend on it.
    pub(super) ca_configmap: bool,
}

/// What the operator knows of a push Secret: never its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PushSecret {
    /// It was not read: no decision depends on it now.
    NotRead,
    /// It doesn't exist.
    Missing,
    /// It exists.
    Present {
        version: String,
        /// The registry host that it is annotated with.
        host: Option<String>,
    },
}

impl Found {
    /// A task whose objects were not read.
    pub(super) fn of_task(key: Key, task: Task) -> Self {
        Self {
            key,
            task,
            job: None,
            foreign_job: false,
            pods: Vec::new(),
            push_secret: PushSecret::NotRead,
            sign_key: true,
            ca_configmap: true,
        }
    }

    pub(super) fn subject<'a>(&'a self, settings: &'a JobSettings) -> Option<Subject<'a>> {
        Subject::new(Scope::of(self.key.kind), &self.task, settings)
    }

    pub(super) fn push_version(&self) -> Option<&str> {
        match &self.push_secret {
            PushSecret::Present { version, .. } => Some(version),
            _ => None,
        }
    }
}

/// Reads a task and its objects. `None`: the task doesn't exist, is being deleted, or isn't reconciled here; its
/// objects are garbage-collected by owner references.
pub(super) async fn dereference(context: &Context, key: &Key) -> Result<Option<Found>, Error> {
    if !context.cx.reconciles(key) {
        return Ok(None);
    }
    let task = context.task_api(key).get_opt(&key.name).await;
    let task = task.map_err(|error| match error {
        kube::Error::SerdeError(error) => Error::Unreadable(error),
        error => Error::api("reading the task")(error),
    })?;
    let Some(task) = task.filter(|task| task.metadata.deletion_timestamp.is_none()) else {
        return Ok(None);
    };
    objects(context, key, task).await.map(Some)
}

/// Reads a task's objects.
pub(super) async fn objects(context: &Context, key: &Key, task: Task) -> Result<Found, Error> {
    let mut found = Found::of_task(key.clone(), task);
    let Some(subject) = Subject::new(Scope::of(key.kind), &found.task, &context.settings.job) else {
        return Ok(found);
    };
    let (job, foreign) = job(context, &subject).await?;
    let push_secret = push_secret(context, &subject, job.as_ref()).await?;
    // A retry of a failed task may be requested.
    let may_start = !matches!(ended(&found.task.known().conditions), Some(Ended::Succeeded));
    let starts = may_start && job.as_ref().is_none_or(|job| job.gone);
    let sign_key = !starts || sign_key(context, &subject).await?;
    let settings = &context.settings.job;
    let ca_configmap = !starts || has_ca_certificates(&context.cx, settings, subject.namespace).await?;
    let pods = job
        .as_ref()
        .map_or(Vec::new(), |job| context.jobs.index().pods(&job.view));
    let job = with_refusal(context, job, &pods).await;
    found = Found {
        job,
        foreign_job: foreign,
        pods,
        push_secret,
        sign_key,
        ca_configmap,
        ..found
    };
    Ok(found)
}

/// The Job from the index; if it isn't there it is read, unless the task has ended and no decision depends on it.
async fn job(context: &Context, subject: &Subject<'_>) -> Result<(Option<FoundJob>, bool), Error> {
    let name = subject.job_name();
    let known = context.jobs.index().job(subject.namespace, &name, subject.uid);
    if known
        .as_ref()
        .is_some_and(|job| !job.gone || job.view.end.is_some())
    {
        return Ok((known, false));
    }
    let status = subject.task.known();
    let wants_another = subject.task.retry() != status.run.as_ref().and_then(|run| run.retry.as_deref());
    if ended(&status.conditions).is_some() && !wants_another && status.config_secret_ref.is_none() {
        return Ok((None, false));
    }
    let jobs: Api<PartialJob> = Api::namespaced_with(context.client(), subject.namespace, &JOBS);
    let job = jobs.get_opt(&name).await.map_err(Error::api("reading the Job"))?;
    Ok(match job {
        None => (None, false),
        Some(job) if is_owned_by(&job.metadata, subject.uid) => (Some(FoundJob::new(&job, false)), false),
        Some(_) => (None, true),
    })
}

async fn push_secret(
    context: &Context,
    subject: &Subject<'_>,
    job: Option<&FoundJob>,
) -> Result<PushSecret, Error> {
    let Some(reference) = subject.task.spec.push_secret_ref.as_ref() else {
        return Ok(PushSecret::NotRead);
    };
    if !reads_push_secret(subject.task, job) {
        return Ok(PushSecret::NotRead);
    }
    if !is_name(&reference.name) {
        return Ok(PushSecret::Missing);
    }
    let secret = owned::metadata::<Secret>(&context.cx, subject.namespace, &reference.name).await;
    let secret = secret.map_err(Error::api("reading the push Secret's metadata"))?;
    Ok(secret.map_or(PushSecret::Missing, |secret| PushSecret::Present {
        version: secret.resource_version.unwrap_or_default(),
        host: secret
            .annotations
            .and_then(|all| all.get(REGISTRY_HOST_ANNOTATION).cloned()),
    }))
}

async fn sign_key(context: &Context, subject: &Subject<'_>) -> Result<bool, Error> {
    let Some(reference) = &subject.task.spec.sign_key_secret_ref else {
        return Ok(true);
    };
    if !is_name(&reference.name) {
        return Ok(false);
    }
    let secret = owned::metadata::<Secret>(&context.cx, subject.namespace, &reference.name).await;
    let secret = secret.map_err(Error::api(
        "reading the metadata of the Secret with the signing key",
    ))?;
    Ok(secret.is_some())
}

/// Only events tell why the Job controller can't create pods: a quota, or admission. That also holds after it has
/// created some.
async fn with_refusal(context: &Context, job: Option<FoundJob>, pods: &[PodSnapshot]) -> Option<FoundJob> {
    let mut job = job?;
    let view = &mut job.view;
    let age = view.created.map_or(SignedDuration::ZERO, |created| {
        context.now().duration_since(created)
    });
    let has_pod = view.active > 0 || pods.iter().any(|pod| pod.end.is_none());
    if view.end.is_some() || view.suspended || has_pod || age < NO_POD_DELAY {
        return Some(job);
    }
    let events: Api<Event> = Api::namespaced(context.client(), &view.namespace);
    let selector = format!("involvedObject.uid={},reason=FailedCreate", view.uid);
    view.refusal = match events.list(&ListParams::default().fields(&selector)).await {
        Ok(list) => newest_refusal(list.items, pods.iter().filter_map(|pod| pod.created).max()),
        Err(error) => {
            tracing::debug!(error = api_message(&error), "reading the Job's events");
            let text = "a quota or admission may refuse it; the Job's events say more";
            // The Job controller waits between two pods, refused or not.
            pods.is_empty().then(|| text.to_owned())
        }
    };
    Some(job)
}

/// The newest refusal since the newest pod was created; earlier ones are over. The API server lists events by name.
fn newest_refusal(events: Vec<Event>, newest_pod: Option<Timestamp>) -> Option<String> {
    let of_next_pod = |event: &Event| newest_pod.is_none_or(|made| last_seen(event) > Some(made));
    let refusals = events.into_iter().filter(of_next_pod);
    refusals.max_by_key(last_seen).and_then(|event| event.message)
}

/// A repeated event is one object with a later time.
fn last_seen(event: &Event) -> Option<Timestamp> {
    let of_series = event
        .series
        .as_ref()
        .and_then(|series| series.last_observed_time.as_ref());
    let times = [
        of_series.map(|time| time.0),
        event.last_timestamp.as_ref().map(|time| time.0),
        event.event_time.as_ref().map(|time| time.0),
        event.metadata.creation_timestamp.as_ref().map(|time| time.0),
    ];
    times.into_iter().flatten().max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(message: &str, first: &str, last: &str) -> Event {
        serde_json::from_value(json!({
            "metadata": {"creationTimestamp": first}, "involvedObject": {}, "message": message,
            "firstTimestamp": first, "lastTimestamp": last,
        }))
        .expect("an event")
    }

    /// The last one of the list was once reported, whatever its time, and none once a pod had been created.
    #[test]
    fn the_newest_refusal_since_the_newest_pod_is_reported() {
        let at = |time: &str| time.parse::<Timestamp>().expect("a time");
        let events = || {
            vec![
                event("quota b", "2026-01-01T00:00:10Z", "2026-01-01T00:00:40Z"),
                event("quota a", "2026-01-01T00:00:20Z", "2026-01-01T00:00:20Z"),
            ]
        };
        let table = [
            (None, Some("quota b")),
            (Some(at("2026-01-01T00:00:30Z")), Some("quota b")),
            (Some(at("2026-01-01T00:00:40Z")), None),
        ];
        for (newest_pod, expected) in table {
            assert_eq!(
                newest_refusal(events(), newest_pod).as_deref(),
                expected,
                "{newest_pod:?}"
            );
        }
        assert_eq!(newest_refusal(Vec::new(), None), None);
    }
}
