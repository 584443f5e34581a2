//! Walks the templates' trees, and marks the values that they read.
//!
//! What templates write into maps may be read before it is written (in an include that is walked earlier), so the walk is
//! repeated until nothing new is written. What it marks only grows.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use super::calls::UNTYPED;
use super::chart_tree::ChartTree;
use super::heap::{Atom, Entries, Heap, Holder, Path, Site, Value, only};
use super::read_tree::{ANY, ReadTree};
use crate::source::Source;
use crate::template::Tree;
use crate::template::inspect::{
    self, ControlKeyword, ControlStep, Fields, Pipeline, Step, Steps, Term, TermKind, Words,
};

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

    fn branch(&mut self, branch: &ControlStep<'w>, frame: &mut Frame<'w>) {
        let variables = frame.variables.len();
        let value = self.pipeline(branch.condition, frame);
        frame.uncertain += 1;
        match branch.keyword {
            ControlKeyword::If => {
                declare(branch.condition, &value, frame);
                self.all(branch.body.clone(), frame);
            }
            ControlKeyword::With => {
                declare(branch.condition, &value, frame);
                let outer = std::mem::replace(&mut frame.dot, value);
                self.all(branch.body.clone(), frame);
                frame.dot = outer;
            }
            ControlKeyword::Range => self.range(branch, &value, frame),
        }
        self.all(branch.otherwise.clone(), frame);
        frame.uncertain -= 1;
        frame.variables.truncate(variables);
    }

    fn range(&mut self, branch: &ControlStep<'w>, value: &Value<'w>, frame: &mut Frame<'w>) {
        let is_split = |atom: &&Atom<'w>| matches!(atom, Atom::Segments(_) | Atom::UnknownSegments);
        let (split, others): (Vec<_>, Vec<_>) = value.iter().partition(is_split);
        if !split.is_empty() {
            self.segments_of(branch, &split, frame);
        }
        if !others.is_empty() || split.is_empty() {
            let others = others.into_iter().cloned().collect();
            let (keys, item) = (self.keys_of(&others), self.items(&others));
            self.turns(branch, &keys, &item, frame);
        }
    }

    /// Walks a body for any number of items.
    fn turns(&mut self, branch: &ControlStep<'w>, keys: &Value<'w>, item: &Value<'w>, frame: &mut Frame<'w>) {
        for _ in 0..MAX_TURNS {
            let before = frame.variables.clone();
            self.turn(branch, keys, item, frame);
            if frame.variables == before {
                return;
            }
        }
        // What still changes may be anything below.
        let before = frame.variables.clone();
        self.turn(branch, keys, item, frame);
        let after = frame.variables.clone();
        for (now, known) in after.iter().zip(&before) {
            let added: Value<'w> = now.value.difference(&known.value).cloned().collect();
            self.consume(&added);
        }
    }

    fn turn(&mut self, branch: &ControlStep<'w>, keys: &Value<'w>, item: &Value<'w>, frame: &mut Frame<'w>) {
        let variables = frame.variables.len();
        let declared: Vec<&'w str> = branch.condition.variables().iter().map(|name| &**name).collect();
        let of_turn = match declared.as_slice() {
            [] => Vec::new(),
            [one] => vec![(*one, item.clone())],
            [key, one, ..] => vec![(*key, keys.clone()), (*one, item.clone())],
        };
        if branch.condition.assigns() {
            of_turn
                .iter()
                .for_each(|(name, value)| assign(name, value, frame));
        } else {
            of_turn
                .into_iter()
                .for_each(|(name, value)| frame.add(name, value));
        }
        let outer = std::mem::replace(&mut frame.dot, item.clone());
        self.all(branch.body.clone(), frame);
        frame.dot = outer;
        frame.variables.truncate(variables);
    }

    /// Walks a body for the segments of texts, in their order: so charts follow a path that is a text.
    fn segments_of(&mut self, branch: &ControlStep<'w>, split: &[&Atom<'w>], frame: &mut Frame<'w>) {
        let charts = self.charts;
        let before = frame.variables.clone();
        let mut after = before.clone();
        for atom in split {
            let is_guess = matches!(atom, Atom::UnknownSegments);
            let texts: Vec<&'w str> = match atom {
                Atom::Segments(text) => vec![text],
                _ => charts.key_paths.iter().map(String::as_str).collect(),
            };
            self.guesses += usize::from(is_guess);
            // The body is walked as often as it is run.
            frame.uncertain -= 1;
            for text in texts {
                frame.variables.clone_from(&before);
                for segment in text.split(super::calls::SEPARATOR) {
                    let item = only(Atom::Text(segment));
                    self.turn(branch, &only(Atom::Other), &item, frame);
                }
                // What a guess led to is marked by itself, and not carried further.
                if is_guess {
                    let changed = frame
                        .variables
                        .iter()
                        .zip(&before)
                        .filter(|(after, before)| after != before);
                    changed.for_each(|(after, _)| self.consume_values(&after.value));
                    continue;
                }
                for (known, now) in after.iter_mut().zip(&frame.variables) {
                    known.value.extend(now.value.iter().cloned());
                }
            }
            frame.uncertain += 1;
            self.guesses -= usize::from(is_guess);
        }
        frame.variables = after;
    }

    /// Marks values as read, and nothing else that they may be.
    fn consume_values(&mut self, value: &Value<'w>) {
        for atom in value {
            if let Atom::Values(path) = atom
                && !path.is_empty()
                && !self.is_chart(path)
            {
                self.read_whole(path);
            }
        }
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

    fn fields(&mut self, value: Value<'w>, fields: Fields<'w>) -> Value<'w> {
        fields
            .names()
            .fold(value, |value, name| self.entry(&value, Some(name)))
    }

    /// The entry of a map with a key, or with any.
    pub(super) fn entry(&mut self, value: &Value<'w>, key: Option<&'w str>) -> Value<'w> {
        let (mut out, mut done) = (Value::new(), BTreeSet::new());
        for atom in value {
            self.entry_of(atom, key, &mut out, &mut done);
        }
        out
    }

    fn entry_of(
        &mut self,
        atom: &Atom<'w>,
        key: Option<&'w str>,
        out: &mut Value<'w>,
        done: &mut BTreeSet<Atom<'w>>,
    ) {
        if !done.insert(atom.clone()) {
            return;
        }
        let charts = self.charts;
        let holder = match atom {
            Atom::Root(index) => {
                let prefix = charts.units.get(*index).map(|unit| keys(&unit.prefix));
                match key {
                    Some("Values") => out.extend(prefix.map(Atom::Values)),
                    Some("Subcharts") => {
                        out.insert(Atom::Subcharts(*index));
                    }
                    Some(_) => {
                        out.insert(Atom::Other);
                    }
                    None => out.extend(prefix.map(Atom::Values).into_iter().chain([Atom::Other])),
                }
                Holder::Root(*index)
            }
            Atom::Subcharts(index) => {
                let children = charts.units.get(*index).map_or(&[][..], |unit| &unit.children);
                let named = children
                    .iter()
                    .filter(|(name, _)| key.is_none_or(|key| key == name));
                out.extend(named.map(|(_, child)| Atom::Root(*child)));
                return;
            }
            Atom::Values(path) => {
                self.value_entry(path, key, out);
                Holder::Values(Rc::clone(path))
            }
            Atom::Made(site) => Holder::Made(*site),
            Atom::Text(_) | Atom::Ending(_) | Atom::Segments(_) | Atom::UnknownSegments | Atom::Other => {
                out.insert(Atom::Other);
                return;
            }
        };
        let mut merged = Value::new();
        for Entries {
            named,
            unnamed,
            merged: maps,
        } in self.heap.entries_of(&holder)
        {
            let found = named
                .iter()
                .filter(|(name, _)| key.is_none_or(|key| key == **name));
            out.extend(found.flat_map(|(_, value)| value.iter().cloned()));
            out.extend(unnamed.iter().cloned());
            merged.extend(maps.iter().cloned());
        }
        for map in &merged {
            self.entry_of(map, key, out, done);
        }
    }

    fn value_entry(&mut self, path: &Path<'w>, key: Option<&'w str>, out: &mut Value<'w>) {
        let is_of_chart = |key| METHODS.contains(&key) && self.is_chart(path);
        if key.is_some_and(is_of_chart) || path.len() >= MAX_KEYS {
            self.read_whole(path);
            out.insert(Atom::Other);
            return;
        }
        let below: Path<'w> = path.iter().copied().chain([key.unwrap_or(ANY)]).collect();
        self.touch(&below);
        out.insert(Atom::Values(below));
    }

    fn is_chart(&self, path: &Path<'w>) -> bool {
        let mut units = self.charts.units.iter();
        units.any(|unit| unit.prefix.iter().map(String::as_str).eq(path.iter().copied()))
    }

    /// The items of a list, or the entries of a map.
    pub(super) fn items(&mut self, value: &Value<'w>) -> Value<'w> {
        self.entry(value, None)
    }

    /// The keys of a map, as far as templates name them.
    pub(super) fn keys_of(&self, value: &Value<'w>) -> Value<'w> {
        let mut out = Value::new();
        for atom in value {
            match atom {
                Atom::Made(site) => {
                    for entries in self.heap.entries_of(&Holder::Made(*site)) {
                        out.extend(entries.named.keys().copied().map(Atom::Text));
                        if !entries.unnamed.is_empty() || !entries.merged.is_empty() {
                            out.insert(Atom::Other);
                        }
                    }
                }
                _ => {
                    out.insert(Atom::Other);
                }
            }
        }
        out
    }

    /// Marks a value as read with all that is in it.
    pub(super) fn consume(&mut self, value: &Value<'w>) {
        let mut done = BTreeSet::new();
        self.consume_all(value, false, &mut done);
    }

    /// As [`Walker::consume`], but not the dots of charts.
    pub(super) fn consume_but_roots(&mut self, value: &Value<'w>, done: &mut BTreeSet<Atom<'w>>) {
        self.consume_all(value, true, done);
    }

    fn consume_all(&mut self, value: &Value<'w>, but_roots: bool, done: &mut BTreeSet<Atom<'w>>) {
        for atom in value {
            if !done.insert(atom.clone()) {
                continue;
            }
            let charts = self.charts;
            let inner: Vec<Entries<'w>> = match atom {
                Atom::Root(_) | Atom::Subcharts(_) if but_roots => continue,
                Atom::Root(index) | Atom::Subcharts(index) => {
                    if let Some(unit) = charts.units.get(*index) {
                        self.read_whole(&keys(&unit.prefix));
                    }
                    let written = self.heap.entries_of(&Holder::Root(*index));
                    written.into_iter().cloned().collect()
                }
                Atom::Values(path) => {
                    self.read_whole(path);
                    self.heap.entries_below(path).into_iter().cloned().collect()
                }
                Atom::Made(site) => self
                    .heap
                    .entries_of(&Holder::Made(*site))
                    .into_iter()
                    .cloned()
                    .collect(),
                _ => continue,
            };
            for Entries {
                named,
                unnamed,
                merged,
            } in inner
            {
                for value in named.values().chain([&unnamed, &merged]) {
                    self.consume_all(value, but_roots, done);
                }
            }
        }
    }

    /// Marks values as formatted as YAML or JSON, or asked for their type.
    pub(super) fn is_untyped(&mut self, value: &Value<'w>) {
        for atom in value {
            if let Atom::Values(path) = atom {
                self.untyped.mark(path);
            }
        }
    }

    fn marked(&mut self) -> &mut ReadTree {
        match self.guesses {
            0 => &mut self.tree,
            _ => &mut self.guessed,
        }
    }

    fn touch(&mut self, path: &Path<'w>) {
        for path in self.charts.global_aliases(path) {
            self.marked().touch(&path);
        }
    }

    fn read_whole(&mut self, path: &Path<'w>) {
        for path in self.charts.global_aliases(path) {
            self.marked().read_whole(&path);
        }
        // A chart's values include the globals of those above.
        let charts = self.charts;
        for unit in &charts.units {
            let is_below = unit.prefix.len() >= path.len()
                && unit
                    .prefix
                    .iter()
                    .map(String::as_str)
                    .zip(path.iter().copied())
                    .all(|(one, other)| one == other || other == ANY);
            if is_below && !unit.prefix.is_empty() {
                let globals: Vec<&str> = unit
                    .prefix
                    .iter()
                    .map(String::as_str)
                    .chain([super::GLOBAL])
                    .collect();
                for path in charts.global_aliases(&globals) {
                    self.marked().read_whole(&path);
                }
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
