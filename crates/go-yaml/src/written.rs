//! A document as it is written: [`parse_written`], for what must know more of a text than its data.
//!
//! Aliases are not expanded, `<<` is a key like others, all entries of a map are there, scalars are texts with their tags,
//! and keys and items have the comments before them. It is what go-yaml v3 calls a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::build::Builder;
use super::comments::heads;
use super::error::Result;
use super::raw::{Arena, Limits, RawKind, ReadContext};
use super::resolve;
use super::scan::Scanner;
use solar_diagnostics::diag::Class;
use solar_diagnostics::source::{Source, Span};
use solar_diagnostics::value::Number;

/// The first document of a text. Nodes are numbers: those of aliases stand for other nodes.
#[derive(Debug, Clone)]
pub struct WrittenDocument {
    nodes: Vec<WrittenNode>,
    root: usize,
}

/// A node.
#[derive(Debug, Clone)]
pub struct WrittenNode {
    /// Its span, without anchor and tag.
    pub span: Span,
    /// The comment before it, if it is a key or an item of a list: lines that begin with `#`, and empty ones.
    pub head: String,
    /// What it is.
    pub kind: WrittenKind,
}

/// The kind of a node.
#[derive(Debug, Clone)]
pub enum WrittenKind {
    /// A scalar.
    Scalar {
        /// The full tag, if there is one.
        tag: Option<String>,
        /// The text without quotes and escapes.
        text: String,
        /// Whether it is neither quoted nor a block.
        is_plain: bool,
    },
    /// The items of a list.
    Seq(Vec<usize>),
    /// Keys and values of a map.
    Map(Vec<(usize, usize)>),
    /// An alias.
    Alias {
        /// The name of the anchor.
        name: String,
        /// The node that it stands for.
        target: usize,
    },
}

/// What go-yaml v3 takes a scalar for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScalarType {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer within int64 or uint64.
    Int(Number),
    /// Another number, which may be infinite or not a number.
    Float(f64),
    /// A date, with or without a time.
    Timestamp,
    /// A text.
    Text,
    /// The `<<` that merges a map.
    Merge,
    /// A tag of the user's, `!!binary`, or one that the text doesn't fit.
    Other,
}

impl WrittenDocument {
    /// The root's number.
    pub fn root(&self) -> usize {
        self.root
    }

    /// The node with a number.
    pub fn node(&self, id: usize) -> Option<&WrittenNode> {
        self.nodes.get(id)
    }
}

/// The first document of a text; `None` if there is none.
///
/// # Errors
/// The first error; its diagnostic is of the given class. Aliases may stand for the node that they are in.
pub fn parse_written(source: &Arc<Source>, class: Class, limits: &Limits) -> Result<Option<WrittenDocument>> {
    let context = ReadContext {
        source,
        class,
        limits,
    };
    context.check_length()?;
    let mut builder = Builder::new(context, Scanner::new(context)?.with_gaps());
    let Some((root, arena)) = builder.document()? else {
        return Ok(None);
    };
    let text = source.text();
    let heads = heads(text, builder.scanner.gaps().unwrap_or_default());
    let heads = match heads.is_empty() {
        true => BTreeMap::new(),
        false => Owners::new(&arena, text, &heads).comments(&builder.items),
    };
    let nodes = arena.nodes.into_iter().enumerate().map(|(id, raw)| WrittenNode {
        span: raw.span,
        head: heads.get(&id).cloned().unwrap_or_default(),
        kind: written(raw.kind),
    });
    let nodes = nodes.collect();
    Ok(Some(WrittenDocument { nodes, root }))
}

fn written(kind: RawKind<'_>) -> WrittenKind {
    match kind {
        RawKind::Scalar { tag, value, plain } => WrittenKind::Scalar {
            tag,
            text: value.into_owned(),
            is_plain: plain,
        },
        RawKind::Seq(items) => WrittenKind::Seq(items),
        RawKind::Map(entries) => WrittenKind::Map(entries),
        RawKind::Alias { name, target } => WrittenKind::Alias { name, target },
    }
}

/// A key, or an item of a list, in the order of the text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    at: usize,
    id: usize,
    /// The token before which its comment is.
    token: Option<usize>,
    /// The map or list that it is in.
    parent: usize,
}

/// Finds what comments belong to.
struct Owners<'a> {
    arena: &'a Arena<'a>,
    text: &'a str,
    heads: &'a BTreeMap<usize, String>,
    /// The map or list that a node is in.
    parents: Vec<usize>,
}

