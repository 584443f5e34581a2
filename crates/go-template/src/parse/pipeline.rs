//! Parses pipelines: declarations, commands, and their words.

use std::sync::Arc;

use super::super::ast::{Expr, ExprKind, Id, NodeList, Pipe};
use super::super::lex::{Keyword, Token, TokenKind};
use super::super::literal;
use super::super::print::quote;
use super::{Parsed, Parser, Unknown, offset_of_second};
use solar_diagnostics::source::Span;

impl Parser<'_> {
    pub(super) fn pipeline(&mut self, context: &str, end: TokenKind) -> Parsed<Id<Pipe>> {
        let first = self.front();
        let (declared, assigns) = if first.kind == TokenKind::Variable {
            self.declarations(context)?
        } else {
            Default::default()
        };
        let mark = self.tables.words.len();
        loop {
            let token = self.front();
            if token.kind == end {
                self.next();
                self.check(mark, context)?;
                let pipe = Pipe {
                    pos: first.start,
                    assigns,
                    declared,
                    words: NodeList::moved(&mut self.tables.words, mark, &mut self.tables.code.words),
                };
                return Ok(Id::of(pipe, &mut self.tables.code.pipes));
            }
            match token.kind {
                TokenKind::Bool
                | TokenKind::CharConstant
                | TokenKind::Complex
                | TokenKind::Keyword(Keyword::Dot | Keyword::Nil)
                | TokenKind::Field
                | TokenKind::Identifier
                | TokenKind::Number
                | TokenKind::RawString
                | TokenKind::String
                | TokenKind::Variable
                | TokenKind::LeftParen => self.command()?,
                _ => {
                    self.next();
                    return Err(self.unexpected(&token, context));
                }
            }
        }
    }

    /// `$x :=`, `$x =`, and in a range `$i, $x :=`: the variables, and whether they exist already.
    fn declarations(&mut self, context: &str) -> Parsed<(NodeList<Arc<str>>, bool)> {
        let mut declared = Vec::new();
        loop {
            let variable = self.next();
            if variable.kind != TokenKind::Variable {
                self.push_back(variable);
                return Ok((self.declared(declared), false));
            }
            let next = self.next();
            let comma = next.kind == TokenKind::Char && self.written(&next) == ",";
            let declares = matches!(next.kind, TokenKind::Assign | TokenKind::Declare);
            if !comma && !declares {
                self.push_back(next);
                self.push_back(variable);
                return Ok((self.declared(declared), false));
            }
            let name: Arc<str> = self.written(&variable).into();
            declared.push(Arc::clone(&name));
            self.variables.push(name);
            if declares {
                return Ok((self.declared(declared), next.kind == TokenKind::Assign));
            }
            if context != "range" || declared.len() > 1 {
                return Err(self.error(format!("too many declarations in {context}")));
            }
            match self.front().kind {
                TokenKind::Variable | TokenKind::RightDelim | TokenKind::RightParen => {}
                _ => return Err(self.error("range can only initialize variables")),
            }
        }
    }

    fn declared(&mut self, mut names: Vec<Arc<str>>) -> NodeList<Arc<str>> {
        NodeList::moved(&mut names, 0, &mut self.tables.code.names)
    }

    /// Checks the commands parsed since `mark`.
    fn check(&mut self, mark: usize, context: &str) -> Parsed<()> {
        let words = self.tables.words.get(mark..).unwrap_or_default();
        if words.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        let mut stage = 0;
        for word in words.iter().filter(|word| word.first) {
            stage += 1;
            let constant = matches!(
                word.kind,
                ExprKind::Bool(_)
                    | ExprKind::Dot
                    | ExprKind::Nil
                    | ExprKind::Number(_)
                    | ExprKind::Str { .. }
            );
            if constant && stage > 1 {
                return Err(self.error(format!("non executable command in pipeline stage {stage}")));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Parsed<()> {
        let mark = self.tables.words.len();
        loop {
            let word = self.operand()?;
            let found = word.is_some();
            if let Some(mut word) = word {
                word.first = self.tables.words.len() == mark;
                self.tables.words.push(word);
            }
            let token = self.front();
            match token.kind {
                TokenKind::RightDelim | TokenKind::RightParen => break,
                TokenKind::Pipe => {
                    self.next();
                    break;
                }
                _ if found && token.spaced => {}
                _ => {
                    self.next();
                    return Err(self.unexpected(&token, "operand"));
                }
            }
        }
        if self.tables.words.len() == mark {
            return Err(self.error("empty command"));
        }
        Ok(())
    }

    /// A term, possibly followed by fields.
    fn operand(&mut self) -> Parsed<Option<Expr>> {
        if self.front().kind == TokenKind::Field {
            return Ok(Some(self.fields()));
        }
        let Some(term) = self.term()? else {
            return Ok(None);
        };
        if !self.at_more_fields() {
            return Ok(Some(term));
        }
        let first = self.next();
        let fields = self.all_fields(first);
        let kind = match term.kind {
            ExprKind::Variable { start, .. } => ExprKind::Variable { start, fields },
            ExprKind::Bool(_)
            | ExprKind::Str { .. }
            | ExprKind::Number(_)
            | ExprKind::Nil
            | ExprKind::Dot => {
                let term = self.text_of(term.pos, first.start);
                let message = format!("unexpected . after term {}", quote(term));
                // Go has parsed up to the fields.
                self.last = fields.end;
                return Err(self.error_in(Span::new(fields.end as usize, fields.end as usize), message));
            }
            _ => ExprKind::Chain {
                node: Id::of(term, &mut self.tables.code.words),
                fields,
            },
        };
        Ok(Some(word(first.start, kind)))
    }

    /// `.a.b.c`, whose position is that of its second field, as in Go.
    fn fields(&mut self) -> Expr {
        let first = self.next();
        let span = self.all_fields(first);
        let second = offset_of_second(self.text_of(span.start, span.end));
        word(span.start + second, ExprKind::Field(span))
    }

    /// Whether fields follow the last token directly.
    fn at_more_fields(&mut self) -> bool {
        let token = self.front();
        token.kind == TokenKind::Field && !token.spaced
    }

    /// The fields of a token and of directly following ones.
    fn all_fields(&mut self, first: Token) -> Span {
        let mut span = first.span();
        while self.at_more_fields() {
            span.end = self.next().end;
        }
        span
    }

    /// A term other than a field; fields may follow it.
    fn term(&mut self) -> Parsed<Option<Expr>> {
        let token = self.next();
        let kind = match token.kind {
            TokenKind::Identifier => self.function(&token)?,
            TokenKind::Keyword(Keyword::Dot) => ExprKind::Dot,
            TokenKind::Keyword(Keyword::Nil) => ExprKind::Nil,
            TokenKind::Variable => self.variable(&token)?,
            TokenKind::Bool => ExprKind::Bool(self.written(&token) == "true"),
            TokenKind::CharConstant | TokenKind::Complex | TokenKind::Number => {
                let written = self.written(&token);
                let number = match token.kind {
                    TokenKind::CharConstant => literal::character(written),
                    TokenKind::Complex => literal::complex(written),
                    _ => literal::number(written),
                };
                let number = number.map_err(|message| self.error_at(&token, message))?;
                ExprKind::Number(Id::of(number, &mut self.tables.code.numbers))
            }
            TokenKind::LeftParen => {
                self.depth += 1;
                if self.is_too_deep() {
                    return Err(self.error("max expression depth exceeded"));
                }
                let pipe = self.pipeline("parenthesized pipeline", TokenKind::RightParen)?;
                self.depth -= 1;
                let pos = self.tables.code.pipe(pipe).pos;
                return Ok(Some(word(pos, ExprKind::Pipe(pipe))));
            }
            TokenKind::String | TokenKind::RawString => {
                let written = self.written(&token);
                let value = literal::string(written).map_err(|message| self.error_at(&token, message))?;
                ExprKind::Str {
                    value: Id::of(value, &mut self.tables.code.strings),
                    end: token.end,
                }
            }
            _ => {
                self.push_back(token);
                return Ok(None);
            }
        };
        Ok(Some(word(token.start, kind)))
    }

    fn function(&mut self, token: &Token) -> Parsed<ExprKind> {
        let name = self.written(token);
        let Some(id) = (self.lookup)(name) else {
            let mut error = self.error_at(token, format!("function {} not defined", quote(name)));
            error.unknown = Some(Unknown::Function(name.to_owned()));
            return Err(error);
        };
        Ok(ExprKind::Function { id, end: token.end })
    }

    fn variable(&mut self, token: &Token) -> Parsed<ExprKind> {
        let name = self.written(token);
        if self.variables.iter().any(|known| **known == *name) {
            let Span { start, end } = token.span();
            let fields = Span { start: end, end };
            return Ok(ExprKind::Variable { start, fields });
        }
        let mut error = self.error_at(token, format!("undefined variable {}", quote(name)));
        let known = self.variables.iter().map(ToString::to_string).collect();
        error.unknown = Some(Unknown::Variable(name.to_owned(), known));
        Err(error)
    }
}

fn word(pos: u32, kind: ExprKind) -> Expr {
    Expr {
        pos,
        first: false,
        kind,
    }
}
