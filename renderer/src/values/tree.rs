//! Values during merging: maps that are shared, and copied lazily.
//!
//! Go's maps are references: a change is visible wherever the map is used, and Helm's results depend on it (subcharts
//! that write into their parent's globals, overlapping imports). So a table that has been written to is [`Node::Live`],
//! shared by reference; and a deep copy in Helm is a frozen table here, which is free if it is frozen already. A frozen
//! table that is used twice counts as two tables.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::value::{Map, Value};

/// The maximum nesting of values: that of YAML, plus nested charts and the paths that values are imported to.
pub(super) const MAX_NESTING: usize = 1_100;

/// The values nest deeper than [`MAX_NESTING`], or are cyclic.
#[derive(Debug, Clone, Copy)]
pub(super) struct TooDeep;

type Entries<'a> = BTreeMap<&'a str, Node<'a>>;

/// A mutable table. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Table<'a>(Rc<RefCell<Entries<'a>>>);

/// A value of the tree.
#[derive(Clone)]
pub(super) enum Node<'a> {
    /// Not a table.
    Leaf(&'a Value),
    /// Frozen: a given map.
    Given(&'a Map),
    /// Frozen: a snapshot of a table. No table in it is live.
    Frozen(Rc<Entries<'a>>),
    /// A table that may change.
    Live(Table<'a>),
}

impl<'a> Node<'a> {
    /// Null.
    pub(super) const NULL: Self = Self::Leaf(&Value::Null);

    pub(super) fn new(value: &'a Value) -> Self {
        match value {
            Value::Map(map) => Self::Given(map),
            other => Self::Leaf(other),
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Leaf(Value::Null))
    }

    pub(super) fn is_table(&self) -> bool {
        !matches!(self, Self::Leaf(_))
    }

    /// Whether both are the same frozen table.
    pub(super) fn is_same_frozen(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Given(one), Self::Given(other)) => std::ptr::eq(*one, *other),
            (Self::Frozen(one), Self::Frozen(other)) => Rc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// The value of a key of a table.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        match self {
            Self::Leaf(_) => None,
            Self::Given(map) => map.get(key).map(Self::new),
            Self::Frozen(entries) => entries.get(key).cloned(),
            Self::Live(table) => table.get(key),
        }
    }

    /// The entries of a table, in key order. Those of a live table are made live first, since the caller shares them.
    pub(super) fn entries(&self) -> Vec<(&'a str, Self)> {
        match self {
            Self::Leaf(_) => Vec::new(),
            Self::Given(map) => map
                .iter()
                .map(|(key, value)| (key.as_str(), Self::new(value)))
                .collect(),
            Self::Frozen(entries) => entries.iter().map(|(key, node)| (*key, node.clone())).collect(),
            Self::Live(table) => table.shared_entries(),
        }
    }

    /// The value at a path of keys.
    pub(super) fn at<'k>(&self, path: impl IntoIterator<Item = &'k str>) -> Option<Self> {
        path.into_iter().try_fold(self.clone(), |node, key| node.get(key))
    }

    /// A deep copy.
    pub(super) fn frozen(&self) -> Result<Self, TooDeep> {
        self.frozen_at(0)
    }

    fn frozen_at(&self, depth: usize) -> Result<Self, TooDeep> {
        let Self::Live(table) = self else {
            return Ok(self.clone());
        };
        if depth > MAX_NESTING {
            return Err(TooDeep);
        }
        // Plain loops, here and below: their stack frames are small, and recursion is deep.
        let mut entries = Entries::new();
        for (key, node) in table.0.borrow().iter() {
            entries.insert(key, node.frozen_at(depth + 1)?);
        }
        Ok(Self::Frozen(Rc::new(entries)))
    }

    /// Removes nulls from nested tables; lists are unchanged. Returns itself if there are none.
    pub(super) fn without_nulls(self) -> Result<Self, TooDeep> {
        Ok(self.cleaned(0)?.unwrap_or(self))
    }

    fn cleaned(&self, depth: usize) -> Result<Option<Self>, TooDeep> {
        if depth > MAX_NESTING {
            return Err(TooDeep);
        }
        // Only changes are recorded.
        let mut changes = Vec::new();
        match self {
            Self::Leaf(_) => {}
            Self::Given(map) => {
                for (key, value) in *map {
                    Self::new(value).clean_at(key, depth, &mut changes)?;
                }
            }
            Self::Frozen(entries) => {
                for (key, node) in entries.iter() {
                    node.clean_at(key, depth, &mut changes)?;
                }
            }
            Self::Live(table) => {
                for (key, node) in table.0.borrow().iter() {
                    node.clean_at(key, depth, &mut changes)?;
                }
            }
        }
        if changes.is_empty() {
            return Ok(None);
        }
        let mut entries = self.thawed();
        for (key, change) in changes {
            match change {
                Some(node) => entries.insert(key, node),
                None => entries.remove(key),
            };
        }
        Ok(Some(Self::Frozen(Rc::new(entries))))
    }

    /// Records the change of a key's value: `None` for a null.
    fn clean_at(
        &self,
        key: &'a str,
        depth: usize,
        changes: &mut Vec<(&'a str, Option<Self>)>,
    ) -> Result<(), TooDeep> {
        if self.is_null() {
            changes.push((key, None));
        } else if self.is_table()
            && let Some(cleaned) = self.cleaned(depth + 1)?
        {
            changes.push((key, Some(cleaned)));
        }
        Ok(())
    }

    /// The entries of a mutable copy.
    fn thawed(&self) -> Entries<'a> {
        match self {
            Self::Leaf(_) => Entries::new(),
            Self::Given(map) => map
                .iter()
                .map(|(key, value)| (key.as_str(), Self::new(value)))
                .collect(),
            Self::Frozen(entries) => (**entries).clone(),
            Self::Live(table) => table.0.borrow().clone(),
        }
    }

    /// Converts it to plain data.
    pub(super) fn to_value(&self) -> Result<Value, TooDeep> {
        self.value_at(0)
    }

    fn value_at(&self, depth: usize) -> Result<Value, TooDeep> {
        if depth > MAX_NESTING {
            return Err(TooDeep);
        }
        match self {
            Self::Leaf(value) => Ok((*value).clone()),
            Self::Given(map) => Ok(Value::Map((*map).clone())),
            Self::Frozen(entries) => Self::map_at(entries, depth),
            Self::Live(table) => Self::map_at(&table.0.borrow(), depth),
        }
    }

    fn map_at(entries: &Entries<'a>, depth: usize) -> Result<Value, TooDeep> {
        let mut map = Map::default();
        for (key, node) in entries {
            map.insert(*key, node.value_at(depth + 1)?);
        }
        Ok(Value::Map(map))
    }
}

