//! Lookahead tokens, and errors about them.

use super::super::lex::{Keyword, Token, TokenKind};
use super::super::limits::MAX_PARSE_DEPTH;
use super::super::print::quote;
use super::{ParseError, Parsed, Parser, offset_of_second};
use solar_diagnostics::source::{Location, Source, Span};

impl Parser<'_> {
    #[inline]
    pub(super) fn next(&mut self) -> Token {
        if let Some(token) = self.ahead.pop() {
            return token;
        }
        let token = self.lexer.token();
        self.last = token.start;
        token
    }

    #[inline]
    pub(super) fn push_back(&mut self, token: Token) {
        self.ahead.push(token);
    }

    #[inline]
    pub(super) fn peek(&mut self) -> TokenKind {
        self.front().kind
    }

    /// Peeks at the next token.
    #[inline]
    pub(super) fn front(&mut self) -> Token {
        if let Some(token) = self.ahead.last() {
            return *token;
        }
        let token = self.next();
        self.push_back(token);
        token
    }

    pub(super) fn expect(&mut self, kind: TokenKind, context: &str) -> Parsed<Token> {
        let token = self.next();
        if token.kind == kind {
            Ok(token)
        } else {
            Err(self.unexpected(&token, context))
        }
    }

    /// Whether the nesting limit is reached. If the stack is exhausted, the error is discarded: the parse is repeated
    /// on a larger stack.
    pub(super) fn is_too_deep(&self) -> bool {
        self.depth > MAX_PARSE_DEPTH || !self.stack.is_left()
    }

    pub(super) fn unexpected(&self, token: &Token, context: &str) -> Box<ParseError> {
        let mut token = *token;
        if token.kind == TokenKind::Field {
            // In Go each field is a token.
            let length = offset_of_second(self.written(&token));
            if length > 0 {
                token.end = token.start + length;
            }
        }
        let token = &token;
        if token.kind != TokenKind::Error {
            let message = format!("unexpected {} in {context}", self.shown(token));
            return self.error_at(token, message);
        }
        let message = self.lexer.problem();
        let begun = match self.action.map(|start| self.line(start)) {
            Some(line) if line != self.line(token.start) => {
                let action = if message.ends_with(" action") {
                    ""
                } else {
                    " in action"
                };
                format!("{action} started at {}:{line}", self.source.name())
            }
            _ => String::new(),
        };
        self.error_at(token, format!("{message}{begun}"))
    }

    /// A token as Go quotes it.
    pub(super) fn shown(&self, token: &Token) -> String {
        const LONGEST: usize = 10;
        let written = self.written(token);
        match token.kind {
            TokenKind::Eof => "EOF".to_owned(),
            TokenKind::Keyword(Keyword::Dot) => "<.>".to_owned(),
            TokenKind::Keyword(_) => format!("<{written}>"),
            _ if written.len() > LONGEST => {
                let cut: String = written.chars().take(LONGEST).collect();
                format!("{}...", quote(&cut))
            }
            _ => quote(written),
        }
    }

    pub(super) fn error(&self, message: impl Into<String>) -> Box<ParseError> {
        let at = self
            .ahead
            .last()
            .map_or(self.last as usize, |token| token.start as usize);
        self.error_in(Span::new(at, at), message.into())
    }

    pub(super) fn error_at(&self, token: &Token, message: impl Into<String>) -> Box<ParseError> {
        let (start, end) = (token.start, token.end);
        self.error_in(Span { start, end }, message.into())
    }

    pub(super) fn error_in(&self, span: Span, message: String) -> Box<ParseError> {
        Box::new(ParseError {
            message,
            line: self.line(self.last),
            location: Location::new(self.source, span),
            unknown: None,
            related: None,
        })
    }
}

impl<'a> Parser<'a> {
    #[inline]
    pub(super) fn written(&self, token: &Token) -> &'a str {
        self.text_of(token.start, token.end)
    }

    #[inline]
    pub(super) fn text_of(&self, start: u32, end: u32) -> &'a str {
        let source: &'a Source = self.source;
        source.text().get(start as usize..end as usize).unwrap_or("")
    }

    /// The line of an offset, from 1.
    pub(super) fn line(&self, offset: u32) -> usize {
        self.source.position(offset).line
    }
}
