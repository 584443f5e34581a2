//! Constants: numbers, characters and strings as Go writes them.

use super::ast::Number;
use super::print::quote;
use super::text::Str;

/// The first float64 beyond int64.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// Parses a number; the error is Go's.
pub(super) fn number(written: &str) -> Result<Number, String> {
    let mut number = empty(written);
    if let Some(value) = small(written) {
        number.int = Some(value);
        number.uint = u64::try_from(value).ok();
        number.float = Some(to_float(value));
        return Ok(number);
    }
    if let Some(imaginary) = written.strip_suffix('i')
        && let Some(value) = float(imaginary)
    {
        return Ok(with_complex(number, (0.0, value)));
    }
    number.uint = unsigned(written);
    number.int = signed(written);
    if number.int == Some(0) {
        number.uint = number.uint.or(Some(0));
    }
    number.float = match (number.int, number.uint) {
        (Some(value), _) => Some(to_float(value)),
        (None, Some(value)) => Some(unsigned_to_float(value)),
        (None, None) => float(written),
    };
    match number.float {
        None => return Err(format!("illegal number syntax: {}", quote(written))),
        Some(_) if number.int.is_some() || number.uint.is_some() => {}
        Some(_) if !written.contains(['.', 'e', 'E', 'p', 'P']) => {
            return Err(format!("integer overflow: {}", quote(written)));
        }
        Some(value) => {
            number.int = whole(value);
            number.uint = unsigned_whole(value);
        }
    }
    Ok(number)
}

/// The common case: a few decimal digits.
fn small(written: &str) -> Option<i64> {
    const DIGITS: usize = 15;
    let bytes = written.as_bytes();
    let decimal = bytes.len() <= DIGITS && bytes.iter().all(u8::is_ascii_digit);
    let octal = bytes.len() > 1 && bytes.first() == Some(&b'0');
    (decimal && !octal).then(|| written.parse().ok())?
}

/// Parses a complex constant such as `1+2i`.
pub(super) fn complex(written: &str) -> Result<Number, String> {
    let split = written
        .char_indices()
        .skip(1)
        .filter(|(index, sign)| {
            matches!(sign, '+' | '-')
                && !written
                    .get(..*index)
                    .is_some_and(|before| before.ends_with(['e', 'E', 'p', 'P']))
        })
        .map(|(index, _)| index)
        .last();
    let parts = split.and_then(|index| written.split_at_checked(index));
    let parsed = parts.and_then(|(re, im)| Some((float(re)?, float(im.strip_suffix('i')?)?)));
    parsed
        .map(|value| with_complex(empty(written), value))
        .ok_or_else(|| "syntax error scanning complex number".to_owned())
}

/// Parses a character constant such as `'x'`.
pub(super) fn character(written: &str) -> Result<Number, String> {
    let inner = written.get(1..).unwrap_or("");
    let (code, rest) = unquote_one(inner, '\'').ok_or("invalid syntax")?;
    if rest != "'" {
        return Err(format!("malformed character constant: {written}"));
    }
    let value = match code {
        Piece::Char(character) => u32::from(character),
        Piece::Byte(byte) => u32::from(byte),
    };
    let mut number = empty(written);
    number.int = Some(i64::from(value));
    number.uint = Some(u64::from(value));
    number.float = Some(f64::from(value));
    Ok(number)
}

/// Parses a string in double quotes or backquotes.
pub(super) fn string(written: &str) -> Result<Str, String> {
    let inner = written.get(1..written.len().saturating_sub(1)).unwrap_or("");
    if written.starts_with('`') {
        return Ok(if inner.contains('\r') {
            Str::from(inner.replace('\r', ""))
        } else {
            Str::from(inner)
        });
    }
    if !inner.contains('\\') {
        return Ok(Str::from(inner));
    }
    let mut out: Vec<u8> = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while !rest.is_empty() {
        let (piece, after) = unquote_one(rest, '"').ok_or("invalid syntax")?;
        match piece {
            Piece::Char(character) => out.extend(character.encode_utf8(&mut [0; 4]).bytes()),
            Piece::Byte(byte) => out.push(byte),
        }
        rest = after;
    }
    Ok(Str::from_bytes(out))
}