impl<'a> Owners<'a> {
    fn new(arena: &'a Arena<'a>, text: &'a str, heads: &'a BTreeMap<usize, String>) -> Self {
        let mut parents = vec![usize::MAX; arena.nodes.len()];
        for (id, raw) in arena.nodes.iter().enumerate() {
            let mut enter = |child: &usize| {
                if let Some(parent) = parents.get_mut(*child) {
                    *parent = id;
                }
            };
            match &raw.kind {
                RawKind::Seq(items) => items.iter().for_each(enter),
                RawKind::Map(entries) => entries.iter().for_each(|(key, value)| {
                    enter(key);
                    enter(value);
                }),
                RawKind::Scalar { .. } | RawKind::Alias { .. } => {}
            }
        }
        Self {
            arena,
            text,
            heads,
            parents,
        }
    }

    /// The comments of nodes; `items` has the items of lists in blocks with the offsets of their `-`.
    fn comments(&self, items: &[(usize, usize)]) -> BTreeMap<usize, String> {
        let mut comments: BTreeMap<usize, String> = BTreeMap::new();
        // The comment of an item that is not there, and its list: it is that of what follows there or behind the list.
        let mut passed_on: Option<(String, usize)> = None;
        for owner in self.in_order(items) {
            let mut parts: Vec<String> = comments.remove(&owner.id).into_iter().collect();
            parts.extend(
                passed_on
                    .take()
                    .and_then(|(comment, list)| self.follows(list, owner.parent).then_some(comment)),
            );
            parts.extend(owner.token.and_then(|token| self.heads.get(&token)).cloned());
            if parts.is_empty() {
                continue;
            }
            let comment = parts.join("\n");
            match self
                .arena
                .nodes
                .get(owner.id)
                .is_some_and(|raw| raw.span.is_empty())
            {
                true => passed_on = Some((comment, owner.parent)),
                false => drop(comments.insert(owner.id, comment)),
            }
        }
        comments
    }

    /// Whether only ends of lists are between the end of a list and what follows it in a map or list.
    fn follows(&self, list: usize, parent: usize) -> bool {
        let mut within = list;
        loop {
            if within == parent {
                return true;
            }
            match (
                self.arena.nodes.get(within).map(|raw| &raw.kind),
                self.parents.get(within),
            ) {
                (Some(RawKind::Seq(_)), Some(outer)) => within = *outer,
                _ => return false,
            }
        }
    }

    /// What may have comments.
    fn in_order(&self, items: &[(usize, usize)]) -> Vec<Owner> {
        let parent = |id: usize| self.parents.get(id).copied().unwrap_or(usize::MAX);
        let dashes = items.iter().map(|(id, dash)| Owner {
            at: *dash,
            id: *id,
            token: Some(*dash),
            parent: parent(*id),
        });
        let mut owners: Vec<Owner> = dashes.collect();
        for raw in &self.arena.nodes {
            match &raw.kind {
                RawKind::Map(entries) => owners.extend(entries.iter().map(|(key, _)| self.owner(*key))),
                // The first comment in a block is that of its first key or item.
                RawKind::Seq(ids) => {
                    let ids = ids.iter().filter(|id| !self.is_block(**id));
                    owners.extend(ids.map(|id| self.owner(*id)));
                }
                RawKind::Scalar { .. } | RawKind::Alias { .. } => {}
            }
        }
        owners.sort_unstable();
        owners
    }

    fn start(&self, id: usize) -> usize {
        self.arena.nodes.get(id).map_or(0, |raw| raw.span.start as usize)
    }

    fn owner(&self, id: usize) -> Owner {
        let at = self.start(id);
        // An anchor, a tag or a `?` may come first.
        let begins = |token: &usize| {
            let between = self.text.get(*token..at).unwrap_or("");
            between.is_empty() || between.starts_with(['&', '!', '?']) && !between.contains('\n')
        };
        let token = self.heads.range(..=at).next_back().map(|(token, _)| *token);
        Owner {
            at,
            id,
            token: token.filter(begins),
            parent: self.parents.get(id).copied().unwrap_or(usize::MAX),
        }
    }

    fn is_block(&self, id: usize) -> bool {
        let kind = self.arena.nodes.get(id).map(|raw| &raw.kind);
        let is_nested = matches!(kind, Some(RawKind::Map(_) | RawKind::Seq(_)));
        is_nested
            && !self
                .text
                .get(self.start(id)..)
                .unwrap_or("")
                .starts_with(['{', '['])
    }
}

/// What go-yaml v3 takes a scalar for: YAML 1.2's booleans, and YAML 1.1's numbers.
pub fn scalar_type(tag: Option<&str>, text: &str, is_plain: bool) -> ScalarType {
    resolve::as_v3(tag, text, is_plain)
}
