//! Paths into documents, in yaml-jsonpath's syntax: `spec.containers[?(@.name == "web")].image`.
//!
//! In: a path's text and a document. Out: the values that it selects, in the document's order. A path may begin without
//! `$` and without a dot. Pure, and independent of suites and charts. What each form selects was asked from
//! helm-unittest 1.1.2.

mod filter;
mod find;
mod parse;

use std::fmt;

use filter::Condition;
pub use find::MAX_FOUND;
pub use parse::MAX_FILTER_DEPTH;

/// A parsed path.
#[derive(Debug, Clone)]
pub struct Path {
    steps: Vec<Step>,
}

/// A part of a path: what it selects of each value that the parts before it have selected.
#[derive(Debug, Clone)]
enum Step {
    /// `.name`, `['name', 'other']`: the values of a map's keys.
    Children(Vec<String>),
    /// `.*`, `[*]`: all values of a map or items of a list.
    All,
    /// `.name~`, `['name']~`: the keys themselves, where they exist.
    Names(Vec<String>),
    /// `[*]~`: all keys of a map.
    AllNames,
    /// `[0]`, `[-1]`, `[1:3]`: items of a list.
    Items(Vec<Index>),
    /// `[?(…)]`: the items of a list for which it is true; any other value if it is true for it.
    Filter(Condition),
    /// `..`: everything below the value, and then the value.
    Descend,
    /// `..[?(…)]`: the items of a list for which it is true.
    FilterItems(Condition),
}

/// An item or a range of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    One(i64),
    Range {
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    },
}

/// Why a path can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError {
    /// The reason.
    pub message: String,
    /// The position in the path, in bytes.
    pub position: usize,
}

impl fmt::Display for PathError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at character {}", self.message, self.position + 1)
    }
}

impl std::error::Error for PathError {}
