//! Whether values and templates fit together: keys that nothing reads, and values that are read and set nowhere.
//!
//! In: a chart, and the values of one or several runs ([`GivenValues`]). Out: [`ValueFinding`]s. A given key that nothing
//! reads is an error. It is a warning when the chart's own values.yaml or schema has the key, too, since then the chart
//! promises what it does not keep; so are such keys of the chart's values.yaml itself, and values that its templates use
//! and nothing sets.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::lenient_values::prepare_as_found;
use super::undefined::{self, Undefined};
use super::{Rule, rules, unread};
use crate::chart::load::Loaded;
use crate::diag::{Class, Diagnostic, Result, Severity};
use crate::engine::{Program, TemplateError, unit};
use crate::value::{Map, Value};
use crate::value_reads::ValueReads;
use crate::values::ValueOrigins;

/// The values of a run.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct GivenValues {
    /// The values file of `ci/`, if the run is for one.
    pub file: Option<String>,
    /// The values.
    pub values: Map,
    /// Where they were set.
    pub origins: ValueOrigins,
}

impl GivenValues {
    /// The values of a run; `file` is the values file of `ci/`, if the run is for one.
    pub fn new(file: Option<String>, (values, origins): (Map, ValueOrigins)) -> Self {
        Self {
            file,
            values,
            origins,
        }
    }
}

/// Something that is wrong with values.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ValueFinding {
    /// The rule it violates.
    pub rule: &'static Rule,
    /// The keys.
    pub key: String,
    /// What is wrong, and where.
    pub diagnostic: Diagnostic,
    /// The values files of `ci/` with which it was found.
    pub files: Vec<String>,
}

/// Whether the chart itself is checked, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// The given values alone.
    Given,
    /// And the chart's own values.yaml and templates.
    GivenAndChart,
}

/// Checks the values of all runs against what the chart's templates read.
///
/// # Errors
/// Class chart or values: the values of a run can't be merged with the chart's.
pub fn check(chart: &Arc<Loaded>, given: &[GivenValues], scope: Scope) -> Result<Vec<ValueFinding>> {
    let maps: Vec<&Map> = given.iter().map(|one| &one.values).collect();
    let reads = ValueReads::of(chart, &maps)?;
    let mut out = Vec::new();
    for one in given {
        given_keys(chart, &reads, one, &mut out);
    }
    if scope == Scope::GivenAndChart {
        own_keys(chart, &reads, &mut out);
        undefined_values(chart, given, &mut out)?;
    }
    Ok(out)
}

fn given_keys(chart: &Loaded, reads: &ValueReads, given: &GivenValues, out: &mut Vec<ValueFinding>) {
    let origins = given.origins.keys();
    let mut found = Vec::new();
    for one in reads.unread(&given.values) {
        let diagnostic = match has(&chart.values, &one.path) {
            true => Diagnostic::warning(Class::Values, unread::message(&one))
                .note("the chart's values.yaml has it, too"),
            false => Diagnostic::error(Class::Values, unread::message(&one)),
        };
        let described = unread::described(diagnostic, &one, &origins, &[]);
        found.extend(described.map(|diagnostic| (one.path.join("."), diagnostic)));
    }
    for (key, diagnostic) in sorted(found) {
        add(&rules::UNREAD_VALUE, key, diagnostic, given.file.as_ref(), out);
    }
}

/// The keys of the chart's own values.yaml.
fn own_keys(chart: &Loaded, reads: &ValueReads, out: &mut Vec<ValueFinding>) {
    let Some(source) = &chart.values_source else {
        return;
    };
    if chart.details.is_library() {
        return;
    }
    let nothing = ValueOrigins::default();
    let origins = nothing.keys();
    let mut found = Vec::new();
    for one in reads.unread(&chart.values) {
        let diagnostic = Diagnostic::warning(Class::Values, unread::message(&one));
        let described = unread::described(diagnostic, &one, &origins, &[(0, source)]);
        found.extend(described.map(|diagnostic| (one.path.join("."), diagnostic)));
    }
    for (key, diagnostic) in sorted(found) {
        add(&rules::UNREAD_VALUE, key, diagnostic, None, out);
    }
}

/// Whether values have a key.
fn has(values: &Map, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return true;
    };
    match values.get(first) {
        None => false,
        Some(_) if rest.is_empty() => true,
        Some(Value::Map(below)) => has(below, rest),
        Some(_) => false,
    }
}

/// Adds a finding, or the values file to one that is there.
fn add(
    rule: &'static Rule,
    key: String,
    diagnostic: Diagnostic,
    file: Option<&String>,
    out: &mut Vec<ValueFinding>,
) {
    let at = |one: &Diagnostic| one.location.as_ref().map(ToString::to_string);
    let is_same = |one: &&mut ValueFinding| {
        one.rule == rule
            && one.diagnostic.message == diagnostic.message
            && at(&one.diagnostic) == at(&diagnostic)
    };
    match out.iter_mut().find(is_same) {
        Some(known) => known.files.extend(file.cloned()),
        None => out.push(ValueFinding {
            rule,
            key,
            diagnostic,
            files: file.cloned().into_iter().collect(),
        }),
    }
}

/// In the order in which they are written.
fn sorted(mut found: Vec<(String, Diagnostic)>) -> Vec<(String, Diagnostic)> {
    found.sort_by_key(|(_, one)| {
        let at = one.location.as_ref();
        at.map(|at| (at.source.name().to_owned(), at.span.start))
    });
    found
}

/// The values that templates use and that no run sets.
fn undefined_values(chart: &Arc<Loaded>, given: &[GivenValues], out: &mut Vec<ValueFinding>) -> Result<()> {
    let mut common: Option<Vec<Undefined>> = None;
    for one in given {
        let prepared = prepare_as_found(chart, &one.values)?;
        let found = match Program::try_new(unit(&prepared.root))? {
            Ok(program) => undefined::find(&program, chart, &prepared.values),
            Err(problems) => {
                unparsed(&problems, out);
                return Ok(());
            }
        };
        let at = |one: &Undefined| (one.location.source.name().to_owned(), one.location.span.start);
        let here: BTreeSet<_> = found.iter().map(at).collect();
        common = Some(match common {
            Some(known) => known.into_iter().filter(|one| here.contains(&at(one))).collect(),
            None => found,
        });
    }
    for one in common.unwrap_or_default() {
        add(
            &rules::UNDEFINED_VALUE,
            one.path.join("."),
            one.diagnostic(),
            None,
            out,
        );
    }
    Ok(())
}

/// Templates that can't be parsed: what they read is unknown.
fn unparsed(problems: &[TemplateError], out: &mut Vec<ValueFinding>) {
    for problem in problems {
        let diagnostic = problem.diagnostic();
        let note = "all values count as read until it can be parsed";
        add(
            &rules::TEMPLATE_SYNTAX,
            String::new(),
            diagnostic.note(note),
            None,
            out,
        );
    }
}

impl ValueFinding {
    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.diagnostic.severity == Severity::Error
    }
}
