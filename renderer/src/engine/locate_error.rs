//! Locates errors in rendered texts in the templates that printed them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics};
use crate::source::{Location, Span};
use crate::template::Origins;

/// The nodes that printed each part of the output, by the templates' full names.
pub type Traced = BTreeMap<Arc<str>, Origins>;

/// Moves the location of an error from the rendered text to the template that printed it. The
/// texts' sources have the templates' full names.
pub fn blame(problem: Diagnostics, origins: &Traced) -> Diagnostics {
    let list = problem.into_vec().into_iter();
    list.map(|one| moved(one, origins)).collect()
}

fn moved(mut one: Diagnostic, origins: &Traced) -> Diagnostic {
    let Some(place) = &one.location else { return one };
    let position = place.position();
    let found = origins
        .get(place.source.name())
        .and_then(|origins| origins.find(position.line, position.column));
    let Some(origin) = found else { return one };
    let line = place.source.text().lines().nth(position.line - 1).unwrap_or("");
    one.notes.retain(|note| note != RENDERED_LINES);
    one.notes.push(format!(
        "line {} of what it renders to: `{}`",
        position.line,
        line.trim()
    ));
    for (_, at) in &mut one.trace {
        *at = at.take().map(|at| printed_by(at, origins));
    }
    one.location = Some(word_at(origin.location));
    one.label = Some("this produces the invalid YAML".to_owned());
    let trace = origin.trace.into_iter();
    one.trace
        .extend(trace.map(|(name, location)| (format!("included as {name:?}"), Some(location))));
    one
}

fn printed_by(at: Location, origins: &Traced) -> Location {
    let position = at.position();
    let found = origins
        .get(at.source.name())
        .and_then(|origins| origins.find(position.line, position.column));
    found.map_or(at, |origin| origin.location)
}

/// The note of diagnostics with locations in rendered texts.
pub(crate) const RENDERED_LINES: &str = "the lines are those of the rendered text";

/// An empty location is extended to the end of its line.
pub(crate) fn word_at(location: Location) -> Location {
    if location.span.start < location.span.end {
        return location;
    }
    let start = location.span.start as usize;
    let rest = location.source.text().get(start..).unwrap_or("");
    let rest = rest.lines().next().unwrap_or("");
    // An action prints a value: the location ends before it.
    let rest = rest.split("{{").next().unwrap_or("").trim_end();
    Location::new(&location.source, Span::new(start, start + rest.len()))
}
