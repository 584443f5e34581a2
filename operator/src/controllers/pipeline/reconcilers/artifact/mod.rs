//! RenderArtifacts: kept while a RenderBinding exists; then their tags are deleted by a Job of the renderer, in the
//! namespace of the Registry whose credentials it uses.
//!
//! # Guarantees
//! - No tag is deleted while a binding exists. Stores may be behind: the status first says that the clean-up begins,
//!   then the bindings are listed; a Target first creates its binding, then reads the artifact. One of the two sees the
//!   other.
//! - No RenderTask that pushes to the tag exists when it is deleted: its pods would push it again, and its status would
//!   be wrong.
//! - The operator never reads credentials.

mod cleanup;
mod deletion;
mod job;
mod wakes;

pub(super) use wakes::add;

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use self::job::job_name;
use super::{Artifacts, RenderBindings};
use crate::api::pipeline::{
    ObjectKey, ObjectReference, RenderArtifact, RenderArtifactSpec, RenderArtifactStatus, RenderBinding,
};
use crate::api::{ARTIFACT_LABEL, DIGEST_ANNOTATION};
use crate::controllers::pipeline::artifacts::{
    ArtifactAction, Cleanup, artifact_finalizer, chart_url, decide, keeps_tag,
};
use crate::controllers::pipeline::conditions::{self, ArtifactState};
use crate::controllers::pipeline::namespaces::{self, NamespaceState};
use crate::controllers::pipeline::stored::{self, SpecAndStatus};
use crate::jobs::JobSettings;
use crate::jobs::tracker::{JobOwner, JobTracker};
use crate::names::{MANAGER, fitted};
use crate::runtime::conditions::{ConditionReason as _, merge};
use crate::runtime::events::{self, Notice};
use crate::runtime::views::{MetadataOnly, Object, PartialMetadata};
use crate::runtime::{
    Action, Cx, Error, Key, Kind, KindId, ObjectName, ObjectState, Watched, finalizers, owned, status,
};

/// When an artifact is requeued that waits for a deletion that no watch delivers.
const GOING_INTERVAL: Duration = Duration::from_secs(2);
/// The controller of RenderArtifacts.
pub struct RenderArtifacts {
    jobs: Arc<JobTracker>,
    settings: JobSettings,
}

impl RenderArtifacts {
    /// With the Job tracker of all controllers.
    pub fn new(jobs: &Arc<JobTracker>, settings: &JobSettings) -> Self {
        Self {
            jobs: Arc::clone(jobs),
            settings: settings.clone(),
        }
    }

    /// The Jobs of artifacts.
    pub const JOBS: JobOwner = JobOwner {
        kind: <Artifacts as Watched>::ID,
        job: |cx, key, _| {
            let artifact = stored::primary::<RenderArtifactSpec>(cx, key)?;
            location(key, &artifact)
        },
        group: |_, key| Some(key.namespace.clone()),
        is_elsewhere: true,
        is_job: None,
    };
}

/// The namespace and name of an artifact's Job; `None`: it names no Registry.
fn location(key: &Key, artifact: &RenderArtifact) -> Option<ObjectName> {
    let registry = registry(artifact)?;
    Some(ObjectName::new(&registry.namespace, &job_name(key)))
}

/// The Registry that an artifact names.
fn registry(artifact: &RenderArtifact) -> Option<ObjectKey> {
    let reference = artifact.spec.registry_ref.as_ref()?;
    Some(reference.resolved(artifact.namespace()))
}

impl Watched for RenderArtifacts {
    const ID: KindId = <Artifacts as Watched>::ID;
    const LABELS: bool = <Artifacts as Watched>::LABELS;
    const STATES: &'static [&'static str] = <Artifacts as Watched>::STATES;
    type View = SpecAndStatus<RenderArtifactSpec>;

    fn state(object: &Object<Self::View>) -> Option<ObjectState<'_>> {
        <Artifacts as Watched>::state(object)
    }

    fn concerns_others(before: &Object<Self::View>, after: &Object<Self::View>) -> bool {
        Artifacts::concerns_others(before, after)
    }
}

impl Kind for RenderArtifacts {
    /// The wish to leave the tag comes when the artifact waits.
    fn wakes(artifact: &Object<Self::View>) -> u64 {
        u64::from(keeps_tag(&artifact.metadata))
    }

    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let Some(artifact) = stored::primary::<RenderArtifactSpec>(cx, key) else {
            self.jobs.forget(key);
            return Ok(Action::done());
        };
        let bindings = cx
            .store::<RenderBindings>()
            .by(super::wakes::ARTIFACT, &key.object_name());
        let bindings: Vec<RenderBinding> = bindings.iter().filter_map(|one| stored::whole(one)).collect();
        match decide(&artifact, &bindings, open_cleanup(cx, &artifact)) {
            ArtifactAction::Keep if artifact.is_deleted() => {
                self.jobs.release(key);
                Ok(Action::done())
            }
            ArtifactAction::Keep => {
                report(cx, key, &artifact, &ArtifactState::Used).await?;
                Ok(Action::done())
            }
            ArtifactAction::AddFinalizer => {
                finalizers::add(cx, key, &artifact.metadata, &artifact_finalizer()).await?;
                Err(Error::Changed)
            }
            ArtifactAction::Pin(registry) => {
                pin(cx, key, &artifact, &registry).await?;
                Err(Error::Changed)
            }
            ArtifactAction::Delete => delete_unbound(cx, key, &artifact).await,
            ArtifactAction::Held { by } => {
                self.jobs.release(key);
                report(cx, key, &artifact, &ArtifactState::Held { by }).await?;
                Ok(Action::done())
            }
            ArtifactAction::DeleteTag => self.delete_tag(cx, key, &artifact).await,
            ArtifactAction::LeaveTag => self.leave_tag(cx, key, &artifact).await,
            ArtifactAction::RemoveFinalizer => {
                let notice = warning(
                    "TagLeft",
                    "the namespace is being deleted: the tag is kept in the registry",
                );
                events::publish(cx, key, &artifact.metadata, vec![notice]).await;
                self.let_go(cx, key, &artifact, None).await
            }
        }
    }

    /// The next waiting object needn't wait for this one's backoff.
    fn failed(&self, key: &Key) {
        self.jobs.give_back(key);
    }
}

