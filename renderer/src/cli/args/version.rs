//! `version`

use clap::Args;

/// `version`
#[derive(Args, Debug)]
pub(crate) struct VersionArgs {
    /// Print the version alone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) short: bool,
}
