//! Go's `strconv`: parses numbers.

/// Why a text is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberError {
    /// Its syntax is invalid.
    Syntax,
    /// It is out of range; with the nearest value.
    Range(i64),
}

/// `strconv.ParseInt(text, base, 64)`; with base 0 as for Go's integer literals.
pub fn parse_int(text: &str, base: u32) -> Result<i64, NumberError> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    let (digits, radix) = if base == 0 {
        literal(digits)
    } else {
        (digits, base)
    };
    if digits.is_empty() || base == 0 && !underscores_fit(text) {
        return Err(NumberError::Syntax);
    }
    let mut sum: Option<u64> = Some(0);
    for c in digits.chars() {
        if c == '_' && base == 0 {
            continue;
        }
        let digit = c.to_digit(radix).ok_or(NumberError::Syntax)?;
        sum = sum
            .and_then(|sum| sum.checked_mul(u64::from(radix)))
            .and_then(|sum| sum.checked_add(u64::from(digit)));
    }
    let most = if negative { i64::MIN } else { i64::MAX };
    match sum {
        Some(sum) if sum <= most.unsigned_abs() => {
            Ok(if negative { sum.wrapping_neg() } else { sum }.cast_signed())
        }
        _ => Err(NumberError::Range(most)),
    }
}

/// The digits after a literal's prefix, and its base.
fn literal(text: &str) -> (&str, u32) {
    let behind = |length| text.get(length..).unwrap_or_default();
    match text.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (behind(2), 16),
        [b'0', b'o' | b'O', _, ..] => (behind(2), 8),
        [b'0', b'b' | b'B', _, ..] => (behind(2), 2),
        [b'0', _, ..] => (behind(1), 8),
        _ => (text, 10),
    }
}

/// `strconv.ParseFloat(text, 64)`; `None` for an invalid number or one out of range.
pub fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.starts_with(['+', '-']) {
        return None;
    }
    let named = ["inf", "infinity", "nan"]
        .iter()
        .any(|name| unsigned.eq_ignore_ascii_case(name));
    if named {
        // A sign before not-a-number is refused by Go.
        return (unsigned.len() == text.len() || !unsigned.eq_ignore_ascii_case("nan"))
            .then(|| text.parse().ok())
            .flatten();
    }
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') || !underscores_fit(text) {
        return None;
    }
    let value = if matches!(unsigned.as_bytes(), [b'0', b'x' | b'X', ..]) {
        hexadecimal(&unsigned.get(2..)?.replace('_', ""))?
    } else if unsigned.contains('_') {
        unsigned.replace('_', "").parse().ok()?
    } else {
        unsigned.parse().ok()?
    };
    value
        .is_finite()
        .then(|| if text.starts_with('-') { -value } else { value })
}

/// `1.8p3`: hexadecimal digits and a binary exponent.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || exponent.is_empty() {
        return None;
    }
    let mut exponent = match parse_int(exponent, 10) {
        Ok(exponent) => exponent.clamp(-100_000, 100_000),
        Err(NumberError::Range(most)) => most.clamp(-100_000, 100_000),
        Err(NumberError::Syntax) => return None,
    };
    let mut mantissa: u64 = 0;
    let mut sticky = false;
    let places = i64::try_from(fraction.len()).ok()?;
    exponent -= 4 * places;
    for c in whole.chars().chain(fraction.chars()) {
        let digit = c.to_digit(16)?;
        if mantissa >> 59 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
        } else {
            exponent += 4;
            sticky |= digit != 0;
        }
    }
    Some(scaled(mantissa | u64::from(sticky), exponent))
}

/// `mantissa * 2^exponent`, rounded once, to even.
fn scaled(mantissa: u64, exponent: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let length = i64::from(64 - mantissa.leading_zeros());
    // As many bits as fit; fewer for numbers below the smallest normal one.
    let keep = 53.min(length + exponent + 1074);
    if keep < 0 {
        return 0.0;
    }
    let cut = u32::try_from((length - keep).max(0)).unwrap_or(64);
    let (kept, rest, half) = if cut >= 64 {
        (0, mantissa, 1 << 63)
    } else {
        (mantissa >> cut, mantissa & ((1 << cut) - 1), (1_u64 << cut) >> 1)
    };
    let up = cut > 0 && (rest > half || rest == half && kept & 1 == 1);
    let kept = kept + u64::from(up);
    let exponent = exponent + i64::from(cut);
    if length + exponent > 4_000 {
        return f64::INFINITY;
    }
    // In two steps, each exact: a power of two alone may not fit.
    let exponent = i32::try_from(exponent).unwrap_or(i32::MAX);
    let first = exponent.clamp(-1_000, 1_000);
    #[allow(clippy::cast_precision_loss, reason = "at most 53 bits")]
    let value = kept as f64;
    value * 2_f64.powi(first) * 2_f64.powi((exponent - first).clamp(-1_074, 1_000))
}

/// Whether underscores are only between digits, or after a base's prefix.
fn underscores_fit(text: &str) -> bool {
    if !text.contains('_') {
        return true;
    }
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let prefixed = matches!(
        text.as_bytes(),
        [b'0', b'b' | b'B' | b'o' | b'O' | b'x' | b'X', ..]
    );
    let hex = matches!(text.as_bytes(), [b'0', b'x' | b'X', ..]);
    let mut before = if prefixed { '0' } else { '^' };
    for c in text.chars().skip(if prefixed { 2 } else { 0 }) {
        let kind = match c {
            '0'..='9' => '0',
            'a'..='f' | 'A'..='F' if hex => '0',
            '_' if before == '0' => '_',
            '_' => return false,
            _ if before == '_' => return false,
            _ => '!',
        };
        before = kind;
    }
    before != '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_go_reads_them() {
        let cases = [
            ("0", 0, Ok(0)),
            ("-9223372036854775808", 10, Ok(i64::MIN)),
            ("9223372036854775808", 10, Err(NumberError::Range(i64::MAX))),
            ("0x1F", 0, Ok(31)),
            ("017", 0, Ok(15)),
            ("08", 0, Err(NumberError::Syntax)),
            ("0b101", 0, Ok(5)),
            ("1_000", 0, Ok(1000)),
            ("1_000", 10, Err(NumberError::Syntax)),
            ("0_7", 0, Ok(7)),
            ("_7", 0, Err(NumberError::Syntax)),
            ("+5", 10, Ok(5)),
            ("", 10, Err(NumberError::Syntax)),
            ("0x", 0, Err(NumberError::Syntax)),
            ("777", 8, Ok(511)),
        ];
        for (text, base, expected) in cases {
            assert_eq!(parse_int(text, base), expected, "{text} {base}");
        }
    }

    #[test]
    fn floats_are_read_as_go_reads_them() {
        let cases = [
            ("1.5", Some(1.5)),
            ("1.", Some(1.0)),
            (".5", Some(0.5)),
            ("1e400", None),
            ("0x1.8p1", Some(3.0)),
            ("0x1p-1074", Some(5e-324)),
            ("0x1p-1075", Some(0.0)),
            ("0x1.8p-1075", Some(5e-324)),
            ("0x1p1024", None),
            ("0x10", None),
            ("1_000.5", Some(1000.5)),
            ("1__0", None),
            ("-Inf", Some(f64::NEG_INFINITY)),
            ("+nan", None),
            (" 1", None),
            ("1e", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_float(text), expected, "{text}");
        }
    }
}