/// The state of the clean-up, apart from its Job.
fn open_cleanup(cx: &Cx, artifact: &RenderArtifact) -> Cleanup {
    let deleted = artifact.metadata.deletion_timestamp.as_ref();
    let since = deleted.map_or(SignedDuration::ZERO, |time| cx.now().duration_since(time.0));
    let registry = registry(artifact).map(|registry| namespaces::state(cx, &registry.namespace));
    Cleanup::Open {
        since: since.max(SignedDuration::ZERO).unsigned_abs(),
        is_namespace_terminating: namespaces::is_terminating(cx, artifact.namespace()),
        is_hopeless: matches!(
            registry,
            None | Some(NamespaceState::Terminating | NamespaceState::Missing)
        ),
    }
}

async fn pin(cx: &Cx, key: &Key, artifact: &RenderArtifact, registry: &ObjectReference) -> Result<(), Error> {
    let body = json!({
        "metadata": {"resourceVersion": artifact.metadata.resource_version},
        "spec": {"registryRef": registry},
    });
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let api = cx.api::<MetadataOnly>(key);
    match api.patch(&key.name, &params, &Patch::Merge(&body)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Err(Error::Changed),
        Err(error) => Err(Error::api("pinning the Registry")(error)),
    }
}

/// The store has no binding of it; the API server is queried before it is deleted.
async fn delete_unbound(cx: &Cx, key: &Key, artifact: &RenderArtifact) -> Result<Action, Error> {
    if is_bound(cx, artifact).await? {
        return Ok(Action::requeue(GOING_INTERVAL));
    }
    let uid = artifact.metadata.uid.as_deref().unwrap_or("");
    let deleted = owned::delete::<RenderArtifact>(cx, &key.namespace, &key.name, uid).await;
    deleted.map_err(Error::api("deleting the RenderArtifact"))?;
    Ok(Action::done())
}

/// Lists the bindings from the API server: whether the artifact has one now.
async fn is_bound(cx: &Cx, artifact: &RenderArtifact) -> Result<bool, Error> {
    let api: Api<PartialMetadata> = cx.api_in(RenderBindings::ID, Some(artifact.namespace()));
    let found = api.list(&with_label_of(artifact)).await;
    Ok(!found
        .map_err(Error::api("listing RenderBindings"))?
        .items
        .is_empty())
}

/// Selects the objects with the label of an artifact.
fn with_label_of(artifact: &RenderArtifact) -> ListParams {
    ListParams::default().labels(&format!("{ARTIFACT_LABEL}={}", fitted(artifact.name())))
}

/// The digest of the pushed chart.
fn digest(artifact: &RenderArtifact) -> Option<&str> {
    let annotations = artifact.metadata.annotations.as_ref()?;
    annotations.get(DIGEST_ANNOTATION).map(String::as_str)
}

fn next(cx: &Cx, artifact: &RenderArtifact, state: &ArtifactState) -> RenderArtifactStatus {
    let known = artifact.status.clone().unwrap_or_default();
    let generation = artifact.metadata.generation;
    RenderArtifactStatus {
        observed_generation: generation,
        conditions: merge(
            &known.conditions,
            &conditions::artifact(state),
            generation,
            cx.now(),
        ),
        chart_url: Some(chart_url(&artifact.spec)),
        digest: digest(artifact).map(str::to_owned).or(known.digest),
    }
}

async fn report(cx: &Cx, key: &Key, artifact: &RenderArtifact, state: &ArtifactState) -> Result<(), Error> {
    let changed = write(cx, key, artifact, &next(cx, artifact, state)).await?;
    if let (true, ArtifactState::CleanupFailed { reason, message }) = (changed, state) {
        tracing::info!(reason = reason.name(), message, "the tag can't be deleted");
        events::publish(cx, key, &artifact.metadata, vec![warning(reason.name(), message)]).await;
    }
    Ok(())
}

async fn write(
    cx: &Cx,
    key: &Key,
    artifact: &RenderArtifact,
    next: &RenderArtifactStatus,
) -> Result<bool, Error> {
    let known = artifact.status.clone().unwrap_or_default();
    let version = artifact.metadata.resource_version.as_deref();
    let written = status::patch(cx, key, version, &known, next).await?;
    Ok(written.is_some())
}

fn warning(reason: &'static str, note: &str) -> Notice {
    Notice {
        warning: true,
        reason,
        action: "DeleteTag",
        note: note.to_owned(),
    }
}
