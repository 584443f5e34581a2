//! `RenderBinding`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schemas::{NAMESPACE, OBJECT_NAME};
use super::{Column, ConditionsStatus, ObjectReference, Spec};
use crate::api::LocalReference;

/// The message of Ready: true of a RenderBinding as soon as it exists, whether or not it has a RenderArtifact.
pub const KEEPS_TAG: &str = "no tag of its RenderArtifact is deleted";

/// Which pushed chart is used, and by what. Only `registryRef` may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.renderArtifactRef == oldSelf.renderArtifactRef && self.ownerKind == oldSelf.ownerKind && self.ownerName == oldSelf.ownerName && self.ownerNamespace == oldSelf.ownerNamespace",
    "message": "a RenderBinding is immutable but for registryRef",
}]))]
pub struct RenderBindingSpec {
    /// The RenderArtifact, in the same namespace.
    pub render_artifact_ref: LocalReference,
    /// The kind of what uses it, as `Target`.
    #[schemars(length(min = 1, max = 63))]
    pub owner_kind: String,
    /// Its name.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub owner_name: String,
    /// Its namespace.
    #[schemars(length(min = 1, max = 63), regex(pattern = NAMESPACE))]
    pub owner_namespace: String,
    /// The Registry that the user of the chart pushes to now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_ref: Option<ObjectReference>,
}

impl Spec for RenderBindingSpec {
    type Status = ConditionsStatus;
    const KIND: &'static str = "RenderBinding";
    const PLURAL: &'static str = "renderbindings";
    const SHORT: &'static str = "rbin";
    const ABOUT: &'static str = "The use of a RenderArtifact, by a Target.";
    const COLUMNS: &'static [Column] = &[
        ("Artifact", "string", ".spec.renderArtifactRef.name"),
        ("OwnerKind", "string", ".spec.ownerKind"),
        ("OwnerName", "string", ".spec.ownerName"),
    ];
    const READY_FROM_CREATION: Option<&'static str> = Some(KEEPS_TAG);
}
