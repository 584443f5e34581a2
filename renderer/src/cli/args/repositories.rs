//! The flags that name chart repositories.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Charts of web servers.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Chart repositories")]
pub(crate) struct RepositoryFlags {
    /// The chart is a name in this repository, a web server with an index.yaml: https://HOST/PATH
    #[arg(long, value_name = "URL")]
    pub(crate) repo: Option<String>,
    #[command(flatten)]
    pub(crate) known: RepositoryFileFlags,
}

/// Helm's list.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Chart repositories")]
pub(crate) struct RepositoryFileFlags {
    /// Helm's list of repositories, for their names and credentials; else HELM_REPOSITORY_CONFIG, else where
    /// Helm keeps it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) repository_config: Option<PathBuf>,
}
