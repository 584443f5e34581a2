//! The tree of a parsed template.
//!
//! Each node knows the offset that Go reports for it, and prints itself as Go's error
//! messages quote it. A tree is immutable and shared between threads.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use super::text::Str;
use crate::source::Source;

/// One template: a whole text, or what a `define` in it holds.
#[derive(Debug)]
pub struct Tree {
    /// The template's name.
    pub name: Arc<str>,
    /// The text that it stands in.
    pub source: Arc<Source>,
    /// Shared by texts that are the same.
    pub(super) root: Arc<Vec<Node>>,
}

/// A number of [`super::Functions`].
pub(super) type FuncId = u32;

#[derive(Debug)]
pub(super) enum Node {
    /// A range of the source.
    Text {
        start: u32,
        end: u32,
    },
    Action(Pipe),
    If(Box<Branch>),
    With(Box<Branch>),
    Range(Box<Branch>),
    Template(Box<Invocation>),
    Break,
    Continue,
}

/// `if`, `with` or `range`.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) pipe: Pipe,
    pub(super) list: Box<[Node]>,
    pub(super) otherwise: Option<Box<[Node]>>,
}

/// `{{template "name" pipe}}`
#[derive(Debug)]
pub(super) struct Invocation {
    pub(super) pos: u32,
    pub(super) name: Arc<str>,
    pub(super) pipe: Option<Pipe>,
}

#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) pos: u32,
    pub(super) assigns: bool,
    pub(super) declared: Box<[Variable]>,
    pub(super) commands: Box<[Command]>,
}

#[derive(Debug)]
pub(super) struct Command {
    pub(super) pos: u32,
    /// The first is the function or the value itself; there is always one.
    pub(super) words: Box<[Expr]>,
}

#[derive(Debug, Clone)]
pub(super) struct Variable {
    /// With its dollar sign.
    pub(super) name: Arc<str>,
}

#[derive(Debug)]
pub(super) struct Expr {
    pub(super) pos: u32,
    pub(super) kind: ExprKind,
}

#[derive(Debug)]
pub(super) enum ExprKind {
    Bool(bool),
    Dot,
    Nil,
    Number(Box<Number>),
    Str { value: Str, written: Written },
    Field(Path),
    Variable { name: Arc<str>, fields: Path },
    Chain { node: Box<Expr>, fields: Path },
    Function { name: &'static str, id: FuncId },
    Pipe(Box<Pipe>),
}

/// Names of fields as they are written: `.a.b`. Trees are what a rendering's memory is made of,
/// and one text is smaller than a list of names.
#[derive(Debug, Clone, Default)]
pub(super) struct Path(Box<str>);

impl Path {
    pub(super) fn new(written: &str) -> Self {
        Self(written.into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('.').skip(1)
    }

    /// For those who keep them apart.
    pub(super) fn to_names(&self) -> Vec<Arc<str>> {
        self.names().map(Arc::from).collect()
    }
}

/// How a string constant is written.
#[derive(Debug)]
pub(super) enum Written {
    /// The value itself, between two of this character.
    Between(char),
    Otherwise(Box<str>),
}

impl Written {
    pub(super) fn of(value: &Str, written: &str) -> Self {
        let mut inner = written.chars();
        match (inner.next(), inner.next_back()) {
            (Some(quote), Some(_)) if inner.as_str().as_bytes() == value.as_bytes() => Self::Between(quote),
            _ => Self::Otherwise(written.into()),
        }
    }

    /// In bytes.
    pub(super) fn len(&self, value: &Str) -> usize {
        match self {
            Self::Between(quote) => value.len() + 2 * quote.len_utf8(),
            Self::Otherwise(written) => written.len(),
        }
    }
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

/// Which node an error is about: its offset, and what is there, because a pipe, its first
/// command and that command's first word begin at one offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Place {
    pub(super) pos: u32,
    pub(super) kind: PlaceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum PlaceKind {
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
    Command,
    Expr,
}

impl Node {
    pub(super) fn place(&self) -> Place {
        let (pos, kind) = match self {
            Self::Text { start, .. } => (*start, PlaceKind::Text),
            Self::Action(pipe) => (pipe.pos, PlaceKind::Action),
            Self::If(branch) => (branch.pipe.pos, PlaceKind::If),
            Self::With(branch) => (branch.pipe.pos, PlaceKind::With),
            Self::Range(branch) => (branch.pipe.pos, PlaceKind::Range),
            Self::Template(invocation) => (invocation.pos, PlaceKind::Template),
            Self::Break => (0, PlaceKind::Break),
            Self::Continue => (0, PlaceKind::Continue),
        };
        Place { pos, kind }
    }
}

impl Tree {
    /// The same template, found in another text that reads the same.
    pub fn in_source(&self, name: &Arc<str>, source: &Arc<Source>) -> Self {
        Self {
            name: Arc::clone(name),
            source: Arc::clone(source),
            root: Arc::clone(&self.root),
        }
    }

    /// The node at a place as Go quotes it, and where it ends in the text if that is known.
    pub(super) fn quote(&self, place: Place) -> Option<String> {
        find_in_list(&self.root, place, &self.source)
    }

