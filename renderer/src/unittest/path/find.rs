//! Finds what a path selects.

use std::borrow::Cow;

use super::{Index, Path, PathError, Step};
use crate::value::Value;

/// The maximum number of values that a path selects on its way: `..` can visit each value many times.
pub const MAX_FOUND: usize = 1_000_000;

/// How many more values may be selected.
pub(super) struct FindBudget(usize);

impl FindBudget {
    fn spend(&mut self, count: usize) -> Result<(), PathError> {
        self.0 = self.0.checked_sub(count).ok_or_else(|| PathError {
            message: format!("the path selects more than {MAX_FOUND} values"),
            position: 0,
        })?;
        Ok(())
    }
}

impl Path {
    /// What the path selects of a document.
    ///
    /// # Errors
    /// More than [`MAX_FOUND`] values.
    pub fn find<'v>(&'v self, document: &'v Value) -> Result<Vec<Cow<'v, Value>>, PathError> {
        self.find_from(document, document, &mut FindBudget(MAX_FOUND))
    }

    pub(super) fn find_from<'v>(
        &'v self,
        from: &'v Value,
        root: &'v Value,
        budget: &mut FindBudget,
    ) -> Result<Vec<Cow<'v, Value>>, PathError> {
        let mut found = vec![from];
        let mut names = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            if let Step::Names(_) | Step::AllNames = step {
                names = keys(&found, step);
                found.clear();
                if number + 1 < self.steps.len() {
                    return Err(PathError {
                        message: "`~` is allowed at the end of a path only".to_owned(),
                        position: 0,
                    });
                }
                break;
            }
            let mut next = Vec::new();
            for value in found {
                step.select(value, root, &mut next, budget)?;
            }
            budget.spend(next.len())?;
            found = next;
        }
        let found = found.into_iter().map(Cow::Borrowed);
        Ok(found.chain(names.into_iter().map(Cow::Owned)).collect())
    }
}

/// The keys that a step selects.
fn keys(found: &[&Value], step: &Step) -> Vec<Value> {
    let maps = found.iter().filter_map(|value| value.as_map());
    let name = |name: &String| Value::String(name.clone());
    match step {
        Step::Names(wanted) => maps
            .flat_map(|map| wanted.iter().filter(|name| map.contains_key(name)))
            .map(name)
            .collect(),
        _ => maps
            .flat_map(|map| map.iter().map(|(key, _)| name(key)))
            .collect(),
    }
}

impl Step {
    fn select<'v>(
        &'v self,
        value: &'v Value,
        root: &'v Value,
        out: &mut Vec<&'v Value>,
        budget: &mut FindBudget,
    ) -> Result<(), PathError> {
        match (self, value) {
            (Self::Children(names), Value::Map(map)) => {
                out.extend(names.iter().filter_map(|name| map.get(name)));
            }
            (Self::All, Value::Map(map)) => out.extend(map.iter().map(|(_, value)| value)),
            (Self::All, Value::List(items)) => out.extend(items),
            (Self::Items(indices), Value::List(items)) => {
                for index in indices {
                    index.select(items, out);
                }
            }
            (Self::Filter(condition) | Self::FilterItems(condition), Value::List(items)) => {
                for item in items {
                    if condition.holds(item, root, budget)? {
                        out.push(item);
                    }
                }
            }
            (Self::Filter(condition), value) => {
                if condition.holds(value, root, budget)? {
                    out.push(value);
                }
            }
            (Self::Descend, value) => descend(value, out, budget)?,
            (
                Self::Children(_)
                | Self::All
                | Self::Items(_)
                | Self::Names(_)
                | Self::AllNames
                | Self::FilterItems(_),
                _,
            ) => {}
        }
        Ok(())
    }
}

/// Everything below the value, and then the value.
fn descend<'v>(value: &'v Value, out: &mut Vec<&'v Value>, budget: &mut FindBudget) -> Result<(), PathError> {
    budget.spend(1)?;
    match value {
        Value::Map(map) => map
            .iter()
            .try_for_each(|(_, below)| descend(below, out, budget))?,
        Value::List(items) => items.iter().try_for_each(|below| descend(below, out, budget))?,
        _ => {}
    }
    out.push(value);
    Ok(())
}

impl Index {
    fn select<'v>(self, items: &'v [Value], out: &mut Vec<&'v Value>) {
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let from_end = |at: i64| if at < 0 { at.saturating_add(length) } else { at };
        let get = |at: i64| usize::try_from(at).ok().and_then(|at| items.get(at));
        match self {
            Self::One(at) => out.extend(get(from_end(at))),
            Self::Range { start, end, step } if step > 0 => {
                let mut at = from_end(start.unwrap_or(0)).max(0);
                let end = from_end(end.unwrap_or(length)).min(length);
                while at < end {
                    out.extend(get(at));
                    at = at.saturating_add(step);
                }
            }
            Self::Range { start, end, step } => {
                let mut at = from_end(start.unwrap_or(length - 1)).min(length - 1);
                let end = end.map_or(-1, from_end).max(-1);
                while at > end {
                    out.extend(get(at));
                    at = at.saturating_add(step);
                }
            }
        }
    }
}
