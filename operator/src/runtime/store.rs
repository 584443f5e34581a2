//! Stores: the objects that the watches have delivered, by name and by reverse indexes, so that no reconcile has to
//! list.
//!
//! A store holds [`Object`]s with a view of the fields that are read. The kind's watch fills it before any reconcile
//! that the change starts; readers get shared objects and never block.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::key::{Key, KindId, ObjectName};
use super::kind::Watched;
use super::views::{Object, View};

/// The objects of one kind; clones share the store.
#[derive(Clone)]
pub struct Store<V> {
    inner: Arc<Mutex<Inner<V>>>,
}

struct Inner<V> {
    objects: BTreeMap<ObjectName, Arc<Object<V>>>,
    indexes: BTreeMap<&'static str, Index<V>>,
    wakes: Vec<Wakes<V>>,
    /// Rises with each change.
    version: u64,
    /// How many objects readers were given.
    #[cfg(test)]
    reads: AtomicUsize,
}

struct Index<V> {
    keys: IndexKeys<V>,
    names: BTreeMap<ObjectName, BTreeSet<ObjectName>>,
}

/// Returns the keys that an object is indexed by.
type IndexKeys<V> = Box<dyn Fn(&Object<V>) -> Vec<ObjectName> + Send + Sync>;
/// Returns the objects of other kinds that are reconciled when one of this kind has changed.
type Wakes<V> = Arc<dyn Fn(&Object<V>, &Stores) -> Vec<Key> + Send + Sync>;

/// An object before and after a change.
pub(super) struct Replaced<V> {
    pub(super) old: Option<Arc<Object<V>>>,
    pub(super) new: Option<Arc<Object<V>>>,
}

impl<V: View> Default for Store<V> {
    fn default() -> Self {
        Self {
            inner: Arc::new(Mutex::new(Inner {
                objects: BTreeMap::new(),
                indexes: BTreeMap::new(),
                wakes: Vec::new(),
                version: 0,
                #[cfg(test)]
                reads: AtomicUsize::new(0),
            })),
        }
    }
}

impl<V: View> Store<V> {
    /// The object of a name.
    pub fn get(&self, name: &ObjectName) -> Option<Arc<Object<V>>> {
        let inner = self.inner();
        #[cfg(test)]
        inner.reads.fetch_add(1, Ordering::Relaxed);
        inner.objects.get(name).cloned()
    }

    /// Whether there is an object of a name.
    pub fn has(&self, name: &ObjectName) -> bool {
        self.inner().objects.contains_key(name)
    }

