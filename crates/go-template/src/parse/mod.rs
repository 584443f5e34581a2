//! Parses tokens into trees, by the grammar of Go's `text/template/parse`.
//!
//! Functions and variables are looked up while parsing, as Go does: a template with an unknown one is invalid. Parsing
//! ends at the first error.

mod pipeline;
mod tokens;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::ast::{Branch, Code, Expr, FuncId, Id, Invocation, Node, NodeList, Pipe, Tree};
use super::lex::{Keyword, Lexer, Token, TokenKind};
use super::limits::MAX_PARSE_DEPTH;
use super::literal;
use super::print::quote;
use super::stack_guard::StackGuard;
use solar_diagnostics::source::{Location, Source, Span};

const BLOCK: &str = "block clause";

/// A parse error.
#[derive(Debug, Clone)]
pub struct ParseError {
    /// Go's message, without the location.
    pub message: String,
    /// The line that Go reports, from 1.
    pub line: usize,
    /// The token that is wrong.
    pub location: Location,
    /// The unknown name, if that is the reason.
    pub unknown: Option<Unknown>,
    /// The related location, if the error is about the structure of the text.
    pub related: Option<Related>,
}

/// Another location that explains an error in the structure of a text.
#[derive(Debug, Clone)]
pub enum Related {
    /// The action whose block has no end.
    Unclosed(Location),
    /// No block is open. With the action and the end of the last block.
    NoneOpen(Option<(Location, Location)>),
    /// The first `else` of the block.
    FirstElse(Location),
    /// The definition or block that can't have an `else`.
    NoElse(Location),
    /// The first definition of a name.
    FirstDefinition(Location),
}

/// A name that a template uses and nothing defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// A function.
    Function(String),
    /// A variable, with the existing ones.
    Variable(String, Vec<String>),
}

/// Looks up a function by its name.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<FuncId>;

/// Parses a text: the templates that it defines in their order, last the text itself under `name`.
pub(super) fn parse(
    name: &Arc<str>,
    source: &Arc<Source>,
    lookup: Lookup<'_>,
    stack: &StackGuard,
    buffers: &ParseBuffers,
) -> Result<Vec<Tree>, Box<ParseError>> {
    let mut parser = Parser {
        lexer: Lexer::new(source.text()),
        source,
        lookup,
        stack,
        ahead: Vec::new(),
        last: 0,
        variables: vec![Arc::from("$")],
        ranges: 0,
        depth: 0,
        blocks: Vec::new(),
        action: None,
        last_block: None,
        tables: buffers.0.take(),
        roots: Vec::new(),
        starts: Vec::new(),
        names: BTreeMap::new(),
    };
    let root = parser.text()?;
    parser.add(name, root, 0)?;
    let Parser {
        mut tables, roots, ..
    } = parser;
    let code = Arc::new(tables.code.drained());
    buffers.0.set(tables);
    let tree = |(name, root)| Tree {
        name,
        source: Arc::clone(source),
        code: Arc::clone(&code),
        root,
    };
    Ok(roots.into_iter().map(tree).collect())
}

/// The result of a parser step.
type Parsed<T> = Result<T, Box<ParseError>>;

/// Buffers that are reused for the next text.
#[derive(Default)]
pub struct ParseBuffers(Cell<Tables>);

impl fmt::Debug for ParseBuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ParseBuffers(..)")
    }
}

/// Empty before and after a text was parsed.
#[derive(Default)]
struct Tables {
    /// The nodes being parsed, those of inner lists after those of outer ones: when a list is complete, its nodes are
    /// moved to the code.
    nodes: Vec<Node>,
    words: Vec<Expr>,
    code: Code,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    source: &'a Arc<Source>,
    lookup: Lookup<'a>,
    stack: &'a StackGuard,
    /// Peeked tokens, the next one last.
    ahead: Vec<Token>,
    /// The start of the last token from the lexer: Go reports its line in errors.
    last: u32,
    variables: Vec<Arc<str>>,
    /// The number of open `range`s.
    ranges: usize,
    depth: usize,
    /// The starts of the actions of open blocks, the innermost last.
    blocks: Vec<u32>,
    /// The start and end of the last top-level block.
    last_block: Option<(u32, u32)>,
    /// The start of the current action.
    action: Option<u32>,
    tables: Tables,
    /// The completed templates.
    roots: Vec<(Arc<str>, NodeList<Node>)>,
    /// The start of each of them.
    starts: Vec<u32>,
    /// The index of each name.
    names: BTreeMap<Arc<str>, usize>,
}

