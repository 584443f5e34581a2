//! The state of one rendering: [`Run`]. How it executes templates is in `execute`.
//!
//! A run owns the output, the variables and the context of one rendering on one thread;
//! templates, functions and trees are shared. What `tpl` parses is kept for the run,
//! because charts pass the same few texts again and again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ast::Tree;
use super::error::{Detail, Error};
use super::functions::Functions;
use super::limits::{KEPT_BYTES, MAX_STEPS, WATCH_STEPS};
use super::origins::Origins;
use super::parse::ParseError;
use super::set::Set;
use super::text::Str;
use super::value::Val;
use solar_diagnostics::source::Source;

/// One rendering: what it works with, and where it stands.
pub struct Run<'s, C: 'static> {
    pub(super) functions: &'s Functions<C>,
    set: &'s Set,
    /// What texts define that were parsed while running, innermost last.
    layers: Vec<Arc<Set>>,
    /// What the table's functions need.
    pub context: C,
    /// What the texts that are open have printed, the innermost last.
    pub(super) out: Vec<u8>,
    /// Where the innermost begins.
    pub(super) start: usize,
    pub(super) variables: Vec<Variable>,
    /// The name of the variable that every template has.
    pub(super) dollar: Arc<str>,
    pub(super) depth: usize,
    /// Which nodes printed `out`, when the run is traced.
    pub(super) origins: Option<Box<Origins>>,
    /// How many steps are left before the watch is asked.
    steps: u64,
    /// How many are left behind these.
    more: u64,
    watch: Watch<C>,
    /// How many there were at first.
    pub(super) allowed: u64,
    parsed: BTreeMap<Str, Arc<[Arc<Tree>]>>,
    parsed_bytes: usize,
}

/// A variable's value. Boxed is what Go holds as an `interface{}`: its errors name that type.
pub(super) struct Variable {
    pub(super) name: Arc<str>,
    pub(super) value: Slot,
}

/// A value, and whether Go holds it as an `interface{}`.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    pub(super) value: Val,
    pub(super) boxed: bool,
}

impl Slot {
    /// An item of a list or a map.
    pub(super) fn item(value: Val) -> Self {
        let value = if value.is_nil() { Val::Null } else { value };
        Self { value, boxed: true }
    }

    /// What a pipeline gave.
    pub(super) fn plain(value: Val) -> Self {
        Self { value, boxed: false }
    }
}

impl<'s, C: 'static> Run<'s, C> {
    /// A run of a set's templates.
    pub fn new(functions: &'s Functions<C>, set: &'s Set, context: C) -> Self {
        Self {
            functions,
            set,
            layers: Vec::new(),
            context,
            out: Vec::new(),
            start: 0,
            variables: Vec::new(),
            dollar: Arc::from("$"),
            depth: 0,
            origins: None,
            steps: 0,
            more: MAX_STEPS,
            watch: |_| None,
            allowed: MAX_STEPS,
            parsed: BTreeMap::new(),
            parsed_bytes: 0,
        }
    }

    /// Allows fewer steps than [`MAX_STEPS`].
    #[must_use]
    pub fn with_steps(mut self, steps: u64) -> Self {
        self.steps = 0;
        self.more = steps;
        self.allowed = steps;
        self
    }

    /// Asks, every some thousand steps, whether the run must end, and in which words.
    #[must_use]
    pub fn with_watch(mut self, watch: Watch<C>) -> Self {
        self.watch = watch;
        self
    }

    /// The template of a name: of the innermost text that defines it.
    pub fn find(&self, name: &str) -> Option<Arc<Tree>> {
        let layered = self.layers.iter().rev().find_map(|layer| layer.get(name));
        layered.or_else(|| self.set.get(name)).map(Arc::clone)
    }

    /// Every name that can be included, in no useful order.
    pub fn template_names(&self) -> Vec<String> {
        let layered = self.layers.iter().flat_map(|layer| layer.names());
        layered.chain(self.set.names()).map(str::to_owned).collect()
    }

    /// How many bytes the innermost text has printed.
    pub(super) fn printed(&self) -> usize {
        self.out.len() - self.start
    }

    /// Parses a text as `name`; what it defines is found while `inside` runs, and only then.
    pub fn with_text<T>(
        &mut self,
        name: &Arc<str>,
        text: &Str,
        inside: impl FnOnce(&mut Self, &Arc<Tree>) -> T,
    ) -> Result<T, Box<ParseError>> {
        let trees = self.parsed(name, text)?;
        let mut layer = Set::default();
        for tree in trees.iter() {
            // A blank definition replaces none that is there.
            if !tree.is_empty() || tree.name == *name || self.find(&tree.name).is_none() {
                layer.add(Arc::clone(tree));
            }
        }
        let Some(own) = trees.iter().rev().find(|tree| tree.name == *name) else {
            // A text always gives a tree of its own name.
            return Ok(inside(self, &Arc::new(Tree::blank(name))));
        };
        let own = Arc::clone(own);
        // Most texts define nothing and don't call themselves: no layer to look through.
        let layered = trees.len() > 1 || own.source.text().contains(&**name);
        if layered {
            self.layers.push(Arc::new(layer));
        }
        let result = inside(self, &own);
        if layered {
            self.layers.pop();
        }
        Ok(result)
    }

    fn parsed(&mut self, name: &Arc<str>, text: &Str) -> Result<Arc<[Arc<Tree>]>, Box<ParseError>> {
        if let Some(trees) = self.parsed.get(text) {
            return Ok(Arc::clone(trees));
        }
        let source = Source::new(&**name, text.to_text());
        let trees: Arc<[Arc<Tree>]> = self.functions.parse(name, &source)?.into();
        if self.parsed_bytes + text.len() <= KEPT_BYTES {
            self.parsed_bytes += text.len();
            self.parsed.insert(text.clone(), Arc::clone(&trees));
        }
        Ok(trees)
    }

    /// Counts so many steps.
    #[inline]
    pub(super) fn step(&mut self, count: u64) -> Result<(), Stop> {
        match self.steps.checked_sub(count) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => self.pause(count),
        }
    }

    #[cold]
    fn pause(&mut self, count: u64) -> Result<(), Stop> {
        let left = (self.steps + self.more).checked_sub(count);
        self.steps = left.unwrap_or(0).min(WATCH_STEPS);
        self.more = left.unwrap_or(0) - self.steps;
        if left.is_none() {
            return Err(Stop::Steps);
        }
        (self.watch)(&self.context).map_or(Ok(()), |words| Err(Stop::Watch(words)))
    }
}

/// Why a run must end, if it must.
pub type Watch<C> = fn(&C) -> Option<String>;

/// Why a run ends.
pub(super) enum Stop {
    /// There are no more steps.
    Steps,
    /// The watch ends it, in these words.
    Watch(String),
}

impl Error {
    pub(super) fn limit(mut self: Box<Self>) -> Box<Self> {
        self.detail = Detail::Limit;
        self
    }
}
