//! `completion`

use clap::Args;

/// `completion`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  source <(solar-render completion bash)")]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
    /// Accepted as in Helm; shells that show descriptions show them
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) no_descriptions: bool,
}
