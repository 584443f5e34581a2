//! The list of controllers: which kinds are reconciled, which are watched because other kinds read them, and which
//! change wakes which objects.
//!
//! ```ignore
//! Controllers::new(cx)
//!     .kind(Targets)
//!     .kind(ReleaseBindings)
//!     .stored::<ReferenceGrants>()
//!     .index::<ReleaseBindings>("target", |binding| binding.view().map(|view| view.target()).into_iter().collect())
//!     .wake::<ReleaseBindings, Targets>(|binding, _| binding.view().map(|view| view.target()).into_iter().collect())
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::cx::Cx;
use super::error::Error;
use super::key::{Key, KindId, ObjectName};
use super::kind::{Action, Dependent, Kind, ObjectState, Policy, Watched};
use super::primary::{Filler, Primary, Role};
use super::store::Stores;
use super::views::Object;
use super::watch::{Selection, unselected, watch};

/// The controllers, and what they watch.
pub struct Controllers {
    cx: Cx,
    controllers: BTreeMap<KindId, Arc<dyn Controller>>,
    primaries: Vec<Watches>,
    dependents: Vec<Watches>,
    watched: BTreeSet<KindId>,
    /// The kinds that indexes and wake rules name; each of them must be watched.
    mentioned: BTreeSet<KindId>,
    repeated: Vec<KindId>,
}

type Watching = BoxFuture<'static, ()>;
type Watches = Box<dyn Fn(&Selection, &UnboundedSender<()>) -> Vec<Watching> + Send + Sync>;

/// A controller, whatever its kind.
pub(super) trait Controller: Send + Sync {
    fn policy(&self, defaults: Policy) -> Policy;
    fn timeout(&self) -> Duration;
    fn reconcile<'a>(&'a self, cx: &'a Cx, key: &'a Key) -> BoxFuture<'a, Result<Action, Error>>;
    fn stalled<'a>(&'a self, cx: &'a Cx, key: &'a Key, error: &'a Error) -> BoxFuture<'a, Result<(), Error>>;
    fn failed(&self, key: &Key);
    fn on_promotion(&self);
    fn on_demotion(&self);
    fn on_new_leader(&self, identity: &str);
    fn census(&self, cx: &Cx) -> Census;
    fn store_version(&self, cx: &Cx) -> u64;
}

/// The number of objects of a kind in each state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    pub(super) states: BTreeMap<String, usize>,
    /// The creation time of the oldest waiting object.
    pub(super) oldest_waiting: Option<Timestamp>,
}

struct Typed<K>(Arc<K>);

impl<K: Kind> Controller for Typed<K> {
    fn policy(&self, defaults: Policy) -> Policy {
        self.0.policy(defaults)
    }

    fn timeout(&self) -> Duration {
        K::TIMEOUT
    }

    fn reconcile<'a>(&'a self, cx: &'a Cx, key: &'a Key) -> BoxFuture<'a, Result<Action, Error>> {
        self.0.reconcile(cx, key).boxed()
    }

    fn stalled<'a>(&'a self, cx: &'a Cx, key: &'a Key, error: &'a Error) -> BoxFuture<'a, Result<(), Error>> {
        self.0.stalled(cx, key, error).boxed()
    }

    fn failed(&self, key: &Key) {
        self.0.failed(key);
    }

    fn on_promotion(&self) {
        self.0.on_promotion();
    }

    fn on_demotion(&self) {
        self.0.on_demotion();
    }

    fn on_new_leader(&self, identity: &str) {
        self.0.on_new_leader(identity);
    }

    fn census(&self, cx: &Cx) -> Census {
        let mut census = Census::default();
        for state in K::STATES {
            census.states.insert((*state).to_owned(), 0);
        }
        for object in cx.store::<K>().all() {
            let Some(ObjectState { name, waiting }) = K::state(&object) else {
                continue;
            };
            *census.states.entry(name.to_owned()).or_default() += 1;
            let created = object.metadata.creation_timestamp.as_ref().map(|time| time.0);
            let older = |old: Timestamp| created.is_some_and(|created| created < old);
            if waiting && census.oldest_waiting.is_none_or(older) {
                census.oldest_waiting = created;
            }
        }
        census
    }

    fn store_version(&self, cx: &Cx) -> u64 {
        cx.store::<K>().version()
    }
}

impl Controllers {
    /// An empty list.
    pub fn new(cx: &Cx) -> Self {
        Self {
            cx: cx.clone(),
            controllers: BTreeMap::new(),
            primaries: Vec::new(),
            dependents: Vec::new(),
            watched: BTreeSet::new(),
            mentioned: BTreeSet::new(),
            repeated: Vec::new(),
        }
    }

    /// Adds a kind that is reconciled. It is watched, and its store is filled.
    #[must_use]
    pub fn kind<K: Kind>(mut self, kind: K) -> Self {
        self.watches(K::ID);
        self.cx.add_kind(K::ID, K::POOL);
        self.cx.metrics().add_kind(K::ID, K::STATES);
        let kind = Arc::new(kind);
        self.controllers.insert(K::ID, Arc::new(Typed(Arc::clone(&kind))));
        let cx = self.cx.clone();
        self.primaries.push(Box::new(move |selection, synced| {
            primary_watches(&cx, &kind, selection, synced)
        }));
        self
    }

