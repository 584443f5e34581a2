//! `sign`, `generate-key-pair`, and the flags of a signature after a push

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::registry::RegistryFlags;
use crate::reference::{Digest, Locator};

/// `sign`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render sign oci://ghcr.io/acme/charts/shop:1.0.0 --key cosign.key")]
pub(crate) struct SignArgs {
    /// The chart: oci://HOST/PATH with :TAG, which is resolved once, or better @DIGEST
    #[arg(value_name = "REF")]
    pub(crate) chart: Locator,
    /// The private key in cosign's format: a file, or env://NAME
    #[arg(long, value_name = "KEY")]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) keys: KeyFlags,
    /// Fail unless the chart has this digest
    #[arg(long, value_name = "DIGEST")]
    pub(crate) expect_digest: Option<Digest>,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}

/// `generate-key-pair`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render generate-key-pair --output-key-prefix release")]
pub(crate) struct GenerateKeyPairArgs {
    /// Write NAME.key and NAME.pub
    #[arg(long, value_name = "NAME", default_value = "cosign", value_hint = ValueHint::FilePath)]
    pub(crate) output_key_prefix: String,
    /// Read the key's password from this file, `-` for standard input; else COSIGN_PASSWORD, else it is
    /// asked for
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) key_password_file: Option<PathBuf>,
}

/// A signature right after a push.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Signature")]
pub(crate) struct SigningFlags {
    /// Sign the digest that was pushed with this private key in cosign's format: a file, or env://NAME
    #[arg(long, value_name = "KEY")]
    pub(crate) sign_by: Option<String>,
    #[command(flatten)]
    pub(crate) keys: KeyFlags,
}

/// The flags for a private key.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct KeyFlags {
    /// Read the key's password from this file, `-` for standard input; else COSIGN_PASSWORD, else it is
    /// asked for
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) key_password_file: Option<PathBuf>,
    /// The signature's form
    #[arg(long, value_enum, default_value_t = SignatureFormatChoice::Bundle, value_name = "FORM")]
    pub(crate) signature_form: SignatureFormatChoice,
}

/// The form of a signature.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SignatureFormatChoice {
    /// Sigstore's bundle, as cosign 3 writes it
    #[default]
    Bundle,
    /// At the tag sha256-….sig, as cosign 1 and 2 write it
    Simple,
}
