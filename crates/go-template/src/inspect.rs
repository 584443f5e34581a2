//! A template's tree for tools that read templates instead of running them.
//!
//! In: a [`Tree`]. Out: [`Step`]s, a plain copy of it in which every term knows where it
//! stands in the text. Text and comments are left out.

use std::sync::Arc;

use super::ast::{Branch as AstBranch, Expr, ExprKind, Id, Node, NodeList, Pipe, Tree, names};
use solar_diagnostics::source::Span;

/// What a template does, one after the other.
#[derive(Debug, Clone)]
pub enum Step {
    /// `{{pipeline}}`: prints, declares or assigns.
    Action(Pipeline),
    /// `if`, `with` or `range`.
    Branch(ControlStep),
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
pub struct ControlStep {
    /// Which of them.
    pub keyword: ControlKeyword,
    /// What decides.
    pub condition: Pipeline,
    /// The way when there is something.
    pub body: Vec<Step>,
    /// The way when there is nothing.
    pub otherwise: Vec<Step>,
}

/// What a [`ControlStep`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlKeyword {
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
    list(tree, tree.root)
}

fn list(tree: &Tree, nodes: NodeList<Node>) -> Vec<Step> {
    let nodes = nodes.of(&tree.code.nodes).iter();
    nodes.filter_map(|node| step(tree, node)).collect()
}

fn step(tree: &Tree, node: &Node) -> Option<Step> {
    match node {
        Node::Text(_) | Node::Break | Node::Continue => None,
        Node::Action(pipe) => Some(Step::Action(pipeline(tree, *pipe))),
        Node::If(id) => branch(tree, ControlKeyword::If, *id),
        Node::With(id) => branch(tree, ControlKeyword::With, *id),
        Node::Range(id) => branch(tree, ControlKeyword::Range, *id),
        Node::Template(id) => id.find(&tree.code.invocations).map(|invocation| Step::Template {
            name: Arc::clone(&invocation.name),
            argument: invocation.pipe.map(|pipe| pipeline(tree, pipe)),
        }),
    }
}

fn branch(tree: &Tree, keyword: ControlKeyword, id: Id<AstBranch>) -> Option<Step> {
    let inner = id.find(&tree.code.branches)?;
    Some(Step::Branch(ControlStep {
        keyword,
        condition: pipeline(tree, inner.pipe),
        body: list(tree, inner.list),
        otherwise: inner
            .otherwise
            .map(|otherwise| list(tree, otherwise))
            .unwrap_or_default(),
    }))
}

fn pipeline(tree: &Tree, id: Id<Pipe>) -> Pipeline {
    let pipe = tree.code.pipe(id);
    let words = |command: &[Expr]| command.iter().map(|word| term(tree, word)).collect();
    Pipeline {
        variables: pipe.declared.of(&tree.code.names).to_vec(),
        assigns: pipe.assigns,
        commands: tree.code.commands(pipe).map(words).collect(),
    }
}

fn to_names(fields: &str) -> Vec<Arc<str>> {
    names(fields).map(Arc::from).collect()
}

fn term(tree: &Tree, expr: &Expr) -> Term {
    let code = &tree.code;
    let pos = expr.pos;
    let (start, end, kind) = match expr.kind {
        ExprKind::Dot => (pos, pos + 1, TermKind::Dot),
        ExprKind::Field(span) => {
            let fields = to_names(tree.written(span));
            (span.start, span.end, TermKind::Field(fields))
        }
        ExprKind::Variable { start, fields } => {
            let name = tree.written(Span {
                start,
                end: fields.start,
            });
            let kind = TermKind::Variable {
                name: Arc::from(name),
                fields: to_names(tree.written(fields)),
            };
            (start, fields.end, kind)
        }
        ExprKind::Chain { node, fields } => {
            let kind = match node.find(&code.words) {
                Some(node) => TermKind::Chain {
                    inner: Box::new(term(tree, node)),
                    fields: to_names(tree.written(fields)),
                },
                None => TermKind::Constant,
            };
            (fields.start, fields.end, kind)
        }
        ExprKind::Function { end, .. } => {
            let name = tree.written(Span { start: pos, end });
            (pos, end, TermKind::Function(Arc::from(name)))
        }
        ExprKind::Pipe(id) => (pos, pos + 1, TermKind::Pipeline(pipeline(tree, id))),
        ExprKind::Str { value, end } => {
            let value = value.find(&code.strings);
            let text = value.map(|value| value.to_text().into_owned());
            (pos, end, TermKind::Text(text.unwrap_or_default()))
        }
        ExprKind::Bool(_) | ExprKind::Nil | ExprKind::Number(_) => (pos, pos + 1, TermKind::Constant),
    };
    Term {
        span: Span { start, end },
        kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Functions;
    use solar_diagnostics::source::Source;

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
