//! Resolves scalars: YAML 1.1's types as in go-yaml v2.
//!
//! In: the scalar's text and its tag. Out: null, a boolean, a number or text. The
//! order of the attempts is observable (`08` fails as an octal integer and becomes the
//! float 8), so it is the same as go-yaml's.

use super::written::ScalarType;
use solar_diagnostics::value::Number;

/// The resolved type of a plain scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Resolved {
    Null,
    Bool(bool),
    Number(Number),
    /// A date; a string as data, but always written in quotes.
    Timestamp,
    Text,
}

/// A tag that does not match its scalar.
#[derive(Debug, PartialEq)]
pub(super) struct Mismatch;

const LONG_PREFIX: &str = "tag:yaml.org,2002:";

/// The short name of a tag of YAML's own: `int` for `!!int`.
pub(super) fn core_tag(tag: &str) -> Option<&str> {
    tag.strip_prefix(LONG_PREFIX).or_else(|| tag.strip_prefix("!!"))
}

/// Resolves a plain scalar without a tag.
pub(super) fn plain(text: &str) -> Resolved {
    let Some(first) = text.bytes().next() else {
        return Resolved::Null;
    };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        b'.' => match special_float(text).or_else(|| dotted_float(text)) {
            Some(value) => Resolved::Number(Number::Float(value)),
            None => Resolved::Text,
        },
        b'0'..=b'9' | b'+' | b'-' => {
            if is_timestamp(text) {
                return Resolved::Timestamp;
            }
            match special_float(text) {
                Some(value) => Resolved::Number(Number::Float(value)),
                None => number(text).map_or(Resolved::Text, Resolved::Number),
            }
        }
        _ => Resolved::Text,
    }
}

/// Resolves a scalar with one of YAML's own tags, quoted or not.
pub(super) fn tagged(tag: &str, text: &str) -> Result<Resolved, Mismatch> {
    let found = plain(text);
    match (tag, found) {
        ("str", _) => Ok(Resolved::Text),
        ("null", Resolved::Null) | ("bool", Resolved::Bool(_)) | ("timestamp", Resolved::Timestamp) => {
            Ok(found)
        }
        ("int", Resolved::Number(Number::Int(_) | Number::Uint(_)))
        | ("float", Resolved::Number(Number::Float(_))) => Ok(found),
        ("float", Resolved::Number(Number::Int(value))) => {
            Ok(Resolved::Number(Number::Float(Number::Int(value).as_f64())))
        }
        ("null" | "bool" | "int" | "float" | "timestamp", _) => Err(Mismatch),
        _ => Ok(Resolved::Text),
    }
}

/// What go-yaml v3 takes a scalar for: its booleans are those of YAML 1.2, and `<<` is a type of its own.
pub(super) fn as_v3(tag: Option<&str>, text: &str, is_plain: bool) -> ScalarType {
    let found = match plain(text) {
        Resolved::Null => ScalarType::Null,
        Resolved::Bool(value) if matches!(text.len(), 4 | 5) => ScalarType::Bool(value),
        Resolved::Number(Number::Float(value)) => ScalarType::Float(value),
        Resolved::Number(value) => ScalarType::Int(value),
        Resolved::Timestamp => ScalarType::Timestamp,
        _ if text == "<<" => ScalarType::Merge,
        Resolved::Bool(_) | Resolved::Text => ScalarType::Text,
    };
    let Some(tag) = tag else {
        return if is_plain { found } else { ScalarType::Text };
    };
    match (core_tag(tag), found) {
        (Some("str"), _) => ScalarType::Text,
        // A lone `!` changes nothing.
        (None, _) if tag == "!" => found,
        (Some("null"), ScalarType::Null)
        | (Some("bool"), ScalarType::Bool(_))
        | (Some("int"), ScalarType::Int(_))
        | (Some("float"), ScalarType::Float(_))
        | (Some("timestamp"), ScalarType::Timestamp)
        | (Some("merge"), ScalarType::Merge) => found,
        (Some("float"), ScalarType::Int(value)) => ScalarType::Float(value.as_f64()),
        _ => ScalarType::Other,
    }
}

fn word(text: &str) -> Resolved {
    match text {
        "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Resolved::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Resolved::Bool(false)
        }
        _ => Resolved::Text,
    }
}

fn special_float(text: &str) -> Option<f64> {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Some(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        _ => None,
    }
}

fn number(text: &str) -> Option<Number> {
    let digits;
    let text = if text.contains('_') {
        digits = text.replace('_', "");
        digits.as_str()
    } else {
        text
    };
    integer(text)
        .or_else(|| decimal_float(text).map(Number::Float))
        .or_else(|| odd_binary(text))
}

