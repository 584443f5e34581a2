//! Pushed charts: their names, their bindings, and when a tag may be deleted.
//!
//! A RenderBinding is created before its RenderArtifact, so that an artifact without a binding is no longer needed. A
//! finalizer keeps the artifact until its tag is deleted, which never happens while a binding exists, and only with the
//! credentials of a Registry of the artifact's own host.

use std::time::Duration;

use kube::api::ObjectMeta;
use serde_json::json;

use super::canonical;
use super::conditions::Reason;
use super::grants::{CrossNamespace, CrossReference};
use super::pull_secrets::{host, normal};
use super::task_owner::finalizer;
use crate::api::KEEP_TAG_ANNOTATION;
use crate::api::pipeline::{
    ObjectKey, ObjectReference, ReferenceGrant, Registry, RenderArtifact, RenderArtifactSpec, RenderBinding,
};
use crate::runtime::conditions::{ConditionReason as _, READY, find};

/// How many hex digits of a hash an artifact's name has: a namespace may have tens of thousands of artifacts.
const HASH_DIGITS: usize = 16;
/// How long deleting an artifact's tag is retried while its namespace is being deleted: a failing registry must not
/// keep a namespace forever.
pub const GIVE_UP_AFTER: Duration = Duration::from_secs(300);

/// The finalizer that keeps an artifact until its tag is deleted.
pub fn artifact_finalizer() -> String {
    finalizer("render-artifact-finalizer")
}

/// The name of the artifact of a chart, in its Target's namespace: Targets that share a chart share it.
pub fn artifact_name(namespace: &str, base_url: &str, repository: &str, tag: &str) -> String {
    let hash = canonical::sha256(&json!([namespace, base_url, repository, tag]));
    format!("render-art-{}", hash.get(..HASH_DIGITS).unwrap_or(&hash))
}

/// The name of a Target's binding to an artifact.
pub fn binding_name(artifact: &str, target: &str) -> String {
    let hash = canonical::sha256(&json!([artifact, target]));
    format!("render-bind-{}", hash.get(..HASH_DIGITS).unwrap_or(&hash))
}

/// The chart's address: `oci://host/path:tag`.
pub fn chart_url(artifact: &RenderArtifactSpec) -> String {
    let RenderArtifactSpec {
        base_url,
        repository,
        tag,
        ..
    } = artifact;
    format!("oci://{}:{tag}", path(base_url, repository))
}

/// Joins host and path.
fn path(base_url: &str, below: &str) -> String {
    format!("{}/{}", normal(base_url), below.trim_matches('/'))
}

/// Whether the clean-up has begun. It doesn't see later bindings, so this is written to the status before the bindings
/// are listed.
pub fn is_cleaning(artifact: &RenderArtifact) -> bool {
    let status = artifact.status.as_ref();
    let ready = status.and_then(|status| find(&status.conditions, READY));
    let reasons = [Reason::Pending, Reason::AuthFailed, Reason::DeleteFailed];
    artifact.is_deleted()
        && ready.is_some_and(|ready| reasons.map(Reason::name).contains(&ready.reason.as_str()))
}

/// Whether a Target may bind to the artifact of a chart: not to one that is being deleted, whose tag may be deleted at
/// any moment. The chart must be pushed again afterwards.
pub fn may_bind(existing: Option<&RenderArtifact>) -> bool {
    existing.is_none_or(|artifact| !artifact.is_deleted())
}

/// The next step for an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactAction {
    /// Nothing.
    Keep,
    /// Adds its finalizer, before anything else.
    AddFinalizer,
    /// From now on, its credentials are those of another Registry.
    Pin(ObjectReference),
    /// No binding is left: the artifact is deleted.
    Delete,
    /// It is being deleted, but bindings are left: its tag is kept.
    Held {
        /// The bindings' names.
        by: Vec<String>,
    },
    /// Its tag is deleted.
    DeleteTag,
    /// It may go without its tag: somebody has asked for that.
    LeaveTag,
    /// Its tag is deleted, or given up: it may go.
    RemoveFinalizer,
}

/// The state of the Job that deletes the tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleanup {
    /// It has not finished.
    Open {
        /// How long the artifact has been deleted.
        since: Duration,
        /// Whether its namespace is being deleted too.
        is_namespace_terminating: bool,
        /// Whether no Job can delete the tag any more: the Registry's namespace is being deleted, with the credentials.
        is_hopeless: bool,
    },
    /// The tag is deleted, or never existed.
    Done,
}

/// Decides the next step for an artifact; `bindings` are those that name it.
pub fn decide(artifact: &RenderArtifact, bindings: &[RenderBinding], cleanup: Cleanup) -> ArtifactAction {
    let own = artifact_finalizer();
    let finalizers = artifact.metadata.finalizers.as_deref().unwrap_or_default();
    let has_finalizer = finalizers.contains(&own);
    let mut names: Vec<String> = bindings.iter().map(|binding| binding.name().to_owned()).collect();
    names.sort_unstable();
    match (artifact.is_deleted(), has_finalizer) {
        (true, false) => ArtifactAction::Keep,
        (true, true) if !names.is_empty() => ArtifactAction::Held { by: names },
        (true, true) if is_over(cleanup) => ArtifactAction::RemoveFinalizer,
        (true, true) if keeps_tag(&artifact.metadata) => ArtifactAction::LeaveTag,
        (true, true) => ArtifactAction::DeleteTag,
        (false, false) => ArtifactAction::AddFinalizer,
        (false, true) if names.is_empty() => ArtifactAction::Delete,
        (false, true) => pin(artifact, bindings).map_or(ArtifactAction::Keep, ArtifactAction::Pin),
    }
}

