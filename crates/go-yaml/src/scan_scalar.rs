//! Scans scalars: plain, quoted, and blocks.

use std::borrow::Cow;

use super::error::{Result, Tab, YamlError, YamlErrorKind};
use super::scan::{Scanner, Token, TokenKind};
use solar_diagnostics::source::Span;

/// White space and line breaks between two parts of a flow scalar.
#[derive(Default)]
struct Gap<'a> {
    blanks: &'a str,
    first_break: Option<&'a str>,
    further_breaks: String,
}

impl Gap<'_> {
    /// One line break becomes a space; of several, all but the first are kept.
    fn fold_into(&self, value: &mut String) {
        match self.first_break {
            None => value.push_str(self.blanks),
            Some("\n") if self.further_breaks.is_empty() => value.push(' '),
            Some("\n") => value.push_str(&self.further_breaks),
            Some(other) => {
                value.push_str(other);
                value.push_str(&self.further_breaks);
            }
        }
    }
}

/// The header of a block scalar.
struct Header {
    literal: bool,
    /// `+` keeps trailing breaks, `-` drops them.
    chomp: u8,
    increment: usize,
}

/// Appends a part of the text; the first one is not copied.
fn append<'a>(value: &mut Cow<'a, str>, piece: &'a str) {
    if value.is_empty() {
        *value = Cow::Borrowed(piece);
    } else {
        value.to_mut().push_str(piece);
    }
}

