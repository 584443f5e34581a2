//! Helm's provenance files: signing and verifying archives.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::provenance::{ArchiveSigningFlags, KeyringFlag, ProvenanceFlags};
use super::context::Context;
use super::keys::{ask, read_password};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::oci::Secret;
use crate::oci::provenance_of;
use crate::provenance::{self, ArchiveKey, Claim, Keyring, LockedKey, MAX_PROVENANCE, SignError, Signer};
use crate::reference::Digest;
use crate::report;

impl ProvenanceFlags {
    /// The keyring, if it is needed.
    pub(crate) fn keyring(&self, context: &Context<'_>) -> Result<Option<Arc<Keyring>>> {
        self.verify.then(|| self.keys.load(context)).transpose()
    }
}

impl KeyringFlag {
    /// Loads the keyring.
    pub(crate) fn load(&self, context: &Context<'_>) -> Result<Arc<Keyring>> {
        provenance::load_keyring(&keyring_path(self.keyring.as_deref(), context)?).map(Arc::new)
    }
}

/// The path of the given keyring, or of GnuPG's.
fn keyring_path(named: Option<&Path>, context: &Context<'_>) -> Result<PathBuf> {
    let path = named.map(Path::to_owned);
    let path = path.or_else(|| provenance::default_keyring(context.world));
    path.ok_or_else(|| {
        Diagnostic::error(Class::Usage, "no keyring: HOME is not set")
            .hint("name one with --keyring FILE")
            .into()
    })
}

impl ArchiveSigningFlags {
    /// The signing key, if signing is requested. Prompts for its passphrase, if it has one and no file contains it.
    pub(crate) fn key(&self, from_stdin: bool, context: &Context<'_>) -> Result<Option<Arc<ArchiveKey>>> {
        if !self.sign {
            return Ok(None);
        }
        let Some(name) = self.key.as_deref().filter(|name| !name.is_empty()) else {
            let one = Diagnostic::error(Class::Usage, "--sign requires --key NAME");
            return Err(one.hint("`gpg --list-secret-keys` shows the names").into());
        };
        let given = self.passphrase_file.as_deref();
        let given = given.map(|path| read_password(path, from_stdin)).transpose()?;
        let path = keyring_path(self.keyring.as_deref(), context)?;
        let keyring = provenance::load_keyring(&path)?;
        let key = LockedKey::find(&keyring, name, context.world.now());
        let key = key.map_err(|error| no_signature(&error, &path))?;
        let passphrase = match given {
            Some(text) => Secret::new(text.expose().lines().next().unwrap_or_default()),
            None if key.is_locked() => {
                ask(&format!("Passphrase for {}: ", key.name()))?.ok_or_else(|| {
                    let message = format!("the key of {} has a passphrase", key.name());
                    Diagnostic::error(Class::Usage, message).hint("give it with --passphrase-file FILE")
                })?
            }
            None => Secret::new(""),
        };
        let key = key.unlock(passphrase.expose());
        let key = key.map_err(|error| no_signature(&error, &path))?;
        Ok(Some(Arc::new(key)))
    }
}

fn no_signature(error: &SignError, keyring: &Path) -> Diagnostic {
    let message = format!("can't sign with the keyring {}: {error}", keyring.display());
    let plain = Diagnostic::error(Class::Config, message);
    match error {
        SignError::NoKey(_) | SignError::Public(_) => {
            plain.hint("`gpg --export-secret-keys NAME > FILE` writes a keyring for --keyring")
        }
        SignError::Ambiguous { .. } => plain.hint("give the whole name with --key"),
        SignError::Unusable { .. } | SignError::Passphrase(_) | SignError::Failed(_) => plain,
    }
}

/// Fails unless the archive's provenance file is signed by a key of the keyring; returns the signer, and the archive's
/// digest and size.
pub(crate) fn check_file(
    path: &Path,
    keyring: &Keyring,
    context: &Context<'_>,
) -> Result<(Signer, (Digest, u64))> {
    if path.is_dir() {
        let message = format!("{} is a folder: only archives are signed", path.display());
        return Err(Diagnostic::error(Class::Usage, message)
            .hint("`helm package --sign` makes and signs one")
            .into());
    }
    let layer = fsio::digest_of(path).map_err(|error| fsio::cannot("read", path, &error, Class::Chart))?;
    let beside = provenance_of(path);
    if !beside.exists() {
        let one = provenance::missing(&path.display().to_string());
        return Err(one.note(format!("{} does not exist", beside.display())).into());
    }
    let text = fsio::read_bytes(&beside, MAX_PROVENANCE, Class::Signature)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let claim = Claim {
        file: &name,
        digest: &layer.0,
        place: &beside.display().to_string(),
        provenance: &text,
    };
    let signer = provenance::verify(&claim, keyring, context.world.now())?;
    Ok((signer, layer))
}

/// Helm's lines.
pub(crate) fn signed_text(signer: &Signer, digest: &Digest) -> String {
    let names: String = signer
        .names
        .iter()
        .map(|name| format!("Signed by: {name}\n"))
        .collect();
    let fingerprint = &signer.fingerprint;
    format!("{names}Using Key With Fingerprint: {fingerprint}\nChart Hash Verified: {digest}\n")
}

pub(crate) fn blob((digest, size): &(Digest, u64)) -> report::BlobReport {
    report::BlobReport {
        digest: digest.to_string(),
        size: *size,
    }
}
