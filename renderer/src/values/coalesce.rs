//! Merges a chart's values and those given to it into one tree: what Helm 4.3.1 calls coalescing, and, with nulls kept,
//! merging.
//!
//! In descending precedence: a user's values, then a parent's, then a chart's own. Maps are
//! merged, everything else is replaced. Null deletes when coalescing: a user's null deletes the chart's default, a
//! chart's own null only itself. Globals are passed from a chart to its subcharts.

use std::collections::BTreeSet;

use super::chart_node::{ChartNode, MAX_INSTANCES};
use super::schema::Locate;
use super::tree::{Node, Table, TooDeep};
use crate::diag::{Class, Diagnostic};
use crate::template::print::{quote, sprint, sprintf};
use crate::template::{Str, Val};
use crate::value::Value;

/// The key of the values that all charts of a tree see.
const GLOBAL: &str = "global";

/// Whether nulls delete values now, or are kept for a later merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    Delete,
    Keep,
}

/// Errors of merging values.
#[derive(Debug, Clone)]
pub(super) enum CoalesceError {
    /// See [`TooDeep`].
    TooDeep,
    /// More than [`MAX_INSTANCES`].
    TooManyCharts,
    /// The values of a subchart are not a table: their path, and their type.
    Mismatch(Vec<String>, &'static str),
}

impl From<TooDeep> for CoalesceError {
    fn from(_: TooDeep) -> Self {
        Self::TooDeep
    }
}

impl CoalesceError {
    /// The diagnostic, with the location where the values at a path were set, if known.
    pub(super) fn into_diagnostic(self, locate: &Locate<'_>) -> Diagnostic {
        match self {
            CoalesceError::TooDeep => {
                let limit = super::tree::MAX_NESTING;
                let message = format!("the values nest more than {limit} deep, or hold themselves");
                Diagnostic::error(Class::Values, message)
            }
            CoalesceError::TooManyCharts => {
                let message = format!("the chart consists of more than {MAX_INSTANCES} charts");
                let one = Diagnostic::error(Class::Chart, message);
                one.note("a dependency counts as often as it is used: under each alias, with all its own dependencies")
                    .hint("declare fewer aliases")
            }
            CoalesceError::Mismatch(path, found) => {
                let (key, name) = (path.join("."), path.last().map_or("", String::as_str));
                let message =
                    format!("`{key}` is {found}, but {name} is a subchart: its values must be a map");
                let one = Diagnostic::error(Class::Values, message).hint(format!(
                    "write `{name}: {{}}` for no values; a subchart is switched off by its dependency's `condition` in \
                     Chart.yaml, as in `{name}.enabled: false`"
                ));
                let one = match found {
                    "null" => one.note("a key with nothing but comments below it is null"),
                    _ => one,
                };
                Diagnostic {
                    location: locate(&path),
                    ..one
                }
            }
        }
    }
}

/// Merges values, and records Helm's warnings, each once.
#[derive(Default)]
pub(super) struct Coalescer {
    seen: BTreeSet<String>,
    warnings: Vec<Diagnostic>,
}

impl Coalescer {
    pub(super) fn warn(&mut self, message: String) {
        // Removes the prefix of some of Helm's messages, since a diagnostic has a severity.
        let message = message
            .strip_prefix("warning: ")
            .map_or(message.clone(), str::to_owned);
        if self.seen.insert(message.clone()) {
            self.warnings.push(Diagnostic::warning(Class::Values, message));
        }
    }

    pub(super) fn into_warnings(self) -> Vec<Diagnostic> {
        self.warnings
    }

