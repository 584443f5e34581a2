//! Text to tokens, as Go's `text/template/parse` cuts them.
//!
//! Text outside actions is one token; trim markers and comments are gone when a token
//! comes out. Inside an action white space is a token, because `.a .b` and `.a.b` differ.
//! An error is the last token.

use std::fmt::Write as _;

const LEFT: &str = "{{";
const RIGHT: &str = "}}";
const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];
/// A trim marker: a dash with a blank on its inner side.
const MARKER: usize = 2;

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    /// Offsets in the text.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Line where it starts, from 1.
    pub(super) line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    Error(String),
    Bool,
    /// A printable ASCII character with no meaning of its own.
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Keyword(Keyword),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Dot,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

/// Cuts a text into tokens, one for each call of [`Lexer::token`].
pub(super) struct Lexer<'a> {
    text: &'a str,
    position: usize,
    start: usize,
    line: usize,
    start_line: usize,
    inside: bool,
    parens: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            position: 0,
            start: 0,
            line: 1,
            start_line: 1,
            inside: false,
            parens: 0,
        }
    }

    /// The next token; after an error or the end, the end again.
    pub(super) fn token(&mut self) -> Token {
        if self.inside {
            self.inside_action()
        } else {
            self.outside()
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.position += character.len_utf8();
        if character == '\n' {
            self.line += 1;
        }
        Some(character)
    }

    /// Moves on without making a token of what was passed.
    fn skip_to(&mut self, position: usize) {
        let passed = self.text.get(self.position..position).unwrap_or("");
        self.line += count_lines(passed);
        self.position = position;
        self.start = position;
        self.start_line = self.line;
    }

    fn emit(&mut self, kind: TokenKind) -> Token {
        let token = Token {
            kind,
            start: self.start,
            end: self.position,
            line: self.start_line,
        };
        self.start = self.position;
        self.start_line = self.line;
        token
    }

    fn error(&mut self, message: impl Into<String>) -> Token {
        let token = self.emit(TokenKind::Error(message.into()));
        self.position = self.text.len();
        self.start = self.position;
        self.inside = false;
        token
    }

    fn outside(&mut self) -> Token {
        loop {
            let rest = self.rest();
            let Some(found) = rest.find(LEFT) else {
                self.line += count_lines(rest);
                self.position = self.text.len();
                return self.emit(if rest.is_empty() {
                    TokenKind::Eof
                } else {
                    TokenKind::Text
                });
            };
            if found > 0 {
                let (before, after) = rest.split_at(found);
                let kept = if has_left_marker(after.get(LEFT.len()..).unwrap_or("")) {
                    before.trim_end_matches(SPACES)
                } else {
                    before
                };
                let action = self.position + found;
                self.line += count_lines(kept);
                self.position += kept.len();
                let token = self.emit(TokenKind::Text);
                self.skip_to(action);
                if !kept.is_empty() {
                    return token;
                }
            }
            match self.left_delimiter() {
                Some(token) => return token,
                None => continue,
            }
        }
    }

    /// The start of an action, or `None` behind a comment.
    fn left_delimiter(&mut self) -> Option<Token> {
        let inner = self.rest().get(LEFT.len()..).unwrap_or("");
        let marker = if has_left_marker(inner) { MARKER } else { 0 };
        if inner.get(marker..).is_some_and(|inner| inner.starts_with("/*")) {
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
        let Some(length) = self.rest().get(2..).and_then(|inner| inner.find("*/")) else {
            return Some(self.error("unclosed comment"));
        };
        let close = self.position + length + 4;
        let after = self.text.get(close..).unwrap_or("");
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
        let rest = self.rest();
        let trimmed = rest.trim_start_matches(SPACES);
        self.skip_to(self.position + rest.len() - trimmed.len());
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
        if let Some(trims) = at_right_delimiter(self.rest()) {
            return if self.parens == 0 {
                self.right_delimiter(trims)
            } else {
                self.error("unclosed left paren")
            };
        }
        let before = self.position;
        let Some(character) = self.next() else {
            return self.error("unclosed action");
        };
        match character {
            ' ' | '\t' | '\r' | '\n' => self.space(before),
            '=' => self.emit(TokenKind::Assign),
            ':' if self.peek() == Some('=') => {
                self.next();
                self.emit(TokenKind::Declare)
            }
            ':' => self.error("expected :="),
            '|' => self.emit(TokenKind::Pipe),
            '"' => self.quoted('"', TokenKind::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', TokenKind::CharConstant, "unterminated character constant"),
            '`' => self.raw_string(),
            '$' => self.field_or_variable(TokenKind::Variable),
            '.' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => {
                self.field_or_variable(TokenKind::Field)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.position = before;
                self.number()
            }
            '(' => {
                self.parens += 1;
                self.emit(TokenKind::LeftParen)
            }
            ')' if self.parens == 0 => self.error("unexpected right paren"),
            ')' => {
                self.parens -= 1;
                self.emit(TokenKind::RightParen)
            }
            letter if is_alphanumeric(letter) => self.identifier(),
            ' '..='~' => self.emit(TokenKind::Char),
            other => self.error(format!("unrecognized character in action: {}", code_point(other))),
        }
    }

    /// Takes care of a blank that belongs to the trim marker of the closing delimiter.
    fn space(&mut self, before: usize) -> Token {
        self.line -= count_lines(self.text.get(before..self.position).unwrap_or(""));
        self.position = before;
        let rest = self.rest();
        let run = rest.len() - rest.trim_start_matches(SPACES).len();
        let last = rest.get(run - 1..).unwrap_or("");
        let belongs =
            has_right_marker(last) && last.get(MARKER..).is_some_and(|after| after.starts_with(RIGHT));
        if belongs && run == 1 {
            return self.right_delimiter(true);
        }
        let run = if belongs { run - 1 } else { run };
        self.line += count_lines(rest.get(..run).unwrap_or(""));
        self.position += run;
        self.emit(TokenKind::Space)
    }

    fn quoted(&mut self, close: char, kind: TokenKind, unterminated: &str) -> Token {
        loop {
            match self.next() {
                Some('\\') if self.peek().is_some_and(|next| next != '\n') => {
                    self.next();
                }
                None | Some('\n' | '\\') => return self.error(unterminated),
                Some(character) if character == close => return self.emit(kind),
                Some(_) => {}
            }
        }
    }

    fn raw_string(&mut self) -> Token {
        loop {
            match self.next() {
                None => return self.error("unterminated raw quoted string"),
                Some('`') => return self.emit(TokenKind::RawString),
                Some(_) => {}
            }
        }
    }

    /// What may follow a name.
    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some(' ' | '\t' | '\r' | '\n' | '.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(_) => self.rest().starts_with(RIGHT),
        }
    }

    fn bad_character(&mut self) -> Token {
        let shown = self.peek().map_or(String::new(), code_point);
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
        while self.peek().is_some_and(is_alphanumeric) {
            self.next();
        }
        if self.at_terminator() {
            self.emit(kind)
        } else {
            self.bad_character()
        }
    }

    fn identifier(&mut self) -> Token {
        while self.peek().is_some_and(is_alphanumeric) {
            self.next();
        }
        if !self.at_terminator() {
            return self.bad_character();
        }
        let kind = match self.text.get(self.start..self.position).unwrap_or("") {
            "true" | "false" => TokenKind::Bool,
            word => keyword(word).map_or(TokenKind::Identifier, TokenKind::Keyword),
        };
        self.emit(kind)
    }

    fn number(&mut self) -> Token {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some('+' | '-')) {
            let complex = self.scan_number();
            let written = self.text.get(self.start..self.position).unwrap_or("");
            if !complex || !written.ends_with('i') {
                return self.bad_number();
            }
            return self.emit(TokenKind::Complex);
        }
        self.emit(TokenKind::Number)
    }

    fn bad_number(&mut self) -> Token {
        let written = self.text.get(self.start..self.position).unwrap_or("");
        let message = format!("bad number syntax: {}", super::print::quote(written));
        self.error(message)
    }

    /// Generous: what is no number after all is found when it is read.
    fn scan_number(&mut self) -> bool {
        self.accept("+-");
        let mut digits = "0123456789_";
        let (mut exponent, mut binary_exponent) = (true, false);
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
                (exponent, binary_exponent) = (false, true);
            } else if self.accept("oO") {
                digits = "01234567_";
                exponent = false;
            } else if self.accept("bB") {
                digits = "01_";
                exponent = false;
            }
        }
        while self.accept(digits) {}
        if self.accept(".") {
            while self.accept(digits) {}
        }
        if exponent && self.accept("eE") || binary_exponent && self.accept("pP") {
            self.accept("+-");
            while self.accept("0123456789_") {}
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.next();
            return false;
        }
        true
    }

    fn accept(&mut self, set: &str) -> bool {
        let accepted = self.peek().is_some_and(|next| set.contains(next));
        if accepted {
            self.next();
        }
        accepted
    }
}

