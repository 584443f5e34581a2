//! `copy`

use clap::Args;

use super::policy::PolicyFlags;
use super::registry::RegistryFlags;
use crate::reference::{Locator, Target};

const COPY_HELP: &str = "\
Between two registries --username and REGISTRY_USERNAME are refused: they would go to both. REGISTRY_HOST names
the one that REGISTRY_USERNAME is for. Log in to each with `solar-render login`.

Example:
  solar-render copy oci://ghcr.io/acme/charts/shop:1.0.0 oci-layout:mirror";

/// `copy`
#[derive(Args, Debug)]
#[command(after_help = COPY_HELP)]
pub(crate) struct CopyArgs {
    /// The chart: oci://HOST/PATH or oci-layout:DIR, with :TAG or @DIGEST; without either, its newest
    /// release
    #[arg(value_name = "SRC", value_parser = copied)]
    pub(crate) source: Locator,
    /// Where it goes: oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG], without a tag the chart's name and version
    /// are appended; file:DIR gets the archive alone
    #[arg(value_name = "DST")]
    pub(crate) target: Target,
    /// Also copy referrers: signatures, attestations, and what refers to those
    #[arg(short = 'r', long, visible_alias = "recursive", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) referrers: bool,
    /// Use HTTP for SRC alone
    #[arg(long)]
    pub(crate) from_plain_http: bool,
    /// Use HTTP for DST alone
    #[arg(long)]
    pub(crate) to_plain_http: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}

/// What is copied is in a registry or a layout already; folders and archives are what `push` takes.
fn copied(text: &str) -> Result<Locator, String> {
    text.parse().map_err(|error: crate::reference::ReferenceError| {
        let path = std::path::Path::new(text.strip_prefix("file:").unwrap_or(text));
        if path.exists() {
            format!("{error}; `solar-render push` sends folders and archives")
        } else {
            error.to_string()
        }
    })
}
