//! Deletes the tag of an artifact that is no longer needed: first the tasks that push it, then the tag, by a Job.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, Preconditions};

use super::super::{Artifacts, Tasks};
use super::cleanup::{Observed, Step, remaining, step};
use super::job::{Deletion, job};
use super::{GOING_INTERVAL, RenderArtifacts, is_bound, location, registry, report, warning, with_label_of};
use crate::api::pipeline::{RegistrySpec, RenderArtifact, RenderArtifactSpec};
use crate::api::{
    KEEP_TAG_ANNOTATION, REGISTRY_HOST_ANNOTATION, REQUESTED_AT_ANNOTATION, RETRY_ANNOTATION, Run,
};
use crate::controllers::pipeline::artifacts::{
    CredentialsError, artifact_finalizer, credentials, is_cleaning,
};
use crate::controllers::pipeline::conditions::{ArtifactState, Reason};
use crate::controllers::pipeline::grants::CrossReference;
use crate::controllers::pipeline::pull_secrets::host;
use crate::controllers::pipeline::stored;
use crate::controllers::rendertask::TaskView;
use crate::jobs::index::FoundJob;
use crate::jobs::partial::{JOBS, PartialJob};
use crate::jobs::registry_access::{CA_KEY, has_ca_certificates, host_mismatch};
use crate::runtime::views::MetadataOnly;
use crate::runtime::{
    Action, Cx, Error, Key, ObjectName, Watched as _, api_message, events, finalizers, owned,
};

/// When an artifact that waits for a slot is requeued; it is woken earlier when it gets one.
const QUEUED_INTERVAL: Duration = Duration::from_secs(600);
/// When an artifact is requeued whose Job no watch has delivered.
const UNWATCHED_INTERVAL: Duration = Duration::from_secs(10);

impl RenderArtifacts {
    /// Takes the next step of deleting the tag of an artifact that is no longer needed.
    pub(super) async fn delete_tag(
        &self,
        cx: &Cx,
        key: &Key,
        artifact: &RenderArtifact,
    ) -> Result<Action, Error> {
        if !is_cleaning(artifact) {
            report(cx, key, artifact, &ArtifactState::Cleaning).await?;
            return Err(Error::Changed);
        }
        let job = self.find_job(cx, key, artifact).await?;
        let step = self.step(cx, artifact, job.as_ref()).await?;
        tracing::debug!(?step, "decided");
        match (step, job) {
            (Step::Done, job) => self.let_go(cx, key, artifact, job).await,
            (Step::Wait { requeue }, job) => {
                self.jobs.slots().occupy(key, &key.namespace);
                let is_watched = job.is_none_or(|job| job.watched);
                let unwatched = (!is_watched).then_some(UNWATCHED_INTERVAL);
                Ok(Action {
                    requeue: [requeue, unwatched].into_iter().flatten().min(),
                })
            }
            (
                Step::Failed {
                    reason,
                    message,
                    requeue,
                },
                _,
            ) => {
                self.jobs.release(key);
                report(
                    cx,
                    key,
                    artifact,
                    &ArtifactState::CleanupFailed { reason, message },
                )
                .await?;
                Ok(Action::requeue(requeue))
            }
            (Step::Replace, Some(job)) if !job.gone => {
                delete_job(cx, &job).await?;
                Ok(Action::requeue(GOING_INTERVAL))
            }
            (Step::Replace | Step::Start, gone) => {
                if let Some(job) = gone {
                    self.jobs.index().forget(&job.view.namespace, &job.view.name);
                }
                self.start_or_release(cx, key, artifact).await
            }
        }
    }

