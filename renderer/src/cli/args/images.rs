//! `images`

use clap::Args;

use super::fetch::FetchFlags;
use super::rendering::{HookFlags, RenderFlags};

/// `images`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render images ./chart -f prod.yaml")]
pub(crate) struct ImagesArgs {
    #[command(flatten)]
    pub(crate) rendering: RenderFlags,
    #[command(flatten)]
    pub(crate) hooks: HookFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}
