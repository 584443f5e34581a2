//! `verify`

use clap::{Args, ValueHint};

use super::provenance::KeyringFlag;
use super::registry::RegistryFlags;
use crate::reference::Digest;

/// `verify`
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  solar-render verify oci://ghcr.io/acme/charts/shop:1.0.0 --key cosign.pub"
)]
pub(crate) struct VerifyArgs {
    /// The chart: oci://HOST/PATH with :TAG, which is resolved once, or better @DIGEST; or an archive with its
    /// provenance file beside it
    #[arg(value_name = "REF|TGZ", value_hint = ValueHint::AnyPath)]
    pub(crate) chart: String,
    /// Fail unless this public key in cosign's format signed the chart in its registry: a file, or env://NAME
    #[arg(long, value_name = "KEY", conflicts_with = "keyring")]
    pub(crate) key: Option<String>,
    /// Fail unless the chart has this digest
    #[arg(long, value_name = "DIGEST")]
    pub(crate) expect_digest: Option<Digest>,
    #[command(flatten)]
    pub(crate) keyring: KeyringFlag,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}
