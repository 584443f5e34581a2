//! Nodes as Go's error messages quote them.

use super::ast::{Branch, Code};
use super::ast::{Expr, ExprKind, Id, Invocation, Node, NodeKind, NodeList, NodePosition, Pipe, Tree};
use super::print::quote;
use solar_diagnostics::source::Span;

impl Tree {
    /// The node at a position.
    pub(super) fn quote(&self, place: NodePosition) -> Option<String> {
        let code = &self.code;
        let mut out = String::new();
        match place.kind {
            NodeKind::None => return None,
            NodeKind::Pipe => {
                let pipe = code.pipes.iter().find(|pipe| pipe.pos == place.pos)?;
                self.pipe(*pipe, &mut out);
            }
            NodeKind::Command => {
                let mut commands = code.pipes.iter().flat_map(|pipe| code.commands(*pipe));
                let here = |command: &&[Expr]| {
                    let first = command.first();
                    first.is_some_and(|word| word.pos == place.pos && is_function(word))
                };
                self.command(commands.find(here)?, &mut out);
            }
            NodeKind::Expr => {
                let here = |word: &&Expr| word.pos == place.pos && !matches!(word.kind, ExprKind::Pipe(_));
                self.word(code.words.iter().find(here)?, &mut out);
            }
            _ => {
                let node = code.nodes.iter().find(|node| code.place(node) == place)?;
                self.node(node, &mut out);
            }
        }
        Some(out)
    }

    /// One word.
    pub(super) fn quoted(&self, word: &Expr) -> String {
        let mut out = String::new();
        self.word(word, &mut out);
        out
    }

    fn node(&self, node: &Node, out: &mut String) {
        match node {
            Node::If(id) => self.branch("if", *id, out),
            Node::With(id) => self.branch("with", *id, out),
            Node::Range(id) => self.branch("range", *id, out),
            Node::Text(span) => out.push_str(self.written(*span)),
            Node::Action(id) => {
                out.push_str("{{");
                self.pipe(self.code.pipe(*id), out);
                out.push_str("}}");
            }
            Node::Template(id) => self.invocation(*id, out),
            Node::Break => out.push_str("{{break}}"),
            Node::Continue => out.push_str("{{continue}}"),
        }
    }

    fn invocation(&self, id: Id<Invocation>, out: &mut String) {
        let Some(invocation) = id.find(&self.code.invocations) else {
            return;
        };
        out.push_str("{{template ");
        out.push_str(&quote(&invocation.name));
        if let Some(pipe) = invocation.pipe {
            out.push(' ');
            self.pipe(self.code.pipe(pipe), out);
        }
        out.push_str("}}");
    }

    fn branch(&self, keyword: &str, id: Id<Branch>, out: &mut String) {
        let Some(branch) = id.find(&self.code.branches) else {
            return;
        };
        out.push_str("{{");
        out.push_str(keyword);
        out.push(' ');
        self.pipe(self.code.pipe(branch.pipe), out);
        out.push_str("}}");
        self.list(branch.list, out);
        if let Some(otherwise) = branch.otherwise {
            out.push_str("{{else}}");
            self.list(otherwise, out);
        }
        out.push_str("{{end}}");
    }

    fn list(&self, list: NodeList<Node>, out: &mut String) {
        for node in list.of(&self.code.nodes) {
            self.node(node, out);
        }
    }

    fn pipe(&self, pipe: Pipe, out: &mut String) {
        let Code { names, .. } = &*self.code;
        let declared = pipe.declared.of(names);
        out.push_str(&declared.join(", "));
        if !declared.is_empty() {
            out.push_str(if pipe.assigns { " = " } else { " := " });
        }
        for (index, command) in self.code.commands(pipe).enumerate() {
            if index > 0 {
                out.push_str(" | ");
            }
            self.command(command, out);
        }
    }

    fn command(&self, words: &[Expr], out: &mut String) {
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            self.inner(word, out);
        }
    }

    /// A nested word: a pipe is in parentheses.
    fn inner(&self, word: &Expr, out: &mut String) {
        let piped = matches!(word.kind, ExprKind::Pipe(_));
        if piped {
            out.push('(');
        }
        self.word(word, out);
        if piped {
            out.push(')');
        }
    }

    fn word(&self, word: &Expr, out: &mut String) {
        let from = |start: u32, end: u32| self.written(Span { start, end });
        match word.kind {
            ExprKind::Bool(value) => out.push_str(if value { "true" } else { "false" }),
            ExprKind::Dot => out.push('.'),
            ExprKind::Nil => out.push_str("nil"),
            ExprKind::Number(id) => {
                let number = id.find(&self.code.numbers);
                out.push_str(number.map_or("", |number| &number.written));
            }
            ExprKind::Str { end, .. } | ExprKind::Function { end, .. } => out.push_str(from(word.pos, end)),
            ExprKind::Field(span) => out.push_str(self.written(span)),
            ExprKind::Variable { start, fields } => out.push_str(from(start, fields.end)),
            ExprKind::Chain { node, fields } => {
                if let Some(node) = node.find(&self.code.words) {
                    self.inner(node, out);
                }
                out.push_str(self.written(fields));
            }
            ExprKind::Pipe(id) => self.pipe(self.code.pipe(id), out),
        }
    }
}

fn is_function(word: &Expr) -> bool {
    matches!(word.kind, ExprKind::Function { .. })
}
