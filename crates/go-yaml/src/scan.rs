//! Splits a text into tokens: YAML 1.1 as in libyaml and go-yaml v2.
//!
//! The difficulty of YAML is the simple key: that `a` in `a: 1` is a key is only known at the `:`. So a token that may
//! be a key is remembered, and no token is returned as long as a key may have to be inserted before it. That ends after
//! 1024 characters or at the end of the line, which bounds the queue.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::comments::{After, Gap};
use super::cursor::{Cursor, END, Mark, forbidden, is_word};
use super::error::{Named, Result, TEMPLATE_HINT, Tab, YamlError, YamlErrorKind};
use super::raw::ReadContext;
use solar_diagnostics::source::Span;

/// A simple key and its `:` are within this many characters of a line.
const SIMPLE_KEY: usize = 1024;

#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) span: Span,
    pub(super) kind: TokenKind<'a>,
}

#[derive(Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    StreamEnd,
    VersionDirective(String),
    TagDirective {
        handle: String,
        prefix: String,
    },
    DocumentStart,
    DocumentEnd,
    BlockSeqStart,
    BlockMapStart,
    BlockEnd,
    FlowSeqStart,
    FlowSeqEnd,
    FlowMapStart,
    FlowMapEnd,
    FlowEntry,
    BlockEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag {
        handle: String,
        suffix: String,
    },
    /// Borrowed from the text if it is unchanged.
    Scalar {
        value: Cow<'a, str>,
        plain: bool,
    },
}

struct SimpleKey {
    possible: bool,
    /// Whether only a key is allowed here.
    required: bool,
    /// Its nesting in flow collections.
    level: usize,
    token: usize,
    mark: Mark,
}

