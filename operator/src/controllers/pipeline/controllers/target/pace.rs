//! Limits how often one Target is reconciled. Each of its tasks wakes it several times, and each reconcile handles all
//! of its Releases and may write all of them into the status: without a pause, the cost would be quadratic in the
//! number of Releases.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::runtime::Key;

/// The pause after a reconcile, for each Release of the Target.
const PAUSE_PER_RELEASE: Duration = Duration::from_millis(10);
/// The maximum pause.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// When each Target may be reconciled again.
#[derive(Debug, Default)]
pub(super) struct Pace {
    next: Mutex<BTreeMap<Key, Instant>>,
}

impl Pace {
    /// How long a Target must wait; `None`: it needn't wait.
    pub(super) fn wait(&self, key: &Key) -> Option<Duration> {
        let next = *self.next().get(key)?;
        let wait = next.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }

    /// Records a reconcile of a Target with so many Releases.
    pub(super) fn reconciled(&self, key: &Key, releases: usize) {
        let releases = u32::try_from(releases).unwrap_or(u32::MAX);
        let pause = PAUSE_PER_RELEASE.saturating_mul(releases).min(MAX_PAUSE);
        self.next().insert(key.clone(), Instant::now() + pause);
    }

    /// Forgets a deleted Target.
    pub(super) fn forget(&self, key: &Key) {
        self.next().remove(key);
    }

    fn next(&self) -> MutexGuard<'_, BTreeMap<Key, Instant>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Scope;
    use crate::runtime::ObjectName;

    #[tokio::test(start_paused = true)]
    async fn the_pause_grows_with_the_releases_and_ends() {
        let (pace, key) = (
            Pace::default(),
            Scope::Namespaced.id().key(ObjectName::new("a", "b")),
        );
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
