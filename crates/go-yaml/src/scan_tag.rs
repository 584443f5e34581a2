//! Tags and directives to tokens.

use super::cursor::is_word;
use super::scan::{Scanner, Token, TokenKind};
use solar_diagnostics::diag;
use solar_diagnostics::source::Span;

impl<'a> Scanner<'a> {
    /// `!<uri>`, `!suffix`, `!!suffix`, `!handle!suffix` or `!` alone.
    pub(super) fn tag(&mut self) -> diag::Result<Token<'a>> {
        let start = self.cursor.at.offset;
        let (handle, suffix) = if self.cursor.byte(1) == b'<' {
            self.cursor.skip_many(2);
            let uri = self.uri("")?;
            if self.cursor.byte(0) != b'>' {
                return Err(self.here("the tag lacks its `>`").into());
            }
            self.cursor.skip();
            (String::new(), uri)
        } else {
            let handle = self.handle();
            if handle.len() > 1 && handle.ends_with('!') {
                let suffix = self.uri("")?;
                (handle, suffix)
            } else {
                // Not a handle after all: the name is the suffix's beginning.
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
            return Err(self
                .here("a blank or a line break must follow a tag")
                .hint("put the text in quotes if the `!` belongs to it")
                .into());
        }
        let span = Span::new(start, self.cursor.at.offset);
        let kind = TokenKind::Tag { handle, suffix };
        Ok(Token { span, kind })
    }

    /// `!`, `!!`, `!name!` or, which is none, `!name`.
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

    fn uri(&mut self, begun: &str) -> diag::Result<String> {
        self.uri_after(begun, false)
    }

    fn uri_after(&mut self, begun: &str, may_be_empty: bool) -> diag::Result<String> {
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
            return Err(self.here("a tag's name is missing").into());
        }
        String::from_utf8(bytes).map_err(|_| {
            let span = Span::new(start, self.cursor.at.offset);
            self.context
                .error(span, "the tag's `%` escapes are not UTF-8")
                .into()
        })
    }

    fn escaped_octet(&mut self) -> diag::Result<u8> {
        let digits = self.cursor.rest().get(1..3);
        let octet = digits
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let Some(octet) = octet else {
            return Err(self.here("`%` in a tag takes two hexadecimal digits").into());
        };
        self.cursor.skip_many(3);
        Ok(octet)
    }

    /// `%YAML 1.1` or `%TAG !handle! prefix`.
    pub(super) fn scan_directive(&mut self) -> diag::Result<Token<'a>> {
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
                let error = self.context.error(span, "an unknown directive");
                return Err(error
                    .hint("a line that starts with `%` is a directive: put the text in quotes")
                    .into());
            }
        };
        let span = Span::new(start, self.cursor.at.offset);
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.is_break_or_end() {
            return Err(self.here("something follows the directive").into());
        }
        self.cursor.take_break();
        Ok(Token { span, kind })
    }

    fn version(&mut self) -> diag::Result<TokenKind<'static>> {
        self.cursor.skip_blanks();
        let start = self.cursor.at.offset;
        while self.cursor.byte(0).is_ascii_digit() || self.cursor.byte(0) == b'.' {
            self.cursor.skip();
        }
        Ok(TokenKind::VersionDirective(self.cursor.since(start).to_owned()))
    }

    fn tag_directive(&mut self) -> diag::Result<TokenKind<'static>> {
        self.cursor.skip_blanks();
        if self.cursor.byte(0) != b'!' {
            return Err(self.here("`%TAG` takes a handle such as `!e!`").into());
        }
        let handle = self.handle();
        if !handle.ends_with('!') || !self.cursor.is_blank(0) {
            return Err(self
                .here("`%TAG` takes a handle such as `!e!` and a prefix")
                .into());
        }
        self.cursor.skip_blanks();
        let prefix = self.uri("")?;
        if !self.cursor.is_blank_or_end(0) {
            return Err(self.here("not a tag prefix").into());
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }
}
