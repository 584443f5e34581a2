//! `dependency`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::cache::CacheFlags;
use super::provenance::ProvenanceFlags;
use super::registry::RegistryFlags;
use super::repositories::RepositoryFileFlags;

/// `dependency`
#[derive(Subcommand, Debug)]
#[command(defer = true)]
pub(crate) enum DependencyCommand {
    /// List what Chart.yaml declares, and whether it is in charts/
    #[command(visible_alias = "ls")]
    List(DependencyListArgs),
    /// Download to charts/ what Chart.lock says; without a lock as `update`
    Build(DependencyArgs),
    /// Choose the newest versions that fit, put them into charts/, and write Chart.lock
    #[command(alias = "up")]
    Update(DependencyArgs),
}

/// `dependency build` and `dependency update`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render dependency update charts/shop")]
pub(crate) struct DependencyArgs {
    /// The chart folders, or folders of charts
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) charts: Vec<PathBuf>,
    /// Nothing: indexes of repositories are always fetched, and nothing is when the lock and the cache
    /// have it all
    #[arg(long)]
    pub(crate) skip_refresh: bool,
    #[command(flatten)]
    pub(crate) known: RepositoryFileFlags,
    #[command(flatten)]
    pub(crate) provenance: ProvenanceFlags,
    #[command(flatten)]
    pub(crate) cache: CacheFlags,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}

/// `dependency list`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render dependency list charts/shop")]
pub(crate) struct DependencyListArgs {
    /// A chart folder or an archive
    #[arg(value_name = "CHART", value_hint = ValueHint::AnyPath, default_value = ".")]
    pub(crate) chart: PathBuf,
    /// The most characters of a column, 0 for any number
    #[arg(long, value_name = "NUMBER", default_value_t = 80)]
    pub(crate) max_col_width: usize,
}
