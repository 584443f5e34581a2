//! The flags about Helm's provenance files.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Helm's signatures.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Provenance")]
pub(crate) struct ProvenanceFlags {
    /// Fail unless a key of the keyring signed the archive, by Helm's provenance file
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) keys: KeyringFlag,
}

/// A keyring.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Provenance")]
pub(crate) struct KeyringFlag {
    /// The public keys that are trusted, as `gpg --export` writes them; else pubring.gpg in GNUPGHOME or
    /// ~/.gnupg
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) keyring: Option<PathBuf>,
}
