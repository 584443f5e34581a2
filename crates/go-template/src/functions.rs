//! The functions of templates ([`Functions`]), and parsing with them.
//!
//! [`EngineFunc`]s get the run that calls them, and a run holds the functions: the two modules depend on each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ast::{FuncId, Tree};
use super::builtins::{BUILTINS, Builtin};
use super::error::Failure;
use super::func::{Func, MapMethod};
use super::parse::{self, ParseBuffers, ParseError};
use super::run::Run;
use super::signature::Type;
use super::stack_guard::StackGuard;
use super::value::Val;
use solar_diagnostics::source::Source;

/// A function that runs templates itself (Helm's `include` and `tpl`).
pub struct EngineFunc<C: 'static> {
    /// The name in templates.
    pub name: &'static str,
    /// The parameters.
    pub params: &'static [Type],
    /// The documentation, one line.
    pub doc: &'static str,
    /// The function.
    pub call: fn(&mut Run<'_, C>, &[Val]) -> Result<Val, Failure>,
}

/// The function with an index.
pub(super) enum Callee<C: 'static> {
    Builtin(&'static Builtin),
    Native(&'static Func<C>),
    Engine(&'static EngineFunc<C>),
}

impl<C: 'static> Clone for Callee<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: 'static> Copy for Callee<C> {}

/// Every function that templates can call, by name: Go's own, and those of tables. Later
/// tables win.
pub struct Functions<C: 'static> {
    callees: Vec<Callee<C>>,
    /// The number of steps of a call in addition to its texts, by index; mostly 0.
    work: Vec<u32>,
    names: BTreeMap<&'static str, FuncId>,
    /// The names by [`bucket`]: parsing looks up thousands of names.
    buckets: Vec<Vec<(&'static str, FuncId)>>,
    map_methods: (&'static str, &'static [MapMethod]),
}

impl<C: 'static> Functions<C> {
    /// Go's own functions.
    pub fn new() -> Self {
        let mut functions = Self {
            callees: Vec::new(),
            work: Vec::new(),
            names: BTreeMap::new(),
            buckets: vec![Vec::new(); BUCKETS],
            map_methods: ("", &[]),
        };
        for builtin in BUILTINS {
            functions.add(builtin.name, Callee::Builtin(builtin));
        }
        functions
    }

    /// Adds a table.
    #[must_use]
    pub fn with(mut self, table: &'static [Func<C>]) -> Self {
        for func in table {
            self.add(func.name, Callee::Native(func));
        }
        self
    }

    /// Adds functions that run templates.
    #[must_use]
    pub fn with_engine(mut self, table: &'static [EngineFunc<C>]) -> Self {
        for func in table {
            self.add(func.name, Callee::Engine(func));
        }
        self
    }

    /// Adds methods to maps of the type with this name.
    #[must_use]
    pub fn with_map_methods(mut self, type_name: &'static str, methods: &'static [MapMethod]) -> Self {
        self.map_methods = (type_name, methods);
        self
    }

    /// Sets the number of steps of calls in addition to their texts. Unknown names are ignored.
    #[must_use]
    pub fn with_work(mut self, steps: &[(&str, u32)]) -> Self {
        for (name, steps) in steps {
            let id = self.find(name);
            if let Some(work) = id.and_then(|id| self.work.get_mut(id as usize)) {
                *work = *steps;
            }
        }
        self
    }

    pub(super) fn work(&self, id: FuncId) -> u64 {
        self.work.get(id as usize).copied().map_or(0, u64::from)
    }

    pub(super) fn map_method(&self, type_name: &str, name: &str) -> Option<&'static MapMethod> {
        let (wanted, methods) = self.map_methods;
        let found = methods.iter().find(|method| method.name == name);
        found.filter(|_| type_name == wanted)
    }

    fn add(&mut self, name: &'static str, callee: Callee<C>) {
        let id = FuncId::try_from(self.callees.len()).unwrap_or(FuncId::MAX);
        self.callees.push(callee);
        self.work.push(0);
        self.names.insert(name, id);
        if let Some(bucket) = self.buckets.get_mut(bucket(name)) {
            bucket.retain(|(other, _)| *other != name);
            bucket.push((name, id));
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<FuncId> {
        let alike = self.buckets.get(bucket(name))?;
        let found = alike.iter().find(|(other, _)| *other == name);
        found.map(|(_, id)| *id)
    }

    pub(super) fn get(&self, id: FuncId) -> Option<Callee<C>> {
        self.callees.get(id as usize).copied()
    }

    /// The signature of a function.
    pub fn signature(&self, name: &str) -> Option<Signature> {
        let callee = self.get(self.find(name)?)?;
        let (name, params, variadic, doc) = match callee {
            Callee::Builtin(one) => (one.name, one.params, one.variadic, one.doc),
            Callee::Native(one) => (one.name, one.params, one.variadic, one.doc),
            Callee::Engine(one) => (one.name, one.params, false, one.doc),
        };
        Some(Signature {
            name,
            params: params.iter().map(|param| param.go_name()).collect(),
            variadic,
            doc,
        })
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.names.keys().copied()
    }

    /// Parses a text: returns the templates it defines, and last the text itself as `name`.
    pub fn parse(&self, name: &Arc<str>, source: &Arc<Source>) -> Result<Vec<Arc<Tree>>, Box<ParseError>> {
        self.parse_within(name, source, &StackGuard::unlimited(), &ParseBuffers::default())
    }

    /// As [`Functions::parse`]; if the guard reports an exhausted stack, the result is invalid.
    pub fn parse_within(
        &self,
        name: &Arc<str>,
        source: &Arc<Source>,
        stack: &StackGuard,
        buffers: &ParseBuffers,
    ) -> Result<Vec<Arc<Tree>>, Box<ParseError>> {
        let trees = parse::parse(name, source, &|name| self.find(name), stack, buffers)?;
        Ok(trees.into_iter().map(Arc::new).collect())
    }
}

/// More buckets than names.
const BUCKETS: usize = 512;

/// The bucket of a name: names in it have the same length, first and last letter.
fn bucket(name: &str) -> usize {
    let [first, .., last] = name.as_bytes() else {
        return name.len();
    };
    (usize::from(*first) + 8 * usize::from(*last) + 61 * name.len()) % BUCKETS
}

impl<C: 'static> Default for Functions<C> {
    fn default() -> Self {
        Self::new()
    }
}

/// The signature of a function, for documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The name in templates.
    pub name: &'static str,
    /// Go's types of its parameters.
    pub params: Vec<&'static str>,
    /// Whether the last parameter repeats, any number of times.
    pub variadic: bool,
    /// The documentation, one line.
    pub doc: &'static str,
}

impl std::fmt::Display for Signature {
    /// Formats it as `printf(string, interface {}…)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let more = if self.variadic { "…" } else { "" };
        write!(f, "{}({}{more})", self.name, self.params.join(", "))
    }
}
