//! The work queue: each key is reconciled by one worker at a time, and none is lost.
//!
//! Urgent keys come first, and groups take turns: namespaces, or the groups that a kind defines
//! ([`super::Kind::group`]).
//!
//! A wake-up during a reconcile starts another one afterwards. Errors are requeued
//! with an exponential backoff per key, which a success resets.

mod fair_queue;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::key::Key;
use fair_queue::FairQueue;

/// The queue of a pool of workers; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    inner: Arc<Inner>,
}

/// The backoff after errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first error.
    pub min: Duration,
    /// The maximum delay.
    pub max: Duration,
}

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    notify: Notify,
}

#[derive(Debug, Default)]
struct State {
    lines: BTreeMap<Class, FairQueue>,
    /// The queued keys and their class; a key that was promoted still has an entry in the other queue.
    queued: BTreeMap<Key, Class>,
    /// Since when each key is being reconciled.
    active: BTreeMap<Key, Instant>,
    /// Keys that were woken while active.
    dirty: BTreeMap<Key, Class>,
    /// The group of a key, where it is not its namespace.
    groups: BTreeMap<Key, String>,
    timers: BTreeSet<(Instant, Key)>,
    due: BTreeMap<Key, Instant>,
    failures: BTreeMap<Key, u32>,
}

/// The priority of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Other objects wait for it.
    Urgent,
    /// All other keys.
    Waiting,
}

impl Backoff {
    /// The delay after so many consecutive failures; `random` adds jitter over its upper half.
    fn delay(self, failures: u32, random: u64) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1).min(30));
        let whole = self.min.saturating_mul(factor).min(self.max);
        let spread = whole.as_millis() as u64 / 2;
        whole - Duration::from_millis(if spread == 0 { 0 } else { random % spread })
    }
}

impl Queue {
    /// Queues a key.
    pub(crate) fn add(&self, key: Key) {
        self.state().wake(key, Class::Waiting);
        self.inner.notify.notify_one();
    }

    /// Queues a key ahead of those that are not urgent.
    pub(crate) fn add_urgent(&self, key: Key) {
        self.state().wake(key, Class::Urgent);
        self.inner.notify.notify_one();
    }

    /// Sets the group of a key.
    pub(crate) fn set_group(&self, key: &Key, group: String) {
        let mut state = self.state();
        if group == key.namespace {
            state.groups.remove(key);
        } else {
            state.groups.insert(key.clone(), group);
        }
    }

    /// Forgets a deleted object.
    pub(crate) fn forget(&self, key: &Key) {
        self.state().groups.remove(key);
    }

    /// The next key; waits for one. [`Queue::done`] must follow.
    pub(crate) async fn next(&self) -> Key {
        loop {
            // Created before the check, so that no wake-up in between is missed.
            let notified = self.inner.notify.notified();
            let until = {
                let mut state = self.state();
                state.promote_due(Instant::now());
                if let Some(key) = state.take() {
                    if !state.queued.is_empty() {
                        self.inner.notify.notify_one();
                    }
                    return key;
                }
                state.timers.first().map(|(at, _)| *at)
            };
            match until {
                Some(until) => tokio::select! { () = notified => {}, () = sleep_until(until) => {} },
                None => notified.await,
            }
        }
    }

    /// A reconcile has succeeded; `requeue` is the delay until the next one, unless a wake-up comes earlier.
    pub(crate) fn done(&self, key: &Key, requeue: Option<Duration>) {
        let mut state = self.state();
        state.failures.remove(key);
        state.finish(key, requeue.map(|delay| Instant::now() + delay));
        drop(state);
        self.inner.notify.notify_one();
    }

    /// A reconcile has failed. Returns the number of consecutive failures; [`Queue::failed`] must follow.
    pub(crate) fn count_failure(&self, key: &Key) -> u32 {
        let mut state = self.state();
        let failures = state.failures.entry(key.clone()).or_default();
        *failures = failures.saturating_add(1);
        *failures
    }

