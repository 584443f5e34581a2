//! `repo`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::registry::{RegistryFlags, RetryFlags};
use super::repositories::RepositoryFileFlags;

/// `repo`
#[derive(Subcommand, Debug)]
#[command(defer = true)]
pub(crate) enum RepoCommand {
    /// Add a chart repository to Helm's list, and fetch its index
    Add(RepoAddArgs),
    /// List the repositories
    #[command(visible_alias = "ls")]
    List(RepoListArgs),
    /// Fetch the repositories' indexes again, which `search repo` reads
    #[command(visible_alias = "up")]
    Update(RepoUpdateArgs),
    /// Remove repositories from the list
    #[command(visible_alias = "rm")]
    Remove(RepoRemoveArgs),
    /// Make the index.yaml of a folder of archives
    Index(RepoIndexArgs),
}

/// Where Helm has its list and the indexes.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Chart repositories")]
pub(crate) struct ListFlags {
    #[command(flatten)]
    pub(crate) list: RepositoryFileFlags,
    /// The folder of indexes; else HELM_REPOSITORY_CACHE, else where Helm keeps them
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) repository_cache: Option<PathBuf>,
}

/// `repo add`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render repo add podinfo https://stefanprodan.github.io/podinfo")]
pub(crate) struct RepoAddArgs {
    /// The name, as in NAME/CHART
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The URL under which the index.yaml is
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) url: String,
    /// Replace a repository of that name
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) force_update: bool,
    /// Allow the URLs of Helm's former `stable` and `incubator`, which are gone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) allow_deprecated_repos: bool,
    /// Note in the list that Helm may send the credentials to other hosts; solar-render never does
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) pass_credentials: bool,
    #[command(flatten)]
    pub(crate) files: ListFlags,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}

/// `repo list`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render repo list -o json")]
pub(crate) struct RepoListArgs {
    /// Leave out the line of headers
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) no_headers: bool,
    #[command(flatten)]
    pub(crate) files: ListFlags,
}

/// `repo update`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render repo update podinfo")]
pub(crate) struct RepoUpdateArgs {
    /// The repositories' names; all without any
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) files: ListFlags,
    #[command(flatten)]
    pub(crate) retries: RetryFlags,
}

/// `repo remove`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render repo remove podinfo")]
pub(crate) struct RepoRemoveArgs {
    /// The repositories' names
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) files: ListFlags,
}

/// `repo index`
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  solar-render repo index ./dist --url https://charts.example.com --merge old/index.yaml"
)]
pub(crate) struct RepoIndexArgs {
    /// The folder; archives in folders below it are found too, one level deep
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// What the archives' paths are appended to
    #[arg(long, value_name = "URL", default_value = "", value_hint = ValueHint::Url)]
    pub(crate) url: String,
    /// Take over what this index has and the folder has not
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) merge: Option<PathBuf>,
    /// Write the index as JSON
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) json: bool,
}
