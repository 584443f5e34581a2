//! The checks of values.yaml: that it is there, that it is YAML, and that it fits its schema.

use super::place::{Found, Place};
use super::words::of_yaml;
use super::{Linter, Options, Severity};
use crate::chart::values_file;
use crate::diag::{Class, Diagnostics};
use crate::source::Location;
use crate::value::{Map, Value};
use crate::values::schema::{self, Level};

const FILE: &str = "values.yaml";

/// All checks, in Helm's order.
pub(super) fn check(place: &Place, options: &Options, linter: &mut Linter) {
    if place.find(FILE) == Found::Nothing {
        let words = "file does not exist".to_owned();
        linter.rule(Severity::Info, FILE, "values-file", Some(words));
        return;
    }
    let Some(source) = place.text(FILE, Class::Values) else {
        let words = format!(
            "unable to parse YAML: read {}/{FILE}: is a directory",
            place.shown
        );
        linter.rule(Severity::Error, FILE, "values-syntax", Some(words));
        return;
    };
    let read = source.and_then(|source| values_file::load(&source));
    let values = match read {
        Ok(values) => values,
        Err(problem) => {
            let words = format!("unable to parse YAML: {}", syntax(&problem));
            linter.rule(Severity::Error, FILE, "values-syntax", Some(words));
            if let Some(one) = problem.iter().next() {
                linter.explain(one.clone());
            }
            return;
        }
    };
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
        schema: Some(schema.text().as_bytes()),
        children: Vec::new(),
    };
    if let Err(problem) = schema::validate(&level, &all, &|_| None::<Location>) {
        let words = super::schema::words(&problem, false);
        linter.rule(Severity::Error, FILE, "values-schema", Some(words));
    }
}

/// go-yaml's words, or Go's for a document that is no map.
fn syntax(problem: &Diagnostics) -> String {
    let message = problem.iter().next().map_or("", |one| one.message.as_str());
    if let Some((_, kind)) = message.split_once(" must hold a map, not ") {
        let kind = match kind {
            "a list" => "array",
            "a boolean" => "bool",
            "a number" => "number",
            _ => "string",
        };
        return format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type \
             map[string]interface {{}}"
        );
    }
    format!("error converting YAML to JSON: {}", of_yaml(problem))
}

/// Helm's `CoalesceTables`: what is there stays, and nulls over the chart's values delete them.
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
