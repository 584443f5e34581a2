//! Runs two closures in parallel.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread;

/// How many processors this process may use, as it was when first asked: the answer takes the system longer
/// than small charts take to parse.
pub(crate) fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Both results: the first is made on a thread of its own while the second is made, if there is a
/// processor for it.
pub(crate) fn both<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    if processors() == 1 {
        return (first(), second());
    }
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, &first) {
        Ok(thread) => {
            let second = second();
            (thread.join().unwrap_or_else(|panic| resume_unwind(panic)), second)
        }
        // Too many threads, or too little memory for one more.
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
