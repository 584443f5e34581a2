//! Numbers by fmt's verbs, without width: [`integer`] and [`float`].

use solar_diagnostics::value::{positional, scientific};

/// The flags of a directive for numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
}

/// An integer in a base, with sign and prefix; `digits` is the minimum number of digits.
pub(super) fn integer(
    size: u64,
    negative: bool,
    base: u32,
    upper: bool,
    verb: char,
    digits: usize,
    flags: Flags,
) -> String {
    let mut body = match base {
        2 => format!("{size:b}"),
        8 => format!("{size:o}"),
        16 if upper => format!("{size:X}"),
        16 => format!("{size:x}"),
        _ => size.to_string(),
    };
    if body.len() < digits {
        body.insert_str(0, &"0".repeat(digits - body.len()));
    }
    let prefix = match base {
        2 if flags.sharp => "0b",
        8 if flags.sharp && !body.starts_with('0') => "0",
        16 if flags.sharp && upper => "0X",
        16 if flags.sharp => "0x",
        _ => "",
    };
    let octal = if verb == 'O' { "0o" } else { "" };
    let sign = if negative {
        "-"
    } else if flags.plus {
        "+"
    } else if flags.space {
        " "
    } else {
        ""
    };
    format!("{sign}{octal}{prefix}{body}")
}

/// A float by a verb, always with its sign. `precision` is `None` for the shortest exact representation.
pub(super) fn float(value: f64, verb: char, precision: Option<usize>, sharp: bool) -> String {
    let sign = if value.is_sign_negative() && !value.is_nan() {
        '-'
    } else {
        '+'
    };
    if value.is_nan() {
        return "+NaN".to_owned();
    }
    if value.is_infinite() {
        return format!("{sign}Inf");
    }
    let size = value.abs();
    let body = match verb {
        'e' | 'E' => exponential(size, precision),
        'f' => fixed(size, precision),
        'x' | 'X' => hexadecimal(size, precision),
        'b' => binary(size),
        _ => general(size, precision),
    };
    let body = if matches!(verb, 'E' | 'G' | 'X') {
        body.to_uppercase()
    } else {
        body
    };
    let body = if sharp && verb != 'b' {
        with_point(&body, verb, precision)
    } else {
        body
    };
    format!("{sign}{body}")
}

