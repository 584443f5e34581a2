//! Texts that API servers decode further: quantities, times, base64, IP addresses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The suffixes of quantities, besides an exponent.
const SUFFIXES: &[&str] = &[
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
];

/// Whether it is a quantity: `1`, `0.5`, `100m`, `1.5Gi`, `2e3` (k8s.io/apimachinery's `ParseQuantity`).
pub(super) fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let number = unsigned.trim_start_matches(|char: char| char.is_ascii_digit());
    let whole = unsigned.len() - number.len();
    let (suffix, digits) = match number.strip_prefix('.') {
        None => (number, whole),
        Some(fraction) => {
            let rest = fraction.trim_start_matches(|char: char| char.is_ascii_digit());
            (rest, whole + fraction.len() - rest.len())
        }
    };
    digits > 0 && (SUFFIXES.contains(&suffix) || is_exponent(suffix))
}

/// `e3`, `E-2`
fn is_exponent(suffix: &str) -> bool {
    let Some(rest) = suffix.strip_prefix(['e', 'E']) else {
        return false;
    };
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether it is standard base64 with padding; line breaks are ignored, as Go does.
pub(super) fn is_base64(text: &str) -> bool {
    match text.contains(['\r', '\n']) {
        false => STANDARD.decode(text).is_ok(),
        true => STANDARD.decode(text.replace(['\r', '\n'], "")).is_ok(),
    }
}

/// Whether it is a time of RFC 3339: `2026-01-31T12:00:00Z`.
pub(super) fn is_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_once('T') else {
        return false;
    };
    let Some(zone) = rest.find(['Z', '+', '-']) else {
        return false;
    };
    let (time, zone) = rest.split_at(zone);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let is_zone = zone == "Z" || (zone.len() == 6 && is_numbers(zone.get(1..).unwrap_or(""), ':', &[2, 2]));
    let is_clock =
        is_numbers(time, ':', &[2, 2, 2]) && time < "24" && time.get(3..).is_some_and(|t| t < "60");
    is_date(date)
        && is_clock
        && time.get(6..).is_some_and(|seconds| seconds < "60")
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
        && is_zone
}

/// Whether it is a day of the calendar: `2026-01-31`.
pub(super) fn is_date(text: &str) -> bool {
    is_numbers(text, '-', &[4, 2, 2]) && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_numbers(text: &str, between: char, lengths: &[usize]) -> bool {
    let parts: Vec<&str> = text.split(between).collect();
    parts.len() == lengths.len()
        && parts
            .iter()
            .zip(lengths)
            .all(|(part, length)| part.len() == *length && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether it is a duration of Go: `1h30m`, `300ms`.
pub(super) fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|char: char| char.is_ascii_digit() || char == '.');
        let number = rest.get(..rest.len() - unit.len()).unwrap_or("");
        if !number.bytes().any(|byte| byte.is_ascii_digit()) || number.matches('.').count() > 1 {
            return false;
        }
        let known = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        let Some(behind) = known.iter().find_map(|name| {
            let behind = unit.strip_prefix(name)?;
            // `m` begins `ms`, too.
            (!behind.starts_with('s') || *name != "m").then_some(behind)
        }) else {
            return false;
        };
        rest = behind;
        parts += 1;
    }
    parts > 0
}

/// Whether a text has a format of CRDs; formats that API servers don't check are any text.
pub(super) fn has_format(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => is_time(text),
        "date" => is_date(text),
        "byte" => is_base64(text),
        "duration" => is_duration(text),
        "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
        "ipv6" => text.contains(':') && text.parse::<std::net::Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => {
            let parts: Vec<&str> = text.split([':', '-']).collect();
            let is_byte = |part: &&str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
            parts.len() == 6 && parts.iter().all(is_byte)
        }
        "uuid" => is_uuid(text),
        _ => true,
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let limit = match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse::<u8>().is_ok_and(|bits| bits <= limit)
}

fn is_uuid(text: &str) -> bool {
    let hex: String = text.chars().filter(|char| *char != '-').collect();
    hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(check: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(check(text), "{text}");
        }
        for text in bad {
            assert!(!check(text), "{text}");
        }
    }

    #[test]
    fn quantities() {
        table(
            is_quantity,
            &[
                "1", "0.5", ".5", "1.", "100m", "1.5Gi", "2e3", "2E-3", "-1", "+1k", "12E", "1n", "0",
            ],
            &[
                "", "Gi", "1 Gi", "1gi", "1GB", "1Mb", "1e", "a", "1.2.3", "0x10", "1K", "--1", "true", ".",
            ],
        );
    }

    #[test]
    fn times() {
        table(
            is_time,
            &[
                "2026-01-31T12:00:00Z",
                "2026-01-31T12:00:00.123456Z",
                "2026-01-31T12:00:00+02:00",
            ],
            &[
                "",
                "2026-01-31",
                "2026-02-30T12:00:00Z",
                "2026-01-31 12:00:00Z",
                "2026-01-31T24:00:00Z",
                "2026-01-31T12:60:00Z",
                "2026-01-31T12:00:61Z",
                "2026-01-31T12:00:00",
                "2026-1-31T12:00:00Z",
                "2026-01-31T12:00:00.Z",
            ],
        );
    }

    #[test]
    fn other_formats() {
        table(is_base64, &["", "YQ==", "YWJj\nYWJj"], &["YQ", "a b", "YQ=", "?"]);
        table(
            is_duration,
            &["0", "1h30m", "300ms", "-1.5h", "2us"],
            &["", "1", "1d", "h", "1..5s", "1 h"],
        );
        for (format, good, bad) in [
            ("ipv4", "10.0.0.1", "10.0.0.256"),
            ("ipv6", "fe80::1", "10.0.0.1"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("mac", "00:1a:2b:3c:4d:5e", "00:1a"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
            ("date", "2026-02-28", "2026-02-29"),
            ("byte", "YQ==", "YQ"),
            ("duration", "1m", "1"),
        ] {
            assert!(has_format(format, good), "{format} {good}");
            assert!(!has_format(format, bad), "{format} {bad}");
        }
        assert!(has_format("unknown", "anything"));
    }
}
