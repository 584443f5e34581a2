//! Splits text into tokens, as Go's `text/template/parse` does.
//!
//! Text outside actions is one token; trim markers and comments produce no tokens. Inside an action a token records
//! whether white space precedes it, because `.a .b` and `.a.b` differ, and consecutive fields are one token. An error
//! is the last token.
//!
//! Charts have megabytes of text, so it is scanned as bytes: all syntax is ASCII, and only names may have other
//! letters.

mod bytes;
mod number;
mod token;

use memchr::memmem;

pub(super) use self::token::{Keyword, Token, TokenKind};

use self::bytes::{
    ENDS, LETTER, WORD, at_right_delimiter, code_point, has_left_marker, is, is_alphanumeric, is_space,
    keyword, spaces,
};

const LEFT: &str = "{{";
const RIGHT: &str = "}}";
/// The length of a trim marker: a dash with a space on its inner side.
const MARKER: usize = 2;

/// Splits a text into tokens, one for each call of [`Lexer::token`].
pub(super) struct Lexer<'a> {
    text: &'a str,
    position: usize,
    start: usize,
    inside: bool,
    spaced: bool,
    parens: usize,
    left: memmem::Finder<'static>,
    /// The message of the error token.
    problem: String,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            position: 0,
            start: 0,
            inside: false,
            spaced: false,
            parens: 0,
            left: memmem::Finder::new(LEFT),
            problem: String::new(),
        }
    }

    /// The next token; after an error or the end, always the end.
    pub(super) fn token(&mut self) -> Token {
        if self.inside {
            self.inside_action()
        } else {
            self.spaced = false;
            self.outside()
        }
    }

    /// The message of the error, if there was one.
    pub(super) fn problem(&self) -> &str {
        &self.problem
    }

    #[inline]
    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.position..).unwrap_or_default()
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    fn peek_char(&self) -> Option<char> {
        self.text.get(self.position..)?.chars().next()
    }

    fn written(&self) -> &'a str {
        self.text.get(self.start..self.position).unwrap_or("")
    }

    /// Advances without producing a token.
    fn skip_to(&mut self, position: usize) {
        self.position = position;
        self.start = position;
    }

    #[inline]
    fn emit(&mut self, kind: TokenKind) -> Token {
        let token = Token {
            kind,
            spaced: self.spaced,
            start: offset(self.start),
            end: offset(self.position),
        };
        self.start = self.position;
        token
    }

    fn error(&mut self, message: impl Into<String>) -> Token {
        let token = self.emit(TokenKind::Error);
        self.problem = message.into();
        self.position = self.text.len();
        self.start = self.position;
        self.inside = false;
        token
    }

    fn outside(&mut self) -> Token {
        loop {
            let rest = self.rest();
            let Some(found) = self.left.find(rest) else {
                self.position = self.text.len();
                return self.emit(if rest.is_empty() {
                    TokenKind::Eof
                } else {
                    TokenKind::Text
                });
            };
            if found > 0 {
                let (before, after) = rest.split_at(found);
                let kept = if has_left_marker(after.get(LEFT.len()..).unwrap_or_default()) {
                    let blanks = before.iter().rev().take_while(|byte| is_space(**byte)).count();
                    found - blanks
                } else {
                    found
                };
                let action = self.position + found;
                self.position += kept;
                let token = self.emit(TokenKind::Text);
                self.skip_to(action);
                if kept > 0 {
                    return token;
                }
            }
            match self.left_delimiter() {
                Some(token) => return token,
                None => continue,
            }
        }
    }

    /// The start of an action, or `None` after a comment.
    fn left_delimiter(&mut self) -> Option<Token> {
        let inner = self.rest().get(LEFT.len()..).unwrap_or_default();
        let marker = if has_left_marker(inner) { MARKER } else { 0 };
        if inner.get(marker..).is_some_and(|inner| inner.starts_with(b"/*")) {
            self.skip_to(self.position + LEFT.len() + marker);
            return self.comment();
        }
        self.position += LEFT.len();
        let token = self.emit(TokenKind::LeftDelim);
        self.skip_to(self.position + marker);
        self.inside = true;
        self.parens = 0;
        Some(token)
    }

    fn comment(&mut self) -> Option<Token> {
        let inner = self.rest().get(2..).unwrap_or_default();
        let Some(length) = memmem::find(inner, b"*/") else {
            return Some(self.error("unclosed comment"));
        };
        let close = self.position + length + 4;
        let after = self.text.as_bytes().get(close..).unwrap_or_default();
        let Some(trims) = at_right_delimiter(after) else {
            return Some(self.error("comment ends before closing delimiter"));
        };
        self.skip_to(close + RIGHT.len() + if trims { MARKER } else { 0 });
        if trims {
            self.trim_left();
        }
        None
    }

    fn trim_left(&mut self) {
        self.skip_to(self.position + spaces(self.rest()));
    }

    fn right_delimiter(&mut self, trims: bool) -> Token {
        if trims {
            self.skip_to(self.position + MARKER);
        }
        self.position += RIGHT.len();
        let token = self.emit(TokenKind::RightDelim);
        if trims {
            self.trim_left();
        }
        self.inside = false;
        token
    }

    fn inside_action(&mut self) -> Token {
        self.skip_space();
        let Some(byte) = self.peek() else {
            return self.error("unclosed action");
        };
        if matches!(byte, b'}' | b' ' | b'\t' | b'\r' | b'\n')
            && let Some(trims) = at_right_delimiter(self.rest())
        {
            return if self.parens == 0 {
                self.right_delimiter(trims)
            } else {
                self.error("unclosed left paren")
            };
        }
        if !byte.is_ascii() {
            return self.letter();
        }
        self.position += 1;
        match byte {
            b'=' => self.emit(TokenKind::Assign),
            b':' if self.peek() == Some(b'=') => {
                self.position += 1;
                self.emit(TokenKind::Declare)
            }
            b':' => self.error("expected :="),
            b'|' => self.emit(TokenKind::Pipe),
            b'"' => self.quoted(b'"', TokenKind::String, "unterminated quoted string"),
            b'\'' => self.quoted(b'\'', TokenKind::CharConstant, "unterminated character constant"),
            b'`' => self.raw_string(),
            b'$' => self.field_or_variable(TokenKind::Variable),
            b'.' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => {
                self.field_or_variable(TokenKind::Field)
            }
            b'.' | b'+' | b'-' | b'0'..=b'9' => {
                self.position = self.start;
                self.number()
            }
            b'(' => {
                self.parens += 1;
                self.emit(TokenKind::LeftParen)
            }
            b')' if self.parens == 0 => self.error("unexpected right paren"),
            b')' => {
                self.parens -= 1;
                self.emit(TokenKind::RightParen)
            }
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => self.identifier(),
            b' '..=b'~' => self.emit(TokenKind::Char),
            other => self.unrecognized(char::from(other)),
        }
    }

    /// A token that begins with a non-ASCII character: a name, or an error.
    fn letter(&mut self) -> Token {
        let character = self.peek_char().unwrap_or(char::REPLACEMENT_CHARACTER);
        self.position += character.len_utf8();
        if is_alphanumeric(character) {
            self.identifier()
        } else {
            self.unrecognized(character)
        }
    }

    fn unrecognized(&mut self, character: char) -> Token {
        self.error(format!(
            "unrecognized character in action: {}",
            code_point(character)
        ))
    }

    /// Skips white space, but not the space of the closing delimiter's trim marker.
    #[inline]
    fn skip_space(&mut self) {
        let rest = self.rest();
        let run = spaces(rest);
        self.spaced = run > 0;
        if run > 0 {
            let last = rest.get(run - 1..).unwrap_or_default();
            let belongs = at_right_delimiter(last) == Some(true);
            self.skip_to(self.position + run - usize::from(belongs));
        }
    }

    fn quoted(&mut self, close: u8, kind: TokenKind, unterminated: &str) -> Token {
        loop {
            let Some(byte) = self.peek() else {
                return self.error(unterminated);
            };
            self.position += 1;
            match byte {
                b'\\' if self.peek().is_some_and(|next| next != b'\n') => self.position += 1,
                b'\n' | b'\\' => return self.error(unterminated),
                byte if byte == close => return self.emit(kind),
                _ => {}
            }
        }
    }

    fn raw_string(&mut self) -> Token {
        match memchr::memchr(b'`', self.rest()) {
            None => {
                self.position = self.text.len();
                self.error("unterminated raw quoted string")
            }
            Some(length) => {
                self.position += length + 1;
                self.emit(TokenKind::RawString)
            }
        }
    }

    /// Whether the current byte may follow a name.
    #[inline]
    fn at_terminator(&self) -> bool {
        match self.peek() {
            None => true,
            Some(b'}') => self.rest().starts_with(RIGHT.as_bytes()),
            Some(byte) => is(byte, ENDS),
        }
    }

    fn bad_character(&mut self) -> Token {
        let shown = self.peek_char().map_or(String::new(), code_point);
        self.error(format!("bad character {shown}"))
    }

    fn field_or_variable(&mut self, kind: TokenKind) -> Token {
        if self.at_terminator() {
            return self.emit(if kind == TokenKind::Variable {
                kind
            } else {
                TokenKind::Keyword(Keyword::Dot)
            });
        }
        self.skip_word();
        if !self.at_terminator() {
            return self.bad_character();
        }
        if kind == TokenKind::Field {
            self.more_fields();
        }
        self.emit(kind)
    }

    /// Skips the fields after one, as far as they are well formed: errors are found by the next token.
    fn more_fields(&mut self) {
        while let [b'.', next, ..] = self.rest()
            && is(*next, LETTER)
        {
            let before = self.position;
            self.position += 1;
            self.skip_word();
            if !self.at_terminator() {
                self.position = before;
                return;
            }
        }
    }

    fn identifier(&mut self) -> Token {
        self.skip_word();
        if !self.at_terminator() {
            return self.bad_character();
        }
        let word = self.text.as_bytes().get(self.start..self.position);
        let kind = match word.unwrap_or_default() {
            b"true" | b"false" => TokenKind::Bool,
            word => keyword(word).map_or(TokenKind::Identifier, TokenKind::Keyword),
        };
        self.emit(kind)
    }

    /// Skips the characters of a name.
    #[inline]
    fn skip_word(&mut self) {
        loop {
            let rest = self.rest();
            let run = rest
                .iter()
                .position(|byte| !is(*byte, WORD))
                .unwrap_or(rest.len());
            self.position += run;
            if self.peek().is_none_or(|byte| byte.is_ascii()) {
                return;
            }
            match self.peek_char().filter(|character| is_alphanumeric(*character)) {
                Some(character) => self.position += character.len_utf8(),
                None => return,
            }
        }
    }
}

