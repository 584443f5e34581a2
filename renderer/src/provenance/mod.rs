//! Helm's provenance files: a clear-signed OpenPGP message that holds Chart.yaml and the SHA-256 of the
//! chart's archive.
//!
//! In: the file, the archive's name and digest, a keyring, the time. Out: who signed, or why it does not
//! count. Nothing here reads an archive or a network. Taken are RSA from 2,048 bits, ECDSA on P-256, P-384 and
//! P-521, and Ed25519, over SHA-256, SHA-384 or SHA-512, by keys of version 4 that are neither expired nor
//! revoked; not SHA-1 or DSA, which Helm takes. Keys are trusted because they are in the keyring.
//!
//! Source: RFC 9580, and what Helm 4.3.1 does with what GnuPG writes (`testdata/signing/provenance`).

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

/// The largest provenance file that is read, in bytes.
pub const MAX_PROVENANCE: usize = 4 << 20;
/// The most signatures of one that are verified.
const MAX_SIGNATURES: usize = 16;
/// What comes between Chart.yaml and the sums.
const SEPARATOR: &str = "\n...\n";

/// Who signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The names on the key.
    pub names: Vec<String>,
    /// The primary key's, in hexadecimal.
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

/// What an archive is held to.
pub struct Claim<'c> {
    /// The archive's file name: a provenance file speaks of names.
    pub file: &'c str,
    /// Of the archive.
    pub digest: &'c Digest,
    /// Where the provenance file is from, for messages.
    pub place: &'c str,
    /// The provenance file.
    pub provenance: &'c [u8],
}

/// Where Helm looks for a keyring: GnuPG's folder.
pub fn default_keyring(world: &dyn World) -> Option<PathBuf> {
    let folder = world.env("GNUPGHOME").map(PathBuf::from);
    folder
        .or_else(|| Some(world.home()?.join(".gnupg")))
        .map(|folder| folder.join("pubring.gpg"))
}

/// Reads a keyring's file.
///
/// # Errors
/// Class config: it can't be read, or is something else.
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

/// There is no provenance file where one is required.
pub fn missing(place: &str) -> Diagnostic {
    Diagnostic::error(Class::Signature, format!("{place} has no provenance file"))
        .note("without it nobody has signed the archive")
}

/// Fails unless a key of the keyring signed that the archive has this digest.
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
    // What is read is what was hashed.
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

/// Of several signatures one is enough.
fn signer(
    signatures: &[Signature],
    text: &str,
    place: &str,
    keyring: &Keyring,
    now: SystemTime,
) -> Result<Signer> {
    let now = seconds(now);
    let mut reasons = Vec::new();
    let mut strangers = Vec::new();
    for signature in signatures.iter().take(MAX_SIGNATURES) {
        let Some(issuer) = signature::issuer(signature) else {
            reasons.push("it does not say whose it is".to_owned());
            continue;
        };
        let holders = keyring.with(issuer);
        if holders.is_empty() {
            strangers.push(hexadecimal(issuer));
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
    Err(unsigned(place, reasons, &strangers).into())
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
        .unwrap_or_else(|| Err("its key is not there".to_owned()))
}

/// Seconds of Unix time.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn unsigned(place: &str, reasons: Vec<String>, strangers: &[String]) -> Diagnostic {
    if reasons.is_empty() && !strangers.is_empty() {
        let message = format!("{place} is signed by no key of the keyring");
        return Diagnostic::error(Class::Signature, message)
            .note(format!("it is signed by {}", strangers.join(" and ")))
            .hint("when you trust that key, add it to the keyring");
    }
    let plain = Diagnostic::error(Class::Signature, format!("the signature of {place} is not valid"));
    if reasons.is_empty() {
        return plain.note("there is none in it");
    }
    reasons.into_iter().fold(plain, Diagnostic::note)
}

/// File names and what was signed for each.
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
