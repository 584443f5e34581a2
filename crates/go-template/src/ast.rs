//! A parsed template: [`Tree`] and its tables, [`Code`].
//!
//! Charts have thousands of actions, so a tree doesn't use boxes, each of which would be an allocation: lists are
//! stored consecutively in a table for each kind of node, and text is a range of the source. Each node has the offset
//! that Go reports for it. A tree is immutable and shared between threads.

use std::sync::Arc;

use super::text::Str;
use solar_diagnostics::source::{Source, Span};

/// A template: a whole text, or the body of a `define` in it.
#[derive(Debug)]
pub struct Tree {
    /// The template's name.
    pub name: Arc<str>,
    /// Its source text.
    pub source: Arc<Source>,
    /// Shared by the templates of a text, and by equal texts.
    pub(super) code: Arc<Code>,
    pub(super) root: NodeList<Node>,
}

/// The index of a function in [`super::Functions`].
pub(super) type FuncId = u32;

/// The parsed form of a text. The parser only creates valid indexes into it; an invalid one would find nothing.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) nodes: Vec<Node>,
    pub(super) branches: Vec<Branch>,
    pub(super) invocations: Vec<Invocation>,
    pub(super) pipes: Vec<Pipe>,
    pub(super) words: Vec<Expr>,
    pub(super) names: Vec<Arc<str>>,
    pub(super) strings: Vec<Str>,
    pub(super) numbers: Vec<Number>,
}

/// The range of a list in its table.
#[derive(Debug)]
pub(super) struct NodeList<T> {
    start: u32,
    end: u32,
    of: std::marker::PhantomData<fn() -> T>,
}

impl<T> Clone for NodeList<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for NodeList<T> {}

impl<T> Default for NodeList<T> {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl<T> NodeList<T> {
    fn new(start: usize, end: usize) -> Self {
        // There are fewer items than bytes of text, whose number fits into 32 bits.
        let index = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        Self {
            start: index(start),
            end: index(end),
            of: std::marker::PhantomData,
        }
    }

    /// Moves the items gathered since `mark` to the end of the table.
    pub(super) fn moved(gathered: &mut Vec<T>, mark: usize, table: &mut Vec<T>) -> Self
    where
        T: Clone,
    {
        let start = table.len();
        table.extend_from_slice(gathered.get(mark..).unwrap_or_default());
        gathered.truncate(mark);
        Self::new(start, table.len())
    }

    /// Appends one item to the table.
    pub(super) fn one(item: T, table: &mut Vec<T>) -> Self {
        table.push(item);
        Self::new(table.len() - 1, table.len())
    }

    pub(super) fn of(self, table: &[T]) -> &[T] {
        table
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }

    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }

