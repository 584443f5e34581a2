//! Carries out the decision: the only step that creates or deletes objects.
//!
//! Before a Job is created or older ones are deleted, the Artifact's own version is compared with the API server's: a
//! store may be behind this operator's own writes.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::Api;
use kube::api::{ListParams, ObjectMeta};

use super::blocked::blocked;
use super::decide::Decision;
use super::dereference::Found;
use super::job::{UID_LABEL, job};
use super::workspace::{STORAGE_ANNOTATION, claim, storage_text};
use super::{Artifacts, names};
use crate::api::OwnedReference;
use crate::api::artifact::ImportRun;
use crate::jobs::observe::{Observation, Previous, observe};
use crate::jobs::partial::{JOBS, PartialJob};
use crate::names::fitted;
use crate::runtime::owned::{self, is_owned_by};
use crate::runtime::views::{MetadataOnly, PartialMetadata};
use crate::runtime::{Cx, Error};

/// When an Artifact is requeued that waits for an object's deletion.
const GOING_INTERVAL: Duration = Duration::from_secs(1);
/// When one is requeued that waits for a user.
const BLOCKED_INTERVAL: Duration = Duration::from_secs(30);
/// When one is requeued that waits for a slot; it is woken earlier when it gets one.
const QUEUED_INTERVAL: Duration = Duration::from_secs(600);
/// When one is requeued whose Job no watch has delivered.
const UNWATCHED_INTERVAL: Duration = Duration::from_secs(10);

/// What the status reports.
#[derive(Debug)]
pub(super) enum Applied {
    /// No change.
    Nothing(Option<Duration>),
    /// Jobs of older runs are being deleted.
    Replacing(Duration),
    /// A new run begins.
    Begun(ImportRun),
    /// No Job, and why: until a user acts, or by itself.
    Waiting {
        message: String,
        by_itself: bool,
        requeue: Option<Duration>,
    },
    /// A Job was created, or one was there.
    Started {
        job: OwnedReference,
        workspace: OwnedReference,
        created: bool,
    },
    /// The state of the Job.
    Observed {
        observation: Box<Observation>,
        has_run: bool,
        exit_code: Option<i32>,
    },
    /// The Job has vanished.
    Lost,
    /// The volume was deleted.
    WorkspaceDeleted,
    /// The result is that of the present generation, too.
    Advanced,
    /// The Job of a successful import is gone.
    Completed,
}

impl Applied {
    fn blocked(message: String) -> Self {
        Self::Waiting {
            message,
            by_itself: false,
            requeue: Some(BLOCKED_INTERVAL),
        }
    }
}

pub(super) async fn apply(
    controller: &Artifacts,
    cx: &Cx,
    found: &Found,
    decision: Decision,
) -> Result<Applied, Error> {
    let runs = matches!(decision, Decision::Observe | Decision::Start);
    if !runs {
        controller.jobs.release(&found.key);
    }
    match decision {
        Decision::Nothing(requeue) => Ok(Applied::Nothing(requeue)),
        Decision::Begin(run) => begin(cx, found, run).await,
        Decision::Start => {
            let started = start(controller, cx, found).await;
            let keeps = matches!(
                &started,
                Ok(Applied::Started { .. } | Applied::Waiting { by_itself: true, .. })
            );
            if !keeps {
                controller.jobs.release(&found.key);
            }
            started
        }
        Decision::Suspended => Ok(Applied::Waiting {
            message: "suspended".to_owned(),
            by_itself: false,
            requeue: None,
        }),
        Decision::Conflict => Ok(Applied::blocked(format!(
            "the Job {} belongs to something else",
            found.job_name()
        ))),
        Decision::Observe => Ok(observed(controller, cx, found)),
        Decision::Lost => Ok(Applied::Lost),
        Decision::DeleteWorkspace => {
            delete_workspace(cx, found).await?;
            Ok(Applied::WorkspaceDeleted)
        }
        Decision::Advance => Ok(Applied::Advanced),
        Decision::Complete => Ok(Applied::Completed),
    }
}

