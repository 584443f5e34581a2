//! Builds maps and lists from tokens: the other half of `build`.

use super::build::{Allowed, Builder};
use super::error::{Flow, Result, YamlError, YamlErrorKind};
use super::raw::RawKind;
use super::scan::{Token, TokenKind};
use solar_diagnostics::source::Span;

impl<'a> Builder<'a> {
    pub(super) fn block_sequence(&mut self, id: usize, depth: usize) -> Result<usize> {
        let mut items = Vec::new();
        while let Some(at) = self.block_item()? {
            let item = match self.scanner.peek()?.kind {
                TokenKind::BlockEntry | TokenKind::BlockEnd => self.empty(at)?,
                _ => self.node(Allowed::Block, depth)?,
            };
            self.note_item(item, at);
            items.push(item);
        }
        Ok(self.close(id, None, RawKind::Seq(items)))
    }

    /// Notes where the `-` of an item is, which ends at an offset.
    fn note_item(&mut self, item: usize, end: u32) {
        if self.scanner.gaps().is_some() {
            self.items.push((item, (end as usize).saturating_sub(1)));
        }
    }

    /// Consumes the `-` of an item and returns its end, or consumes the end of the list.
    fn block_item(&mut self) -> Result<Option<u32>> {
        let Token { span, kind } = self.scanner.take()?;
        match kind {
            TokenKind::BlockEntry => Ok(Some(span.end)),
            TokenKind::BlockEnd => Ok(None),
            _ => Err(self.unexpected(span, YamlErrorKind::ExpectedItem)),
        }
    }

