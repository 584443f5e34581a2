//! `plugin`

use clap::{Args, Subcommand};

/// `plugin`
#[derive(Subcommand, Debug)]
#[command(defer = true)]
pub(crate) enum PluginCommand {
    /// List plugins: there are none
    #[command(visible_alias = "ls")]
    List(PluginListArgs),
}

/// `plugin list`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render plugin list")]
pub(crate) struct PluginListArgs {
    /// Accepted as in Helm; there are no plugins of any type
    #[arg(long = "type", value_name = "TYPE", default_value = "")]
    pub(crate) kind: String,
}
