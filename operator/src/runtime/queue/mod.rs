//! The work queue: each key is reconciled by one worker at a time, and none is lost.
//!
//! Those whose Job is there come before those that wait for one, and namespaces take turns (for
//! cluster tasks: their owners' namespaces, which `resolve_group` finds out).
//!
//! A wake-up that comes during a reconcile leads to another reconcile afterwards. Errors are requeued
//! with an exponential backoff per task, which a success resets.

mod fair_queue;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::api::Scope;
use crate::runtime::key::TaskKey;
use fair_queue::FairQueue;

/// The queue; clones are the same one.
#[derive(Debug, Clone)]
pub struct Queue {
    inner: Arc<Inner>,
}

/// The backoff after errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// After the first.
    pub min: Duration,
    /// At most.
    pub max: Duration,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    notify: Notify,
    backoff: Backoff,
}

#[derive(Debug, Default)]
struct State {
    lines: BTreeMap<Class, FairQueue>,
    /// What is in line, and in which one; a key that has moved up has left a trace in the other.
    queued: BTreeMap<TaskKey, Class>,
    active: BTreeSet<TaskKey>,
    /// Woken while active.
    dirty: BTreeMap<TaskKey, Class>,
    /// Whose turn a cluster task comes with, as far as it is known.
    groups: BTreeMap<TaskKey, String>,
    timers: BTreeSet<(Instant, TaskKey)>,
    due: BTreeMap<TaskKey, Instant>,
    failures: BTreeMap<TaskKey, u32>,
}

/// Who comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Its Job is there, or it may make one now.
    Running,
    /// A cluster task of which nobody knows whose it is: a unknown, not a reconcile.
    Unknown,
    /// The rest.
    Waiting,
}

impl Backoff {
    /// How long after so many failures in a row; `random` spreads it over its upper half.
    fn delay(self, failures: u32, random: u64) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1).min(30));
        let whole = self.min.saturating_mul(factor).min(self.max);
        let spread = whole.as_millis() as u64 / 2;
        whole - Duration::from_millis(if spread == 0 { 0 } else { random % spread })
    }
}

