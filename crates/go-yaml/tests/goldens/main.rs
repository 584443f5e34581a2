//! YAML against what Helm 4.3.1's library made of the same inputs, and against itself.

#![allow(clippy::unwrap_used, reason = "helpers of tests, outside of any")]

mod departures;
mod helm;
mod limits;
mod mistakes;
mod properties;
mod reading;
mod template_safe;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use solar_diagnostics::diag::{Class, Diagnostic};
use solar_diagnostics::source::Source;
use solar_diagnostics::value::{Map, Number, Value};
use solar_go_yaml::{self as yaml, Kind, Limits, Node, Options};

fn read(text: &str) -> yaml::Result<Node> {
    yaml::parse(&Source::new("t.yaml", text), Class::Config, &Limits::default())
}

fn data(text: &str) -> Value {
    read(text).unwrap().to_value()
}

/// Numbers in their one form: a float without a fraction comes back as an integer.
fn canonical(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(number.canonical()),
        Value::List(items) => Value::List(items.into_iter().map(canonical).collect()),
        Value::Map(map) => Value::Map(
            map.into_iter()
                .map(|(key, item)| (key, canonical(item)))
                .collect(),
        ),
        other => other,
    }
}
