//! Parses a text, from its first document to its last: [`parse`] and its variants.
//!
//! A text is split into tokens (`scan`), which become a tree as written, where aliases are still names (`build`), which
//! is then expanded (`expand`).

use std::sync::Arc;

use super::build::Builder;
use super::error::{DuplicateKey, Result};
use super::expand::Expander;
use super::node::Node;
use super::raw::{Limits, ReadContext};
use super::scan::Scanner;
use solar_diagnostics::diag::Class;
use solar_diagnostics::source::{Source, Span};

/// A document and its duplicate keys.
#[derive(Debug, Clone)]
pub struct Document {
    /// The data.
    pub root: Node,
    /// Duplicate keys in a map, of which the last one won.
    pub duplicates: Vec<DuplicateKey>,
}

/// The first document of a text, as Helm reads it; what follows it is ignored.
/// A text without documents is null.
///
/// # Errors
/// The first error; its diagnostic is of the given class.
pub fn parse(source: &Arc<Source>, class: Class, limits: &Limits) -> Result<Node> {
    parse_document(source, class, limits).map(|document| document.root)
}

/// As [`parse`], with duplicate keys.
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
    let documents = parse_all_documents(source, class, limits)?;
    Ok(documents.into_iter().map(|document| document.root).collect())
}

/// As [`parse_all`], with duplicate keys.
///
/// # Errors
/// As [`parse`].
pub fn parse_all_documents(source: &Arc<Source>, class: Class, limits: &Limits) -> Result<Vec<Document>> {
    let mut reader = Reader::new(source, class, limits)?;
    let mut all = Vec::new();
    while let Some(root) = reader.next_document()? {
        let duplicates = std::mem::take(&mut reader.duplicates);
        all.push(Document { root, duplicates });
    }
    Ok(all)
}

struct Reader<'a> {
    context: ReadContext<'a>,
    builder: Builder<'a>,
    duplicates: Vec<DuplicateKey>,
    /// The number of nodes so far, over all documents.
    made: usize,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Arc<Source>, class: Class, limits: &'a Limits) -> Result<Self> {
        let context = ReadContext {
            source,
            class,
            limits,
        };
        context.check_length()?;
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