impl Queue {
    /// An empty one.
    pub fn new(backoff: Backoff) -> Self {
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(State::default()),
                notify: Notify::new(),
                backoff,
            }),
        }
    }

    /// Wakes a task now, in its turn.
    pub fn add(&self, key: TaskKey) {
        let mut state = self.state();
        let class = state.class_of(&key);
        state.wake(key, class);
        drop(state);
        self.inner.notify.notify_one();
    }

    /// Wakes a task whose Job is there, or that may make one now: it holds a slot.
    pub fn add_urgent(&self, key: TaskKey) {
        self.state().wake(key, Class::Running);
        self.inner.notify.notify_one();
    }

    /// Whether the group should be resolved before it is reconciled: others wait.
    pub fn group_is_unknown(&self, key: &TaskKey) -> bool {
        let state = self.state();
        state.class_of(key) == Class::Unknown && !state.queued.is_empty()
    }

    /// The group that a key takes turns in.
    pub fn set_group(&self, key: &TaskKey, group: String) {
        self.state().groups.insert(key.clone(), group);
    }

    /// The task is gone.
    pub fn forget(&self, key: &TaskKey) {
        self.state().groups.remove(key);
    }

    /// The next task; waits for one. [`Queue::done`] must follow.
    pub async fn next(&self) -> TaskKey {
        loop {
            // Made before looking, so that what comes in between is noticed.
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

    /// A reconcile has succeeded; `requeue` after that time, if nothing happens.
    pub fn done(&self, key: &TaskKey, requeue: Option<Duration>) {
        let mut state = self.state();
        state.failures.remove(key);
        state.finish(key, requeue.map(|delay| Instant::now() + delay));
        drop(state);
        self.inner.notify.notify_one();
    }

    /// A reconcile has failed. Gives back how often in a row; [`Queue::failed`] must follow.
    pub fn count_failure(&self, key: &TaskKey) -> u32 {
        let mut state = self.state();
        let failures = state.failures.entry(key.clone()).or_default();
        *failures = failures.saturating_add(1);
        *failures
    }

    /// A reconcile that has failed is over. Gives back when it is tried again, if nothing happens: a wake-up that came
    /// during the reconcile counts as one that comes after it.
    pub fn failed(&self, key: &TaskKey, random: u64) -> Duration {
        let mut state = self.state();
        let failures = state.failures.get(key).copied().unwrap_or(1);
        let delay = self.inner.backoff.delay(failures, random);
        state.finish(key, Some(Instant::now() + delay));
        drop(state);
        self.inner.notify.notify_one();
        delay
    }

    /// Ready ones, active ones, and timers.
    pub fn counts(&self) -> (usize, usize, usize) {
        let state = self.state();
        (state.queued.len(), state.active.len(), state.timers.len())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn class_of(&self, key: &TaskKey) -> Class {
        if key.scope == Scope::Cluster && !self.groups.contains_key(key) {
            Class::Unknown
        } else {
            Class::Waiting
        }
    }

    fn wake(&mut self, key: TaskKey, class: Class) {
        self.clear_timer(&key);
        if self.active.contains(&key) {
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

    /// Wakes those whose time has come.
    fn promote_due(&mut self, now: Instant) {
        while let Some((at, key)) = self.timers.first().cloned() {
            if at > now {
                break;
            }
            let class = self.class_of(&key);
            self.wake(key, class);
        }
    }

    fn take(&mut self) -> Option<TaskKey> {
        for (class, line) in &mut self.lines {
            while let Some(key) = line.pop() {
                if self.queued.get(&key) == Some(class) {
                    self.queued.remove(&key);
                    self.active.insert(key.clone());
                    return Some(key);
                }
            }
        }
        None
    }

    fn finish(&mut self, key: &TaskKey, at: Option<Instant>) {
        self.active.remove(key);
        if let Some(class) = self.dirty.remove(key) {
            self.wake(key.clone(), class);
        } else if let Some(at) = at {
            self.clear_timer(key);
            self.timers.insert((at, key.clone()));
            self.due.insert(key.clone(), at);
        }
    }

    fn clear_timer(&mut self, key: &TaskKey) {
        if let Some(at) = self.due.remove(key) {
            self.timers.remove(&(at, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Scope;
    use crate::tests::run;

    fn key(name: &str) -> TaskKey {
        TaskKey {
            scope: Scope::Cluster,
            namespace: String::new(),
            name: name.into(),
        }
    }

    fn queue() -> Queue {
        Queue::new(Backoff {
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
        })
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
    fn a_requeue_comes_in_time_and_a_wake_up_before_it_replaces_it() {
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
                delays.push(queue.failed(&key("a"), 0).as_secs());
            }
            assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
            queue.next().await;
            queue.done(&key("a"), None);
            queue.add(key("a"));
            queue.next().await;
            assert_eq!(queue.count_failure(&key("a")), 1);
            assert_eq!(queue.failed(&key("a"), 0), Duration::from_secs(1));
        });
    }

    /// It once waited for the backoff, up to a minute; one that came right after the reconcile did not.
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
            queue.failed(&key("a"), 0);
            assert_eq!(queue.next().await, key("a"), "before those that wait");
            assert_eq!(start.elapsed(), Duration::ZERO);
            assert_eq!(queue.count_failure(&key("a")), 2, "it counts on");
            assert_eq!(queue.failed(&key("a"), 0), Duration::from_secs(2));
        });
    }

    #[test]
    fn a_task_whose_job_is_there_comes_first_also_when_it_is_in_line() {
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
    fn owners_of_cluster_tasks_take_turns_once_they_are_known() {
        run(async {
            let queue = queue();
            for name in ["m1", "m2", "m3", "f1"] {
                queue.add(key(name));
            }
            let mut reconciled = Vec::new();
            while queue.counts().0 > 0 {
                let next = queue.next().await;
                let unknown = queue.group_is_unknown(&next);
                if unknown {
                    queue.set_group(&next, next.name[..1].to_owned());
                    queue.add(next.clone());
                } else {
                    reconciled.push(next.name.clone());
                }
                queue.done(&next, None);
            }
            assert_eq!(reconciled, ["m1", "f1", "m2", "m3"]);
        });
    }

    #[test]
    fn jitter_stays_within_the_upper_half() {
        let backoff = Backoff {
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
        };
        for random in [0, 1, 499, 500, u64::MAX] {
            let delay = backoff.delay(2, random);
            assert!((1001..=2000).contains(&delay.as_millis()), "{delay:?}");
        }
    }

    #[test]
    fn two_workers_take_two_tasks() {
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
