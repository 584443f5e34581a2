//! The JSON documents of commands whose result is a list or a rendering: one type each, with its fields described.
//!
//! What `push`, `publish` and their like print is [`Report`](super::Report). The types say what is printed: the
//! reference page `docs/reference/result.md` is made from them.

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Outcome, SCHEMA, TagEntry, encode};
use crate::value::Value;

/// A document that is printed as one line of JSON, with the version of the schema.
pub(crate) trait Document: Serialize {
    /// The line, without a newline.
    fn to_json(&self) -> String {
        encode(&Versioned {
            schema: SCHEMA,
            document: self,
        })
    }
}

#[derive(Serialize)]
struct Versioned<'d, D: ?Sized> {
    schema: u32,
    #[serde(flatten)]
    document: &'d D,
}

/// Any JSON value.
#[derive(Debug, Clone)]
pub(crate) struct AnyValue(pub(crate) Value);

impl Serialize for AnyValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Numbers are printed in our own way, which serde's data model has no words for.
        RawValue::from_string(self.0.to_json())
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

#[cfg(test)]
impl schemars::JsonSchema for AnyValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::Schema::default()
    }
}

/// What `template -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TemplateDocument {
    /// Always `rendered`.
    pub(crate) outcome: Outcome,
    /// The release.
    pub(crate) release: ReleaseEntry,
    /// The manifests in the order in which they are printed: CRDs first, hooks last.
    pub(crate) objects: Vec<ObjectEntry>,
    /// The functions that were called and give another result in each run.
    pub(crate) impure: Vec<String>,
    /// The functions that were called and whose random results `--frozen` derives from the inputs.
    pub(crate) predictable: Vec<String>,
    /// NOTES.txt as rendered, when the chart has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) notes: Option<String>,
}

/// A release.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReleaseEntry {
    /// Its name.
    pub(crate) name: String,
    /// Its namespace.
    pub(crate) namespace: String,
}

/// A manifest.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ObjectEntry {
    /// The template, as in `# Source:`.
    pub(crate) source: String,
    /// The Kubernetes object.
    pub(crate) object: AnyValue,
    /// For a hook, its annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hook: Option<HookEntry>,
}

/// A hook's annotations.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HookEntry {
    /// `helm.sh/hook`: `pre-install`, `test` …
    pub(crate) events: Vec<String>,
    /// `helm.sh/hook-weight`
    pub(crate) weight: i64,
    /// `helm.sh/hook-delete-policy`
    pub(crate) delete_policies: Vec<String>,
    /// `helm.sh/hook-output-log-policy`
    pub(crate) output_log_policies: Vec<String>,
}

/// What `lint -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LintDocument {
    /// The charts, in the order given.
    pub(crate) charts: Vec<LintedEntry>,
    /// The findings, chart by chart.
    pub(crate) findings: Vec<FindingEntry>,
}

/// A chart that was linted.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LintedEntry {
    /// The path as it was given.
    pub(crate) chart: String,
    /// Whether it makes the command fail.
    pub(crate) failed: bool,
    /// Why the chart could not be linted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// A finding of lint.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FindingEntry {
    /// The chart: as in `charts`.
    pub(crate) chart: String,
    /// `info`, `warning` or `error`.
    pub(crate) severity: &'static str,
    /// The rule's id: see the [lint rules](lint-rules.md).
    pub(crate) rule: &'static str,
    /// Whether `helm lint` reports it too.
    pub(crate) helm: bool,
    /// The file or folder of the chart that it is about, as Helm names it.
    pub(crate) path: String,
    /// The message.
    pub(crate) message: String,
    /// The file, when the location is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// Why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hints: Vec<String>,
}

/// What `lint --rules -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RulesDocument {
    /// The rules.
    pub(crate) rules: Vec<RuleEntry>,
}

/// A rule of lint.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RuleEntry {
    /// Its id.
    pub(crate) id: &'static str,
    /// The severity of its findings: `info`, `warning` or `error`.
    pub(crate) severity: &'static str,
    /// Who reports it: `helm`, `solar-render`, or `helm, and further ones here`.
    pub(crate) reported_by: &'static str,
    /// What is checked.
    pub(crate) check: &'static str,
    /// One sentence: what is wrong.
    pub(crate) doc: &'static str,
}

/// What `repo list -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RepositoriesDocument {
    /// The repositories in Helm's list, in its order.
    pub(crate) repositories: Vec<RepositoryName>,
}

/// A chart repository.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RepositoryName {
    /// Its name.
    pub(crate) name: String,
    /// Its URL, without credentials.
    pub(crate) url: String,
}

/// What `search repo -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SearchDocument {
    /// The charts that were found, the best match first.
    pub(crate) charts: Vec<FoundChart>,
}

