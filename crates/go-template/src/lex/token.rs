//! The lexer's result: [`Token`].

use solar_diagnostics::source::Span;

/// A token of a template. `Lexer::problem` has the message of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Token {
    pub(in super::super) kind: TokenKind,
    /// Whether white space precedes it.
    pub(in super::super) spaced: bool,
    /// Offsets in the text.
    pub(in super::super) start: u32,
    pub(in super::super) end: u32,
}

impl Token {
    pub(in super::super) fn span(self) -> Span {
        let Self { start, end, .. } = self;
        Span { start, end }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum TokenKind {
    Error,
    Bool,
    /// A printable ASCII character without a special meaning.
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    /// `.a`, or several: `.a.b.c`.
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    String,
    Text,
    Variable,
    Keyword(Keyword),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Keyword {
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
