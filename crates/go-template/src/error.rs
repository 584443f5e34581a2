//! Errors of running templates: the location, the template, and the trace.

use std::fmt;
use std::sync::Arc;

use super::ast::{NodeKind, NodePosition, Tree};
use super::print::quote;
use super::signature::FuncError;
use solar_diagnostics::source::{Location, Span};

/// The error of a failed template.
///
/// Its Display is Go's text: `template: FILE:LINE:COLUMN: executing "NAME" at <EXPR>: REASON`,
/// and the reason may hold another such text: that of an included template.
#[derive(Debug, Clone)]
pub struct Error {
    /// The template that was running.
    pub template: Arc<str>,
    /// The location in its text.
    pub location: Location,
    /// The offset that Go reports: for `.a.b` that of the second dot.
    go_offset: u32,
    /// The expression there as Go quotes it; `None` before anything has run.
    pub expression: Option<String>,
    /// Go's message; that of a cause follows.
    pub message: String,
    /// The error of a template that this one runs by a function.
    pub cause: Option<Box<Error>>,
    /// Whether the message is a function's own, or precedes the cause's.
    pub by_function: bool,
    /// Details that Go doesn't report.
    pub detail: Detail,
}

/// The known details of the reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Detail {
    /// No details.
    #[default]
    None,
    /// A field of nil was accessed. The path up to it, the first `known` names of which exist.
    NilField {
        /// The names of the path, with the missing field last.
        path: Vec<Arc<str>>,
        /// How many of them exist.
        known: usize,
        /// The existing names at the level of the first missing one, if they were looked up.
        beside: Option<Vec<Arc<str>>>,
    },
    /// A struct has no such field.
    NoField {
        /// The accessed field.
        name: String,
        /// The existing fields.
        known: Vec<String>,
    },
    /// A template of this name does not exist.
    NoTemplate(String),
    /// A limit of ours was reached.
    Limit,
    /// The values take more memory than the run may.
    Memory,
    /// The watch ended the run: see [`Run::with_watch`](super::Run::with_watch).
    Time,
    /// The message of `fail` or `required`.
    Words(String),
}

/// Why a function failed: a message, or the error of a template it ran.
#[derive(Debug, Clone)]
pub enum Failure {
    /// A message.
    Fault(FuncError),
    /// A limit of ours was reached.
    Limit(String),
    /// No template has this name.
    NoTemplate(String),
    /// A template that was run failed.
    Nested {
        /// The prefix of its text.
        prefix: String,
        /// Its error.
        error: Box<Error>,
    },
}

impl From<FuncError> for Failure {
    fn from(fault: FuncError) -> Self {
        Self::Fault(fault)
    }
}

impl Error {
    pub(super) fn new(tree: &Tree, place: NodePosition, message: impl Into<String>) -> Box<Self> {
        let expression = (place.kind != NodeKind::None).then(|| tree.quote(place).unwrap_or_default());
        Box::new(Self {
            template: Arc::clone(&tree.name),
            location: Location::new(
                &tree.source,
                span(tree.source.text(), place.pos, expression.as_deref()),
            ),
            go_offset: place.pos,
            expression,
            message: message.into(),
            cause: None,
            by_function: false,
            detail: Detail::None,
        })
    }

    /// The errors from the outermost to the root cause.
    pub fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |error| error.cause.as_deref())
    }

    /// The innermost error: the root cause.
    pub fn root(&self) -> &Self {
        self.chain().last().unwrap_or(self)
    }

    /// `FILE:LINE:COLUMN` as Go counts: columns in bytes, from 0 after a line break and from 0 on the first line.
    pub fn go_location(&self) -> String {
        let source = &self.location.source;
        let before = source.text().get(..self.go_offset as usize).unwrap_or("");
        let column = before
            .rfind('\n')
            .map_or(before.len(), |at| before.len() - at - 1);
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        format!("{}:{line}:{column}", source.name())
    }
}

/// The span of the expression in the text. Go's offset is somewhere in it; if the text differs from Go's quotation, the
/// expression is assumed to begin there.
fn span(text: &str, offset: u32, expression: Option<&str>) -> Span {
    let offset = offset as usize;
    let first = expression
        .and_then(|expression| expression.lines().next())
        .unwrap_or("");
    let starts = (offset.saturating_sub(first.len())..=offset).rev();
    let mut starts = starts.filter(|start| text.get(*start..).is_some_and(|rest| rest.starts_with(first)));
    let start = starts.next().unwrap_or(offset);
    Span::new(start, (start + first.len()).min(text.len()))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.expression {
            Some(expression) => write!(
                f,
                "template: {}: executing {} at <{expression}>: {}",
                self.go_location(),
                quote(&self.template),
                self.message
            )?,
            None => write!(f, "template: {}: {}", self.template, self.message)?,
        }
        match &self.cause {
            Some(cause) => write!(f, "{cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
