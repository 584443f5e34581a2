//! Hashes of the inputs of charts: equal data has the same hash, however it is formatted.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::yaml;

/// How many hex digits names and tags have.
const SHORT: usize = 8;

/// The SHA-256 of data in its canonical form (keys sorted, `1.0` as `1`), in hex.
pub fn sha256(data: &Value) -> String {
    let text = yaml::convert(data).to_json();
    let mut hex = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a String can't fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// The first eight digits of the hash.
pub fn short(data: &Value) -> String {
    sha256(data).chars().take(SHORT).collect()
}

/// The hash as a version's pre-release: SemVer doesn't allow a numeric identifier with a leading zero, so a letter
/// replaces the zero.
pub fn version_part(hash: &str) -> String {
    match hash.strip_prefix('0') {
        Some(rest) if rest.bytes().all(|byte| byte.is_ascii_digit()) => format!("f{rest}"),
        _ => hash.to_owned(),
    }
}

/// Data as JSON; null if it can't be serialised, which doesn't happen for the types here.
pub fn json(data: &impl Serialize) -> Value {
    serde_json::to_value(data).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_data_has_one_hash_however_it_was_written() {
        let read = |text: &str| -> Value { serde_json::from_str(text).expect("JSON") };
        let one = read(r#"{"a": 1, "b": {"c": 1.0, "d": null}}"#);
        assert_eq!(sha256(&one), sha256(&read(r#"{"b":{"d":null,"c":1},"a":1.0}"#)));
        assert_ne!(sha256(&one), sha256(&read(r#"{"b":{"c":1},"a":1.0}"#)));
        // printf '["a"]' | sha256sum
        assert_eq!(short(&json!(["a"])), "0eb5b8d6");
    }

    /// About one hash in four hundred had no letters and a leading zero, and gave a tag that Helm refuses.
    #[test]
    fn a_hash_is_never_a_number_with_a_leading_zero() {
        for (hash, expected) in [
            ("01234567", "f1234567"),
            ("0123456a", "0123456a"),
            ("12345678", "12345678"),
            ("00000000", "f0000000"),
        ] {
            assert_eq!(version_part(hash), expected);
            let version = format!("0.0.1-{}", version_part(hash));
            assert!(
                solar_render::semver::Version::parse(&version).is_ok(),
                "{version}"
            );
        }
    }
}
