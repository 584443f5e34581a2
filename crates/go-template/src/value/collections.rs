//! Lists and maps, which are dropped iteratively.

use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::{ListType, MapType, Val};
use crate::memory::{self, Charge, Counted, ENTRY, ITEM};

/// A list. Cheap to clone.
#[derive(Clone)]
pub struct List(Rc<Items>);

struct Items {
    kind: ListType,
    nil: bool,
    items: Vec<Val>,
    _charge: Charge,
}

/// A []uint8. Cheap to clone.
#[derive(Clone)]
pub struct Bytes(Rc<Counted<[u8]>>);

/// A map. Clones share the content.
#[derive(Clone)]
pub struct Map {
    kind: MapType,
    content: Rc<Entries>,
}

struct Entries {
    entries: RefCell<BTreeMap<Arc<str>, Val>>,
    /// The counted size of the entries.
    charged: Cell<usize>,
}

impl List {
    /// A []interface{}.
    pub fn new(items: Vec<Val>) -> Self {
        Self::typed(ListType::Any, items)
    }

    /// A list of a declared type.
    pub fn typed(kind: ListType, items: Vec<Val>) -> Self {
        Self::made(kind, false, items)
    }

    /// Go's nil slice of a declared type: an empty list, but null in JSON and YAML.
    pub fn nil(kind: ListType) -> Self {
        Self::made(kind, true, Vec::new())
    }

    fn made(kind: ListType, nil: bool, items: Vec<Val>) -> Self {
        Self(Rc::new(Items {
            kind,
            nil,
            _charge: Charge::of(items.len() * ITEM),
            items,
        }))
    }

    /// Whether it is a nil slice.
    pub fn is_nil(&self) -> bool {
        self.0.nil
    }

    /// The declared type of its items.
    pub fn kind(&self) -> ListType {
        self.0.kind
    }

    /// Whether it has no other references.
    pub(in super::super) fn is_new(&self) -> bool {
        Rc::strong_count(&self.0) == 1
    }

    /// Whether both are the same list.
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

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self(Rc::new(Counted::new(bytes.into())))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Rc::new(Counted::new(bytes.into())))
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}

impl Map {
    /// An empty map of a declared type.
    pub fn typed(kind: MapType) -> Self {
        Self::with(kind, BTreeMap::new())
    }

    /// A map of a declared type.
    pub fn with(kind: MapType, entries: BTreeMap<Arc<str>, Val>) -> Self {
        // Without the keys: such maps are created from data or another map, whose keys they share.
        let charged = entries.len() * ENTRY;
        memory::take(charged);
        let content = Rc::new(Entries {
            entries: RefCell::new(entries),
            charged: Cell::new(charged),
        });
        Self { kind, content }
    }

    /// The same map, seen as another type.
    #[must_use]
    pub fn as_type(&self, kind: MapType) -> Self {
        let content = Rc::clone(&self.content);
        Self { kind, content }
    }

    /// The declared type of its values.
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
        let key = key.into();
        let charge = ENTRY + key.len();
        let former = self.content.entries.borrow_mut().insert(key, value);
        if former.is_none() {
            memory::take(charge);
            self.content.charged.update(|charged| charged + charge);
        }
        // Dropped after the borrow: it may be the last reference to a map that contains this one.
        drop(former);
    }

    /// Removes a key.
    pub fn remove(&self, key: &str) -> Option<Val> {
        let former = self.content.entries.borrow_mut().remove(key);
        if former.is_some() {
            let charge = (ENTRY + key.len()).min(self.content.charged.get());
            memory::give_back(charge);
            self.content.charged.update(|charged| charged - charge);
        }
        former
    }

    /// Whether it has the key.
    pub fn contains(&self, key: &str) -> bool {
        self.content.entries.borrow().contains_key(key)
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.content.entries.borrow().len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A snapshot of the entries, in key order, for loops that may change the map.
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

    /// Whether both are the same map.
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
    /// The values that are still to be dropped, so that values nested a million deep don't need a million stack frames.
    static DOOMED: RefCell<Option<Vec<Val>>> = const { RefCell::new(None) };
}

/// Drops values iteratively instead of recursively.
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
        memory::give_back(self.charged.get());
        drop_flat(std::mem::take(self.entries.get_mut()).into_values());
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