pub(super) struct Scanner<'a> {
    pub(super) context: ReadContext<'a>,
    pub(super) cursor: Cursor<'a>,
    tokens: VecDeque<Token<'a>>,
    /// The number of tokens returned so far.
    taken: usize,
    /// The column of the current block; -1 outside of any.
    pub(super) indent: isize,
    indents: Vec<isize>,
    /// The number of open flow collections.
    pub(super) flow: usize,
    pub(super) key_allowed: bool,
    /// At most one per level, in the order of levels and so of tokens.
    keys: Vec<SimpleKey>,
    /// Where comments are, if they are asked for.
    gaps: Option<Vec<Gap>>,
    /// The last token so far and its end; only for gaps.
    last: After,
    last_end: usize,
    last_ends_below_first_line: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(context: ReadContext<'a>) -> Result<Self> {
        let text = context.source.text();
        if let Some((offset, character)) = forbidden(text) {
            let span = Span::new(offset, offset + character.len_utf8());
            return Err(context.error(span, YamlErrorKind::ForbiddenCharacter(character)));
        }
        Ok(Self {
            context,
            cursor: Cursor::new(text),
            tokens: VecDeque::new(),
            taken: 0,
            indent: -1,
            indents: Vec::new(),
            flow: 0,
            key_allowed: true,
            keys: Vec::new(),
            gaps: None,
            last: After::Nothing,
            last_end: 0,
            last_ends_below_first_line: false,
        })
    }

    /// Records where comments are.
    pub(super) fn with_gaps(mut self) -> Self {
        self.gaps = Some(Vec::new());
        self
    }

    /// Where comments were; `None` if they aren't recorded.
    pub(super) fn gaps(&self) -> Option<&[Gap]> {
        self.gaps.as_deref()
    }

    /// Peeks at the next token.
    pub(super) fn peek(&mut self) -> Result<&Token<'a>> {
        while self.needs_more()? {
            self.fetch()?;
        }
        match self.tokens.front() {
            Some(token) => Ok(token),
            None => Err(self.here(YamlErrorKind::UnexpectedEnd)),
        }
    }

    /// The next token. After the end of the stream there is none.
    pub(super) fn take(&mut self) -> Result<Token<'a>> {
        self.peek()?;
        self.taken += 1;
        match self.tokens.pop_front() {
            Some(token) => Ok(token),
            None => Err(self.here(YamlErrorKind::UnexpectedEnd)),
        }
    }

    fn needs_more(&mut self) -> Result<bool> {
        if self.tokens.is_empty() {
            return Ok(true);
        }
        let taken = self.taken;
        // Nearly always only the last token can become a key.
        if self.keys.last().is_none_or(|key| key.token < taken) {
            return Ok(false);
        }
        match self.keys.binary_search_by_key(&taken, |key| key.token) {
            Ok(index) => self.is_possible(index),
            Err(_) => Ok(false),
        }
    }

    /// Whether a key may still get its `:`.
    fn is_possible(&mut self, index: usize) -> Result<bool> {
        let at = self.cursor.at;
        let Some(key) = self.keys.get_mut(index) else {
            return Ok(false);
        };
        if key.possible && (key.mark.line < at.line || key.mark.column + SIMPLE_KEY < at.column) {
            key.possible = false;
            if key.required {
                let start = key.mark.offset;
                return Err(self.missing_colon(start));
            }
        }
        Ok(self.keys.get(index).is_some_and(|key| key.possible))
    }

    fn fetch(&mut self) -> Result<()> {
        self.skip_to_token();
        if self.gaps.is_none() {
            return self.fetch_here();
        }
        self.record_gap();
        self.fetch_here()?;
        self.last = match self.tokens.back().map(|token| &token.kind) {
            Some(TokenKind::Value) => After::Value,
            Some(TokenKind::BlockEntry) => After::Item,
            _ => After::Other,
        };
        self.last_end = self.tokens.back().map_or(0, |token| token.span.end as usize);
        self.last_ends_below_first_line = self.cursor.at.line > 0;
        Ok(())
    }

    fn record_gap(&mut self) {
        let cursor = &self.cursor;
        // The end of a block is after its line breaks.
        let start = cursor.text.get(..self.last_end).unwrap_or("").trim_end().len();
        let before = self.gaps.as_ref().and_then(|gaps| gaps.last());
        let is_passed_on = before.is_some_and(|gap| gap.passes_on && gap.end + 3 >= start);
        if !is_passed_on && !cursor.since(start).contains('#') {
            return;
        }
        let gap = Gap {
            start,
            end: cursor.at.offset,
            indent: usize::try_from(self.indent).unwrap_or(0),
            after: self.last,
            closes: self.flow > 0 && matches!(cursor.byte(0), b']' | b'}'),
            passes_on: self.flow > 0 && cursor.byte(0) == b','
                || cursor.byte(0) == b'-' && cursor.is_document_indicator(),
            has_feet: self.last_ends_below_first_line,
        };
        self.gaps.get_or_insert_default().push(gap);
    }

    fn fetch_here(&mut self) -> Result<()> {
        let column = self.cursor.at.column;
        self.close_blocks(isize::try_from(column).unwrap_or(isize::MAX));
        let cursor = &self.cursor;
        let flow = self.flow > 0;
        match cursor.byte(0) {
            END => self.stream_end(),
            b'%' if column == 0 => self.directive(),
            b'-' if cursor.is_document_indicator() => self.document(TokenKind::DocumentStart),
            b'.' if cursor.is_document_indicator() => self.document(TokenKind::DocumentEnd),
            b'[' => self.flow_start(TokenKind::FlowSeqStart),
            b'{' => self.flow_start(TokenKind::FlowMapStart),
            b']' => self.flow_end(TokenKind::FlowSeqEnd),
            b'}' => self.flow_end(TokenKind::FlowMapEnd),
            b',' => self.flow_entry(),
            b'-' if cursor.is_blank_or_end(1) => self.block_entry(),
            b'?' if flow || cursor.is_blank_or_end(1) => self.explicit_key(),
            b':' if flow || cursor.is_blank_or_end(1) => self.value(),
            b'*' | b'&' => self.scanned(Self::anchor),
            b'!' => self.scanned(Self::tag),
            b'|' | b'>' if !flow => {
                self.drop_key()?;
                self.key_allowed = true;
                let token = self.block_scalar()?;
                self.tokens.push_back(token);
                Ok(())
            }
            b'\'' | b'"' => self.scanned(Self::quoted),
            first => {
                let starts = match first {
                    b'-' => true,
                    b'?' | b':' => !flow,
                    b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => false,
                    _ => !cursor.is_blank(0),
                };
                if !starts {
                    return Err(self.no_token());
                }
                self.scanned(Self::plain)
            }
        }
    }

    /// A token that may be a key, or come before one.
    fn scanned(&mut self, scan: impl Fn(&mut Self) -> Result<Token<'a>>) -> Result<()> {
        self.save_key(false)?;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn skip_to_token(&mut self) {
        let cursor = &mut self.cursor;
        loop {
            // Tabs separate, but never indent.
            let tabs = self.flow > 0 || !self.key_allowed;
            while cursor.byte(0) == b' ' || tabs && cursor.byte(0) == b'\t' {
                cursor.skip();
            }
            cursor.skip_comment();
            if !cursor.is_break() {
                return;
            }
            cursor.take_break();
            if self.flow == 0 {
                self.key_allowed = true;
            }
        }
    }

    /// Remembers that a key may start here; sets whether one may start after this token.
    fn save_key(&mut self, allowed_after: bool) -> Result<()> {
        if self.key_allowed {
            self.drop_key()?;
            let column = isize::try_from(self.cursor.at.column).unwrap_or(isize::MAX);
            self.keys.push(SimpleKey {
                possible: true,
                required: self.flow == 0 && self.indent == column,
                level: self.flow,
                token: self.taken + self.tokens.len(),
                mark: self.cursor.at,
            });
        }
        self.key_allowed = allowed_after;
        Ok(())
    }

    /// Forgets the key of this level, which did not become one.
    fn drop_key(&mut self) -> Result<()> {
        if self.keys.last().is_some_and(|key| key.level == self.flow)
            && let Some(key) = self.keys.pop()
            && key.possible
            && key.required
        {
            return Err(self.missing_colon(key.mark.offset));
        }
        Ok(())
    }

    fn indicator(&mut self, kind: TokenKind<'a>) {
        let start = self.cursor.at.offset;
        self.cursor.skip();
        let span = Span::new(start, self.cursor.at.offset);
        self.tokens.push_back(Token { span, kind });
    }

    fn flow_start(&mut self, kind: TokenKind<'a>) -> Result<()> {
        self.save_key(true)?;
        self.flow += 1;
        self.indicator(kind);
        Ok(())
    }

    fn flow_entry(&mut self) -> Result<()> {
        self.drop_key()?;
        self.key_allowed = true;
        self.indicator(TokenKind::FlowEntry);
        Ok(())
    }

    fn flow_end(&mut self, kind: TokenKind<'a>) -> Result<()> {
        self.drop_key()?;
        self.flow = self.flow.saturating_sub(1);
        self.key_allowed = false;
        self.indicator(kind);
        Ok(())
    }

    /// Opens a block at a column, unless it is open; its token is inserted before token number `before`.
    fn open_block(&mut self, mark: Mark, before: Option<usize>, kind: TokenKind<'a>) {
        let column = isize::try_from(mark.column).unwrap_or(isize::MAX);
        if self.flow > 0 || self.indent >= column {
            return;
        }
        self.indents.push(self.indent);
        self.indent = column;
        let span = Span::new(mark.offset, mark.offset);
        self.insert(before, Token { span, kind });
    }

    fn insert(&mut self, before: Option<usize>, token: Token<'a>) {
        let end = self.tokens.len();
        let index = before.map_or(end, |number| number.saturating_sub(self.taken).min(end));
        self.tokens.insert(index, token);
    }

    fn close_blocks(&mut self, column: isize) {
        if self.flow > 0 {
            return;
        }
        while self.indent > column {
            let Some(outer) = self.indents.pop() else { return };
            self.indent = outer;
            let at = self.cursor.at.offset;
            self.tokens.push_back(Token {
                span: Span::new(at, at),
                kind: TokenKind::BlockEnd,
            });
        }
    }

    fn stream_end(&mut self) -> Result<()> {
        // As if on a line of its own: no key that is still possible can become one.
        self.cursor.at.line += 1;
        self.close_blocks(-1);
        self.drop_key()?;
        self.key_allowed = false;
        self.indicator(TokenKind::StreamEnd);
        Ok(())
    }

    fn document(&mut self, kind: TokenKind<'a>) -> Result<()> {
        self.close_blocks(-1);
        self.drop_key()?;
        self.key_allowed = false;
        let start = self.cursor.at.offset;
        self.cursor.skip_many(3);
        let span = Span::new(start, self.cursor.at.offset);
        self.tokens.push_back(Token { span, kind });
        Ok(())
    }

    fn directive(&mut self) -> Result<()> {
        self.close_blocks(-1);
        self.drop_key()?;
        self.key_allowed = false;
        let token = self.scan_directive()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn block_entry(&mut self) -> Result<()> {
        // In flow context the builder reports it.
        if self.flow == 0 {
            if !self.key_allowed {
                return Err(self.here(YamlErrorKind::UnexpectedSequence));
            }
            self.open_block(self.cursor.at, None, TokenKind::BlockSeqStart);
        }
        self.drop_key()?;
        self.key_allowed = true;
        self.indicator(TokenKind::BlockEntry);
        Ok(())
    }

    fn explicit_key(&mut self) -> Result<()> {
        if self.flow == 0 {
            if !self.key_allowed {
                return Err(self.here(YamlErrorKind::UnexpectedKey));
            }
            self.open_block(self.cursor.at, None, TokenKind::BlockMapStart);
        }
        self.drop_key()?;
        self.key_allowed = self.flow == 0;
        self.indicator(TokenKind::Key);
        Ok(())
    }

    fn value(&mut self) -> Result<()> {
        let last = self.keys.len().wrapping_sub(1);
        let at_level = self.keys.last().is_some_and(|key| key.level == self.flow);
        if at_level
            && self.is_possible(last)?
            && let Some(key) = self.keys.pop()
        {
            let span = Span::new(key.mark.offset, key.mark.offset);
            let kind = TokenKind::Key;
            self.insert(Some(key.token), Token { span, kind });
            self.open_block(key.mark, Some(key.token), TokenKind::BlockMapStart);
            self.key_allowed = false;
        } else {
            if self.flow == 0 {
                if !self.key_allowed {
                    return Err(self.here(YamlErrorKind::UnexpectedColon));
                }
                self.open_block(self.cursor.at, None, TokenKind::BlockMapStart);
            }
            self.key_allowed = self.flow == 0;
        }
        self.indicator(TokenKind::Value);
        Ok(())
    }

    fn anchor(&mut self) -> Result<Token<'a>> {
        let start = self.cursor.at.offset;
        let alias = self.cursor.byte(0) == b'*';
        self.cursor.skip();
        let from = self.cursor.at.offset;
        while is_word(self.cursor.byte(0)) {
            self.cursor.skip();
        }
        let name = self.cursor.since(from).to_owned();
        let ends = self.cursor.is_blank_or_end(0)
            || matches!(
                self.cursor.byte(0),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        let span = Span::new(start, self.cursor.at.offset);
        if name.is_empty() || !ends {
            let named = if alias { Named::Alias } else { Named::Anchor };
            return Err(self.context.error(span, YamlErrorKind::InvalidName(named)));
        }
        let kind = if alias {
            TokenKind::Alias(name)
        } else {
            TokenKind::Anchor(name)
        };
        Ok(Token { span, kind })
    }

    /// An error at the current character.
    pub(super) fn here(&self, kind: YamlErrorKind) -> YamlError {
        let start = self.cursor.at.offset;
        let length = self.cursor.character().map_or(0, char::len_utf8);
        self.context.error(Span::new(start, start + length), kind)
    }

    fn missing_colon(&self, start: usize) -> YamlError {
        let noticed = self.cursor.at.line + 1;
        let rest = self.cursor.text.get(start..).unwrap_or("");
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let error = self.context.error(
            Span::new(start, start + length),
            YamlErrorKind::MissingColon { noticed },
        );
        if rest.starts_with("{{") {
            return error.hint(TEMPLATE_HINT);
        }
        error
    }

    fn no_token(&self) -> YamlError {
        match self.cursor.character() {
            Some('\t') => self.here(YamlErrorKind::TabIndentation(Tab::BeforeToken)),
            Some(character) => self.here(YamlErrorKind::InvalidStart(character)),
            None => self.here(YamlErrorKind::UnexpectedEnd),
        }
    }
}
