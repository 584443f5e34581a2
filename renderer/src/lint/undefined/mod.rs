//! Values that templates use and no values file knows.
//!
//! The templates' trees are walked, not run: both ways of every `if` are seen. What is told is
//! meant to be worth reading in a well-kept chart, so whatever can stand in for a value makes
//! it known:
//!
//! - guards: a path that a condition around it names, in whatever way (`if`, `with`, `range`,
//!   `and`, `or`, `not`, `hasKey`, `eq`, or a template that the condition includes), and one that
//!   `required` or `fail` asks for, anywhere in the chart;
//! - stand-ins: `default`, `coalesce`, `dig`, `get`, `ternary`, … and every other function that
//!   does something sensible with nothing. Only printing it, or a function that makes text of it
//!   (`uses`), counts as using it;
//! - values.yaml: empty maps and nulls may hold anything below; commented-out keys and dotted
//!   paths in comments are known, as are the names in values.schema.json, and what templates `set`;
//! - the values of subcharts, whether they are there or not, and what a parent may give below
//!   `global`.
//!
//! A field of a value that is itself not there is worse: an error where the template gets there.
//! Such a finding is fatal; parentheses (`(.Values.a).b`) make it harmless, as in Go.
//!
//! What includes another template is followed with its dot; variables, `with`, `dict` arguments
//! too. Where a dot is not known nothing is reported.

mod known;
#[cfg(test)]
mod tests;
mod walk;

use std::sync::Arc;

use crate::chart::load::Loaded;
use crate::diag::did_you_mean;
use crate::engine::{Program, on_large_stack};
use crate::source::Location;
use crate::value::{Map, Value};

/// A use of a value that nothing defines.
#[derive(Debug, Clone)]
pub struct Undefined {
    /// The keys below `.Values`.
    pub path: Vec<Arc<str>>,
    /// Which of them is the first that is not there.
    pub missing: usize,
    /// Whether it is an error at run time: something below what is missing is used.
    pub is_fatal: bool,
    /// Where.
    pub location: Location,
    /// A path that may have been meant.
    pub near: Option<String>,
}

/// All such uses in the chart's own templates, by file and place.
pub fn find(program: &Program, chart: &Loaded, values: &Map) -> Vec<Undefined> {
    let known = known::Known::of(chart, values);
    // Templates may nest as deep as the parser lets them.
    let mut out = on_large_stack(|| walk::walk(program, &known)).unwrap_or_default();
    for one in &mut out {
        one.near = near(values, &one.path, one.missing);
    }
    out.sort_by(|a, b| {
        let key = |one: &Undefined| (one.location.source.name().to_owned(), one.location.span.start);
        key(a).cmp(&key(b))
    });
    out
}

/// The nearest key beside the missing one.
fn near(values: &Map, path: &[Arc<str>], missing: usize) -> Option<String> {
    let mut map = values;
    for key in path.get(..missing)? {
        let Some(Value::Map(inner)) = map.get(key) else {
            return None;
        };
        map = inner;
    }
    let wanted = path.get(missing)?;
    let near = did_you_mean(wanted, map.iter().map(|(key, _)| key.as_str()))?;
    let parents = path.get(..missing)?.iter().map(|key| format!("{key}."));
    let rest = path.get(missing + 1..)?.iter().map(|key| format!(".{key}"));
    Some(format!(
        "{}{near}{}",
        parents.collect::<String>(),
        rest.collect::<String>()
    ))
}
