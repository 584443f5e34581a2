//! Limits how often one Target is reconciled, and how often the progress of its Releases is written.
//!
//! Each of its tasks wakes it several times, and each reconcile handles all of its Releases and may write all of them
//! into the status: without limits, the cost would be quadratic in the number of Releases. What a Target waits for is
//! written at once, and so is the end of it; how many of its charts are pushed meanwhile is written now and then.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::runtime::Key;

/// The pause after a reconcile, for each Release of the Target.
const PAUSE_PER_RELEASE: Duration = Duration::from_millis(10);
/// The maximum pause.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// How long after a write of the status one that only differs in the progress of Releases follows; it doubles with each
/// of these, so that a Target whose tasks wait for long costs few writes, too.
const PROGRESS_PAUSE: Duration = Duration::from_secs(30);
/// The maximum of that.
const MAX_PROGRESS_PAUSE: Duration = Duration::from_secs(240);

/// When each Target may be reconciled, and its progress be written again.
#[derive(Debug, Default)]
pub(super) struct Pace {
    next: Mutex<BTreeMap<Key, Next>>,
}

/// The earliest times; `None`: now.
#[derive(Debug, Clone, Copy, Default)]
struct Next {
    reconcile: Option<Instant>,
    progress: Option<Instant>,
    /// The last pause before a write of progress.
    progress_pause: Duration,
}

impl Pace {
    /// How long a Target must wait; `None`: it needn't wait.
    pub(super) fn wait(&self, key: &Key) -> Option<Duration> {
        left(self.next().get(key)?.reconcile?)
    }

    /// How long progress of its Releases must wait until it is written; `None`: it needn't wait.
    pub(super) fn wait_for_progress(&self, key: &Key) -> Option<Duration> {
        left(self.next().get(key)?.progress?)
    }

    /// Records a reconcile of a Target with so many Releases.
    pub(super) fn reconciled(&self, key: &Key, releases: usize) {
        let releases = u32::try_from(releases).unwrap_or(u32::MAX);
        let pause = PAUSE_PER_RELEASE.saturating_mul(releases).min(MAX_PAUSE);
        self.next().entry(key.clone()).or_default().reconcile = Some(Instant::now() + pause);
    }

    /// Records that a Target's status was written, and whether it was progress alone.
    pub(super) fn reported(&self, key: &Key, is_progress: bool) {
        let mut all = self.next();
        let next = all.entry(key.clone()).or_default();
        next.progress_pause = if is_progress {
            let doubled = next.progress_pause.saturating_mul(2);
            doubled.clamp(PROGRESS_PAUSE, MAX_PROGRESS_PAUSE)
        } else {
            PROGRESS_PAUSE
        };
        next.progress = Some(Instant::now() + next.progress_pause);
    }

    /// Forgets a deleted Target.
    pub(super) fn forget(&self, key: &Key) {
        self.next().remove(key);
    }

    fn next(&self) -> MutexGuard<'_, BTreeMap<Key, Next>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn left(until: Instant) -> Option<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Scope;
    use crate::runtime::ObjectName;

    fn key() -> Key {
        Scope::Namespaced.id().key(ObjectName::new("a", "b"))
    }

    #[tokio::test(start_paused = true)]
    async fn progress_waits_longer_after_each_write_of_it() {
        let (pace, key) = (Pace::default(), key());
        assert_eq!(
            pace.wait_for_progress(&key),
            None,
            "an operator that has just started"
        );
        pace.reported(&key, false);
        for seconds in [30, 60, 120, 240, 240] {
            let pause = Duration::from_secs(seconds);
            assert_eq!(pace.wait_for_progress(&key), Some(pause));
            assert_eq!(pace.wait(&key), None, "it is reconciled all the same");
            tokio::time::advance(pause).await;
            assert_eq!(pace.wait_for_progress(&key), None);
            pace.reported(&key, true);
        }
        pace.reconciled(&key, 1);
        pace.reported(&key, false);
        assert_eq!(pace.wait_for_progress(&key), Some(PROGRESS_PAUSE));
        pace.forget(&key);
        assert_eq!(pace.wait_for_progress(&key), None);
        pace.reported(&key, true);
        assert_eq!(
            pace.wait_for_progress(&key),
            Some(PROGRESS_PAUSE),
            "the first write of a new leader"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_grows_with_the_releases_and_ends() {
        let (pace, key) = (Pace::default(), key());
        assert_eq!(pace.wait(&key), None);
        for (releases, pause) in [(0, None), (3, Some(30)), (150, Some(1500)), (100_000, Some(2000))] {
            pace.reconciled(&key, releases);
            let pause = pause.map(Duration::from_millis);
            assert_eq!(pace.wait(&key), pause, "{releases}");
            tokio::time::advance(pause.unwrap_or_default()).await;
            assert_eq!(pace.wait(&key), None, "{releases}");
        }
        pace.reconciled(&key, 10);
        pace.forget(&key);
        assert_eq!(pace.wait(&key), None);
    }
}
