//! What all controllers share while this process is the leader: the client, the stores, the reconciled objects, the
//! work queues.

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

/// What all controllers share; clones share it too. A new one is made for each term as leader.
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

/// The identity of this process, and its API server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The reporting instance of events: the pod's name.
    pub instance: String,
    /// The API server's URL, for logs.
    pub server: String,
}

impl Cx {
    /// With empty stores.
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

    /// The client of the API server.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// The identity of this process.
    pub fn identity(&self) -> &Identity {
        &self.inner.identity
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// The health of watches and workers.
    pub fn health(&self) -> &Health {
        &self.inner.health
    }

    /// The wall clock, for the timestamps of conditions.
    pub fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// The objects of a kind that the watches have delivered. An object that is missing may still exist: a write that
    /// must not happen twice is made safe by names and resource versions, never by the content of a store.
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

    /// Whether this operator reconciles an object: it exists and the selectors match it.
    pub fn reconciles(&self, key: &Key) -> bool {
        self.primaries().has(key)
    }

    /// Whether this operator reconciles the object with this UID.
    pub fn reconciles_uid(&self, key: &Key, uid: &str) -> bool {
        self.primaries().is(key, uid)
    }

    /// Queues an object.
    pub fn wake(&self, key: Key) {
        if let Some(queue) = self.queue(key.kind) {
            queue.add(key);
        }
    }

    /// Queues an object ahead of those that are not urgent.
    pub fn wake_urgent(&self, key: Key) {
        if let Some(queue) = self.queue(key.kind) {
            queue.add_urgent(key);
        }
    }

    /// Queues the objects that a dependent wakes.
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

    /// As if the watch of its kind had delivered it.
    #[cfg(test)]
    pub(crate) fn select_for_test<V>(&self, key: &Key, object: &Object<V>) {
        let trigger = super::primaries::Trigger::new(object, 0);
        self.primaries().put(key, trigger);
    }

    /// The rate limit for logs of failed watches. Never held across an await.
    pub(super) fn watch_log(&self) -> MutexGuard<'_, LogRate> {
        lock(&self.inner.watch_log)
    }

    /// The queue of a kind, if this operator reconciles it.
    pub(crate) fn queue(&self, kind: KindId) -> Option<Queue> {
        lock(&self.inner.queues).kinds.get(&kind).cloned()
    }

    /// The queue of each pool, for its workers.
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
