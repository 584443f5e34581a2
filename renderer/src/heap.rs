//! Memory taken from the system in large steps, and kept: [`grow`].

use std::hint::black_box;

/// In bytes. The GNU C library's allocator keeps freed blocks of up to the size of the largest that it has
/// once given back (32 MiB at most), and twice as much at the end of a heap.
const STEP: usize = 16 << 20;

/// Lets this thread's heap grow by [`STEP`] at once, where it would grow by a page (of threads) or by 128 KiB,
/// and lets what is freed stay. No memory is used before something is written to it.
///
/// With another allocator it does nothing.
pub(crate) fn grow() {
    // The first block comes from the system and goes back, the second one is the heap's.
    for _ in 0..2 {
        let mut block = Vec::<u8>::new();
        // Where there is not as much, small steps do.
        let _ = block.try_reserve_exact(STEP);
        drop(black_box(block));
    }
}
