//! Whether watches receive events and workers finish their reconciles: what `/readyz` and `/healthz` report.
//!
//! A watch that failed after the first list once left `/readyz` at 200: no object was reconciled, and no probe failed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::key::KindId;
use super::queue::Queue;

/// How long a watch may fail before the process is not ready: an API server restarts sooner.
const FAILING_LIMIT: Duration = Duration::from_secs(15);
/// How long after its last error a watch without events counts as failing: it is restarted sooner than this, and a
/// successful restart may deliver no event.
const ERROR_LIFETIME: Duration = Duration::from_secs(45);
/// How long a reconcile may take before its worker counts as hung: a timeout cancels it long before, unless it blocks
/// its thread.
pub(super) const HANG_LIMIT: Duration = Duration::from_secs(300);

/// The state of watches and workers; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Health {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Another process is the leader, or this one is and its first lists are complete.
    ready: bool,
    watches: BTreeMap<WatchId, Streak>,
    queues: Vec<Queue>,
}

/// A watch: its kind, its namespace, and a number for a second one of the same.
pub(super) type WatchId = (KindId, Option<String>, u8);

/// Consecutive errors of a watch.
#[derive(Debug, Clone, Copy, Default)]
struct Streak {
    errors: Option<(Instant, Instant)>,
}

impl Streak {
    fn failed(&mut self, now: Instant) {
        let first = self.errors.filter(|(_, last)| now - *last < ERROR_LIFETIME);
        self.errors = Some((first.map_or(now, |(first, _)| first), now));
    }

    fn fails(&self, now: Instant) -> bool {
        self.errors
            .is_some_and(|(first, last)| now - first >= FAILING_LIMIT && now - last < ERROR_LIFETIME)
    }
}

impl Health {
    /// The first lists are complete; or another process is the leader.
    pub(super) fn set_ready(&self, ready: bool) {
        self.state().ready = ready;
    }

    /// All watches were stopped.
    pub(super) fn stopped(&self) {
        *self.state() = State::default();
    }

    /// Checks the workers of these queues from now on.
    pub(super) fn watch_workers(&self, queues: Vec<Queue>) {
        self.state().queues = queues;
    }

    pub(super) fn watch_failed(&self, id: &WatchId, now: Instant) {
        self.state().watches.entry(id.clone()).or_default().failed(now);
    }

    pub(super) fn watch_works(&self, id: &WatchId) {
        self.state().watches.remove(id);
    }

    /// The kinds whose watches are failing.
    pub(super) fn failing(&self, now: Instant) -> Vec<KindId> {
        let state = self.state();
        let failing = state.watches.iter().filter(|(_, streak)| streak.fails(now));
        let mut kinds: Vec<KindId> = failing.map(|((kind, ..), _)| *kind).collect();
        kinds.dedup();
        kinds
    }

    /// Why the process is not ready.
    pub(super) fn not_ready(&self, now: Instant) -> Option<String> {
        if !self.state().ready {
            return Some("the first lists are not complete".to_owned());
        }
        let failing: Vec<&str> = self.failing(now).iter().map(|kind| kind.plural).collect();
        (!failing.is_empty()).then(|| format!("watches fail: {}", failing.join(", ")))
    }

    /// Why the process should be restarted.
    pub(super) fn not_alive(&self, now: Instant) -> Option<String> {
        let queues = self.state().queues.clone();
        let oldest = queues
            .iter()
            .filter_map(Queue::oldest_active)
            .min_by_key(|(_, since)| *since);
        let (key, since) = oldest.filter(|(_, since)| now - *since >= HANG_LIMIT)?;
        let (kind, seconds) = (key.kind.kind, (now - since).as_secs());
        Some(format!(
            "the reconcile of {kind} {key} has been running for {seconds} s"
        ))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::test_kinds::{LAMPS, name};
    use crate::tests::run;
    use tokio::time::advance;

    #[test]
    fn a_watch_that_keeps_failing_is_not_ready_and_one_that_recovers_is() {
        run(async {
            let (health, id) = (Health::default(), (LAMPS, None, 0));
            assert!(
                health.not_ready(Instant::now()).is_some(),
                "nothing is listed yet"
            );
            health.set_ready(true);
            health.watch_failed(&id, Instant::now());
            advance(FAILING_LIMIT - Duration::from_secs(1)).await;
            assert_eq!(
                health.not_ready(Instant::now()),
                None,
                "a restart of the API server"
            );
            advance(Duration::from_secs(1)).await;
            health.watch_failed(&id, Instant::now());
            assert_eq!(
                health.not_ready(Instant::now()).as_deref(),
                Some("watches fail: lamps")
            );
            assert_eq!(health.failing(Instant::now()), [LAMPS]);
            // Restarted watches deliver nothing until an object changes.
            advance(ERROR_LIFETIME).await;
            assert_eq!(health.not_ready(Instant::now()), None);
            health.watch_failed(&id, Instant::now());
            advance(FAILING_LIMIT).await;
            health.watch_failed(&id, Instant::now());
            assert!(health.not_ready(Instant::now()).is_some(), "a new streak");
            health.watch_works(&id);
            assert_eq!(health.not_ready(Instant::now()), None);
        });
    }

    #[test]
    fn a_reconcile_that_never_returns_fails_the_liveness_probe() {
        run(async {
            let (health, queue) = (Health::default(), Queue::default());
            health.watch_workers(vec![queue.clone()]);
            queue.add(LAMPS.key(name("a", "one")));
            let key = queue.next().await;
            advance(HANG_LIMIT - Duration::from_secs(1)).await;
            assert_eq!(health.not_alive(Instant::now()), None);
            advance(Duration::from_secs(1)).await;
            let why = health.not_alive(Instant::now()).expect("it hangs");
            assert_eq!(why, "the reconcile of Lamp a/one has been running for 300 s");
            queue.done(&key, None);
            assert_eq!(health.not_alive(Instant::now()), None);
        });
    }
}
