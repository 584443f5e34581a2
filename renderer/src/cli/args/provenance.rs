//! The flags about Helm's provenance files.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Helm's signatures.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Provenance")]
pub(crate) struct ProvenanceFlags {
    /// Fail unless a key of the keyring signed the archive, by Helm's provenance file
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
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

/// A provenance file for what is packed.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Provenance")]
pub(crate) struct ArchiveSigningFlags {
    /// Sign the archive with a key of GnuPG's: writes Helm's provenance file beside it
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) sign: bool,
    /// The name on the key that signs, or a part of it that no other name has
    #[arg(long, value_name = "NAME")]
    pub(crate) key: Option<String>,
    /// The secret keys, as `gpg --export-secret-keys` writes them; else pubring.gpg in GNUPGHOME or ~/.gnupg
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) keyring: Option<PathBuf>,
    /// Read the key's passphrase from the first line of this file, `-` for standard input; else it is asked for
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) passphrase_file: Option<PathBuf>,
}