    /// Whether there is nothing but white space: such a template replaces no other.
    pub(super) fn is_empty(&self) -> bool {
        is_blank(&self.root, &self.source)
    }
}

/// Whether nodes are nothing but white space.
pub(super) fn is_blank(nodes: &[Node], source: &Source) -> bool {
    nodes.iter().all(|node| match node {
        Node::Text { start, end } => text(source, *start, *end).trim().is_empty(),
        _ => false,
    })
}

fn text(source: &Source, start: u32, end: u32) -> &str {
    source.text().get(start as usize..end as usize).unwrap_or("")
}

fn find_in_list(list: &[Node], place: Place, source: &Source) -> Option<String> {
    list.iter().find_map(|node| find_in_node(node, place, source))
}

fn find_in_node(node: &Node, place: Place, source: &Source) -> Option<String> {
    if node.place() == place {
        let mut out = String::new();
        write_node(node, source, &mut out);
        return Some(out);
    }
    match node {
        Node::Text { .. } | Node::Break | Node::Continue => None,
        Node::Action(pipe) => find_in_pipe(pipe, place),
        Node::If(branch) | Node::With(branch) | Node::Range(branch) => find_in_pipe(&branch.pipe, place)
            .or_else(|| find_in_list(&branch.list, place, source))
            .or_else(|| find_in_list(branch.otherwise.as_deref()?, place, source)),
        Node::Template(invocation) => find_in_pipe(invocation.pipe.as_ref()?, place),
    }
}

fn find_in_pipe(pipe: &Pipe, place: Place) -> Option<String> {
    if place.kind == PlaceKind::Pipe && pipe.pos == place.pos {
        return Some(pipe.to_string());
    }
    pipe.commands.iter().find_map(|command| {
        if place.kind == PlaceKind::Command && command.pos == place.pos {
            return Some(command.to_string());
        }
        command.words.iter().find_map(|word| find_in_expr(word, place))
    })
}

fn find_in_expr(expr: &Expr, place: Place) -> Option<String> {
    if place.kind == PlaceKind::Expr && expr.pos == place.pos && !matches!(expr.kind, ExprKind::Pipe(_)) {
        return Some(expr.to_string());
    }
    match &expr.kind {
        ExprKind::Pipe(pipe) => find_in_pipe(pipe, place),
        ExprKind::Chain { node, .. } => find_in_expr(node, place),
        _ => None,
    }
}

/// Writing to a String can't fail, so results of `write!` are dropped here.
fn write_node(node: &Node, source: &Source, out: &mut String) {
    let mut branch = |keyword: &str, branch: &Branch| {
        let _ = write!(out, "{{{{{keyword} {}}}}}", branch.pipe);
        write_list(&branch.list, source, out);
        if let Some(otherwise) = &branch.otherwise {
            out.push_str("{{else}}");
            write_list(otherwise, source, out);
        }
        out.push_str("{{end}}");
    };
    match node {
        Node::If(inner) => branch("if", inner),
        Node::With(inner) => branch("with", inner),
        Node::Range(inner) => branch("range", inner),
        Node::Text { start, end } => out.push_str(text(source, *start, *end)),
        Node::Action(pipe) => {
            let _ = write!(out, "{{{{{pipe}}}}}");
        }
        Node::Template(invocation) => {
            let _ = write!(out, "{{{{template {}", super::print::quote(&invocation.name));
            if let Some(pipe) = &invocation.pipe {
                let _ = write!(out, " {pipe}");
            }
            out.push_str("}}");
        }
        Node::Break => out.push_str("{{break}}"),
        Node::Continue => out.push_str("{{continue}}"),
    }
}

fn write_list(list: &[Node], source: &Source, out: &mut String) {
    for node in list {
        write_node(node, source, out);
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, variable) in self.declared.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{}", variable.name)?;
        }
        if !self.declared.is_empty() {
            f.write_str(if self.assigns { " = " } else { " := " })?;
        }
        for (index, command) in self.commands.iter().enumerate() {
            let separator = if index == 0 { "" } else { " | " };
            write!(f, "{separator}{command}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.words.iter().enumerate() {
            let separator = if index == 0 { "" } else { " " };
            match &word.kind {
                ExprKind::Pipe(pipe) => write!(f, "{separator}({pipe})")?,
                _ => write!(f, "{separator}{word}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Bool(value) => write!(f, "{value}"),
            ExprKind::Dot => f.write_str("."),
            ExprKind::Nil => f.write_str("nil"),
            ExprKind::Number(number) => f.write_str(&number.written),
            ExprKind::Str { value, written } => match written {
                Written::Between(quote) => write!(f, "{quote}{value}{quote}"),
                Written::Otherwise(written) => f.write_str(written),
            },
            ExprKind::Field(path) => f.write_str(path.as_str()),
            ExprKind::Variable { name, fields } => write!(f, "{name}{}", fields.as_str()),
            ExprKind::Chain { node, fields } => {
                match &node.kind {
                    ExprKind::Pipe(pipe) => write!(f, "({pipe})")?,
                    _ => write!(f, "{node}")?,
                }
                f.write_str(fields.as_str())
            }
            ExprKind::Function { name, .. } => f.write_str(name),
            ExprKind::Pipe(pipe) => write!(f, "{pipe}"),
        }
    }
}
