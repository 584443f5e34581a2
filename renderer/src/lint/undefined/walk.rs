//! Walks the templates' trees and tracks what is known about each value.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::Undefined;
use super::known::Known;
use crate::engine::Program;
use crate::funcs::traits::{NilUsage, usage};
use crate::source::{Location, Source, Span};
use crate::template::inspect::{
    self, ControlKeyword, ControlStep, Fields, Pipeline, Step, Steps, Term, TermKind, Words,
};

/// The maximum nesting of includes that the walk follows.
const MAX_DEPTH: usize = 48;
/// The maximum number of steps of a walk: recursive includes may never repeat a state.
const MAX_STEPS: usize = 4_000_000;
/// How often a template is walked with the same dot, each time with other guards.
const MAX_RUNS: usize = 8;

/// The keys below `.Values`; cheap to clone.
type Path<'w> = Rc<[&'w str]>;

/// What is known about a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Seen<'w> {
    /// The dot of a template file.
    Root,
    /// `.Values` and the keys below.
    Values(Path<'w>),
    /// The result of `dict`.
    Dict(BTreeMap<&'w str, Seen<'w>>),
    /// Anything.
    Unknown,
}

/// The use of a path whose key at `missing` is unknown.
#[derive(Debug, Clone)]
struct Gap<'w> {
    path: Path<'w>,
    missing: usize,
    location: Location,
}

/// A value, and whether it is missing.
struct Operand<'w> {
    value: Seen<'w>,
    gap: Option<Gap<'w>>,
    /// Its text, if it is a literal.
    literal: Option<&'w str>,
}

impl<'w> Operand<'w> {
    const fn unknown() -> Self {
        Self::of(Seen::Unknown)
    }

    const fn of(value: Seen<'w>) -> Self {
        Self {
            value,
            gap: None,
            literal: None,
        }
    }
}

/// The arguments of a call.
struct Arguments<'w> {
    all: Vec<Operand<'w>>,
    /// How many of them follow its name; a pipe may add one more.
    written: usize,
}

/// A template that is being walked.
struct Frame<'w> {
    source: &'w Arc<Source>,
    dot: Seen<'w>,
    /// `$`
    root: Seen<'w>,
    variables: Vec<(&'w str, Seen<'w>)>,
    /// Paths that surrounding conditions name.
    guards: Vec<Path<'w>>,
}

/// A template with the dot it was walked with, and whether for a condition.
type Visit<'w> = (&'w str, Seen<'w>, bool);

/// The results of the walk so far.
#[derive(Default)]
struct Memory<'w> {
    guards: Vec<BTreeSet<Path<'w>>>,
    mentions: Vec<Path<'w>>,
    fails: bool,
}

struct Walker<'w> {
    program: &'w Program,
    known: &'w Known<'w>,
    memory: BTreeMap<Visit<'w>, Memory<'w>>,
    /// Paths that `required`, `fail` or `set` handle.
    assumed: BTreeSet<Path<'w>>,
    /// Paths below which templates write.
    open: BTreeSet<Path<'w>>,
    /// The results of [`Walker::gap`] that may change with later findings: paths, and their missing keys.
    doubted: BTreeSet<(Path<'w>, usize)>,
    /// The paths that were mentioned since recording started.
    mentions: Vec<Path<'w>>,
    listeners: usize,
    conditions: usize,
    /// Whether `fail` was called.
    fails: bool,
    depth: usize,
    taken: usize,
    found: BTreeMap<(String, u32), Gap<'w>>,
}

