//! The values of a values file as they are written: [`Values`], a view of its nodes that follows aliases.

use std::sync::Arc;

use crate::diag::{Class, Diagnostic, Result};
use crate::source::{Location, Source, Span};
use crate::value::{Number, Value};
use crate::yaml::{self, ScalarType, WrittenDocument, WrittenKind, WrittenNode};

/// The maximum number of values of a chart, with aliases expanded.
pub const MAX_VALUES: usize = 200_000;
/// The maximum nesting of values, with aliases expanded.
pub const MAX_NESTING: usize = 200;

/// A values file.
pub(super) struct Values<'d> {
    pub(super) source: &'d Arc<Source>,
    pub(super) document: &'d WrittenDocument,
    /// How many nodes have been visited.
    visited: usize,
}

/// A value.
pub(super) enum Content<'d> {
    Scalar {
        kind: ScalarType,
        text: &'d str,
        is_text: bool,
    },
    Items(Vec<usize>),
    Entries(Vec<(usize, usize)>),
}

impl<'d> Values<'d> {
    pub(super) fn new(source: &'d Arc<Source>, document: &'d WrittenDocument) -> Self {
        Self {
            source,
            document,
            visited: 0,
        }
    }

    /// A node; that of an alias is what it stands for.
    pub(super) fn node(&self, id: usize) -> Option<&'d WrittenNode> {
        let node = self.document.node(id)?;
        match &node.kind {
            WrittenKind::Alias { target, .. } => self.document.node(*target),
            _ => Some(node),
        }
    }

    pub(super) fn error(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Class::Values, message.into()).at(Location::new(self.source, span))
    }

    /// What a node holds, without items and entries that comments leave out.
    ///
    /// # Errors
    /// There are too many values, or they nest too deeply: an alias may stand for what it is in.
    pub(super) fn content(&mut self, id: usize, depth: usize) -> Result<Content<'d>> {
        let span = self.document.node(id).map_or(Span::default(), |node| node.span);
        self.visited += 1;
        if self.visited > MAX_VALUES {
            let message = format!("there are more than {MAX_VALUES} values, with aliases expanded");
            return Err(self.error(span, message).into());
        }
        if depth > MAX_NESTING {
            let message = format!("values nest more than {MAX_NESTING} deep, with aliases expanded");
            return Err(self.error(span, message).into());
        }
        let Some(node) = self.node(id) else {
            return Err(Diagnostic::error(Class::Internal, "a value is missing").into());
        };
        let is_kept = |id: usize| {
            !self
                .document
                .node(id)
                .is_some_and(|node| super::comment::is_ignored(&node.head))
        };
        Ok(match &node.kind {
            WrittenKind::Seq(items) => {
                Content::Items(items.iter().copied().filter(|id| is_kept(*id)).collect())
            }
            WrittenKind::Map(entries) => {
                Content::Entries(entries.iter().copied().filter(|(key, _)| is_kept(*key)).collect())
            }
            WrittenKind::Scalar { tag, text, is_plain } => {
                let kind = yaml::scalar_type(tag.as_deref(), text, *is_plain);
                let is_text = tag.is_some() || !is_plain;
                Content::Scalar { kind, text, is_text }
            }
            // The anchor of an alias is on no alias.
            WrittenKind::Alias { .. } => return Err(self.error(span, "an alias stands for an alias").into()),
        })
    }

    /// The text of a key; the name of an alias, and nothing of a list or map.
    pub(super) fn key(&self, id: usize) -> &'d str {
        match self.document.node(id).map(|node| &node.kind) {
            Some(WrittenKind::Scalar { text, .. }) => text,
            Some(WrittenKind::Alias { name, .. }) => name,
            _ => "",
        }
    }

    /// The data of a value, as helm-docs writes it as JSON: `<<` is a key.
    ///
    /// # Errors
    /// As [`Values::content`]; or a number that JSON doesn't have.
    pub(super) fn data(&mut self, id: usize, depth: usize) -> Result<Value> {
        Ok(match self.content(id, depth)? {
            Content::Items(items) => {
                let items = items.into_iter().map(|id| self.data(id, depth + 1));
                Value::List(items.collect::<Result<_>>()?)
            }
            Content::Entries(entries) => {
                let entries = entries.into_iter().map(|(key, value)| {
                    let name = self.key(key).to_owned();
                    Ok((name, self.data(value, depth + 1)?))
                });
                Value::Map(entries.collect::<Result<_>>()?)
            }
            Content::Scalar { kind, text, .. } => self.scalar(id, kind, text)?,
        })
    }

    pub(super) fn scalar(&self, id: usize, kind: ScalarType, text: &str) -> Result<Value> {
        Ok(match kind {
            ScalarType::Null | ScalarType::Other | ScalarType::Merge => Value::Null,
            ScalarType::Bool(value) => Value::Bool(value),
            ScalarType::Int(value) => Value::Number(value),
            ScalarType::Float(value) if value.is_finite() => Value::Number(Number::Float(value)),
            ScalarType::Float(_) => {
                let span = self.document.node(id).map_or(Span::default(), |node| node.span);
                let one = self.error(span, format!("{text} can't be shown as JSON"));
                return Err(one
                    .hint("write it in quotes, or add `# @default -- TEXT` to its comment")
                    .into());
            }
            ScalarType::Timestamp | ScalarType::Text => Value::from(text),
        })
    }
}
