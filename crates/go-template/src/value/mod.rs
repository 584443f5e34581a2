//! [`Val`]: Go's dynamic values that templates can create.
//!
//! Maps are shared and mutable (sprig's `set`), as in Go; strings and lists are shared and immutable. A run's values
//! stay on its thread.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

mod collections;

pub use self::collections::{Bytes, List, Map};
use super::signature::{FuncError, Type};
use super::text::Str;

/// A value of a template.
#[derive(Clone, Debug, Default)]
pub enum Val {
    /// No value at all: Go's zero `reflect.Value`. Functions see every nil as this one.
    #[default]
    Nil,
    /// A nil in an `interface{}`: a missing or null field of a map, before a pipeline ends. Only the evaluator
    /// distinguishes it from [`Val::Nil`].
    Null,
    /// bool
    Bool(bool),
    /// int, int64, … and time.Duration
    Int(i64, IntType),
    /// uint8, uint64, …
    Uint(u64, UintType),
    /// float64
    Float(f64),
    /// complex128
    Complex(f64, f64),
    /// string
    Str(Str),
    /// []uint8
    Bytes(Bytes),
    /// []interface{}, []string, []int
    List(List),
    /// `map[string]interface{}` and other map types
    Map(Map),
    /// Anything else with fields or methods.
    Object(Rc<dyn Object>),
}

/// The signed types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IntType {
    /// int
    Int,
    /// int32, a rune
    Int32,
    /// int64
    Int64,
    /// time.Duration: nanoseconds
    Duration,
    /// time.Month
    Month,
    /// time.Weekday
    Weekday,
}

/// The unsigned types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UintType {
    /// uint
    Uint,
    /// uint8, a byte
    Uint8,
    /// uint32
    Uint32,
    /// uint64
    Uint64,
}

/// The declared type of a list's items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListType {
    /// []interface{}
    Any,
    /// []string
    Strings,
    /// []int
    Ints,
    /// `[]map[string]interface{}`
    Maps,
    /// [][]string
    StringLists,
    /// A slice type with a name; printed with it.
    Named(&'static str),
}

/// The declared type of a map's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapType {
    /// `map[string]interface{}`
    Any,
    /// `map[string]string`
    Strings,
    /// A nil `map[string]string`: empty, and null as data.
    NilStrings,
    /// A map type with a name, over `map[string]interface{}`.
    Named(&'static str),
}

/// Go's kinds, by `reflect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are Go's")]
pub enum Kind {
    Invalid,
    Bool,
    Int,
    Int32,
    Int64,
    Uint,
    Uint8,
    Uint32,
    Uint64,
    Float64,
    Complex128,
    String,
    Slice,
    Map,
    Struct,
    Ptr,
    Func,
}

/// A method of an [`Object`].
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// The parameters; the last one repeats if it is variadic.
    pub params: &'static [Type],
    /// Whether the last parameter repeats.
    pub variadic: bool,
}

/// A value with fields or methods: a struct, a time, a set of files.
pub trait Object: fmt::Debug {
    /// Go's name of the type, as `%T` prints it.
    fn type_name(&self) -> &str;
    /// Its kind; [`Kind::Map`] and [`Kind::Slice`] are ranged over and counted.
    fn kind(&self) -> Kind {
        Kind::Struct
    }
    /// A field of a struct, or a key of a map.
    fn field(&self, _name: &str) -> Option<Val> {
        None
    }
    /// A struct's fields in order, a map's entries by key, a slice's items with empty names.
    fn fields(&self) -> Vec<(String, Val)> {
        Vec::new()
    }
    /// The number of fields, entries or items.
    fn count(&self) -> usize {
        self.fields().len()
    }
    /// The methods templates can call.
    fn methods(&self) -> &'static [Method] {
        &[]
    }
    /// Calls a method of [`Object::methods`] with arguments of the declared types.
    fn call(&self, name: &str, _args: &[Val]) -> Result<Val, FuncError> {
        Err(FuncError::new(format!("no method {name}")))
    }
    /// The result of Go's `String()` or `Error()`, if it has one.
    fn string(&self) -> Option<String> {
        None
    }
    /// What an action prints for it if that differs from its `%v`: only there Go uses the `String()` of a pointer to a
    /// field.
    fn bare(&self) -> Option<String> {
        None
    }
    /// Its data in Go's `encoding/json`.
    fn json(&self) -> Val {
        Val::from_entries(self.fields())
    }
    /// The fields that Go's `encoding/json` writes, in its order, if [`Object::json`] would lose the order.
    fn json_fields(&self) -> Option<Vec<(String, Val)>> {
        None
    }
    /// Go's `==`; by default only identical objects are equal.
    fn equals(&self, _other: &dyn Object) -> bool {
        false
    }
    /// The object itself, for functions that know its type.
    fn as_any(&self) -> &dyn std::any::Any;
}