fn observed(controller: &Artifacts, cx: &Cx, found: &Found) -> Applied {
    let Some(job) = found.job() else {
        return Applied::Nothing(None);
    };
    if job.view.runs() {
        controller.jobs.slots().occupy(&found.key, &found.key.namespace);
    } else {
        controller.jobs.release(&found.key);
    }
    let previous = Previous {
        conditions: &[],
        attempts: &found.status.attempts,
        digest: None,
        outcome: None,
    };
    let mut observation = observe(Some(&job.view), &found.pods, previous, cx.now());
    if !job.watched && job.view.end.is_none() {
        let after = observation.requeue.map(|after| after.min(UNWATCHED_INTERVAL));
        observation.requeue = after.or(Some(UNWATCHED_INTERVAL));
    }
    let last = observation.attempts.iter().rev();
    let exit_code = last
        .filter(|attempt| attempt.job_name == job.view.name)
        .find_map(|attempt| attempt.exit_code);
    Applied::Observed {
        has_run: found.pods.iter().any(|pod| pod.ran),
        observation: Box::new(observation),
        exit_code,
    }
}

/// Deletes the Jobs of older runs; the new one begins when they are gone, and their pods: one that is still terminating
/// holds the volume, and may push last.
async fn begin(cx: &Cx, found: &Found, run: ImportRun) -> Result<Applied, Error> {
    check_version(cx, found).await?;
    if found.status.run.is_none() {
        return Ok(Applied::Begun(run));
    }
    let namespace = &found.key.namespace;
    let jobs: Api<PartialMetadata> = cx.api_in(JOBS, Some(namespace));
    let of_artifact = ListParams::default().labels(&format!("{UID_LABEL}={}", fitted(found.uid())));
    let list = jobs.list(&of_artifact).await;
    let list = list.map_err(Error::api("listing the Jobs of older runs"))?;
    let own = |job: &&PartialMetadata| is_owned_by(&job.metadata, found.uid());
    let mut is_gone = true;
    for job in list.items.iter().filter(own) {
        is_gone = false;
        if job.metadata.deletion_timestamp.is_none() {
            let name = &job.name().name;
            let deleted = owned::delete_in_foreground::<Job>(cx, namespace, name, job.uid()).await;
            deleted.map_err(Error::api("deleting a Job of an older run"))?;
        }
    }
    Ok(match is_gone {
        true => Applied::Begun(run),
        false => Applied::Replacing(GOING_INTERVAL),
    })
}

async fn start(controller: &Artifacts, cx: &Cx, found: &Found) -> Result<Applied, Error> {
    if let Some(message) = blocked(controller, cx, found).await? {
        return Ok(Applied::blocked(message));
    }
    let namespace = &found.key.namespace;
    let created = found.metadata.creation_timestamp.as_ref();
    let created = created.map_or_else(|| cx.now(), |time| time.0);
    let has_slot = controller.jobs.slots().request(&found.key, namespace, created);
    if !has_slot {
        return Ok(Applied::Waiting {
            message: "as many Jobs run as may run at once".to_owned(),
            by_itself: true,
            requeue: Some(QUEUED_INTERVAL),
        });
    }
    check_version(cx, found).await?;
    let workspace = match make_workspace(cx, found).await? {
        Ok(workspace) => workspace,
        Err(waiting) => return Ok(waiting),
    };
    let job = job(found, &controller.job_settings, &controller.settings);
    match owned::create_as::<_, PartialJob>(cx, namespace, &job, &owned::post()).await {
        Ok(job) => {
            controller.jobs.slots().occupy(&found.key, namespace);
            let job = reference(&job.metadata);
            Ok(Applied::Started {
                job,
                workspace,
                created: true,
            })
        }
        Err(kube::Error::Api(status)) if status.is_already_exists() => existing(cx, found, workspace).await,
        Err(error) => refused(error, "creating the Job"),
    }
}

