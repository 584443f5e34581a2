//! `sign`, `generate-key-pair`, and the flags of a signature after a push

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::registry::RegistryFlags;
use crate::reference::{Digest, Locator};

const SIGN_HELP: &str = "\
Of a chart, the digest in its registry is signed. Of files, a bundle is written that `verify` and `cosign verify-blob`
accept; with --predicate it is an in-toto statement about all of them, for `cosign verify-blob-attestation`.

Examples:
  solar-render sign oci://ghcr.io/acme/charts/shop:1.0.0 --key cosign.key
  solar-render sign SHA256SUMS --key cosign.key --bundle SHA256SUMS.sigstore.json";

/// `sign`
#[derive(Args, Debug)]
#[command(after_help = SIGN_HELP)]
pub(crate) struct SignArgs {
    /// The chart: oci://HOST/PATH with :TAG, which is resolved once, or better @DIGEST; or files
    #[arg(value_name = "REF|FILE", value_parser = signable, required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) signed: Vec<Signable>,
    /// The private key in cosign's format: a file, or env://NAME
    #[arg(long, value_name = "KEY")]
    pub(crate) key: String,
    /// Write the bundle of files to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) bundle: Option<PathBuf>,
    /// Sign an in-toto statement about the files, with the JSON of this file as its predicate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires_all = ["predicate_type", "bundle"])]
    pub(crate) predicate: Option<PathBuf>,
    /// The URI of the predicate's type, as `https://slsa.dev/provenance/v1`
    #[arg(long, value_name = "URI", requires = "predicate")]
    pub(crate) predicate_type: Option<String>,
    #[command(flatten)]
    pub(crate) keys: KeyFlags,
    /// Fail unless the chart has this digest
    #[arg(long, value_name = "DIGEST", conflicts_with = "bundle")]
    pub(crate) expect_digest: Option<Digest>,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}

/// What is signed.
#[derive(Debug, Clone)]
pub(crate) enum Signable {
    /// A chart in a registry.
    Chart(Box<Locator>),
    /// A file on disk.
    File(PathBuf),
}

/// References have a scheme; everything else is a file.
fn signable(text: &str) -> Result<Signable, String> {
    match text.parse::<Locator>() {
        Ok(locator) => Ok(Signable::Chart(Box::new(locator))),
        Err(error) if text.contains("://") || text.starts_with("oci-layout:") => Err(error.to_string()),
        Err(_) => Ok(Signable::File(text.into())),
    }
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
