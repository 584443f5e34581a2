//! A template's tree for tools that read templates instead of running them.
//!
//! In: a [`Tree`]. Out: [`Step`]s, a plain copy of it in which every term knows where it
//! stands in the text. Text and comments are left out.

use std::sync::Arc;

use super::ast::{Branch as AstBranch, Expr, ExprKind, Node, Pipe, Tree};
use crate::source::Span;

/// What a template does, one after the other.
#[derive(Debug, Clone)]
pub enum Step {
    /// `{{pipeline}}`: prints, declares or assigns.
    Action(Pipeline),
    /// `if`, `with` or `range`.
    Branch(Branch),
    /// `{{template "name" pipeline}}`
    Template {
        /// The template's name.
        name: Arc<str>,
        /// Its dot.
        argument: Option<Pipeline>,
    },
}

/// `if`, `with` or `range`, with both of its ways.
#[derive(Debug, Clone)]
pub struct Branch {
    /// Which of them.
    pub keyword: Keyword,
    /// What decides.
    pub condition: Pipeline,
    /// The way when there is something.
    pub body: Vec<Step>,
    /// The way when there is nothing.
    pub otherwise: Vec<Step>,
}

/// What a [`Branch`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyword {
    /// `if`
    If,
    /// `with`
    With,
    /// `range`
    Range,
}

/// Commands joined by `|`, and the variables that get the result.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// With their dollar signs.
    pub variables: Vec<Arc<str>>,
    /// Whether the variables are there already (`=`) or new (`:=`).
    pub assigns: bool,
    /// Each a function or value, and arguments; never empty.
    pub commands: Vec<Vec<Term>>,
}

/// One word of a command.
#[derive(Debug, Clone)]
pub struct Term {
    /// Where it starts: of a field access the first dot or dollar sign.
    pub span: Span,
    /// What it is.
    pub kind: TermKind,
}

/// What a [`Term`] is.
#[derive(Debug, Clone)]
pub enum TermKind {
    /// `.`
    Dot,
    /// `.a.b`
    Field(Vec<Arc<str>>),
    /// `$v.a.b`
    Variable {
        /// With its dollar sign.
        name: Arc<str>,
        /// What follows.
        fields: Vec<Arc<str>>,
    },
    /// `(pipeline).a.b`
    Chain {
        /// What is in front.
        inner: Box<Term>,
        /// What follows.
        fields: Vec<Arc<str>>,
    },
    /// A function's name.
    Function(Arc<str>),
    /// `(pipeline)`
    Pipeline(Pipeline),
    /// A string constant, as far as it is text.
    Text(String),
    /// Another constant, or nil.
    Constant,
}

/// What a template does.
pub fn steps(tree: &Tree) -> Vec<Step> {
    list(&tree.root)
}

fn list(nodes: &[Node]) -> Vec<Step> {
    nodes.iter().filter_map(step).collect()
}

fn step(node: &Node) -> Option<Step> {
    Some(match node {
        Node::Text { .. } | Node::Break | Node::Continue => return None,
        Node::Action(pipe) => Step::Action(pipeline(pipe)),
        Node::If(inner) => branch(Keyword::If, inner),
        Node::With(inner) => branch(Keyword::With, inner),
        Node::Range(inner) => branch(Keyword::Range, inner),
        Node::Template(invocation) => Step::Template {
            name: Arc::clone(&invocation.name),
            argument: invocation.pipe.as_ref().map(pipeline),
        },
    })
}

fn branch(keyword: Keyword, inner: &AstBranch) -> Step {
    Step::Branch(Branch {
        keyword,
        condition: pipeline(&inner.pipe),
        body: list(&inner.list),
        otherwise: inner.otherwise.as_deref().map(list).unwrap_or_default(),
    })
}

fn pipeline(pipe: &Pipe) -> Pipeline {
    let variables = pipe.declared.iter().map(|variable| Arc::clone(&variable.name));
    let commands = pipe.commands.iter();
    Pipeline {
        variables: variables.collect(),
        assigns: pipe.assigns,
        commands: commands
            .map(|command| command.words.iter().map(term).collect())
            .collect(),
    }
}

fn term(expr: &Expr) -> Term {
    let pos = expr.pos as usize;
    // As in Go, an access of several fields knows where the second word of it stands.
    let (start, length, kind) = match &expr.kind {
        ExprKind::Dot => (pos, 1, TermKind::Dot),
        ExprKind::Field(fields) => {
            let mut names = fields.names();
            let first = names.next().map_or(0, |name| name.len() + 1);
            let before = if names.next().is_some() { first } else { 0 };
            (
                pos - before.min(pos),
                fields.as_str().len(),
                TermKind::Field(fields.to_names()),
            )
        }
        ExprKind::Variable { name, fields } => {
            let before = if fields.is_empty() { 0 } else { name.len() };
            let kind = TermKind::Variable {
                name: Arc::clone(name),
                fields: fields.to_names(),
            };
            let width = name.len() + fields.as_str().len();
            (pos - before.min(pos), width, kind)
        }
        ExprKind::Chain { node, fields } => {
            let inner = Box::new(term(node));
            let width = fields.as_str().len();
            let fields = fields.to_names();
            (pos, width, TermKind::Chain { inner, fields })
        }
        ExprKind::Function { name, .. } => (pos, name.len(), TermKind::Function(Arc::from(*name))),
        ExprKind::Pipe(pipe) => (pos, 1, TermKind::Pipeline(pipeline(pipe))),
        ExprKind::Str { value, written } => {
            let width = written.len(value);
            (pos, width, TermKind::Text(value.to_text().into_owned()))
        }
        ExprKind::Bool(_) | ExprKind::Nil | ExprKind::Number(_) => (pos, 1, TermKind::Constant),
    };
    Term {
        span: Span::new(start, start + length),
        kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::template::Functions;

    fn terms(text: &str) -> Vec<String> {
        let source = Source::new("t", text);
        let trees = Functions::<()>::new().parse(&"t".into(), &source).unwrap();
        let mut out = Vec::new();
        let mut todo = steps(trees.last().unwrap());
        todo.reverse();
        while let Some(step) = todo.pop() {
            let pipeline = match step {
                Step::Action(pipeline) => Some(pipeline),
                Step::Branch(branch) => {
                    todo.extend(branch.otherwise.into_iter().rev());
                    todo.extend(branch.body.into_iter().rev());
                    Some(branch.condition)
                }
                Step::Template { argument, .. } => argument,
            };
            for word in pipeline
                .iter()
                .flat_map(|pipeline| pipeline.commands.iter().flatten())
            {
                out.push(source.slice(word.span).to_owned());
            }
        }
        out
    }

    #[test]
    fn a_term_knows_where_it_stands() {
        assert_eq!(
            terms(
                "{{ .a }}{{- $.b.c | print \"x\" }}{{ if .d.e.f }}{{ $ }}{{ else }}{{template \"t\" .g.h}}{{end}}"
            ),
            [".a", "$.b.c", "print", "\"x\"", ".d.e.f", "$", ".g.h"]
        );
        assert_eq!(terms("{{ (print .x).y.z }}"), [".y.z"]);
    }
}
