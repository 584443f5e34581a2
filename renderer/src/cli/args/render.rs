//! `render`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::limits::TimeFlag;
use super::policy::PolicyFlags;
use super::registry::RegistryFlags;
use crate::reference::Target;

/// `render`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render shop.yaml --url oci://ghcr.io/acme/charts")]
pub(crate) struct RenderArgs {
    /// The config: YAML or JSON, `-` for standard input
    #[arg(value_name = "CONFIG", value_hint = ValueHint::FilePath)]
    pub(crate) config: PathBuf,
    /// Where the chart goes: oci://HOST/PATH[:TAG], oci-layout:DIR[:TAG] or file:DIR; without a tag, the
    /// chart's name and version are appended
    #[arg(long, value_name = "TARGET")]
    pub(crate) url: Option<Target>,
    /// Render, package and compute the digest only
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) skip_push: bool,
    /// The opposite of --skip-push, as older versions of solar-renderer have it
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", hide = true)]
    pub(crate) push: bool,
    /// Keep the chart's files in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) time: TimeFlag,
    #[command(flatten)]
    pub(crate) policy: PolicyFlags,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}
