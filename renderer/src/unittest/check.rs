//! Checks an assertion against the documents that it is about.
//!
//! Each value that the assertion's path selects must be as the assertion says, in each document of each template. The
//! opposite of an assertion says that of each value, too: `notEqual` fails if one of several values is equal.

use std::collections::BTreeSet;

use super::assertion::{Assertion, Check, PathText};
use super::compare_values::{Holds, contains, decoded, is_null_or_empty, is_subset, without_line_ends};
use super::data::written;
use super::document_check::{contains_document, matches, of_document};
use super::documents::{Document, RAW, Rendered};
use super::failed_template;
use super::outcome::{Failure, SnapshotUse};
use super::rendered_position::position;
use super::select::{SelectedTemplate, Selection, not_selected, select};
use super::snapshot_check::SnapshotChecker;
use super::suite::TestCase;
use crate::value::Value;

/// The message for a template that rendered to nothing.
const NO_MANIFEST: &str = "the template rendered no document";

/// What assertions of one test are checked against.
pub(super) struct Checking<'t> {
    pub(super) test: &'t TestCase,
    /// The templates that assertions without one of their own are about.
    pub(super) names: BTreeSet<String>,
    /// The path of the suite's chart.
    pub(super) chart: &'t str,
    pub(super) rendered: &'t Rendered,
    pub(super) snapshots: SnapshotChecker<'t>,
}

impl Checking<'_> {
    /// The failures of an assertion; none if it holds.
    pub(super) fn check(&mut self, number: usize, assertion: &Assertion) -> Vec<Failure> {
        let names = match &assertion.template {
            Some(name) => BTreeSet::from([super::templates::full_name(self.chart, name)]),
            None => self.names.clone(),
        };
        let rendered = self.rendered;
        let mut failures = match rendered {
            Rendered::Failed(failure) => failed_template::check(assertion, &names, failure),
            Rendered::Documents(documents) => match select(self.test, assertion, &names, documents) {
                Ok(Selection::Nothing) => Vec::new(),
                Ok(Selection::Templates(templates)) => templates
                    .iter()
                    .flat_map(|template| self.in_template(assertion, template))
                    .collect(),
                Err(messages) => messages.into_iter().map(message).collect(),
            },
        };
        let name = match assertion.not {
            true => format!("not {}", assertion.kind.name),
            false => assertion.kind.name.to_owned(),
        };
        for failure in &mut failures {
            failure.number = number;
            failure.assertion.clone_from(&name);
        }
        failures
    }

    /// What the snapshot assertions compared.
    pub(super) fn into_snapshots(self) -> Vec<SnapshotUse> {
        self.snapshots.into_uses()
    }

    fn in_template(&mut self, assertion: &Assertion, template: &SelectedTemplate<'_>) -> Vec<Failure> {
        let negative = assertion.is_negative();
        let mistake = mistaken(&assertion.check);
        let mut failures = match &assertion.check {
            _ if mistake.is_some() => mistake.map(message).into_iter().collect(),
            Check::Documents { count, filter_aware } => {
                let found = if *filter_aware {
                    template.documents.len()
                } else {
                    template.total
                };
                let holds = usize::try_from(*count) == Ok(found);
                match holds == negative {
                    true => vec![compared(
                        "the number of documents",
                        count.to_string(),
                        found.to_string(),
                    )],
                    false => Vec::new(),
                }
            }
            Check::ContainsDocument { .. } => contains_document(assertion, template),
            Check::FailedTemplate { .. } => failed_template::not_failed(assertion, template),
            Check::Snapshot { .. } | Check::SnapshotRaw if template.documents.is_empty() => match negative {
                true => vec![message(NO_MANIFEST)],
                false => Vec::new(),
            },
            _ if template.documents.is_empty() => match negative {
                true => Vec::new(),
                false => vec![message(NO_MANIFEST)],
            },
            _ => template
                .documents
                .iter()
                .flat_map(|(number, document)| self.in_document(assertion, *number, document))
                .collect(),
        };
        for failure in &mut failures {
            failure.template = (!template.name.is_empty()).then(|| template.name.to_owned());
        }
        failures
    }

    fn in_document(&mut self, assertion: &Assertion, number: usize, document: &Document) -> Vec<Failure> {
        let negative = assertion.is_negative();
        let mut failures = match &assertion.check {
            Check::Snapshot {
                path,
                matches,
                matches_not,
            } => {
                let checker = &mut self.snapshots;
                each(path, document, negative, |value| {
                    checker.check(&written(value), negative, matches.as_ref(), matches_not.as_ref())
                })
            }
            Check::SnapshotRaw => {
                let content = written(&raw(document));
                self.snapshots
                    .check(&content, negative, None, None)
                    .into_iter()
                    .collect()
            }
            check => in_document(check, document, negative),
        };
        for failure in &mut failures {
            failure.document = Some(number);
            failure
                .rendered_at
                .get_or_insert_with(|| position(document, None));
        }
        failures
    }
}

