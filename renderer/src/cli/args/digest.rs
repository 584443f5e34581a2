//! `digest`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::versions::VersionFlags;
use crate::reference::Digest;

/// `digest`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render digest shop.yaml")]
pub(crate) struct DigestArgs {
    /// A config, a chart folder or an archive; `-` for a config on standard input
    #[arg(value_name = "CONFIG|DIR|TGZ", value_hint = ValueHint::AnyPath)]
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) versions: VersionFlags,
    /// Fail unless the digest is this one
    #[arg(long, value_name = "DIGEST")]
    pub(crate) expect_digest: Option<Digest>,
}
