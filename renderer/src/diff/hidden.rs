//! What is not shown of an object: the values of Secrets, of which a hash stands there, and binary data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::compare::names_secret;
use crate::fsio;
use crate::reference::Digest;
use crate::value::{Map, Value};

/// How many hex digits of a hash are shown: enough to see whether it is the same.
const HASH_DIGITS: usize = 12;

/// Replaces the values of Secrets, wherever they are in an object: also those of an object in another one, and texts that
/// are manifests of Secrets themselves.
pub(super) fn hide_secrets(value: &mut Value) {
    match value {
        Value::Map(map) => {
            let kind = map.get("kind").and_then(Value::as_str).map(str::trim);
            let (is_secret, is_list) = (kind == Some("Secret"), kind == Some("SecretList"));
            if is_secret {
                hide_data(map);
            }
            if let (true, Some(Value::List(items))) = (is_list, map.get_mut("items")) {
                for item in items {
                    if let Value::Map(item) = item {
                        hide_data(item);
                    }
                }
            }
            for value in map.values_mut() {
                hide_secrets(value);
            }
        }
        Value::List(items) => {
            for item in items {
                hide_secrets(item);
            }
        }
        Value::String(text) if names_secret(text) => *text = hash(text.as_bytes()),
        _ => {}
    }
}

fn hide_data(secret: &mut Map) {
    if let Some(data) = secret.get_mut("data") {
        hide_all(data, true);
    }
    if let Some(data) = secret.get_mut("stringData") {
        hide_all(data, false);
    }
}

/// The same bytes have the same hash in `data` and in `stringData`.
fn hide_all(value: &mut Value, is_base64: bool) {
    match value {
        Value::Null => {}
        Value::Map(map) => {
            for value in map.values_mut() {
                hide_all(value, is_base64);
            }
        }
        Value::List(items) => {
            for item in items {
                hide_all(item, is_base64);
            }
        }
        Value::String(text) => {
            let decoded = is_base64.then(|| decoded(text)).flatten();
            *text = hash(&decoded.unwrap_or_else(|| text.as_bytes().to_vec()));
        }
        other => *other = Value::String(hash(other.to_json().as_bytes())),
    }
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let text: String = text.split_ascii_whitespace().collect();
    STANDARD.decode(text).ok()
}

fn hash(bytes: &[u8]) -> String {
    format!("(hidden, sha256 {}…)", short_digest(bytes))
}

fn short_digest(bytes: &[u8]) -> String {
    let digest = Digest::from_sha256(&Sha256::digest(bytes).into());
    digest.hex().chars().take(HASH_DIGITS).collect()
}

/// Replaces the binary data of a ConfigMap by its size and a hash.
pub(super) fn shorten_binary(object: &mut Value) {
    let Value::Map(map) = object else { return };
    if map.get("kind").and_then(Value::as_str) != Some("ConfigMap") {
        return;
    }
    if let Some(Value::Map(data)) = map.get_mut("binaryData") {
        for value in data.values_mut() {
            if let Value::String(text) = value
                && let Some(bytes) = decoded(text)
            {
                let size = fsio::size(bytes.len() as u64);
                *text = format!("(binary, {size}, sha256 {}…)", short_digest(&bytes));
            }
        }
    }
}
