//! What a controller declares: the kinds it watches, the one it reconciles, and how.

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
    /// Which kind.
    const ID: KindId;
    /// Whether labels are kept of its objects.
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
/// A reconcile is idempotent and may end anywhere: the next one goes on from what is there. Of one object no two run
/// at a time. It is started when the object is new, has another spec, is being deleted, or asks for it by an
/// annotation; by what its [`Kind::wakes`] covers; by dependents and other kinds as the list of controllers says; and
/// after the time of its last [`Action`]. A change of its own status alone starts none.
pub trait Kind: Watched + Sized {
    /// Whose workers reconcile it.
    const POOL: Pool = Pool::SHARED;

    /// How errors are requeued; the defaults are the operator's flags.
    fn policy(&self, defaults: Policy) -> Policy {
        defaults
    }

    /// A number that changes with whatever else of the object should start a reconcile.
    fn wakes(object: &Object<Self::View>) -> u64 {
        let _ = object;
        0
    }

    /// Objects of a group wait for each other, and groups take turns: a tenant with many holds nobody up.
    fn group(object: &Object<Self::View>) -> String {
        object.namespace().to_owned()
    }

    /// Reconciles one object, which may be gone.
    fn reconcile(&self, cx: &Cx, key: &Key) -> impl Future<Output = Result<Action, Error>> + Send;

    /// Reports that reconciles have failed too often in a row; the next one that succeeds must report otherwise.
    fn stalled(&self, cx: &Cx, key: &Key, error: &Error) -> impl Future<Output = Result<(), Error>> + Send {
        status::mark_stalled(cx, key, error)
    }

    /// A reconcile has failed, and is requeued after this.
    fn failed(&self, key: &Key) {
        let _ = key;
    }

    /// Only the status of an object has changed, which starts no work.
    fn status_modified(&self, key: &Key) {
        let _ = key;
    }

    /// This process became leader; nothing is watched yet.
    fn on_promotion(&self) {}

    /// This process lost leadership, and its work has stopped.
    fn on_demotion(&self) {}

    /// Another process, or this one, became leader.
    fn on_new_leader(&self, identity: &str) {
        let _ = identity;
    }
}

/// A kind that is watched because of others, and keeps a state of its own. (One that a [`super::Store`] is enough for
/// needs no code: `Controllers::stored`.)
pub trait Dependent: Watched {
    /// Selects by labels. Selectors of the operator's settings never apply to dependents.
    fn selector(&self) -> Option<String> {
        None
    }

    /// Takes what the watch shows. Gives back what it wakes.
    fn handle(&self, event: ObjectEvent<'_, Self::View>) -> Vec<Wake>;
}

/// An object to reconcile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// Which one.
    pub key: Key,
    /// Before those that only wait.
    pub urgent: bool,
}

/// A set of workers. Kinds that wait for others (a workload cluster, a registry) get their own, so that they hold
/// nobody up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pool {
    /// Its name.
    pub name: &'static str,
    /// How many workers it has; `None`: as the flag `--concurrency` says.
    pub workers: Option<usize>,
}

impl Pool {
    /// The pool of kinds that reconcile quickly.
    pub const SHARED: Self = Self {
        name: "shared",
        workers: None,
    };
}

/// How errors are requeued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The times between.
    pub backoff: Backoff,
    /// After how many errors in a row an object is Stalled. It is requeued all the same.
    pub max_retries: u32,
}

/// The result of a reconcile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Action {
    /// When to reconcile again, if nothing happens.
    pub requeue: Option<Duration>,
}

impl Action {
    /// Nothing until something changes.
    pub fn done() -> Self {
        Self::default()
    }

    /// Again after a time.
    pub fn requeue(after: Duration) -> Self {
        Self { requeue: Some(after) }
    }
}

/// Where an object stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectState<'a> {
    /// One of [`Watched::STATES`].
    pub name: &'a str,
    /// It waits for something that may not come: the age of the oldest one is measured.
    pub waiting: bool,
}
