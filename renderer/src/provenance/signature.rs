//! Validates OpenPGP signatures (RFC 9580, section 5.2): version 4, strong hash functions, a valid time, no unknown
//! critical subpackets. Pure: the time is a parameter.

use pgp::crypto::hash::HashAlgorithm;
use pgp::errors::Result as Verified;
use pgp::packet::{
    PublicKey, Signature, SignatureType, SignatureVersion, Subpacket, SubpacketData, SubpacketType,
};
use pgp::ser::Serialize as _;
use pgp::types::{EcdsaPublicParams, EddsaLegacyPublicParams, KeyDetails as _, PublicParams};

/// The tolerated clock skew of a signer, in seconds.
const MAX_SKEW: u64 = 300;
/// The minimum size of an RSA modulus, in bits.
const MIN_RSA: u16 = 2048;

/// Which hash functions are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hashes {
    /// Strong hash functions only, for messages.
    Strong,
    /// SHA-1 too, for self-signatures in a keyring: anyone who can write there needs no forgery.
    WithSha1,
}

/// The issuer: a fingerprint, or a suffix of one. Anything shorter than a key ID is ambiguous.
pub(super) fn issuer(signature: &Signature) -> Option<&[u8]> {
    let fingerprint = signature.issuer_fingerprint().first().copied();
    let id = || signature.issuer_key_id().first().copied().map(AsRef::as_ref);
    fingerprint
        .map(|one| one.as_bytes())
        .or_else(id)
        .filter(|issuer| issuer.len() >= 8)
}

/// Whether the key may be its issuer. Without an issuer it may be any key.
pub(super) fn is_by(signature: &Signature, key: &PublicKey) -> bool {
    issuer(signature).is_none_or(|issuer| key.fingerprint().as_bytes().ends_with(issuer))
}

/// Whether its key flags allow signing data; `by_default` if it has none.
pub(super) fn may_sign(signature: &Signature, by_default: bool) -> bool {
    let flags = hashed(signature).find_map(|one| match &one.data {
        SubpacketData::KeyFlags(flags) => Some(flags.sign()),
        _ => None,
    });
    flags.unwrap_or(by_default)
}

/// Its creation time, in seconds of Unix time.
pub(super) fn created(signature: &Signature) -> u32 {
    signature.created().map_or(0, |time| time.as_secs())
}

/// The key's expiry according to the signature, in seconds of Unix time.
pub(super) fn key_end(signature: &Signature, key: &PublicKey) -> Option<u64> {
    let seconds = signature.key_expiration_time()?.as_secs();
    (seconds > 0).then(|| u64::from(key.created_at().as_secs()) + u64::from(seconds))
}

/// Checks a keyring key's signature on a key or user ID.
pub(super) fn fits(
    signature: &Signature,
    key: &PublicKey,
    now: u64,
    verify: impl FnOnce(&Signature) -> Verified<()>,
) -> bool {
    is_by(signature, key) && check(signature, key, now, Hashes::WithSha1, verify).is_ok()
}

/// Checks a signature of a message. `Err` is the reason why it is not valid.
pub(super) fn check_message(
    signature: &Signature,
    key: &PublicKey,
    text: &str,
    now: u64,
) -> Result<(), String> {
    if !matches!(signature.typ(), Some(SignatureType::Binary | SignatureType::Text)) {
        return Err("it is not a signature of a text".to_owned());
    }
    if let Some(reason) = unusable(key) {
        return Err(reason.to_owned());
    }
    check(signature, key, now, Hashes::Strong, |signature| {
        signature.verify(key, text.as_bytes())
    })
}

fn check(
    signature: &Signature,
    key: &PublicKey,
    now: u64,
    hashes: Hashes,
    verify: impl FnOnce(&Signature) -> Verified<()>,
) -> Result<(), String> {
    if signature.version() != SignatureVersion::V4 {
        let version = u8::from(signature.version());
        return Err(format!("it is of version {version}, and only 4 is supported"));
    }
    if let Some(name) = refused_hash(signature.hash_alg(), hashes) {
        return Err(format!(
            "it is made with {name}, which is not accepted: SHA-256, SHA-384 and SHA-512 are"
        ));
    }
    if let Some(kind) = hashed(signature).find(|one| one.is_critical && !is_understood(one)) {
        let kind = kind.typ().as_u8(false);
        return Err(format!(
            "it holds subpacket {kind}, which is critical and unknown"
        ));
    }
    if verify(signature).is_err() {
        return Err("it does not match: the text or the signature was changed".to_owned());
    }
    check_time(signature, key, now)
}

