//! Errors of running templates: where, in which template, and the way there.

use std::fmt;
use std::sync::Arc;

use super::ast::{NodeKind, NodePosition, Tree};
use super::print::quote;
use super::signature::FuncError;
use solar_diagnostics::source::{Location, Span};

/// Why a template could not be run to its end.
///
/// Printed it is Go's text: `template: FILE:LINE:COLUMN: executing "NAME" at <EXPR>: REASON`,
/// and the reason may hold another such text: that of an included template.
#[derive(Debug, Clone)]
pub struct Error {
    /// The template that was running.
    pub template: Arc<str>,
    /// Where in the text it stands in.
    pub location: Location,
    /// The offset that Go names: of `.a.b` that of the second dot.
    go_offset: u32,
    /// The expression there as Go quotes it; `None` before anything has run.
    pub expression: Option<String>,
    /// Go's words; those of a cause follow them.
    pub message: String,
    /// What went wrong in a template that this one runs by a function.
    pub cause: Option<Box<Error>>,
    /// Whether these are a function's own words, or there are such words before the cause's.
    pub by_function: bool,
    /// More than Go reports.
    pub detail: Detail,
}

/// What is known about the reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Detail {
    /// Go's words say it all.
    #[default]
    None,
    /// A field of nil was accessed. The path up to it, the first `known` names of which exist.
    NilField {
        /// Names along the way, the missing field last.
        path: Vec<Arc<str>>,
        /// How many of them lead to something.
        known: usize,
        /// The names there are where the first is missing, as far as that was looked up.
        beside: Option<Vec<Arc<str>>>,
    },
    /// A struct has no such field.
    NoField {
        /// The field accessed.
        name: String,
        /// Those it has.
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
    /// `fail` or `required` spoke: the chart's own words.
    Words(String),
}

/// Why a function failed: in words, or by an error of a template it ran.
#[derive(Debug, Clone)]
pub enum Failure {
    /// In words.
    Fault(FuncError),
    /// A limit of ours was reached.
    Limit(String),
    /// No template has this name.
    NoTemplate(String),
    /// A template that was run failed.
    Nested {
        /// Words before its own text.
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

    /// The errors from the outermost to the one that is the reason.
    pub fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |error| error.cause.as_deref())
    }

    /// The innermost error: the reason.
    pub fn root(&self) -> &Self {
        self.chain().last().unwrap_or(self)
    }

    /// `FILE:LINE:COLUMN` as Go counts: columns in bytes, from 0 behind a line break and from
    /// 0 on the first line.
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

/// What the expression is in the text. Go's offset lies somewhere in it; where it is written
/// otherwise than Go quotes it, it is taken to begin there.
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
