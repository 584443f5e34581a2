//! The document of `test`.

use serde::Serialize;

use super::documents::Document;

/// What `test -o json` prints.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TestDocument {
    /// The numbers of tests by verdict, and of snapshots.
    pub(crate) total: TestTotal,
    /// The suites, in the order of their charts and files.
    pub(crate) suites: Vec<SuiteEntry>,
}

/// All tests.
#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TestTotal {
    /// How many suites there are.
    pub(crate) suites: usize,
    /// How many tests there are.
    pub(crate) tests: usize,
    /// How many of them passed.
    pub(crate) passed: usize,
    /// How many have assertions that do not hold.
    pub(crate) failed: usize,
    /// How many could not be rendered.
    pub(crate) errored: usize,
    /// How many were skipped.
    pub(crate) skipped: usize,
    /// The snapshots.
    pub(crate) snapshots: SnapshotEntry,
}

/// The numbers of snapshots.
#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SnapshotEntry {
    /// How many were the same.
    pub(crate) same: usize,
    /// How many were new and have been written.
    pub(crate) new: usize,
    /// How many have changed, and were not updated.
    pub(crate) changed: usize,
    /// How many have changed and were updated.
    pub(crate) updated: usize,
    /// How many were removed, because no test uses them.
    pub(crate) removed: usize,
}

/// A suite.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SuiteEntry {
    /// The chart's folder.
    pub(crate) chart: String,
    /// The suite's file.
    pub(crate) file: String,
    /// The suite's name.
    pub(crate) suite: String,
    /// Its tests.
    pub(crate) tests: Vec<TestEntry>,
}

/// A test.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TestEntry {
    /// Its name.
    pub(crate) name: String,
    /// `passed`, `failed`, `errored` or `skipped`.
    pub(crate) verdict: &'static str,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Why it could not be rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// The assertions that do not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failures: Vec<FailureEntry>,
}

/// An assertion that does not hold, for one value.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FailureEntry {
    /// The assertion's position in its test, from 0.
    pub(crate) number: usize,
    /// Its name, with `not ` before it if the suite says so.
    pub(crate) assertion: String,
    /// What is wrong.
    pub(crate) message: String,
    /// The line of the suite, from 1.
    #[serde(rename = "suiteLine", skip_serializing_if = "Option::is_none")]
    pub(crate) suite_line: Option<usize>,
    /// The template, as in `# Source:`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) template: Option<String>,
    /// The document's position in the template's output, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<usize>,
    /// The path in the document.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) path: String,
    /// What the assertion expects, as YAML or text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<String>,
    /// What was rendered, as YAML or text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) actual: Option<String>,
    /// The file of the line that printed it, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
}

impl Document for TestDocument {}
