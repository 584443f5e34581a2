//! Converts our values to minijinja's and back.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind};

use crate::value::{Map, Number, Value};

/// The maximum nesting of a value that a template creates.
const MAX_DEPTH: usize = 200;
/// The maximum number of nested values in a value that a template creates.
const MAX_NODES: usize = 200_000;

/// Converts a value for the scope of a template.
pub(super) fn to_template(value: &Value) -> minijinja::Value {
    match value {
        Value::Null => minijinja::Value::from(()),
        Value::Bool(value) => (*value).into(),
        Value::Number(Number::Int(value)) => (*value).into(),
        Value::Number(Number::Uint(value)) => (*value).into(),
        Value::Number(Number::Float(value)) => (*value).into(),
        Value::String(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(to_template).collect(),
        Value::Map(map) => {
            let map: std::collections::BTreeMap<String, minijinja::Value> = map
                .iter()
                .map(|(key, value)| (key.clone(), to_template(value)))
                .collect();
            map.into()
        }
    }
}

/// Converts the argument of a filter. Values that YAML can't represent (undefined, functions) are an error.
pub(super) fn from_template(value: &minijinja::Value) -> Result<Value, Error> {
    let mut left = MAX_NODES;
    convert(value, 0, &mut left)
}

fn convert(value: &minijinja::Value, depth: usize, left: &mut usize) -> Result<Value, Error> {
    // A value can contain another one many times: a value that is small in memory may be huge when printed.
    *left = left.checked_sub(1).ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidOperation,
            format!("the value holds more than {MAX_NODES} values"),
        )
    })?;
    if depth > MAX_DEPTH {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("the value nests deeper than {MAX_DEPTH}"),
        ));
    }
    Ok(match value.kind() {
        ValueKind::None => Value::Null,
        ValueKind::Bool => Value::Bool(value.is_true()),
        ValueKind::Number => Value::Number(number(value)?),
        ValueKind::String => Value::String(value.as_str().unwrap_or_default().to_owned()),
        ValueKind::Seq | ValueKind::Iterable => Value::List(
            value
                .try_iter()?
                .map(|item| convert(&item, depth + 1, left))
                .collect::<Result<_, _>>()?,
        ),
        ValueKind::Map => {
            let mut map = Map::default();
            for key in value.try_iter()? {
                let item = value.get_item(&key)?;
                let name = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                map.insert(name, convert(&item, depth + 1, left)?);
            }
            Value::Map(map)
        }
        ValueKind::Undefined => return Err(Error::from(ErrorKind::UndefinedError)),
        other => {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("{other} can't be represented in YAML"),
            ));
        }
    })
}

fn number(value: &minijinja::Value) -> Result<Number, Error> {
    if value.is_integer() {
        if let Ok(value) = i64::try_from(value.clone()) {
            return Ok(Number::Int(value));
        }
        return u64::try_from(value.clone()).map(Number::Uint);
    }
    let value = f64::try_from(value.clone())?;
    if value.is_finite() {
        return Ok(Number::Float(value).canonical());
    }
    Err(Error::new(
        ErrorKind::InvalidOperation,
        "infinity and not-a-number can't be represented in JSON",
    ))
}
