//! `create`

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `create`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render create charts/shop && solar-render lint charts/shop")]
pub(crate) struct CreateArgs {
    /// The chart's folder; its last part is the chart's name
    #[arg(value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) path: PathBuf,
    /// A chart folder to begin with, in which `<CHARTNAME>` is replaced: an absolute path, or a name below
    /// HELM_DATA_HOME/starters
    #[arg(short = 'p', long, value_name = "STARTER", value_hint = ValueHint::DirPath)]
    pub(crate) starter: Option<PathBuf>,
}
