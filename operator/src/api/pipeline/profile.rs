//! `Profile`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::schemas::any_map;
use super::{Column, LabelSelector, Spec};
use crate::api::LocalReference;

/// Which Release is deployed to which Targets.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileSpec {
    /// The Release, in the same namespace.
    pub release_ref: LocalReference,
    /// Which Targets: of the same namespace, and of those that grant it. Empty: all.
    #[serde(default)]
    pub target_selector: LabelSelector,
    /// Data for the Targets of this Profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_map")]
    pub userdata: Option<Box<RawValue>>,
    /// Suspends reconciling while it is true, except for its own deletion. Running Jobs continue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,
}

/// The observed state of a Profile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProfileStatus {
    /// The generation of the spec that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, Stalled, Suspended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// How many Targets match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_targets: Option<i64>,
}

impl Spec for ProfileSpec {
    type Status = ProfileStatus;
    const KIND: &'static str = "Profile";
    const PLURAL: &'static str = "profiles";
    const SHORT: &'static str = "prf";
    const ABOUT: &'static str = "A Release that is to be deployed to all Targets with certain labels.";
    const COLUMNS: &'static [Column] = &[
        ("Release Ref", "string", ".spec.releaseRef.name"),
        ("Matched Targets", "integer", ".status.matchedTargets"),
    ];
}
