//! Kubernetes' quantities: a decimal number with a suffix, or with a decimal exponent.

/// The resolution of API servers is 10⁻⁹; they round up to it.
const NANO: i32 = 9;
/// The powers of ten of the decimal suffixes.
const DECIMAL: [(&str, i32); 10] = [
    ("", 0),
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
/// The powers of two of the binary suffixes.
const BINARY: [(&str, u32); 6] = [
    ("Ki", 10),
    ("Mi", 20),
    ("Gi", 30),
    ("Ti", 40),
    ("Pi", 50),
    ("Ei", 60),
];

/// The amount in units of 10⁻⁹; `None` if it is not a quantity or too large.
pub(super) fn amount(text: &str) -> Option<i128> {
    let digits = text
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
        .count();
    let (number, suffix) = text.split_at_checked(digits)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let (ten, two) = scale(suffix)?;
    let mantissa: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let places = i32::try_from(fraction.len()).ok()?;
    let power = ten.checked_add(NANO)?.checked_sub(places)?;
    let scaled = mantissa.checked_mul(1_i128.checked_shl(two)?)?;
    let factor = 10_i128.checked_pow(power.unsigned_abs())?;
    if power >= 0 {
        scaled.checked_mul(factor)
    } else {
        Some(scaled.checked_add(factor - 1)? / factor)
    }
}

/// The suffix as a power of ten and a power of two.
fn scale(suffix: &str) -> Option<(i32, u32)> {
    let ten = DECIMAL.iter().find(|(name, _)| *name == suffix);
    if let Some((_, power)) = ten {
        return Some((*power, 0));
    }
    if let Some((_, power)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((0, *power));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    exponent.parse::<i8>().ok().map(|power| (power.into(), 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_does() {
        for text in [
            "1", "0.5", "100m", "64Mi", "1Ei", "2E", "1e3", "12E6", "1e-3", ".5", "1.",
        ] {
            assert!(amount(text).is_some(), "{text}");
        }
        for text in [
            "", ".", "much", "1mi", "-1", "1e", "e3", "1 Mi", "0x10", "1.2.3", "1e99", "é",
        ] {
            assert_eq!(amount(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_are_compared_across_suffixes() {
        for (one, other) in [
            ("1000m", "1"),
            ("0.3", "300m"),
            ("1Ki", "1024"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1k"),
            ("12E6", "12e6"),
            ("0.1n", "1n"),
        ] {
            assert_eq!(amount(one), amount(other), "{one} {other}");
        }
        for (less, more) in [("1M", "1Mi"), ("999m", "1"), ("1e-3", "2m"), ("1023Ki", "1Mi")] {
            assert!(amount(less) < amount(more), "{less} {more}");
        }
    }
}
