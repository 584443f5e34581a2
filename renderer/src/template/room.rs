//! How much of a thread's stack may be used: [`Room`].

use std::cell::Cell;
use std::hint::black_box;

/// A part of the stack below the place where it was made. Whoever finds it used up gives up, and starts again
/// where there is more.
#[derive(Debug, Default)]
pub struct Room {
    /// The address down to which the stack may grow.
    floor: usize,
    short: Cell<bool>,
}

impl Room {
    /// So many bytes from here on.
    pub fn of(bytes: usize) -> Self {
        Self {
            floor: here().saturating_sub(bytes),
            short: Cell::new(false),
        }
    }

    /// As much as there is.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// Whether there has not been enough.
    pub fn was_short(&self) -> bool {
        self.short.get()
    }

    pub(super) fn is_left(&self) -> bool {
        let left = here() > self.floor;
        if !left {
            self.short.set(true);
        }
        left
    }
}

/// About where the stack ends: stacks grow downward wherever this runs.
#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(black_box(&local)).addr()
}