    /// Decides the next step from the state of the Job.
    async fn step(&self, cx: &Cx, artifact: &RenderArtifact, job: Option<&FoundJob>) -> Result<Step, Error> {
        let pods = job.map_or(Vec::new(), |job| self.jobs.index().pods(&job.view));
        let conditions = artifact
            .status
            .as_ref()
            .map_or(&[][..], |status| &status.conditions);
        let end = job.and_then(|job| job.view.end.as_ref());
        let secret = if end.is_some_and(|end| !end.complete) {
            secret(cx, artifact).await?
        } else {
            None
        };
        Ok(step(&Observed {
            job,
            pods: &pods,
            conditions,
            retry: retry(&artifact.metadata).as_deref(),
            secret_version: secret
                .as_ref()
                .and_then(|secret| secret.resource_version.as_deref()),
            now: cx.now(),
        }))
    }

    /// Creates the Job, or releases its slot to the next waiting object.
    async fn start_or_release(&self, cx: &Cx, key: &Key, artifact: &RenderArtifact) -> Result<Action, Error> {
        let started = self.start(cx, key, artifact).await;
        if !matches!(started, Ok(Started::Yes | Started::Queued)) {
            self.jobs.release(key);
        }
        match started? {
            Started::Yes => Ok(Action::done()),
            Started::Queued => Ok(Action::requeue(QUEUED_INTERVAL)),
            Started::Waits => Ok(Action::requeue(GOING_INTERVAL)),
            Started::Blocked { reason, message } => blocked(cx, key, artifact, reason, message).await,
        }
    }

    /// The Job from the index; if it isn't there it is read.
    async fn find_job(
        &self,
        cx: &Cx,
        key: &Key,
        artifact: &RenderArtifact,
    ) -> Result<Option<FoundJob>, Error> {
        let Some(location) = location(key, artifact) else {
            return Ok(None);
        };
        let uid = artifact.metadata.uid.as_deref().unwrap_or("");
        let known = self.jobs.index().job(&location.namespace, &location.name, uid);
        if known
            .as_ref()
            .is_some_and(|job| !job.gone || job.view.end.is_some())
        {
            return Ok(known);
        }
        let jobs: Api<PartialJob> = Api::namespaced_with(cx.client().clone(), &location.namespace, &JOBS);
        let job = jobs
            .get_opt(&location.name)
            .await
            .map_err(Error::api("reading the Job"))?;
        let job = job.filter(|job| {
            let owner = self.jobs.index().owner(job);
            owner.is_some_and(|(owner, owner_uid)| owner == *key && owner_uid == uid)
        });
        Ok(job.map(|job| FoundJob::new(&job, false)))
    }

    /// Creates the Job, unless something blocks it.
    async fn start(&self, cx: &Cx, key: &Key, artifact: &RenderArtifact) -> Result<Started, Error> {
        let (location, credentials) = match dereference(cx, key, artifact) {
            Ok(found) => found,
            Err(error) => return Ok(Started::refused(error.to_string())),
        };
        let namespace = &location.namespace;
        if tasks_are_left(cx, namespace, artifact).await? {
            return Ok(Started::Waits);
        }
        let host = host(&artifact.spec.base_url);
        if let Some(message) = self.settings.allowed_hosts.refusal(namespace, &host) {
            return Ok(Started::refused(message));
        }
        let name = &credentials.secret;
        let secret = owned::metadata::<Secret>(cx, namespace, name).await;
        let Some(secret) = secret.map_err(Error::api("reading the push Secret's metadata"))? else {
            let message = format!("there is no Secret {name} in namespace {namespace}");
            return Ok(Started::refused(message));
        };
        let annotated = secret.annotations.as_ref();
        let annotated = annotated.and_then(|all| all.get(REGISTRY_HOST_ANNOTATION));
        if let Some(message) = host_mismatch(name, annotated.map(String::as_str), &host) {
            return Ok(Started::refused(message));
        }
        if !has_ca_certificates(cx, &self.settings, namespace).await? {
            let map = self.settings.ca_configmap.as_deref().unwrap_or("");
            return Ok(Started::Blocked {
                reason: Reason::DeleteFailed,
                message: format!(
                    "there is no ConfigMap {map} with the key {CA_KEY} in namespace {namespace}"
                ),
            });
        }
        let deleted = artifact.metadata.deletion_timestamp.as_ref();
        let since = deleted.map_or_else(|| cx.now(), |time| time.0);
        if !self.jobs.slots().request(key, &key.namespace, since) {
            return Ok(Started::Queued);
        }
        // The status already says that the clean-up has begun: a new binding sees that.
        if is_bound(cx, artifact).await? {
            return Ok(Started::Waits);
        }
        let run = Run {
            retry: retry(&artifact.metadata),
            push_secret_version: secret.resource_version,
            ..Run::default()
        };
        let deletion = Deletion {
            location: &location,
            secret: name,
            plain_http: credentials.plain_http,
            run: &run,
        };
        let job = job(key, artifact, deletion, &self.settings)?;
        self.create(cx, key, &location, &job).await
    }

