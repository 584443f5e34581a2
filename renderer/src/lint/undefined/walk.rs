//! The walk over the templates' trees, with what is known of each value on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::known::Known;
use crate::engine::Program;
use crate::funcs::traits::{NilUsage, usage};
use crate::source::{Location, Source, Span};
use crate::template::inspect::{self, ControlKeyword, ControlStep, Pipeline, Step, Term, TermKind};

/// How deep templates may include each other before the walk turns back.
const MAX_DEPTH: usize = 48;
/// How many steps a walk may take: some include others without end in ever new ways.
const MAX_STEPS: usize = 4_000_000;
/// How often one template is walked with one dot, each time with other guards around it.
const MAX_RUNS: usize = 8;

type Path = Vec<Arc<str>>;

/// What is known of a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// What a template file gets as its dot.
    Root,
    /// `.Values` and the keys below.
    Values(Path),
    /// What `dict` made.
    Dict(BTreeMap<Arc<str>, Seen>),
    /// Anything.
    Unknown,
}

/// A path whose key at `missing` is not known, where it is used.
#[derive(Debug, Clone)]
pub(super) struct Gap {
    pub(super) path: Path,
    pub(super) missing: usize,
    pub(super) location: Location,
}

/// A value on its way, and whether it is one that is not there.
struct Operand {
    value: Seen,
    gap: Option<Gap>,
}

impl Operand {
    const fn unknown() -> Self {
        Self {
            value: Seen::Unknown,
            gap: None,
        }
    }

    const fn of(value: Seen) -> Self {
        Self { value, gap: None }
    }
}

/// A template that is being walked.
struct Frame {
    source: Arc<Source>,
    dot: Seen,
    /// `$`
    root: Seen,
    variables: Vec<(Arc<str>, Seen)>,
    /// Paths that conditions around the place name.
    guards: Vec<Path>,
}

/// A template with the dot it was walked with, and whether for a condition.
type Visit = (Arc<str>, Seen, bool);

/// What is remembered of a template that was walked.
#[derive(Default)]
struct Memory {
    guards: Vec<BTreeSet<Path>>,
    mentions: Vec<Path>,
    fails: bool,
}

struct Walker<'w> {
    program: &'w Program,
    known: &'w Known<'w>,
    steps: BTreeMap<Arc<str>, Rc<Vec<Step>>>,
    memory: BTreeMap<Visit, Memory>,
    /// Paths that `required`, `fail` or `set` see to.
    assumed: BTreeSet<Path>,
    /// Paths below which templates write.
    open: BTreeSet<Path>,
    /// What was named since somebody began to listen.
    mentions: Vec<Path>,
    listeners: usize,
    conditions: usize,
    /// Whether `fail` was met.
    fails: bool,
    depth: usize,
    taken: usize,
    found: BTreeMap<(String, u32), Gap>,
}

/// The gaps in the root chart's templates.
pub(super) fn walk(program: &Program, known: &Known<'_>) -> Vec<Gap> {
    let mut walker = Walker {
        program,
        known,
        steps: BTreeMap::new(),
        memory: BTreeMap::new(),
        assumed: BTreeSet::new(),
        open: BTreeSet::new(),
        mentions: Vec::new(),
        listeners: 0,
        conditions: 0,
        fails: false,
        depth: 0,
        taken: 0,
        found: BTreeMap::new(),
    };
    // What is asked for at the end holds for the beginning, too: the first walk only learns.
    for _ in 0..2 {
        walker.memory.clear();
        walker.found.clear();
        walker.taken = 0;
        for name in program.own_templates() {
            walker.call(&name, Seen::Root, &[]);
        }
    }
    let own = format!("{}/templates/", known.chart);
    let found = walker.found.into_values();
    found
        .filter(|gap| gap.location.source.name().starts_with(&own))
        .collect()
}

