//! `package`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::cache::CacheFlags;
use super::provenance::ArchiveSigningFlags;
use super::registry::RegistryFlags;
use super::repositories::RepositoryFileFlags;
use super::versions::VersionFlags;
use crate::reference::Digest;

/// `package`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render package charts/shop -d dist")]
pub(crate) struct PackageArgs {
    /// The chart folders
    #[arg(value_name = "DIR", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) charts: Vec<PathBuf>,
    /// The folder that gets the archives
    #[arg(short, long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) destination: PathBuf,
    #[command(flatten)]
    pub(crate) versions: VersionFlags,
    /// Fail unless the digest is this one
    #[arg(long, value_name = "DIGEST", conflicts_with = "sign")]
    pub(crate) expect_digest: Option<Digest>,
    #[command(flatten)]
    pub(crate) signing: ArchiveSigningFlags,
    /// Choose the newest dependencies that fit before, as `dependency update` does; the flags below are for
    /// that
    #[arg(short = 'u', long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) dependency_update: bool,
    #[command(flatten)]
    pub(crate) known: RepositoryFileFlags,
    #[command(flatten)]
    pub(crate) cache: CacheFlags,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}
