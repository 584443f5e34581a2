//! `publish`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::cache::CacheFlags;
use super::policy::IfExistsChoice;
use super::registry::RegistryFlags;
use super::repositories::RepositoryFileFlags;
use super::schemas::SchemaFlags;
use super::sign::SigningFlags;
use crate::reference::Target;

/// `publish`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render publish charts oci://ghcr.io/acme/charts --check")]
pub(crate) struct PublishArgs {
    /// Folders: every chart below them is published; configs; archives; patterns with *, ? and [] of them
    #[arg(value_name = "DIR|CONFIG|TGZ", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Where they go: oci://HOST/PATH, oci-layout:DIR or file:DIR; each chart's name and version are
    /// appended
    #[arg(value_name = "TARGET")]
    pub(crate) target: Target,
    /// Push nothing: say what would happen, and fail when a chart changed without a new version, unless
    /// `--if-exists` says that it may
    #[arg(long, visible_alias = "dry-run")]
    pub(crate) check: bool,
    /// What to do when another digest is at a chart's version [default: fail]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) if_exists: Option<IfExistsChoice>,
    /// Publish chart folders also when `lint` fails them
    #[arg(long)]
    pub(crate) no_lint: bool,
    #[command(flatten)]
    pub(crate) schemas: SchemaFlags,
    /// Choose the newest dependencies that fit before, as `dependency update` does in each chart folder
    #[arg(short = 'u', long)]
    pub(crate) dependency_update: bool,
    /// Maximum concurrent requests: registries lose sessions under many
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) connections: u16,
    /// Write digests as variables to this file, which GitLab reads as a dotenv report
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) dotenv: Option<PathBuf>,
    /// How many variables GitLab takes: 20 unless the instance or the plan says otherwise; changed
    /// charts come first
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(4..=1000))]
    pub(crate) dotenv_variables: u16,
    #[command(flatten)]
    pub(crate) signing: SigningFlags,
    #[command(flatten)]
    pub(crate) known: RepositoryFileFlags,
    #[command(flatten)]
    pub(crate) cache: CacheFlags,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}
