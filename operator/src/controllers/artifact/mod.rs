//! One reconcile of an Artifact: dereference → decide → apply → status.
//!
//! A volume keeps the files from attempt to attempt; each attempt is a Job of its own, `<name>-g<generation>-<attempt>`.
//!
//! # Guarantees
//! - Another source, format, target or storage imports again: the Jobs of older generations are deleted first, then phase and digest are reset.
//! - Only a failure that a retry can't mend is final at once; others are retried with backoff, [`MAX_ATTEMPTS`] times.
//! - The digest is the container's own report, by its termination message.
//! - The volume is deleted when the import has ended, however it ended.
//! - The operator never reads a Secret.

mod apply;
mod blocked;
mod conditions;
mod decide;
mod dereference;
mod job;
mod kit;
mod names;
mod status;
mod workspace;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Deserialize;

pub use self::decide::MAX_ATTEMPTS;
use crate::api::artifact::{ARTIFACTS, ArtifactSpec, ArtifactStatus, ImportPhase};
use crate::jobs::JobSettings;
use crate::jobs::tracker::{JobOwner, JobTracker};
use crate::runtime::views::Object;
use crate::runtime::{Action, Cx, Error, Key, Kind, KindId, ObjectName, ObjectState, Watched};

/// The state of an Artifact without a status.
const NEW: &str = "New";

/// The settings of the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactSettings {
    /// How long a Job may be active, in seconds.
    pub deadline_seconds: u32,
    /// Keep the volume of a finished import.
    pub keep_workspace: bool,
    /// The image with KitOps that imports models from Hugging Face, instead of the renderer.
    pub kit_image: Option<String>,
}

/// What is kept of an Artifact. The CRD bounds every string in it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ArtifactView {
    /// The spec.
    pub spec: ArtifactSpec,
    /// The status.
    #[serde(default)]
    pub status: Option<ArtifactStatus>,
}

/// The controller of Artifacts.
pub struct Artifacts {
    jobs: Arc<JobTracker>,
    job_settings: JobSettings,
    settings: ArtifactSettings,
}

impl Artifacts {
    /// With the Job tracker of all controllers.
    pub fn new(jobs: &Arc<JobTracker>, job_settings: &JobSettings, settings: ArtifactSettings) -> Self {
        Self {
            jobs: Arc::clone(jobs),
            job_settings: JobSettings {
                deadline_seconds: settings.deadline_seconds,
                ..job_settings.clone()
            },
            settings,
        }
    }

    /// The Jobs of Artifacts.
    pub const JOBS: JobOwner = JobOwner {
        kind: ARTIFACTS,
        job: |cx, key, _| {
            let artifact = cx.store::<Self>().get(&key.object_name())?;
            let run = artifact.view()?.status.as_ref()?.run.as_ref()?;
            let name = names::job_name(&key.name, run.generation, run.attempt);
            Some(ObjectName::new(&key.namespace, &name))
        },
        group: |_, key| Some(key.namespace.clone()),
        is_elsewhere: false,
        // Its name has a number that a store may not have yet.
        is_job: Some(|key, job| job.namespace == key.namespace && names::is_job_of(&key.name, &job.name)),
    };
}

impl Watched for Artifacts {
    const ID: KindId = ARTIFACTS;
    const STATES: &'static [&'static str] = &[
        NEW,
        ImportPhase::Pending.as_str(),
        ImportPhase::Running.as_str(),
        ImportPhase::Succeeded.as_str(),
        ImportPhase::Failed.as_str(),
    ];
    type View = ArtifactView;

    fn state(artifact: &Object<ArtifactView>) -> Option<ObjectState<'_>> {
        let status = artifact.view().and_then(|view| view.status.as_ref());
        let phase = status.and_then(|status| status.phase);
        Some(ObjectState {
            name: phase.map_or(NEW, ImportPhase::as_str),
            waiting: matches!(phase, None | Some(ImportPhase::Pending)),
        })
    }
}

impl Kind for Artifacts {
    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let artifact = cx.store::<Self>().get(&key.object_name());
        let artifact = artifact.filter(|artifact| artifact.metadata.deletion_timestamp.is_none());
        let Some(artifact) = artifact else {
            self.jobs.forget(key);
            return Ok(Action::done());
        };
        let Some(view) = artifact.view() else {
            self.jobs.release(key);
            return Ok(Action::done());
        };
        let found = dereference::dereference(self, cx, key, &artifact, view).await?;
        let decision = decide::decide(&found, cx.now(), &self.settings);
        tracing::debug!(?decision, "decided");
        let applied = apply::apply(self, cx, &found, decision).await?;
        status::write(cx, &found, applied, &self.job_settings.permanent_exit_codes).await
    }

    /// The next waiting object needn't wait for this one's backoff.
    fn failed(&self, key: &Key) {
        self.jobs.give_back(key);
    }
}