impl Val {
    /// An int.
    pub fn int(value: i64) -> Self {
        Self::Int(value, IntType::Int)
    }

    /// An int of a length or an index.
    pub fn count(value: usize) -> Self {
        Self::int(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// An int64.
    pub fn int64(value: i64) -> Self {
        Self::Int(value, IntType::Int64)
    }

    /// A string.
    pub fn str(text: impl Into<Str>) -> Self {
        Self::Str(text.into())
    }

    /// A []interface{}.
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(List::new(items))
    }

    /// A []string.
    pub fn strings<S: Into<Str>>(items: impl IntoIterator<Item = S>) -> Self {
        let items = items.into_iter().map(Self::str).collect();
        Self::List(List::typed(ListType::Strings, items))
    }

    /// A `map[string]interface{}`.
    pub fn from_entries<K: Into<Arc<str>>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(entries.into_iter().collect())
    }

    /// Whether it is a nil of either form.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil | Self::Null)
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&Str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The map, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// Go's kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Nil | Self::Null => Kind::Invalid,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_, IntType::Int32) => Kind::Int32,
            Self::Int(_, IntType::Int64 | IntType::Duration) => Kind::Int64,
            Self::Int(_, IntType::Int | IntType::Month | IntType::Weekday) => Kind::Int,
            Self::Uint(_, UintType::Uint) => Kind::Uint,
            Self::Uint(_, UintType::Uint8) => Kind::Uint8,
            Self::Uint(_, UintType::Uint32) => Kind::Uint32,
            Self::Uint(_, UintType::Uint64) => Kind::Uint64,
            Self::Float(_) => Kind::Float64,
            Self::Complex(..) => Kind::Complex128,
            Self::Str(_) => Kind::String,
            Self::Bytes(_) | Self::List(_) => Kind::Slice,
            Self::Map(_) => Kind::Map,
            Self::Object(object) => object.kind(),
        }
    }

    /// Go's name of the type, as `%T` prints it.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Nil | Self::Null => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_, IntType::Int) => "int",
            Self::Int(_, IntType::Int32) => "int32",
            Self::Int(_, IntType::Int64) => "int64",
            Self::Int(_, IntType::Duration) => "time.Duration",
            Self::Int(_, IntType::Month) => "time.Month",
            Self::Int(_, IntType::Weekday) => "time.Weekday",
            Self::Uint(_, UintType::Uint) => "uint",
            Self::Uint(_, UintType::Uint8) => "uint8",
            Self::Uint(_, UintType::Uint32) => "uint32",
            Self::Uint(_, UintType::Uint64) => "uint64",
            Self::Float(_) => "float64",
            Self::Complex(..) => "complex128",
            Self::Str(_) => "string",
            Self::Bytes(_) => "[]uint8",
            Self::List(list) => match list.kind() {
                ListType::Any => "[]interface {}",
                ListType::Strings => "[]string",
                ListType::Ints => "[]int",
                ListType::Maps => "[]map[string]interface {}",
                ListType::StringLists => "[][]string",
                ListType::Named(name) => name,
            },
            Self::Map(map) => match map.kind() {
                MapType::Any => "map[string]interface {}",
                MapType::Strings | MapType::NilStrings => "map[string]string",
                MapType::Named(name) => name,
            },
            Self::Object(object) => object.type_name(),
        }
    }

    /// Go's name of the type behind a pointer, which is what Go's own functions see.
    pub(super) fn pointed_type_name(&self) -> &str {
        let name = self.type_name();
        match self.kind() {
            Kind::Ptr => name.strip_prefix('*').unwrap_or(name),
            _ => name,
        }
    }

    /// Go's truth: not the zero value of its type, and not empty.
    pub fn truth(&self) -> bool {
        match self {
            Self::Nil | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Int(value, _) => *value != 0,
            Self::Uint(value, _) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Complex(re, im) => *re != 0.0 || *im != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Object(object) => match object.kind() {
                Kind::Map | Kind::Slice => object.count() > 0,
                _ => true,
            },
        }
    }
}

impl Kind {
    /// Go's name, as sprig's `kindOf` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint => "uint",
            Self::Uint8 => "uint8",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Float64 => "float64",
            Self::Complex128 => "complex128",
            Self::String => "string",
            Self::Slice => "slice",
            Self::Map => "map",
            Self::Struct => "struct",
            Self::Ptr => "ptr",
            Self::Func => "func",
        }
    }
}

impl From<bool> for Val {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Val {
    fn from(text: &str) -> Self {
        Self::str(text)
    }
}

impl From<String> for Val {
    fn from(text: String) -> Self {
        Self::str(text)
    }
}
