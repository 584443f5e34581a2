//! Conversion between numbers and strings, as in spf13/cast 1.7: values that can't be converted are 0.

use super::Context;
use super::args::func;
use crate::gotext::number::{NumberError, parse_float, parse_int};
use crate::template::print::sprint;
use crate::template::{Call, Func, FuncError, IntType, Type, Val};

/// cast's `ToInt64`, and `ToInt`: both have 64 bits.
pub(super) fn to_int64(value: &Val) -> i64 {
    match value {
        Val::Bool(value) => i64::from(*value),
        // cast doesn't support durations.
        Val::Int(_, IntType::Duration) => 0,
        Val::Int(value, _) => *value,
        Val::Uint(value, _) => value.cast_signed(),
        Val::Float(value) => truncated(*value),
        Val::Str(text) => text
            .as_str()
            .and_then(|text| parse_int(without_zero_decimals(text), 0).ok())
            .unwrap_or(0),
        _ => 0,
    }
}

/// cast's `ToFloat64`.
#[allow(clippy::cast_precision_loss, reason = "as Go converts")]
pub(super) fn to_float64(value: &Val) -> f64 {
    match value {
        Val::Bool(value) => f64::from(u8::from(*value)),
        Val::Int(_, IntType::Duration) => 0.0,
        Val::Int(value, _) => *value as f64,
        Val::Uint(value, _) => *value as f64,
        Val::Float(value) => *value,
        Val::Str(text) => text.as_str().and_then(parse_float).unwrap_or(0.0),
        _ => 0.0,
    }
}

/// Go's conversion on amd64: values out of range become the minimum int64.
#[allow(clippy::cast_possible_truncation, reason = "checked before")]
fn truncated(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

/// `1.00` is `1`: cast drops a fraction of zeros.
fn without_zero_decimals(text: &str) -> &str {
    let whole = text.trim_end_matches('0');
    match whole.strip_suffix('.') {
        Some(whole_number) if whole.len() < text.len() => whole_number,
        _ => text,
    }
}

fn atoi(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(0);
    let number = match text.as_str().map(|text| parse_int(text, 10)) {
        Some(Ok(number) | Err(NumberError::Range(number))) => number,
        Some(Err(NumberError::Syntax)) | None => 0,
    };
    Ok(Val::int(number))
}

fn int(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::int(to_int64(&call.arg(0))))
}

fn int64(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::int64(to_int64(&call.arg(0))))
}

fn float64(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::Float(to_float64(&call.arg(0))))
}

/// The text of the value, read as octal.
fn to_decimal(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = sprint(&call.arg(0));
    let number = text.as_str().and_then(|text| parse_int(text, 8).ok());
    Ok(Val::int64(number.unwrap_or(0)))
}

use Type::{Any, String as Text};

pub(super) const TABLE: &[Func<Context>] = &[
    func("atoi", &[Text], "The text as int, in decimal", atoi),
    func("float64", &[Any], "The value as float64", float64),
    func("int", &[Any], "The value as int", int),
    func("int64", &[Any], "The value as int64", int64),
    func("toDecimal", &[Any], "Octal digits as a number", to_decimal),
];
