//! The flags of commands that fetch charts: which repository, and who must have signed.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueHint};

use super::Context;
use crate::diag::{Class, Diagnostic, Result};
use crate::provenance::{self, Keyring};

/// Charts of web servers.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Chart repositories")]
pub(crate) struct Repositories {
    /// The chart is a name in this repository, a web server with an index.yaml: https://HOST/PATH
    #[arg(long, value_name = "URL")]
    pub(crate) repo: Option<String>,
    #[command(flatten)]
    pub(crate) known: KnownRepositories,
}

/// Helm's list.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Chart repositories")]
pub(crate) struct KnownRepositories {
    /// Helm's list of repositories, for their names and credentials; else HELM_REPOSITORY_CONFIG, else where
    /// Helm keeps it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) repository_config: Option<PathBuf>,
}

/// Helm's signatures.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Provenance")]
pub(crate) struct Provenance {
    /// Fail unless a key of the keyring signed the archive, by Helm's provenance file
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) keys: KeyringFile,
}

/// A keyring.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Provenance")]
pub(crate) struct KeyringFile {
    /// The public keys that are trusted, as `gpg --export` writes them; else pubring.gpg in GNUPGHOME or
    /// ~/.gnupg
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) keyring: Option<PathBuf>,
}

impl Provenance {
    /// The keyring, when it is needed.
    pub(crate) fn keyring(&self, context: &Context<'_>) -> Result<Option<Arc<Keyring>>> {
        self.verify.then(|| self.keys.load(context)).transpose()
    }
}

impl KeyringFile {
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
