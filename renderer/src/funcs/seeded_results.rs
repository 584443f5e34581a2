//! What slow functions returned for a seed: [`SeededResults`].
//!
//! Keys and password hashes take most of the time of a chart that makes some. With a seed they only depend on it and on the
//! calls before: a chart that is rendered many times makes them once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

/// How many results are kept at most; the largest is a key of 4096 bits, 2.3 KiB.
pub const MAX_RESULTS: usize = 1_000;

/// Results of functions by what they depend on. They are no secrets: anyone who knows the seed can make them.
#[derive(Default)]
pub struct SeededResults(Mutex<BTreeMap<[u8; 32], Slot>>);

/// A result, once it was made.
type Slot = Arc<Mutex<Option<Vec<u8>>>>;

impl SeededResults {
    /// The result for a function's name and its inputs: that of an earlier call, or what `make` returns.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get_or_make<E>(
        &self,
        function: &str,
        inputs: &[&[u8]],
        make: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        let Some(slot) = self.slot(key(function, inputs)) else {
            return make();
        };
        // Held while it is made: who needs the same waits for it.
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*slot {
            return Ok(known.clone());
        }
        let made = make()?;
        *slot = Some(made.clone());
        Ok(made)
    }

    /// The slot of a result; `None` for a new one if there are as many as are kept.
    fn slot(&self, key: [u8; 32]) -> Option<Slot> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_RESULTS && !all.contains_key(&key) {
            return None;
        }
        Some(Arc::clone(all.entry(key).or_default()))
    }
}

/// A hash of all inputs, each with its length.
fn key(function: &str, inputs: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in std::iter::once(function.as_bytes()).chain(inputs.iter().copied()) {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

impl fmt::Debug for SeededResults {
    /// Without the keys and hashes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SeededResults(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(results: &SeededResults, function: &str, inputs: &[&[u8]], result: &str) -> String {
        let bytes = results.get_or_make(function, inputs, || Ok::<_, ()>(result.into()));
        String::from_utf8(bytes.unwrap()).unwrap()
    }

    #[test]
    fn each_function_and_each_input_has_its_own() {
        let results = SeededResults::default();
        let calls: [(&str, &[&[u8]]); 5] = [
            ("rsa", &[b"ab", b"c"]),
            ("rsa", &[b"a", b"bc"]),
            ("rsa", &[b"abc"]),
            ("bcrypt", &[b"abc"]),
            ("rsa", &[b"ab", b"c", b""]),
        ];
        for (number, (function, inputs)) in calls.iter().enumerate() {
            let number = number.to_string();
            assert_eq!(made(&results, function, inputs, &number), number);
        }
        for (number, (function, inputs)) in calls.iter().enumerate() {
            assert_eq!(made(&results, function, inputs, "another"), number.to_string());
        }
    }

    #[test]
    fn what_another_thread_is_making_is_not_made_twice() {
        let results = SeededResults::default();
        let (started, is_started) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                results.get_or_make("rsa", &[], || {
                    started.send(()).unwrap();
                    Ok::<_, ()>(b"first".to_vec())
                })
            });
            is_started.recv().unwrap();
            assert_eq!(made(&results, "rsa", &[], "second"), "first");
            assert_eq!(first.join().unwrap().unwrap(), b"first");
        });
    }

    #[test]
    fn what_fails_is_tried_by_the_next_call() {
        let results = SeededResults::default();
        assert_eq!(results.get_or_make("rsa", &[], || Err("failed")), Err("failed"));
        assert_eq!(made(&results, "rsa", &[], "key"), "key");
    }

    #[test]
    fn so_many_are_kept() {
        let results = SeededResults::default();
        for number in 0..=MAX_RESULTS {
            made(&results, "rsa", &[&number.to_be_bytes()], "key");
        }
        let last = MAX_RESULTS - 1;
        assert_eq!(made(&results, "rsa", &[&last.to_be_bytes()], "another"), "key");
        assert_eq!(
            made(&results, "rsa", &[&MAX_RESULTS.to_be_bytes()], "another"),
            "another"
        );
    }
}
