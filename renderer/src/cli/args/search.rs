//! `search`

use clap::{Args, Subcommand};

use super::repo::ListFlags;

/// `search`
#[derive(Subcommand, Debug)]
#[command(defer = true)]
pub(crate) enum SearchCommand {
    /// Search the indexes that `repo add` and `repo update` fetched
    Repo(SearchRepoArgs),
}

/// `search repo`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render search repo nginx --version '^1' -o json")]
pub(crate) struct SearchRepoArgs {
    /// Text in a chart's name, description or keywords, whatever its case; several words are one text
    #[arg(value_name = "KEYWORD")]
    pub(crate) keywords: Vec<String>,
    /// Take the keyword for a regular expression
    #[arg(short, long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) regexp: bool,
    /// List every version, not the newest alone
    #[arg(short = 'l', long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) versions: bool,
    /// Include pre-release versions
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) devel: bool,
    /// Only versions in this range
    #[arg(long, value_name = "RANGE", default_value = "")]
    pub(crate) version: String,
    /// The most characters of a column, 0 for any number
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    pub(crate) max_col_width: usize,
    /// Fail when nothing is found
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) fail_on_no_result: bool,
    #[command(flatten)]
    pub(crate) files: ListFlags,
}
