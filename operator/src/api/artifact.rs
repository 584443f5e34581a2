//! `Artifact`: files from elsewhere, pushed to a registry as an OCI artifact.
//!
//! Every string that reaches the command line of a container has a pattern and a maximum length.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::crd::{Column, Names, definition, structural};
use super::spec::{REPOSITORY, TAG};
use super::{Attempt, GROUP, IfExists, LocalReference, OwnedReference, VERSION};
use crate::key::KindId;

/// `OWNER/NAME`
const HUB_REPOSITORY: &str = r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?$";
/// A branch, a tag or a commit.
const REVISION: &str = r"^[A-Za-z0-9_][A-Za-z0-9._+-]*(/[A-Za-z0-9_][A-Za-z0-9._+-]*)*$";
/// Text without control characters.
const PATTERN: &str = r"^[^\x00-\x1f\x7f]+$";
/// A URL without credentials.
const URL: &str =
    r"^https?://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/[!-~]+$";
/// `host[:port]/path` with a tag or a digest.
const REFERENCE: &str = r"^(oci://)?([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}|@sha256:[0-9a-f]{64})$";
/// `host[:port]`
const REGISTRY: &str = r"^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$";
/// A quantity of bytes.
const SIZE: &str = r"^[1-9][0-9]*(Ki|Mi|Gi|Ti|k|M|G|T)?$";
/// The name of an object.
const NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// A key of a Secret.
const KEY: &str = r"^[-._a-zA-Z0-9]+$";

const DEFAULT_TTL: i32 = 3600;
const DEFAULT_SIZE: &str = "10Gi";
const DEFAULT_REVISION: &str = "main";
const DEFAULT_KEY: &str = "token";

/// The kind.
pub const ARTIFACTS: KindId = KindId {
    kind: "Artifact",
    group: GROUP,
    version: VERSION,
    plural: "artifacts",
    namespaced: true,
};

const COLUMNS: [Column; 6] = [
    ("Phase", "string", ".status.phase", 0),
    (
        "Ready",
        "string",
        ".status.conditions[?(@.type==\"Ready\")].status",
        0,
    ),
    ("Registry", "string", ".spec.target.registry", 0),
    ("Repository", "string", ".spec.target.repository", 0),
    ("Digest", "string", ".status.digest", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
];

/// What is imported, how it is packed, and where it is pushed to. A change of these imports again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "self.format != 'Chart' || !has(self.source.huggingFace)", "message": "a chart can't come from Hugging Face"},
]))]
pub struct ArtifactSpec {
    /// Where the files are: exactly one of the three.
    pub source: ImportSource,
    /// The form of the artifact.
    pub format: ArtifactFormat,
    /// Where it is pushed to.
    pub target: ImportTarget,
    /// The volume that the files are imported to. A change imports again, to a new volume.
    #[serde(default)]
    pub storage: WorkspaceStorage,
    /// How long a finished Job is kept, in seconds.
    #[serde(default = "default_ttl")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: i32,
    /// Start no Job; one that runs goes on.
    #[serde(default)]
    pub suspend: bool,
}

/// Where the files are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "[has(self.huggingFace), has(self.oci), has(self.http)].filter(given, given).size() == 1",
     "message": "exactly one of huggingFace, oci and http is required"},
]))]
pub struct ImportSource {
    /// A repository of models on Hugging Face.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hugging_face: Option<HuggingFaceSource>,
    /// An artifact in a registry, which is copied byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oci: Option<OciSource>,
    /// A file on a web server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpSource>,
}

/// A repository of models on Hugging Face.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HuggingFaceSource {
    /// `OWNER/NAME`
    #[schemars(length(min = 1, max = 96), regex(pattern = HUB_REPOSITORY))]
    pub repository: String,
    /// A branch, a tag or a commit. A branch is resolved when the Job runs.
    #[serde(default = "default_revision")]
    #[schemars(length(min = 1, max = 255), regex(pattern = REVISION))]
    pub revision: String,
    /// The Secret with a token, for private and gated repositories. The operator does not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_secret_ref: Option<SecretKeyReference>,
    /// Import only the files that match one of these patterns, in which `*` also matches `/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256), regex(pattern = PATTERN)))]
    pub include: Vec<String>,
    /// Leave out the files that match one of these patterns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256), regex(pattern = PATTERN)))]
    pub exclude: Vec<String>,
}

/// An artifact in a registry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OciSource {
    /// `host[:port]/path:tag` or `host[:port]/path@sha256:…`, with or without `oci://`.
    #[schemars(length(min = 1, max = 640), regex(pattern = REFERENCE))]
    pub reference: String,
    /// The registry is reached over plain HTTP.
    #[serde(default)]
    pub insecure: bool,
    /// The Secret with the credentials to pull with, of type kubernetes.io/dockerconfigjson.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<LocalReference>,
}

/// A file on a web server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpSource {
    /// The file's URL, without credentials.
    #[schemars(length(min = 1, max = 2048), regex(pattern = URL))]
    pub url: String,
    /// The SHA-256 that the file must have, in hex.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub sha256: String,
    /// The Secret with headers for the server: keys are names, values the values. The operator does not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers_secret_ref: Option<LocalReference>,
}

