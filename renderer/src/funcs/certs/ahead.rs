//! Primes made ahead of time, on other processors.
//!
//! A chart that makes one certificate mostly makes two keys, an umbrella makes hundreds, and
//! they are nearly all that its rendering costs. From the third key of a rendering on, a
//! thread makes primes while templates run, and the more are taken, the more are made together
//! and kept ready. It ends with the rendering: a quarter of what was taken may be left over, and
//! with each thread an eighth that it was making.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use num_bigint::BigUint;

use super::prime;

/// Primes that a rendering makes by itself first: those of two keys.
const ALONE: usize = 4;
/// The most that are made together: more save nothing.
const TOGETHER: usize = 8;
/// The most that wait to be taken, for each thread.
const READY: usize = 8;
/// The most threads.
const THREADS: usize = 4;
/// A thread more for so many primes.
const PRIMES_OF_A_THREAD: usize = 16;
/// The bits of those primes: of a certificate's key, half of 2048.
const BITS: u64 = 1_024;

/// The primes of one rendering.
#[derive(Debug, Default)]
pub(in super::super) struct Ahead {
    asked: usize,
    threads: usize,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    ready: VecDeque<BigUint>,
    taken: usize,
    ended: bool,
}

impl Ahead {
    /// A prime that is ready, or none: then it has to be made. Each is given out once.
    pub(super) fn take(&mut self, bits: u64) -> Option<BigUint> {
        if bits != BITS {
            return None;
        }
        self.asked += 1;
        if self.asked <= ALONE {
            return None;
        }
        self.start();
        let prime = {
            let mut state = self.shared.lock();
            state.taken += 1;
            state.ready.pop_front()
        };
        self.shared.changed.notify_all();
        prime
    }

    /// Starts a thread, when there is use and a processor for one more.
    fn start(&mut self) {
        if self.threads >= THREADS || self.asked < self.threads * PRIMES_OF_A_THREAD {
            return;
        }
        let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        if self.threads + 1 >= processors {
            return;
        }
        self.threads += 1;
        let shared = Arc::clone(&self.shared);
        // Without a thread the rendering makes them all.
        let _ = thread::Builder::new()
            .name("primes".into())
            .spawn(move || shared.make());
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for Shared {
    /// Not the primes: keys are made of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared(..)")
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes primes until the rendering has ended.
    fn make(&self) {
        let mut random = |bytes: &mut [u8]| getrandom::fill(bytes);
        while let Some(count) = self.wanted() {
            let Ok(primes) = prime::random_primes(count, BITS, &mut random) else {
                return;
            };
            self.lock().ready.extend(primes);
        }
    }

    /// Waits until primes are wanted; how many.
    fn wanted(&self) -> Option<usize> {
        let full = |state: &mut State| {
            let enough = (state.taken / 4).clamp(1, READY);
            !state.ended && state.ready.len() >= enough
        };
        let state = self.changed.wait_while(self.lock(), full);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        (!state.ended).then(|| (state.taken / 8).clamp(1, TOGETHER))
    }
}
