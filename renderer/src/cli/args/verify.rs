//! `verify`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::provenance::KeyringFlag;
use super::registry::RegistryFlags;
use crate::reference::Digest;

const VERIFY_HELP: &str = "\
Examples:
  solar-render verify oci://ghcr.io/acme/charts/shop:1.0.0 --key cosign.pub
  solar-render verify SHA256SUMS --key cosign.pub --bundle SHA256SUMS.sigstore.json";

/// `verify`
#[derive(Args, Debug)]
#[command(after_help = VERIFY_HELP)]
pub(crate) struct VerifyArgs {
    /// The chart: oci://HOST/PATH with :TAG, which is resolved once, or better @DIGEST; or an archive with its
    /// provenance file beside it; with --bundle any file
    #[arg(value_name = "REF|FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) chart: String,
    /// Fail unless this public key in cosign's format signed the chart in its registry: a file, or env://NAME
    #[arg(long, value_name = "KEY", conflicts_with = "keyring")]
    pub(crate) key: Option<String>,
    /// Verify a file by the bundle that `sign` or cosign wrote for it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "key", conflicts_with_all = ["keyring", "expect_digest"])]
    pub(crate) bundle: Option<PathBuf>,
    /// Fail unless the bundle has a statement whose predicate is of this type
    #[arg(long, value_name = "URI", requires = "bundle")]
    pub(crate) predicate_type: Option<String>,
    /// Fail unless the chart has this digest
    #[arg(long, value_name = "DIGEST")]
    pub(crate) expect_digest: Option<Digest>,
    #[command(flatten)]
    pub(crate) keyring: KeyringFlag,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}
