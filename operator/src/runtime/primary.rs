//! Handles the watch events of a primary kind: fills its store, and wakes the object and objects of other kinds.

use std::sync::Arc;

use jiff::Timestamp;

use super::cx::Cx;
use super::key::Key;
use super::kind::Kind;
use super::kind::Watched;
use super::primaries::Trigger;
use super::store::{Replaced, Store};
use super::views::Object;
use super::watch::ObjectEvent;

/// The purpose of a watch. One watch has both; two are needed where a selector excludes objects that other kinds still
/// read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Both.
    All,
    /// It selects the objects that are reconciled.
    Select,
    /// It fills the store.
    Fill,
}

/// Handles the events of a primary kind.
pub(super) struct Primary<K: Kind> {
    cx: Cx,
    kind: Arc<K>,
    role: Role,
    filler: Filler<K>,
    /// The objects of a list that is not complete yet, which wakes them.
    listed: Vec<(Timestamp, Key)>,
}

/// Fills the store of a kind, and wakes objects of other kinds.
pub(super) struct Filler<W: Watched> {
    cx: Cx,
    store: Store<W::View>,
}

impl<W: Watched> Filler<W> {
    pub(super) fn new(cx: Cx) -> Self {
        let store = cx.store::<W>();
        Self { cx, store }
    }

    pub(super) fn handle(&self, event: ObjectEvent<'_, W::View>) {
        match event {
            ObjectEvent::Applied { object, .. } => self.apply(object),
            ObjectEvent::Deleted(object) => self.remove(&object),
            ObjectEvent::Listed { uids, namespace } => {
                let gone = self.store.retain(uids, namespace);
                gone.iter().for_each(|change| self.wake(change));
            }
        }
    }

    fn apply(&self, mut object: Object<W::View>) {
        if !W::LABELS {
            object.metadata.labels = None;
        }
        let change = self.store.apply(object);
        change.iter().for_each(|change| self.wake(change));
    }

    fn remove(&self, object: &Object<W::View>) {
        let change = self.store.remove(&object.name());
        change.iter().for_each(|change| self.wake(change));
    }

    /// Rules see the object before and after, so that objects it no longer refers to are woken too.
    fn wake(&self, change: &Replaced<W::View>) {
        if let (Some(old), Some(new)) = (&change.old, &change.new)
            && !W::concerns_others(old, new)
        {
            return;
        }
        for key in self.store.woken(change, self.cx.stores()) {
            if self.cx.reconciles(&key) {
                self.cx.wake(key);
            }
        }
    }
}

impl<K: Kind> Primary<K> {
    pub(super) fn new(cx: Cx, kind: Arc<K>, role: Role) -> Self {
        Self {
            filler: Filler::new(cx.clone()),
            cx,
            kind,
            role,
            listed: Vec::new(),
        }
    }

    pub(super) fn handle(&mut self, event: ObjectEvent<'_, K::View>) {
        match event {
            ObjectEvent::Applied { object, listed } => self.applied(object, listed),
            ObjectEvent::Deleted(object) => {
                if self.role != Role::Select {
                    self.filler.remove(&object);
                }
                let key = object.key(K::ID);
                let known = if self.role == Role::Fill {
                    self.cx.reconciles(&key)
                } else {
                    self.cx.primaries().remove(&key)
                };
                if known {
                    self.cx.wake(key);
                }
            }
            ObjectEvent::Listed { uids, namespace } => {
                if self.role != Role::Select {
                    self.filler.handle(ObjectEvent::Listed { uids, namespace });
                }
                let mut gone = Vec::new();
                if self.role != Role::Fill {
                    gone = self.cx.primaries().retain(K::ID, uids, namespace);
                }
                // The oldest first, so that queues are in order after a restart.
                self.listed.sort();
                let listed = self.listed.drain(..).map(|(_, key)| key);
                listed.chain(gone).for_each(|key| self.cx.wake(key));
            }
        }
    }

    fn applied(&mut self, object: Object<K::View>, listed: bool) {
        let key = object.key(K::ID);
        let trigger = Trigger::new(&object, K::wakes(&object));
        let created = object.metadata.creation_timestamp.as_ref();
        let created = created.map_or(Timestamp::MIN, |time| time.0);
        let group = K::group(&object);
        let wakes = match self.role {
            // The watch with the selector may have delivered it first, when the store had nothing to read yet.
            Role::Fill => {
                let known = self.filler.store.get(&object.name());
                let old = known.map(|old| Trigger::new(&old, K::wakes(&old)));
                self.cx.reconciles(&key) && old.as_ref() != Some(&trigger)
            }
            Role::All | Role::Select => self.cx.primaries().put(&key, trigger),
        };
        if self.role != Role::Select {
            self.filler.apply(object);
        }
        if let Some(queue) = self.cx.queue(K::ID) {
            queue.set_group(&key, group);
        }
        if wakes && listed {
            self.listed.push((created, key));
        } else if wakes {
            self.cx.wake(key);
        } else if self.role != Role::Fill && !listed {
            self.cx.metrics().status_modified(K::ID);
            self.kind.status_modified(&key);
            tracing::trace!(kind = K::ID.kind, %key, "own status changed");
        }
    }
}
