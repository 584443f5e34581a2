//! The doors to reading, its limits, and what its two halves share.
//!
//! A text is cut into tokens (`scan`), those become a tree as written, where aliases are
//! still names (`build`), and that becomes the tree it means (`expand`).

use std::borrow::Cow;
use std::sync::Arc;

use super::build::Builder;
use super::error::{DuplicateKey, Result, YamlError, YamlErrorKind};
use super::expand::Expander;
use super::node::Node;
use super::scan::Scanner;
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

/// One document and what should be known about it.
#[derive(Debug, Clone)]
pub struct Document {
    /// The data.
    pub root: Node,
    /// Keys that stand twice in a map, of which the last won.
    pub duplicates: Vec<DuplicateKey>,
}

/// The first document of a text, as Helm reads it; what follows it is not looked at.
/// A text without any is null.
///
/// # Errors
/// What is wrong first; as a diagnostic it is of the given class.
pub fn parse(source: &Arc<Source>, class: Class, limits: &Limits) -> Result<Node> {
    parse_document(source, class, limits).map(|document| document.root)
}

/// As [`parse`], with the keys that stand twice.
///
/// # Errors
/// As [`parse`].
pub fn parse_document(source: &Arc<Source>, class: Class, limits: &Limits) -> Result<Document> {
    let mut reader = Reader::new(source, class, limits)?;
    let root = match reader.next_document()? {
        Some(root) => root,
        None => Node {
            span: Span::default(),
            kind: super::node::Kind::Null,
        },
    };
    Ok(Document {
        root,
        duplicates: reader.duplicates,
    })
}

/// All documents of a text.
///
/// # Errors
/// As [`parse`].
pub fn parse_all(source: &Arc<Source>, class: Class, limits: &Limits) -> Result<Vec<Node>> {
    let mut reader = Reader::new(source, class, limits)?;
    let mut all = Vec::new();
    while let Some(root) = reader.next_document()? {
        all.push(root);
    }
    Ok(all)
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

struct Reader<'a> {
    context: ReadContext<'a>,
    builder: Builder<'a>,
    duplicates: Vec<DuplicateKey>,
    /// Nodes made so far, over all documents.
    made: usize,
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

impl<'a> Reader<'a> {
    fn new(source: &'a Arc<Source>, class: Class, limits: &'a Limits) -> Result<Self> {
        let context = ReadContext {
            source,
            class,
            limits,
        };
        let length = source.text().len();
        if length > limits.bytes {
            let kind = YamlErrorKind::TooLong {
                length,
                limit: limits.bytes,
            };
            return Err(context.error(Span::default(), kind));
        }
        Ok(Self {
            context,
            builder: Builder::new(context, Scanner::new(context)?),
            duplicates: Vec::new(),
            made: 0,
        })
    }

    fn next_document(&mut self) -> Result<Option<Node>> {
        let Some((root, arena)) = self.builder.document()? else {
            return Ok(None);
        };
        let mut expander = Expander::new(self.context, arena, self.made);
        let node = expander.document(root)?;
        self.made = expander.made;
        self.duplicates.append(&mut expander.duplicates);
        Ok(Some(node))
    }
}
