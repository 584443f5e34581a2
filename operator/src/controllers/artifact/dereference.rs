//! What a reconcile is decided from: the Artifact, the Job of its current attempt, and that Job's pods.

use kube::Api;
use kube::api::ObjectMeta;

use super::{ArtifactView, Artifacts, names};
use crate::api::RETRY_ANNOTATION;
use crate::api::artifact::{ArtifactSpec, ArtifactStatus, ImportPhase};
use crate::controllers::pipeline::canonical;
use crate::jobs::index::FoundJob;
use crate::jobs::partial::{JOBS, PartialJob};
use crate::jobs::snapshot::PodSnapshot;
use crate::runtime::owned::is_owned_by;
use crate::runtime::views::Object;
use crate::runtime::{Cx, Error, Key};

/// An Artifact with its objects.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) metadata: ObjectMeta,
    pub(super) spec: ArtifactSpec,
    /// What is known of it; nothing yet, for a new one.
    pub(super) status: ArtifactStatus,
    /// The Job of the current attempt.
    pub(super) job: JobState,
    /// Its pods.
    pub(super) pods: Vec<PodSnapshot>,
}

/// The Job of the current attempt.
#[derive(Debug)]
pub(super) enum JobState {
    /// It doesn't exist.
    Missing,
    /// There is one.
    Found(Box<FoundJob>),
    /// The name has another owner's Job.
    Foreign,
}

impl Found {
    pub(super) fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or("")
    }

    pub(super) fn generation(&self) -> i64 {
        self.metadata.generation.unwrap_or(1)
    }

    /// The hash of what the import depends on. A field that is added to the spec must be left out of its JSON while it
    /// has its default, or the hash of every spec changes.
    pub(super) fn input(&self) -> String {
        let ArtifactSpec {
            source,
            format,
            target,
            storage,
            ttl_seconds_after_finished: _,
            suspend: _,
        } = &self.spec;
        canonical::sha256(&canonical::json(&(source, format, target, storage)))
    }

    /// The value of the annotation that requests a retry.
    pub(super) fn retry(&self) -> Option<&str> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations.get(RETRY_ANNOTATION).map(String::as_str)
    }

    /// Whether the import of the present run has ended.
    pub(super) fn has_ended(&self) -> bool {
        matches!(
            self.status.phase,
            Some(ImportPhase::Succeeded | ImportPhase::Failed)
        )
    }

    pub(super) fn job(&self) -> Option<&FoundJob> {
        match &self.job {
            JobState::Found(job) => Some(job),
            JobState::Missing | JobState::Foreign => None,
        }
    }

    /// The name of the current attempt's Job.
    pub(super) fn job_name(&self) -> String {
        let run = self.status.run.clone().unwrap_or_default();
        names::job_name(&self.key.name, run.generation, run.attempt)
    }
}

pub(super) async fn dereference(
    controller: &Artifacts,
    cx: &Cx,
    key: &Key,
    artifact: &Object<ArtifactView>,
    view: &ArtifactView,
) -> Result<Found, Error> {
    let mut found = Found {
        key: key.clone(),
        metadata: artifact.metadata.clone(),
        spec: view.spec.clone(),
        status: view.status.clone().unwrap_or_default(),
        job: JobState::Missing,
        pods: Vec::new(),
    };
    if found.status.run.is_some() && !is_settled(&found.status) {
        found.job = job(controller, cx, &found).await?;
    }
    if let Some(job) = found.job() {
        found.pods = controller.jobs.index().pods(&job.view);
    }
    Ok(found)
}

/// Whether no decision depends on the Job any more.
fn is_settled(status: &ArtifactStatus) -> bool {
    use crate::runtime::conditions::{READY, find};
    let completed = find(&status.conditions, READY).is_some_and(|one| one.reason == "Completed");
    completed || status.phase == Some(ImportPhase::Failed)
}

/// The Job from the index; if it isn't there, it is read.
async fn job(controller: &Artifacts, cx: &Cx, found: &Found) -> Result<JobState, Error> {
    let name = found.job_name();
    let namespace = &found.key.namespace;
    let known = controller.jobs.index().job(namespace, &name, found.uid());
    if found.has_ended() && known.as_ref().is_some_and(|job| job.gone) {
        // Its end is recorded.
        controller.jobs.index().forget(namespace, &name);
        return Ok(JobState::Missing);
    }
    if let Some(known) = known {
        return Ok(JobState::Found(Box::new(known)));
    }
    let jobs: Api<PartialJob> = Api::namespaced_with(cx.client().clone(), namespace, &JOBS);
    let job = jobs.get_opt(&name).await.map_err(Error::api("reading the Job"))?;
    Ok(match job {
        None => JobState::Missing,
        Some(job) if is_owned_by(&job.metadata, found.uid()) => {
            JobState::Found(Box::new(FoundJob::new(&job, false)))
        }
        Some(_) => JobState::Foreign,
    })
}
