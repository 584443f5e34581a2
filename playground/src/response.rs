//! What the page gets.

use serde::{Deserialize, Serialize};
use solar_render::credentials::without_credentials;
use solar_render::diag::{Class, Diagnostic, Diagnostics, Severity};
use solar_render::source::Location;

use crate::request::ChartFile;

/// The answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Response {
    /// What `helm template` prints; `None` after an error.
    pub output: Option<String>,
    /// The chart's notes.
    pub notes: Option<String>,
    /// How many objects the output has.
    pub objects: usize,
    /// The files of an archive.
    pub files: Vec<ChartFile>,
    /// Errors and warnings.
    pub diagnostics: Vec<ShownDiagnostic>,
}

/// A diagnostic with its location in lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownDiagnostic {
    /// Whether it is an error; otherwise it is a warning.
    pub is_error: bool,
    /// The message.
    pub message: String,
    /// The location, if it is in a text.
    pub at: Option<Position>,
    /// The label of the location.
    pub label: Option<String>,
    /// The line that the location begins in.
    pub excerpt: Option<String>,
    /// The reasons.
    pub notes: Vec<String>,
    /// What to do.
    pub hints: Vec<String>,
    /// How it was reached, innermost first.
    pub trace: Vec<Step>,
}

/// A step of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What was done.
    pub text: String,
    /// Where.
    pub at: Option<Position>,
}

/// A range of a file. Lines and columns are from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Position {
    /// The file's path in the chart, or `values given`.
    pub file: String,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// The line it ends in.
    pub end_line: usize,
    /// The column after its end.
    pub end_column: usize,
}

impl Response {
    pub(crate) fn failed(problem: &Diagnostics) -> Self {
        Self {
            diagnostics: problem.iter().map(ShownDiagnostic::new).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn refused(message: String) -> Self {
        Self::failed(&Diagnostic::error(Class::Usage, message).into())
    }

    pub(crate) fn with(warnings: &[Diagnostic]) -> Self {
        Self {
            diagnostics: warnings.iter().map(ShownDiagnostic::new).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn to_json(&self) -> String {
        // Texts and numbers alone: this can't fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl ShownDiagnostic {
    fn new(one: &Diagnostic) -> Self {
        let at = one.location.as_ref();
        Self {
            is_error: one.severity == Severity::Error,
            message: one.message.clone(),
            at: at.map(Position::new),
            label: one.label.clone(),
            excerpt: at.map(excerpt),
            notes: one.notes.clone(),
            hints: one
                .hints
                .iter()
                .filter(|hint| !is_of_the_command_line(hint))
                .cloned()
                .collect(),
            trace: one
                .trace
                .iter()
                .map(|(text, at)| Step {
                    text: text.clone(),
                    at: at.as_ref().map(Position::new),
                })
                .collect(),
        }
    }
}

/// Flags and commands are not to be had in a page.
fn is_of_the_command_line(hint: &str) -> bool {
    hint.contains("--") || hint.contains("solar-render ")
}

fn excerpt(at: &Location) -> String {
    let line = at.position().line;
    let text = at.source.text().lines().nth(line - 1).unwrap_or_default();
    without_credentials(text).into_owned()
}

impl Position {
    fn new(at: &Location) -> Self {
        let (start, end) = (at.position(), at.source.position(at.span.end));
        Self {
            file: at.source.name().to_owned(),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}
