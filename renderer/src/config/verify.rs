//! Which signatures Flux requires of charts: the fields `verify` and `verificationKeys`.
//!
//! In: blocks of the config. Out: names of Secrets, and public keys. Nothing here verifies anything.

use std::collections::BTreeMap;

use super::parse::{checked, required_name};
use super::{VERIFY_PROVIDER, VerificationKeys, names};
use crate::decode::{Decoder, ObjectNode};
use crate::yaml::Kind;

/// The maximum number of public keys of a chart: more than a rotation needs.
pub const MAX_VERIFICATION_KEYS: usize = 16;
/// The maximum size of a public key, in bytes of PEM: RSA with 16,384 bits takes 3 KiB.
pub const MAX_PUBLIC_KEY: usize = 8 << 10;

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const END: &str = "-----END PUBLIC KEY-----";

/// `verify: {provider: cosign, secretRef: {name}}` of a chart in a registry: the Secret's name.
pub(super) fn verify(decoder: &mut Decoder, block: &ObjectNode<'_>) -> Option<Option<String>> {
    let Some(node) = block.get("verify") else {
        return Some(None);
    };
    let verify = decoder.object(node, block.field("verify"))?;
    verify.only(decoder, &["provider", "secretRef"]);
    let provider = match verify.get("provider") {
        None => Some(String::new()),
        Some(node) => {
            let path = verify.field("provider");
            let text = decoder.string(node, &path);
            text.and_then(|text| checked(decoder, node, &path, text, is_known_provider))
        }
    };
    let secret = verify.required_object(decoder, "secretRef");
    let name = secret.and_then(|secret| {
        secret.only(decoder, &["name"]);
        required_name(decoder, &secret, "name", names::object_name)
    });
    provider?;
    Some(Some(name?))
}

/// `verificationKeys: {secretName, keys: {cosign.pub: PEM}}` of a bootstrap.
pub(super) fn verification_keys(
    decoder: &mut Decoder,
    input: &ObjectNode<'_>,
) -> Option<Option<VerificationKeys>> {
    let Some(node) = input.get("verificationKeys") else {
        return Some(None);
    };
    let block = decoder.object(node, input.field("verificationKeys"))?;
    block.only(decoder, &["secretName", "keys"]);
    let secret_name = required_name(decoder, &block, "secretName", names::object_name);
    let keys = block
        .required_object(decoder, "keys")
        .and_then(|keys| public_keys(decoder, &keys));
    Some(Some(VerificationKeys {
        secret_name: secret_name?,
        keys: keys?,
    }))
}

fn public_keys(decoder: &mut Decoder, block: &ObjectNode<'_>) -> Option<BTreeMap<String, String>> {
    let Kind::Map(entries) = &block.node.kind else {
        return None;
    };
    if entries.is_empty() || entries.len() > MAX_VERIFICATION_KEYS {
        let message = format!(
            "{} has {} keys, expected 1 to {MAX_VERIFICATION_KEYS}",
            block.path,
            entries.len()
        );
        decoder.report(block.node.span, message, |one| one);
        return None;
    }
    let mut found = BTreeMap::new();
    for entry in entries {
        if let Err(reason) = is_key_file(&entry.key) {
            decoder.report(
                entry.key_span,
                format!("the name `{}` {reason}", entry.key),
                |one| one,
            );
        }
        let path = block.field(&entry.key);
        let text = decoder.string(&entry.value, &path);
        let key = text.and_then(|text| checked(decoder, &entry.value, &path, text, is_public_key));
        found.extend(key.map(|key| (entry.key.clone(), key)));
    }
    (found.len() == entries.len()).then_some(found)
}

fn is_known_provider(provider: &str) -> Result<(), String> {
    if provider == VERIFY_PROVIDER {
        return Ok(());
    }
    Err(format!("{provider:?} is not known: expected `{VERIFY_PROVIDER}`"))
}

/// Flux only uses keys of a Secret whose names end in `.pub`.
fn is_key_file(name: &str) -> Result<(), String> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let is_fit = name.len() <= names::MAX_OBJECT_NAME && name.chars().all(fits);
    match name.strip_suffix(".pub") {
        Some(stem) if is_fit && !stem.is_empty() && !name.starts_with("..") => Ok(()),
        _ => {
            Err("does not name a public key: letters, digits, `-`, `_` and `.`, and `.pub` at the end".into())
        }
    }
}

/// The refused text is not shown: it may be a private key.
fn is_public_key(text: &str) -> Result<(), String> {
    if text.contains("PRIVATE KEY") {
        return Err("holds a private key, which anyone who can pull the chart could read".into());
    }
    if text.len() > MAX_PUBLIC_KEY {
        return Err(format!(
            "has {} bytes, and a public key at most {MAX_PUBLIC_KEY}",
            text.len()
        ));
    }
    let body = text
        .trim()
        .strip_prefix(BEGIN)
        .and_then(|rest| rest.strip_suffix(END));
    let is_base64 = |body: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(&byte);
        !body.trim().is_empty() && body.bytes().all(fits)
    };
    if body.is_some_and(is_base64) {
        return Ok(());
    }
    Err(format!("is not a public key: expected one PEM block, {BEGIN:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_keys_in_pem_are_taken() {
        let cosigns = include_str!("../../../testdata/signing/cosign.pub");
        assert_eq!(is_public_key(cosigns), Ok(()));
        assert_eq!(is_public_key(&cosigns.replace('\n', "\r\n")), Ok(()));
        let private = include_str!("../../../testdata/signing/cosign.key");
        let long = format!("{BEGIN}\n{}\n{END}", "A".repeat(MAX_PUBLIC_KEY));
        let two = format!("{cosigns}{cosigns}");
        for bad in [
            "",
            "cosign",
            BEGIN,
            &format!("{BEGIN}{END}"),
            private,
            &long,
            &two,
        ] {
            let reason = is_public_key(bad).unwrap_err();
            assert!(!reason.contains("AAAA") && !reason.contains("eyJ"), "{reason}");
        }
        let both = format!("{cosigns}{private}");
        assert!(is_public_key(&both).unwrap_err().contains("private key"));
    }

    #[test]
    fn names_of_keys_are_those_that_flux_reads() {
        for good in ["cosign.pub", "cosign-2.pub", "A_b.pub", ".a.pub"] {
            assert_eq!(is_key_file(good), Ok(()), "{good}");
        }
        let long = format!("{}.pub", "a".repeat(names::MAX_OBJECT_NAME));
        for bad in ["", ".pub", "..pub", "cosign.key", "a/b.pub", "ä.pub", &long] {
            assert!(is_key_file(bad).is_err(), "{bad}");
        }
    }
}
