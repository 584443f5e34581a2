//! Walks the templates' trees, and marks the values that they read.
//!
//! What templates write into maps may be read before it is written (in an include that is walked earlier), so the walk is
//! repeated until nothing new is written. What it marks only grows.

mod control;
mod marks;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::calls::UNTYPED;
use super::chart_tree::ChartTree;
use super::heap::{Atom, Heap, Holder, Path, Site, Value, only};
use super::read_tree::ReadTree;
use crate::source::Source;
use crate::template::Tree;
use crate::template::inspect::{self, Pipeline, Step, Steps, Term, TermKind, Words};

/// The maximum nesting of includes that the walk follows; what is included deeper reads its whole dot.
pub(super) const MAX_DEPTH: usize = 100;
/// The maximum number of steps of all rounds together; after that everything counts as read.
pub(super) const MAX_STEPS: usize = 8_000_000;
/// How often the templates are walked; if something new is written even then, everything counts as read.
pub(super) const MAX_ROUNDS: usize = 40;
/// How often the body of a `range` is walked in a row, while its variables change.
pub(super) const MAX_TURNS: usize = 6;
/// The maximum number of keys of a path: recursive includes may ask for ever deeper ones.
pub(super) const MAX_KEYS: usize = 24;
/// The methods of `.Values`, which return all of it or a path that is computed.
const METHODS: [&str; 4] = ["AsMap", "YAML", "Table", "PathValue"];

/// A template that is being walked.
pub(super) struct Frame<'w> {
    source: &'w Arc<Source>,
    dot: Value<'w>,
    /// `$`
    root: Value<'w>,
    variables: Variables<'w>,
    /// In how many bodies it is that may be skipped or repeated.
    uncertain: usize,
}

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable<'w> {
    name: &'w str,
    value: Value<'w>,
    /// `uncertain` of the frame where it was declared.
    level: usize,
}

type Variables<'w> = Vec<Variable<'w>>;

/// A template, by its address, its dot, and whether that is a guess.
type Visit<'w> = (usize, Value<'w>, bool);

pub(super) struct Walker<'w> {
    pub(super) charts: &'w ChartTree,
    pub(super) heap: Heap<'w>,
    tree: ReadTree,
    /// What is read if a text that is computed is one of the constants.
    guessed: ReadTree,
    guesses: usize,
    /// What is formatted as YAML or JSON, or asked for its type.
    untyped: ReadTree,
    /// What was walked in this round.
    visited: BTreeSet<Visit<'w>>,
    depth: usize,
    steps: usize,
    max_steps: usize,
}

/// The values that the charts' templates read.
///
/// The second tree has those that are read if a key that is computed is one of the constants in the templates and values,
/// the third those that are formatted as YAML or JSON, or asked for their type.
pub(super) fn walk(charts: &ChartTree, max_steps: usize) -> [ReadTree; 3] {
    let mut walker = Walker {
        charts,
        heap: Heap::default(),
        tree: ReadTree::default(),
        guessed: ReadTree::default(),
        guesses: 0,
        untyped: ReadTree::default(),
        visited: BTreeSet::new(),
        depth: 0,
        steps: 0,
        max_steps,
    };
    walker.declared();
    for _ in 0..MAX_ROUNDS {
        walker.heap.has_grown = false;
        walker.round();
        if !walker.heap.has_grown && walker.steps <= max_steps {
            return [walker.tree, walker.guessed, walker.untyped];
        }
    }
    walker.tree.read_whole(&[]);
    [walker.tree, walker.guessed, walker.untyped]
}

fn keys(path: &[String]) -> Path<'_> {
    path.iter().map(String::as_str).collect()
}

impl<'w> Walker<'w> {
    /// What is read outside of templates.
    fn declared(&mut self) {
        let charts = self.charts;
        for unit in &charts.units {
            self.touch(&keys(&unit.prefix));
        }
        for path in &charts.touched {
            self.touch(&keys(path));
        }
        for path in &charts.whole {
            self.read_whole(&keys(path));
        }
        for (seen, own) in &charts.imports {
            let imported = only(Atom::Values(keys(own)));
            self.heap.merge(Holder::Values(keys(seen)), &imported);
        }
    }

    fn round(&mut self) {
        self.visited.clear();
        let charts = self.charts;
        for (index, unit) in charts.units.iter().enumerate() {
            for name in &unit.entries {
                self.call(name, &only(Atom::Root(index)));
            }
        }
    }

    /// Walks all definitions of a template.
    pub(super) fn call(&mut self, name: &str, dot: &Value<'w>) {
        let charts = self.charts;
        match charts.templates.get(name) {
            Some(trees) => trees.iter().for_each(|tree| self.template(tree, dot)),
            // It is in a chart that is missing, or never included.
            None if charts.is_complete => {
                let mut done = BTreeSet::new();
                self.consume_but_roots(dot, &mut done);
            }
            None => self.consume(dot),
        }
    }

    /// Walks every template that includes may name: their maps count as read, since any template may ask for any key.
    pub(super) fn call_any(&mut self, dot: &Value<'w>) {
        let mut done = BTreeSet::new();
        self.consume_but_roots(dot, &mut done);
        let charts = self.charts;
        for tree in charts.templates.values().flatten() {
            self.template(tree, dot);
        }
    }

