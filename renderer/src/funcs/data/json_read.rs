//! JSON as Go's `encoding/json` reads it into an `interface{}`, with its error messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use solar_go_json::{Error, Limits, Piece};

use crate::template::{FuncError, Map, MapType, Str, Val};

/// The maximum nesting of lists and maps; Go's limit is 10,000. A value inside counts as one more level.
const MAX_DEPTH: usize = 1_000;

/// The value, and an error in a part of it: a number beyond float64 becomes nil, and the first of them is reported.
pub(super) struct JsonRead {
    pub(super) value: Val,
    pub(super) fault: Option<FuncError>,
}

/// Parses a text. The error is a syntax error.
pub(super) fn read(text: &Str) -> Result<JsonRead, FuncError> {
    let mut fault = None;
    let limits = Limits {
        depth: MAX_DEPTH + 1,
        values: usize::MAX,
    };
    let value = solar_go_json::read(text.as_bytes(), limits, |piece, _| value(piece, &mut fault));
    Ok(JsonRead {
        value: value.map_err(message)?,
        fault,
    })
}

/// Go's name for the kind of a JSON value in error messages.
pub(super) fn kind(value: &Val) -> &'static str {
    match value {
        Val::Bool(_) => "bool",
        Val::Str(_) => "string",
        Val::List(_) => "array",
        Val::Map(_) => "object",
        _ => "number",
    }
}

fn value(piece: Piece<'_, Val>, fault: &mut Option<FuncError>) -> Val {
    match piece {
        Piece::Null => Val::Nil,
        Piece::Bool(value) => Val::Bool(value),
        Piece::Number(digits) => number(digits).unwrap_or_else(|beyond| {
            fault.get_or_insert(beyond);
            Val::Nil
        }),
        Piece::String(text) => Val::Str(Str::from(text.as_ref())),
        Piece::List(items) => Val::list(items),
        Piece::Map(members) => {
            let members = members.into_iter();
            let entries: BTreeMap<Arc<str>, Val> = members
                .map(|one| (Arc::from(one.key.as_ref()), one.value))
                .collect();
            Val::Map(Map::with(MapType::Any, entries))
        }
    }
}

fn number(digits: &str) -> Result<Val, FuncError> {
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Val::Float(value)),
        _ => Err(FuncError::new(format!(
            "json: cannot unmarshal number {digits} into Go value of type float64"
        ))),
    }
}

fn message(error: Error) -> FuncError {
    match error {
        Error::UnexpectedByte { byte, context } => {
            FuncError::new(format!("invalid character '{}' {context}", shown(byte)))
        }
        Error::UnexpectedEnd => FuncError::new("unexpected end of JSON input"),
        Error::TooDeep | Error::TooManyValues => FuncError::new("exceeded max depth"),
    }
}

/// A byte as Go's `quoteChar` shows it.
fn shown(byte: u8) -> String {
    match byte {
        b'\'' => "\\'".to_owned(),
        b'"' => "\"".to_owned(),
        other => {
            let quoted = crate::template::print::quote(char::from(other).encode_utf8(&mut [0; 4]));
            quoted.trim_matches('"').to_owned()
        }
    }
}
