//! What the steps of reading share: limits, where the text is from, and the nodes as written ([`Arena`]).

use std::borrow::Cow;
use std::sync::Arc;

use super::error::{YamlError, YamlErrorKind};
use solar_diagnostics::diag::Class;
use solar_diagnostics::source::{Location, Source, Span};

/// What a text may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest text, in bytes.
    pub bytes: usize,
    /// How many maps and lists may lie in each other, aliases followed.
    pub depth: usize,
    /// How many nodes, aliases replaced by what they stand for.
    pub nodes: usize,
}

impl Limits {
    /// As large as an index of many thousand charts.
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

/// What every step needs to know, and to make an error.
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

/// A node as it was written. Indices point into the [`Arena`] it lies in.
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
    /// Whether any alias stands in it; without one, texts can be moved instead of copied.
    pub(super) aliased: bool,
}