    /// The values of a chart and all its subcharts, merged under `given`, which takes precedence and must be frozen.
    pub(super) fn chart<'a>(
        &mut self,
        part: &ChartNode<'a>,
        given: &Node<'a>,
        nulls: Nulls,
    ) -> Result<Table<'a>, CoalesceError> {
        let values = Table::of(given);
        self.level(part, &values, "", nulls)?;
        Ok(values)
    }

    fn level<'a>(
        &mut self,
        part: &ChartNode<'a>,
        values: &Table<'a>,
        prefix: &str,
        nulls: Nulls,
    ) -> Result<(), CoalesceError> {
        let place = join(prefix, part.name);
        self.defaults(part, values, &place, nulls)?;
        for below in &part.children {
            match values.get(below.name) {
                None => values.set(below.name, Node::Live(Table::default())),
                Some(node) if node.is_table() => {}
                Some(node) => {
                    // The first name is the root chart's.
                    let path = place.split('.').skip(1).chain([below.name]);
                    return Err(CoalesceError::Mismatch(
                        path.map(str::to_owned).collect(),
                        kind_of(&node),
                    ));
                }
            }
            let Some(table) = values.table(below.name) else {
                continue;
            };
            self.globals(&table, values, &place)?;
            self.level(below, &table, &place, nulls)?;
        }
        Ok(())
    }

    /// Merges the chart's own values under the given ones.
    fn defaults<'a>(
        &mut self,
        part: &ChartNode<'a>,
        values: &Table<'a>,
        place: &str,
        nulls: Nulls,
    ) -> Result<(), CoalesceError> {
        for (key, default) in part.values.entries() {
            let Some(value) = values.get(key) else {
                if nulls == Nulls::Keep {
                    values.set(key, default);
                } else if !default.is_null() {
                    values.set(key, default.without_nulls()?);
                }
                continue;
            };
            if value.is_null() {
                if nulls == Nulls::Delete {
                    values.remove(key);
                }
            } else if value.is_table() && default.is_table() {
                if value.is_same_frozen(&default) {
                    continue;
                }
                let is_subchart = part.children.iter().any(|below| below.name == key);
                let (default, nulls) = match nulls {
                    Nulls::Delete if !is_subchart => (default.without_nulls()?, nulls),
                    _ => (default, Nulls::Keep),
                };
                self.below(values, key, &default, &join(place, key), nulls, 0)?;
            } else if value.is_table() && !default.is_null() {
                self.warn(format!("warning: skipped value for {place}.{key}: Not a table."));
            }
        }
        Ok(())
    }

    /// Merges a chart's globals into those of a subchart. Both may have their own; the parent's take precedence.
    fn globals<'a>(&mut self, to: &Table<'a>, from: &Table<'a>, prefix: &str) -> Result<(), CoalesceError> {
        let not_a_table =
            |which| format!("warning: skipping globals because {which} {GLOBAL} is not a table.");
        let own = match to.get(GLOBAL) {
            None => Table::default(),
            Some(_) => match to.table(GLOBAL) {
                Some(table) => table,
                None => {
                    self.warn(not_a_table("destination"));
                    return Ok(());
                }
            },
        };
        let given = match from.get(GLOBAL) {
            None => Table::default(),
            Some(_) => match from.table(GLOBAL) {
                Some(table) => table,
                None => {
                    self.warn(not_a_table("source"));
                    return Ok(());
                }
            },
        };
        for (key, value) in Node::Live(given).entries() {
            let before = own.get(key);
            if let Node::Live(table) = &value {
                // Nested tables are shared with the parent, as in Helm: values that a subchart adds there are visible
                // to the parent and its other subcharts.
                let copy = table.shallow_copy();
                match before {
                    Some(node) if !node.is_table() => {
                        self.warn(format!(
                            "Conflict: cannot merge map onto non-map for {}. Skipping.",
                            quote(key)
                        ));
                        continue;
                    }
                    Some(node) => self.tables(&copy, &node, &join(prefix, key), Nulls::Keep, 0)?,
                    None => {}
                }
                own.set(key, Node::Live(copy));
            } else if before.is_some_and(|node| node.is_table()) {
                self.warn(format!("key {key} is table. Skipping"));
            } else {
                own.set(key, value);
            }
        }
        to.set(GLOBAL, Node::Live(own));
        Ok(())
    }

    /// Merges a table under another one, which takes precedence.
    pub(super) fn merge<'a>(&mut self, over: &Table<'a>, under: &Node<'a>) -> Result<(), CoalesceError> {
        self.tables(over, under, "", Nulls::Keep, 0)
    }

    fn below<'a>(
        &mut self,
        over: &Table<'a>,
        key: &str,
        under: &Node<'a>,
        place: &str,
        nulls: Nulls,
        depth: usize,
    ) -> Result<(), CoalesceError> {
        match over.table(key) {
            Some(table) => self.tables(&table, under, place, nulls, depth),
            None => Ok(()),
        }
    }

    fn tables<'a>(
        &mut self,
        over: &Table<'a>,
        under: &Node<'a>,
        prefix: &str,
        nulls: Nulls,
        depth: usize,
    ) -> Result<(), CoalesceError> {
        if depth > super::tree::MAX_NESTING {
            return Err(CoalesceError::TooDeep);
        }
        if let Node::Live(table) = under
            && table.is(over)
        {
            return Ok(());
        }
        let entries = under.entries();
        if let Node::Live(table) = under {
            // Helm writes them into the shared table.
            for key in over.nulls() {
                table.set(key, Node::NULL);
            }
        }
        for (key, value) in entries {
            let Some(there) = over.get(key) else {
                over.set(key, value);
                continue;
            };
            if there.is_null() {
                if nulls == Nulls::Delete && !value.is_null() {
                    over.remove(key);
                }
            } else if value.is_table() {
                if there.is_same_frozen(&value) {
                    continue;
                }
                let place = join(prefix, key);
                if there.is_table() {
                    self.below(over, key, &value, &place, nulls, depth + 1)?;
                } else {
                    let value = go_text("%v", &value)?;
                    self.warn(format!(
                        "warning: cannot overwrite table with non table for {place} ({value})"
                    ));
                }
            } else if there.is_table() && !value.is_null() {
                let (place, value) = (join(prefix, key), go_text("%v", &value)?);
                self.warn(format!(
                    "warning: destination for {place} is a table. Ignoring non-table value ({value})"
                ));
            }
        }
        Ok(())
    }
}

/// The type of a value that is not a map.
fn kind_of(node: &Node<'_>) -> &'static str {
    match node {
        Node::Leaf(Value::Null) => "null",
        Node::Leaf(Value::Bool(_)) => "a boolean",
        Node::Leaf(Value::Number(_)) => "a number",
        Node::Leaf(Value::String(_)) => "a text",
        _ => "a list",
    }
}

/// A value as Go's `fmt` prints it.
pub(super) fn go_text(verb: &str, node: &Node<'_>) -> Result<String, TooDeep> {
    let value = Val::from_data(&node.to_value()?);
    let text = match verb {
        "%v" => sprint(&value),
        _ => sprintf(&Str::from(verb), &[value]),
    };
    Ok(text.to_text().into_owned())
}

fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() {
        key.to_owned()
    } else {
        format!("{prefix}.{key}")
    }
}
