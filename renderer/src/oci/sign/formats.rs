//! The formats of signatures: Sigstore's bundle with an in-toto statement in a DSSE envelope, which cosign 3 writes,
//! and the simple signing payload of cosign 1 and 2; for files, a signature of the content or a statement about them.
//! Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::reference::Digest;
use crate::signing_key::{KeyError, SigningKey, VerifyingKey};

/// The media type of a bundle, and the artifact type of its manifest.
pub(super) const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// The common prefix of all versions of that type.
pub(super) const BUNDLE_PREFIX: &str = "application/vnd.dev.sigstore.bundle";
/// The media type of a simple signing payload.
pub(super) const SIMPLE_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The annotation of the payload's layer with a simple signature.
pub(super) const SIMPLE_SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// The predicate type, which only states that the image was signed.
pub(super) const PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const OLD_STATEMENT: &str = "https://in-toto.io/Statement/v0.1";
const SIMPLE_KIND: &str = "cosign container image signature";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    media_type: String,
    dsse_envelope: Option<Envelope>,
    message_signature: Option<MessageSignature>,
}

#[derive(Deserialize)]
struct MessageSignature {
    signature: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<StatementSubject>,
    predicate_type: String,
}

#[derive(Deserialize)]
struct StatementSubject {
    digest: std::collections::BTreeMap<String, String>,
}

/// A bundle with this key's signature of this digest.
pub(super) fn bundle(digest: &Digest, key: &SigningKey) -> Result<Vec<u8>, KeyError> {
    let statement = json!({
        "_type": STATEMENT,
        "subject": [{ "digest": { "sha256": digest.hex() }, "annotations": {} }],
        "predicateType": PREDICATE,
        "predicate": {},
    })
    .to_string();
    enveloped(&statement, key)
}

/// A bundle with an in-toto statement about files.
pub(super) fn attestation(
    subjects: &[(String, Digest)],
    predicate_type: &str,
    predicate: &Value,
    key: &SigningKey,
) -> Result<Vec<u8>, KeyError> {
    let subjects: Vec<Value> = subjects
        .iter()
        .map(|(name, digest)| json!({ "name": name, "digest": { "sha256": digest.hex() } }))
        .collect();
    let statement = json!({
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": predicate_type,
        "predicate": predicate,
    });
    enveloped(&statement.to_string(), key)
}

/// A bundle with the signature of a file's content.
pub(super) fn message_signature(content: &[u8], key: &SigningKey) -> Result<Vec<u8>, KeyError> {
    let signature = key.sign(content)?;
    let bundle = json!({
        "mediaType": BUNDLE_TYPE,
        "verificationMaterial": { "publicKey": { "hint": key.public().hint() } },
        "messageSignature": {
            "messageDigest": {
                "algorithm": "SHA2_256",
                "digest": BASE64.encode(sha2::Sha256::digest(content)),
            },
            "signature": BASE64.encode(signature),
        },
    });
    Ok(bundle.to_string().into_bytes())
}

/// A bundle with a statement in an envelope.
fn enveloped(statement: &str, key: &SigningKey) -> Result<Vec<u8>, KeyError> {
    let signature = key.sign(&pre_authentication(PAYLOAD_TYPE, statement.as_bytes()))?;
    let bundle = json!({
        "mediaType": BUNDLE_TYPE,
        "verificationMaterial": { "publicKey": { "hint": key.public().hint() } },
        "dsseEnvelope": {
            "payload": BASE64.encode(statement),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{ "sig": BASE64.encode(signature) }],
        },
    });
    Ok(bundle.to_string().into_bytes())
}

/// A simple signing payload for the digest, and its signature in base64.
pub(super) fn simple(
    digest: &Digest,
    repository: &str,
    key: &SigningKey,
) -> Result<(Vec<u8>, String), KeyError> {
    let payload = json!({
        "critical": {
            "identity": { "docker-reference": repository },
            "image": { "docker-manifest-digest": digest.as_str() },
            "type": SIMPLE_KIND,
        },
        "optional": null,
    })
    .to_string()
    .into_bytes();
    let signature = key.sign(&payload)?;
    Ok((payload, BASE64.encode(signature)))
}

