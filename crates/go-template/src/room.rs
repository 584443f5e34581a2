//! Where texts are parsed: [`Room`].

use std::cell::Cell;
use std::fmt;
use std::hint::black_box;

use super::parse::Tables;

/// A part of the stack below the place where it was made, and tables. Whoever finds the stack used up gives up,
/// and starts again where there is more.
#[derive(Default)]
pub struct Room {
    /// The address down to which the stack may grow.
    floor: usize,
    short: Cell<bool>,
    /// What the next text is parsed into: tables that have grown once are used again.
    pub(super) tables: Cell<Tables>,
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Room(..)")
    }
}

impl Room {
    /// So many bytes from here on.
    pub fn of(bytes: usize) -> Self {
        Self {
            floor: here().saturating_sub(bytes),
            ..Self::default()
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