/// An integer with Go's prefixes: `0x`, `0o`, `0b`, and a leading zero for octal.
fn integer(text: &str) -> Option<Number> {
    let (sign, unsigned) = split_sign(text);
    let bytes = unsigned.as_bytes();
    let (radix, digits) = match bytes {
        [b'0', b'x' | b'X', ..] => (16, unsigned.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, unsigned.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, unsigned.get(2..)?),
        [b'0', _, ..] => (8, unsigned.get(1..)?),
        _ => (10, unsigned),
    };
    from_digits(sign, digits, radix)
}

/// go-yaml parses binary numbers a second time and then accepts a sign after the prefix.
fn odd_binary(text: &str) -> Option<Number> {
    if let Some(rest) = text.strip_prefix("0b") {
        let (sign, digits) = split_sign(rest);
        from_digits(sign, digits, 2)
    } else {
        let digits = text.strip_prefix("-0b")?;
        from_digits("-", digits, 2)
    }
}

fn split_sign(text: &str) -> (&str, &str) {
    match text.bytes().next() {
        Some(b'+' | b'-') => text.split_at(1),
        _ => ("", text),
    }
}

fn from_digits(sign: &str, digits: &str, radix: u32) -> Option<Number> {
    if digits.is_empty() || !digits.bytes().all(|byte| char::from(byte).is_digit(radix)) {
        return None;
    }
    let size = u64::from_str_radix(digits, radix).ok()?;
    match (sign, i64::try_from(size)) {
        ("-", Ok(value)) => Some(Number::Int(-value)),
        ("-", Err(_)) => 0_i64.checked_sub_unsigned(size).map(Number::Int),
        (_, Ok(value)) => Some(Number::Int(value)),
        // Only the signed parse accepts a plus sign.
        ("", Err(_)) => Some(Number::Uint(size)),
        (_, Err(_)) => None,
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, and not beyond float64.
fn decimal_float(text: &str) -> Option<f64> {
    let (_, unsigned) = split_sign(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (unsigned.get(..at)?, Some(unsigned.get(at + 1..)?)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits =
        all_digits(whole) && all_digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let (_, digits) = split_sign(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    if !mantissa_fits || !exponent_fits {
        return None;
    }
    // Rust's parser accepts every form that passes here; a number that is too large is a string in Go.
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// A float that starts with its point: here Go's own rule applies, that an underscore is between two digits.
fn dotted_float(text: &str) -> Option<f64> {
    if !text.contains('_') {
        return decimal_float(text);
    }
    let digit_at = |at: Option<usize>| {
        let byte = at.and_then(|at| text.as_bytes().get(at));
        byte.is_some_and(u8::is_ascii_digit)
    };
    let separates = |at: usize| digit_at(at.checked_sub(1)) && digit_at(Some(at + 1));
    if !text.match_indices('_').all(|(at, _)| separates(at)) {
        return None;
    }
    decimal_float(&text.replace('_', ""))
}

/// Go's four forms: a date, or a date and time with a `T` and a zone, or with a space and no zone.
fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || bytes.get(4) != Some(&b'-') || !bytes.iter().take(4).all(u8::is_ascii_digit) {
        return false;
    }
    timestamp(text).is_some()
}

fn timestamp(text: &str) -> Option<()> {
    let year: u32 = text.get(..4)?.parse().ok()?;
    let (month, rest) = one_or_two_digits(text.get(5..)?)?;
    let (day, rest) = one_or_two_digits(rest.strip_prefix('-')?)?;
    if month == 0 || month > 12 || day == 0 || day > days_in(year, month) {
        return None;
    }
    if rest.is_empty() {
        return Some(());
    }
    let zoned = rest.starts_with(['T', 't']);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    // Go skips further spaces where its layout has one.
    let rest = if zoned { rest } else { rest.trim_start_matches(' ') };
    let (hour, rest) = one_or_two_digits(rest)?;
    let (minute, rest) = one_or_two_digits(rest.strip_prefix(':')?)?;
    let (second, rest) = one_or_two_digits(rest.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let rest = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => {
            let after = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            (after.len() < fraction.len()).then_some(after)?
        }
        None => rest,
    };
    match (zoned, rest) {
        (false, "") | (true, "Z") => Some(()),
        (true, zone) => is_zone(zone).then_some(()),
        _ => None,
    }
}

fn is_zone(zone: &str) -> bool {
    let two = |range: std::ops::Range<usize>| zone.get(range).and_then(|part| part.parse::<u32>().ok());
    zone.len() == 6
        && zone.starts_with(['+', '-'])
        && zone.get(3..4) == Some(":")
        && two(1..3).is_some_and(|hours| hours <= 24)
        && two(4..6).is_some_and(|minutes| minutes < 60)
}

fn one_or_two_digits(text: &str) -> Option<(u32, &str)> {
    let count = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(count)?;
    Some((digits.parse().ok()?, rest))
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