/// A key of a Secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecretKeyReference {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// The key.
    #[serde(default = "default_key")]
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY))]
    pub key: String,
}

/// The form of the artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ArtifactFormat {
    /// A model in the format of CNCF's ModelPack.
    ModelPack,
    /// A Helm chart.
    Chart,
    /// Any files.
    Raw,
}

/// Where an artifact is pushed to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportTarget {
    /// The registry: `host[:port]`.
    #[schemars(length(min = 1, max = 255), regex(pattern = REGISTRY))]
    pub registry: String,
    /// The path in it. For a chart without a tag, what its name is appended to.
    #[schemars(length(min = 1, max = 255), regex(pattern = REPOSITORY))]
    pub repository: String,
    /// The tag; `latest` without one. A chart without one gets its name and version, as by Helm's rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = TAG))]
    pub tag: Option<String>,
    /// The Secret with the credentials to push with: of type kubernetes.io/basic-auth, or
    /// kubernetes.io/dockerconfigjson. The operator does not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<LocalReference>,
    /// The registry is reached over plain HTTP.
    #[serde(default)]
    pub insecure: bool,
    /// What happens when another artifact is at the tag.
    #[serde(default)]
    pub if_exists: IfExists,
}

/// The volume that files are imported to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkspaceStorage {
    /// Its size, with room for all files.
    #[schemars(length(min = 1, max = 20), regex(pattern = SIZE))]
    pub size: String,
    /// Its StorageClass; the cluster's default without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub storage_class_name: Option<String>,
    /// Its access mode.
    pub access_mode: AccessMode,
}

/// The access mode of a volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AccessMode {
    /// Pods of one node.
    #[default]
    ReadWriteOnce,
    /// One pod.
    ReadWriteOncePod,
    /// Pods of all nodes.
    ReadWriteMany,
}

/// The state of an import in one word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ImportPhase {
    /// No Job runs yet.
    #[default]
    Pending,
    /// The Job's container runs.
    Running,
    /// It was pushed.
    Succeeded,
    /// It has failed for good.
    Failed,
}

/// What became of an Artifact.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ArtifactStatus {
    /// The generation of the spec whose import has finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The state in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<ImportPhase>,
    /// Ready and Stalled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The digest of the manifest in the registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^sha256:[0-9a-f]{64}$"))]
    pub digest: Option<String>,
    /// Where it is: `host/path:tag`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The size of its files, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// From Hugging Face, the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The Job of the current attempt; of a finished one it may be gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_ref: Option<OwnedReference>,
    /// The volume, while there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_ref: Option<OwnedReference>,
    /// When the Job was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When the import ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// The newest finished pods, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub attempts: Vec<Attempt>,
    /// The state that later reconciles need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<ImportRun>,
}

/// What the operator has to remember of the present import.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ImportRun {
    /// The generation of the spec that it began with, which the Jobs' names have.
    pub generation: i64,
    /// The SHA-256 of source, format, target and storage: another one is another import.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub input: Option<String>,
    /// The number of the current attempt, which the Job's name has.
    pub attempt: i32,
    /// The number of its first attempt.
    pub first_attempt: i32,
    /// The value of the annotation `solar.opendefense.cloud/retry` that it has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<String>,
    /// When the current attempt may begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Time>,
    /// The import has ended, and its volume was deleted.
    #[serde(skip_serializing_if = "is_false")]
    pub workspace_deleted: bool,
}

/// The whole object, for the schema.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Root {
    /// What is imported, how it is packed, and where it is pushed to. A change of these imports again.
    spec: ArtifactSpec,
    /// The observed state.
    #[serde(default)]
    #[schemars(with = "ArtifactStatus")]
    status: ArtifactStatus,
}

/// The CRD.
pub fn crd() -> Result<CustomResourceDefinition, serde_json::Error> {
    let names = Names {
        kind: ARTIFACTS.kind,
        plural: ARTIFACTS.plural,
        short: "art",
        scope: "Namespaced",
    };
    let about = "Files from elsewhere, pushed to a registry as an OCI artifact by a Job.";
    Ok(definition(
        &names,
        COLUMNS.into_iter(),
        structural::<Root>(about)?,
    ))
}

impl Default for WorkspaceStorage {
    fn default() -> Self {
        Self {
            size: DEFAULT_SIZE.to_owned(),
            storage_class_name: None,
            access_mode: AccessMode::default(),
        }
    }
}

impl AccessMode {
    /// As Kubernetes names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadWriteOnce => "ReadWriteOnce",
            Self::ReadWriteOncePod => "ReadWriteOncePod",
            Self::ReadWriteMany => "ReadWriteMany",
        }
    }
}

impl ArtifactFormat {
    /// As the renderer's flag has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ModelPack => "model-pack",
            Self::Chart => "chart",
            Self::Raw => "raw",
        }
    }
}

impl ImportPhase {
    /// As in the status.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

fn default_ttl() -> i32 {
    DEFAULT_TTL
}

fn default_revision() -> String {
    DEFAULT_REVISION.to_owned()
}

fn default_key() -> String {
    DEFAULT_KEY.to_owned()
}
