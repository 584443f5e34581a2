//! The spec of a task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use solar_render::config::schema::{BootstrapDocument, ChartKind, ReleaseDocument};

/// How long a failed task's config Secret is kept by default, in seconds.
const DEFAULT_FAILED_JOB_TTL: i32 = 3600;

/// Path elements that registries allow, separated by slashes, also at the beginning and the end.
pub(super) const REPOSITORY: &str =
    r"^/*[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*/*$";
/// A host, maybe a port, maybe a path.
pub(super) const BASE_URL: &str = r"^(oci://)?([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*/*$";

/// A tag that registries allow.
pub(super) const TAG: &str = r"^[A-Za-z0-9_][A-Za-z0-9._-]*$";

/// The digest of a manifest.
const DIGEST: &str = "^sha256:[0-9a-f]{64}$";

/// What is rendered, and where the chart is pushed to. It can't be changed: another chart is another task.
///
/// The renderer's config is not decoded, only passed on: it is a tenant's, of any depth and size.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(
    description = "What is to be rendered, and where it goes. It can't be changed: another chart is another task."
)]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "self == oldSelf", "message": "spec is immutable: make another task"},
    {"rule": "self.type != 'release' || has(self.release)", "message": "type release needs the block release"},
    {"rule": "self.type != 'bootstrap' || has(self.bootstrap)", "message": "type bootstrap needs the block bootstrap"},
]))]
pub struct TaskSpec {
    /// Which kind of chart: the block of this name is rendered, the other may be present and is ignored.
    #[serde(rename = "type")]
    pub chart_kind: ChartKind,
    /// A component as Flux objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ReleaseDocument>")]
    pub release: Option<Box<RawValue>>,
    /// Many releases as Flux objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BootstrapDocument>")]
    pub bootstrap: Option<Box<RawValue>>,
    /// The path below `baseURL` that the chart is pushed to; its last element is the chart's name.
    #[schemars(length(min = 1, max = 255), regex(pattern = REPOSITORY))]
    pub repository: String,
    /// The tag the chart is pushed under: the chart's version, `+` as `_`.
    #[schemars(length(min = 1, max = 128), regex(pattern = TAG))]
    pub tag: String,
    /// The registry, and maybe a path in it: `host[:port][/path]`, with or without `oci://`.
    #[serde(rename = "baseURL")]
    #[schemars(length(min = 1, max = 512), regex(pattern = BASE_URL))]
    pub base_url: String,
    /// The Secret with the credentials to push with: of type kubernetes.io/basic-auth, or
    /// kubernetes.io/dockerconfigjson. In the task's namespace; for a ClusterRenderTask in the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_secret_ref: Option<LocalReference>,
    /// The Secret with the key that the chart is signed with once it is pushed: `cosign.key` and `cosign.password`, as
    /// `cosign generate-key-pair k8s://…` makes them. Where the push Secret is. The operator does not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_key_secret_ref: Option<LocalReference>,
    /// The digest that the chart must have: the Job fails with Conflict, before anything is sent, when it has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DIGEST))]
    pub expected_digest: Option<String>,
    /// Push over plain HTTP.
    #[serde(default, rename = "plainHTTP")]
    pub plain_http: bool,
    /// What happens when another chart is at the tag.
    #[serde(default)]
    pub if_exists: IfExists,
    /// How long the Job and the config Secret of a failed task are kept, in seconds.
    #[serde(default = "default_failed_job_ttl", rename = "failedJobTTL")]
    #[schemars(range(min = 0))]
    pub failed_job_ttl: i32,
    /// The name of the owner, for which the task was created.
    #[schemars(length(min = 1))]
    pub owner_name: String,
    /// The namespace of the owner.
    #[schemars(length(min = 1))]
    pub owner_namespace: String,
    /// The kind of the owner.
    #[schemars(length(min = 1))]
    pub owner_kind: String,
}

/// An object in the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalReference {
    /// Its name.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub name: String,
}

/// What happens when another chart is at the tag.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IfExists {
    /// The task fails.
    #[default]
    Fail,
    /// The other chart stays.
    Skip,
    /// The existing chart is replaced.
    Replace,
}

impl IfExists {
    /// As in the spec and on the renderer's command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Skip => "skip",
            Self::Replace => "replace",
        }
    }
}

/// The renderer's config, as it is in the spec.
#[derive(Serialize)]
struct Config<'a> {
    #[serde(rename = "type")]
    chart_kind: ChartKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bootstrap: Option<&'a RawValue>,
}

impl TaskSpec {
    /// The renderer's config as JSON.
    pub fn config(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&Config {
            chart_kind: self.chart_kind,
            release: self.release.as_deref(),
            bootstrap: self.bootstrap.as_deref(),
        })
    }

    /// The SHA-256 of that JSON, in hex.
    pub fn config_sha256(&self) -> Result<String, serde_json::Error> {
        let digest = Sha256::digest(self.config()?);
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// `baseURL` without the scheme and without a slash at its end.
    pub fn base(&self) -> &str {
        let text = self.base_url.as_str();
        text.strip_prefix("oci://").unwrap_or(text).trim_end_matches('/')
    }

    /// The registry: what `baseURL` names before its first slash, in lower case.
    pub fn host(&self) -> String {
        let base = self.base();
        base.split_once('/')
            .map_or(base, |(host, _)| host)
            .to_ascii_lowercase()
    }

    /// Where the chart goes: `oci://host/path:tag`.
    pub fn chart_url(&self) -> String {
        let path = self.repository.trim_matches('/');
        format!("oci://{}/{path}:{}", self.base(), self.tag)
    }
}

fn default_failed_job_ttl() -> i32 {
    DEFAULT_FAILED_JOB_TTL
}
