//! `tags`

use clap::Args;

use super::registry::RegistryFlags;
use crate::reference::Locator;

/// `tags`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render tags oci://ghcr.io/acme/charts/shop")]
pub(crate) struct TagsArgs {
    /// The repository or layout: oci://HOST/PATH or oci-layout:DIR
    #[arg(value_name = "REF")]
    pub(crate) place: Locator,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}