    /// Adds a kind that is watched because other kinds depend on it, and keeps a state of its own.
    #[must_use]
    pub fn dependent<D: Dependent>(mut self, dependent: D) -> Self {
        self.watches(D::ID);
        self.cx.metrics().add_watched(D::ID);
        let (cx, dependent) = (self.cx.clone(), Arc::new(dependent));
        self.dependents.push(Box::new(move |selection, synced| {
            let mut config = unselected();
            config.label_selector = dependent.selector();
            let watching = selection
                .namespaces_of_dependents(D::ID)
                .into_iter()
                .map(|namespace| {
                    let (dependent, cx) = (Arc::clone(&dependent), cx.clone());
                    let handle = {
                        let cx = cx.clone();
                        move |event: super::watch::ObjectEvent<'_, D::View>| {
                            cx.wake_all(dependent.handle(event))
                        }
                    };
                    watch(cx, (D::ID, namespace, 0), config.clone(), synced.clone(), handle).boxed()
                });
            watching.collect()
        }));
        self
    }

    /// Adds a kind that is watched because other kinds read it; a store holds its objects.
    #[must_use]
    pub fn stored<W: Watched>(mut self) -> Self {
        self.watches(W::ID);
        self.cx.metrics().add_watched(W::ID);
        let cx = self.cx.clone();
        self.dependents.push(Box::new(move |selection, synced| {
            let watching = selection
                .namespaces_of_dependents(W::ID)
                .into_iter()
                .map(|namespace| {
                    let filler = Filler::<W>::new(cx.clone());
                    let id = (W::ID, namespace, 0);
                    watch(cx.clone(), id, unselected(), synced.clone(), move |event| {
                        filler.handle(event);
                    })
                    .boxed()
                });
            watching.collect()
        }));
        self
    }

    /// Adds an index to a kind's store: `keys` returns the keys that [`super::Store::by`] finds an object by.
    #[must_use]
    pub fn index<W: Watched>(
        mut self,
        name: &'static str,
        keys: impl Fn(&Object<W::View>) -> Vec<ObjectName> + Send + Sync + 'static,
    ) -> Self {
        self.mentioned.insert(W::ID);
        self.cx.store::<W>().add_index(name, keys);
        self
    }

    /// Adds a rule: the objects of `To` that are reconciled whenever an object of `From` is created, changed or
    /// deleted. It is called with the object before and after the change, so that objects it no longer refers to are
    /// reconciled too.
    #[must_use]
    pub fn wake<From: Watched, To: Kind>(
        mut self,
        names: impl Fn(&Object<From::View>, &Stores) -> Vec<ObjectName> + Send + Sync + 'static,
    ) -> Self {
        self.mentioned.extend([From::ID, To::ID]);
        let keys = move |object: &Object<From::View>, stores: &Stores| {
            let names = names(object, stores).into_iter();
            names.map(|name| To::ID.key(name)).collect()
        };
        self.cx.store::<From>().add_wakes(keys);
        self
    }

    /// Mistakes in the list itself: a kind that an index or a rule names but that is not watched, or that is watched
    /// twice.
    pub(super) fn mistakes(&self) -> Vec<String> {
        let unwatched = self.mentioned.difference(&self.watched);
        let unwatched = unwatched.map(|kind| format!("{} is not watched", kind.kind));
        let repeated = self
            .repeated
            .iter()
            .map(|kind| format!("{} is watched twice", kind.kind));
        unwatched.chain(repeated).collect()
    }

    /// The kinds that are reconciled.
    pub(super) fn kinds(&self) -> impl Iterator<Item = KindId> {
        self.controllers.keys().copied()
    }

    pub(super) fn all(&self) -> &BTreeMap<KindId, Arc<dyn Controller>> {
        &self.controllers
    }

    pub(super) fn cx(&self) -> &Cx {
        &self.cx
    }

    /// The watches of primaries, and those of dependents, which are started once the primaries are listed.
    pub(super) fn watching(&self, selection: &Selection, synced: &UnboundedSender<()>) -> [Vec<Watching>; 2] {
        [&self.primaries, &self.dependents].map(|watches| {
            let all = watches.iter().map(|watches| watches(selection, synced));
            all.flatten().collect()
        })
    }

    fn watches(&mut self, kind: KindId) {
        if !self.watched.insert(kind) {
            self.repeated.push(kind);
        }
    }
}

/// One watch for each namespace; two where a selector excludes objects that other kinds read.
fn primary_watches<K: Kind>(
    cx: &Cx,
    kind: &Arc<K>,
    selection: &Selection,
    synced: &UnboundedSender<()>,
) -> Vec<Watching> {
    let one = |role, namespace, number, config| {
        let mut primary = Primary::new(cx.clone(), Arc::clone(kind), role);
        let id = (K::ID, namespace, number);
        watch(cx.clone(), id, config, synced.clone(), move |event| {
            primary.handle(event);
        })
        .boxed()
    };
    let twice = !selection.is_all() && cx.store::<K>().is_read_by_others();
    let role = if twice { Role::Select } else { Role::All };
    let mut all = Vec::new();
    if let Some(config) = selection.config(K::ID) {
        let namespaces = selection.namespaces(K::ID).into_iter();
        all.extend(namespaces.map(|namespace| one(role, namespace, 0, config.clone())));
    }
    if twice {
        let namespaces = selection.namespaces_of_dependents(K::ID).into_iter();
        all.extend(namespaces.map(|namespace| one(Role::Fill, namespace, 1, unselected())));
    }
    all
}
