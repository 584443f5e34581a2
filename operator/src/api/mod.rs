//! The resources: [`Task`], which is a `RenderTask` or a `ClusterRenderTask`, and their CRDs.
//!
//! Both kinds share one spec, one status and one Rust type; [`Scope`] says which of them an object
//! is, as kube's `DynamicType`. The CRDs come from these types and from nothing else.

pub mod artifact;
pub mod cluster_addons;
mod crd;
pub(crate) mod metadata;
pub mod pipeline;
mod spec;
mod status;

use std::borrow::Cow;

use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::DynamicResourceScope;
use serde::{Deserialize, Serialize};

use crate::key::KindId;

pub use crd::{OptionalKinds, crd, crds, crds_yaml};
pub use spec::{IfExists, LocalReference, TaskSpec};
pub use status::{Attempt, MAX_ATTEMPTS, OwnedReference, Run, TaskStatus};

/// The API group.
pub const GROUP: &str = "solar.opendefense.cloud";
/// Its version.
pub const VERSION: &str = "v1alpha1";
/// The annotation that requests a retry of a failed task: each new value requests one.
pub const RETRY_ANNOTATION: &str = "solar.opendefense.cloud/retry";
/// Flux' annotation that requests a reconcile: each new value requests one.
pub const REQUESTED_AT_ANNOTATION: &str = "reconcile.fluxcd.io/requestedAt";
/// The annotation of a Job with the run it was created for, as JSON: it replaces a status that was not written.
pub const RUN_ANNOTATION: &str = "solar.opendefense.cloud/run";
/// The label of RenderBindings and RenderTasks that names the RenderArtifact of their chart.
pub const ARTIFACT_LABEL: &str = "solar.opendefense.cloud/render-artifact";
/// The annotation of a RenderArtifact with the digest of the pushed chart: other content at its tag is not deleted.
pub const DIGEST_ANNOTATION: &str = "solar.opendefense.cloud/digest";
/// The annotation of a RenderArtifact that is `true` when its tag is to be left in the registry.
pub const KEEP_TAG_ANNOTATION: &str = "solar.opendefense.cloud/keep-tag";
/// The annotation of objects in workload clusters with the namespace and the name of their ClusterAddon.
pub const ADDON_ANNOTATION: &str = "solar.opendefense.cloud/cluster-addon";
/// The annotation of a config Secret that holds the SHA-256 of the config that was put into it.
pub const CONFIG_SHA256_ANNOTATION: &str = "solar.opendefense.cloud/config-sha256";
/// The annotation of a push Secret that names the one registry host it may be used for.
pub const REGISTRY_HOST_ANNOTATION: &str = "solar.opendefense.cloud/registry-host";

/// The scope, which distinguishes the two kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// `RenderTask`: Job and Secrets are in the task's namespace.
    Namespaced,
    /// `ClusterRenderTask`: Job and Secrets are in the operator's Job namespace.
    Cluster,
}

/// A `RenderTask` or a `ClusterRenderTask`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// As a stored object says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// As a stored object says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name, namespace, UID.
    #[serde(deserialize_with = "metadata::metadata")]
    pub metadata: ObjectMeta,
    /// What is to be rendered and where it goes.
    pub spec: TaskSpec,
    /// The observed state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
}

impl Scope {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Namespaced, Self::Cluster];

    /// The kind's name.
    pub fn kind(self) -> &'static str {
        self.id().kind
    }

    /// The kind's name in URLs.
    pub fn plural(self) -> &'static str {
        self.id().plural
    }

    /// The kind's identifier for the runtime.
    pub const fn id(self) -> KindId {
        let (kind, plural) = match self {
            Self::Namespaced => ("RenderTask", "rendertasks"),
            Self::Cluster => ("ClusterRenderTask", "clusterrendertasks"),
        };
        KindId {
            kind,
            group: GROUP,
            version: VERSION,
            plural,
            namespaced: matches!(self, Self::Namespaced),
        }
    }

    /// The scope of one of the two kinds.
    pub fn of(kind: KindId) -> Self {
        if kind.namespaced {
            Self::Namespaced
        } else {
            Self::Cluster
        }
    }
}

/// `solar.opendefense.cloud/v1alpha1`.
pub fn api_version() -> String {
    format!("{GROUP}/{VERSION}")
}

impl Task {
    /// What is known of it; nothing yet, for a new one.
    pub fn known(&self) -> TaskStatus {
        self.status.clone().unwrap_or_default()
    }

    /// The value of the annotation that requests a retry.
    pub fn retry(&self) -> Option<&str> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations.get(RETRY_ANNOTATION).map(String::as_str)
    }
}

impl Resource for Task {
    type DynamicType = Scope;
    type Scope = DynamicResourceScope;

    fn kind(scope: &Scope) -> Cow<'_, str> {
        scope.kind().into()
    }

    fn group(_: &Scope) -> Cow<'_, str> {
        GROUP.into()
    }

    fn version(_: &Scope) -> Cow<'_, str> {
        VERSION.into()
    }

    fn plural(scope: &Scope) -> Cow<'_, str> {
        scope.plural().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
