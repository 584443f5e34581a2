//! A template's tree for tools that read templates instead of running them.
//!
//! In: a [`Tree`]. Out: [`Steps`], views of it in which every term has its span in the text. They are handles without
//! copies, so that walking a tree again costs no more than the first time. Text and comments are omitted.

use std::slice;
use std::sync::Arc;

use super::ast::{Branch as AstBranch, Expr, ExprKind, Id, Node, NodeList, Pipe, Tree, names};
use solar_diagnostics::source::Span;

/// The steps of a template, in order.
#[derive(Debug, Clone)]
pub struct Steps<'t> {
    tree: &'t Tree,
    nodes: slice::Iter<'t, Node>,
}

/// A step of a template.
#[derive(Debug, Clone)]
pub enum Step<'t> {
    /// `{{pipeline}}`: prints, declares or assigns.
    Action(Pipeline<'t>),
    /// `if`, `with` or `range`.
    Branch(ControlStep<'t>),
    /// `{{template "name" pipeline}}`
    Template {
        /// The template's name.
        name: &'t str,
        /// Its dot.
        argument: Option<Pipeline<'t>>,
    },
}

/// `if`, `with` or `range`, with both branches.
#[derive(Debug, Clone)]
pub struct ControlStep<'t> {
    /// The keyword.
    pub keyword: ControlKeyword,
    /// The condition.
    pub condition: Pipeline<'t>,
    /// The branch for a non-empty value.
    pub body: Steps<'t>,
    /// The branch for an empty value.
    pub otherwise: Steps<'t>,
}

/// The keyword of a [`ControlStep`].
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
#[derive(Debug, Clone, Copy)]
pub struct Pipeline<'t> {
    tree: &'t Tree,
    pipe: Pipe,
}

/// The words of a command: a function or value, and arguments; never empty.
#[derive(Debug, Clone)]
pub struct Words<'t> {
    tree: &'t Tree,
    words: slice::Iter<'t, Expr>,
}

/// One word of a command.
#[derive(Debug, Clone)]
pub struct Term<'t> {
    /// Its start: for a field access the first dot or dollar sign.
    pub span: Span,
    /// Its kind.
    pub kind: TermKind<'t>,
}

/// The kind of a [`Term`].
#[derive(Debug, Clone)]
pub enum TermKind<'t> {
    /// `.`
    Dot,
    /// `.a.b`
    Field(Fields<'t>),
    /// `$v.a.b`
    Variable {
        /// The name, with its dollar sign.
        name: &'t str,
        /// The fields after it.
        fields: Fields<'t>,
    },
    /// `(pipeline).a.b`
    Chain {
        /// The operand before the fields: one word.
        inner: Words<'t>,
        /// The fields after it.
        fields: Fields<'t>,
    },
    /// A function's name.
    Function(&'t str),
    /// `(pipeline)`
    Pipeline(Pipeline<'t>),
    /// A string constant that is text.
    Text(&'t str),
    /// A number as it is written.
    Number(&'t str),
    /// Another constant, or nil.
    Constant,
}

/// Fields as written: `.a.b`, or empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fields<'t>(&'t str);

impl<'t> Fields<'t> {
    /// Whether there are no fields.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'t str> {
        names(self.0)
    }
}

/// The steps of a template.
pub fn steps(tree: &Tree) -> Steps<'_> {
    list(tree, tree.root)
}

fn list(tree: &Tree, nodes: NodeList<Node>) -> Steps<'_> {
    let nodes = nodes.of(&tree.code.nodes).iter();
    Steps { tree, nodes }
}

impl<'t> Iterator for Steps<'t> {
    type Item = Step<'t>;

    fn next(&mut self) -> Option<Step<'t>> {
        let tree = self.tree;
        self.nodes.find_map(|node| step(tree, node))
    }
}

fn step<'t>(tree: &'t Tree, node: &Node) -> Option<Step<'t>> {
    match node {
        Node::Text(_) | Node::Break | Node::Continue => None,
        Node::Action(pipe) => Some(Step::Action(pipeline(tree, *pipe))),
        Node::If(id) => branch(tree, ControlKeyword::If, *id),
        Node::With(id) => branch(tree, ControlKeyword::With, *id),
        Node::Range(id) => branch(tree, ControlKeyword::Range, *id),
        Node::Template(id) => id.find(&tree.code.invocations).map(|invocation| Step::Template {
            name: &invocation.name,
            argument: invocation.pipe.map(|pipe| pipeline(tree, pipe)),
        }),
    }
}