    async fn create(&self, cx: &Cx, key: &Key, location: &ObjectName, job: &Job) -> Result<Started, Error> {
        match owned::create(cx, &location.namespace, job).await {
            Ok(_) => {
                self.jobs.slots().occupy(key, &key.namespace);
                Ok(Started::Yes)
            }
            // It was created before a crash, or is being deleted: the next reconcile reads it.
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(Started::Waits),
            // A quota, admission, or a namespace that is being deleted or doesn't exist.
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 404 | 413 | 422) => {
                Ok(Started::Blocked {
                    reason: Reason::DeleteFailed,
                    message: format!(
                        "the Job can't be created: {}",
                        api_message(&kube::Error::Api(status))
                    ),
                })
            }
            Err(error) => Err(Error::api("creating the Job")(error)),
        }
    }

    /// The artifact may go without its tag. A Job that could still delete it goes first, with its pods: whoever pushes the
    /// tag again would lose it.
    pub(super) async fn leave_tag(
        &self,
        cx: &Cx,
        key: &Key,
        artifact: &RenderArtifact,
    ) -> Result<Action, Error> {
        let job = self.find_job(cx, key, artifact).await?.filter(|job| !job.gone);
        if let Some(job) = job {
            let name = ObjectName::new(&job.view.namespace, &job.view.name);
            delete_with_pods(cx, &JOBS.key(name), Some(job.view.uid.clone())).await?;
            return Ok(Action::requeue(GOING_INTERVAL));
        }
        let note = format!("the tag is left in the registry: {KEEP_TAG_ANNOTATION} asks for that");
        events::publish(cx, key, &artifact.metadata, vec![warning("TagLeft", &note)]).await;
        self.let_go(cx, key, artifact, None).await
    }

    /// The artifact may go; its Job goes after it, or by its TTL.
    pub(super) async fn let_go(
        &self,
        cx: &Cx,
        key: &Key,
        artifact: &RenderArtifact,
        job: Option<FoundJob>,
    ) -> Result<Action, Error> {
        finalizers::remove(cx, key, &artifact.metadata, &artifact_finalizer()).await?;
        self.jobs.release(key);
        if let Some(job) = job {
            self.jobs.index().forget(&job.view.namespace, &job.view.name);
            if !job.gone {
                delete_job(cx, &job).await?;
            }
        }
        Ok(Action::done())
    }
}

/// The parts of the Registry that a Job needs.
struct Credentials {
    secret: String,
    plain_http: bool,
}

/// The Job's namespace and credentials.
fn dereference(
    cx: &Cx,
    key: &Key,
    artifact: &RenderArtifact,
) -> Result<(ObjectName, Credentials), CredentialsError> {
    let location = location(key, artifact).ok_or(CredentialsError::NoRegistry)?;
    let registry = registry(artifact).and_then(|registry| stored::get::<RegistrySpec>(cx, &registry));
    let reference = CrossReference::ArtifactToRegistry;
    let grants = stored::grants(cx.stores(), reference, artifact.namespace(), &location.namespace);
    let secret = credentials(
        artifact,
        registry.as_ref(),
        &grants,
        stored::cross_namespace(cx.stores()),
    )?
    .to_owned();
    let plain_http = registry.is_some_and(|registry| registry.spec.plain_http);
    Ok((location, Credentials { secret, plain_http }))
}

