//! The state of one rendering: [`Run`]. How it executes templates is in `execute`.
//!
//! A run owns the output, the variables and the context of one rendering on one thread;
//! templates, functions and trees are shared. Texts that `tpl` parses are cached for the run, because charts pass the
//! same few texts repeatedly.

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

/// The state of a rendering.
pub struct Run<'s, C: 'static> {
    pub(super) functions: &'s Functions<C>,
    set: &'s Set,
    /// The definitions of texts that were parsed while running, innermost last.
    layers: Vec<Arc<Set>>,
    /// The context of the table's functions.
    pub context: C,
    /// The output of the active texts, the innermost last.
    pub(super) out: Vec<u8>,
    /// The start of the innermost output.
    pub(super) start: usize,
    pub(super) variables: Vec<Variable>,
    /// The name of the variable `$`.
    pub(super) dollar: Arc<str>,
    pub(super) depth: usize,
    /// The nodes that printed `out`, if the run is traced.
    pub(super) origins: Option<Box<Origins>>,
    /// The steps left before the watch is checked.
    steps: u64,
    /// The steps left after these.
    more: u64,
    watch: Watch<C>,
    /// The initial number of steps.
    pub(super) allowed: u64,
    parsed: BTreeMap<Str, Arc<[Arc<Tree>]>>,
    parsed_bytes: usize,
}

/// A variable's value. It is boxed if Go holds it as an `interface{}`, whose errors name that type.
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

    /// The result of a pipeline.
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

    /// Sets a watch that is called every few thousand steps: whether the run must end, and with which message.
    #[must_use]
    pub fn with_watch(mut self, watch: Watch<C>) -> Self {
        self.watch = watch;
        self
    }

    /// The template with a name, from the innermost text that defines it.
    pub fn find(&self, name: &str) -> Option<Arc<Tree>> {
        let layered = self.layers.iter().rev().find_map(|layer| layer.get(name));
        layered.or_else(|| self.set.get(name)).map(Arc::clone)
    }

    /// The names of all templates, in no particular order.
    pub fn template_names(&self) -> Vec<String> {
        let layered = self.layers.iter().flat_map(|layer| layer.names());
        layered.chain(self.set.names()).map(str::to_owned).collect()
    }

    /// The size of the innermost output, in bytes.
    pub(super) fn printed(&self) -> usize {
        self.out.len() - self.start
    }

    /// Parses a text as `name`; its definitions are only visible while `inside` runs.
    pub fn with_text<T>(
        &mut self,
        name: &Arc<str>,
        text: &Str,
        inside: impl FnOnce(&mut Self, &Arc<Tree>) -> T,
    ) -> Result<T, Box<ParseError>> {
        let trees = self.parsed(name, text)?;
        let mut layer = Set::default();
        for tree in trees.iter() {
            // A blank definition doesn't replace an existing one.
            if !tree.is_empty() || tree.name == *name || self.find(&tree.name).is_none() {
                layer.add(Arc::clone(tree));
            }
        }
        let Some(own) = trees.iter().rev().find(|tree| tree.name == *name) else {
            // A text always has a tree with its own name.
            return Ok(inside(self, &Arc::new(Tree::blank(name))));
        };
        let own = Arc::clone(own);
        // Most texts define nothing and don't call themselves: they need no layer.
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

    /// Counts steps.
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
    /// The limit of steps is reached.
    Steps,
    /// The watch ends it with this message.
    Watch(String),
}

impl Error {
    pub(super) fn limit(mut self: Box<Self>) -> Box<Self> {
        self.detail = Detail::Limit;
        self
    }
}