/// Why an assertion's parameters can't be used, whatever was rendered.
fn mistaken(check: &Check) -> Option<String> {
    match check {
        Check::Length { paths, mistake, .. } if !paths.is_empty() => mistake.map(str::to_owned),
        Check::Regex { pattern, .. } | Check::RegexRaw(pattern) if pattern.text.is_empty() => {
            pattern.compiled.as_ref().err().cloned()
        }
        _ => None,
    }
}

/// A failure that is a message alone.
pub(super) fn message(text: impl Into<String>) -> Failure {
    Failure {
        message: text.into(),
        ..Failure::default()
    }
}

/// A failure with what is expected and what was found.
pub(super) fn compared(what: &str, expected: String, actual: String) -> Failure {
    Failure {
        message: what.to_owned(),
        expected: Some(expected),
        actual: Some(actual),
        ..Failure::default()
    }
}

/// The raw text of a document; null if it has none.
pub(super) fn raw(document: &Document) -> Value {
    let map = document.value.as_map();
    map.and_then(|map| map.get(RAW)).cloned().unwrap_or_default()
}

/// What holds of each value that a path selects.
pub(super) fn each(
    path: &PathText,
    document: &Document,
    negative: bool,
    mut check: impl FnMut(&Value) -> Option<Failure>,
) -> Vec<Failure> {
    let located = |failure: Failure, value: Option<&Value>| Failure {
        path: path.text.clone(),
        rendered_at: Some(position(document, value)),
        ..failure
    };
    let found = path
        .parsed
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|path| path.find(&document.value).map_err(|error| error.to_string()));
    match found {
        Err(why) => vec![located(message(format!("the path can't be used: {why}")), None)],
        Ok(found) if found.is_empty() && negative => Vec::new(),
        Ok(found) if found.is_empty() => vec![located(message("there is no such path"), None)],
        Ok(found) => found
            .iter()
            .filter_map(|value| check(value).map(|failure| located(failure, Some(value))))
            .collect(),
    }
}

/// As [`each`], for assertions that compare a value with what is expected.
pub(super) fn each_holds(
    path: &PathText,
    document: &Document,
    negative: bool,
    expected: (&str, String),
    holds: impl Fn(&Value) -> Holds,
) -> Vec<Failure> {
    let (what, expected) = expected;
    each(path, document, negative, |value| match holds(value) {
        Holds::Broken(why) => Some(compared(&why, expected.clone(), written(value))),
        Holds::Yes if !negative => None,
        Holds::No if negative => None,
        _ => Some(compared(&not(what, negative), expected.clone(), written(value))),
    })
}

pub(super) fn not(what: &str, negative: bool) -> String {
    match negative {
        true => format!("expected not {what}"),
        false => format!("expected {what}"),
    }
}

fn in_document(check: &Check, document: &Document, negative: bool) -> Vec<Failure> {
    match check {
        Check::Equal { path, value, decodes } => each_holds(
            path,
            document,
            negative,
            ("to equal", written(value)),
            |found| match found {
                Value::String(text) if *decodes => match decoded(text) {
                    Ok(text) => (without_line_ends(&Value::String(text)) == *value).into(),
                    Err(why) => Holds::Broken(why),
                },
                found => (without_line_ends(found) == *value).into(),
            },
        ),
        Check::Regex {
            path,
            pattern,
            decodes,
        } => {
            let expected = ("to match", pattern.text.clone());
            each_holds(path, document, negative, expected, |found| {
                matches(found, pattern, *decodes)
            })
        }
        Check::Contains {
            path,
            content,
            count,
            any,
        } => {
            let expected = written(&Value::List(vec![content.clone()]));
            each_holds(path, document, negative, ("to contain", expected), |found| {
                contains(found, content, *count, *any, negative)
            })
        }
        Check::NullOrEmpty(path) => each_holds(
            path,
            document,
            negative,
            ("to be null or empty", String::new()),
            |found| is_null_or_empty(found).into(),
        ),
        Check::Exists(path) => each(path, document, negative, |_| {
            negative.then(|| message("expected not to exist"))
        }),
        Check::Subset { path, content } => each_holds(
            path,
            document,
            negative,
            ("to contain", written(content)),
            |found| match (found, content) {
                (Value::Map(map), Value::Map(wanted)) => is_subset(map, wanted).into(),
                _ => Holds::Broken("is not an object, or the content is not one".to_owned()),
            },
        ),
        other => of_document(other, document, negative),
    }
}

/// The message that an assertion's template has no output.
pub(super) fn missing(name: &str) -> Failure {
    message(not_selected(name))
}