/// The Job was created before a crash.
async fn existing(cx: &Cx, found: &Found, workspace: OwnedReference) -> Result<Applied, Error> {
    let name = found.job_name();
    let metadata = owned::metadata::<Job>(cx, &found.key.namespace, &name).await;
    let metadata = metadata.map_err(Error::api("reading the Job"))?;
    match metadata.filter(|job| job.deletion_timestamp.is_none()) {
        None => Err(Error::Changed),
        Some(job) if is_owned_by(&job, found.uid()) => Ok(Applied::Started {
            job: reference(&job),
            workspace,
            created: false,
        }),
        Some(_) => Ok(Applied::blocked(format!(
            "the Job {name} belongs to something else"
        ))),
    }
}

/// The volume for the spec's storage; one for another storage is deleted first.
async fn make_workspace(cx: &Cx, found: &Found) -> Result<Result<OwnedReference, Applied>, Error> {
    let namespace = &found.key.namespace;
    let name = names::workspace_name(&found.key.name);
    let existing = owned::metadata::<PersistentVolumeClaim>(cx, namespace, &name).await;
    let Some(existing) = existing.map_err(Error::api("reading the volume's metadata"))? else {
        return match owned::create(cx, namespace, &claim(found)).await {
            Ok(metadata) => Ok(Ok(reference(&metadata))),
            Err(error) => refused(error, "creating the volume").map(Err),
        };
    };
    if !is_owned_by(&existing, found.uid()) {
        let message = format!("the PersistentVolumeClaim {name} belongs to something else");
        return Ok(Err(Applied::blocked(message)));
    }
    let annotations = existing.annotations.as_ref();
    let made_from = annotations.and_then(|all| all.get(STORAGE_ANNOTATION));
    let fits = made_from.is_some_and(|text| *text == storage_text(&found.spec.storage));
    if fits && existing.deletion_timestamp.is_none() {
        return Ok(Ok(reference(&existing)));
    }
    let uid = existing.uid.as_deref().unwrap_or("");
    let deleted = owned::delete::<PersistentVolumeClaim>(cx, namespace, &name, uid).await;
    deleted.map_err(Error::api("deleting the volume"))?;
    Ok(Err(Applied::Waiting {
        message: "the volume of another storage is being deleted".to_owned(),
        by_itself: true,
        requeue: Some(GOING_INTERVAL),
    }))
}

async fn delete_workspace(cx: &Cx, found: &Found) -> Result<(), Error> {
    let namespace = &found.key.namespace;
    let name = names::workspace_name(&found.key.name);
    let metadata = owned::metadata::<PersistentVolumeClaim>(cx, namespace, &name).await;
    let metadata = metadata.map_err(Error::api("reading the volume's metadata"))?;
    // The status can be written by others, and may be behind: neither its name nor its UID is used.
    if let Some(metadata) = metadata.filter(|metadata| is_owned_by(metadata, found.uid())) {
        let uid = metadata.uid.as_deref().unwrap_or("");
        let deleted = owned::delete::<PersistentVolumeClaim>(cx, namespace, &name, uid).await;
        deleted.map_err(Error::api("deleting the volume"))?;
    }
    Ok(())
}

/// A quota, admission or a terminating namespace waits for a user; anything else is an error.
fn refused(error: kube::Error, action: &'static str) -> Result<Applied, Error> {
    match error {
        kube::Error::Api(status) if matches!(status.code, 403 | 404 | 422) => {
            Ok(Applied::blocked(format!("{action}: {}", status.message)))
        }
        error => Err(Error::api(action)(error)),
    }
}

/// Whether the store has the Artifact as the API server has it now.
async fn check_version(cx: &Cx, found: &Found) -> Result<(), Error> {
    let now = cx.api::<MetadataOnly>(&found.key).get_opt(&found.key.name).await;
    let now = now.map_err(Error::api("reading the Artifact"))?;
    let version = now.and_then(|object| object.metadata.resource_version);
    match version == found.metadata.resource_version {
        true => Ok(()),
        false => Err(Error::Changed),
    }
}

fn reference(metadata: &ObjectMeta) -> OwnedReference {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    OwnedReference {
        namespace: text(&metadata.namespace),
        name: text(&metadata.name),
        uid: text(&metadata.uid),
    }
}
