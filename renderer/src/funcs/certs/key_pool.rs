//! RSA keys generated ahead of time, on other processors.
//!
//! A chart with one certificate usually generates two keys, an umbrella chart hundreds, and they dominate the cost of
//! its rendering. From the second key of a rendering on, a thread generates keys while templates run. It ends with the
//! rendering; a few keys may be unused.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::rsa_key::{Bits, RsaKey};
use crate::parallel::processors;

/// The maximum number of threads.
const THREADS: usize = 4;
const KEYS_OF_A_THREAD: usize = 8;
/// The maximum number of ready keys.
const READY: usize = 8;

/// The keys of one rendering.
#[derive(Debug, Default)]
pub(in super::super) struct KeyPool {
    threads: usize,
    shared: Arc<SharedPool>,
}

#[derive(Default)]
struct SharedPool {
    state: Mutex<PoolState>,
    changed: Condvar,
}

#[derive(Default)]
struct PoolState {
    ready: VecDeque<RsaKey>,
    taken: usize,
    ended: bool,
}

impl KeyPool {
    /// A key of 2048 bits: a ready one, or a new one. `None` if the system fails.
    pub(super) fn take(&mut self) -> Option<RsaKey> {
        let mut state = self.shared.lock();
        state.taken += 1;
        let (ready, taken) = (state.ready.pop_front(), state.taken);
        drop(state);
        self.shared.changed.notify_all();
        if taken > 1 && self.threads <= taken / KEYS_OF_A_THREAD {
            self.start();
        }
        ready.or_else(|| RsaKey::random(Bits::B2048))
    }

    /// Starts a thread if another processor is available.
    fn start(&mut self) {
        if self.threads >= THREADS || self.threads + 1 >= processors() {
            return;
        }
        self.threads += 1;
        let shared = Arc::clone(&self.shared);
        // Without a thread the rendering generates all keys itself.
        let _ = thread::Builder::new()
            .name("keys".into())
            .spawn(move || shared.make());
    }
}

impl Drop for KeyPool {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for SharedPool {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared(..)")
    }
}

impl SharedPool {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Generates keys until the rendering has ended.
    fn make(&self) {
        while self.is_needed() {
            let Some(key) = RsaKey::random(Bits::B2048) else {
                return;
            };
            self.lock().ready.push_back(key);
        }
    }

    /// Waits until there are fewer ready keys than may be left over: half of the keys taken so far. Returns false once
    /// the rendering has ended.
    fn is_needed(&self) -> bool {
        let is_full = |state: &mut PoolState| {
            let enough = (state.taken / 2).clamp(1, READY);
            !state.ended && state.ready.len() >= enough
        };
        let state = self.changed.wait_while(self.lock(), is_full);
        !state.unwrap_or_else(PoisonError::into_inner).ended
    }
}