    pub(super) fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// The index of an item in its table.
#[derive(Debug)]
pub(super) struct Id<T>(u32, std::marker::PhantomData<fn() -> T>);

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> Id<T> {
    /// Appends it to the table.
    pub(super) fn of(item: T, table: &mut Vec<T>) -> Self {
        let index = u32::try_from(table.len()).unwrap_or(u32::MAX);
        table.push(item);
        Self(index, std::marker::PhantomData)
    }

    pub(super) fn find(self, table: &[T]) -> Option<&T> {
        table.get(self.0 as usize)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Node {
    /// A range of the source.
    Text(Span),
    Action(Id<Pipe>),
    If(Id<Branch>),
    With(Id<Branch>),
    Range(Id<Branch>),
    Template(Id<Invocation>),
    Break,
    Continue,
}

/// `if`, `with` or `range`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branch {
    pub(super) pipe: Id<Pipe>,
    pub(super) list: NodeList<Node>,
    pub(super) otherwise: Option<NodeList<Node>>,
}

/// `{{template "name" pipe}}`
#[derive(Debug, Clone)]
pub(super) struct Invocation {
    pub(super) pos: u32,
    pub(super) name: Arc<str>,
    pub(super) pipe: Option<Id<Pipe>>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pipe {
    pub(super) pos: u32,
    /// Whether it assigns existing variables.
    pub(super) assigns: bool,
    /// The variables, with their dollar signs.
    pub(super) declared: NodeList<Arc<str>>,
    /// The words of all its commands; see [`Code::commands`].
    pub(super) words: NodeList<Expr>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Expr {
    pub(super) pos: u32,
    /// Whether it is the first word of a command: its function, or the value itself.
    pub(super) first: bool,
    pub(super) kind: ExprKind,
}

/// Spans and ends are positions in the text.
#[derive(Debug, Clone, Copy)]
pub(super) enum ExprKind {
    Bool(bool),
    Dot,
    Nil,
    Number(Id<Number>),
    /// A string constant, with its end.
    Str {
        value: Id<Str>,
        end: u32,
    },
    /// `.a.b.c`
    Field(Span),
    /// `$x.a.b`: the name, then the fields, which may be none.
    Variable {
        start: u32,
        fields: Span,
    },
    /// Fields after another operand.
    Chain {
        node: Id<Expr>,
        fields: Span,
    },
    /// A function, with the end of its name.
    Function {
        id: FuncId,
        end: u32,
    },
    Pipe(Id<Pipe>),
}

/// A constant, in every type that can hold it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Number {
    pub(super) int: Option<i64>,
    pub(super) uint: Option<u64>,
    pub(super) float: Option<f64>,
    pub(super) complex: Option<(f64, f64)>,
    pub(super) written: Box<str>,
}

/// The node of an error: its offset and its kind, because a pipe, its first command and that command's first word begin
/// at the same offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct NodePosition {
    pub(super) pos: u32,
    pub(super) kind: NodeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum NodeKind {
    /// Nothing has been run yet.
    #[default]
    None,
    Text,
    Action,
    If,
    With,
    Range,
    Template,
    Break,
    Continue,
    Pipe,
    /// One that begins with a function.
    Command,
    Expr,
}

impl Code {
    pub(super) fn pipe(&self, id: Id<Pipe>) -> Pipe {
        id.find(&self.pipes).copied().unwrap_or_default()
    }

    /// A pipe's commands in order: the words of each, at least one.
    pub(super) fn commands(&self, pipe: Pipe) -> impl Iterator<Item = &[Expr]> {
        pipe.words.of(&self.words).chunk_by(|_, next| !next.first)
    }

    pub(super) fn place(&self, node: &Node) -> NodePosition {
        let branch = |id: &Id<Branch>| {
            id.find(&self.branches)
                .map_or(0, |branch| self.pipe(branch.pipe).pos)
        };
        let (pos, kind) = match node {
            Node::Text(span) => (span.start, NodeKind::Text),
            Node::Action(pipe) => (self.pipe(*pipe).pos, NodeKind::Action),
            Node::If(id) => (branch(id), NodeKind::If),
            Node::With(id) => (branch(id), NodeKind::With),
            Node::Range(id) => (branch(id), NodeKind::Range),
            Node::Template(id) => (
                id.find(&self.invocations).map_or(0, |one| one.pos),
                NodeKind::Template,
            ),
            Node::Break => (0, NodeKind::Break),
            Node::Continue => (0, NodeKind::Continue),
        };
        NodePosition { pos, kind }
    }

    /// Whether nodes are only white space.
    pub(super) fn is_blank(&self, nodes: NodeList<Node>, source: &Source) -> bool {
        nodes.of(&self.nodes).iter().all(|node| match node {
            Node::Text(span) => source.slice(*span).trim().is_empty(),
            _ => false,
        })
    }

    /// Moves the content into tables of the exact size; these keep their capacity.
    pub(super) fn drained(&mut self) -> Self {
        Self {
            nodes: self.nodes.drain(..).collect(),
            branches: self.branches.drain(..).collect(),
            invocations: self.invocations.drain(..).collect(),
            pipes: self.pipes.drain(..).collect(),
            words: self.words.drain(..).collect(),
            names: self.names.drain(..).collect(),
            strings: self.strings.drain(..).collect(),
            numbers: self.numbers.drain(..).collect(),
        }
    }
}

/// The names of fields as written: `.a.b`.
pub(super) fn names(fields: &str) -> impl Iterator<Item = &str> {
    // Names are short: a loop over bytes is faster than setting up a search.
    let mut rest = fields.get(1..);
    std::iter::from_fn(move || {
        let text = rest?;
        let dot = text.bytes().position(|byte| byte == b'.');
        rest = dot.and_then(|dot| text.get(dot + 1..));
        text.get(..dot.unwrap_or(text.len()))
    })
}

impl Tree {
    /// A template that prints nothing.
    pub(super) fn blank(name: &Arc<str>) -> Self {
        Self {
            name: Arc::clone(name),
            source: Source::new(&**name, ""),
            code: Arc::default(),
            root: NodeList::default(),
        }
    }

    /// The same template in another, equal text.
    pub fn in_source(&self, name: &Arc<str>, source: &Arc<Source>) -> Self {
        Self {
            name: Arc::clone(name),
            source: Arc::clone(source),
            code: Arc::clone(&self.code),
            root: self.root,
        }
    }

    /// Whether it is only white space: such a template doesn't replace another one.
    pub(super) fn is_empty(&self) -> bool {
        self.code.is_blank(self.root, &self.source)
    }

    /// The text of a range.
    pub(super) fn written(&self, span: Span) -> &str {
        let range = span.start as usize..span.end as usize;
        self.source.text().get(range).unwrap_or("")
    }
}
