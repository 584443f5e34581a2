//! The document of `validate`.

use serde::Serialize;

use super::documents::Document;

/// What `validate -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ValidateDocument {
    /// The numbers of all charts together.
    pub(crate) total: ValidateTotal,
    /// The versions of Kubernetes whose schemas were used.
    pub(crate) versions: Vec<String>,
    /// The charts, in the order of the arguments.
    pub(crate) charts: Vec<ValidatedChartEntry>,
    /// What is wrong.
    pub(crate) findings: Vec<ViolationEntry>,
}

/// All charts.
#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ValidateTotal {
    /// How many charts there are.
    pub(crate) charts: usize,
    /// How many objects were rendered and checked.
    pub(crate) objects: usize,
    /// How many errors were found: what an API server refuses.
    pub(crate) errors: usize,
    /// How many warnings were found.
    pub(crate) warnings: usize,
}

/// A chart.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ValidatedChartEntry {
    /// The chart as it was named.
    pub(crate) chart: String,
    /// How many objects it renders to, with all values files.
    pub(crate) objects: usize,
    /// How often it was rendered.
    pub(crate) renderings: usize,
    /// How many errors it has.
    pub(crate) errors: usize,
    /// How many warnings it has.
    pub(crate) warnings: usize,
    /// How many more findings it has than are listed.
    pub(crate) omitted: usize,
}

/// Something that is wrong.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ViolationEntry {
    /// The chart as it was named.
    pub(crate) chart: String,
    /// `error` or `warning`.
    pub(crate) severity: &'static str,
    /// The rule's id.
    pub(crate) rule: &'static str,
    /// The object's apiVersion.
    #[serde(rename = "apiVersion")]
    pub(crate) api_version: String,
    /// The object's kind.
    pub(crate) kind: String,
    /// The object's name.
    pub(crate) name: String,
    /// The field: `spec.containers[0].image`.
    pub(crate) field: String,
    /// What is wrong.
    pub(crate) message: String,
    /// The template that printed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line there, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// The column there, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// The templates that included it, innermost first.
    pub(crate) trace: Vec<TraceEntry>,
    /// The line that it renders to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) printed: Option<String>,
    /// The versions of Kubernetes for which it holds.
    pub(crate) versions: Vec<String>,
    /// The values files of ci/ with which it was found.
    pub(crate) values: Vec<String>,
    /// Reasons.
    pub(crate) notes: Vec<String>,
    /// What to do.
    pub(crate) hints: Vec<String>,
}

/// A template that included another one.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TraceEntry {
    /// What was included.
    pub(crate) included: String,
    /// The file with the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line of the call, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
}

impl Document for ValidateDocument {}