/// What ended a list of nodes.
enum Ended {
    End,
    Else,
}

/// The kind of a list item.
enum Item {
    Node(Node),
    Ended(Ended, Token),
}

impl Parser<'_> {
    /// A whole text: actions, and definitions between them.
    fn text(&mut self) -> Parsed<NodeList<Node>> {
        let mark = self.tables.nodes.len();
        loop {
            let token = self.next();
            if token.kind == TokenKind::Eof {
                return Ok(self.gathered(mark));
            }
            if token.kind == TokenKind::LeftDelim && self.peek() == TokenKind::Keyword(Keyword::Define) {
                self.next();
                self.blocks.push(token.start);
                self.definition(token.start)?;
                self.close_block();
                continue;
            }
            let start = token.start;
            match self.text_or_action(token)? {
                Item::Node(node) => self.tables.nodes.push(node),
                Item::Ended(Ended::End, _) => return Err(self.none_open(start, "unexpected {{end}}")),
                Item::Ended(Ended::Else, _) => return Err(self.none_open(start, "unexpected {{else}}")),
            }
        }
    }

    fn close_block(&mut self) {
        if let (Some(start), true) = (self.blocks.pop(), self.blocks.is_empty()) {
            self.last_block = Some((start, self.last));
        }
    }

    /// An `end` or `else` outside of all blocks.
    fn none_open(&self, start: u32, message: &str) -> Box<ParseError> {
        let mut error = self.error(message);
        error.location = self.action_at(start);
        let last = self.last_block;
        error.related =
            Some(Related::NoneOpen(last.map(|(start, end)| {
                (self.action_at(start), self.action_before(end))
            })));
        error
    }

    /// The location of the action that begins at an offset.
    fn action_at(&self, start: u32) -> Location {
        let start = start as usize;
        let rest = self.source.text().get(start..).unwrap_or("");
        let length = rest.find("}}").map_or(2.min(rest.len()), |end| end + 2);
        Location::new(self.source, Span::new(start, start + length))
    }

    /// The location of the action that contains an offset.
    fn action_before(&self, offset: u32) -> Location {
        let before = self.source.text().get(..offset as usize).unwrap_or("");
        let start = before.rfind("{{").unwrap_or(offset as usize);
        self.action_at(u32::try_from(start).unwrap_or(offset))
    }

    fn definition(&mut self, start: u32) -> Parsed<()> {
        let context = "define clause";
        let token = self.next();
        let name = self.template_name(&token, context)?;
        self.expect(TokenKind::RightDelim, context)?;
        let root = self.inner_template(context)?;
        self.add(&name, root, start)
    }

    /// The body of a `define` or `block`: outer variables and ranges are not in scope.
    fn inner_template(&mut self, context: &str) -> Parsed<NodeList<Node>> {
        let variables = std::mem::replace(&mut self.variables, vec![Arc::from("$")]);
        let ranges = std::mem::take(&mut self.ranges);
        let action = self.action.take();
        let before = self.last;
        let (nodes, ended, _) = self.list()?;
        if let Ended::Else = ended {
            let mut error = self.error(format!("unexpected {{{{else}}}} in {context}"));
            let start = self.blocks.last();
            error.related = start.map(|start| Related::NoElse(self.action_at(*start)));
            if context == BLOCK {
                // Go uses the outer tree, which has parsed up to the block's start.
                error.line = self.line(before);
            }
            return Err(error);
        }
        self.variables = variables;
        self.ranges = ranges;
        self.action = action;
        Ok(nodes)
    }

    fn add(&mut self, name: &Arc<str>, root: NodeList<Node>, start: u32) -> Parsed<()> {
        let known = self.names.get(name).copied();
        let first = known.and_then(|index| Some((self.roots.get_mut(index)?, self.starts.get_mut(index)?)));
        let Some(((_, other), first)) = first else {
            self.names.insert(Arc::clone(name), self.roots.len());
            self.roots.push((Arc::clone(name), root));
            self.starts.push(start);
            return Ok(());
        };
        if self.tables.code.is_blank(*other, self.source) {
            *other = root;
            *first = start;
        } else if !self.tables.code.is_blank(root, self.source) {
            let message = format!("template: multiple definition of template {}", quote(name));
            let first = *first;
            let mut error = self.error(message);
            error.location = self.action_at(start);
            error.related = Some(Related::FirstDefinition(self.action_at(first)));
            return Err(error);
        }
        Ok(())
    }

    /// The list of the nodes parsed since `mark`.
    fn gathered(&mut self, mark: usize) -> NodeList<Node> {
        NodeList::moved(&mut self.tables.nodes, mark, &mut self.tables.code.nodes)
    }

    /// Nodes up to an `end` or `else`.
    fn list(&mut self) -> Parsed<(NodeList<Node>, Ended, Token)> {
        self.depth += 1;
        if self.is_too_deep() {
            return Err(self.error(format!("actions are nested more than {MAX_PARSE_DEPTH} deep")));
        }
        let mark = self.tables.nodes.len();
        loop {
            let token = self.next();
            if token.kind == TokenKind::Eof {
                return Err(self.unclosed());
            }
            match self.text_or_action(token)? {
                Item::Node(node) => self.tables.nodes.push(node),
                Item::Ended(ended, token) => {
                    self.depth -= 1;
                    return Ok((self.gathered(mark), ended, token));
                }
            }
        }
    }

    /// The error that the text ends with an open block; an `else if` belongs to the first `if`.
    fn unclosed(&self) -> Box<ParseError> {
        let mut error = self.error("unexpected EOF");
        let start = self.blocks.last();
        error.related = start.map(|start| Related::Unclosed(self.action_at(*start)));
        error
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

    /// An action that is only a raw string, which charts use for braces that are not Helm's: some files have thousands
    /// of them. It prints the string.
    fn raw_text(&mut self) -> Option<Node> {
        let first = self.front();
        // A blank string is output, but a blank template would be empty.
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
        self.blocks.extend(self.action);
        let pipe = self.pipeline(keyword, TokenKind::RightDelim)?;
        self.ranges += ranged;
        let (list, ended, _) = self.list()?;
        self.ranges -= ranged;
        let otherwise = match ended {
            Ended::End => None,
            Ended::Else => Some(self.otherwise(keyword)?),
        };
        self.variables.truncate(variables);
        self.close_block();
        let branch = Branch {
            pipe,
            list,
            otherwise,
        };
        Ok(Id::of(branch, &mut self.tables.code.branches))
    }

    /// The part after `else`; `else if` in an if, and `else with` in a with, share its end.
    fn otherwise(&mut self, keyword: &str) -> Parsed<NodeList<Node>> {
        let first = self.last;
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
            return Ok(NodeList::one(node, &mut self.tables.code.nodes));
        }
        let (nodes, ended, _) = self.list()?;
        match ended {
            Ended::End => Ok(nodes),
            Ended::Else => {
                let mut error = self.error("expected end; found {{else}}");
                error.related = Some(Related::FirstElse(self.action_before(first)));
                Err(error)
            }
        }
    }

    fn block(&mut self) -> Parsed<Node> {
        let token = self.next();
        let name = self.template_name(&token, BLOCK)?;
        let pipe = self.pipeline(BLOCK, TokenKind::RightDelim)?;
        let start = self.action.unwrap_or(token.start);
        self.blocks.push(start);
        let root = self.inner_template(BLOCK)?;
        self.close_block();
        self.add(&name, root, start)?;
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
        Node::Template(Id::of(invocation, &mut self.tables.code.invocations))
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
}

/// The offset of the second field of `.a.b.c`; 0 if there is only one.
fn offset_of_second(fields: &str) -> u32 {
    let rest = fields.as_bytes().get(1..).unwrap_or_default();
    let dot = rest.iter().position(|byte| *byte == b'.');
    dot.and_then(|dot| u32::try_from(dot + 1).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_through_skipped_text() {
        let text = "a\n{{- /* \n\n */ -}}\n\n{{ `x\ny` \n}}\n{{ 1 + }}";
        let source = Source::new("t", text);
        let error = parse(
            &"t".into(),
            &source,
            &|_| None,
            &StackGuard::unlimited(),
            &ParseBuffers::default(),
        )
        .unwrap_err();
        assert_eq!(error.line, 9);
        let source = Source::new("t", "\n{{ .a\n `\n");
        let error = parse(
            &"t".into(),
            &source,
            &|_| None,
            &StackGuard::unlimited(),
            &ParseBuffers::default(),
        )
        .unwrap_err();
        assert_eq!(error.line, 3);
        assert_eq!(
            error.message,
            "unterminated raw quoted string in action started at t:2"
        );
    }
}
