//! What all controllers share while this process leads: the client, the stores, who is reconciled, the work queues.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use kube::{Api, Client};

use super::health::Health;
use super::key::{Key, KindId};
use super::kind::{Pool, Wake, Watched};
use super::log_rate::LogRate;
use super::metrics::Metrics;
use super::primaries::Primaries;
use super::queue::Queue;
use super::store::{Store, Stores};
use super::views::{Object, View};

/// What all controllers share; clones are the same. A new one is made for each time as leader.
#[derive(Clone)]
pub struct Cx {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    identity: Identity,
    metrics: Metrics,
    health: Health,
    stores: Stores,
    primaries: Mutex<Primaries>,
    queues: Mutex<Queues>,
    watch_log: Mutex<LogRate>,
}

#[derive(Default)]
struct Queues {
    pools: BTreeMap<Pool, Queue>,
    kinds: BTreeMap<KindId, Queue>,
}

/// Who this is, and whom it talks to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Who reports events: the pod's name.
    pub instance: String,
    /// The API server's URL, for logs.
    pub server: String,
}

impl Cx {
    /// With nothing known yet.
    pub fn new(client: Client, identity: Identity, metrics: Metrics, health: Health) -> Self {
        Self {
            inner: Arc::new(Inner {
                client,
                identity,
                metrics,
                health,
                stores: Stores::default(),
                primaries: Mutex::default(),
                queues: Mutex::default(),
                watch_log: Mutex::default(),
            }),
        }
    }

    /// The API.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Who this is.
    pub fn identity(&self) -> &Identity {
        &self.inner.identity
    }

    /// Counts and durations.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// The state of watches.
    pub fn health(&self) -> &Health {
        &self.inner.health
    }

    /// The wall clock: conditions carry its times.
    pub fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// The objects of a kind that the watches have shown. What is not there may still exist: a write that must not
    /// happen twice is made safe by names and resource versions, never by what a store holds.
    pub fn store<W: Watched>(&self) -> Store<W::View> {
        self.inner.stores.of::<W>()
    }

    /// The stores of all kinds.
    pub fn stores(&self) -> &Stores {
        &self.inner.stores
    }

    /// The API of an object, with a view of it.
    pub fn api<V: View>(&self, key: &Key) -> Api<Object<V>> {
        self.api_in(key.kind, Some(&key.namespace))
    }

    /// The API of a kind in a namespace, or in all.
    pub fn api_in<V: View>(&self, kind: KindId, namespace: Option<&str>) -> Api<Object<V>> {
        let client = self.inner.client.clone();
        match namespace.filter(|_| kind.namespaced) {
            Some(namespace) => Api::namespaced_with(client, namespace, &kind),
            None => Api::all_with(client, &kind),
        }
    }

    /// Whether this operator reconciles an object: it exists and selectors don't leave it out.
    pub fn reconciles(&self, key: &Key) -> bool {
        self.primaries().has(key)
    }

    /// The same of the object with a UID.
    pub fn reconciles_uid(&self, key: &Key, uid: &str) -> bool {
        self.primaries().is(key, uid)
    }

    /// Reconciles an object now, in its turn.
    pub fn wake(&self, key: Key) {
        if let Some(queue) = self.queue(key.kind) {
            queue.add(key);
        }
    }

    /// Reconciles an object before those that only wait.
    pub fn wake_urgent(&self, key: Key) {
        if let Some(queue) = self.queue(key.kind) {
            queue.add_urgent(key);
        }
    }

    /// Wakes what a dependent wakes.
    pub fn wake_all(&self, wakes: impl IntoIterator<Item = Wake>) {
        for Wake { key, urgent } in wakes {
            if urgent {
                self.wake_urgent(key);
            } else {
                self.wake(key);
            }
        }
    }

    /// The objects that are reconciled. Never held across an await.
    pub(super) fn primaries(&self) -> MutexGuard<'_, Primaries> {
        lock(&self.inner.primaries)
    }

    /// As if the watch of its kind had shown it.
    #[cfg(test)]
    pub(crate) fn select_for_test<V>(&self, key: &Key, object: &Object<V>) {
        let trigger = super::primaries::Trigger::new(object, 0);
        self.primaries().put(key, trigger);
    }

    /// How often failed watches are logged. Never held across an await.
    pub(super) fn watch_log(&self) -> MutexGuard<'_, LogRate> {
        lock(&self.inner.watch_log)
    }

    /// The queue of a kind, when this operator reconciles it.
    pub(crate) fn queue(&self, kind: KindId) -> Option<Queue> {
        lock(&self.inner.queues).kinds.get(&kind).cloned()
    }

    /// The queue of a pool, for its workers.
    pub(super) fn pools(&self) -> BTreeMap<Pool, Queue> {
        lock(&self.inner.queues).pools.clone()
    }

    /// Puts a kind into a pool.
    pub(super) fn add_kind(&self, kind: KindId, pool: Pool) {
        let mut queues = lock(&self.inner.queues);
        let queue = queues.pools.entry(pool).or_default().clone();
        queues.kinds.insert(kind, queue);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
