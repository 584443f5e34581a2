//! Shared by the steps of parsing: limits, the source, and the nodes as written ([`Arena`]).

use std::borrow::Cow;
use std::sync::Arc;

use super::error::{Result, YamlError, YamlErrorKind};
use solar_diagnostics::diag::Class;
use solar_diagnostics::source::{Location, Source, Span};

/// The limits of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum length of a text, in bytes.
    pub bytes: usize,
    /// The maximum nesting of maps and lists, with aliases expanded.
    pub depth: usize,
    /// The maximum number of nodes, with aliases expanded.
    pub nodes: usize,
}

impl Limits {
    /// Enough for an index of many thousand charts.
    pub const BYTES: usize = 64 << 20;
    /// Recursion over a tree this deep fits a thread's stack of 2 MiB many times.
    pub const DEPTH: usize = 1000;
    /// A few hundred MiB of memory at most.
    pub const NODES: usize = 2_000_000;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: Self::BYTES,
            depth: Self::DEPTH,
            nodes: Self::NODES,
        }
    }
}

/// The context of every step, also for errors.
#[derive(Clone, Copy)]
pub(super) struct ReadContext<'a> {
    pub(super) source: &'a Arc<Source>,
    pub(super) class: Class,
    pub(super) limits: &'a Limits,
}

impl ReadContext<'_> {
    pub(super) fn error(&self, span: Span, kind: YamlErrorKind) -> YamlError {
        YamlError::new(kind, self.class, Some(Location::new(self.source, span)))
    }

    /// Refuses a text that is too long.
    pub(super) fn check_length(&self) -> Result<()> {
        let (length, limit) = (self.source.text().len(), self.limits.bytes);
        if length > limit {
            return Err(self.error(Span::default(), YamlErrorKind::TooLong { length, limit }));
        }
        Ok(())
    }

    pub(super) fn too_deep(&self, span: Span) -> YamlError {
        let limit = self.limits.depth;
        self.error(span, YamlErrorKind::TooDeep { limit })
    }

    pub(super) fn too_many(&self, span: Span) -> YamlError {
        let limit = self.limits.nodes;
        self.error(span, YamlErrorKind::TooManyNodes { limit })
    }

    pub(super) fn too_large(&self, span: Span) -> YamlError {
        let limit = self.limits.bytes;
        self.error(span, YamlErrorKind::AliasesTooLarge { limit })
    }
}

/// A node as written. Indices point into its [`Arena`].
pub(super) struct Raw<'a> {
    pub(super) span: Span,
    pub(super) kind: RawKind<'a>,
}

pub(super) enum RawKind<'a> {
    Scalar {
        tag: Option<String>,
        value: Cow<'a, str>,
        plain: bool,
    },
    Seq(Vec<usize>),
    Map(Vec<(usize, usize)>),
    Alias {
        name: String,
        target: usize,
    },
}

/// The nodes of one document.
#[derive(Default)]
pub(super) struct Arena<'a> {
    pub(super) nodes: Vec<Raw<'a>>,
    /// Whether it has any alias; without one, strings can be moved instead of copied.
    pub(super) aliased: bool,
}