impl<'a> Table<'a> {
    /// A new unshared table with the entries of `node`: a deep copy if `node` is frozen.
    pub(super) fn of(node: &Node<'a>) -> Self {
        Self(Rc::new(RefCell::new(node.thawed())))
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn get(&self, key: &str) -> Option<Node<'a>> {
        self.0.borrow().get(key).cloned()
    }

    pub(super) fn set(&self, key: &'a str, node: Node<'a>) {
        self.0.borrow_mut().insert(key, node);
    }

    pub(super) fn remove(&self, key: &str) {
        self.0.borrow_mut().remove(key);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// The table at a key, made live there.
    pub(super) fn table(&self, key: &str) -> Option<Self> {
        let mut entries = self.0.borrow_mut();
        let node = entries.get_mut(key)?;
        match node {
            Node::Leaf(_) => None,
            Node::Live(table) => Some(table.clone()),
            frozen => {
                let table = Self::of(frozen);
                *frozen = Node::Live(table.clone());
                Some(table)
            }
        }
    }

    /// The table at a path of keys, with all tables on it made live.
    pub(super) fn table_at<'k>(&self, path: impl IntoIterator<Item = &'k str>) -> Option<Self> {
        path.into_iter()
            .try_fold(self.clone(), |table, key| table.table(key))
    }

    /// The keys whose value is null.
    pub(super) fn nulls(&self) -> Vec<&'a str> {
        let entries = self.0.borrow();
        let nulls = entries.iter().filter(|(_, node)| node.is_null());
        nulls.map(|(key, _)| *key).collect()
    }

    /// A new table with the same values; nested tables are shared.
    pub(super) fn shallow_copy(&self) -> Self {
        Self(Rc::new(RefCell::new(self.shared_entries().into_iter().collect())))
    }

    fn shared_entries(&self) -> Vec<(&'a str, Node<'a>)> {
        let mut entries = self.0.borrow_mut();
        for node in entries.values_mut() {
            if matches!(node, Node::Given(_) | Node::Frozen(_)) {
                *node = Node::Live(Self::of(node));
            }
        }
        entries.iter().map(|(key, node)| (*key, node.clone())).collect()
    }
}
