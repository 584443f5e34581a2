//! Primes for the keys to come, also on other processors.
//!
//! A chart that makes one certificate mostly makes two keys, an umbrella makes hundreds, and
//! they are nearly all that its rendering costs. A search that a key leaves over goes on for the next.
//! From the third key of a rendering on, threads make primes while templates run, and the more
//! are taken, the more are made together and kept ready. They end with the rendering: a quarter of what was
//! taken may be left over, and what was being searched for.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use num_bigint::BigUint;
use solar_primes::Finder;

use super::prime;
use crate::parallel::processors;
use crate::template::Fault;

/// Primes that a rendering makes by itself first: those of two keys.
const ALONE: usize = 4;
/// The most that a thread searches for together: more save nothing.
const TOGETHER: usize = 8;
/// The most that wait to be taken, for each thread.
const READY: usize = 8;
/// The most threads.
const THREADS: usize = 4;
/// A thread more for so many primes.
const PRIMES_OF_A_THREAD: usize = 16;
/// The bits of the primes: of a certificate's key, half of 2048.
pub(super) const BITS: u64 = 1_024;

/// The primes of one rendering.
#[derive(Debug, Default)]
pub(in super::super) struct Ahead {
    asked: usize,
    threads: usize,
    own: Workshop,
    shared: Arc<Shared>,
}

/// Searches that are under way, and what they have found.
#[derive(Default)]
struct Workshop {
    finder: Finder,
    made: Vec<BigUint>,
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
    /// Primes of [`BITS`]. Each is given out once.
    pub(super) fn take(&mut self, count: usize) -> Result<Vec<BigUint>, Fault> {
        self.asked += count;
        if self.asked > ALONE {
            self.start();
        }
        let together = (self.asked / 8).min(TOGETHER);
        let mut primes = self.shared.take(count, true);
        loop {
            let missing = count - primes.len();
            let made = self.own.made.len().min(missing);
            primes.extend(self.own.made.drain(..made));
            primes.extend(self.shared.take(missing - made, false));
            let missing = count - primes.len();
            if missing == 0 {
                return Ok(primes);
            }
            let work = self.own.work(together.max(missing));
            work.map_err(|error| Fault::new(error.to_string()))?;
        }
    }

    /// Starts a thread, when there is use and a processor for one more.
    fn start(&mut self) {
        if self.threads >= THREADS || self.asked < self.threads * PRIMES_OF_A_THREAD {
            return;
        }
        if self.threads + 1 >= processors() {
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

impl fmt::Debug for Workshop {
    /// Not the primes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Workshop(..)")
    }
}

impl Workshop {
    /// One round of tests, with so many searches under way.
    fn work(&mut self, together: usize) -> Result<(), getrandom::Error> {
        while self.finder.searches() < together {
            let start = prime::random_start(BITS, &mut |bytes| getrandom::fill(bytes))?;
            self.finder.add(0, start);
        }
        // A search that ends without a prime is followed by another.
        let found = self.finder.advance().into_iter().filter_map(|(_, prime)| prime);
        self.made.extend(found.filter(|prime| prime.bits() == BITS));
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At most so many that are ready. A need is told of once.
    fn take(&self, count: usize, need: bool) -> Vec<BigUint> {
        let mut state = self.lock();
        if need {
            state.taken += count;
        }
        let ready = state.ready.len().min(count);
        let primes = state.ready.drain(..ready).collect();
        drop(state);
        self.changed.notify_all();
        primes
    }

    /// Makes primes until the rendering has ended.
    fn make(&self) {
        let mut workshop = Workshop::default();
        while let Some(together) = self.wanted() {
            if workshop.work(together).is_err() {
                return;
            }
            self.lock().ready.extend(workshop.made.drain(..));
        }
    }

    /// Waits until primes are wanted; how many to search for together.
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