enum Piece {
    Char(char),
    Byte(u8),
}

/// The first character of a quoted text, and the rest.
fn unquote_one(text: &str, quote: char) -> Option<(Piece, &str)> {
    let mut characters = text.chars();
    let first = characters.next()?;
    if first == quote {
        return None;
    }
    if first != '\\' {
        return Some((Piece::Char(first), characters.as_str()));
    }
    let escape = characters.next()?;
    let rest = characters.as_str();
    let plain = |character| Some((Piece::Char(character), rest));
    let coded = |digits: &str, radix, after| {
        let code = u32::from_str_radix(digits, radix).ok()?;
        Some((Piece::Char(char::from_u32(code)?), after))
    };
    match escape {
        'a' => plain('\u{7}'),
        'b' => plain('\u{8}'),
        'f' => plain('\u{c}'),
        'n' => plain('\n'),
        'r' => plain('\r'),
        't' => plain('\t'),
        'v' => plain('\u{b}'),
        '\\' => plain('\\'),
        '\'' | '"' if escape == quote => plain(escape),
        'x' => {
            let (digits, after) = digits(rest, 2, 16)?;
            Some((Piece::Byte(u8::from_str_radix(digits, 16).ok()?), after))
        }
        'u' | 'U' => {
            let (digits, after) = digits(rest, if escape == 'u' { 4 } else { 8 }, 16)?;
            coded(digits, 16, after)
        }
        '0'..='7' => {
            let (digits, after) = digits(text.get(1..)?, 3, 8)?;
            Some((Piece::Byte(u8::from_str_radix(digits, 8).ok()?), after))
        }
        _ => None,
    }
}

fn digits(text: &str, count: usize, radix: u32) -> Option<(&str, &str)> {
    let (digits, after) = text.split_at_checked(count)?;
    digits
        .chars()
        .all(|digit| digit.is_digit(radix))
        .then_some((digits, after))
}

fn empty(written: &str) -> Number {
    Number {
        int: None,
        uint: None,
        float: None,
        complex: None,
        written: written.into(),
    }
}

fn with_complex(mut number: Number, value: (f64, f64)) -> Number {
    number.complex = Some(value);
    if value.1 == 0.0 {
        number.float = Some(value.0);
        number.int = whole(value.0);
        number.uint = unsigned_whole(value.0);
    }
    number
}

#[allow(clippy::cast_precision_loss, reason = "as Go converts")]
fn to_float(value: i64) -> f64 {
    value as f64
}

#[allow(clippy::cast_precision_loss, reason = "as Go converts")]
fn unsigned_to_float(value: u64) -> f64 {
    value as f64
}

#[allow(clippy::cast_possible_truncation, reason = "the range is checked")]
fn whole(value: f64) -> Option<i64> {
    let fits = value.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(&value);
    fits.then_some(value as i64)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked"
)]
fn unsigned_whole(value: f64) -> Option<u64> {
    let fits = value.fract() == 0.0 && (0.0..2.0 * TWO_TO_63).contains(&value);
    fits.then_some(value as u64)
}

fn signed(written: &str) -> Option<i64> {
    let (negative, digits) = match written.as_bytes().first()? {
        b'-' => (true, written.get(1..)?),
        b'+' => (false, written.get(1..)?),
        _ => (false, written),
    };
    let size = i128::from(unsigned(digits)?);
    i64::try_from(if negative { -size } else { size }).ok()
}

/// Without a sign; the base is in the prefix, underscores are between digits.
fn unsigned(written: &str) -> Option<u64> {
    let lower = written.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, lower.get(2..)?),
        Some("0o") => (8, lower.get(2..)?),
        Some("0b") => (2, lower.get(2..)?),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, lower.get(1..)?),
        _ => (10, lower.as_str()),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let after_prefix = digits.len() < lower.len();
    let digits = without_underscores(digits, after_prefix)?;
    u64::from_str_radix(&digits, radix).ok()
}

/// Removes underscores; `None` if one is not between digits or after the base.
fn without_underscores(digits: &str, after_prefix: bool) -> Option<String> {
    let misplaced =
        digits.ends_with('_') || digits.contains("__") || digits.starts_with('_') && !after_prefix;
    (!misplaced && !digits.is_empty()).then(|| digits.replace('_', ""))
}

