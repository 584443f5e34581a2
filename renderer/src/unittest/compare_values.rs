//! What single assertions say of a value: pure functions.

use std::cmp::Ordering;

use base64::Engine as _;

use super::data::written;
use crate::value::{Map, Number, Value};

/// Whether a value is as an assertion wants it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// It can't be asked; then the opposite does not hold either.
    Broken(String),
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// Go's name of a value's type.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "",
        Value::Bool(_) => "bool",
        Value::Number(Number::Int(_)) => "int",
        Value::Number(Number::Uint(_)) => "uint64",
        Value::Number(Number::Float(_)) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
    }
}

/// The text in base64.
///
/// # Errors
/// helm-unittest's message.
pub(super) fn decoded(text: &str) -> Result<String, String> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
    let decoded = bytes
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    decoded.ok_or_else(|| format!("unable to decode base64 expected content {text}"))
}

/// The value as `equal` compares it: its texts have no spaces at the ends of lines, and lines end with `\n`, where
/// there were any.
pub(super) fn without_line_ends(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_spaces(text)),
        Value::List(items) => Value::List(items.iter().map(without_line_ends).collect()),
        Value::Map(map) => Value::Map(
            map.iter()
                .map(|(key, value)| (key.clone(), without_line_ends(value)))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn without_spaces(text: &str) -> String {
    let line = |line: &str| {
        let end = line.strip_suffix("\r\n").or(line.strip_suffix('\n'));
        match end.filter(|rest| rest.ends_with(' ')) {
            Some(rest) => format!("{}\n", rest.trim_end_matches(' ')),
            None => line.to_owned(),
        }
    };
    let lines: String = text.split_inclusive('\n').map(line).collect();
    // Breaks at the beginning of a text are lost, as elsewhere.
    match lines == text {
        true => lines,
        false => lines.trim_start_matches('\n').to_owned(),
    }
}

/// Whether a list contains something, as often as `count` says.
pub(super) fn contains(
    value: &Value,
    content: &Value,
    count: Option<i64>,
    any: bool,
    negative: bool,
) -> Holds {
    let Value::List(items) = value else {
        return Holds::Broken(format!("is not an array: {}", written(value).trim_end()));
    };
    let found = items
        .iter()
        .filter(|item| **item == *content || any && has_fields(item, content));
    let found = found.count();
    let fits = |wanted: i64| usize::try_from(wanted) == Ok(found);
    match count {
        _ if found == 0 => Holds::No,
        Some(wanted) if negative => fits(wanted).into(),
        Some(wanted) => match fits(wanted) {
            true => Holds::Yes,
            false => Holds::Broken(format!("contains it {found} times, not {wanted}")),
        },
        None => Holds::Yes,
    }
}

fn has_fields(item: &Value, content: &Value) -> bool {
    match (item, content) {
        (Value::Map(map), Value::Map(wanted)) => is_subset(map, wanted),
        _ => false,
    }
}

/// Whether a map has all entries of another one, with equal values.
pub(super) fn is_subset(map: &Map, wanted: &Map) -> bool {
    wanted.iter().all(|(key, value)| map.get(key) == Some(value))
}

/// Whether a value is null, or empty, or the zero of its type.
pub(super) fn is_null_or_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == 0.0,
        Value::String(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
    }
}

/// How many items a list has; nothing else has any.
pub(super) fn length(value: &Value) -> i64 {
    match value {
        Value::List(items) => i64::try_from(items.len()).unwrap_or(i64::MAX),
        _ => 0,
    }
}

/// How a value compares with another one of the same type.
///
/// # Errors
/// The types differ. `None`: values of the type have no order.
pub(super) fn order(value: &Value, wanted: &Value) -> Result<Option<Ordering>, String> {
    if type_name(value) != type_name(wanted) || matches!(value, Value::Null) {
        return Err(format!(
            "actual '{}' and expected '{}' types do not match",
            type_name(value),
            type_name(wanted)
        ));
    }
    Ok(match (value, wanted) {
        (Value::Number(Number::Uint(_)), _) => None,
        (Value::Number(one), Value::Number(other)) => one.as_f64().partial_cmp(&other.as_f64()),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => None,
    })
}
