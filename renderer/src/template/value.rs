//! [`Val`]: Go's dynamic values, as far as templates can make them.
//!
//! Maps are shared and can be changed (sprig's `set`), as Go's are; texts and lists are
//! shared and never change. A run's values stay on its thread.

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::func::{Fault, Type};
use super::text::Str;

/// A value of a template.
#[derive(Clone, Debug, Default)]
pub enum Val {
    /// No value at all: Go's zero `reflect.Value`. Functions see every nil as this one.
    #[default]
    Nil,
    /// A nil in an `interface{}`: what a field is that a map lacks or has as null, before a
    /// pipeline ends. Only the evaluator tells it from [`Val::Nil`].
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
    Bytes(Rc<[u8]>),
    /// []interface{}, []string, []int
    List(List),
    /// `map[string]interface{}` and its kin
    Map(Map),
    /// Anything else with fields or methods.
    Object(Rc<dyn Object>),
}

/// The signed types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// What a list's items are declared as.
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

/// What a map's values are declared as.
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

/// A list. Cheap to clone.
#[derive(Clone)]
pub struct List(Rc<Items>);

struct Items {
    kind: ListType,
    nil: bool,
    items: Vec<Val>,
}

/// A map. Clones share the content.
#[derive(Clone)]
pub struct Map {
    kind: MapType,
    content: Rc<Entries>,
}

struct Entries {
    entries: RefCell<BTreeMap<Arc<str>, Val>>,
}

/// A method of an [`Object`].
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// What it takes; the last one repeats when it is variadic.
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
    /// How many fields, entries or items.
    fn count(&self) -> usize {
        self.fields().len()
    }
    /// The methods templates can call.
    fn methods(&self) -> &'static [Method] {
        &[]
    }
    /// Calls a method of [`Object::methods`] with arguments of the declared types.
    fn call(&self, name: &str, _args: &[Val]) -> Result<Val, Fault> {
        Err(Fault::new(format!("no method {name}")))
    }
    /// What Go's `String()` or `Error()` gives, if it has one.
    fn string(&self) -> Option<String> {
        None
    }
    /// What an action prints that ends with it, where that is not its `%v`: Go finds the
    /// `String()` of a pointer to a field there, and only there.
    fn bare(&self) -> Option<String> {
        None
    }
    /// The data that Go's `encoding/json` makes of it.
    fn json(&self) -> Val {
        Val::from_entries(self.fields())
    }
    /// The fields that Go's `encoding/json` writes, in its order, when [`Object::json`] would
    /// lose the order.
    fn json_fields(&self) -> Option<Vec<(String, Val)>> {
        None
    }
    /// Whether Go's `==` holds; of values it is not known for, only the same one is equal.
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

    /// The string, when it is one.
    pub fn as_str(&self) -> Option<&Str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The map, when it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The list, when it is one.
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

    /// Go's truth: not the zero of its type, and not empty.
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

impl List {
    /// A []interface{}.
    pub fn new(items: Vec<Val>) -> Self {
        Self::typed(ListType::Any, items)
    }

    /// A list of a declared type.
    pub fn typed(kind: ListType, items: Vec<Val>) -> Self {
        let nil = false;
        Self(Rc::new(Items { kind, nil, items }))
    }

    /// Go's nil slice of a declared type: an empty list, but null in JSON and YAML.
    pub fn nil(kind: ListType) -> Self {
        let (nil, items) = (true, Vec::new());
        Self(Rc::new(Items { kind, nil, items }))
    }

    /// Whether it is a nil slice.
    pub fn is_nil(&self) -> bool {
        self.0.nil
    }

    /// What its items are declared as.
    pub fn kind(&self) -> ListType {
        self.0.kind
    }

    /// Whether both are one and the same list.
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl std::ops::Deref for List {
    type Target = [Val];
    fn deref(&self) -> &[Val] {
        &self.0.items
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List({} items)", self.len())
    }
}

impl Map {
    /// An empty map of a declared type.
    pub fn typed(kind: MapType) -> Self {
        Self::with(kind, BTreeMap::new())
    }

    /// A map of a declared type.
    pub fn with(kind: MapType, entries: BTreeMap<Arc<str>, Val>) -> Self {
        let entries = RefCell::new(entries);
        let content = Rc::new(Entries { entries });
        Self { kind, content }
    }