    /// All objects of a namespace, by name.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<Object<V>>> {
        let inner = self.inner();
        let from = inner.objects.range(ObjectName::new(namespace, "")..);
        let here = from.take_while(|(name, _)| name.namespace == namespace);
        let here: Vec<_> = here.map(|(_, object)| Arc::clone(object)).collect();
        #[cfg(test)]
        inner.reads.fetch_add(here.len(), Ordering::Relaxed);
        here
    }

    /// All objects, by namespace and name.
    pub fn all(&self) -> Vec<Arc<Object<V>>> {
        let inner = self.inner();
        let all: Vec<_> = inner.objects.values().cloned().collect();
        #[cfg(test)]
        inner.reads.fetch_add(all.len(), Ordering::Relaxed);
        all
    }

    /// The objects that an index has for a key, by namespace and name. Empty if there is no such index.
    pub fn by(&self, index: &str, key: &ObjectName) -> Vec<Arc<Object<V>>> {
        let inner = self.inner();
        let names = inner.indexes.get(index).and_then(|index| index.names.get(key));
        let objects = names
            .into_iter()
            .flatten()
            .filter_map(|name| inner.objects.get(name));
        let found: Vec<_> = objects.cloned().collect();
        #[cfg(test)]
        inner.reads.fetch_add(found.len(), Ordering::Relaxed);
        found
    }

    /// How many objects an index has under a key.
    pub fn count(&self, index: &str, key: &ObjectName) -> usize {
        let inner = self.inner();
        let names = inner.indexes.get(index).and_then(|index| index.names.get(key));
        names.map_or(0, BTreeSet::len)
    }

    /// How many objects readers were given so far: what a test of the work compares.
    #[cfg(test)]
    pub(crate) fn reads(&self) -> usize {
        self.inner().reads.load(Ordering::Relaxed)
    }

    /// As if the watch had shown it.
    #[cfg(test)]
    pub(crate) fn put_for_test(&self, object: Object<V>) {
        self.apply(object);
    }

    /// As if the watch had shown that it is gone.
    #[cfg(test)]
    pub(crate) fn remove_for_test(&self, name: &ObjectName) {
        self.remove(name);
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.inner().objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rises with each change.
    pub(super) fn version(&self) -> u64 {
        self.inner().version
    }

    /// Adds an index: `keys` returns the keys of an object.
    pub(super) fn add_index(
        &self,
        name: &'static str,
        keys: impl Fn(&Object<V>) -> Vec<ObjectName> + Send + Sync + 'static,
    ) {
        let mut inner = self.inner();
        let mut index = Index {
            keys: Box::new(keys),
            names: BTreeMap::new(),
        };
        inner.objects.values().for_each(|object| index.add(object));
        inner.indexes.insert(name, index);
    }

    pub(super) fn add_wakes(&self, wakes: impl Fn(&Object<V>, &Stores) -> Vec<Key> + Send + Sync + 'static) {
        self.inner().wakes.push(Arc::new(wakes));
    }

    /// Whether other kinds read it: then it must hold all objects, also those that selectors exclude.
    pub(super) fn is_read_by_others(&self) -> bool {
        let inner = self.inner();
        !inner.wakes.is_empty() || !inner.indexes.is_empty()
    }

    /// The keys that a change wakes, by the rules for the object before and after it.
    pub(super) fn woken(&self, change: &Replaced<V>, stores: &Stores) -> BTreeSet<Key> {
        // The rules read stores, so the lock must not be held.
        let wakes = self.inner().wakes.clone();
        let objects = [&change.old, &change.new].into_iter().flatten();
        let keys = objects.flat_map(|object| wakes.iter().flat_map(|wakes| wakes(object, stores)));
        keys.collect()
    }

    /// An object was created or changed. `None`: none of its kept fields changed.
    pub(super) fn apply(&self, mut object: Object<V>) -> Option<Replaced<V>> {
        let mut inner = self.inner();
        let name = object.name();
        if let Some(old) = inner.objects.get(&name) {
            let version = object.metadata.resource_version.take();
            object
                .metadata
                .resource_version
                .clone_from(&old.metadata.resource_version);
            let same = **old == object;
            object.metadata.resource_version = version;
            if same {
                // A later patch must have the current resourceVersion.
                inner.objects.insert(name, Arc::new(object));
                return None;
            }
        }
        let new = Arc::new(object);
        let old = inner.objects.insert(name, Arc::clone(&new));
        inner.reindex(old.as_deref(), Some(&new));
        Some(Replaced { old, new: Some(new) })
    }

    /// An object was deleted.
    pub(super) fn remove(&self, name: &ObjectName) -> Option<Replaced<V>> {
        let mut inner = self.inner();
        let old = inner.objects.remove(name)?;
        inner.reindex(Some(&old), None);
        Some(Replaced {
            old: Some(old),
            new: None,
        })
    }

    /// After a new list of one namespace, or of all: removes the objects that were not in it.
    pub(super) fn retain(&self, uids: &BTreeSet<String>, namespace: Option<&str>) -> Vec<Replaced<V>> {
        let gone: Vec<ObjectName> = {
            let inner = self.inner();
            let gone = inner.objects.iter().filter(|(name, object)| {
                namespace.is_none_or(|namespace| namespace == name.namespace) && !uids.contains(object.uid())
            });
            gone.map(|(name, _)| name.clone()).collect()
        };
        gone.iter().filter_map(|name| self.remove(name)).collect()
    }

    fn inner(&self) -> MutexGuard<'_, Inner<V>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Inner<V> {
    fn reindex(&mut self, old: Option<&Object<V>>, new: Option<&Object<V>>) {
        self.version += 1;
        for index in self.indexes.values_mut() {
            if let Some(old) = old {
                index.remove(old);
            }
            if let Some(new) = new {
                index.add(new);
            }
        }
    }
}

impl<V> Index<V> {
    fn add(&mut self, object: &Object<V>) {
        for key in (self.keys)(object) {
            self.names.entry(key).or_default().insert(object.name());
        }
    }

