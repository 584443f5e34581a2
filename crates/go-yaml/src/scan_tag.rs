//! Scans tags and directives.

use super::cursor::is_word;
use super::error::{Result, YamlErrorKind};
use super::scan::{Scanner, Token, TokenKind};
use solar_diagnostics::source::Span;

impl<'a> Scanner<'a> {
    /// `!<uri>`, `!suffix`, `!!suffix`, `!handle!suffix` or `!` alone.
    pub(super) fn tag(&mut self) -> Result<Token<'a>> {
        let start = self.cursor.at.offset;
        let (handle, suffix) = if self.cursor.byte(1) == b'<' {
            self.cursor.skip_many(2);
            let uri = self.uri("")?;
            if self.cursor.byte(0) != b'>' {
                return Err(self.here(YamlErrorKind::UnclosedTag));
            }
            self.cursor.skip();
            (String::new(), uri)
        } else {
            let handle = self.handle();
            if handle.len() > 1 && handle.ends_with('!') {
                let suffix = self.uri("")?;
                (handle, suffix)
            } else {
                // Not a handle: the name is the beginning of the suffix.
                let name = handle.get(1..).unwrap_or("").to_owned();
                let suffix = self.uri_after(&name, true)?;
                if suffix.is_empty() {
                    (String::new(), "!".to_owned())
                } else {
                    ("!".to_owned(), suffix)
                }
            }
        };
        if !self.cursor.is_blank_or_end(0) {
            return Err(self.here(YamlErrorKind::MissingBlankAfterTag));
        }
        let span = Span::new(start, self.cursor.at.offset);
        let kind = TokenKind::Tag { handle, suffix };
        Ok(Token { span, kind })
    }

    /// `!`, `!!`, `!name!` or `!name`, which is not a handle.
    fn handle(&mut self) -> String {
        let start = self.cursor.at.offset;
        self.cursor.skip();
        while is_word(self.cursor.byte(0)) {
            self.cursor.skip();
        }
        if self.cursor.byte(0) == b'!' {
            self.cursor.skip();
        }
        self.cursor.since(start).to_owned()
    }

    fn uri(&mut self, begun: &str) -> Result<String> {
        self.uri_after(begun, false)
    }

    fn uri_after(&mut self, begun: &str, may_be_empty: bool) -> Result<String> {
        let start = self.cursor.at.offset;
        let mut bytes = begun.as_bytes().to_vec();
        loop {
            match self.cursor.byte(0) {
                b'%' => bytes.push(self.escaped_octet()?),
                byte if is_word(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte) => {
                    bytes.push(byte);
                    self.cursor.skip();
                }
                _ => break,
            }
        }
        if bytes.is_empty() && !may_be_empty {
            return Err(self.here(YamlErrorKind::MissingTagName));
        }
        String::from_utf8(bytes).map_err(|_| {
            let span = Span::new(start, self.cursor.at.offset);
            self.context.error(span, YamlErrorKind::TagNotUtf8)
        })
    }

    fn escaped_octet(&mut self) -> Result<u8> {
        let digits = self.cursor.rest().get(1..3);
        let octet = digits
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let Some(octet) = octet else {
            return Err(self.here(YamlErrorKind::InvalidTagEscape));
        };
        self.cursor.skip_many(3);
        Ok(octet)
    }

    /// `%YAML 1.1` or `%TAG !handle! prefix`.
    pub(super) fn scan_directive(&mut self) -> Result<Token<'a>> {
        let start = self.cursor.at.offset;
        self.cursor.skip();
        let from = self.cursor.at.offset;
        while is_word(self.cursor.byte(0)) {
            self.cursor.skip();
        }
        let name = self.cursor.since(from);
        let kind = match name {
            "YAML" if self.cursor.is_blank_or_end(0) => self.version()?,
            "TAG" if self.cursor.is_blank_or_end(0) => self.tag_directive()?,
            _ => {
                let span = Span::new(start, self.cursor.at.offset);
                let kind = match name {
                    "" => YamlErrorKind::MissingDirectiveName,
                    _ => YamlErrorKind::UnknownDirective,
                };
                return Err(self.context.error(span, kind));
            }
        };
        let span = Span::new(start, self.cursor.at.offset);
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.is_break_or_end() {
            return Err(self.here(YamlErrorKind::TextAfterDirective));
        }
        self.cursor.take_break();
        Ok(Token { span, kind })
    }

    fn version(&mut self) -> Result<TokenKind<'static>> {
        self.cursor.skip_blanks();
        let start = self.cursor.at.offset;
        while self.cursor.byte(0).is_ascii_digit() || self.cursor.byte(0) == b'.' {
            self.cursor.skip();
        }
        Ok(TokenKind::VersionDirective(self.cursor.since(start).to_owned()))
    }

    fn tag_directive(&mut self) -> Result<TokenKind<'static>> {
        self.cursor.skip_blanks();
        if self.cursor.byte(0) != b'!' {
            return Err(self.here(YamlErrorKind::InvalidTagHandle));
        }
        let handle = self.handle();
        if !handle.ends_with('!') || !self.cursor.is_blank(0) {
            return Err(self.here(YamlErrorKind::MissingTagPrefix));
        }
        self.cursor.skip_blanks();
        let prefix = self.uri("")?;
        if !self.cursor.is_blank_or_end(0) {
            return Err(self.here(YamlErrorKind::InvalidTagPrefix));
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }
}