/// A chart of a repository.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FoundChart {
    /// `REPOSITORY/CHART`.
    pub(crate) name: String,
    /// The chart's version.
    pub(crate) version: String,
    /// The version of what it installs.
    pub(crate) app_version: String,
    /// The chart's description.
    pub(crate) description: String,
}

/// What `env -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EnvDocument {
    /// The variables with their values.
    pub(crate) environment: std::collections::BTreeMap<String, String>,
}

/// What `plugin list -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PluginsDocument {
    /// Always empty.
    pub(crate) plugins: [String; 0],
}

/// What `images -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ImagesDocument {
    /// Always `rendered`.
    pub(crate) outcome: Outcome,
    /// The images in order, each once.
    pub(crate) images: Vec<ImageEntry>,
}

/// An image.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ImageEntry {
    /// As it is written: `registry/repository:tag`.
    pub(crate) image: String,
    /// The fields that name it.
    pub(crate) uses: Vec<ImageUse>,
}

/// A field that names an image. What the object does not have is absent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ImageUse {
    /// The template, as in `# Source:`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) source: String,
    /// The object's `apiVersion`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) api_version: String,
    /// The object's `kind`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) kind: String,
    /// The object's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    /// The object's namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) namespace: String,
    /// The field: `spec.template.spec.containers[0].image`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) field: String,
    /// Whether the field is known to hold an image; otherwise its name and content suggest one.
    pub(crate) exact: bool,
}

/// What `show -o json` prints: the parts that were asked for.
#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShowDocument {
    /// Chart.yaml as Helm reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chart: Option<AnyValue>,
    /// The chart's own values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<AnyValue>,
    /// The README; null when the chart has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) readme: Option<Option<String>>,
    /// The CRDs of the chart and its subcharts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crds: Option<Vec<CrdEntry>>,
}

/// A file with CRDs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CrdEntry {
    /// Its path, from the chart's name.
    pub(crate) path: String,
    /// Its text.
    pub(crate) content: String,
}

/// What `dependency list -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DependencyDocument {
    /// The dependencies, in the order of Chart.yaml.
    pub(crate) dependencies: Vec<DependencyEntry>,
    /// Archives in `charts/` that Chart.yaml does not name.
    pub(crate) warnings: Vec<String>,
}

/// A dependency.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DependencyEntry {
    /// Its name.
    pub(crate) name: String,
    /// The version or range that Chart.yaml has.
    pub(crate) version: String,
    /// The repository.
    pub(crate) repository: String,
    /// As `helm dependency list` has it: `ok`, `missing`, `unpacked`, `wrong version` …
    pub(crate) status: &'static str,
}

/// What `functions -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FunctionsDocument {
    /// The functions, family by family.
    pub(crate) functions: Vec<FunctionEntry>,
}

/// A function that templates can call.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FunctionEntry {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its family.
    pub(crate) family: &'static str,
    /// The Go types of its parameters.
    pub(crate) params: Vec<&'static str>,
    /// Whether the last parameter repeats.
    pub(crate) variadic: bool,
    /// One line: what it gives.
    pub(crate) doc: &'static str,
}

/// What `tags -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TagsDocument {
    /// The repository: `host/path`, or the layout.
    pub(crate) reference: String,
    /// The tags: versions first, the newest first.
    pub(crate) tags: Vec<TagEntry>,
}

/// What `cache` and `cache prune` print with `-o json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CacheDocument {
    /// The cache.
    pub(crate) cache: CacheSummary,
}

/// A download cache.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CacheSummary {
    /// Its folder.
    pub(crate) dir: String,
    /// How many blobs it has.
    pub(crate) files: u64,
    /// Their bytes.
    pub(crate) size: u64,
    /// How many blobs were removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) removed: Option<u64>,
    /// The bytes of those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) freed: Option<u64>,
}

/// What `version -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct VersionDocument {
    /// The program's version.
    pub(crate) version: &'static str,
    /// The commit it was built from.
    pub(crate) commit: &'static str,
    /// The profile and the target that it was built with.
    pub(crate) build: &'static str,
    /// The enabled features of the package.
    pub(crate) features: Vec<&'static str>,
}

impl Document for PluginsDocument {}
impl Document for SearchDocument {}
impl Document for RepositoriesDocument {}
impl Document for EnvDocument {}
impl Document for TemplateDocument {}
impl Document for LintDocument {}
impl Document for RulesDocument {}
impl Document for ImagesDocument {}
impl Document for ShowDocument {}
impl Document for DependencyDocument {}
impl Document for FunctionsDocument {}
impl Document for TagsDocument {}
impl Document for CacheDocument {}
impl Document for VersionDocument {}
