//! Whether two values are the same, and numbers that stand for what is in them.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use crate::value::Value;

/// Whether two values mean the same: `1` and `1.0` do, `1` and `"1"` don't.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.canonical() == other.canonical(),
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Map(one), Value::Map(other)) => {
            let mut both = one.iter().zip(other);
            one.len() == other.len()
                && both.all(|((key, one), (name, other))| key == name && is_same(one, other))
        }
        (one, other) => one == other,
    }
}

/// A number that is the same for values that are the same, in every run. Those of others may be equal, too: compare
/// them.
pub(super) fn fingerprint(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    add(value, "", &mut hasher);
    hasher.finish()
}

/// As [`fingerprint`], with a name that stands in texts taken out of them.
pub(super) fn fingerprint_without(value: &Value, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    add(value, name, &mut hasher);
    hasher.finish()
}

fn add(value: &Value, name: &str, hasher: &mut DefaultHasher) {
    match value {
        Value::Null => 0_u8.hash(hasher),
        Value::Bool(value) => (1_u8, value).hash(hasher),
        Value::Number(number) => (2_u8, number.canonical().to_string()).hash(hasher),
        Value::String(text) => {
            3_u8.hash(hasher);
            add_text(text, name, hasher);
        }
        Value::List(items) => {
            (4_u8, items.len()).hash(hasher);
            for item in items {
                add(item, name, hasher);
            }
        }
        Value::Map(map) => {
            (5_u8, map.len()).hash(hasher);
            for (key, value) in map {
                add_text(key, name, hasher);
                add(value, name, hasher);
            }
        }
    }
}

fn add_text(text: &str, name: &str, hasher: &mut DefaultHasher) {
    match name.is_empty() || !text.contains(name) {
        true => text.hash(hasher),
        false => text.replace(name, "\u{0}").hash(hasher),
    }
}

/// The numbers of everything in a value, sorted: of each field its path and its value, of each text its lines. Positions
/// in lists don't count, nor does the name.
pub(super) fn leaves(value: &Value, name: &str) -> Vec<u64> {
    let mut out = Vec::new();
    collect(value, name, 0, &mut out);
    out.sort_unstable();
    out
}

fn collect(value: &Value, name: &str, path: u64, out: &mut Vec<u64>) {
    let below = |step: &str| {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        add_text(step, name, &mut hasher);
        hasher.finish()
    };
    match value {
        Value::Map(map) if !map.is_empty() => {
            for (key, value) in map {
                collect(value, name, below(key), out);
            }
        }
        Value::List(items) if !items.is_empty() => {
            let path = below("[]");
            for item in items {
                collect(item, name, path, out);
            }
        }
        Value::String(text) if text.contains('\n') => out.extend(text.lines().map(below)),
        other => {
            let mut hasher = DefaultHasher::new();
            path.hash(&mut hasher);
            add(other, name, &mut hasher);
            out.push(hasher.finish());
        }
    }
}

/// How many numbers two sorted lists have in common.
pub(super) fn common(one: &[u64], other: &[u64]) -> usize {
    let (mut left, mut right, mut count) = (one.iter().peekable(), other.iter().peekable(), 0);
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        match a.cmp(b) {
            std::cmp::Ordering::Less => drop(left.next()),
            std::cmp::Ordering::Greater => drop(right.next()),
            std::cmp::Ordering::Equal => {
                left.next();
                right.next();
                count += 1;
            }
        }
    }
    count
}
