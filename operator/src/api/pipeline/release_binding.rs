//! `ReleaseBinding`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Column, ConditionsStatus, ObjectReference, Spec};
use crate::api::LocalReference;

/// Which Release is deployed to which Target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseBindingSpec {
    /// The Target. One of another namespace requires a ReferenceGrant there.
    pub target_ref: ObjectReference,
    /// The Release, in the same namespace.
    pub release_ref: LocalReference,
}

impl Spec for ReleaseBindingSpec {
    type Status = ConditionsStatus;
    const KIND: &'static str = "ReleaseBinding";
    const PLURAL: &'static str = "releasebindings";
    const SHORT: &'static str = "rlb";
    const ABOUT: &'static str = "A Release that is to be deployed to a Target.";
    const COLUMNS: &'static [Column] = &[
        ("Target", "string", ".spec.targetRef.name"),
        ("Release", "string", ".spec.releaseRef.name"),
    ];
}
