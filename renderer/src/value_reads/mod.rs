//! Which values the templates of a chart and its subcharts read.
//!
//! In: a loaded chart, and values that are given to it. Out: [`ValueReads`], a tree of the keys that are read, and from
//! it the keys of a map of values that nothing reads.
//!
//! The templates' trees are walked, not run: both branches of every `if` are taken, includes are followed with
//! their dot, values are followed through variables, `with`, `range`, `dict`, `list` and the functions that pass values
//! on. Subcharts count whether or not a condition disables them; their `.Values` are the parent's key of their name, and
//! what they read below `global` is read in every chart above.
//!
//! A key counts as read when in doubt:
//!
//! - a value that is printed, or passed to a function that is not followed, is read with all that is below it;
//! - a key that is computed may be any key; the keys of a map that is iterated over are data, all of them;
//! - a map that is only tested (`if`, `with`), and of which no key is named anywhere, is read with all that is below it;
//! - texts that `tpl` runs are read as templates when they are in the values, in files or constants of templates;
//! - a subchart that is declared and missing reads all its values, and so does a chart with a template that cannot be
//!   parsed or analysed within the limits.

mod calls;
mod chart_tree;
mod heap;
mod read_tree;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeSet;

use crate::chart::load::Loaded;
use crate::diag::{Result, did_you_mean};
use crate::engine::on_large_stack;
use crate::value::Map;
use chart_tree::ChartTree;
use read_tree::ReadTree;

/// The values that the templates of a chart and its subcharts read.
#[derive(Debug, Clone)]
pub struct ValueReads {
    tree: ReadTree,
    /// What is read if keys that are computed are constants in the templates.
    guessed: ReadTree,
    /// What templates format as YAML or JSON, or ask for its type.
    untyped: ReadTree,
    /// The top-level keys of other charts' values.
    subcharts: BTreeSet<String>,
}

/// A key that nothing reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadKey {
    /// The keys and indices down to it.
    pub path: Vec<String>,
    /// The path of a similar key that is read, or of one with the same name elsewhere.
    pub near: Option<String>,
}

/// The top-level key that all charts of a tree share.
const GLOBAL: &str = "global";
/// The shortest name of which a key elsewhere with the same name is suggested: short ones are everywhere.
const MIN_NAME: usize = 3;

impl ValueReads {
    /// Analyses a chart; `given` are all values that may be given to it, whose texts `tpl` may run.
    ///
    /// # Errors
    /// Class internal: no thread can be started.
    pub fn of(chart: &Loaded, given: &[&Map]) -> Result<Self> {
        // Templates may nest as deeply as the parser allows.
        on_large_stack(|| {
            let charts = ChartTree::of(chart, given);
            let [tree, guessed, untyped] = walk::walk(&charts, walk::MAX_STEPS);
            let subcharts = charts.keys_of_subcharts().map(str::to_owned).collect();
            Self {
                tree,
                guessed,
                untyped,
                subcharts,
            }
        })
    }

    /// The keys of a map of values that nothing reads; of a map that is not read at all, its own key alone.
    ///
    /// Below `global`, which charts that are installed together share, a key is reported only if it is similar to one that is read.
    pub fn unread(&self, values: &Map) -> Vec<UnreadKey> {
        let paths = self.tree.unread(values).into_iter();
        let unread = paths.filter(|path| !self.guessed.is_marked(path)).map(|path| {
            let near = self.near(&path);
            UnreadKey { path, near }
        });
        let is_shared = |one: &UnreadKey| {
            one.path.first().is_some_and(|first| first == GLOBAL)
                || one.path.get(1).is_some_and(|second| second == GLOBAL)
                    && one
                        .path
                        .first()
                        .is_some_and(|first| self.subcharts.contains(first))
        };
        unread
            .filter(|one| !is_shared(one) || self.similar(&one.path).is_some())
            .collect()
    }

    /// Whether a value is read, or anything below it.
    pub fn is_read(&self, path: &[&str]) -> bool {
        self.tree.is_read(path)
    }

    /// Whether templates format a value as YAML or JSON, or ask for its type: then it may have another type than by default.
    pub fn may_have_other_type(&self, path: &[&str]) -> bool {
        self.untyped.has_leaf(path)
    }

    fn near(&self, path: &[String]) -> Option<String> {
        self.similar(path).or_else(|| self.namesake(path.last()?))
    }

    /// A similar key beside it that is read.
    fn similar(&self, path: &[String]) -> Option<String> {
        let (name, above) = path.split_last()?;
        let known = self.tree.keys_below(above);
        let near = did_you_mean(name, known.iter().map(String::as_str))?;
        Some(
            above
                .iter()
                .map(String::as_str)
                .chain([near])
                .collect::<Vec<_>>()
                .join("."),
        )
    }

    /// The only key of the same name that is read elsewhere.
    fn namesake(&self, name: &str) -> Option<String> {
        if name.len() < MIN_NAME {
            return None;
        }
        match self.tree.ending_with(name).as_slice() {
            [one] => Some(one.join(".")),
            _ => None,
        }
    }
}