/// A float, decimal or hexadecimal; `None` also if it is beyond float64.
fn float(written: &str) -> Option<f64> {
    let (sign, rest) = match written.as_bytes().first()? {
        b'-' => (-1.0, written.get(1..)?),
        b'+' => (1.0, written.get(1..)?),
        _ => (1.0, written),
    };
    let lower = rest.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return Some(sign * hex_float(hex)?);
    }
    let misplaced = lower.starts_with('_')
        || lower.match_indices('_').any(|(index, _)| {
            let digit = |at: Option<usize>| {
                at.and_then(|at| lower.as_bytes().get(at))
                    .is_some_and(u8::is_ascii_digit)
            };
            !digit(index.checked_sub(1)) || !digit(Some(index + 1))
        });
    if misplaced || !lower.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let value: f64 = lower.replace('_', "").parse().ok()?;
    value.is_finite().then_some(sign * value)
}

/// Mantissa in hexadecimal, exponent of two in decimal.
fn hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat().replace('_', "");
    // 24 digits are more than float64 can represent.
    if digits.is_empty() || digits.len() > 24 {
        return None;
    }
    let fraction_digits = fraction.chars().filter(|digit| *digit != '_').count();
    let mantissa = u128::from_str_radix(&digits, 16).ok()?;
    let exponent: i32 = exponent.replace('_', "").parse().ok()?;
    let exponent = exponent.checked_sub(i32::try_from(fraction_digits * 4).ok()?)?;
    #[allow(clippy::cast_precision_loss, reason = "rounding is what a float does")]
    let value = mantissa as f64 * 2_f64.powi(exponent);
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_every_type_that_can_hold_them() {
        type Case = (&'static str, Option<i64>, Option<u64>, Option<f64>);
        let cases: [Case; 14] = [
            ("0", Some(0), Some(0), Some(0.0)),
            ("-0", Some(0), Some(0), Some(0.0)),
            ("73", Some(73), Some(73), Some(73.0)),
            ("7_3", Some(73), Some(73), Some(73.0)),
            ("0b10_010_01", Some(73), Some(73), Some(73.0)),
            ("073", Some(59), Some(59), Some(59.0)),
            ("0o73", Some(59), Some(59), Some(59.0)),
            ("0x7_3", Some(115), Some(115), Some(115.0)),
            ("-73", Some(-73), None, Some(-73.0)),
            ("1e3", Some(1000), Some(1000), Some(1000.0)),
            ("0x1p4", Some(16), Some(16), Some(16.0)),
            (".5", None, None, Some(0.5)),
            ("1.5e-3", None, None, Some(0.0015)),
            (
                "18446744073709551615",
                None,
                Some(u64::MAX),
                Some(1.844_674_407_370_955_2e19),
            ),
        ];
        for (written, int, uint, float) in cases {
            let number = number(written).unwrap();
            assert_eq!(
                (number.int, number.uint, number.float),
                (int, uint, float),
                "{written}"
            );
        }
        for bad in [
            "0x",
            "1__0",
            "_1",
            "089",
            "18446744073709551616",
            "1e400",
            "+-2",
            ".",
        ] {
            assert!(number(bad).is_err(), "{bad}");
        }
        assert_eq!(number("4i").unwrap().complex, Some((0.0, 4.0)));
        assert_eq!(complex("1e2-2i").unwrap().complex, Some((100.0, -2.0)));
    }

    #[test]
    fn strings_and_characters_are_unquoted_as_go_does() {
        assert_eq!(string(r#""a\tb\x41\101\u00e9\"""#).unwrap(), "a\tbAAé\"");
        assert_eq!(string("`a\\n\r`").unwrap(), "a\\n");
        assert_eq!(string(r#""\xff""#).unwrap().as_bytes(), b"\xff");
        assert!(string(r#""\q""#).is_err());
        assert!(string(r#""\'""#).is_err());
        assert_eq!(character(r"'\''").unwrap().int, Some(39));
        assert_eq!(character("'é'").unwrap().int, Some(233));
        assert!(character("'ab'").is_err());
        assert!(character("''").is_err());
    }
}
