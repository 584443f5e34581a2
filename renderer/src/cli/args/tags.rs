//! `tags`

use clap::Args;

use super::registry::RegistryFlags;
use crate::reference::Locator;

/// `tags`
#[derive(Args, Debug)]
pub(crate) struct TagsArgs {
    /// The repository or layout: oci://HOST/PATH or oci-layout:DIR
    #[arg(value_name = "REF")]
    pub(crate) place: Locator,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}
