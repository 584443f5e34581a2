//! `Registry`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schemas::OPTIONAL_NAME;
use super::{Column, ConditionsStatus, Spec, USABLE};
use crate::api::LocalReference;
use crate::api::spec::BASE_URL;

/// Where the registry is, and which credentials are used with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistrySpec {
    /// `host[:port]`, maybe with a path: what charts are pushed below, and which resources pull secrets are for.
    #[schemars(length(min = 1, max = 512), regex(pattern = BASE_URL))]
    pub hostname: String,
    /// The registry is reached over plain HTTP.
    #[serde(default, rename = "plainHTTP", skip_serializing_if = "std::ops::Not::not")]
    pub plain_http: bool,
    /// The Secret with the credentials to push with, in the same namespace; required of a Target's render registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solar_secret_ref: Option<LocalReference>,
    /// The name of the Secret on the target that Flux pulls with; empty: anonymous. It is named in charts, never read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253), regex(pattern = OPTIONAL_NAME))]
    pub target_pull_secret_name: String,
    /// The registry's product. Kept for discovery, not used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub flavor: String,
    /// The path of a webhook. Kept for discovery, not used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub webhook_path: String,
    /// How often the registry is scanned, as `24h0m0s`. Kept for discovery, not used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub scan_interval: String,
}

impl Spec for RegistrySpec {
    type Status = ConditionsStatus;
    const KIND: &'static str = "Registry";
    const PLURAL: &'static str = "registries";
    const SHORT: &'static str = "reg";
    const ABOUT: &'static str = "An OCI registry that charts are pushed to or pulled from.";
    const COLUMNS: &'static [Column] = &[
        ("Hostname", "string", ".spec.hostname"),
        ("Plain HTTP", "boolean", ".spec.plainHTTP"),
    ];
    const READY_FROM_CREATION: Option<&'static str> = Some(USABLE);
}
