//! Runs two closures in parallel, and prepares threads for work that allocates much.

use std::hint::black_box;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread;

/// How many processors this process may use, cached: the system call takes longer than parsing a small chart.
pub(crate) fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// How much a thread may allocate before its heap has to grow, in bytes. Only what is used takes memory.
const ROOM: usize = 4 << 20;

/// Makes room in the heap of this thread. glibc grows that of any but the first by what the next block needs, a page or
/// two, by a system call each time: 500 calls to check the values of one chart.
pub(crate) fn make_room() {
    // The first block is mapped by itself; freeing it raises the size from which blocks are mapped. So the second one is
    // cut from the heap, which keeps it. Other allocators at most do a little for nothing.
    for _ in 0..2 {
        black_box(Vec::<u8>::with_capacity(ROOM));
    }
}

/// Runs both closures; the first on a thread of its own if another processor is available.
pub(crate) fn both<A: Send, B>(first: impl Fn() -> A + Sync, second: impl FnOnce() -> B) -> (A, B) {
    if processors() == 1 {
        return (first(), second());
    }
    let first_with_room = || {
        make_room();
        first()
    };
    thread::scope(
        |scope| match thread::Builder::new().spawn_scoped(scope, first_with_room) {
            Ok(thread) => {
                let second = second();
                (thread.join().unwrap_or_else(|panic| resume_unwind(panic)), second)
            }
            // No more threads, or too little memory for one.
            Err(_) => (first(), second()),
        },
    )
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