/// `Ok` if the bundle has the key's valid signature of the digest. `Err` is the reason why not. The signature is
/// checked first: the payload of an invalid one is not parsed.
pub(in crate::oci) fn check_bundle(bytes: &[u8], digest: &Digest, key: &VerifyingKey) -> Result<(), String> {
    let envelope = read_bundle(bytes)?
        .dsse_envelope
        .ok_or("it has no DSSE envelope")?;
    let statement = signed_statement(&envelope, key)?;
    if statement.predicate_type != PREDICATE {
        return Err(format!(
            "its statement is of another type: {:?}",
            statement.predicate_type
        ));
    }
    is_about(&statement, digest)
}

/// As [`check_bundle`], for a file: its content is signed, or a statement about its digest, which may have to be of a
/// type. The content is read when its signature is to be checked.
pub(super) fn check_file_bundle<E: From<String>>(
    bytes: &[u8],
    digest: &Digest,
    content: impl FnOnce() -> Result<Vec<u8>, E>,
    key: &VerifyingKey,
    predicate_type: Option<&str>,
) -> Result<(), E> {
    let bundle = read_bundle(bytes)?;
    match (bundle.message_signature, bundle.dsse_envelope, predicate_type) {
        (Some(message), _, None) => {
            let signature = decode(&message.signature)?;
            match key.verifies(&content()?, &signature) {
                true => Ok(()),
                false => Err("another key made it, or it is about another file"
                    .to_owned()
                    .into()),
            }
        }
        (_, Some(envelope), _) => {
            let statement = signed_statement(&envelope, key)?;
            if predicate_type.is_some_and(|wanted| wanted != statement.predicate_type) {
                let found = statement.predicate_type;
                return Err(format!("its statement is of another type: {found:?}").into());
            }
            Ok(is_about(&statement, digest)?)
        }
        (Some(_), None, Some(_)) => Err("it signs the file alone, and has no statement".to_owned().into()),
        (None, None, _) => Err("it has neither a signature nor a DSSE envelope".to_owned().into()),
    }
}

fn read_bundle(bytes: &[u8]) -> Result<Bundle, String> {
    let bundle: Bundle =
        serde_json::from_slice(bytes).map_err(|error| format!("it is not a bundle: {error}"))?;
    if !bundle.media_type.starts_with(BUNDLE_PREFIX) {
        return Err(format!("it is a bundle of the type {:?}", bundle.media_type));
    }
    Ok(bundle)
}

/// The statement of an envelope that the key signed.
fn signed_statement(envelope: &Envelope, key: &VerifyingKey) -> Result<Statement, String> {
    let payload = decode(&envelope.payload)?;
    let signed = pre_authentication(&envelope.payload_type, &payload);
    let good = envelope
        .signatures
        .iter()
        .any(|one| decode(&one.sig).is_ok_and(|signature| key.verifies(&signed, &signature)));
    if !good {
        return Err("another key made it".to_owned());
    }
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(format!("it signs the type {:?}", envelope.payload_type));
    }
    let statement: Statement =
        serde_json::from_slice(&payload).map_err(|error| format!("it signs no statement: {error}"))?;
    if ![STATEMENT, OLD_STATEMENT].contains(&statement.kind.as_str()) {
        return Err(format!("it signs a statement of the type {:?}", statement.kind));
    }
    Ok(statement)
}

fn is_about(statement: &Statement, digest: &Digest) -> Result<(), String> {
    let about = |one: &StatementSubject| one.digest.get("sha256").is_some_and(|hex| hex == digest.hex());
    if statement.subject.iter().any(about) {
        Ok(())
    } else {
        Err("it is about another digest".to_owned())
    }
}

/// As [`check_bundle`], for a simple signing payload.
pub(in crate::oci) fn check_simple(
    payload: &[u8],
    signature: &str,
    digest: &Digest,
    key: &VerifyingKey,
) -> Result<(), String> {
    if !key.verifies(payload, &decode(signature)?) {
        return Err("another key made it".to_owned());
    }
    let payload: Value =
        serde_json::from_slice(payload).map_err(|error| format!("its payload is not JSON: {error}"))?;
    let text = |path: &str| payload.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let kind = text("/critical/type");
    if kind != SIMPLE_KIND {
        return Err(format!("its payload is of another type: {kind:?}"));
    }
    if text("/critical/image/docker-manifest-digest") == digest.as_str() {
        Ok(())
    } else {
        Err("it is about another digest".to_owned())
    }
}

