//! The document of `diff`.

use serde::Serialize;

use super::documents::{AnyValue, Document};

/// What `diff -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DiffDocument {
    /// The older chart.
    pub(crate) from: DiffedChart,
    /// The newer chart.
    pub(crate) to: DiffedChart,
    /// The numbers of objects.
    pub(crate) total: DiffTotal,
    /// The images that are others.
    pub(crate) images: Vec<ImageChangeEntry>,
    /// Of `apply`: which objects the API server could not check yet, and which hooks are not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// Changes of labels and annotations that at least three objects have in common, as that of a version; `objects` has
    /// them, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) common: Vec<CommonChangeEntry>,
    /// The objects that are not the same: those of the newer chart in the order of their installation, then those that
    /// are gone.
    pub(crate) objects: Vec<ObjectDiffEntry>,
}

/// A chart that was compared.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DiffedChart {
    /// The chart as it was named, with the revision or the version where one was chosen.
    pub(crate) source: String,
    /// The chart's name.
    pub(crate) name: String,
    /// The chart's version; empty if the revision does not have the chart.
    pub(crate) version: String,
    /// The version of what it installs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) app_version: String,
}

/// The numbers of objects.
#[derive(Serialize, Clone, Copy)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DiffTotal {
    /// Those that only the newer chart has.
    pub(crate) added: usize,
    /// Those with another content.
    pub(crate) changed: usize,
    /// Those with another name or namespace, and perhaps another content.
    pub(crate) renamed: usize,
    /// Those that only the older chart has.
    pub(crate) removed: usize,
    /// Those that are the same.
    pub(crate) unchanged: usize,
}

/// An image that is another one.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ImageChangeEntry {
    /// The older; absent if an image is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// The newer; absent if an image is no longer used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
}

/// A change that several objects have in common.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CommonChangeEntry {
    /// `labels["app.kubernetes.io/version"]`: in the object's metadata, in a pod template's, or in a selector.
    pub(crate) path: String,
    /// The older value.
    pub(crate) from: String,
    /// The newer value.
    pub(crate) to: String,
    /// In how many objects.
    pub(crate) objects: usize,
}

/// An object that is not the same.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ObjectDiffEntry {
    /// `added`, `changed`, `renamed` or `removed`.
    pub(crate) change: &'static str,
    /// The object; of one that was removed, what it was.
    #[serde(flatten)]
    pub(crate) object: DiffedObject,
    /// What it was before, if one of these fields was another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<DiffedObject>,
    /// The whole object that was added or removed; the values of Secrets are hashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<AnyValue>,
    /// What differs in one that was changed or renamed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) changes: Vec<ChangeEntry>,
    /// The file that printed it, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
}

/// What identifies an object. What it does not have is absent.
#[derive(Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DiffedObject {
    /// Its `apiVersion`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) api_version: String,
    /// Its `kind`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) kind: String,
    /// Its namespace, as it is written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) namespace: String,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    /// `manifest`, `hook`, or `crd` for a file of a `crds` folder, which Helm installs once and never upgrades.
    pub(crate) role: &'static str,
    /// The template, as in `# Source:`.
    pub(crate) template: String,
}

/// A change of a field or an item of a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ChangeEntry {
    /// The field: `spec.template.spec.containers[web].image`. Items are named by what identifies them, else by their
    /// position.
    pub(crate) path: String,
    /// `added`, `removed`, `replaced`, `text` (some lines of a text of several lines) or `moved` (an item that stands
    /// elsewhere in its list).
    pub(crate) change: &'static str,
    /// The older value; with `moved` the older position, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<AnyValue>,
    /// The newer value; with `moved` the newer position, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<AnyValue>,
    /// With `text`: the parts that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hunks: Vec<HunkEntry>,
    /// The file that printed it, when it is known; of a field that was removed, in the older chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
}

/// A part of a text that differs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HunkEntry {
    /// The first line in the older text, from 1.
    pub(crate) from_line: usize,
    /// The first line in the newer text, from 1.
    pub(crate) to_line: usize,
    /// The lines, behind `-` (older), `+` (newer) or a blank (both).
    pub(crate) lines: Vec<String>,
}

impl Document for DiffDocument {}