/// The metadata of the Secret for deleting the tag, if it may be used.
async fn secret(cx: &Cx, artifact: &RenderArtifact) -> Result<Option<ObjectMeta>, Error> {
    let key = Artifacts::ID.key(ObjectName::new(artifact.namespace(), artifact.name()));
    let Ok((location, credentials)) = dereference(cx, &key, artifact) else {
        return Ok(None);
    };
    let secret = owned::metadata::<Secret>(cx, &location.namespace, &credentials.secret).await;
    secret.map_err(Error::api("reading the push Secret's metadata"))
}

/// The result of starting a Job.
enum Started {
    Yes,
    /// The limit of concurrent Jobs is reached.
    Queued,
    /// Something else is in progress.
    Waits,
    /// A user must unblock it.
    Blocked {
        reason: Reason,
        message: String,
    },
}

impl Started {
    fn refused(message: String) -> Self {
        Self::Blocked {
            reason: Reason::AuthFailed,
            message: format!(
                "{message}; or set the annotation {KEEP_TAG_ANNOTATION} to true, and the tag is left in the registry"
            ),
        }
    }
}

/// Deletes the tasks that push to the tag first, with their pods. Returns whether there are any. The label alone isn't
/// enough: whoever creates an artifact chooses its name, and a task of another owner may have that label.
async fn tasks_are_left(cx: &Cx, namespace: &str, artifact: &RenderArtifact) -> Result<bool, Error> {
    let api = cx.api_in::<TaskView>(Tasks::ID, Some(namespace));
    let tasks = api.list(&with_label_of(artifact)).await;
    let tasks = tasks.map_err(Error::api("listing RenderTasks"))?;
    let RenderArtifactSpec {
        base_url,
        repository,
        tag,
        ..
    } = &artifact.spec;
    let mut are_left = false;
    for task in &tasks.items {
        if !task
            .view()
            .is_some_and(|view| view.pushes_to(base_url, repository, tag))
        {
            continue;
        }
        are_left = true;
        if task.metadata.deletion_timestamp.is_none() {
            let key = Tasks::ID.key(task.name());
            delete_with_pods(cx, &key, task.metadata.uid.clone()).await?;
        }
    }
    Ok(are_left)
}

/// In the foreground: a task or a Job is there until its pods are gone.
async fn delete_with_pods(cx: &Cx, key: &Key, uid: Option<String>) -> Result<(), Error> {
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid,
            resource_version: None,
        }),
        ..DeleteParams::foreground()
    };
    match cx.api::<MetadataOnly>(key).delete(&key.name, &params).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(Error::api("deleting what uses the tag")(error)),
    }
}

async fn blocked(
    cx: &Cx,
    key: &Key,
    artifact: &RenderArtifact,
    reason: Reason,
    message: String,
) -> Result<Action, Error> {
    let conditions = artifact
        .status
        .as_ref()
        .map_or(&[][..], |status| &status.conditions);
    let backoff = remaining(conditions, cx.now(), cx.now());
    report(
        cx,
        key,
        artifact,
        &ArtifactState::CleanupFailed { reason, message },
    )
    .await?;
    Ok(Action::requeue(backoff))
}

async fn delete_job(cx: &Cx, job: &FoundJob) -> Result<(), Error> {
    let view = &job.view;
    let deleted = owned::delete::<Job>(cx, &view.namespace, &view.name, &view.uid).await;
    deleted.map(|_| ()).map_err(Error::api("deleting the Job"))
}

/// The values of the annotations that request a retry: ours and Flux'.
fn retry(metadata: &ObjectMeta) -> Option<String> {
    let annotations = metadata.annotations.as_ref()?;
    let values =
        [RETRY_ANNOTATION, REQUESTED_AT_ANNOTATION].map(|key| annotations.get(key).map(String::as_str));
    let values: Vec<&str> = values.into_iter().flatten().collect();
    (!values.is_empty()).then(|| values.join(" "))
}
