//! The document of `apply`.

use serde::Serialize;

use super::documents::Document;

/// What `apply -o json` prints; with `--dry-run` it is the document of `diff`, whose older side is the cluster.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ApplyDocument {
    /// The kubeconfig's context.
    pub(crate) context: String,
    /// The chart's name.
    pub(crate) chart: String,
    /// The chart's version.
    pub(crate) version: String,
    /// The release's name.
    pub(crate) release: String,
    /// The release's namespace.
    pub(crate) namespace: String,
    /// The numbers of objects.
    pub(crate) total: ApplyTotal,
    /// The objects, in the order in which they were sent.
    pub(crate) objects: Vec<AppliedEntry>,
}

/// The numbers of objects.
#[derive(Serialize, Clone, Copy)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ApplyTotal {
    /// Those that the cluster did not have.
    pub(crate) created: usize,
    /// Those that are others now.
    pub(crate) changed: usize,
    /// Those that were the same before.
    pub(crate) unchanged: usize,
    /// Those that the API server has refused.
    pub(crate) failed: usize,
    /// Those that were not sent, since the cluster had stopped answering.
    pub(crate) not_tried: usize,
}

/// An object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AppliedEntry {
    /// `apiVersion`
    pub(crate) api_version: String,
    /// `kind`
    pub(crate) kind: String,
    /// The namespace that it is in; empty if it is cluster-scoped.
    pub(crate) namespace: String,
    /// `metadata.name`
    pub(crate) name: String,
    /// `created`, `changed`, `unchanged`, `failed` or `not tried`.
    pub(crate) outcome: &'static str,
    /// The template that printed it; absent for a namespace of `--create-namespace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) template: Option<String>,
    /// Why it has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

impl Document for ApplyDocument {}
