//! `env`

use clap::Args;

use super::namespace::NamespaceFlags;

/// `env`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render env HELM_REPOSITORY_CONFIG")]
pub(crate) struct EnvArgs {
    /// Print the value of this variable alone
    #[arg(value_name = "VARIABLE")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) namespace: NamespaceFlags,
}
