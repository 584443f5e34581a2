//! Builds a tree as written from tokens: aliases are names, scalars are texts with tags.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::error::{Result, TEMPLATE_HINT, YamlError, YamlErrorKind};
use super::raw::{Arena, Raw, RawKind, ReadContext};
use super::scan::{Scanner, Token, TokenKind};
use solar_diagnostics::diag;
use solar_diagnostics::source::{Location, Span};

pub(super) struct Builder<'a> {
    context: ReadContext<'a>,
    pub(super) scanner: Scanner<'a>,
    pub(super) arena: Arena<'a>,
    anchors: BTreeMap<String, usize>,
    /// Tag handles and their prefixes.
    handles: BTreeMap<String, String>,
    begun: bool,
    /// The items of lists in blocks, with the offsets of their `-`; only if the scanner records gaps.
    pub(super) items: Vec<(usize, usize)>,
}

/// The properties before a node.
#[derive(Default)]
struct Properties {
    anchor: Option<String>,
    tag: Option<String>,
    /// The end of the last one.
    end: Option<u32>,
}

/// Which kinds of collections may start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    Flow,
    Block,
    /// Also a list with the same indentation as the surrounding map.
    BlockOrIndentless,
}

/// The start of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opened {
    /// A complete node: a scalar or an alias.
    Whole,
    Indentless,
    FlowSequence,
    FlowMapping,
    BlockSequence,
    BlockMapping,
}

impl<'a> Builder<'a> {
    pub(super) fn new(context: ReadContext<'a>, scanner: Scanner<'a>) -> Self {
        Self {
            context,
            scanner,
            arena: Arena::default(),
            anchors: BTreeMap::new(),
            handles: BTreeMap::new(),
            begun: false,
            items: Vec::new(),
        }
    }

    /// The root of the next document and its nodes.
    pub(super) fn document(&mut self) -> Result<Option<(usize, Arena<'a>)>> {
        self.handles.clear();
        self.anchors.clear();
        if self.begun {
            while matches!(self.scanner.peek()?.kind, TokenKind::DocumentEnd) {
                self.scanner.take()?;
            }
        }
        let first = !std::mem::replace(&mut self.begun, true);
        let root = match &self.scanner.peek()?.kind {
            TokenKind::StreamEnd => return Ok(None),
            TokenKind::VersionDirective(_) | TokenKind::TagDirective { .. } | TokenKind::DocumentStart => {
                self.explicit_document()?
            }
            _ if first => {
                self.default_handles();
                self.node(Allowed::Block, 0)?
            }
            _ => {
                let span = self.scanner.peek()?.span;
                return Err(self.unexpected(span, YamlErrorKind::TextAfterDocument));
            }
        };
        if matches!(self.scanner.peek()?.kind, TokenKind::DocumentEnd) {
            self.scanner.take()?;
        }
        Ok(Some((root, std::mem::take(&mut self.arena))))
    }

    fn explicit_document(&mut self) -> Result<usize> {
        let mut version = false;
        loop {
            let Token { span, kind } = self.scanner.take()?;
            match kind {
                TokenKind::VersionDirective(_) if version => {
                    return Err(self.context.error(span, YamlErrorKind::DuplicateVersion));
                }
                TokenKind::VersionDirective(number) if number != "1.1" => {
                    let kind = YamlErrorKind::UnsupportedVersion(number);
                    return Err(self.context.error(span, kind));
                }
                TokenKind::VersionDirective(_) => version = true,
                TokenKind::TagDirective { handle, prefix } => {
                    if self.handles.insert(handle, prefix).is_some() {
                        return Err(self.context.error(span, YamlErrorKind::DuplicateTagHandle));
                    }
                }
                TokenKind::DocumentStart => break,
                _ => return Err(self.context.error(span, YamlErrorKind::MissingDocumentStart)),
            }
        }
        self.default_handles();
        match self.scanner.peek()? {
            Token {
                kind:
                    TokenKind::VersionDirective(_)
                    | TokenKind::TagDirective { .. }
                    | TokenKind::DocumentStart
                    | TokenKind::DocumentEnd
                    | TokenKind::StreamEnd,
                span,
            } => {
                let at = span.start;
                self.empty(at)
            }
            _ => self.node(Allowed::Block, 0),
        }
    }

