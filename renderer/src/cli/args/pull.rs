//! `pull`

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::cache::CacheFlags;
use super::provenance::ProvenanceFlags;
use super::registry::RegistryFlags;
use super::repositories::RepositoryFlags;
use crate::reference::Digest;

/// `pull`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  solar-render pull oci://ghcr.io/acme/charts/shop --version '^1' --untar")]
pub(crate) struct PullArgs {
    /// The charts: oci://HOST/PATH or oci-layout:DIR, with :TAG or @DIGEST, without either the newest
    /// release; https://HOST/PATH.tgz; NAME/CHART of a repository that Helm knows
    #[arg(value_name = "REF", required = true)]
    pub(crate) charts: Vec<String>,
    /// The chart's version in place of a tag, or a range, of which the newest is taken: 1.2.3, ^1.2, '>=1 <3'
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Without a version, allow a pre-release
    #[arg(long)]
    pub(crate) devel: bool,
    /// The folder that gets the archive
    #[arg(short, long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) destination: PathBuf,
    /// Unpack the chart, and keep no archive
    #[arg(long)]
    pub(crate) untar: bool,
    /// The folder, relative to the destination, that the chart is unpacked into
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) untardir: PathBuf,
    /// Also get the provenance file, where there is one
    #[arg(long)]
    pub(crate) prov: bool,
    /// Fail, before the chart is fetched, unless its digest is this one
    #[arg(long, value_name = "DIGEST", alias = "verify-digest")]
    pub(crate) expect_digest: Option<Digest>,
    /// Fail, before the chart is fetched, unless it is signed by this public key in cosign's format: a
    /// file, or env://NAME
    #[arg(long, value_name = "KEY")]
    pub(crate) verify_by: Option<String>,
    #[command(flatten)]
    pub(crate) provenance: ProvenanceFlags,
    #[command(flatten)]
    pub(crate) repositories: RepositoryFlags,
    #[command(flatten)]
    pub(crate) cache: CacheFlags,
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,
}