    /// The same map, seen as another type.
    #[must_use]
    pub fn as_type(&self, kind: MapType) -> Self {
        let content = Rc::clone(&self.content);
        Self { kind, content }
    }

    /// What its values are declared as.
    pub fn kind(&self) -> MapType {
        self.kind
    }

    /// Whether its values are declared as string.
    pub fn holds_strings(&self) -> bool {
        matches!(self.kind(), MapType::Strings | MapType::NilStrings)
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &str) -> Option<Val> {
        self.content.entries.borrow().get(key).cloned()
    }

    /// Sets a key.
    pub fn set(&self, key: impl Into<Arc<str>>, value: Val) {
        let former = self.content.entries.borrow_mut().insert(key.into(), value);
        // Dropped after the borrow: it may be the last hold on a map that holds this one.
        drop(former);
    }

    /// Takes a key out.
    pub fn remove(&self, key: &str) -> Option<Val> {
        self.content.entries.borrow_mut().remove(key)
    }

    /// Whether a key is there.
    pub fn contains(&self, key: &str) -> bool {
        self.content.entries.borrow().contains_key(key)
    }

    /// How many keys.
    pub fn len(&self) -> usize {
        self.content.entries.borrow().len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries as they are now, in key order: what a loop that may change the map walks.
    pub fn entries(&self) -> Vec<(Arc<str>, Val)> {
        let entries = self.content.entries.borrow();
        entries
            .iter()
            .map(|(key, value)| (Arc::clone(key), value.clone()))
            .collect()
    }

    /// The entries for reading; the map must not be changed meanwhile.
    pub fn borrow(&self) -> Ref<'_, BTreeMap<Arc<str>, Val>> {
        self.content.entries.borrow()
    }

    /// Whether both are one and the same map.
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.content, &other.content)
    }
}

impl Default for Map {
    fn default() -> Self {
        Self::typed(MapType::Any)
    }
}

impl<K: Into<Arc<str>>> FromIterator<(K, Val)> for Map {
    fn from_iter<T: IntoIterator<Item = (K, Val)>>(iter: T) -> Self {
        Self::with(
            MapType::Any,
            iter.into_iter().map(|(key, value)| (key.into(), value)).collect(),
        )
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Map({} keys)", self.len())
    }
}

thread_local! {
    /// What still has to be dropped, so that values nested a million deep don't need a
    /// million frames of the stack.
    static DOOMED: RefCell<Option<Vec<Val>>> = const { RefCell::new(None) };
}

/// Drops values one after the other instead of one within the other.
fn drop_flat(values: impl Iterator<Item = Val>) {
    let mut nested = values
        .filter(|value| matches!(value, Val::List(_) | Val::Map(_)))
        .peekable();
    if nested.peek().is_none() {
        return;
    }
    let outermost = DOOMED.with(|doomed| {
        let mut doomed = doomed.borrow_mut();
        match doomed.as_mut() {
            Some(list) => {
                list.extend(nested);
                false
            }
            None => {
                *doomed = Some(nested.collect());
                true
            }
        }
    });
    if !outermost {
        return;
    }
    while let Some(next) = DOOMED.with(|doomed| doomed.borrow_mut().as_mut().and_then(Vec::pop)) {
        drop(next);
    }
    DOOMED.with(|doomed| *doomed.borrow_mut() = None);
}

impl Drop for Items {
    fn drop(&mut self) {
        drop_flat(std::mem::take(&mut self.items).into_iter());
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        drop_flat(std::mem::take(self.entries.get_mut()).into_values());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_nested_a_million_deep_is_dropped() {
        let mut value = Val::list(Vec::new());
        for _ in 0..1_000_000 {
            value = Val::list(vec![value]);
        }
        drop(value);
        let mut value = Val::Map(Map::default());
        for _ in 0..1_000_000 {
            value = Val::from_entries([("a", value)]);
        }
        drop(value);
    }

    #[test]
    fn clones_of_a_map_share_its_content() {
        let map = Map::default();
        let other = map.clone();
        other.set("a", Val::int(1));
        assert!(map.contains("a"));
        assert!(map.is_same(&other));
    }
}
