//! The document of `compare`.

use serde::Serialize;

use super::documents::Document;

/// What `compare -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CompareDocument {
    /// The Helm that was run.
    pub(crate) helm: HelmEntry,
    /// The numbers of cases by verdict, and the times of all.
    pub(crate) total: CompareTotal,
    /// Whether a signal ended it before all cases were compared; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) incomplete: bool,
    /// The cases, chart by chart.
    pub(crate) cases: Vec<CaseEntry>,
}

/// A Helm.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HelmEntry {
    /// Its path.
    pub(crate) path: String,
    /// Its version.
    pub(crate) version: String,
}

/// All cases.
#[derive(Serialize, Clone, Copy, Default)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CompareTotal {
    /// How many there are.
    pub(crate) cases: usize,
    /// How many of them render the same.
    pub(crate) same: usize,
    /// How many both programs refuse.
    pub(crate) both_refuse: usize,
    /// How many are not the same: those that render differently, those that one program refuses, and those in which Helm
    /// did not end.
    pub(crate) different: usize,
    /// The sum of Helm's times.
    pub(crate) helm_microseconds: u64,
    /// The sum of our times.
    pub(crate) microseconds: u64,
}

/// A chart with values.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CaseEntry {
    /// The chart's path.
    pub(crate) chart: String,
    /// The values file of the chart, `ci/a-values.yaml`; absent for the chart's own values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<String>,
    /// `same`, `different`, `both-refuse`, `only-helm-refuses`, `only-solar-render-refuses`
    /// or `helm-did-not-end` (a signal or a limit ended it).
    pub(crate) verdict: &'static str,
    /// How many lines are not compared to the end, because Helm's own runs differ there.
    pub(crate) masked: usize,
    /// How often Helm ran.
    pub(crate) helm_runs: usize,
    /// The fastest of Helm's runs: the time from the start of the process to its end.
    pub(crate) helm_microseconds: u64,
    /// Our time.
    pub(crate) microseconds: u64,
    /// Helm's message, when it refuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) helm_error: Option<String>,
    /// Our message, when we refuse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// What is not the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) differences: Vec<DifferenceEntry>,
}

/// Something that is not the same.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DifferenceEntry {
    /// `lines`, `only-helm` or `only-ours` (a document that one program alone prints), `order` (the same documents in
    /// another order) or `blanks` (blank characters between documents).
    pub(crate) kind: &'static str,
    /// The template, as in `# Source:`.
    pub(crate) template: String,
    /// The object's kind and name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) object: String,
    /// The file of the line that printed it, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// Helm's lines.
    pub(crate) helm: Vec<String>,
    /// Our lines.
    pub(crate) ours: Vec<String>,
}

impl Document for CompareDocument {}