    fn default_handles(&mut self) {
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            let handle = handle.to_owned();
            self.handles.entry(handle).or_insert_with(|| prefix.to_owned());
        }
    }

    /// A node with its descendants. The recursion is through here and the collections; code with large stack frames is
    /// in [`Builder::open`].
    pub(super) fn node(&mut self, allowed: Allowed, depth: usize) -> Result<usize> {
        let (id, opened) = self.open(allowed)?;
        if opened == Opened::Whole {
            return Ok(id);
        }
        self.enter(id, depth + 1)?;
        match opened {
            Opened::Whole => Ok(id),
            Opened::Indentless => self.indentless_sequence(id, depth + 1),
            Opened::FlowSequence => self.flow_sequence(id, depth + 1),
            Opened::FlowMapping => self.flow_mapping(id, depth + 1),
            Opened::BlockSequence => self.block_sequence(id, depth + 1),
            Opened::BlockMapping => self.block_mapping(id, depth + 1),
        }
    }

    /// Parses a scalar, an alias, or the start of a collection.
    fn open(&mut self, allowed: Allowed) -> Result<(usize, Opened)> {
        if matches!(self.scanner.peek()?.kind, TokenKind::Alias(_)) {
            return Ok((self.alias()?, Opened::Whole));
        }
        let Properties { anchor, tag, end } = self.properties()?;
        let token = self.scanner.peek()?;
        let span = token.span;
        let block = allowed != Allowed::Flow;
        let opened = match &token.kind {
            TokenKind::BlockEntry if allowed == Allowed::BlockOrIndentless => Opened::Indentless,
            TokenKind::FlowSeqStart => Opened::FlowSequence,
            TokenKind::FlowMapStart => Opened::FlowMapping,
            TokenKind::BlockSeqStart if block => Opened::BlockSequence,
            TokenKind::BlockMapStart if block => Opened::BlockMapping,
            _ => Opened::Whole,
        };
        let kind = match opened {
            Opened::Whole => {
                let (span, kind) = self.scalar(span, tag, end)?;
                return Ok((self.add(span, kind, anchor)?, opened));
            }
            Opened::FlowMapping | Opened::BlockMapping => RawKind::Map(Vec::new()),
            Opened::Indentless | Opened::FlowSequence | Opened::BlockSequence => RawKind::Seq(Vec::new()),
        };
        if opened != Opened::Indentless {
            self.scanner.take()?;
        }
        Ok((self.add(span, kind, anchor)?, opened))
    }

    /// A scalar, which is empty if nothing follows its anchor or tag.
    fn scalar(&mut self, span: Span, tag: Option<String>, end: Option<u32>) -> Result<(Span, RawKind<'a>)> {
        if !matches!(self.scanner.peek()?.kind, TokenKind::Scalar { .. }) {
            let Some(at) = end else {
                return Err(self.unexpected(span, YamlErrorKind::MissingValue));
            };
            let plain = tag.is_none();
            let value = Cow::default();
            return Ok((Span { start: at, end: at }, RawKind::Scalar { tag, value, plain }));
        }
        let TokenKind::Scalar { value, plain } = self.scanner.take()?.kind else {
            return Err(self.unexpected(span, YamlErrorKind::MissingValue));
        };
        // A lone `!` makes the scalar a string but keeps `<<` a merge, as in go-yaml.
        let plain = plain && tag.is_none() || tag.as_deref() == Some("!");
        Ok((span, RawKind::Scalar { tag, value, plain }))
    }

    /// An anchor and a tag in either order.
    fn properties(&mut self) -> Result<Properties> {
        let mut properties = Properties::default();
        loop {
            let fits = match &self.scanner.peek()?.kind {
                TokenKind::Anchor(_) => properties.anchor.is_none(),
                TokenKind::Tag { .. } => properties.tag.is_none(),
                _ => false,
            };
            if !fits {
                return Ok(properties);
            }
            let Token { span, kind } = self.scanner.take()?;
            properties.end = Some(span.end);
            match kind {
                TokenKind::Anchor(name) => properties.anchor = Some(name),
                TokenKind::Tag { handle, suffix } => {
                    properties.tag = Some(self.full_tag(span, &handle, suffix)?)
                }
                _ => {}
            }
        }
    }

    fn full_tag(&self, span: Span, handle: &str, suffix: String) -> Result<String> {
        if handle.is_empty() {
            return Ok(suffix);
        }
        match self.handles.get(handle) {
            Some(prefix) => Ok(format!("{prefix}{suffix}")),
            None => {
                let kind = YamlErrorKind::UndefinedTagHandle(handle.to_owned());
                Err(self.context.error(span, kind))
            }
        }
    }

    /// An anchor is defined from its node's start on, so a node can contain itself, which is refused later.
    pub(super) fn add(&mut self, span: Span, kind: RawKind<'a>, anchor: Option<String>) -> Result<usize> {
        let id = self.arena.nodes.len();
        if id >= self.context.limits.nodes {
            return Err(self.context.too_many(span));
        }
        self.arena.nodes.push(Raw { span, kind });
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, id);
        }
        Ok(id)
    }

    pub(super) fn empty(&mut self, at: u32) -> Result<usize> {
        let kind = RawKind::Scalar {
            tag: None,
            value: Cow::default(),
            plain: true,
        };
        self.add(Span { start: at, end: at }, kind, None)
    }

    fn alias(&mut self) -> Result<usize> {
        let Token { span, kind } = self.scanner.take()?;
        let TokenKind::Alias(name) = kind else {
            return Err(self.unexpected(span, YamlErrorKind::MissingValue));
        };
        let Some(&target) = self.anchors.get(&name) else {
            return Err(self.unknown_anchor(span, &name));
        };
        self.arena.aliased = true;
        self.add(span, RawKind::Alias { name, target }, None)
    }

    fn unknown_anchor(&self, span: Span, name: &str) -> YamlError {
        let kind = YamlErrorKind::UnknownAnchor(name.to_owned());
        let known = self.anchors.keys().map(String::as_str);
        let hint = match diag::did_you_mean(name, known) {
            Some(near) => format!("did you mean `*{near}`?"),
            None => format!("mark the value before with `&{name}`, or put the text in quotes"),
        };
        self.context.error(span, kind).hint(hint)
    }

    pub(super) fn enter(&mut self, id: usize, depth: usize) -> Result<()> {
        if depth <= self.context.limits.depth {
            return Ok(());
        }
        let span = self.arena.nodes.get(id).map_or(Span::default(), |node| node.span);
        Err(self.context.too_deep(span))
    }

    pub(super) fn location(&self, span: Span) -> Location {
        Location::new(self.context.source, span)
    }

    pub(super) fn unexpected(&self, span: Span, kind: YamlErrorKind) -> YamlError {
        let error = self.context.error(span, kind);
        let text = self.context.source.text();
        let line = text.get(..span.start as usize).unwrap_or("");
        let line = line.rsplit('\n').next().unwrap_or("");
        if line.contains("{{") || self.context.source.slice(span).starts_with("{{") {
            return error.hint(TEMPLATE_HINT);
        }
        error
    }
}