fn check_time(signature: &Signature, key: &PublicKey, now: u64) -> Result<(), String> {
    let created = created(signature);
    let seconds = u64::from(created);
    if seconds > now.saturating_add(MAX_SKEW) {
        return Err(format!("it is of {}, which is in the future", date(seconds)));
    }
    if created < key.created_at().as_secs() {
        return Err(format!("it is of {}, and its key is younger", date(seconds)));
    }
    let lasts = signature
        .signature_expiration_time()
        .map_or(0, |lasts| lasts.as_secs());
    let end = seconds + u64::from(lasts);
    if lasts > 0 && end <= now {
        return Err(format!("it expired on {}", date(end)));
    }
    Ok(())
}

fn hashed(signature: &Signature) -> impl Iterator<Item = &Subpacket> {
    signature
        .config()
        .into_iter()
        .flat_map(|config| config.hashed_subpackets())
}

/// Whether a subpacket is handled, or doesn't affect validity.
fn is_understood(one: &Subpacket) -> bool {
    !matches!(
        one.typ(),
        SubpacketType::Notation | SubpacketType::Experimental(_) | SubpacketType::Other(_)
    )
}

/// The name of the hash function, if it is not accepted.
fn refused_hash(hash: Option<HashAlgorithm>, accepted: Hashes) -> Option<String> {
    match hash {
        Some(HashAlgorithm::Sha256 | HashAlgorithm::Sha384 | HashAlgorithm::Sha512) => None,
        Some(HashAlgorithm::Sha1) if accepted == Hashes::WithSha1 => None,
        Some(HashAlgorithm::Sha1) => Some("SHA-1".to_owned()),
        Some(HashAlgorithm::Sha224) => Some("SHA-224".to_owned()),
        Some(HashAlgorithm::Ripemd160) => Some("RIPEMD-160".to_owned()),
        Some(HashAlgorithm::Sha3_256 | HashAlgorithm::Sha3_512) => Some("SHA-3".to_owned()),
        Some(HashAlgorithm::Md5) => Some("MD5".to_owned()),
        other => Some(format!("the hash function {}", other.map_or(0, u8::from))),
    }
}

/// Why a key can't verify or sign a message here.
pub(super) fn unusable(key: &PublicKey) -> Option<&'static str> {
    match key.public_params() {
        PublicParams::RSA(_) if rsa_bits(key) < MIN_RSA => {
            Some("RSA keys of less than 2,048 bits are not accepted")
        }
        PublicParams::RSA(_)
        | PublicParams::Ed25519(_)
        | PublicParams::EdDSALegacy(EddsaLegacyPublicParams::Ed25519 { .. })
        | PublicParams::ECDSA(
            EcdsaPublicParams::P256 { .. } | EcdsaPublicParams::P384 { .. } | EcdsaPublicParams::P521 { .. },
        ) => None,
        PublicParams::DSA(_) => Some("DSA keys are not accepted: they are too old"),
        PublicParams::ECDSA(_) => Some("of ECDSA's curves P-256, P-384 and P-521 are accepted"),
        PublicParams::EdDSALegacy(_) | PublicParams::Ed448(_) => {
            Some("of EdDSA's curves Ed25519 is accepted")
        }
        _ => Some("keys of its kind don't sign"),
    }
}

/// The length of the modulus, which is the first number, prefixed by its length in bits.
fn rsa_bits(key: &PublicKey) -> u16 {
    let bytes = key.public_params().to_bytes().unwrap_or_default();
    bytes.first_chunk().map_or(0, |bits| u16::from_be_bytes(*bits))
}

/// A date, for messages.
pub(super) fn date(seconds: u64) -> String {
    let time = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or_else(
        || format!("second {seconds}"),
        |time| time.strftime("%Y-%m-%d").to_string(),
    )
}
