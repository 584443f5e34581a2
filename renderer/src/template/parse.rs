//! Tokens to trees, by the grammar of Go's `text/template/parse`.
//!
//! Functions and variables are looked up while parsing, as Go does: a template that names
//! an unknown one is no template. The first mistake ends the parse.

use std::sync::Arc;

use super::ast::{Branch, Code, Expr, ExprKind, FuncId, Id, Invocation, List, Node, Pipe, Tree};
use super::lex::{Keyword, Lexer, Token, TokenKind};
use super::literal;
use super::print::quote;
use super::room::Room;
use crate::source::{Location, Source, Span};

/// How deep actions and parentheses may nest. Go allows 10,000 parentheses.
pub const MAX_PARSE_DEPTH: usize = 1_000;

const BLOCK: &str = "block clause";

/// Why a text is no template.
#[derive(Debug, Clone)]
pub struct ParseError {
    /// Go's words, without the place.
    pub message: String,
    /// The line that Go names, from 1.
    pub line: usize,
    /// The token that is wrong.
    pub location: Location,
    /// The name that is not known, when that is the reason.
    pub unknown: Option<Unknown>,
}

/// A name that a template uses and nothing defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// A function.
    Function(String),
    /// A variable, with those that are there.
    Variable(String, Vec<String>),
}

/// Looks up a function by its name.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<FuncId>;

/// Parses a text: the templates that it defines in their order, last the text itself under `name`.
pub(super) fn parse(
    name: &Arc<str>,
    source: &Arc<Source>,
    lookup: Lookup<'_>,
    room: &Room,
) -> Result<Vec<Tree>, Box<ParseError>> {
    let mut parser = Parser {
        lexer: Lexer::new(source.text()),
        source,
        lookup,
        room,
        ahead: Vec::new(),
        last: 0,
        variables: vec![Arc::from("$")],
        ranges: 0,
        depth: 0,
        action: None,
        nodes: Vec::new(),
        words: Vec::new(),
        code: Code::default(),
        roots: Vec::new(),
    };
    let root = parser.text()?;
    parser.add(name, root)?;
    let Parser { mut code, roots, .. } = parser;
    code.shrink();
    let code = Arc::new(code);
    let tree = |(name, root)| Tree {
        name,
        source: Arc::clone(source),
        code: Arc::clone(&code),
        root,
    };
    Ok(roots.into_iter().map(tree).collect())
}

/// What a step of the parser gives.
type Parsed<T> = Result<T, Box<ParseError>>;

struct Parser<'a> {
    lexer: Lexer<'a>,
    source: &'a Arc<Source>,
    lookup: Lookup<'a>,
    room: &'a Room,
    /// Tokens that were looked at and not taken, the next one last.
    ahead: Vec<Token>,
    /// Where the token begins that was last read from the lexer: Go names its line in errors.
    last: u32,
    variables: Vec<Arc<str>>,
    /// How many `range`s are open.
    ranges: usize,
    depth: usize,
    /// Where the action that is being read began.
    action: Option<u32>,
    /// Parts of what is being read, those of inner lists behind those of outer ones: when a list
    /// is complete, its own are moved to the code.
    nodes: Vec<Node>,
    words: Vec<Expr>,
    code: Code,
    /// The templates that are complete.
    roots: Vec<(Arc<str>, List<Node>)>,
}

/// What ended a list of nodes.
enum Ended {
    End,
    Else,
}

/// What one item of a list is.
enum Item {
    Node(Node),
    Ended(Ended, Token),
}

