//! Who is to be looked at, now or later: each task once at a time, none forgotten.
//!
//! A wake-up that comes during a look leads to another look afterwards. Errors are tried again
//! with an exponential backoff per task, which a success resets.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::key::TaskKey;

/// The queue; clones are the same one.
#[derive(Debug, Clone)]
pub struct Queue {
    inner: Arc<Inner>,
}

/// How errors are tried again.
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
    ready: VecDeque<TaskKey>,
    /// What is in `ready`.
    queued: BTreeSet<TaskKey>,
    active: BTreeSet<TaskKey>,
    /// Woken while active.
    dirty: BTreeSet<TaskKey>,
    timers: BTreeSet<(Instant, TaskKey)>,
    due: BTreeMap<TaskKey, Instant>,
    failures: BTreeMap<TaskKey, u32>,
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

    /// Wakes a task now.
    pub fn add(&self, key: TaskKey) {
        self.state().wake(key);
        self.inner.notify.notify_one();
    }

    /// The next task; waits for one. [`Queue::done`] must follow.
    pub async fn next(&self) -> TaskKey {
        loop {
            // Made before looking, so that what comes in between is noticed.
            let notified = self.inner.notify.notified();
            let until = {
                let mut state = self.state();
                state.ring(Instant::now());
                if let Some(key) = state.take() {
                    if !state.ready.is_empty() {
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

    /// A look has succeeded; `requeue` after that time, if nothing happens.
    pub fn done(&self, key: &TaskKey, requeue: Option<Duration>) {
        let mut state = self.state();
        state.failures.remove(key);
        state.finish(key, requeue.map(|delay| Instant::now() + delay));
        drop(state);
        self.inner.notify.notify_one();
    }

    /// A look has failed. Gives back how often in a row, and when it is tried again.
    pub fn failed(&self, key: &TaskKey, random: u64) -> (u32, Duration) {
        let mut state = self.state();
        let failures = state.failures.entry(key.clone()).or_default();
        *failures = failures.saturating_add(1);
        let failures = *failures;
        let delay = self.inner.backoff.delay(failures, random);
        // Waking early would defeat the backoff.
        state.dirty.remove(key);
        state.finish(key, Some(Instant::now() + delay));
        drop(state);
        self.inner.notify.notify_one();
        (failures, delay)
    }

    /// Ready ones, active ones, and timers.
    pub fn counts(&self) -> (usize, usize, usize) {
        let state = self.state();
        (state.ready.len(), state.active.len(), state.timers.len())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wake(&mut self, key: TaskKey) {
        self.clear_timer(&key);
        if self.active.contains(&key) {
            self.dirty.insert(key);
        } else if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// Wakes those whose time has come.
    fn ring(&mut self, now: Instant) {
        while let Some((at, key)) = self.timers.first().cloned() {
            if at > now {
                break;
            }
            self.wake(key);
        }
    }

    fn take(&mut self) -> Option<TaskKey> {
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        self.active.insert(key.clone());
        Some(key)
    }

    fn finish(&mut self, key: &TaskKey, at: Option<Instant>) {
        self.active.remove(key);
        if self.dirty.remove(key) {
            self.wake(key.clone());
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

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        runtime.expect("a runtime").block_on(future)
    }

    #[test]
    fn a_wake_up_during_a_look_is_not_lost() {
        run(async {
            let queue = queue();
            queue.add(key("a"));
            assert_eq!(queue.next().await, key("a"));
            queue.add(key("a"));
            queue.add(key("a"));
            assert_eq!(queue.counts(), (0, 1, 0), "not looked at twice at a time");
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
                delays.push(queue.failed(&key("a"), 0).1.as_secs());
            }
            assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
            queue.next().await;
            queue.done(&key("a"), None);
            queue.add(key("a"));
            queue.next().await;
            assert_eq!(queue.failed(&key("a"), 0), (1, Duration::from_secs(1)));
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