    pub(super) fn indentless_sequence(&mut self, id: usize, depth: usize) -> Result<usize> {
        let mut items = Vec::new();
        while matches!(self.scanner.peek()?.kind, TokenKind::BlockEntry) {
            let end = self.scanner.take()?.span.end;
            let item = match self.scanner.peek()?.kind {
                TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                    self.empty(end)?
                }
                _ => self.node(Allowed::Block, depth)?,
            };
            self.note_item(item, end);
            items.push(item);
        }
        Ok(self.close(id, None, RawKind::Seq(items)))
    }

    pub(super) fn block_mapping(&mut self, id: usize, depth: usize) -> Result<usize> {
        let mut entries = Vec::new();
        while let Some(at) = self.block_key()? {
            let key = match self.absent_in_block(at)? {
                Some(at) => self.empty(at)?,
                None => self.node(Allowed::BlockOrIndentless, depth)?,
            };
            let value = match self.block_value()? {
                Some(at) => self.empty(at)?,
                None => self.node(Allowed::BlockOrIndentless, depth)?,
            };
            entries.push((key, value));
        }
        Ok(self.close(id, None, RawKind::Map(entries)))
    }

    /// Consumes the mark of a key and returns its end, or consumes the end of the map.
    fn block_key(&mut self) -> Result<Option<u32>> {
        let Token { span, kind } = self.scanner.take()?;
        match kind {
            TokenKind::Key => Ok(Some(span.end)),
            TokenKind::BlockEnd => Ok(None),
            _ => Err(self.unexpected(span, YamlErrorKind::ExpectedKey)),
        }
    }

    /// Consumes a `:`, if one is next: returns its end, or where it is missing.
    fn value_start(&mut self) -> Result<std::result::Result<u32, u32>> {
        let token = self.scanner.peek()?;
        let span = token.span;
        if token.kind != TokenKind::Value {
            return Ok(Err(span.start));
        }
        self.scanner.take()?;
        Ok(Ok(span.end))
    }

    /// Consumes a `:`, if one is next. Returns the position of the value if there is none.
    fn block_value(&mut self) -> Result<Option<u32>> {
        match self.value_start()? {
            Ok(at) => self.absent_in_block(at),
            Err(at) => Ok(Some(at)),
        }
    }

    /// A key or a value of a block map may be absent, which is null.
    fn absent_in_block(&mut self, at: u32) -> Result<Option<u32>> {
        let next = &self.scanner.peek()?.kind;
        let absent = matches!(next, TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd);
        Ok(absent.then_some(at))
    }

    pub(super) fn flow_sequence(&mut self, id: usize, depth: usize) -> Result<usize> {
        let mut items = Vec::new();
        while !self.flow_ends(id, &TokenKind::FlowSeqEnd, items.is_empty())? {
            let item = match self.key_start()? {
                Some(span) => self.flow_pair(span, depth + 1)?,
                None => self.node(Allowed::Flow, depth)?,
            };
            items.push(item);
        }
        let end = self.scanner.take()?.span;
        Ok(self.close(id, Some(end), RawKind::Seq(items)))
    }

    pub(super) fn flow_mapping(&mut self, id: usize, depth: usize) -> Result<usize> {
        let mut entries = Vec::new();
        while !self.flow_ends(id, &TokenKind::FlowMapEnd, entries.is_empty())? {
            let marked = self.key_start()?.is_some();
            let key = match self.absent_in_flow()? {
                Some(at) if marked => self.empty(at)?,
                _ => self.node(Allowed::Flow, depth)?,
            };
            // Without a key mark no `:` follows: `{a}` is `{a: null}`.
            let absent = if marked {
                self.flow_value()?
            } else {
                Some(self.scanner.peek()?.span.start)
            };
            let value = match absent {
                Some(at) => self.empty(at)?,
                None => self.node(Allowed::Flow, depth)?,
            };
            entries.push((key, value));
        }
        let end = self.scanner.take()?.span;
        Ok(self.close(id, Some(end), RawKind::Map(entries)))
    }

    /// `a: 1` in a list in brackets: a map with one key.
    fn flow_pair(&mut self, span: Span, depth: usize) -> Result<usize> {
        let pair = self.add(span, RawKind::Map(Vec::new()), None)?;
        self.enter(pair, depth)?;
        let key = match self.absent_in_flow()? {
            Some(at) => self.empty(at)?,
            None => self.node(Allowed::Flow, depth)?,
        };
        let value = match self.flow_value()? {
            Some(at) => self.empty(at)?,
            None => self.node(Allowed::Flow, depth)?,
        };
        Ok(self.close(pair, None, RawKind::Map(vec![(key, value)])))
    }

    /// Consumes the mark of a key, if one is next; returns its span.
    fn key_start(&mut self) -> Result<Option<Span>> {
        let token = self.scanner.peek()?;
        let span = token.span;
        if token.kind != TokenKind::Key {
            return Ok(None);
        }
        self.scanner.take()?;
        Ok(Some(span))
    }

    /// Consumes the comma between two entries; returns whether the closing bracket is next.
    fn flow_ends(&mut self, id: usize, closing: &TokenKind<'_>, first: bool) -> Result<bool> {
        if !first && self.scanner.peek()?.kind == TokenKind::FlowEntry {
            self.scanner.take()?;
            return Ok(self.scanner.peek()?.kind == *closing);
        }
        let token = self.scanner.peek()?;
        if token.kind == *closing {
            return Ok(true);
        }
        let unclosed = matches!(
            token.kind,
            TokenKind::StreamEnd | TokenKind::DocumentStart | TokenKind::DocumentEnd
        );
        if first && !unclosed {
            return Ok(false);
        }
        let span = token.span;
        Err(self.unclosed(id, span, closing, unclosed, first))
    }

    fn unclosed(
        &self,
        id: usize,
        span: Span,
        closing: &TokenKind<'_>,
        at_end: bool,
        empty: bool,
    ) -> YamlError {
        let flow = match closing {
            TokenKind::FlowMapEnd => Flow::Mapping,
            _ => Flow::Sequence,
        };
        if at_end {
            let start = self.arena.nodes.get(id).map_or(span, |node| node.span);
            return self.unexpected(start, YamlErrorKind::Unclosed { flow, empty });
        }
        let opened = self.arena.nodes.get(id).map(|node| self.location(node.span));
        self.unexpected(span, YamlErrorKind::ExpectedComma(flow))
            .opened(flow, opened)
    }

    /// Consumes a `:`, if one is next. Returns the position of the value if there is none.
    fn flow_value(&mut self) -> Result<Option<u32>> {
        match self.value_start()? {
            Ok(_) => self.absent_in_flow(),
            Err(at) => Ok(Some(at)),
        }
    }

    /// A key or a value in brackets may be absent, which is null.
    fn absent_in_flow(&mut self) -> Result<Option<u32>> {
        let Token { span, kind } = self.scanner.peek()?;
        let absent = matches!(
            kind,
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMapEnd | TokenKind::FlowSeqEnd
        );
        Ok(absent.then_some(span.start))
    }

    /// Flow collections end at their bracket, blocks at the end of their last child.
    fn close(&mut self, id: usize, bracket: Option<Span>, kind: RawKind<'a>) -> usize {
        let last = match &kind {
            RawKind::Seq(items) => items.last().copied(),
            RawKind::Map(entries) => entries.last().map(|(_, value)| *value),
            _ => None,
        };
        let last = last.and_then(|last| self.arena.nodes.get(last));
        let end = bracket.or_else(|| last.map(|last| last.span));
        if let Some(node) = self.arena.nodes.get_mut(id) {
            node.span.end = end.map_or(node.span.end, |end| end.end.max(node.span.end));
            node.kind = kind;
        }
        id
    }
}
