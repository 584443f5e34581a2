//! Helm's provenance files: a clear-signed OpenPGP message that holds Chart.yaml and the SHA-256 of the
//! chart's archive.
//!
//! In: the file, the archive's name and digest, a keyring, the time. Out: the signer, or why the signature is not
//! valid. Nothing here reads an archive or uses the network. Accepted are RSA from 2,048 bits, ECDSA on P-256, P-384
//! and P-521, and Ed25519, with SHA-256, SHA-384 or SHA-512, by keys of version 4 that are neither expired nor revoked;
//! not SHA-1 or DSA, which Helm accepts. Keys are trusted because they are in the keyring.
//!
//! Source: RFC 9580, and Helm 4.3.1's results for GnuPG's files (`testdata/signing/provenance`).

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pgp::packet::Signature;
use pgp::types::KeyDetails as _;

use self::certificate::Certificate;
pub use self::keyring::{Keyring, KeyringError, MAX_KEYRING};
pub use self::sign::{ArchiveKey, LockedKey, SignError};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::reference::Digest;
use crate::report;
use crate::world::World;
use crate::yaml::{self, Node};

mod armor;
mod certificate;
mod keybox;
mod keyring;
mod packets;
mod sign;
mod signature;

/// The maximum size of a provenance file, in bytes.
pub const MAX_PROVENANCE: usize = 4 << 20;
/// The maximum number of its signatures that are verified.
const MAX_SIGNATURES: usize = 16;
/// The separator between Chart.yaml and the sums.
const SEPARATOR: &str = "\n...\n";

/// The signer of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The user IDs of the key.
    pub names: Vec<String>,
    /// The fingerprint of the primary key, in hexadecimal.
    pub fingerprint: String,
}

impl From<&Signer> for report::Provenance {
    fn from(signer: &Signer) -> Self {
        let Signer { names, fingerprint } = signer.clone();
        Self {
            signed_by: names,
            fingerprint,
        }
    }
}

/// The archive and its provenance file.
pub struct Claim<'c> {
    /// The archive's file name, which a provenance file lists.
    pub file: &'c str,
    /// The digest of the archive.
    pub digest: &'c Digest,
    /// The source of the provenance file, for messages.
    pub place: &'c str,
    /// The provenance file.
    pub provenance: &'c [u8],
}

/// Helm's default keyring, in GnuPG's folder.
pub fn default_keyring(world: &dyn World) -> Option<PathBuf> {
    let folder = world.env("GNUPGHOME").map(PathBuf::from);
    folder
        .or_else(|| Some(world.home()?.join(".gnupg")))
        .map(|folder| folder.join("pubring.gpg"))
}

/// Reads a keyring's file.
///
/// # Errors
/// Class config: it can't be read, or is not a keyring.
pub fn load_keyring(path: &Path) -> Result<Keyring> {
    let hint = "`gpg --export > FILE` writes one";
    let named = |problem: crate::diag::Diagnostics| {
        let list = problem.into_vec().into_iter();
        list.map(|one| one.hint(hint))
            .collect::<crate::diag::Diagnostics>()
    };
    let bytes = fsio::read_bytes(path, MAX_KEYRING, Class::Config).map_err(named)?;
    Keyring::read(bytes).map_err(|error| {
        let message = format!("the keyring {} can't be used: {error}", path.display());
        Diagnostic::error(Class::Config, message).hint(hint).into()
    })
}

/// The error that a required provenance file is missing.
pub fn missing(place: &str) -> Diagnostic {
    Diagnostic::error(Class::Signature, format!("{place} has no provenance file"))
        .note("without it nobody has signed the archive")
}

