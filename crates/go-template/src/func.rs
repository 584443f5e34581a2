//! The functions of templates: signatures and calls.

use super::signature::{FuncError, Type};
use super::text::Str;
use super::value::{List, Map, Val};

/// A function for templates. `C` is the context of the table's functions.
pub struct Func<C> {
    /// The name in templates.
    pub name: &'static str,
    /// The parameters; the last one repeats if it is variadic.
    pub params: &'static [Type],
    /// Whether the last parameter repeats, any number of times.
    pub variadic: bool,
    /// The documentation, one line.
    pub doc: &'static str,
    /// The function.
    pub call: fn(&mut Call<'_, C>) -> Result<Val, FuncError>,
}

/// A method of maps of a named type.
pub struct MapMethod {
    /// The name in templates.
    pub name: &'static str,
    /// The parameters.
    pub params: &'static [Type],
    /// The method.
    pub call: fn(&Map, &[Val]) -> Result<Val, FuncError>,
}

/// One call: the arguments, checked against the signature, and the table's context.
pub struct Call<'a, C> {
    /// The arguments; every nil is [`Val::Nil`].
    pub args: &'a [Val],
    /// The context of the table's functions.
    pub context: &'a mut C,
}

impl<C> Call<'_, C> {
    /// An argument; [`Val::Nil`] if it is missing.
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