    fn remove(&mut self, object: &Object<V>) {
        for key in (self.keys)(object) {
            if let Some(names) = self.names.get_mut(&key) {
                names.remove(&object.name());
                if names.is_empty() {
                    self.names.remove(&key);
                }
            }
        }
    }
}

/// The stores of all kinds; clones share them.
#[derive(Clone, Default)]
pub struct Stores {
    stores: Arc<Mutex<BTreeMap<KindId, Box<dyn Any + Send>>>>,
    settings: Arc<Mutex<BTreeMap<TypeId, Box<dyn Any + Send>>>>,
}

impl Stores {
    /// Makes a setting known to all that read objects by it: one of a type.
    pub fn share<T: Clone + Send + 'static>(&self, setting: T) {
        let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        settings.insert(TypeId::of::<T>(), Box::new(setting));
    }

    /// The setting of a type, where one is known.
    pub fn shared<T: Clone + 'static>(&self) -> Option<T> {
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        settings.get(&TypeId::of::<T>())?.downcast_ref::<T>().cloned()
    }

    /// The store of a kind.
    pub fn of<W: Watched>(&self) -> Store<W::View> {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        let store = stores
            .entry(W::ID)
            .or_insert_with(|| Box::new(Store::<W::View>::default()));
        match store.downcast_ref::<Store<W::View>>() {
            Some(store) => store.clone(),
            // Two types watch one kind with different views: all but the first get an empty store, which
            // `Controllers::mistakes` reports before anything starts.
            None => Store::default(),
        }
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stores")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::test_kinds::{Lamp, lamp, name};

    fn names<V: View>(objects: &[Arc<Object<V>>]) -> Vec<String> {
        objects.iter().map(|object| object.name().to_string()).collect()
    }

    fn rooms() -> Store<Lamp> {
        let store = Store::default();
        store.add_index("room", |lamp: &Object<Lamp>| {
            let room = lamp.view().map(|lamp| lamp.spec.room.as_str());
            room.filter(|room| !room.is_empty())
                .map(|room| name("rooms", room))
                .into_iter()
                .collect()
        });
        store
    }

    #[test]
    fn an_index_follows_every_change() {
        let (store, hall, attic) = (rooms(), name("rooms", "hall"), name("rooms", "attic"));
        store.apply(lamp("a", "one", "hall", 1));
        store.apply(lamp("b", "two", "hall", 1));
        store.apply(lamp("b", "three", "", 1));
        assert_eq!(names(&store.by("room", &hall)), ["a/one", "b/two"]);
        assert_eq!(names(&store.in_namespace("b")), ["b/three", "b/two"]);
        let change = store.apply(lamp("a", "one", "attic", 2)).expect("a change");
        let room =
            |lamp: Option<Arc<Object<Lamp>>>| lamp.and_then(|lamp| Some(lamp.view()?.spec.room.clone()));
        assert_eq!(
            (room(change.old), room(change.new)),
            (Some("hall".into()), Some("attic".into()))
        );
        assert_eq!(names(&store.by("room", &hall)), ["b/two"]);
        assert_eq!(names(&store.by("room", &attic)), ["a/one"]);
        assert!(store.remove(&name("b", "two")).is_some());
        assert!(store.remove(&name("b", "two")).is_none());
        assert!(store.by("room", &hall).is_empty());
        assert!(store.by("no such index", &hall).is_empty());
        assert_eq!(store.len(), 2);
    }

    #[test]
    fn a_change_of_other_fields_is_none_and_updates_the_resource_version() {
        let store = rooms();
        let mut object = lamp("a", "one", "hall", 1);
        store.apply(object.clone());
        object.metadata.resource_version = Some("8".into());
        assert!(store.apply(object).is_none());
        let stored = store.get(&name("a", "one")).expect("the lamp");
        assert_eq!(stored.metadata.resource_version.as_deref(), Some("8"));
    }

    #[test]
    fn a_new_list_removes_what_is_not_in_it_from_its_namespace() {
        let store = rooms();
        for namespace in ["a", "b"] {
            store.apply(lamp(namespace, "stays", "hall", 1));
            store.apply(lamp(namespace, "goes", "hall", 1));
        }
        let listed = [lamp("a", "stays", "hall", 1).uid().to_owned()].into();
        assert_eq!(store.retain(&listed, Some("a")).len(), 1);
        assert_eq!(
            names(&store.by("room", &name("rooms", "hall"))),
            ["a/stays", "b/goes", "b/stays"]
        );
    }
}
