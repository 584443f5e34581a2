//! Hashes of what charts are made from: equal data, however it was written, has one hash.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::yaml;

/// How many hex digits names and tags carry.
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

/// The first eight digits of it.
pub fn short(data: &Value) -> String {
    sha256(data).chars().take(SHORT).collect()
}

/// The same for a version's pre-release: all digits with a leading zero is no version to SemVer, so that
/// a letter takes the zero's place.
pub fn version_part(hash: &str) -> String {
    match hash.strip_prefix('0') {
        Some(rest) if rest.bytes().all(|byte| byte.is_ascii_digit()) => format!("f{rest}"),
        _ => hash.to_owned(),
    }
}

/// Data as JSON; null for what isn't any, which no type here is.
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

    /// One hash in about four hundred of those without letters made a tag that Helm refuses.
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