    /// Walks the templates whose names end like this: those of the dot's own chart, if it has some.
    pub(super) fn call_ending(&mut self, ending: &str, dot: &Value<'w>) {
        let charts = self.charts;
        let all: Vec<&'w Arc<str>> = charts
            .templates
            .keys()
            .filter(|name| name.ends_with(ending))
            .collect();
        let is_own = |name: &&&Arc<str>| {
            dot.iter().any(|atom| match atom {
                Atom::Root(index) => charts.units.get(*index).is_some_and(|unit| unit.has_file(name)),
                _ => false,
            })
        };
        let own: Vec<&'w Arc<str>> = all.iter().filter(is_own).copied().collect();
        if all.is_empty() {
            self.call_any(dot);
            return;
        }
        let names = if own.is_empty() { all } else { own };
        for name in names {
            self.call(name, dot);
        }
    }

    /// Walks the texts that `tpl` may run.
    pub(super) fn texts(&mut self, with_files: bool, dot: &Value<'w>) {
        let charts = self.charts;
        let files = charts.file_texts.iter().filter(|_| with_files);
        for tree in charts.texts.iter().chain(files) {
            self.template(tree, dot);
        }
    }

    fn template(&mut self, tree: &'w Arc<Tree>, dot: &Value<'w>) {
        if self.depth >= MAX_DEPTH {
            self.consume(dot);
            return;
        }
        if !self
            .visited
            .insert((Arc::as_ptr(tree).addr(), dot.clone(), self.guesses > 0))
        {
            return;
        }
        let mut frame = Frame {
            source: &tree.source,
            root: dot.clone(),
            dot: dot.clone(),
            variables: Vec::new(),
            uncertain: 0,
        };
        self.depth += 1;
        self.all(inspect::steps(tree), &mut frame);
        self.depth -= 1;
    }

    fn all(&mut self, steps: Steps<'w>, frame: &mut Frame<'w>) {
        let variables = frame.variables.len();
        for step in steps {
            self.steps += 1;
            if self.steps > self.max_steps {
                break;
            }
            match step {
                Step::Action(pipeline) => {
                    let value = self.pipeline(pipeline, frame);
                    if pipeline.variables().is_empty() {
                        self.consume(&value);
                    } else {
                        declare(pipeline, &value, frame);
                    }
                }
                Step::Branch(branch) => self.branch(&branch, frame),
                Step::Template { name, argument } => {
                    let dot = argument.map_or_else(Value::new, |argument| self.pipeline(argument, frame));
                    self.call(name, &dot);
                }
            }
        }
        frame.variables.truncate(variables);
    }

    pub(super) fn pipeline(&mut self, pipeline: Pipeline<'w>, frame: &mut Frame<'w>) -> Value<'w> {
        let mut piped = None;
        for command in pipeline.commands() {
            piped = Some(self.command(command, piped, frame));
        }
        piped.unwrap_or_default()
    }

    fn command(
        &mut self,
        mut words: Words<'w>,
        piped: Option<Value<'w>>,
        frame: &mut Frame<'w>,
    ) -> Value<'w> {
        let Some(first) = words.next() else {
            return Value::new();
        };
        let mut args: Vec<Value<'w>> = Vec::with_capacity(words.len() + 1);
        let TermKind::Function(name) = first.kind else {
            let value = self.term(&first, frame);
            if words.len() == 0 && piped.is_none() {
                return value;
            }
            // A method's call.
            args.extend(words.map(|word| self.term(&word, frame)));
            args.into_iter()
                .chain(piped)
                .chain([value])
                .for_each(|one| self.consume(&one));
            return only(Atom::Other);
        };
        args.extend(words.map(|word| self.term(&word, frame)));
        args.extend(piped);
        if UNTYPED.contains(&name) {
            args.iter().for_each(|one| self.is_untyped(one));
        }
        self.function(name, args, site(frame, &first))
    }

    fn term(&mut self, term: &Term<'w>, frame: &mut Frame<'w>) -> Value<'w> {
        match term.kind {
            TermKind::Text(text) | TermKind::Number(text) => only(Atom::Text(text)),
            TermKind::Constant => Value::new(),
            TermKind::Function(name) => self.function(name, Vec::new(), site(frame, term)),
            TermKind::Pipeline(inner) => self.pipeline(inner, frame),
            TermKind::Dot => frame.dot.clone(),
            TermKind::Field(fields) => self.fields(frame.dot.clone(), fields),
            TermKind::Variable { name, fields } => {
                let value = match name {
                    "$" => frame.root.clone(),
                    name => {
                        let found = frame.variables.iter().rev().find(|known| known.name == name);
                        found.map_or_else(Value::new, |known| known.value.clone())
                    }
                };
                self.fields(value, fields)
            }
            TermKind::Chain { ref inner, fields } => {
                let inner = inner.clone().next();
                let value = inner.map_or_else(Value::new, |inner| self.term(&inner, frame));
                self.fields(value, fields)
            }
        }
    }
}

impl<'w> Frame<'w> {
    fn add(&mut self, name: &'w str, value: Value<'w>) {
        let level = self.uncertain;
        self.variables.push(Variable { name, value, level });
    }
}

fn declare<'w>(pipeline: Pipeline<'w>, value: &Value<'w>, frame: &mut Frame<'w>) {
    for name in pipeline.variables() {
        if pipeline.assigns() {
            assign(name, value, frame);
        } else {
            frame.add(name, value.clone());
        }
    }
}

/// Where it is unknown whether an assignment happens, a variable may have all values that it is given.
fn assign<'w>(name: &str, value: &Value<'w>, frame: &mut Frame<'w>) {
    let level = frame.uncertain;
    if let Some(known) = frame.variables.iter_mut().rev().find(|known| known.name == name) {
        if known.level == level {
            known.value.clone_from(value);
        } else {
            known.value.extend(value.iter().cloned());
        }
    }
}

fn site(frame: &Frame<'_>, term: &Term<'_>) -> Site {
    Site {
        source: Arc::as_ptr(frame.source).addr(),
        offset: term.span.start,
    }
}
