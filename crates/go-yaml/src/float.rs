//! Floats as Go's `strconv.FormatFloat(value, 'g', -1, bits)` prints them.
//!
//! go-yaml writes floats this way, and sigs.k8s.io/yaml turns float keys into text this way.

use solar_diagnostics::value::{positional, scientific};

/// The exponents that are written as plain digits; Go decides as for a precision of 6.
const PLAIN_FROM: i32 = -4;
const PLAIN_BELOW: i32 = 6;

/// The shortest digits that represent the float64.
pub(super) fn go_g64(value: f64) -> String {
    from_scientific(&scientific(value))
}

/// The shortest digits that represent the nearest float32, which is less precise than `value`.
#[allow(
    clippy::cast_possible_truncation,
    reason = "sigs.k8s.io/yaml formats float keys with 32 bits"
)]
pub(super) fn go_g32(value: f64) -> String {
    from_scientific(&format!("{:e}", value as f32))
}

/// In: Rust's `1.25e-7`. Out: an exponent of at least two digits below 1e-4 and from
/// 1e6 on, else plain digits. Infinities and not-a-number get YAML's names.
fn from_scientific(text: &str) -> String {
    match text {
        "inf" => return ".inf".to_owned(),
        "-inf" => return "-.inf".to_owned(),
        "NaN" => return ".nan".to_owned(),
        _ => {}
    }
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(PLAIN_FROM..PLAIN_BELOW).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    positional(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_go_prints_them() {
        let cases = [
            (1e20, "1e+20"),
            (123_456.5, "123456.5"),
            (1_234_567.5, "1.2345675e+06"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (0.5, "0.5"),
            (-0.05, "-0.05"),
            (100.0, "100"),
            (1.5e300, "1.5e+300"),
            (f64::INFINITY, ".inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(go_g64(value), expected);
        }
        assert_eq!(go_g32(0.1), "0.1");
        assert_eq!(go_g32(1.234_567_89), "1.2345679");
    }
}
