//! The documents of `values check`, `values schema` and `values docs`.

use serde::Serialize;

use super::documents::Document;

/// What `values check -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ValuesCheckDocument {
    /// The numbers of all charts together.
    pub(crate) total: ValuesTotal,
    /// The charts, in the order of the arguments.
    pub(crate) charts: Vec<CheckedChartEntry>,
    /// What is wrong.
    pub(crate) findings: Vec<ValueEntry>,
}

/// All charts.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ValuesTotal {
    /// How many charts there are.
    pub(crate) charts: usize,
    /// How many errors were found.
    pub(crate) errors: usize,
    /// How many warnings were found.
    pub(crate) warnings: usize,
}

/// A chart.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CheckedChartEntry {
    /// The chart as it was named.
    pub(crate) chart: String,
    /// How many errors its values have.
    pub(crate) errors: usize,
    /// How many warnings they have.
    pub(crate) warnings: usize,
}

/// Something that is wrong with values.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ValueEntry {
    /// The chart as it was named.
    pub(crate) chart: String,
    /// `error` or `warning`.
    pub(crate) severity: &'static str,
    /// The rule's id: `unread-value`, `undefined-value`, or of a chart that could not be checked `chart` or
    /// `template-syntax`.
    pub(crate) rule: &'static str,
    /// The keys: `image.tag`.
    pub(crate) key: String,
    /// What is wrong.
    pub(crate) message: String,
    /// The values file, or the template that reads the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line there, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// The column there, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// The values files of ci/ with which it was found.
    pub(crate) values: Vec<String>,
    /// Reasons.
    pub(crate) notes: Vec<String>,
    /// What to do.
    pub(crate) hints: Vec<String>,
}

impl Document for ValuesCheckDocument {}

/// What `values schema -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ValuesSchemaDocument {
    /// The charts, in the order of the arguments.
    pub(crate) charts: Vec<ChartSchemaEntry>,
}

/// The schema of a chart.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ChartSchemaEntry {
    /// The chart's folder.
    pub(crate) chart: String,
    /// `printed`, `written`, `unchanged`, or with `--check` `stale`.
    pub(crate) outcome: &'static str,
    /// The text of values.schema.json.
    pub(crate) text: String,
}

impl Document for ValuesSchemaDocument {}

/// What `values docs -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ValuesDocsDocument {
    /// The charts, in the order of the arguments.
    pub(crate) charts: Vec<ChartReadmeEntry>,
}

/// The README of a chart.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ChartReadmeEntry {
    /// The chart's folder.
    pub(crate) chart: String,
    /// `printed`, `written`, `unchanged`, or with `--check` `stale`.
    pub(crate) outcome: &'static str,
    /// The text of README.md.
    pub(crate) text: String,
}

impl Document for ValuesDocsDocument {}
