//! `version`

use clap::Args;

/// `version`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render version --template '{{ .Version }}'")]
pub(crate) struct VersionArgs {
    /// Print the version alone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) short: bool,
    /// Print a Go template, in which .Version, .GitCommit and .GoVersion are known
    #[arg(long, value_name = "TEMPLATE", default_value = "")]
    pub(crate) template: String,
}