/// Texts are far smaller than 4 GiB by other limits.
fn offset(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, String)> {
        let mut lexer = Lexer::new(text);
        let mut out = Vec::new();
        loop {
            let token = lexer.token();
            let end = matches!(token.kind, TokenKind::Eof | TokenKind::Error);
            out.push((
                token.kind,
                text[token.start as usize..token.end as usize].to_owned(),
            ));
            if end {
                return out;
            }
        }
    }

    #[test]
    fn trim_markers_and_comments_leave_no_trace() {
        let texts: Vec<String> = kinds("a \n {{- 1 -}} \n b {{- /* c */ -}} d")
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        assert_eq!(texts, ["a", "{{", "1", "}}", "b", "d", ""]);
    }

    #[test]
    fn a_dash_without_a_blank_is_a_sign() {
        let found = kinds("{{-3}}");
        assert_eq!(found[1], (TokenKind::Number, "-3".to_owned()));
    }

    #[test]
    fn an_error_is_the_last_token() {
        let cases = [
            ("{{", "unclosed action"),
            ("{{/* x", "unclosed comment"),
            ("{{/* x */ }}", "comment ends before closing delimiter"),
            ("{{\"a\n\"}}", "unterminated quoted string"),
            ("{{`a", "unterminated raw quoted string"),
            ("{{'a", "unterminated character constant"),
            ("{{(1}}", "unclosed left paren"),
            ("{{1)}}", "unexpected right paren"),
            ("{{3k}}", "bad number syntax: \"3k\""),
            ("{{a@b}}", "bad character U+0040 '@'"),
            ("{{\u{1}}}", "unrecognized character in action: U+0001"),
            ("{{:}}", "expected :="),
        ];
        for (text, expected) in cases {
            let mut lexer = Lexer::new(text);
            while !matches!(lexer.token().kind, TokenKind::Eof | TokenKind::Error) {}
            assert_eq!(lexer.problem(), expected, "{text}");
            assert_eq!(lexer.token().kind, TokenKind::Eof, "{text}");
        }
    }
}
