//! `ComponentVersion`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Column, ConditionsStatus, Spec, USABLE};
use crate::api::LocalReference;

/// The resources of a component version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentVersionSpec {
    /// The Component this is a version of, in the same namespace.
    pub component_ref: LocalReference,
    /// The version, as the component is tagged in its registry.
    #[schemars(length(max = 128))]
    pub tag: String,
    /// The version's resources, by name.
    #[schemars(extend("maxProperties" = 256))]
    pub resources: BTreeMap<String, ResourceAccess>,
    /// The resource that is installed.
    pub entrypoint: Entrypoint,
}

/// A resource in a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceAccess {
    /// `host[:port]/path`, with or without `oci://`.
    #[schemars(length(max = 512))]
    pub repository: String,
    /// The registry is reached over plain HTTP.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// A tag, or `@sha256:…`.
    #[schemars(length(max = 256))]
    pub tag: String,
    /// The properties of a Helm chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm: Option<HelmResource>,
}

/// The properties of a Helm chart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmResource {
    /// The chart's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub name: String,
    /// The chart's own description.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096))]
    pub description: String,
    /// The chart's version.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub version: String,
    /// The version of what the chart installs.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub app_version: String,
    /// Helm values as text, for Flux to template.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 524_288))]
    pub values_template: String,
}

/// The resource that is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entrypoint {
    /// A key of `resources`.
    #[schemars(length(max = 253))]
    pub resource_name: String,
    /// How it is installed.
    #[serde(rename = "type")]
    pub kind: EntrypointKind,
}

/// How an entrypoint is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EntrypointKind {
    /// By Flux, as a Helm chart.
    #[serde(rename = "helm")]
    Helm,
    /// By kro, which the renderer refuses.
    #[serde(rename = "kro")]
    Kro,
    /// Not known: the version can't be released.
    #[serde(rename = "")]
    Unknown,
}

impl EntrypointKind {
    /// As in the spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Helm => "helm",
            Self::Kro => "kro",
            Self::Unknown => "",
        }
    }
}

impl Spec for ComponentVersionSpec {
    type Status = ConditionsStatus;
    const KIND: &'static str = "ComponentVersion";
    const PLURAL: &'static str = "componentversions";
    const SHORT: &'static str = "cv";
    const ABOUT: &'static str =
        "One version of a Component: charts in registries, and which of them is installed.";
    const COLUMNS: &'static [Column] = &[
        ("Component Ref", "string", ".spec.componentRef.name"),
        ("Tag", "string", ".spec.tag"),
    ];
    const READY_FROM_CREATION: Option<&'static str> = Some(USABLE);
}