fn branch(tree: &Tree, keyword: ControlKeyword, id: Id<AstBranch>) -> Option<Step<'_>> {
    let inner = id.find(&tree.code.branches)?;
    Some(Step::Branch(ControlStep {
        keyword,
        condition: pipeline(tree, inner.pipe),
        body: list(tree, inner.list),
        otherwise: list(tree, inner.otherwise.unwrap_or_default()),
    }))
}

fn pipeline(tree: &Tree, id: Id<Pipe>) -> Pipeline<'_> {
    let pipe = tree.code.pipe(id);
    Pipeline { tree, pipe }
}

impl<'t> Pipeline<'t> {
    /// The variables, with their dollar signs.
    pub fn variables(self) -> &'t [Arc<str>] {
        self.pipe.declared.of(&self.tree.code.names)
    }

    /// Whether the variables exist already (`=`) or are new (`:=`).
    pub fn assigns(self) -> bool {
        self.pipe.assigns
    }

    /// Its commands in order.
    pub fn commands(self) -> impl Iterator<Item = Words<'t>> {
        let Self { tree, pipe } = self;
        let commands = tree.code.commands(pipe);
        commands.map(move |words| Words {
            tree,
            words: words.iter(),
        })
    }
}

impl<'t> Iterator for Words<'t> {
    type Item = Term<'t>;

    fn next(&mut self) -> Option<Term<'t>> {
        self.words.next().map(|word| term(self.tree, word))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.words.size_hint()
    }
}

impl ExactSizeIterator for Words<'_> {}

fn term<'t>(tree: &'t Tree, expr: &Expr) -> Term<'t> {
    let code = &tree.code;
    let pos = expr.pos;
    let (start, end, kind) = match expr.kind {
        ExprKind::Dot => (pos, pos + 1, TermKind::Dot),
        ExprKind::Field(span) => {
            let fields = Fields(tree.written(span));
            (span.start, span.end, TermKind::Field(fields))
        }
        ExprKind::Variable { start, fields } => {
            let name = tree.written(Span {
                start,
                end: fields.start,
            });
            let kind = TermKind::Variable {
                name,
                fields: Fields(tree.written(fields)),
            };
            (start, fields.end, kind)
        }
        ExprKind::Chain { node, fields } => {
            let kind = match node.find(&code.words) {
                Some(node) => TermKind::Chain {
                    inner: Words {
                        tree,
                        words: slice::from_ref(node).iter(),
                    },
                    fields: Fields(tree.written(fields)),
                },
                None => TermKind::Constant,
            };
            (fields.start, fields.end, kind)
        }
        ExprKind::Function { end, .. } => {
            let name = tree.written(Span { start: pos, end });
            (pos, end, TermKind::Function(name))
        }
        ExprKind::Pipe(id) => (pos, pos + 1, TermKind::Pipeline(pipeline(tree, id))),
        ExprKind::Str { value, end } => {
            let text = value.find(&code.strings).and_then(|value| value.as_str());
            (pos, end, text.map_or(TermKind::Constant, TermKind::Text))
        }
        ExprKind::Number(id) => {
            let number = id.find(&code.numbers);
            let kind = number.map_or(TermKind::Constant, |number| TermKind::Number(&number.written));
            (pos, pos + 1, kind)
        }
        ExprKind::Bool(_) | ExprKind::Nil => (pos, pos + 1, TermKind::Constant),
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
        let mut todo: Vec<Step<'_>> = steps(trees.last().unwrap()).collect();
        todo.reverse();
        while let Some(step) = todo.pop() {
            let pipeline = match step {
                Step::Action(pipeline) => Some(pipeline),
                Step::Branch(branch) => {
                    let mut both: Vec<Step<'_>> = branch.body.chain(branch.otherwise).collect();
                    both.reverse();
                    todo.append(&mut both);
                    Some(branch.condition)
                }
                Step::Template { argument, .. } => argument,
            };
            for word in pipeline.into_iter().flat_map(Pipeline::commands).flatten() {
                out.push(source.slice(word.span).to_owned());
            }
        }
        out
    }

    #[test]
    fn a_term_has_its_span() {
        assert_eq!(
            terms(
                "{{ .a }}{{- $.b.c | print \"x\" }}{{ if .d.e.f }}{{ $ }}{{ else }}{{template \"t\" .g.h}}{{end}}"
            ),
            [".a", "$.b.c", "print", "\"x\"", ".d.e.f", "$", ".g.h"]
        );
        assert_eq!(terms("{{ (print .x).y.z }}"), [".y.z"]);
    }
}
