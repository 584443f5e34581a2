//! The checks of values.yaml: that it exists, that it is YAML, and that it matches its schema.

use super::linted_chart::unreadable;
use super::linted_chart::{EntryKind, LintedChart};
use super::schema::{Checked, helm_message};
use super::{LintOptions, Linter, rules};
use crate::chart::values_file::{self, ValuesFileError};
use crate::diag::Class;
use crate::go_yaml_errors::go_yaml_message;
use crate::source::Location;
use crate::value::{Map, Value};
use crate::values::schema::{self, Level};

const FILE: &str = "values.yaml";

/// All checks, in Helm's order.
pub(super) fn check(place: &LintedChart, options: &LintOptions, linter: &mut Linter) {
    if place.find(FILE) == EntryKind::Nothing {
        let words = "file does not exist".to_owned();
        linter.report(FILE, &rules::VALUES_FILE, Some(words));
        return;
    }
    let Some(source) = place.text(FILE, Class::Values) else {
        let words = format!(
            "unable to parse YAML: read {}/{FILE}: is a directory",
            place.shown
        );
        linter.report(FILE, &rules::VALUES_SYNTAX, Some(words));
        return;
    };
    let mut duplicates = Vec::new();
    let read = match source {
        Ok(source) => values_file::load_noting(&source, &mut duplicates)
            .map_err(|error| (helm_syntax(&error), error.into())),
        Err(problem) => Err((unreadable(&problem), problem)),
    };
    let values = match read {
        Ok(values) => values,
        Err((message, problem)) => {
            let message = format!("unable to parse YAML: {message}");
            linter.report(FILE, &rules::VALUES_SYNTAX, Some(message));
            if let Some(one) = problem.iter().next() {
                linter.explain(one.clone());
            }
            return;
        }
    };
    for one in duplicates {
        linter.own(FILE, &rules::DUPLICATE_KEY, one.to_diagnostic(Class::Values));
    }
    let Some(Ok(schema)) = place.text("values.schema.json", Class::Values) else {
        return;
    };
    if schema.text().is_empty() || options.skip_schema {
        return;
    }
    let mut all = options.values.clone();
    coalesce(&mut all, values);
    let level = Level {
        chart: "",
        schema: Some(&schema),
        children: Vec::new(),
    };
    if let Err(found) = schema::validate_with(&level, &all, &|_| None::<Location>, &*options.schemas) {
        let message = helm_message(&found, Checked::Alone);
        linter.report(FILE, &rules::VALUES_SCHEMA, Some(message));
    }
}

/// go-yaml's message, or that of Go's JSON decoder for a document that is not a map.
fn helm_syntax(error: &ValuesFileError) -> String {
    let message = match error {
        ValuesFileError::Syntax(error) => go_yaml_message(error),
        ValuesFileError::Separator(one) => format!("yaml: {}", one.message),
        ValuesFileError::NotAMap { found, .. } => {
            let kind = match found {
                Some(Value::List(_)) => "array",
                Some(Value::Bool(_)) => "bool",
                Some(Value::Number(_)) | None => "number",
                Some(Value::String(_) | Value::Null | Value::Map(_)) => "string",
            };
            return format!(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type \
                 map[string]interface {{}}"
            );
        }
    };
    format!("error converting YAML to JSON: {message}")
}

/// Helm's `CoalesceTables`: existing values are kept, and nulls delete the chart's values.
fn coalesce(over: &mut Map, base: Map) {
    for (key, below) in base {
        match (over.get_mut(&key), below) {
            (Some(Value::Map(above)), Value::Map(below)) => coalesce(above, below),
            (Some(Value::Null), _) => {
                over.remove(&key);
            }
            (Some(_), _) => {}
            (None, below) => {
                over.insert(key, below);
            }
        }
    }
}