/// The gaps in the root chart's templates.
pub(super) fn walk(program: &Program, known: &Known<'_>) -> Vec<Undefined> {
    let mut walker = Walker {
        program,
        known,
        memory: BTreeMap::new(),
        assumed: BTreeSet::new(),
        open: BTreeSet::new(),
        doubted: BTreeSet::new(),
        mentions: Vec::new(),
        listeners: 0,
        conditions: 0,
        fails: false,
        depth: 0,
        taken: 0,
        found: BTreeMap::new(),
    };
    walker.all_templates();
    // A check at the end also applies to the beginning: a second walk uses the results of the first.
    if walker.would_go_otherwise() {
        walker.all_templates();
    }
    let own = format!("{}/templates/", known.chart);
    let found = walker.found.into_values();
    found
        .filter(|gap| gap.location.source.name().starts_with(&own))
        .map(|gap| Undefined {
            path: gap.path.iter().copied().map(Arc::from).collect(),
            missing: gap.missing,
            is_fatal: gap.missing + 1 < gap.path.len(),
            location: gap.location,
            near: None,
        })
        .collect()
}

impl<'w> Walker<'w> {
    /// Walks the root chart's files.
    fn all_templates(&mut self) {
        self.memory.clear();
        self.found.clear();
        self.taken = 0;
        for name in self.program.own_templates() {
            self.call(name, Seen::Root, &[]);
        }
    }

    /// Whether another walk that starts with the current results would differ.
    fn would_go_otherwise(&self) -> bool {
        let mut doubted = self.doubted.iter();
        doubted.any(|(path, missing)| self.is_taken_care_of(path, *missing))
    }