/// Fails unless a key of the keyring signed the archive's digest.
///
/// # Errors
/// Class signature.
pub fn verify(claim: &Claim<'_>, keyring: &Keyring, now: SystemTime) -> Result<Signer> {
    let Claim {
        file, digest, place, ..
    } = claim;
    let not_one = |reason: String| {
        let message = format!("{place} is not a provenance file: {reason}");
        Diagnostic::error(Class::Signature, message)
    };
    let text = std::str::from_utf8(claim.provenance).map_err(|_| not_one("it is not UTF-8".to_owned()))?;
    let message = armor::clear_signed(text).map_err(not_one)?;
    // Only the signed text is parsed.
    let text = message.signed_text();
    let signer = signer(message.signatures(), &text, place, keyring, now)?;
    let sums = sums(&text.replace("\r\n", "\n"), place)?;
    let found = sums.iter().find(|(name, _)| name == file);
    let Some((_, sum)) = found else {
        let about: Vec<&str> = sums
            .iter()
            .map(|(name, _)| name.as_str())
            .take(MAX_SIGNATURES)
            .collect();
        let one = Diagnostic::error(Class::Signature, format!("{place} does not list {file}"));
        return Err(one
            .note(format!("it is about {}", about.join(", ")))
            .hint("a signed archive keeps its file name")
            .into());
    };
    if *sum != digest.as_str() {
        let message = format!("{file} is not the archive that {place} is about");
        return Err(Diagnostic::error(Class::Signature, message)
            .note(format!("the archive's digest is {digest}"))
            .note(format!("{sum} was signed"))
            .into());
    }
    Ok(signer)
}

/// One valid signature of several is enough.
fn signer(
    signatures: &[Signature],
    text: &str,
    place: &str,
    keyring: &Keyring,
    now: SystemTime,
) -> Result<Signer> {
    let now = seconds(now);
    let mut reasons = Vec::new();
    let mut unknown_keys = Vec::new();
    for signature in signatures.iter().take(MAX_SIGNATURES) {
        let Some(issuer) = signature::issuer(signature) else {
            reasons.push("it does not say whose it is".to_owned());
            continue;
        };
        let holders = keyring.with(issuer);
        if holders.is_empty() {
            unknown_keys.push(hexadecimal(issuer));
        }
        for holder in &holders {
            match check(signature, issuer, holder, text, now) {
                Ok(()) => {
                    return Ok(Signer {
                        names: holder.names(now),
                        fingerprint: hexadecimal(holder.primary().fingerprint().as_bytes()),
                    });
                }
                Err(reason) => reasons.push(reason),
            }
        }
    }
    Err(unsigned(place, reasons, &unknown_keys).into())
}

fn check(
    signature: &Signature,
    issuer: &[u8],
    holder: &Certificate,
    text: &str,
    now: u64,
) -> std::result::Result<(), String> {
    let keys = holder.keys().map(|key| &key.public);
    keys.filter(|key| key.fingerprint().as_bytes().ends_with(issuer))
        .map(|key| {
            signature::check_message(signature, key, text, now).and_then(|()| holder.may_sign(key, now))
        })
        .reduce(std::result::Result::or)
        .unwrap_or_else(|| Err("its key is missing".to_owned()))
}

/// Seconds of Unix time.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn unsigned(place: &str, reasons: Vec<String>, unknown_keys: &[String]) -> Diagnostic {
    if reasons.is_empty() && !unknown_keys.is_empty() {
        let message = format!("{place} is signed by no key of the keyring");
        return Diagnostic::error(Class::Signature, message)
            .note(format!("it is signed by {}", unknown_keys.join(" and ")))
            .hint("when you trust that key, add it to the keyring");
    }
    let plain = Diagnostic::error(Class::Signature, format!("the signature of {place} is not valid"));
    if reasons.is_empty() {
        return plain.note("there is none in it");
    }
    reasons.into_iter().fold(plain, Diagnostic::note)
}

/// The file names and their signed digests.
fn sums(text: &str, place: &str) -> Result<Vec<(String, String)>> {
    let wrong = |reason: &str| {
        let message = format!("{place} is not a provenance file: {reason}");
        Diagnostic::error(Class::Signature, message)
    };
    let (_, second) = text
        .split_once(SEPARATOR)
        .ok_or_else(|| wrong("its message has no second part, the files' sums"))?;
    let source = fsio::text_of(place, second.as_bytes().to_vec(), Class::Signature)?;
    let node = yaml::parse(&source, Class::Signature, &yaml::Limits::default())?;
    let files = node.get("files").map(Node::entries).unwrap_or_default();
    let all: Vec<(String, String)> = files
        .iter()
        .filter_map(|entry| Some((entry.key.as_str().to_owned(), entry.value.as_str()?.to_owned())))
        .collect();
    if all.is_empty() {
        return Err(wrong("its message names no files").into());
    }
    Ok(all)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests;
