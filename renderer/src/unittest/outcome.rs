//! What tests gave: [`TestOutcome`].

use crate::diag::Diagnostics;
use crate::source::Location;

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Every assertion holds.
    Passed,
    /// An assertion doesn't hold.
    Failed,
    /// The chart could not be rendered.
    Errored,
    /// The suite or the test is skipped.
    Skipped,
}

impl Verdict {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::Skipped => "skipped",
        }
    }
}

/// The result of a test.
#[derive(Debug)]
#[non_exhaustive]
pub struct TestOutcome {
    /// The suite's position among those that were run.
    pub suite: usize,
    /// The test's position in its suite.
    pub test: usize,
    /// How it ended.
    pub verdict: Verdict,
    /// The assertions that don't hold.
    pub failures: Vec<Failure>,
    /// Why it could not be rendered.
    pub error: Option<Diagnostics>,
    /// Why it is skipped.
    pub skipped: Option<String>,
    /// What its snapshot assertions compared.
    pub(super) snapshots: Vec<SnapshotUse>,
}

/// Why an assertion doesn't hold, for one value.
#[derive(Debug, Default)]
pub struct Failure {
    /// The assertion's position in its test.
    pub number: usize,
    /// The assertion's name, with `not` before it if the opposite is asserted.
    pub assertion: String,
    /// The template, by full name.
    pub template: Option<String>,
    /// The document's position in the template's output.
    pub document: Option<usize>,
    /// The path.
    pub path: String,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What the assertion expects, as YAML.
    pub expected: Option<String>,
    /// What was rendered, as YAML.
    pub actual: Option<String>,
    /// Where the assertion is in its suite.
    pub asserted_at: Option<Location>,
    /// What printed the value in a template.
    pub printed_at: Option<Location>,
    /// The includes that led there, innermost first.
    pub trace: Vec<(String, Location)>,
    /// Where the value is in the document's text: line and column, from 1, of the template's output.
    pub(super) rendered_at: Option<(usize, usize)>,
}

/// A value that was compared with its snapshot.
#[derive(Debug)]
pub(super) struct SnapshotUse {
    /// The number within the test's name, from 1.
    pub(super) number: u32,
    /// What was rendered.
    pub(super) content: String,
    /// Whether a snapshot existed and was the same.
    pub(super) state: SnapshotState,
}

/// How a value compares with its snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SnapshotState {
    /// There was none.
    New,
    /// It is the same.
    Same,
    /// It is another.
    Changed,
}
