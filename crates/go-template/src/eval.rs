//! Evaluates expressions: fields, variables, constants, and commands by their first word.

use std::sync::Arc;

use super::ast::{Expr, ExprKind, Id, NodeKind, NodePosition, Number, names};
use super::builtins::missing_item;
use super::error::Detail;
use super::exec::{Frame, Ran};
use super::run::Slot;
use super::signature::FuncError;
use super::value::{Kind, MapType, Object, Val};
use solar_diagnostics::source::Span;

/// The arguments of a command for its method or function.
pub(super) struct Arguments<'r> {
    /// The words after the first one.
    pub(super) words: &'r [Expr],
    /// The result of the previous command in the pipeline.
    pub(super) last: Option<Val>,
}

impl Arguments<'_> {
    pub(super) const NONE: Arguments<'static> = Arguments {
        words: &[],
        last: None,
    };

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.last.is_none()
    }
}

impl<'r, C: 'static> Frame<'r, '_, C> {
    pub(super) fn at_expr(&mut self, expr: &Expr) {
        self.at = NodePosition {
            pos: expr.pos,
            kind: NodeKind::Expr,
        };
    }

    pub(super) fn evaluate_command(
        &mut self,
        command: &'r [Expr],
        dot: &Slot,
        last: Option<Val>,
    ) -> Ran<Val> {
        let [first, words @ ..] = command else {
            return self.fail("empty command");
        };
        let arguments = Arguments { words, last };
        match first.kind {
            ExprKind::Field(fields) => {
                self.at_expr(first);
                self.chain(dot, dot.clone(), fields, arguments)
                    .map_err(|error| with_names(error, &dot.value))
            }
            ExprKind::Chain { node, fields } => self.chain_on(first, node, fields, dot, arguments),
            ExprKind::Function { id, end } => {
                self.at_expr(first);
                let place = NodePosition {
                    pos: first.pos,
                    kind: NodeKind::Command,
                };
                self.call(id, self.function_name(first, end), place, arguments, dot)
            }
            ExprKind::Pipe(pipe) => {
                self.refuse_arguments(first, &arguments)?;
                self.pipeline(pipe, dot)
            }
            ExprKind::Variable { start, fields } => {
                self.at_expr(first);
                let slot = self.read(start, fields.start)?;
                if fields.is_empty() {
                    self.refuse_arguments(first, &arguments)?;
                    return Ok(slot.value);
                }
                self.chain(dot, slot, fields, arguments).map_err(|error| {
                    match self.read(start, fields.start) {
                        Ok(slot) => with_names(error, &slot.value),
                        Err(_) => error,
                    }
                })
            }
            constant => {
                self.at_expr(first);
                self.refuse_arguments(first, &arguments)?;
                match constant {
                    ExprKind::Nil => self.fail("nil is not a command"),
                    _ => self.constant(first, dot),
                }
            }
        }
    }

