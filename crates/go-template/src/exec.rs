//! Executes nodes: text, conditions, loops, templates.

use std::sync::Arc;

use super::ast::{Branch, Expr, Id, Invocation, Node, NodeKind, NodeList, NodePosition, Pipe, Tree};
use super::error::{Detail, Error};
use super::limits::{MAX_CALL_DEPTH, MAX_TEXT_BYTES};
use super::memory;
use super::print::{display, quote, sprint};
use super::run::{Run, Slot, Stop, Variable};
use super::value::{Kind, Val};
use solar_diagnostics::source::{Location, Span};

/// Results with a boxed error, which is large and rare.
pub(super) type Ran<T> = Result<T, Box<Error>>;

/// How a loop continues after its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    Break,
    Continue,
}

/// A running template: its variables are on the run's stack from `base` on.
pub(super) struct Frame<'r, 's, C: 'static> {
    pub(super) run: &'r mut Run<'s, C>,
    pub(super) tree: &'r Tree,
    /// The current node, for errors.
    pub(super) at: NodePosition,
    base: usize,
}

impl<'r, 's, C: 'static> Frame<'r, 's, C> {
    /// Runs a template and appends to the run's output.
    pub(super) fn run(run: &'r mut Run<'s, C>, tree: &'r Arc<Tree>, dot: Slot) -> Ran<()> {
        let base = run.variables.len();
        run.depth += 1;
        let mut frame = Frame {
            run,
            tree,
            at: NodePosition::default(),
            base,
        };
        let ran = if frame.run.depth > MAX_CALL_DEPTH {
            let message = format!("templates call each other more than {MAX_CALL_DEPTH} deep");
            Err(frame.error(message).limit())
        } else {
            let name = Arc::clone(&frame.run.dollar);
            let value = dot.clone();
            frame.run.variables.push(Variable { name, value });
            frame.list(tree.root, &dot).map(|_| ())
        };
        let Frame { run, .. } = frame;
        run.variables.truncate(base);
        run.depth -= 1;
        ran
    }

    pub(super) fn error(&self, message: impl Into<String>) -> Box<Error> {
        Error::new(self.tree, self.at, message)
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Ran<T> {
        Err(self.error(message))
    }

    #[inline]
    pub(super) fn step(&mut self) -> Ran<()> {
        self.steps(1)
    }

    /// Counts several steps at once.
    #[inline]
    pub(super) fn steps(&mut self, count: u64) -> Ran<()> {
        self.run.step(count).map_err(|stop| self.stopped(stop))
    }

    #[cold]
    fn stopped(&self, stop: Stop) -> Box<Error> {
        match stop {
            Stop::Steps => {
                let message = format!("the rendering takes more than {} steps", self.run.allowed);
                self.error(message).limit()
            }
            Stop::Watch(words) => {
                let mut error = self.error(words);
                error.detail = Detail::Time;
                error
            }
        }
    }

    /// Ends the run if its values take too much memory.
    #[inline]
    pub(super) fn check_memory(&self) -> Ran<()> {
        if memory::is_exceeded() {
            return Err(self.out_of_memory());
        }
        Ok(())
    }

    #[cold]
    fn out_of_memory(&self) -> Box<Error> {
        let message = format!("the values take more than {} bytes of memory", memory::allowed());
        let mut error = self.error(message);
        error.detail = Detail::Memory;
        error
    }

    /// The innermost variable with a name.
    fn variable(&mut self, name: &str) -> Option<&mut Slot> {
        let own = self.run.variables.get_mut(self.base..)?;
        own.iter_mut()
            .rev()
            .find(|one| *one.name == *name)
            .map(|one| &mut one.value)
    }

    /// The value of the variable whose name is at this range of the text.
    pub(super) fn read(&mut self, start: u32, end: u32) -> Ran<Slot> {
        let name = self.tree.written(Span { start, end });
        match self.variable(name).cloned() {
            Some(slot) => Ok(slot),
            None => self.fail(format!("undefined variable: {name}")),
        }
    }

    fn list(&mut self, nodes: NodeList<Node>, dot: &Slot) -> Ran<Flow> {
        for node in nodes.of(&self.tree.code.nodes) {
            let flow = self.node(node, dot)?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn node(&mut self, node: &Node, dot: &Slot) -> Ran<Flow> {
        let code = &self.tree.code;
        self.at = code.place(node);
        self.step()?;
        match *node {
            Node::Text(span) => {
                self.mark_text(span);
                let range = span.start as usize..span.end as usize;
                self.run.out.extend_from_slice(&self.tree.source.bytes(range));
                self.check_output()?;
                Ok(Flow::On)
            }
            Node::Action(id) => {
                let at = self.at;
                let value = self.pipeline(id, dot)?;
                if code.pipe(id).declared.is_empty() {
                    self.at = at;
                    self.mark_action();
                    display(&value, &mut self.run.out);
                    self.check_output()?;
                }
                Ok(Flow::On)
            }
            Node::If(id) => self.condition(id, dot, false),
            Node::With(id) => self.condition(id, dot, true),
            Node::Range(id) => match id.find(&code.branches) {
                Some(branch) => self.range(branch, dot),
                None => Ok(Flow::On),
            },
            Node::Template(id) => match id.find(&code.invocations) {
                Some(invocation) => self.invoke(invocation, dot).map(|()| Flow::On),
                None => Ok(Flow::On),
            },
            Node::Break => Ok(Flow::Break),
            Node::Continue => Ok(Flow::Continue),
        }
    }

    /// If the run is traced, records that a text of the template is printed next.
    fn mark_text(&mut self, span: Span) {
        if let Some(origins) = &mut self.run.origins {
            let location = Location::new(&self.tree.source, span);
            origins.mark(self.run.out.len(), location, true);
        }
    }

    /// If the run is traced, records that a value is printed next.
    fn mark_action(&mut self) {
        if self.run.origins.is_none() {
            return;
        }
        let location = self.error("").location;
        if let Some(origins) = &mut self.run.origins {
            origins.mark(self.run.out.len(), location, false);
        }
    }

    fn check_output(&self) -> Ran<()> {
        if self.run.printed() <= MAX_TEXT_BYTES {
            if !memory::fits(self.run.out.len()) {
                return Err(self.out_of_memory());
            }
            return Ok(());
        }
        let message = format!("the output has more than {MAX_TEXT_BYTES} bytes");
        Err(self.error(message).limit())
    }

    fn condition(&mut self, id: Id<Branch>, dot: &Slot, with: bool) -> Ran<Flow> {
        let Some(branch) = id.find(&self.tree.code.branches) else {
            return Ok(Flow::On);
        };
        let mark = self.run.variables.len();
        let value = self.pipeline(branch.pipe, dot)?;
        let flow = if value.truth() {
            if with {
                self.list(branch.list, &Slot::plain(value))
            } else {
                self.list(branch.list, dot)
            }
        } else if let Some(otherwise) = branch.otherwise {
            self.list(otherwise, dot)
        } else {
            Ok(Flow::On)
        };
        self.run.variables.truncate(mark);
        flow
    }

    fn range(&mut self, branch: &'r Branch, dot: &Slot) -> Ran<Flow> {
        let outer = self.run.variables.len();
        let value = self.pipeline(branch.pipe, dot)?;
        let mark = self.run.variables.len();
        let flow = match self.each(branch, &value, mark) {
            Ok(true) => Ok(Flow::On),
            Ok(false) => match branch.otherwise {
                // In Go the loop is still active in its `else`: a break there ends it, a continue applies to the outer
                // loop.
                Some(otherwise) => match self.list(otherwise, dot) {
                    Ok(Flow::Break) => Ok(Flow::On),
                    flow => flow,
                },
                None => Ok(Flow::On),
            },
            Err(error) => Err(error),
        };
        self.run.variables.truncate(outer);
        flow
    }

    /// Runs the body for each item; returns whether there was one.
    fn each(&mut self, branch: &'r Branch, value: &Val, mark: usize) -> Ran<bool> {
        match value {
            Val::Nil | Val::Null => Ok(false),
            Val::Int(count, kind) => {
                self.refuse_two_variables(branch, value)?;
                let numbers = (0..*count).map(|number| (Val::Nil, Slot::plain(Val::Int(number, *kind))));
                self.items(branch, numbers, mark)
            }
            Val::Uint(count, kind) => {
                self.refuse_two_variables(branch, value)?;
                let numbers = (0..*count).map(|number| (Val::Nil, Slot::plain(Val::Uint(number, *kind))));
                self.items(branch, numbers, mark)
            }
            Val::List(list) => {
                let boxed = matches!(list.kind(), super::ListType::Any);
                let items = list.iter().cloned().map(|item| slot(item, boxed));
                self.items(branch, numbered(items), mark)
            }
            Val::Bytes(bytes) => {
                let byte = |byte: &u8| Slot::plain(Val::Uint(u64::from(*byte), super::UintType::Uint8));
                self.items(branch, numbered(bytes.iter().map(byte)), mark)
            }
            Val::Map(map) => {
                let boxed = !map.holds_strings();
                let entries = map.entries().into_iter();
                let items = entries.map(|(key, item)| (Val::str(key), slot(item, boxed)));
                self.items(branch, items, mark)
            }
            Val::Object(object) if object.kind() == Kind::Map => {
                let fields = object.fields().into_iter();
                self.items(
                    branch,
                    fields.map(|(key, item)| (Val::str(key), Slot::plain(item))),
                    mark,
                )
            }
            Val::Object(object) if object.kind() == Kind::Slice => {
                let fields = object.fields().into_iter();
                self.items(branch, numbered(fields.map(|(_, item)| Slot::plain(item))), mark)
            }
            other => self.fail(format!("range can't iterate over {}", pointed(other))),
        }
    }

    fn items(
        &mut self,
        branch: &'r Branch,
        items: impl Iterator<Item = (Val, Slot)>,
        mark: usize,
    ) -> Ran<bool> {
        let mut any = false;
        for (index, item) in items {
            any = true;
            if self.iteration(branch, index, item, mark)? == Flow::Break {
                break;
            }
        }
        Ok(any)
    }

    fn refuse_two_variables(&self, branch: &Branch, value: &Val) -> Ran<()> {
        if self.tree.code.pipe(branch.pipe).declared.len() < 2 {
            return Ok(());
        }
        self.fail(format!(
            "can't use {} to iterate over more than one variable",
            sprint(value)
        ))
    }

    fn iteration(&mut self, branch: &'r Branch, index: Val, item: Slot, mark: usize) -> Ran<Flow> {
        self.step()?;
        let pipe = self.tree.code.pipe(branch.pipe);
        match pipe.declared.of(&self.tree.code.names) {
            [] => {}
            [one] => self.set_loop_variable(pipe, one, 1, item.clone())?,
            [first, second, ..] => {
                self.set_loop_variable(pipe, first, 2, Slot::plain(index))?;
                self.set_loop_variable(pipe, second, 1, item.clone())?;
            }
        }
        let flow = self.list(branch.list, &item);
        self.run.variables.truncate(mark);
        flow
    }

    /// Assigns the variable by name, or the one declared at the top of the stack.
    fn set_loop_variable(&mut self, pipe: Pipe, name: &str, from_top: usize, value: Slot) -> Ran<()> {
        if pipe.assigns {
            return self.assign(name, value);
        }
        let index = self.run.variables.len().checked_sub(from_top);
        if let Some(declared) = index.and_then(|index| self.run.variables.get_mut(index)) {
            declared.value = value;
        }
        Ok(())
    }

    /// The parser accepts any assignment, as Go's does: only now it is checked whether the variable exists.
    fn assign(&mut self, name: &str, value: Slot) -> Ran<()> {
        match self.variable(name) {
            Some(slot) => {
                *slot = value;
                Ok(())
            }
            None => self.fail(format!("undefined variable: {name}")),
        }
    }

    fn invoke(&mut self, invocation: &'r Invocation, dot: &Slot) -> Ran<()> {
        let Some(tree) = self.run.find(&invocation.name) else {
            let mut error = self.error(format!("template {} not defined", quote(&invocation.name)));
            error.detail = Detail::NoTemplate(invocation.name.to_string());
            return Err(error);
        };
        if self.run.depth >= MAX_CALL_DEPTH {
            let message = format!("exceeded maximum template depth ({MAX_CALL_DEPTH})");
            return Err(self.error(message).limit());
        }
        let dot = match invocation.pipe {
            Some(pipe) => Slot::plain(self.pipeline(pipe, dot)?),
            None => Slot::default(),
        };
        // In Go the error only names the inner template: it is the same execution.
        Frame::run(self.run, &tree, dot)
    }

    /// A pipeline's value; its variables are in scope until the surrounding list ends.
    pub(super) fn pipeline(&mut self, id: Id<Pipe>, dot: &Slot) -> Ran<Val> {
        let code = &self.tree.code;
        let pipe = code.pipe(id);
        self.at = NodePosition {
            pos: pipe.pos,
            kind: NodeKind::Pipe,
        };
        let mut value: Option<Val> = None;
        for command in code.commands(pipe) {
            let result = self.command(command, dot, value.take())?;
            // A nil in an interface{} becomes no value once a command has returned it.
            value = Some(if let Val::Null = result { Val::Nil } else { result });
        }
        let value = value.unwrap_or_default();
        for name in pipe.declared.of(&code.names) {
            let value = Slot::plain(value.clone());
            if pipe.assigns {
                self.assign(name, value)?;
            } else {
                let name = Arc::clone(name);
                self.run.variables.push(Variable { name, value });
            }
        }
        Ok(value)
    }

    fn command(&mut self, command: &'r [Expr], dot: &Slot, last: Option<Val>) -> Ran<Val> {
        self.step()?;
        self.evaluate_command(command, dot, last)
    }
}

/// How Go prints a value behind a pointer.
fn pointed(value: &Val) -> String {
    let shown = sprint(value).to_string();
    match (value.kind(), shown.strip_prefix('&')) {
        (Kind::Ptr, Some(rest)) => rest.to_owned(),
        _ => shown,
    }
}

fn slot(item: Val, boxed: bool) -> Slot {
    if boxed {
        Slot::item(item)
    } else {
        Slot::plain(item)
    }
}

fn numbered(items: impl Iterator<Item = Slot>) -> impl Iterator<Item = (Val, Slot)> {
    items.enumerate().map(|(index, item)| (Val::count(index), item))
}
