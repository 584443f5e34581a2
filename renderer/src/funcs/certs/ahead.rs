//! Primes made ahead of time, on a second processor.
//!
//! A chart that makes one certificate mostly makes two keys, an umbrella makes hundreds, and
//! they are nearly all that its rendering costs. From the third key of a rendering on, a
//! thread makes primes while templates run; it ends with the rendering. At most
//! [`READY`] + 1 of its primes are made in vain.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use num_bigint::BigUint;

use super::prime;

/// Primes that a rendering makes by itself first: those of two keys.
const ALONE: usize = 4;
/// Primes that wait to be taken.
const READY: usize = 2;
/// The bits of those primes: of a certificate's key, half of 2048.
const BITS: u64 = 1_024;

/// The primes of one rendering.
#[derive(Debug, Default)]
pub(in super::super) struct Ahead {
    asked: usize,
    worker: Option<Receiver<BigUint>>,
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
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => start()?,
        };
        let prime = worker.try_recv().ok();
        self.worker = Some(worker);
        prime
    }
}

/// None where there is no second processor, or no thread to be had.
fn start() -> Option<Receiver<BigUint>> {
    if thread::available_parallelism().is_ok_and(|count| count.get() < 2) {
        return None;
    }
    let (sender, receiver) = sync_channel(READY);
    let make = move || {
        let mut random = |bytes: &mut [u8]| getrandom::fill(bytes);
        while let Ok(prime) = prime::random_prime(BITS, &mut random) {
            if sender.send(prime).is_err() {
                break;
            }
        }
    };
    thread::Builder::new().name("primes".into()).spawn(make).ok()?;
    Some(receiver)
}