/// DSSE's pre-authentication encoding: type and payload with their lengths, so that neither can be mistaken for the
/// other.
fn pre_authentication(kind: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

fn decode(text: &str) -> Result<Vec<u8>, String> {
    BASE64.decode(text).map_err(|_| "it is not in base64".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    fn key() -> SigningKey {
        let text = include_bytes!("../../../../testdata/signing/cosign.key");
        SigningKey::load(text, &Secret::new("pw")).unwrap()
    }

    fn digest(byte: u8) -> Digest {
        Digest::from_sha256(&[byte; 32])
    }

    #[test]
    fn a_bundle_is_valid_for_its_digest_and_key_alone() {
        let key = key();
        let bytes = bundle(&digest(1), &key).unwrap();
        assert_eq!(check_bundle(&bytes, &digest(1), key.public()), Ok(()));
        let other = check_bundle(&bytes, &digest(2), key.public()).unwrap_err();
        assert_eq!(other, "it is about another digest");
        let pair = SigningKey::generate(&Secret::default()).unwrap();
        let stranger = VerifyingKey::load(pair.public.as_bytes()).unwrap();
        let other = check_bundle(&bytes, &digest(1), &stranger).unwrap_err();
        assert_eq!(other, "another key made it");
    }

    #[test]
    fn what_the_key_signed_about_something_else_is_no_signature_of_the_chart() {
        let key = key();
        let statement = |kind: &str, predicate: &str| {
            json!({"_type": kind, "subject": [{"digest": {"sha256": digest(1).hex()}}], "predicateType": predicate})
                .to_string()
        };
        let enveloped = |payload: &str, kind: &str| {
            let signature = key.sign(&pre_authentication(kind, payload.as_bytes())).unwrap();
            json!({"mediaType": BUNDLE_TYPE, "dsseEnvelope": {"payload": BASE64.encode(payload),
                "payloadType": kind, "signatures": [{"sig": BASE64.encode(signature)}]}})
            .to_string()
        };
        let table = [
            (
                enveloped(&statement(STATEMENT, "https://spdx.dev/Document"), PAYLOAD_TYPE),
                "of another type",
            ),
            (
                enveloped(&statement("x", PREDICATE), PAYLOAD_TYPE),
                "of the type \"x\"",
            ),
            (
                enveloped(&statement(STATEMENT, PREDICATE), "text/plain"),
                "signs the type",
            ),
            (enveloped("[]", PAYLOAD_TYPE), "no statement"),
            (json!({"mediaType": "x"}).to_string(), "of the type \"x\""),
            (json!({"mediaType": BUNDLE_TYPE}).to_string(), "no DSSE"),
            ("[".to_owned(), "not a bundle"),
        ];
        for (bundle, expected) in table {
            let found = check_bundle(bundle.as_bytes(), &digest(1), key.public()).unwrap_err();
            assert!(found.contains(expected), "{found}");
        }
        let good = enveloped(&statement(OLD_STATEMENT, PREDICATE), PAYLOAD_TYPE);
        assert_eq!(check_bundle(good.as_bytes(), &digest(1), key.public()), Ok(()));
    }

    #[test]
    fn a_simple_signature_is_valid_for_its_digest_and_key_alone() {
        let key = key();
        let (payload, signature) = simple(&digest(1), "h/a", &key).unwrap();
        assert_eq!(
            check_simple(&payload, &signature, &digest(1), key.public()),
            Ok(())
        );
        assert!(check_simple(&payload, &signature, &digest(2), key.public()).is_err());
        assert!(check_simple(&payload, "!", &digest(1), key.public()).is_err());
        let other = String::from_utf8(payload)
            .unwrap()
            .replace(SIMPLE_KIND, "x")
            .into_bytes();
        let signature = BASE64.encode(key.sign(&other).unwrap());
        let found = check_simple(&other, &signature, &digest(1), key.public()).unwrap_err();
        assert!(found.contains("of another type"), "{found}");
    }
}
