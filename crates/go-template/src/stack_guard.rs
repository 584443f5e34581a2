//! Limits the stack of a parse: [`StackGuard`].

use std::cell::Cell;
use std::hint::black_box;

/// A part of the stack below the point where the guard was created. A parse that exhausts it is aborted and repeated on
/// a larger stack.
#[derive(Debug, Default)]
pub struct StackGuard {
    /// The address down to which the stack may grow.
    floor: usize,
    exhausted: Cell<bool>,
}

impl StackGuard {
    /// A guard that allows this number of bytes from here on.
    pub fn of(bytes: usize) -> Self {
        Self {
            floor: here().saturating_sub(bytes),
            ..Self::default()
        }
    }

    /// A guard that allows the whole stack.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// Whether a parse ran out of stack.
    pub fn was_exhausted(&self) -> bool {
        self.exhausted.get()
    }

    pub(super) fn is_left(&self) -> bool {
        let left = here() > self.floor;
        if !left {
            self.exhausted.set(true);
        }
        left
    }
}

/// The approximate stack pointer: stacks grow downward on all supported platforms.
#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(black_box(&local)).addr()
}
