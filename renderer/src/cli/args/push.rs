//! `push`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::policy::PolicyFlags;
use super::registry::RegistryFlags;
use super::versions::PushVersionFlags;
use crate::reference::Target;

/// `push`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render push charts/shop oci://ghcr.io/acme/charts")]
pub(crate) struct PushArgs {
    /// A chart folder or an archive
    #[arg(value_name = "DIR|TGZ", value_hint = ValueHint::AnyPath)]
    pub(crate) chart: PathBuf,
    /// Where it goes: oci://HOST/PATH[:TAG], oci-layout:DIR[:TAG] or file:DIR
    #[arg(value_name = "TARGET")]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) versions: PushVersionFlags,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}