/// Whether the tag is to be left in the registry: the way out where nobody has credentials to delete it.
pub fn keeps_tag(metadata: &ObjectMeta) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(KEEP_TAG_ANNOTATION))
        .is_some_and(|value| value == "true")
}

fn is_over(cleanup: Cleanup) -> bool {
    match cleanup {
        Cleanup::Done => true,
        Cleanup::Open {
            since,
            is_namespace_terminating,
            is_hopeless,
        } => is_namespace_terminating && (is_hopeless || since >= GIVE_UP_AFTER),
    }
}

/// The Registry to pin an artifact to, if it changes: that of the binding with the smallest name. The current one is
/// kept while a binding names it, and if no binding names any: it may still delete the tag.
fn pin(artifact: &RenderArtifact, bindings: &[RenderBinding]) -> Option<ObjectReference> {
    let namespace = artifact.namespace();
    let present = artifact.spec.registry_ref.as_ref();
    let present = present.map(|reference| reference.resolved(namespace));
    let mut named: Vec<(&str, &ObjectReference)> = bindings
        .iter()
        .filter_map(|binding| Some((binding.name(), binding.spec.registry_ref.as_ref()?)))
        .collect();
    named.sort_unstable_by_key(|(name, _)| *name);
    let is_named = named
        .iter()
        .any(|(_, reference)| Some(reference.resolved(namespace)) == present);
    if is_named {
        return None;
    }
    named.first().map(|(_, reference)| (*reference).clone())
}

/// Why a tag can't be deleted with the credentials of the Registry that the artifact names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// The artifact names no Registry.
    #[error("no Registry is named, whose credentials could delete the tag")]
    NoRegistry,
    /// The Registry doesn't exist.
    #[error("Registry {registry} doesn't exist")]
    NotFound {
        /// The Registry.
        registry: ObjectKey,
    },
    /// The Registry's namespace doesn't grant the reference.
    #[error("{missing}")]
    NotGranted {
        /// The grant that is missing.
        missing: String,
    },
    /// The Registry is in another namespace, and the chart's path is not below the artifact's namespace.
    #[error(
        "Registry {registry} is in another namespace, and namespace {namespace} may only use its credentials for charts below {allowed}"
    )]
    OtherPath {
        /// The Registry.
        registry: ObjectKey,
        /// The artifact's namespace.
        namespace: String,
        /// The path that the chart must be below.
        allowed: String,
    },
    /// The Registry is for another host: its credentials are not sent elsewhere.
    #[error("Registry {registry} is for host {registry_host}, and the chart is at {host}")]
    OtherHost {
        /// The Registry.
        registry: ObjectKey,
        /// Its host.
        registry_host: String,
        /// The artifact's host.
        host: String,
    },
    /// The Registry names no Secret.
    #[error("Registry {registry} has no solarSecretRef")]
    NoSecret {
        /// The Registry.
        registry: ObjectKey,
    },
}

impl CredentialsError {
    /// The reason of the condition OCICleanup.
    pub fn reason(&self) -> Reason {
        Reason::AuthFailed
    }
}

/// The Registry's Secret for deleting an artifact's tag; `registry` is the one that the artifact names, if it exists.
pub fn credentials<'a>(
    artifact: &RenderArtifact,
    registry: Option<&'a Registry>,
    grants: &[ReferenceGrant],
    cross: CrossNamespace,
) -> Result<&'a str, CredentialsError> {
    let RenderArtifactSpec {
        base_url,
        registry_ref,
        ..
    } = &artifact.spec;
    let reference = registry_ref.as_ref().ok_or(CredentialsError::NoRegistry)?;
    let key = reference.resolved(artifact.namespace());
    let (from, to) = (artifact.namespace(), key.namespace.as_str());
    if !CrossReference::ArtifactToRegistry.is_granted(from, to, grants) {
        let missing = CrossReference::ArtifactToRegistry.missing(from, to, cross);
        return Err(CredentialsError::NotGranted { missing });
    }
    let Some(registry) = registry.filter(|registry| registry.key() == key) else {
        return Err(CredentialsError::NotFound { registry: key });
    };
    let (own, other) = (host(base_url), host(&registry.spec.hostname));
    if own != other {
        return Err(CredentialsError::OtherHost {
            registry: key,
            registry_host: other,
            host: own,
        });
    }
    // Otherwise anyone who may write artifacts could delete the charts of other namespaces with it.
    let allowed = path(&registry.spec.hostname, from);
    let chart = path(base_url, &artifact.spec.repository);
    if from != to && !chart.starts_with(&format!("{allowed}/")) {
        return Err(CredentialsError::OtherPath {
            registry: key,
            namespace: from.to_owned(),
            allowed,
        });
    }
    let secret = registry.spec.solar_secret_ref.as_ref();
    secret
        .map(|secret| secret.name.as_str())
        .ok_or(CredentialsError::NoSecret { registry: key })
}

#[cfg(test)]
mod tests;
