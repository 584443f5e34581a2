//! What a controller declares: the kinds it watches, the kind it reconciles, and how.

use std::time::Duration;

use super::cx::Cx;
use super::error::Error;
use super::key::{Key, KindId};
use super::queue::Backoff;
use super::status;
use super::views::{Object, View};
use super::watch::ObjectEvent;

/// A kind whose objects are watched.
pub trait Watched: Send + Sync + 'static {
    /// The kind's group, version and names.
    const ID: KindId;
    /// Whether the labels of its objects are kept.
    const LABELS: bool = false;
    /// The states that [`Watched::state`] names; metrics show each of them from the start.
    const STATES: &'static [&'static str] = &[];
    /// What is decoded and kept of them beside metadata.
    type View: View;

    /// Where it stands, for metrics; `None`: it is not counted by state.
    fn state(object: &Object<Self::View>) -> Option<ObjectState<'_>> {
        let _ = object;
        None
    }

    /// Whether a change of one concerns objects of other kinds, which are then reconciled.
    fn concerns_others(before: &Object<Self::View>, after: &Object<Self::View>) -> bool {
        let _ = (before, after);
        true
    }
}

/// A kind that is reconciled: the primary of a controller.
///
/// A reconcile is idempotent and may be interrupted anywhere: the next one continues from the state of the cluster. No
/// two reconciles of one object run at a time. One is started when the object is created, its spec changes, it is being
/// deleted, or an annotation requests it; when [`Kind::wakes`] changes; by dependents and other kinds as the list of
/// controllers says; and after the delay of its last [`Action`]. A change of its own status alone starts none.
pub trait Kind: Watched + Sized {
    /// The pool of workers that reconcile it.
    const POOL: Pool = Pool::SHARED;

    /// How long one reconcile may take: what never answers must not block a worker for ever.
    const TIMEOUT: Duration = Duration::from_secs(60);

    /// How errors are requeued; the defaults are the operator's flags.
    fn policy(&self, defaults: Policy) -> Policy {
        defaults
    }

    /// A number (usually a hash) of the other fields whose change starts a reconcile.
    fn wakes(object: &Object<Self::View>) -> u64 {
        let _ = object;
        0
    }

    /// Groups of objects take turns in the queue, so that a tenant with many objects doesn't delay other tenants.
    fn group(object: &Object<Self::View>) -> String {
        object.namespace().to_owned()
    }

    /// Reconciles one object, which may be gone.
    fn reconcile(&self, cx: &Cx, key: &Key) -> impl Future<Output = Result<Action, Error>> + Send;

    /// Reports too many consecutive errors in the object's status; the next successful reconcile must replace that.
    fn stalled(&self, cx: &Cx, key: &Key, error: &Error) -> impl Future<Output = Result<(), Error>> + Send {
        status::mark_stalled(cx, key, error)
    }

    /// Called after a reconcile has failed, before it is requeued.
    fn failed(&self, key: &Key) {
        let _ = key;
    }

    /// Called when only the status of an object has changed, which starts no reconcile.
    fn status_modified(&self, key: &Key) {
        let _ = key;
    }

    /// Called when this process became leader, before watches are started.
    fn on_promotion(&self) {}

    /// Called when this process lost leadership and its work was stopped.
    fn on_demotion(&self) {}

    /// Called when another process, or this one, became leader.
    fn on_new_leader(&self, identity: &str) {
        let _ = identity;
    }
}

/// A kind that is watched because other kinds depend on it, and keeps a state of its own. (Where a [`super::Store`] is
/// enough, `Controllers::stored` needs no implementation.)
pub trait Dependent: Watched {
    /// The label selector of its watches. Selectors of the operator's settings never apply to dependents.
    fn selector(&self) -> Option<String> {
        None
    }

    /// Handles an event of the watch. Returns the objects to wake.
    fn handle(&self, event: ObjectEvent<'_, Self::View>) -> Vec<Wake>;
}

/// An object to reconcile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// The object.
    pub key: Key,
    /// Ahead of objects that are not urgent.
    pub urgent: bool,
}

/// A set of workers. Kinds that wait for other systems (a workload cluster, a registry) get their own, so that they
/// don't delay other kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pool {
    /// Its name.
    pub name: &'static str,
    /// The number of workers; `None`: the value of `--concurrency`.
    pub workers: Option<usize>,
}

impl Pool {
    /// The pool of kinds that reconcile quickly.
    pub const SHARED: Self = Self {
        name: "shared",
        workers: None,
    };
}

/// The retry policy after errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The delays.
    pub backoff: Backoff,
    /// After how many consecutive errors an object is Stalled. It is still requeued.
    pub max_retries: u32,
}

/// The result of a reconcile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Action {
    /// When to reconcile again, unless a change does so earlier.
    pub requeue: Option<Duration>,
}

impl Action {
    /// No requeue: the next change starts a reconcile.
    pub fn done() -> Self {
        Self::default()
    }

    /// Requeues after a delay.
    pub fn requeue(after: Duration) -> Self {
        Self { requeue: Some(after) }
    }
}

/// The state of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectState<'a> {
    /// One of [`Watched::STATES`].
    pub name: &'a str,
    /// Whether it waits for something that may never come: metrics show the age of the oldest waiting object.
    pub waiting: bool,
}
