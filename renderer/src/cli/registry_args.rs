//! The arguments of the commands that are about registries, and not about making charts.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::args::{Exists, Registry};
use crate::reference::{Digest, Host, Locator, Target};

/// `login`
#[derive(Args, Debug)]
pub(crate) struct Login {
    /// The registry: HOST or HOST:PORT
    #[arg(value_name = "HOST")]
    pub(crate) host: Host,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

/// `logout`
#[derive(Args, Debug)]
pub(crate) struct Logout {
    /// The registry: HOST or HOST:PORT
    #[arg(value_name = "HOST")]
    pub(crate) host: Host,
    /// The credentials file, instead of Docker's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) registry_config: Option<PathBuf>,
}

/// `pull`
#[derive(Args, Debug)]
pub(crate) struct Pull {
    /// The charts: oci://HOST/PATH or oci-layout:DIR, with :TAG or @DIGEST, without either the newest
    /// release; https://HOST/PATH.tgz; NAME/CHART of a repository that Helm knows
    #[arg(value_name = "REF", required = true)]
    pub(crate) charts: Vec<String>,
    /// The chart's version in place of a tag, or a range, of which the newest is taken: 1.2.3, ^1.2, '>=1 <3'
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Without a version, take one before a release, too
    #[arg(long)]
    pub(crate) devel: bool,
    /// The folder that gets the archive
    #[arg(short, long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) destination: PathBuf,
    /// Unpack the chart, and keep no archive
    #[arg(long)]
    pub(crate) untar: bool,
    /// The folder, relative to the destination, in which the chart's own folder comes to lie
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
    pub(crate) provenance: super::source_args::Provenance,
    #[command(flatten)]
    pub(crate) repositories: super::source_args::Repositories,
    #[command(flatten)]
    pub(crate) cache: super::cache::CacheOptions,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

/// `tags`
#[derive(Args, Debug)]
pub(crate) struct Tags {
    /// The repository or layout: oci://HOST/PATH or oci-layout:DIR
    #[arg(value_name = "REF")]
    pub(crate) place: Locator,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

const COPY_HELP: &str = "\
Between two registries --username and REGISTRY_USERNAME are refused: they would go to both.
Log in to each with `solar-render login`.";

/// `copy`
#[derive(Args, Debug)]
#[command(after_help = COPY_HELP)]
pub(crate) struct Copy {
    /// The chart: oci://HOST/PATH or oci-layout:DIR, with :TAG or @DIGEST; without either, its newest
    /// release
    #[arg(value_name = "SRC", value_parser = copied)]
    pub(crate) source: Locator,
    /// Where it goes: oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG], without a tag the chart's name and version
    /// are appended; file:DIR gets the archive alone
    #[arg(value_name = "DST")]
    pub(crate) target: Target,
    /// Take along what refers to the chart: signatures, attestations, and what refers to those
    #[arg(short = 'r', long, visible_alias = "recursive", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) referrers: bool,
    /// Use HTTP for SRC alone
    #[arg(long)]
    pub(crate) from_plain_http: bool,
    /// Use HTTP for DST alone
    #[arg(long)]
    pub(crate) to_plain_http: bool,
    #[command(flatten)]
    pub(crate) policy: super::args::Policy,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

/// `publish`
#[derive(Args, Debug)]
pub(crate) struct Publish {
    /// Folders: every chart below them is published; configs; archives; patterns with *, ? and [] of them
    #[arg(value_name = "DIR|CONFIG|TGZ", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Where they go: oci://HOST/PATH, oci-layout:DIR or file:DIR; each chart's name and version are
    /// appended
    #[arg(value_name = "TARGET")]
    pub(crate) target: Target,
    /// Push nothing: say what would happen, and fail when a chart changed without a new version, unless
    /// `--if-exists` says that it may
    #[arg(long)]
    pub(crate) check: bool,
    /// What to do when another digest is at a chart's version [default: fail]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) if_exists: Option<Exists>,
    /// How many requests are on their way at once: registries lose sessions under many
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
    pub(crate) signing: super::args::Signing,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

/// What is copied is in a registry or a layout already; folders and archives are what `push` takes.
fn copied(text: &str) -> Result<Locator, String> {
    text.parse().map_err(|error: crate::reference::ReferenceError| {
        let path = std::path::Path::new(text.strip_prefix("file:").unwrap_or(text));
        if path.exists() {
            format!("{error}; `solar-render push` sends folders and archives")
        } else {
            error.to_string()
        }
    })
}