/// `1.5e+06`: at least two digits of exponent.
fn go_exponent(text: &str) -> String {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// No float has more decimal places; all further digits are zeros. The standard library supports at most 65,535.
const MAX_DIGITS: usize = 1_100;

/// The precision for the standard library, and the zeros to append.
fn with_zeros(precision: usize) -> (usize, String) {
    (
        precision.min(MAX_DIGITS),
        "0".repeat(precision.saturating_sub(MAX_DIGITS)),
    )
}

fn exponential(size: f64, precision: Option<usize>) -> String {
    go_exponent(&match precision {
        Some(precision) => {
            let (precision, zeros) = with_zeros(precision);
            let text = format!("{size:.precision$e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{mantissa}{zeros}e{exponent}")
        }
        None => scientific(size),
    })
}

fn fixed(size: f64, precision: Option<usize>) -> String {
    match precision {
        Some(precision) => {
            let (precision, zeros) = with_zeros(precision);
            format!("{size:.precision$}{zeros}")
        }
        None if size == 0.0 => "0".to_owned(),
        None => positional(&scientific(size)),
    }
}

/// `%g`: with an exponent if it is below -4 or at least the precision.
fn general(size: f64, precision: Option<usize>) -> String {
    if size == 0.0 {
        return "0".to_owned();
    }
    let wanted = precision.map(|precision| precision.max(1));
    let text = match wanted {
        Some(digits) => format!("{size:.0$e}", (digits - 1).min(MAX_DIGITS)),
        None => scientific(size),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    let count = i64::try_from(mantissa.bytes().filter(u8::is_ascii_digit).count()).unwrap_or(i64::MAX);
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let point = exponent + 1;
    let limit = match wanted {
        None => SHORTEST_LIMIT,
        Some(digits) => {
            let digits = i64::try_from(digits).unwrap_or(i64::MAX);
            if digits > count && count >= point {
                count
            } else {
                digits
            }
        }
    };
    let text = format!("{mantissa}e{exponent}");
    if exponent < -4 || exponent >= limit {
        go_exponent(&text)
    } else {
        positional(&text)
    }
}

/// With the shortest digits Go decides as for a precision of six.
const SHORTEST_LIMIT: i64 = 6;

/// `#`: always a decimal point, and with `%g` the dropped zeros.
fn with_point(body: &str, verb: char, precision: Option<usize>) -> String {
    let keeps_exponent = matches!(verb, 'x' | 'X');
    let split = body.find(|one| matches!(one, 'p' | 'P') || matches!(one, 'e' | 'E') && !keeps_exponent);
    let (number, tail) = body
        .split_at_checked(split.unwrap_or(body.len()))
        .unwrap_or((body, ""));
    let mut wanted = match verb {
        'g' | 'G' | 'x' => precision.unwrap_or(6),
        _ => 0,
    };
    let significant = number
        .chars()
        .filter(|one| *one != '.')
        .skip_while(|one| *one == '0')
        .count();
    wanted = wanted.saturating_sub(significant);
    let mut out = number.to_owned();
    if !number.contains('.') {
        if number == "0" {
            wanted = wanted.saturating_sub(1);
        }
        out.push('.');
    }
    out.push_str(&"0".repeat(wanted));
    out.push_str(tail);
    out
}

/// `%b`: the mantissa as an integer, and the exponent of two.
fn binary(size: f64) -> String {
    let (mantissa, exponent) = parts(size);
    format!("{mantissa}p{exponent:+}")
}

/// The mantissa as an integer of up to 53 bits, and the exponent of two.
fn parts(size: f64) -> (u64, i64) {
    let bits = size.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match i64::try_from(bits >> 52 & 0x7ff).unwrap_or(0) {
        0 => (fraction, -1074),
        exponent => (fraction | 1 << 52, exponent - 1075),
    }
}

/// `%x`: `0x1.8p+01`.
fn hexadecimal(size: f64, precision: Option<usize>) -> String {
    let (mut mantissa, mut exponent) = parts(size);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // One digit before the point, 60 bits after it.
        let shift = mantissa.leading_zeros() - 3;
        mantissa <<= shift;
        exponent += 60 - i64::from(shift);
    }
    if let Some(digits) = precision.filter(|digits| *digits < 15) {
        let drop = u32::try_from((15 - digits) * 4).unwrap_or(0);
        let rest = mantissa & ((1 << drop) - 1);
        let half = 1_u64 << (drop - 1);
        mantissa >>= drop;
        if rest > half || rest == half && mantissa & 1 == 1 {
            mantissa += 1;
        }
        mantissa <<= drop;
        if mantissa >> 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let digits = format!("{:015x}", mantissa & ((1 << 60) - 1));
    let digits = match precision {
        None => digits.trim_end_matches('0').to_owned(),
        Some(precision) => {
            let zeros = "0".repeat(precision.saturating_sub(digits.len()));
            digits.chars().take(precision).chain(zeros.chars()).collect()
        }
    };
    let point = if digits.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!(
        "0x{}{point}{digits}p{sign}{:02}",
        mantissa >> 60,
        exponent.unsigned_abs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected texts come from Go 1.26's `fmt.Sprintf`.
    #[test]
    fn floats_print_by_verb_as_in_go() {
        let cases = [
            (1e6, 'g', None, "+1e+06"),
            (123_456.0, 'g', None, "+123456"),
            (1_234_567.0, 'g', None, "+1.234567e+06"),
            (0.000_1, 'g', None, "+0.0001"),
            (0.000_01, 'g', None, "+1e-05"),
            (100_000.0, 'g', Some(10), "+100000"),
            (100_000.0, 'g', Some(3), "+1e+05"),
            (3.456_7, 'g', Some(2), "+3.5"),
            (1.5, 'e', Some(6), "+1.500000e+00"),
            (1.5, 'f', Some(6), "+1.500000"),
            (2.5, 'f', Some(0), "+2"),
            (-0.0, 'g', None, "-0"),
            (1.0, 'b', None, "+4503599627370496p-52"),
            (1.5, 'x', None, "+0x1.8p+00"),
            (20.0, 'x', None, "+0x1.4p+04"),
            (1.999, 'x', Some(1), "+0x1.0p+01"),
            (0.0, 'x', None, "+0x0p+00"),
            (f64::INFINITY, 'f', None, "+Inf"),
            (f64::NAN, 'f', None, "+NaN"),
        ];
        for (value, verb, precision, expected) in cases {
            assert_eq!(
                float(value, verb, precision, false),
                expected,
                "{value} {verb} {precision:?}"
            );
        }
        for (verb, expected) in [('f', 70_002), ('e', 70_006), ('g', 1), ('x', 70_008)] {
            // It once panicked above 65,535.
            let text = float(1.0, verb, Some(70_000), false);
            assert_eq!(text.len(), expected + 1, "{verb}");
        }
        assert_eq!(float(1.0, 'g', Some(70_000), true).len(), 70_002);
        assert_eq!(float(1.0, 'g', None, true), "+1.00000");
        assert_eq!(float(0.0, 'g', None, true), "+0.00000");
        assert_eq!(float(2.0, 'f', Some(0), true), "+2.");
    }
}
