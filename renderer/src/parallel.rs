//! Runs two closures in parallel.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread;

/// How many processors this process may use, cached: the system call takes longer than parsing a small chart.
pub(crate) fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Runs both closures; the first on a thread of its own if another processor is available.
pub(crate) fn both<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    if processors() == 1 {
        return (first(), second());
    }
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, &first) {
        Ok(thread) => {
            let second = second();
            (thread.join().unwrap_or_else(|panic| resume_unwind(panic)), second)
        }
        // No more threads, or too little memory for one.
        Err(_) => (first(), second()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_done() {
        let text = String::from("ab");
        assert_eq!(both(|| text.len(), || text.clone()), (2, "ab".to_owned()));
    }

    #[test]
    fn a_panic_is_not_lost() {
        let caught = std::panic::catch_unwind(|| both(|| panic!("first"), || ()));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"first"));
    }
}