fn keyword(word: &str) -> Option<Keyword> {
    Some(match word {
        "block" => Keyword::Block,
        "break" => Keyword::Break,
        "continue" => Keyword::Continue,
        "define" => Keyword::Define,
        "else" => Keyword::Else,
        "end" => Keyword::End,
        "if" => Keyword::If,
        "nil" => Keyword::Nil,
        "range" => Keyword::Range,
        "template" => Keyword::Template,
        "with" => Keyword::With,
        _ => return None,
    })
}

fn count_lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn is_alphanumeric(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn has_left_marker(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next() == Some('-') && characters.next().is_some_and(|next| SPACES.contains(&next))
}

fn has_right_marker(text: &str) -> bool {
    text.starts_with(SPACES) && text.as_bytes().get(1) == Some(&b'-')
}

/// Whether an action ends here, and whether it trims what follows.
fn at_right_delimiter(text: &str) -> Option<bool> {
    if has_right_marker(text) && text.get(MARKER..).is_some_and(|after| after.starts_with(RIGHT)) {
        return Some(true);
    }
    text.starts_with(RIGHT).then_some(false)
}

/// As Go's `%#U`.
fn code_point(character: char) -> String {
    let mut out = format!("U+{:04X}", u32::from(character));
    if super::print::is_printable(character) {
        // Writing to a String can't fail.
        let _ = write!(out, " '{character}'");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(TokenKind, String)> {
        let mut lexer = Lexer::new(text);
        let mut out = Vec::new();
        loop {
            let token = lexer.token();
            let end = matches!(token.kind, TokenKind::Eof | TokenKind::Error(_));
            out.push((token.kind, text[token.start..token.end].to_owned()));
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
    fn what_is_wrong_is_the_last_token() {
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
            let last = kinds(text).pop().unwrap().0;
            assert_eq!(last, TokenKind::Error(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn lines_are_counted_through_everything_that_is_left_out() {
        let mut lexer = Lexer::new("a\n{{- /* \n\n */ -}}\n\n{{ `x\ny` \n}}\n{{ 1 }}");
        let mut lines = Vec::new();
        loop {
            let token = lexer.token();
            match token.kind {
                TokenKind::RawString | TokenKind::Number => lines.push(token.line),
                TokenKind::Eof => break,
                _ => {}
            }
        }
        assert_eq!(lines, [6, 9]);
    }
}
