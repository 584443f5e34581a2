//! `tags`

use clap::Args;

use super::registry::Registry;
use crate::reference::Locator;

/// `tags`
#[derive(Args, Debug)]
pub(crate) struct Tags {
    /// The repository or layout: oci://HOST/PATH or oci-layout:DIR
    #[arg(value_name = "REF")]
    pub(crate) place: Locator,
    #[command(flatten)]
    pub(crate) registry: Registry,
}