impl Parser<'_> {
    /// A whole text: actions, and definitions between them.
    fn text(&mut self) -> Parsed<List<Node>> {
        let mark = self.nodes.len();
        loop {
            let token = self.next();
            if token.kind == TokenKind::Eof {
                return Ok(self.gathered(mark));
            }
            if token.kind == TokenKind::LeftDelim && self.peek() == TokenKind::Keyword(Keyword::Define) {
                self.next();
                self.definition()?;
                continue;
            }
            match self.text_or_action(token)? {
                Item::Node(node) => self.nodes.push(node),
                Item::Ended(Ended::End, _) => return Err(self.error("unexpected {{end}}")),
                Item::Ended(Ended::Else, _) => return Err(self.error("unexpected {{else}}")),
            }
        }
    }

    fn definition(&mut self) -> Parsed<()> {
        let context = "define clause";
        let token = self.next();
        let name = self.template_name(&token, context)?;
        self.expect(TokenKind::RightDelim, context)?;
        let root = self.inner_template(context)?;
        self.add(&name, root)
    }

    /// What a `define` or a `block` holds: variables and ranges outside don't count in it.
    fn inner_template(&mut self, context: &str) -> Parsed<List<Node>> {
        let variables = std::mem::replace(&mut self.variables, vec![Arc::from("$")]);
        let ranges = std::mem::take(&mut self.ranges);
        let action = self.action.take();
        let before = self.last;
        let (nodes, ended, _) = self.list()?;
        if let Ended::Else = ended {
            let mut error = self.error(format!("unexpected {{{{else}}}} in {context}"));
            if context == BLOCK {
                // Go asks the outer tree, which has read no further than the block's start.
                error.line = self.line(before);
            }
            return Err(error);
        }
        self.variables = variables;
        self.ranges = ranges;
        self.action = action;
        Ok(nodes)
    }

    fn add(&mut self, name: &Arc<str>, root: List<Node>) -> Parsed<()> {
        let known = self.roots.iter().position(|(other, _)| other == name);
        let Some((_, other)) = known.and_then(|index| self.roots.get_mut(index)) else {
            self.roots.push((Arc::clone(name), root));
            return Ok(());
        };
        if self.code.is_blank(*other, self.source) {
            *other = root;
        } else if !self.code.is_blank(root, self.source) {
            let message = format!("template: multiple definition of template {}", quote(name));
            return Err(self.error(message));
        }
        Ok(())
    }

    /// The list whose nodes have been read since `mark`.
    fn gathered(&mut self, mark: usize) -> List<Node> {
        List::moved(&mut self.nodes, mark, &mut self.code.nodes)
    }

    /// Nodes up to an `end` or `else`.
    fn list(&mut self) -> Parsed<(List<Node>, Ended, Token)> {
        self.depth += 1;
        if self.is_too_deep() {
            return Err(self.error(format!("actions are nested more than {MAX_PARSE_DEPTH} deep")));
        }
        let mark = self.nodes.len();
        loop {
            let token = self.next();
            if token.kind == TokenKind::Eof {
                return Err(self.error("unexpected EOF"));
            }
            match self.text_or_action(token)? {
                Item::Node(node) => self.nodes.push(node),
                Item::Ended(ended, token) => {
                    self.depth -= 1;
                    return Ok((self.gathered(mark), ended, token));
                }
            }
        }
    }

    fn text_or_action(&mut self, token: Token) -> Parsed<Item> {
        match token.kind {
            TokenKind::Text => Ok(Item::Node(Node::Text(token.span()))),
            TokenKind::LeftDelim => {
                self.action = Some(token.start);
                if let Some(node) = self.raw_text() {
                    self.action = None;
                    return Ok(Item::Node(node));
                }
                let item = self.action();
                if item.is_ok() {
                    self.action = None;
                }
                item
            }
            _ => Err(self.unexpected(&token, "input")),
        }
    }

    /// An action that is nothing but a text in backquotes, by which charts write braces that are
    /// not Helm's: some files hold thousands of them. It prints what stands there.
    fn raw_text(&mut self) -> Option<Node> {
        let first = self.front();
        // A blank text is something where a blank template would be nothing.
        let plain = |written: &str| !written.contains('\r') && !written.trim_matches('`').trim().is_empty();
        if first.kind != TokenKind::RawString || !plain(self.written(&first)) {
            return None;
        }
        self.next();
        if self.peek() == TokenKind::RightDelim {
            self.next();
            return Some(Node::Text(Span {
                start: first.start + 1,
                end: first.end - 1,
            }));
        }
        self.push_back(first);
        None
    }

    fn action(&mut self) -> Parsed<Item> {
        let TokenKind::Keyword(keyword) = self.front().kind else {
            return self.plain_action();
        };
        let token = self.next();
        Ok(Item::Node(match keyword {
            Keyword::Block => self.block()?,
            Keyword::Break => {
                self.in_range("{{break}}")?;
                Node::Break
            }
            Keyword::Continue => {
                self.in_range("{{continue}}")?;
                Node::Continue
            }
            Keyword::Else => {
                let next = self.next();
                match next.kind {
                    TokenKind::Keyword(Keyword::If | Keyword::With) => self.push_back(next),
                    TokenKind::RightDelim => {}
                    _ => return Err(self.unexpected(&next, "else")),
                }
                return Ok(Item::Ended(Ended::Else, next));
            }
            Keyword::End => {
                let token = self.expect(TokenKind::RightDelim, "end")?;
                return Ok(Item::Ended(Ended::End, token));
            }
            Keyword::If => Node::If(self.control("if")?),
            Keyword::With => Node::With(self.control("with")?),
            Keyword::Range => Node::Range(self.control("range")?),
            Keyword::Template => self.template()?,
            Keyword::Define | Keyword::Dot | Keyword::Nil => {
                self.push_back(token);
                return self.plain_action();
            }
        }))
    }

    fn plain_action(&mut self) -> Parsed<Item> {
        let pipe = self.pipeline("command", TokenKind::RightDelim)?;
        Ok(Item::Node(Node::Action(pipe)))
    }

    fn in_range(&mut self, shown: &str) -> Parsed<()> {
        let token = self.next();
        if token.kind != TokenKind::RightDelim {
            return Err(self.unexpected(&token, shown));
        }
        if self.ranges == 0 {
            return Err(self.error(format!("{shown} outside {{{{range}}}}")));
        }
        Ok(())
    }

    fn control(&mut self, keyword: &str) -> Parsed<Id<Branch>> {
        let variables = self.variables.len();
        let ranged = usize::from(keyword == "range");
        let pipe = self.pipeline(keyword, TokenKind::RightDelim)?;
        self.ranges += ranged;
        let (list, ended, _) = self.list()?;
        self.ranges -= ranged;
        let otherwise = match ended {
            Ended::End => None,
            Ended::Else => Some(self.otherwise(keyword)?),
        };
        self.variables.truncate(variables);
        let branch = Branch {
            pipe,
            list,
            otherwise,
        };
        Ok(Id::of(branch, &mut self.code.branches))
    }

    /// What follows `else`; `else if` in an if, and `else with` in a with, share its end.
    fn otherwise(&mut self, keyword: &str) -> Parsed<List<Node>> {
        self.depth += 1;
        if self.is_too_deep() {
            return Err(self.error(format!("actions are nested more than {MAX_PARSE_DEPTH} deep")));
        }
        let chained = match (keyword, self.peek()) {
            ("if", TokenKind::Keyword(Keyword::If)) => {
                self.next();
                Some(Node::If(self.control("if")?))
            }
            ("with", TokenKind::Keyword(Keyword::With)) => {
                self.next();
                Some(Node::With(self.control("with")?))
            }
            _ => None,
        };
        self.depth -= 1;
        if let Some(node) = chained {
            return Ok(List::one(node, &mut self.code.nodes));
        }
        let (nodes, ended, _) = self.list()?;
        match ended {
            Ended::End => Ok(nodes),
            Ended::Else => Err(self.error("expected end; found {{else}}")),
        }
    }

    fn block(&mut self) -> Parsed<Node> {
        let token = self.next();
        let name = self.template_name(&token, BLOCK)?;
        let pipe = self.pipeline(BLOCK, TokenKind::RightDelim)?;
        let root = self.inner_template(BLOCK)?;
        self.add(&name, root)?;
        Ok(self.invocation(&token, name, Some(pipe)))
    }

    fn template(&mut self) -> Parsed<Node> {
        let context = "template clause";
        let token = self.next();
        let name = self.template_name(&token, context)?;
        let next = self.next();
        let pipe = if next.kind == TokenKind::RightDelim {
            None
        } else {
            self.push_back(next);
            Some(self.pipeline(context, TokenKind::RightDelim)?)
        };
        Ok(self.invocation(&token, name, pipe))
    }

    fn invocation(&mut self, token: &Token, name: Arc<str>, pipe: Option<Id<Pipe>>) -> Node {
        let pos = token.start;
        let invocation = Invocation { pos, name, pipe };
        Node::Template(Id::of(invocation, &mut self.code.invocations))
    }

    fn template_name(&mut self, token: &Token, context: &str) -> Parsed<Arc<str>> {
        match token.kind {
            TokenKind::String | TokenKind::RawString => {
                let name = literal::string(self.written(token)).map_err(|message| self.error(message))?;
                Ok(name.to_arc())
            }
            _ => Err(self.unexpected(token, context)),
        }
    }

    fn pipeline(&mut self, context: &str, end: TokenKind) -> Parsed<Id<Pipe>> {
        let first = self.front();
        let (declared, assigns) = if first.kind == TokenKind::Variable {
            self.declarations(context)?
        } else {
            Default::default()
        };
        let mark = self.words.len();
        loop {
            let token = self.front();
            if token.kind == end {
                self.next();
                self.check(mark, context)?;
                let pipe = Pipe {
                    pos: first.start,
                    assigns,
                    declared,
                    words: List::moved(&mut self.words, mark, &mut self.code.words),
                };
                return Ok(Id::of(pipe, &mut self.code.pipes));
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

    /// `$x :=`, `$x =`, and in a range `$i, $x :=`: the variables, and whether they are there already.
    fn declarations(&mut self, context: &str) -> Parsed<(List<Arc<str>>, bool)> {
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

    fn declared(&mut self, mut names: Vec<Arc<str>>) -> List<Arc<str>> {
        List::moved(&mut names, 0, &mut self.code.names)
    }

    /// Checks the commands that have been read since `mark`.
    fn check(&mut self, mark: usize, context: &str) -> Parsed<()> {
        let words = self.words.get(mark..).unwrap_or_default();
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
        let mark = self.words.len();
        loop {
            let word = self.operand()?;
            let found = word.is_some();
            if let Some(mut word) = word {
                word.first = self.words.len() == mark;
                self.words.push(word);
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
        if self.words.len() == mark {
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
                // Go has read no further than the fields.
                self.last = fields.end;
                return Err(self.error_in(Span::new(fields.end as usize, fields.end as usize), message));
            }
            _ => ExprKind::Chain {
                node: Id::of(term, &mut self.code.words),
                fields,
            },
        };
        Ok(Some(word(first.start, kind)))
    }

    /// `.a.b.c`, which stands where its second field does, as in Go.
    fn fields(&mut self) -> Expr {
        let first = self.next();
        let span = self.all_fields(first);
        let second = offset_of_second(self.text_of(span.start, span.end));
        word(span.start + second, ExprKind::Field(span))
    }

    /// Whether fields stand right behind what was read last.
    fn at_more_fields(&mut self) -> bool {
        let token = self.front();
        token.kind == TokenKind::Field && !token.spaced
    }

    /// Those of a token and of what follows it, with nothing between them.
    fn all_fields(&mut self, first: Token) -> Span {
        let mut span = first.span();
        while self.at_more_fields() {
            span.end = self.next().end;
        }
        span
    }

    /// A term that is no field; fields may follow it.
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
                ExprKind::Number(Id::of(number, &mut self.code.numbers))
            }
            TokenKind::LeftParen => {
                self.depth += 1;
                if self.is_too_deep() {
                    return Err(self.error("max expression depth exceeded"));
                }
                let pipe = self.pipeline("parenthesized pipeline", TokenKind::RightParen)?;
                self.depth -= 1;
                let pos = self.code.pipe(pipe).pos;
                return Ok(Some(word(pos, ExprKind::Pipe(pipe))));
            }
            TokenKind::String | TokenKind::RawString => {
                let written = self.written(&token);
                let value = literal::string(written).map_err(|message| self.error_at(&token, message))?;
                ExprKind::Str {
                    value: Id::of(value, &mut self.code.strings),
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

    #[inline]
    fn next(&mut self) -> Token {
        if let Some(token) = self.ahead.pop() {
            return token;
        }
        let token = self.lexer.token();
        self.last = token.start;
        token
    }

    #[inline]
    fn push_back(&mut self, token: Token) {
        self.ahead.push(token);
    }

    #[inline]
    fn peek(&mut self) -> TokenKind {
        self.front().kind
    }

    /// The next token, which stays.
    #[inline]
    fn front(&mut self) -> Token {
        if let Some(token) = self.ahead.last() {
            return *token;
        }
        let token = self.next();
        self.push_back(token);
        token
    }

    fn expect(&mut self, kind: TokenKind, context: &str) -> Parsed<Token> {
        let token = self.next();
        if token.kind == kind {
            Ok(token)
        } else {
            Err(self.unexpected(&token, context))
        }
    }

    /// Where the stack's room is used up, the error does not count: it is all done again with more.
    fn is_too_deep(&self) -> bool {
        self.depth > MAX_PARSE_DEPTH || !self.room.is_left()
    }

    fn unexpected(&self, token: &Token, context: &str) -> Box<ParseError> {
        let mut token = *token;
        if token.kind == TokenKind::Field {
            // To Go each field is a token.
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
    fn shown(&self, token: &Token) -> String {
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

    fn error(&self, message: impl Into<String>) -> Box<ParseError> {
        let at = self
            .ahead
            .last()
            .map_or(self.last as usize, |token| token.start as usize);
        self.error_in(Span::new(at, at), message.into())
    }

    fn error_at(&self, token: &Token, message: impl Into<String>) -> Box<ParseError> {
        let (start, end) = (token.start, token.end);
        self.error_in(Span { start, end }, message.into())
    }

    fn error_in(&self, span: Span, message: String) -> Box<ParseError> {
        Box::new(ParseError {
            message,
            line: self.line(self.last),
            location: Location::new(self.source, span),
            unknown: None,
        })
    }
}

impl<'a> Parser<'a> {
    #[inline]
    fn written(&self, token: &Token) -> &'a str {
        self.text_of(token.start, token.end)
    }

    #[inline]
    fn text_of(&self, start: u32, end: u32) -> &'a str {
        let source: &'a Source = self.source;
        source.text().get(start as usize..end as usize).unwrap_or("")
    }

    /// The line of an offset, from 1.
    fn line(&self, offset: u32) -> usize {
        self.source.position(offset).line
    }
}

/// Where the second of `.a.b.c` begins; 0 if there is but one.
fn offset_of_second(fields: &str) -> u32 {
    let rest = fields.as_bytes().get(1..).unwrap_or_default();
    let dot = rest.iter().position(|byte| *byte == b'.');
    dot.and_then(|dot| u32::try_from(dot + 1).ok()).unwrap_or(0)
}

fn word(pos: u32, kind: ExprKind) -> Expr {
    Expr {
        pos,
        first: false,
        kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_through_everything_that_is_left_out() {
        let text = "a\n{{- /* \n\n */ -}}\n\n{{ `x\ny` \n}}\n{{ 1 + }}";
        let source = Source::new("t", text);
        let error = parse(&"t".into(), &source, &|_| None, &Room::unlimited()).unwrap_err();
        assert_eq!(error.line, 9);
        let source = Source::new("t", "\n{{ .a\n `\n");
        let error = parse(&"t".into(), &source, &|_| None, &Room::unlimited()).unwrap_err();
        assert_eq!(error.line, 3);
        assert_eq!(
            error.message,
            "unterminated raw quoted string in action started at t:2"
        );
    }
}
