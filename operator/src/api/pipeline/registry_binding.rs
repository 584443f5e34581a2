//! `RegistryBinding`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Column, ConditionsStatus, ObjectReference, Spec};
use crate::api::LocalReference;

/// Which Registry a Target pulls from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryBindingSpec {
    /// The Target. One of another namespace requires a ReferenceGrant there.
    pub target_ref: ObjectReference,
    /// The Registry, in the same namespace.
    pub registry_ref: LocalReference,
}

impl Spec for RegistryBindingSpec {
    type Status = ConditionsStatus;
    const KIND: &'static str = "RegistryBinding";
    const PLURAL: &'static str = "registrybindings";
    const SHORT: &'static str = "rb";
    const ABOUT: &'static str =
        "A Registry that a Target pulls from, with the pull Secret that the Registry names.";
    const COLUMNS: &'static [Column] = &[
        ("Target", "string", ".spec.targetRef.name"),
        ("Registry", "string", ".spec.registryRef.name"),
    ];
}
