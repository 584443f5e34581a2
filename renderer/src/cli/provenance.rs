//! Helm's provenance files: whose key signed an archive.

use std::path::Path;
use std::sync::Arc;

use super::args::provenance::{KeyringFlag, ProvenanceFlags};
use super::context::Context;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::oci::provenance_of;
use crate::provenance::{self, Claim, Keyring, MAX_PROVENANCE, Signer};
use crate::reference::Digest;
use crate::report;

impl ProvenanceFlags {
    /// The keyring, when it is needed.
    pub(crate) fn keyring(&self, context: &Context<'_>) -> Result<Option<Arc<Keyring>>> {
        self.verify.then(|| self.keys.load(context)).transpose()
    }
}

impl KeyringFlag {
    /// Reads it.
    pub(crate) fn load(&self, context: &Context<'_>) -> Result<Arc<Keyring>> {
        let path = self.keyring.clone();
        let path = path.or_else(|| provenance::default_keyring(context.world));
        let path = path.ok_or_else(|| {
            Diagnostic::error(Class::Usage, "there is no HOME with a keyring of GnuPG's")
                .hint("name one with --keyring FILE")
        })?;
        provenance::load_keyring(&path).map(Arc::new)
    }
}

/// Fails unless the file beside it says that a key of the keyring signed the archive; who, and the archive's
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

/// For machines.
pub(crate) fn signed_report(signer: Signer) -> report::Provenance {
    let Signer { names, fingerprint } = signer;
    report::Provenance {
        signed_by: names,
        fingerprint,
    }
}

pub(crate) fn blob((digest, size): &(Digest, u64)) -> report::BlobReport {
    report::BlobReport {
        digest: digest.to_string(),
        size: *size,
    }
}