    /// The function name of a word.
    pub(super) fn function_name(&self, word: &Expr, end: u32) -> &'r str {
        let start = word.pos;
        self.tree.written(Span { start, end })
    }

    fn refuse_arguments(&self, first: &Expr, arguments: &Arguments<'_>) -> Ran<()> {
        if arguments.is_empty() {
            return Ok(());
        }
        let first = self.tree.quoted(first);
        self.fail(format!("can't give argument to non-function {first}"))
    }

    /// `.` and literals, where any type is allowed.
    pub(super) fn constant(&mut self, expr: &Expr, dot: &Slot) -> Ran<Val> {
        let code = &self.tree.code;
        match expr.kind {
            ExprKind::Bool(value) => return Ok(Val::Bool(value)),
            ExprKind::Dot => return Ok(dot.value.clone()),
            ExprKind::Str { value, .. } => {
                if let Some(value) = value.find(&code.strings) {
                    return Ok(Val::Str(value.clone()));
                }
            }
            ExprKind::Number(number) => {
                if let Some(number) = number.find(&code.numbers) {
                    return self.number(number);
                }
            }
            _ => {}
        }
        self.fail(format!("can't evaluate command {:?}", self.tree.quoted(expr)))
    }

    /// A constant with the type that its syntax implies.
    fn number(&self, number: &Number) -> Ran<Val> {
        if let Some((re, im)) = number.complex {
            return Ok(Val::Complex(re, im));
        }
        let written = &number.written;
        let hex = written.len() > 2
            && (written.starts_with("0x") || written.starts_with("0X"))
            && !written.contains(['p', 'P']);
        let rune = written.starts_with('\'');
        match (number.float, number.int) {
            (Some(value), _) if !hex && !rune && written.contains(['.', 'e', 'E', 'p', 'P']) => {
                Ok(Val::Float(value))
            }
            (_, Some(value)) => Ok(Val::int(value)),
            _ => self.fail(format!("{written} overflows int")),
        }
    }

    pub(super) fn chain_on(
        &mut self,
        expr: &'r Expr,
        node: Id<Expr>,
        fields: Span,
        dot: &Slot,
        arguments: Arguments<'r>,
    ) -> Ran<Val> {
        self.at_expr(expr);
        let Some(node) = node.find(&self.tree.code.words) else {
            return self.fail("empty command");
        };
        let value = match node.kind {
            ExprKind::Nil => {
                let expr = self.tree.quoted(expr);
                return self.fail(format!("indirection through explicit nil in {expr}"));
            }
            ExprKind::Pipe(pipe) => self.pipeline(pipe, dot)?,
            ExprKind::Function { id, end } => {
                self.at_expr(node);
                let place = self.at;
                self.call(id, self.function_name(node, end), place, Arguments::NONE, dot)?
            }
            _ => self.constant(node, dot)?,
        };
        let boxed = matches!(value, Val::Null);
        let place = NodePosition {
            pos: expr.pos,
            kind: NodeKind::Expr,
        };
        self.chain_at(dot, Slot { value, boxed }, fields, arguments, place)
    }

    /// `.a.b.c` on a receiver; only the last name can be a method with arguments.
    pub(super) fn chain(
        &mut self,
        dot: &Slot,
        receiver: Slot,
        fields: Span,
        arguments: Arguments<'r>,
    ) -> Ran<Val> {
        let place = self.at;
        self.chain_at(dot, receiver, fields, arguments, place)
    }

    /// As [`Frame::chain`]; `place` is the position for errors of a method.
    fn chain_at(
        &mut self,
        dot: &Slot,
        mut receiver: Slot,
        fields: Span,
        arguments: Arguments<'r>,
        place: NodePosition,
    ) -> Ran<Val> {
        let mut arguments = Some(arguments);
        let fields = self.tree.written(fields);
        let mut names = names(fields).enumerate().peekable();
        while let Some((index, name)) = names.next() {
            let last = names.peek().is_none();
            let arguments = arguments.take_if(|_| last).unwrap_or(Arguments::NONE);
            receiver = self
                .field(dot, receiver, name, arguments, place)
                .map_err(|error| self.nil_path(error, fields, index))?;
        }
        Ok(receiver.value)
    }

    /// Adds to a nil pointer's error how much of the path exists.
    fn nil_path(&self, mut error: Box<super::Error>, fields: &str, index: usize) -> Box<super::Error> {
        if let Detail::NilField { path, known, .. } = &mut error.detail
            && path.is_empty()
        {
            *path = names(fields).take(index + 1).map(Arc::from).collect();
            *known = index.saturating_sub(1);
        }
        error
    }

    fn field(
        &mut self,
        dot: &Slot,
        receiver: Slot,
        name: &str,
        arguments: Arguments<'r>,
        place: NodePosition,
    ) -> Ran<Slot> {
        let Slot { value, boxed } = receiver;
        match &value {
            Val::Nil => Ok(Slot::default()),
            Val::Null => {
                let mut error = self.error(format!("nil pointer evaluating interface {{}}.{name}"));
                error.detail = Detail::NilField {
                    path: Vec::new(),
                    known: 0,
                    beside: None,
                };
                Err(error)
            }
            Val::Map(map) => {
                if let MapType::Named(type_name) = map.kind()
                    && let Some(method) = self.run.functions.map_method(type_name, name)
                {
                    let args = self.arguments(method.params, false, name, arguments, dot)?;
                    return self.called(name, (method.call)(map, &args), place);
                }
                if !arguments.is_empty() {
                    return self.fail(format!("{name} is not a method but has arguments"));
                }
                let typed = map.holds_strings();
                let value = match map.get(name) {
                    Some(item) if item.is_nil() => Val::Null,
                    Some(item) => item,
                    None => missing_item(map),
                };
                Ok(Slot { value, boxed: !typed })
            }
            Val::Object(object) => {
                let object = std::rc::Rc::clone(object);
                self.object_field(dot, &*object, name, arguments, place, boxed)
            }
            other => {
                let kind = if boxed { "interface {}" } else { other.type_name() };
                self.fail(format!("can't evaluate field {name} in type {kind}"))
            }
        }
    }

    fn object_field(
        &mut self,
        dot: &Slot,
        object: &dyn Object,
        name: &str,
        arguments: Arguments<'r>,
        place: NodePosition,
        boxed: bool,
    ) -> Ran<Slot> {
        if let Some(method) = object.methods().iter().find(|method| method.name == name) {
            let args = self.arguments(method.params, method.variadic, name, arguments, dot)?;
            return self.called(name, object.call(method.name, &args), place);
        }
        let is_map = object.kind() == Kind::Map;
        match object.field(name) {
            Some(_) if !arguments.is_empty() => self.fail(if is_map {
                format!("{name} is not a method but has arguments")
            } else {
                format!("{name} has arguments but cannot be invoked as function")
            }),
            Some(value) => Ok(Slot::plain(value)),
            None if is_map => Ok(Slot::default()),
            None => {
                let kind = if boxed { "interface {}" } else { object.type_name() };
                let mut error = self.error(format!("can't evaluate field {name} in type {kind}"));
                error.detail = Detail::NoField {
                    name: name.to_owned(),
                    known: object
                        .fields()
                        .into_iter()
                        .map(|(name, _)| name.to_string())
                        .collect(),
                };
                Err(error)
            }
        }
    }

    /// Handles a method's result; `place` is the position for its error.
    fn called(&mut self, name: &str, result: Result<Val, FuncError>, place: NodePosition) -> Ran<Slot> {
        match result {
            Ok(value) => Ok(Slot::plain(value)),
            Err(fault) => {
                self.at = place;
                let mut error = self.error(format!("error calling {name}: {}", fault.message));
                error.by_function = true;
                Err(error)
            }
        }
    }
}

/// Adds to a nil pointer's error the existing names where the path from `start` ends.
fn with_names(mut error: Box<super::Error>, start: &Val) -> Box<super::Error> {
    let Detail::NilField { path, known, beside } = &mut error.detail else {
        return error;
    };
    if beside.is_some() {
        return error;
    }
    let end = path
        .iter()
        .take(*known)
        .try_fold(start.clone(), |value, name| match value {
            Val::Map(map) => map.get(name),
            Val::Object(object) => object.field(name),
            _ => None,
        });
    let names = match end {
        Some(Val::Map(map)) => map
            .entries()
            .into_iter()
            .map(|(name, _)| Arc::from(&*name))
            .collect(),
        _ => Vec::new(),
    };
    *beside = Some(names);
    error
}
