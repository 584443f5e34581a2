//! Counts the memory of a thread's values: [`limit`].
//!
//! Values report when they are created and dropped. Strings count with their length, lists and maps with their items;
//! strings up to `SMALL_TEXT` are included in the size of an item. So the count is slightly above the real usage, the
//! same on every machine, and costs two additions per value. It is per thread, as values are.

use std::cell::Cell;
use std::ops::Deref;

/// Strings up to this length are not counted separately: the size of an item includes one.
pub(super) const SMALL_TEXT: usize = 64;
/// The counted size of a list item, in bytes: a value, and a small string.
pub(super) const ITEM: usize = 96;
/// The counted size of a map entry without its key, in bytes.
pub(super) const ENTRY: usize = 160;

thread_local! {
    /// The number of bytes that the thread's values may still take; negative if the limit is exceeded.
    static LEFT: Cell<isize> = const { Cell::new(isize::MAX) };
    /// The initial number.
    static ALLOWED: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Limits this thread's values to so many bytes until the guard is dropped.
pub fn limit(bytes: usize) -> Limited {
    let left = LEFT.replace(isize::try_from(bytes).unwrap_or(isize::MAX));
    let allowed = ALLOWED.replace(bytes);
    Limited { left, allowed }
}

/// See [`limit`].
#[must_use]
pub struct Limited {
    left: isize,
    allowed: usize,
}

impl Drop for Limited {
    fn drop(&mut self) {
        LEFT.set(self.left);
        ALLOWED.set(self.allowed);
    }
}

/// Whether so many more bytes would be within the limit. If not, the limit counts as exceeded from then on: the caller
/// stops, and the run ends.
#[inline]
pub fn fits(bytes: usize) -> bool {
    usize::try_from(LEFT.get()).is_ok_and(|left| bytes <= left) || refuse()
}

#[cold]
fn refuse() -> bool {
    LEFT.set(isize::MIN / 2);
    false
}

/// The limit.
pub(super) fn allowed() -> usize {
    ALLOWED.get()
}

/// Whether the limit is exceeded.
#[inline]
pub(super) fn is_exceeded() -> bool {
    LEFT.get() < 0
}

#[inline]
pub(super) fn take(bytes: usize) {
    LEFT.set(LEFT.get().saturating_sub_unsigned(bytes));
}

#[inline]
pub(super) fn give_back(bytes: usize) {
    LEFT.set(LEFT.get().saturating_add_unsigned(bytes));
}

/// Bytes that are counted until it is dropped.
#[derive(Debug)]
pub struct Charge(usize);

impl Charge {
    /// Counts this number of bytes.
    #[inline]
    pub fn of(bytes: usize) -> Self {
        take(bytes);
        Self(bytes)
    }
}

impl Drop for Charge {
    #[inline]
    fn drop(&mut self) {
        give_back(self.0);
    }
}

/// A string or bytes, counted.
pub(super) struct Counted<T: ?Sized> {
    value: Box<T>,
    _charge: Charge,
}

impl<T: ?Sized> Counted<T> {
    pub(super) fn new(value: Box<T>) -> Self {
        let charge = Charge::of(size_of_val(&*value));
        Self {
            value,
            _charge: charge,
        }
    }
}

impl<T: ?Sized> Deref for Counted<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Map, Str, Val};

    fn taken(make: impl FnOnce() -> Val) -> (isize, isize) {
        let before = LEFT.get();
        let value = make();
        let with = LEFT.get();
        drop(value);
        (before - with, before - LEFT.get())
    }

    #[test]
    fn the_memory_of_values_is_released_when_the_last_is_dropped() {
        let limited = limit(1 << 30);
        assert_eq!(taken(|| Val::str("a")), (0, 0));
        assert_eq!(taken(|| Val::str("a".repeat(1000))), (1000, 0));
        assert_eq!(taken(|| Val::str(Str::from_bytes(vec![0xff; 1000]))), (1000, 0));
        let list = || {
            let text = Val::str("b".repeat(100));
            Val::list(vec![text.clone(), text, Val::int(1)])
        };
        assert_eq!(taken(list), (100 + 3 * 96, 0));
        let map = || {
            let map = Map::default();
            map.set("k".repeat(100), Val::int(1));
            map.set("k".repeat(100), Val::int(2));
            map.set("gone", Val::Nil);
            map.remove("gone");
            map.remove("absent");
            Val::Map(map)
        };
        assert_eq!(taken(map), (260, 0));
        assert_eq!(taken(|| Val::from_entries([("k", Val::int(1))])), (160, 0));
        let removed = || {
            let map: Map = [("key", Val::Nil)].into_iter().collect();
            map.remove("key");
            Val::Map(map)
        };
        assert_eq!(taken(removed), (0, 0));
        drop(limited);
        assert_eq!(LEFT.get(), isize::MAX);
    }

    #[test]
    fn a_refused_size_exceeds_the_limit_until_its_end() {
        let limited = limit(1000);
        assert!(fits(1000) && !is_exceeded());
        assert!(!fits(1001) && is_exceeded());
        assert!(!fits(1));
        drop(limited);
        assert!(!is_exceeded() && fits(1 << 40));
    }
}
