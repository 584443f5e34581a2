//! Durations: Go's `time.Duration`, nanoseconds in an int64.

use super::NANOS;
use super::parse::quote;
use crate::template::print::sprint;
use crate::template::{IntType, Val};

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    // U+00B5, the micro sign, and U+03BC, the Greek letter.
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The magnitude of the smallest duration.
const LIMIT: u64 = 1 << 63;

/// As `time.ParseDuration`.
pub(super) fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quote(text));
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let whole_length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, after) = rest.split_at_checked(whole_length).ok_or_else(invalid)?;
        let fraction_length = after.strip_prefix('.').map_or(0, |fraction| {
            fraction.bytes().take_while(u8::is_ascii_digit).count() + 1
        });
        let (fraction, after) = after.split_at_checked(fraction_length).ok_or_else(invalid)?;
        if whole.is_empty() && fraction.len() < 2 {
            return Err(invalid());
        }
        let is_unit = |byte: &u8| *byte != b'.' && !byte.is_ascii_digit();
        let unit_length = after.bytes().take_while(is_unit).count();
        let (unit, after) = after.split_at_checked(unit_length).ok_or_else(invalid)?;
        // Go parses the number before the unit.
        let whole: u64 = if whole.is_empty() {
            0
        } else {
            whole.parse().map_err(|_| invalid())?
        };
        if whole > LIMIT {
            return Err(invalid());
        }
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", quote(text)));
        }
        let Some((_, size)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            let (unit, text) = (quote(unit), quote(text));
            return Err(format!("time: unknown unit {unit} in duration {text}"));
        };
        let part = whole
            .checked_mul(*size)
            .and_then(|part| part.checked_add(part_of(fraction, *size)))
            .filter(|part| *part <= LIMIT)
            .ok_or_else(invalid)?;
        total = total
            .checked_add(part)
            .filter(|total| *total <= LIMIT)
            .ok_or_else(invalid)?;
        rest = after;
    }
    if negative {
        return Ok(0_i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).map_err(|_| invalid())
}

/// A fraction like `.5` of a unit, truncated to nanoseconds, computed as in Go.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the same floats as in Go"
)]
fn part_of(fraction: &str, unit: u64) -> u64 {
    let mut value: u64 = 0;
    let mut scale = 1.0_f64;
    for digit in fraction.bytes().skip(1) {
        let next = value
            .checked_mul(10)
            .and_then(|next| next.checked_add(u64::from(digit - b'0')));
        match next {
            Some(next) if next <= LIMIT => value = next,
            _ => break,
        }
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

/// `Duration.String`.
pub(super) fn show(duration: i64) -> String {
    sprint(&Val::Int(duration, IntType::Duration))
        .to_text()
        .into_owned()
}

/// `Duration.Truncate`: toward zero to a multiple.
pub(super) fn truncate(duration: i64, multiple: i64) -> i64 {
    if multiple <= 0 {
        return duration;
    }
    duration - duration % multiple
}

/// `Duration.Round`: to the nearest multiple, halves away from zero, within int64.
pub(super) fn round(duration: i64, multiple: i64) -> i64 {
    if multiple <= 0 {
        return duration;
    }
    let (duration, multiple) = (i128::from(duration), i128::from(multiple));
    let rest = duration.abs() % multiple;
    let down = duration.abs() - rest;
    let size = if rest * 2 < multiple {
        down
    } else {
        down + multiple
    };
    let rounded = if duration < 0 { -size } else { size };
    i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
}

/// A duration in a unit as a float: whole units plus the rest, as Go computes it.
#[allow(clippy::cast_precision_loss, reason = "the same floats as in Go")]
pub(super) fn in_units(duration: i64, unit: i64) -> f64 {
    let whole = duration / unit;
    let rest = duration % unit;
    whole as f64 + rest as f64 / unit as f64
}

/// Converts a value as Helm's functions do: a duration, its text, or seconds.
pub(super) fn from_any(value: &Val) -> Result<i64, String> {
    match value {
        Val::Int(duration, IntType::Duration) => Ok(*duration),
        Val::Nil | Val::Null => Err("invalid duration".to_owned()),
        Val::Str(text) => {
            let text = text.to_text();
            let trimmed = text.trim();
            if trimmed.is_empty() {
                return Err("empty duration".to_owned());
            }
            if let Ok(duration) = parse(trimmed) {
                return Ok(duration);
            }
            match trimmed.parse::<f64>() {
                Ok(seconds)
                    if seconds.is_finite() || !trimmed.contains(|digit: char| digit.is_ascii_digit()) =>
                {
                    from_seconds(seconds)
                }
                _ => Err(format!(
                    "could not parse duration {}",
                    crate::template::print::quote(&text)
                )),
            }
        }
        Val::Int(seconds, _) => seconds
            .checked_mul(NANOS)
            .ok_or_else(|| format!("duration seconds overflow: {seconds}")),
        Val::Uint(seconds, _) => i64::try_from(*seconds)
            .ok()
            .and_then(|seconds| seconds.checked_mul(NANOS))
            .ok_or_else(|| format!("duration seconds overflow: {seconds}")),
        Val::Float(seconds) => from_seconds(*seconds),
        other => Err(format!("unsupported duration type {}", other.type_name())),
    }
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "the same floats as in Go"
)]
fn from_seconds(seconds: f64) -> Result<i64, String> {
    let shown = || sprint(&Val::Float(seconds));
    if !seconds.is_finite() {
        return Err(format!("invalid duration seconds: {}", shown()));
    }
    let limit = i64::MAX as f64 / NANOS as f64;
    if seconds > limit || seconds < -limit {
        return Err(format!("duration seconds overflow: {}", shown()));
    }
    // At the limit Go's conversion wraps around.
    let nanos = seconds * NANOS as f64;
    Ok(if nanos >= i64::MAX as f64 {
        i64::MIN
    } else {
        nanos as i64
    })
}