    /// Walks a named template.
    fn call(&mut self, name: &str, dot: Seen<'w>, guards: &[Path<'w>]) {
        let program = self.program;
        let Some(tree) = program.template(name) else {
            return;
        };
        if dot == Seen::Unknown || self.depth >= MAX_DEPTH {
            return;
        }
        let visit = (&*tree.name, dot.clone(), self.conditions > 0);
        let around: BTreeSet<Path<'w>> = guards.iter().cloned().collect();
        let memory = self.memory.entry(visit.clone()).or_default();
        if memory.guards.len() >= MAX_RUNS || memory.guards.iter().any(|before| before.is_subset(&around)) {
            self.fails |= memory.fails;
            if self.listeners > 0 {
                self.mentions.extend_from_slice(&memory.mentions);
            }
            return;
        }
        memory.guards.push(around);
        let mut frame = Frame {
            source: &tree.source,
            root: dot.clone(),
            dot,
            variables: Vec::new(),
            guards: guards.to_vec(),
        };
        let failed = std::mem::take(&mut self.fails);
        let mark = self.mentions.len();
        self.depth += 1;
        self.listeners += 1;
        self.all(inspect::steps(tree), &mut frame);
        self.listeners -= 1;
        self.depth -= 1;
        if let Some(memory) = self.memory.get_mut(&visit) {
            memory.fails |= self.fails;
            memory.mentions = self.mentions.get(mark..).unwrap_or_default().to_vec();
        }
        self.fails |= failed;
        if self.listeners == 0 {
            self.mentions.clear();
        }
    }

    fn all(&mut self, steps: Steps<'w>, frame: &mut Frame<'w>) {
        let variables = frame.variables.len();
        for step in steps {
            self.taken += 1;
            if self.taken > MAX_STEPS {
                break;
            }
            match step {
                Step::Action(pipeline) => {
                    let operand = self.pipeline(pipeline, frame);
                    if pipeline.variables().is_empty() {
                        self.used(operand);
                    }
                }
                Step::Branch(branch) => self.branch(branch, frame),
                Step::Template { name, argument } => {
                    let dot = argument.map_or(Seen::Unknown, |argument| self.pipeline(argument, frame).value);
                    self.call(name, dot, &frame.guards);
                }
            }
        }
        frame.variables.truncate(variables);
    }

    fn branch(&mut self, branch: ControlStep<'w>, frame: &mut Frame<'w>) {
        let (variables, guards) = (frame.variables.len(), frame.guards.len());
        let mark = self.listen();
        self.conditions += 1;
        let operand = self.pipeline(branch.condition, frame);
        self.conditions -= 1;
        let named = self.heard(mark);
        frame.guards.extend(named.iter().cloned());
        let inner = match branch.keyword {
            ControlKeyword::If => frame.dot.clone(),
            ControlKeyword::With => operand.value,
            ControlKeyword::Range => {
                for (_, value) in frame.variables.iter_mut().skip(variables) {
                    *value = Seen::Unknown;
                }
                Seen::Unknown
            }
        };
        let failed = std::mem::take(&mut self.fails);
        let outer = std::mem::replace(&mut frame.dot, inner);
        self.all(branch.body, frame);
        frame.dot = outer;
        self.all(branch.otherwise, frame);
        if self.fails {
            self.assumed.extend(named);
        }
        self.fails |= failed;
        frame.variables.truncate(variables);
        frame.guards.truncate(guards);
    }

    fn listen(&mut self) -> usize {
        self.listeners += 1;
        self.mentions.len()
    }

    fn heard(&mut self, mark: usize) -> Vec<Path<'w>> {
        self.listeners -= 1;
        let named = self.mentions.get(mark..).unwrap_or_default().to_vec();
        if self.listeners == 0 {
            self.mentions.clear();
        }
        named
    }

    fn pipeline(&mut self, pipeline: Pipeline<'w>, frame: &mut Frame<'w>) -> Operand<'w> {
        let mut piped = None;
        for command in pipeline.commands() {
            piped = Some(self.command(command, piped, frame));
        }
        let operand = piped.unwrap_or(Operand::unknown());
        for name in pipeline.variables() {
            if pipeline.assigns() {
                // The order of assignments, and whether they happen, is unknown.
                for (known, value) in &mut frame.variables {
                    if **known == **name {
                        *value = Seen::Unknown;
                    }
                }
            } else {
                frame.variables.push((name, operand.value.clone()));
            }
        }
        operand
    }

    fn command(
        &mut self,
        mut words: Words<'w>,
        piped: Option<Operand<'w>>,
        frame: &mut Frame<'w>,
    ) -> Operand<'w> {
        let Some(first) = words.next() else {
            return Operand::unknown();
        };
        let TermKind::Function(name) = first.kind else {
            let operand = self.term(&first, frame);
            if words.len() == 0 {
                return operand;
            }
            for word in words {
                self.term(&word, frame);
            }
            return Operand::unknown();
        };
        if usage(name) == Some(NilUsage::ShortCircuits) {
            return self.one_after_another(words, frame);
        }
        let written = words.len();
        let mut all = Vec::with_capacity(written + 1);
        all.extend(words.map(|word| self.term(&word, frame)));
        all.extend(piped);
        self.function(name, Arguments { all, written }, frame)
    }

    /// `and` and `or` short-circuit: earlier operands guard later ones.
    fn one_after_another(&mut self, words: Words<'w>, frame: &mut Frame<'w>) -> Operand<'w> {
        let guards = frame.guards.len();
        for word in words {
            let mark = self.listen();
            self.term(&word, frame);
            let named = self.heard(mark);
            frame.guards.extend(named);
        }
        frame.guards.truncate(guards);
        Operand::unknown()
    }

    fn function(&mut self, name: &str, arguments: Arguments<'w>, frame: &mut Frame<'w>) -> Operand<'w> {
        let Arguments {
            all: mut args,
            written,
        } = arguments;
        match usage(name).unwrap_or(NilUsage::TakesNil) {
            NilUsage::Includes => {
                let template = args.first().filter(|_| written > 0).and_then(|one| one.literal);
                if let (Some(template), Some(dot)) = (template, args.pop()) {
                    self.call(template, dot.value, &frame.guards);
                }
                Operand::unknown()
            }
            NilUsage::MakesDict => Operand::of(dict(args)),
            NilUsage::Copies => args
                .pop()
                .map_or(Operand::unknown(), |one| Operand::of(one.value)),
            NilUsage::Fails => {
                self.fails = true;
                Operand::unknown()
            }
            lookup @ (NilUsage::Indexes | NilUsage::Gets | NilUsage::AsksForKey) => {
                self.member(lookup, Arguments { all: args, written }, frame)
            }
            NilUsage::Digs => {
                let keys = args.iter().take(args.len().saturating_sub(2));
                let keys: Option<Vec<&'w str>> = keys.map(|key| key.literal).collect();
                if let (Some(keys), Some(Seen::Values(base))) = (keys, args.pop().map(|one| one.value)) {
                    self.mention(&joined(&base, keys));
                }
                Operand::unknown()
            }
            NilUsage::Requires => {
                let Some(asked) = args.pop() else {
                    return Operand::unknown();
                };
                if let Seen::Values(path) = &asked.value {
                    self.assumed.insert(Rc::clone(path));
                }
                if let Some(gap) = asked.gap {
                    self.assumed.insert(gap.path);
                }
                Operand::of(asked.value)
            }
            NilUsage::Writes => {
                self.written(&args);
                Operand::unknown()
            }
            NilUsage::Uses => {
                for one in args {
                    self.used(one);
                }
                Operand::unknown()
            }
            NilUsage::TakesNil | NilUsage::ShortCircuits => Operand::unknown(),
        }
    }

    /// The value at a path of literal keys.
    fn member(&mut self, lookup: NilUsage, arguments: Arguments<'w>, frame: &Frame<'w>) -> Operand<'w> {
        let Arguments { all: args, written } = arguments;
        let keys = args.iter().take(written).skip(1);
        let keys: Option<Vec<&'w str>> = keys.map(|key| key.literal).collect();
        let Some(base) = args.into_iter().next() else {
            return Operand::unknown();
        };
        let keys = keys.filter(|keys| !keys.is_empty());
        let path = match (base.value, keys) {
            (Seen::Values(path), Some(keys)) => joined(&path, keys),
            (Seen::Root, Some(keys)) if keys.first() == Some(&"Values") => keys.into_iter().skip(1).collect(),
            _ => return Operand::unknown(),
        };
        self.mention(&path);
        if lookup == NilUsage::Indexes && base.gap.is_some() {
            self.used(Operand {
                gap: base.gap,
                ..Operand::unknown()
            });
            return Operand::unknown();
        }
        if lookup == NilUsage::AsksForKey || self.gap(&path, Span::default(), frame).is_some() {
            return Operand::unknown();
        }
        Operand::of(Seen::Values(path))
    }

    fn written(&mut self, args: &[Operand<'w>]) {
        match args.first().map(|one| &one.value) {
            Some(Seen::Values(path)) => match (args.len(), args.get(1).and_then(|key| key.literal)) {
                (3, Some(key)) => {
                    self.assumed.insert(joined(path, [key]));
                }
                _ => {
                    self.open.insert(Rc::clone(path));
                }
            },
            Some(Seen::Root) => {
                self.open.insert(Rc::default());
            }
            _ => {}
        }
    }

    fn term(&mut self, term: &Term<'w>, frame: &mut Frame<'w>) -> Operand<'w> {
        match term.kind {
            TermKind::Text(text) => Operand {
                literal: Some(text),
                ..Operand::unknown()
            },
            TermKind::Number(_) | TermKind::Constant => Operand::unknown(),
            TermKind::Function(name) => {
                let none = Arguments {
                    all: Vec::new(),
                    written: 0,
                };
                self.function(name, none, frame)
            }
            TermKind::Pipeline(inner) => Operand {
                literal: None,
                ..self.pipeline(inner, frame)
            },
            TermKind::Dot => self.access(frame.dot.clone(), Fields::default(), term.span, frame),
            TermKind::Field(fields) => self.access(frame.dot.clone(), fields, term.span, frame),
            TermKind::Variable { name, fields } => {
                let value = if name == "$" {
                    frame.root.clone()
                } else {
                    let found = frame.variables.iter().rev().find(|(known, _)| *known == name);
                    found.map_or(Seen::Unknown, |(_, value)| value.clone())
                };
                self.access(value, fields, term.span, frame)
            }
            TermKind::Chain { ref inner, fields } => {
                let inner = inner.clone().next();
                let base = inner.map_or(Operand::unknown(), |inner| self.term(&inner, frame));
                self.access(base.value, fields, term.span, frame)
            }
        }
    }

    fn access(&mut self, base: Seen<'w>, fields: Fields<'w>, span: Span, frame: &Frame<'w>) -> Operand<'w> {
        let mut base = base;
        let mut fields = fields.names().peekable();
        while let (Seen::Dict(map), Some(first)) = (&base, fields.peek()) {
            base = map.get(first).cloned().unwrap_or(Seen::Unknown);
            fields.next();
        }
        let path: Path<'w> = match (&base, fields.peek()) {
            (_, None) => match base {
                Seen::Values(path) => path,
                other => return Operand::of(other),
            },
            (Seen::Root, Some(&"Values")) => fields.skip(1).collect(),
            (Seen::Values(path), Some(_)) => {
                // A missing value that is passed on is not reported again.
                if self.gap(path, span, frame).is_some() {
                    return Operand::unknown();
                }
                joined(path, fields)
            }
            _ => return Operand::unknown(),
        };
        self.mention(&path);
        let gap = self.gap(&path, span, frame);
        match gap {
            Some(gap) if gap.missing + 1 < path.len() => {
                self.tell(gap);
                Operand::unknown()
            }
            gap => Operand {
                gap,
                ..Operand::of(Seen::Values(path))
            },
        }
    }

    /// Whether a path is neither known nor guarded.
    fn gap(&mut self, path: &Path<'w>, span: Span, frame: &Frame<'w>) -> Option<Gap<'w>> {
        let missing = self.known.missing(path)?;
        let head = path.get(..=missing)?;
        let guarded = frame.guards.iter().any(|guard| guard.starts_with(head));
        if guarded || self.is_taken_care_of(path, missing) {
            return None;
        }
        self.doubted.insert((Rc::clone(path), missing));
        Some(Gap {
            path: Rc::clone(path),
            missing,
            location: Location::new(frame.source, span),
        })
    }

    /// Whether a template makes sure that a path has a value.
    fn is_taken_care_of(&self, path: &Path<'w>, missing: usize) -> bool {
        let head = path.get(..=missing).unwrap_or_default();
        self.assumed.iter().any(|guard| guard.starts_with(head))
            || self.open.iter().any(|guard| path.starts_with(guard))
    }

    fn mention(&mut self, path: &Path<'w>) {
        if self.listeners > 0 && !path.is_empty() {
            self.mentions.push(Rc::clone(path));
        }
    }

    /// Records that a value is printed or formatted; in a condition that is only a check.
    fn used(&mut self, operand: Operand<'w>) {
        if let Some(gap) = operand.gap
            && self.conditions == 0
        {
            self.tell(gap);
        }
    }

    fn tell(&mut self, gap: Gap<'w>) {
        let place = (gap.location.source.name().to_owned(), gap.location.span.start);
        self.found.entry(place).or_insert(gap);
    }
}

fn joined<'w>(base: &[&'w str], keys: impl IntoIterator<Item = &'w str>) -> Path<'w> {
    base.iter().copied().chain(keys).collect()
}

fn dict(args: Vec<Operand<'_>>) -> Seen<'_> {
    let mut map = BTreeMap::new();
    let mut args = args.into_iter();
    while let (Some(key), Some(value)) = (args.next(), args.next()) {
        let Some(key) = key.literal else {
            return Seen::Unknown;
        };
        map.insert(key, value.value);
    }
    Seen::Dict(map)
}