    /// A failed reconcile is over. Returns the delay until it is requeued, unless a wake-up comes earlier: one during
    /// the reconcile counts like one after it.
    pub(crate) fn failed(&self, key: &Key, backoff: Backoff, random: u64) -> Duration {
        let mut state = self.state();
        let failures = state.failures.get(key).copied().unwrap_or(1);
        let delay = backoff.delay(failures, random);
        state.finish(key, Some(Instant::now() + delay));
        drop(state);
        self.inner.notify.notify_one();
        delay
    }

    /// The number of ready keys, active keys and timers.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let state = self.state();
        (state.queued.len(), state.active.len(), state.timers.len())
    }

    /// The key that has been reconciled for the longest time, and since when.
    pub(crate) fn oldest_active(&self) -> Option<(Key, Instant)> {
        let state = self.state();
        let oldest = state.active.iter().min_by_key(|(_, since)| **since);
        oldest.map(|(key, since)| (key.clone(), *since))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wake(&mut self, key: Key, class: Class) {
        self.clear_timer(&key);
        if self.active.contains_key(&key) {
            let dirty = self.dirty.entry(key).or_insert(class);
            *dirty = class.min(*dirty);
            return;
        }
        if self.queued.get(&key).is_some_and(|queued| *queued <= class) {
            return;
        }
        self.queued.insert(key.clone(), class);
        let group = self.groups.get(&key).unwrap_or(&key.namespace).clone();
        self.lines.entry(class).or_default().push(&group, key);
    }

    /// Queues the keys whose delay has passed.
    fn promote_due(&mut self, now: Instant) {
        while let Some((at, key)) = self.timers.first().cloned() {
            if at > now {
                break;
            }
            self.wake(key, Class::Waiting);
        }
    }

    fn take(&mut self) -> Option<Key> {
        for (class, line) in &mut self.lines {
            while let Some(key) = line.pop() {
                if self.queued.get(&key) == Some(class) {
                    self.queued.remove(&key);
                    self.active.insert(key.clone(), Instant::now());
                    return Some(key);
                }
            }
        }
        None
    }

    fn finish(&mut self, key: &Key, at: Option<Instant>) {
        self.active.remove(key);
        if let Some(class) = self.dirty.remove(key) {
            self.wake(key.clone(), class);
        } else if let Some(at) = at {
            self.clear_timer(key);
            self.timers.insert((at, key.clone()));
            self.due.insert(key.clone(), at);
        }
    }

    fn clear_timer(&mut self, key: &Key) {
        if let Some(at) = self.due.remove(key) {
            self.timers.remove(&(at, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::key::ObjectName;
    use crate::runtime::test_kinds::LAMPS;
    use crate::tests::run;

    const BACKOFF: Backoff = Backoff {
        min: Duration::from_secs(1),
        max: Duration::from_secs(60),
    };

    fn key(name: &str) -> Key {
        LAMPS.key(ObjectName::new("", name))
    }

    fn queue() -> Queue {
        Queue::default()
    }

    #[test]
    fn a_wake_up_during_a_reconcile_is_not_lost() {
        run(async {
            let queue = queue();
            queue.add(key("a"));
            assert_eq!(queue.next().await, key("a"));
            queue.add(key("a"));
            queue.add(key("a"));
            assert_eq!(queue.counts(), (0, 1, 0), "not reconciled twice at a time");
            queue.done(&key("a"), Some(Duration::from_secs(3600)));
            assert_eq!(queue.next().await, key("a"));
            queue.done(&key("a"), None);
            assert_eq!(queue.counts(), (0, 0, 0), "and only once more");
        });
    }

    #[test]
    fn a_requeue_is_due_after_its_delay_and_an_earlier_wake_up_replaces_it() {
        run(async {
            let queue = queue();
            queue.add(key("a"));
            queue.next().await;
            let start = Instant::now();
            queue.done(&key("a"), Some(Duration::from_secs(30)));
            queue.next().await;
            assert_eq!(start.elapsed().as_secs(), 30);
            queue.done(&key("a"), Some(Duration::from_secs(30)));
            queue.add(key("a"));
            queue.next().await;
            assert_eq!(start.elapsed().as_secs(), 30);
            queue.done(&key("a"), None);
            assert_eq!(queue.counts(), (0, 0, 0));
        });
    }

    #[test]
    fn errors_back_off_and_a_success_resets() {
        run(async {
            let queue = queue();
            let mut delays = Vec::new();
            queue.add(key("a"));
            for _ in 0..8 {
                queue.next().await;
                queue.count_failure(&key("a"));
                delays.push(queue.failed(&key("a"), BACKOFF, 0).as_secs());
            }
            assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
            queue.next().await;
            queue.done(&key("a"), None);
            queue.add(key("a"));
            queue.next().await;
            assert_eq!(queue.count_failure(&key("a")), 1);
            assert_eq!(queue.failed(&key("a"), BACKOFF, 0), Duration::from_secs(1));
        });
    }

    /// Such a wake-up once waited for the backoff, up to a minute; one right after the reconcile did not.
    #[test]
    fn a_wake_up_during_a_reconcile_that_fails_is_not_lost_either() {
        run(async {
            let queue = queue();
            for name in ["a", "b"] {
                queue.set_group(&key(name), "group".into());
                queue.add(key(name));
            }
            let start = Instant::now();
            assert_eq!(queue.next().await, key("a"));
            queue.add_urgent(key("a"));
            assert_eq!(queue.count_failure(&key("a")), 1);
            queue.failed(&key("a"), BACKOFF, 0);
            assert_eq!(queue.next().await, key("a"), "before those that wait");
            assert_eq!(start.elapsed(), Duration::ZERO);
            assert_eq!(queue.count_failure(&key("a")), 2, "it counts on");
            assert_eq!(queue.failed(&key("a"), BACKOFF, 0), Duration::from_secs(2));
        });
    }

    #[test]
    fn an_urgent_key_comes_first_even_if_it_was_queued_before() {
        run(async {
            let queue = queue();
            for name in ["a", "b", "c"] {
                queue.set_group(&key(name), "group".into());
                queue.add(key(name));
            }
            queue.add_urgent(key("c"));
            let mut order = Vec::new();
            for _ in 0..3 {
                let next = queue.next().await;
                queue.done(&next, None);
                order.push(next.name);
            }
            assert_eq!(order, ["c", "a", "b"]);
            assert_eq!(queue.counts(), (0, 0, 0), "each of them once");
        });
    }

    #[test]
    fn groups_take_turns_and_a_namespace_is_a_group_by_itself() {
        run(async {
            let queue = queue();
            for name in ["m1", "m2", "m3", "f1"] {
                queue.set_group(&key(name), name[..1].to_owned());
                queue.add(key(name));
            }
            queue.add(LAMPS.key(ObjectName::new("f", "f2")));
            let mut reconciled = Vec::new();
            while queue.counts().0 > 0 {
                let next = queue.next().await;
                queue.done(&next, None);
                reconciled.push(next.name);
            }
            assert_eq!(reconciled, ["m1", "f1", "m2", "f2", "m3"]);
        });
    }

    #[test]
    fn jitter_stays_within_the_upper_half() {
        for random in [0, 1, 499, 500, u64::MAX] {
            let delay = BACKOFF.delay(2, random);
            assert!((1001..=2000).contains(&delay.as_millis()), "{delay:?}");
        }
    }

    #[test]
    fn two_workers_take_two_keys() {
        run(async {
            let queue = queue();
            let worker = queue.clone();
            let other = async move { worker.next().await };
            let mine = queue.clone();
            let both = async { tokio::join!(mine.next(), other) };
            queue.add(key("a"));
            queue.add(key("b"));
            let (one, two) = both.await;
            assert_ne!(one, two);
        });
    }
}
