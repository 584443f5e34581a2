//! The flags of commands that take a local or remote chart.

use clap::Args;

use super::cache::CacheFlags;
use super::provenance::ProvenanceFlags;
use super::registry::RegistryFlags;
use super::repositories::RepositoryFlags;

/// How a chart is fetched that is not on disk.
#[derive(Args, Debug)]
#[command(next_help_heading = "Remote charts")]
pub(crate) struct FetchFlags {
    /// The version of a chart that has several, or a range of versions; else its tag, else the newest release
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Include pre-release versions
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) devel: bool,
    #[command(flatten)]
    pub(crate) provenance: ProvenanceFlags,
    #[command(flatten)]
    pub(crate) repositories: RepositoryFlags,
    #[command(flatten)]
    pub(crate) cache: CacheFlags,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}
