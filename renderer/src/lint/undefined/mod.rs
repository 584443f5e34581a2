//! Finds values that templates use and no values file defines.
//!
//! The templates' trees are walked, not run: both branches of every `if` are visited. To avoid false positives in a
//! well-kept chart, anything that can replace a missing value makes it known:
//!
//! - guards: a path that a surrounding condition names, in any way (`if`, `with`, `range`,
//!   `and`, `or`, `not`, `hasKey`, `eq`, or a template that the condition includes), and one that `required` or `fail`
//!   checks, anywhere in the chart;
//! - defaults: `default`, `coalesce`, `dig`, `get`, `ternary`, … and every other function that handles nil. Only
//!   printing a value, or passing it to a function that formats it (`uses`), counts as using it;
//! - values.yaml: empty maps and nulls may hold anything below; commented-out keys and dotted
//!   paths in comments are known, as are the names in values.schema.json, and what templates `set`;
//! - the values of subcharts, whether or not those exist, and values that a parent may set below `global`.
//!
//! A field of a missing value is worse: an error when the template is run. Such a finding is fatal; with parentheses
//! (`(.Values.a).b`) it isn't, as in Go.
//!
//! Includes are followed with their dot, also through variables, `with` and `dict` arguments. Where a dot is unknown
//! nothing is reported.

mod known;
#[cfg(test)]
mod tests;
mod walk;

use std::sync::Arc;

use crate::chart::load::Loaded;
use crate::diag::{Class, Diagnostic, did_you_mean};
use crate::engine::{Program, on_large_stack};
use crate::source::Location;
use crate::value::{Map, Value};

/// A use of a value that nothing defines.
#[derive(Debug, Clone)]
pub struct Undefined {
    /// The keys below `.Values`.
    pub path: Vec<Arc<str>>,
    /// The index of the first missing key.
    pub missing: usize,
    /// Whether it is an error at run time: a field of the missing value is used.
    pub is_fatal: bool,
    /// Its location.
    pub location: Location,
    /// A suggested path.
    pub near: Option<String>,
}

impl Undefined {
    /// What is wrong, and where.
    pub fn diagnostic(&self) -> Diagnostic {
        let path = self.path.join(".");
        let message = if self.is_fatal {
            let parent = self.path.get(..=self.missing).unwrap_or_default().join(".");
            format!(
                "`.Values.{parent}` is in no values file, so `.Values.{path}` is an error where it is reached"
            )
        } else {
            format!("`.Values.{path}` is not set in any values file and has no default")
        };
        let label = if self.is_fatal { "of nil" } else { "always empty" };
        let diagnostic = Diagnostic::warning(Class::Values, message)
            .at(self.location.clone())
            .label(label);
        match &self.near {
            Some(near) => diagnostic.hint(format!("did you mean `.Values.{near}`?")),
            None => diagnostic.hint("give it a default in values.yaml, even a commented one, or here"),
        }
    }
}

/// All such uses in the chart's own templates, sorted by file and position.
pub fn find(program: &Program, chart: &Loaded, values: &Map) -> Vec<Undefined> {
    let known = known::Known::of(chart, values);
    // Templates may nest as deeply as the parser allows.
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

/// The most similar key at the level of the missing one.
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