impl<'a> Scanner<'a> {
    /// A plain scalar, possibly over several lines.
    pub(super) fn plain(&mut self) -> Result<Token<'a>> {
        let start = self.cursor.at.offset;
        let mut end = start;
        let mut value = Cow::Borrowed("");
        let mut gap = Gap::default();
        let least = self.indent + 1;
        let inside = |column: usize| isize::try_from(column).is_ok_and(|column| column >= least);
        loop {
            if self.cursor.is_document_indicator() || self.cursor.byte(0) == b'#' {
                break;
            }
            let from = self.cursor.at.offset;
            self.plain_run();
            if self.cursor.at.offset > from {
                if !value.is_empty() {
                    gap.fold_into(value.to_mut());
                }
                gap = Gap::default();
                append(&mut value, self.cursor.since(from));
                end = self.cursor.at.offset;
            }
            if !self.cursor.is_blank(0) && !self.cursor.is_break() {
                break;
            }
            gap = self.gap(false, |scanner| {
                let column = scanner.cursor.at.column;
                if scanner.cursor.byte(0) == b'\t' && !inside(column) {
                    return Err(scanner.here(YamlErrorKind::TabIndentation(Tab::InPlain)));
                }
                Ok(())
            })?;
            if self.flow == 0 && !inside(self.cursor.at.column) {
                break;
            }
        }
        if gap.first_break.is_some() {
            self.key_allowed = true;
        }
        Ok(Token {
            span: Span::new(start, end),
            kind: TokenKind::Scalar { value, plain: true },
        })
    }

    /// Skips words and spaces, up to the end of the scalar or the line.
    fn plain_run(&mut self) {
        loop {
            while !self.cursor.is_blank_or_end(0) && !self.ends_plain() {
                self.cursor.skip();
                self.cursor.skip_letters();
            }
            let before = self.cursor.at;
            self.cursor.skip_blanks();
            let ends = self.cursor.is_break_or_end() || self.cursor.byte(0) == b'#' || self.ends_plain();
            if ends || self.cursor.at.offset == before.offset {
                self.cursor.at = before;
                return;
            }
        }
    }

    fn ends_plain(&self) -> bool {
        match self.cursor.byte(0) {
            b':' => self.cursor.is_blank_or_end(1),
            // go-yaml ends a text at `?` too, which libyaml no longer does.
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow > 0,
            _ => false,
        }
    }

    /// Skips white space and line breaks; `check` is called for each white space after a line break.
    fn gap(&mut self, broken: bool, check: impl Fn(&Self) -> Result<()>) -> Result<Gap<'a>> {
        let mut gap = Gap::default();
        let mut broken = broken;
        let start = self.cursor.at.offset;
        loop {
            if self.cursor.is_blank(0) {
                if broken {
                    check(self)?;
                }
                self.cursor.skip();
                if !broken {
                    gap.blanks = self.cursor.since(start);
                }
            } else if self.cursor.is_break() {
                let taken = self.cursor.take_break();
                if gap.first_break.is_none() && !broken {
                    gap.first_break = Some(taken);
                } else {
                    gap.further_breaks.push_str(taken);
                }
                broken = true;
            } else {
                return Ok(gap);
            }
        }
    }

    /// A scalar in single or double quotes.
    pub(super) fn quoted(&mut self) -> Result<Token<'a>> {
        let start = self.cursor.at.offset;
        let quote = self.cursor.byte(0);
        self.cursor.skip();
        let mut value = Cow::Borrowed("");
        loop {
            if self.cursor.is_document_indicator() || self.cursor.is_end() {
                return Err(self.unclosed(start));
            }
            let joined = self.quoted_run(quote, &mut value)?;
            if self.cursor.byte(0) == quote {
                break;
            }
            let gap = self.gap(joined, |_| Ok(()))?;
            if joined {
                value.to_mut().push_str(&gap.further_breaks);
            } else {
                gap.fold_into(value.to_mut());
            }
        }
        self.cursor.skip();
        Ok(Token {
            span: Span::new(start, self.cursor.at.offset),
            kind: TokenKind::Scalar { value, plain: false },
        })
    }

    /// Scans up to trailing white space, a line break or the closing quote; returns whether it ended with an escaped
    /// line break, after which white space is ignored.
    fn quoted_run(&mut self, quote: u8, value: &mut Cow<'a, str>) -> Result<bool> {
        let mut from = self.cursor.at.offset;
        loop {
            if self.cursor.is_blank(0) && self.skip_blanks_within_line() {
                continue;
            }
            let byte = self.cursor.byte(0);
            let special = byte == quote || byte == b'\\' && quote == b'"';
            if special || self.cursor.is_blank_or_end(0) {
                append(value, self.cursor.since(from));
            }
            if byte == quote && quote == b'\'' && self.cursor.byte(1) == b'\'' {
                value.to_mut().push('\'');
                self.cursor.skip_many(2);
            } else if byte == quote || self.cursor.is_blank_or_end(0) {
                return Ok(false);
            } else if !special {
                self.cursor.skip();
                self.cursor.skip_letters();
                continue;
            } else if self.cursor.break_length(1) > 0 {
                self.cursor.skip();
                self.cursor.take_break();
                return Ok(true);
            } else {
                let character = self.escape()?;
                value.to_mut().push(character);
            }
            from = self.cursor.at.offset;
        }
    }

    /// Skips white space, unless the line ends after it.
    fn skip_blanks_within_line(&mut self) -> bool {
        let before = self.cursor.at;
        self.cursor.skip_blanks();
        let within = !self.cursor.is_break_or_end();
        if !within {
            self.cursor.at = before;
        }
        within
    }

    fn unclosed(&self, start: usize) -> YamlError {
        let span = Span::new(start, start + 1);
        let end = Span::new(self.cursor.at.offset, self.cursor.at.offset).end;
        let kind = if self.cursor.is_end() {
            YamlErrorKind::UnclosedQuote { end }
        } else {
            YamlErrorKind::DocumentInQuotes { end }
        };
        self.context.error(span, kind)
    }

    /// An escape in double quotes.
    fn escape(&mut self) -> Result<char> {
        let from = self.cursor.at.offset;
        let character = match self.cursor.byte(1) {
            b'0' => '\0',
            b'a' => '\u{7}',
            b'b' => '\u{8}',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\u{b}',
            b'f' => '\u{c}',
            b'r' => '\r',
            b'e' => '\u{1b}',
            b' ' => ' ',
            b'"' => '"',
            b'\'' => '\'',
            b'/' => '/',
            b'\\' => '\\',
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            b'x' => return self.escape_code(from, 2),
            b'u' => return self.escape_code(from, 4),
            b'U' => return self.escape_code(from, 8),
            _ => {
                self.cursor.skip();
                let length = self.cursor.character().map_or(0, char::len_utf8);
                let span = Span::new(from, self.cursor.at.offset + length);
                let shown = self.context.source.slice(span).to_owned();
                return Err(self.context.error(span, YamlErrorKind::UnknownEscape(shown)));
            }
        };
        self.cursor.skip_many(2);
        Ok(character)
    }

    fn escape_code(&mut self, from: usize, digits: usize) -> Result<char> {
        let mut code = self.hex(digits)?;
        // JSON writes characters beyond U+FFFF as two escapes; go-yaml refuses those.
        if digits == 4
            && (0xd800..0xdc00).contains(&code)
            && self.cursor.byte(0) == b'\\'
            && self.cursor.byte(1) == b'u'
        {
            let low = self.hex(4)?;
            if (0xdc00..0xe000).contains(&low) {
                code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            }
        }
        char::from_u32(code).ok_or_else(|| {
            let span = Span::new(from, self.cursor.at.offset);
            let shown = self.context.source.slice(span).to_owned();
            self.context
                .error(span, YamlErrorKind::InvalidCharacterCode(shown))
        })
    }

    /// Consumes the digits after `\x`, `\u` or `\U`.
    fn hex(&mut self, count: usize) -> Result<u32> {
        let digits = self.cursor.rest().get(2..2 + count).unwrap_or("");
        let valid = digits.len() == count && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match u32::from_str_radix(digits, 16) {
            Ok(code) if valid => {
                self.cursor.skip_many(2 + count);
                Ok(code)
            }
            _ => {
                let start = self.cursor.at.offset;
                let span = Span::new(start, start + 2);
                let kind = YamlErrorKind::InvalidHexadecimal { digits: count };
                Err(self.context.error(span, kind))
            }
        }
    }

    /// `|` and `>`.
    pub(super) fn block_scalar(&mut self) -> Result<Token<'a>> {
        let start = self.cursor.at.offset;
        let Header {
            literal,
            chomp,
            increment,
        } = self.block_header()?;
        let outer = usize::try_from(self.indent).unwrap_or(0);
        let mut indent = if increment > 0 { outer + increment } else { 0 };
        let mut end = self.cursor.at.offset;
        let mut value = String::new();
        let mut leading = "";
        let mut trailing = self.block_breaks(&mut indent)?;
        let mut blank_before = false;
        while self.cursor.at.column == indent && !self.cursor.is_end() {
            let blank = self.cursor.is_blank(0);
            if !literal && leading.starts_with('\n') && !blank_before && !blank {
                if trailing.is_empty() {
                    value.push(' ');
                }
            } else {
                value.push_str(leading);
            }
            value.push_str(&trailing);
            blank_before = blank;
            let from = self.cursor.at.offset;
            self.cursor.skip_line();
            value.push_str(self.cursor.since(from));
            end = self.cursor.at.offset;
            leading = self.cursor.take_break();
            trailing = self.block_breaks(&mut indent)?;
        }
        if chomp != b'-' {
            value.push_str(leading);
        }
        if chomp == b'+' {
            value.push_str(&trailing);
        }
        Ok(Token {
            span: Span::new(start, end),
            kind: TokenKind::Scalar {
                value: value.into(),
                plain: false,
            },
        })
    }

    fn block_header(&mut self) -> Result<Header> {
        let literal = self.cursor.byte(0) == b'|';
        self.cursor.skip();
        let (mut chomp, mut increment) = (0, 0);
        for _ in 0..2 {
            match self.cursor.byte(0) {
                sign @ (b'+' | b'-') if chomp == 0 => chomp = sign,
                b'0' if increment == 0 => {
                    return Err(self.here(YamlErrorKind::ZeroIndentation));
                }
                digit @ b'1'..=b'9' if increment == 0 => increment = usize::from(digit - b'0'),
                _ => break,
            }
            self.cursor.skip();
        }
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.is_break_or_end() {
            return Err(self.here(YamlErrorKind::TextInBlockHeader));
        }
        self.cursor.take_break();
        Ok(Header {
            literal,
            chomp,
            increment,
        })
    }

    /// Skips indentation and empty lines. The first line with text determines the indentation of the block, unless its
    /// header does.
    fn block_breaks(&mut self, indent: &mut usize) -> Result<String> {
        let mut breaks = String::new();
        let mut widest = 0;
        loop {
            let unknown = *indent == 0;
            while (unknown || self.cursor.at.column < *indent) && self.cursor.byte(0) == b' ' {
                self.cursor.skip();
            }
            widest = widest.max(self.cursor.at.column);
            if (unknown || self.cursor.at.column < *indent) && self.cursor.byte(0) == b'\t' {
                return Err(self.here(YamlErrorKind::TabIndentation(Tab::InBlock)));
            }
            if !self.cursor.is_break() {
                break;
            }
            breaks.push_str(self.cursor.take_break());
        }
        if *indent == 0 {
            let least = usize::try_from(self.indent + 1).unwrap_or(0).max(1);
            *indent = widest.max(least);
        }
        Ok(breaks)
    }
}
