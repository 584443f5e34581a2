//! Functions that templates call: their signatures, and how they are called.

use super::signature::{FuncError, Type};
use super::text::Str;
use super::value::{List, Map, Val};

/// A function for templates. `C` is what the table's functions need beside their arguments.
pub struct Func<C> {
    /// As templates call it.
    pub name: &'static str,
    /// What it takes; the last one repeats when it is variadic.
    pub params: &'static [Type],
    /// Whether the last parameter repeats, any number of times.
    pub variadic: bool,
    /// One line: what it gives.
    pub doc: &'static str,
    /// The function.
    pub call: fn(&mut Call<'_, C>) -> Result<Val, FuncError>,
}

/// A method of maps of a type with a name.
pub struct MapMethod {
    /// As templates call it.
    pub name: &'static str,
    /// What it takes.
    pub params: &'static [Type],
    /// The method.
    pub call: fn(&Map, &[Val]) -> Result<Val, FuncError>,
}

/// One call: the arguments, checked against the signature, and the table's context.
pub struct Call<'a, C> {
    /// As many as the signature says; every nil is [`Val::Nil`].
    pub args: &'a [Val],
    /// What the table's functions need.
    pub context: &'a mut C,
}

impl<C> Call<'_, C> {
    /// An argument; [`Val::Nil`] when there is none.
    pub fn arg(&self, index: usize) -> Val {
        self.args.get(index).cloned().unwrap_or_default()
    }

    /// The arguments from an index on.
    pub fn rest(&self, index: usize) -> &[Val] {
        self.args.get(index..).unwrap_or_default()
    }

    /// An argument declared as string.
    pub fn str(&self, index: usize) -> Str {
        match self.args.get(index) {
            Some(Val::Str(text)) => text.clone(),
            _ => Str::default(),
        }
    }

    /// An argument declared as int or int64.
    pub fn int(&self, index: usize) -> i64 {
        match self.args.get(index) {
            Some(Val::Int(value, _)) => *value,
            _ => 0,
        }
    }

    /// An argument declared as float64.
    pub fn float(&self, index: usize) -> f64 {
        match self.args.get(index) {
            Some(Val::Float(value)) => *value,
            _ => 0.0,
        }
    }

    /// An argument declared as bool.
    pub fn bool(&self, index: usize) -> bool {
        matches!(self.args.get(index), Some(Val::Bool(true)))
    }

    /// An argument declared as a map; `None` is Go's nil map.
    pub fn map(&self, index: usize) -> Option<Map> {
        self.args.get(index).and_then(Val::as_map).cloned()
    }

    /// An argument declared as a list; `None` is Go's nil slice.
    pub fn list(&self, index: usize) -> Option<List> {
        self.args.get(index).and_then(Val::as_list).cloned()
    }
}