impl Walker<'_> {
    /// Walks a named template.
    fn call(&mut self, name: &Arc<str>, dot: Seen, guards: &[Path]) {
        let program = self.program;
        let Some(tree) = program.template(name) else {
            return;
        };
        if dot == Seen::Unknown || self.depth >= MAX_DEPTH {
            return;
        }
        let visit = (Arc::clone(name), dot.clone(), self.conditions > 0);
        let around: BTreeSet<Path> = guards.iter().cloned().collect();
        let memory = self.memory.entry(visit.clone()).or_default();
        if memory.guards.len() >= MAX_RUNS || memory.guards.iter().any(|before| before.is_subset(&around)) {
            self.fails |= memory.fails;
            if self.listeners > 0 {
                self.mentions.extend_from_slice(&memory.mentions);
            }
            return;
        }
        memory.guards.push(around);
        let steps = Rc::clone(
            self.steps
                .entry(Arc::clone(name))
                .or_insert_with(|| Rc::new(inspect::steps(tree))),
        );
        let mut frame = Frame {
            source: Arc::clone(&tree.source),
            root: dot.clone(),
            dot,
            variables: Vec::new(),
            guards: guards.to_vec(),
        };
        let failed = std::mem::take(&mut self.fails);
        let mark = self.mentions.len();
        self.depth += 1;
        self.listeners += 1;
        self.all(&steps, &mut frame);
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

    fn all(&mut self, steps: &[Step], frame: &mut Frame) {
        let variables = frame.variables.len();
        for step in steps {
            self.taken += 1;
            if self.taken > MAX_STEPS {
                break;
            }
            match step {
                Step::Action(pipeline) => {
                    let operand = self.pipeline(pipeline, frame);
                    if pipeline.variables.is_empty() {
                        self.used(operand);
                    }
                }
                Step::Branch(branch) => self.branch(branch, frame),
                Step::Template { name, argument } => {
                    let dot = argument
                        .as_ref()
                        .map_or(Seen::Unknown, |argument| self.pipeline(argument, frame).value);
                    let guards = frame.guards.clone();
                    self.call(name, dot, &guards);
                }
            }
        }
        frame.variables.truncate(variables);
    }

    fn branch(&mut self, branch: &ControlStep, frame: &mut Frame) {
        let (variables, guards) = (frame.variables.len(), frame.guards.len());
        let mark = self.listen();
        self.conditions += 1;
        let operand = self.pipeline(&branch.condition, frame);
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
        self.all(&branch.body, frame);
        frame.dot = outer;
        self.all(&branch.otherwise, frame);
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

    fn heard(&mut self, mark: usize) -> Vec<Path> {
        self.listeners -= 1;
        let named = self.mentions.get(mark..).unwrap_or_default().to_vec();
        if self.listeners == 0 {
            self.mentions.clear();
        }
        named
    }

    fn pipeline(&mut self, pipeline: &Pipeline, frame: &mut Frame) -> Operand {
        let mut piped = None;
        for command in &pipeline.commands {
            piped = Some(self.command(command, piped, frame));
        }
        let operand = piped.unwrap_or(Operand::unknown());
        for name in &pipeline.variables {
            if pipeline.assigns {
                // In which order, and whether at all, is not known.
                for (known, value) in &mut frame.variables {
                    if known == name {
                        *value = Seen::Unknown;
                    }
                }
            } else {
                frame.variables.push((Arc::clone(name), operand.value.clone()));
            }
        }
        operand
    }

    fn command(&mut self, words: &[Term], piped: Option<Operand>, frame: &mut Frame) -> Operand {
        let Some((first, rest)) = words.split_first() else {
            return Operand::unknown();
        };
        let TermKind::Function(name) = &first.kind else {
            let operand = self.term(first, frame);
            if rest.is_empty() {
                return operand;
            }
            for word in rest {
                self.term(word, frame);
            }
            return Operand::unknown();
        };
        if usage(name) == Some(NilUsage::ShortCircuits) {
            return self.one_after_another(rest, frame);
        }
        let mut args: Vec<Operand> = rest.iter().map(|word| self.term(word, frame)).collect();
        args.extend(piped);
        let literals: Vec<Option<&str>> = rest.iter().map(literal).collect();
        self.function(name, args, &literals, frame)
    }

    /// `and` and `or` stop early: what comes first guards what follows.
    fn one_after_another(&mut self, words: &[Term], frame: &mut Frame) -> Operand {
        let guards = frame.guards.len();
        for word in words {
            let mark = self.listen();
            self.term(word, frame);
            let named = self.heard(mark);
            frame.guards.extend(named);
        }
        frame.guards.truncate(guards);
        Operand::unknown()
    }

    fn function(
        &mut self,
        name: &str,
        mut args: Vec<Operand>,
        literals: &[Option<&str>],
        frame: &mut Frame,
    ) -> Operand {
        match usage(name).unwrap_or(NilUsage::TakesNil) {
            NilUsage::Includes => {
                if let (Some(Some(template)), Some(dot)) = (literals.first(), args.pop()) {
                    let guards = frame.guards.clone();
                    self.call(&Arc::from(*template), dot.value, &guards);
                }
                Operand::unknown()
            }
            NilUsage::MakesDict => Operand::of(dict(args, literals)),
            NilUsage::Copies => args
                .pop()
                .map_or(Operand::unknown(), |one| Operand::of(one.value)),
            NilUsage::Fails => {
                self.fails = true;
                Operand::unknown()
            }
            lookup @ (NilUsage::Indexes | NilUsage::Gets | NilUsage::AsksForKey) => {
                self.member(lookup, args, literals, frame)
            }
            NilUsage::Digs => {
                let keys: Option<Path> = literals
                    .iter()
                    .take(args.len().saturating_sub(2))
                    .map(|key| key.map(Arc::from))
                    .collect();
                if let (Some(keys), Some(Seen::Values(base))) = (keys, args.pop().map(|one| one.value)) {
                    self.mention(&joined(&base, &keys));
                }
                Operand::unknown()
            }
            NilUsage::Requires => {
                let Some(asked) = args.pop() else {
                    return Operand::unknown();
                };
                if let Seen::Values(path) = &asked.value {
                    self.assumed.insert(path.clone());
                }
                if let Some(gap) = asked.gap {
                    self.assumed.insert(gap.path);
                }
                Operand::of(asked.value)
            }
            NilUsage::Writes => {
                self.written(&args, literals);
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

    /// What is below a value by a key that is a constant.
    fn member(
        &mut self,
        lookup: NilUsage,
        mut args: Vec<Operand>,
        literals: &[Option<&str>],
        frame: &Frame,
    ) -> Operand {
        if args.is_empty() {
            return Operand::unknown();
        }
        let base = args.remove(0);
        let keys: Option<Path> = literals.iter().skip(1).map(|key| key.map(Arc::from)).collect();
        let keys = keys.filter(|keys| !keys.is_empty());
        let path = match (base.value, keys) {
            (Seen::Values(path), Some(keys)) => joined(&path, &keys),
            (Seen::Root, Some(keys)) if keys.first().is_some_and(|key| &**key == "Values") => {
                keys.get(1..).unwrap_or_default().to_vec()
            }
            _ => return Operand::unknown(),
        };
        self.mention(&path);
        if lookup == NilUsage::Indexes && base.gap.is_some() {
            self.used(Operand {
                value: Seen::Unknown,
                gap: base.gap,
            });
            return Operand::unknown();
        }
        if lookup == NilUsage::AsksForKey || self.gap(&path, Span::default(), frame).is_some() {
            return Operand::unknown();
        }
        Operand::of(Seen::Values(path))
    }

    fn written(&mut self, args: &[Operand], literals: &[Option<&str>]) {
        match args.first().map(|one| &one.value) {
            Some(Seen::Values(path)) => match (args.len(), literals.get(1)) {
                (3, Some(Some(key))) => {
                    let mut path = path.clone();
                    path.push(Arc::from(*key));
                    self.assumed.insert(path);
                }
                _ => {
                    self.open.insert(path.clone());
                }
            },
            Some(Seen::Root) => {
                self.open.insert(Vec::new());
            }
            _ => {}
        }
    }

    fn term(&mut self, term: &Term, frame: &mut Frame) -> Operand {
        match &term.kind {
            TermKind::Text(_) | TermKind::Constant => Operand::unknown(),
            TermKind::Function(name) => self.function(name, Vec::new(), &[], frame),
            TermKind::Pipeline(inner) => self.pipeline(inner, frame),
            TermKind::Dot => self.access(frame.dot.clone(), &[], term.span, frame),
            TermKind::Field(fields) => self.access(frame.dot.clone(), fields, term.span, frame),
            TermKind::Variable { name, fields } => {
                let value = if &**name == "$" {
                    frame.root.clone()
                } else {
                    let found = frame.variables.iter().rev().find(|(known, _)| known == name);
                    found.map_or(Seen::Unknown, |(_, value)| value.clone())
                };
                self.access(value, fields, term.span, frame)
            }
            TermKind::Chain { inner, fields } => {
                let base = self.term(inner, frame);
                self.access(base.value, fields, term.span, frame)
            }
        }
    }

    fn access(&mut self, base: Seen, fields: &[Arc<str>], span: Span, frame: &Frame) -> Operand {
        let (mut base, mut fields) = (base, fields);
        while let (Seen::Dict(map), Some((first, rest))) = (&base, fields.split_first()) {
            base = map.get(first).cloned().unwrap_or(Seen::Unknown);
            fields = rest;
        }
        let path = match (&base, fields.split_first()) {
            (_, None) => match base {
                Seen::Values(path) => path,
                other => return Operand::of(other),
            },
            (Seen::Root, Some((first, rest))) if &**first == "Values" => rest.to_vec(),
            (Seen::Values(path), Some(_)) => {
                // Of what is itself not there, and came here by another way, nothing comes.
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
                value: Seen::Values(path),
                gap,
            },
        }
    }

    /// Whether a path is neither known nor guarded.
    fn gap(&self, path: &[Arc<str>], span: Span, frame: &Frame) -> Option<Gap> {
        let missing = self.known.missing(path)?;
        let head = path.get(..=missing)?;
        let guarded = frame.guards.iter().any(|guard| guard.starts_with(head));
        let assumed = self.assumed.iter().any(|guard| guard.starts_with(head));
        let open = self.open.iter().any(|guard| path.starts_with(guard));
        (!guarded && !assumed && !open).then(|| Gap {
            path: path.to_vec(),
            missing,
            location: Location::new(&frame.source, span),
        })
    }

    fn mention(&mut self, path: &[Arc<str>]) {
        if self.listeners > 0 && !path.is_empty() {
            self.mentions.push(path.to_vec());
        }
    }

    /// A value is printed, or made text of; in a condition that only asks.
    fn used(&mut self, operand: Operand) {
        if let Some(gap) = operand.gap
            && self.conditions == 0
        {
            self.tell(gap);
        }
    }

    fn tell(&mut self, gap: Gap) {
        let place = (gap.location.source.name().to_owned(), gap.location.span.start);
        self.found.entry(place).or_insert(gap);
    }
}

fn literal(term: &Term) -> Option<&str> {
    match &term.kind {
        TermKind::Text(text) => Some(text),
        _ => None,
    }
}

fn joined(base: &[Arc<str>], keys: &[Arc<str>]) -> Path {
    base.iter().chain(keys).cloned().collect()
}

fn dict(args: Vec<Operand>, literals: &[Option<&str>]) -> Seen {
    let mut map = BTreeMap::new();
    let mut args = args.into_iter();
    let mut keys = literals.iter().step_by(2);
    while let (Some(_), Some(value)) = (args.next(), args.next()) {
        let Some(Some(key)) = keys.next() else {
            return Seen::Unknown;
        };
        map.insert(Arc::from(*key), value.value);
    }
    Seen::Dict(map)
}
