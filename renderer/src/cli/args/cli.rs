//! The command and its subcommands.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueHint};

use super::apply::ApplyArgs;
use super::artifact::ArtifactArgs;
use super::cache::CacheCommand;
use super::compare::CompareArgs;
use super::completion::CompletionArgs;
use super::copy::CopyArgs;
use super::create::CreateArgs;
use super::delete::DeleteArgs;
use super::dependency::DependencyCommand;
use super::diff::DiffArgs;
use super::digest::DigestArgs;
use super::env::EnvArgs;
use super::global::GlobalFlags;
use super::images::ImagesArgs;
use super::lint::LintArgs;
use super::login::{LoginArgs, LogoutArgs, RegistryCommand};
use super::package::PackageArgs;
use super::plugin::PluginCommand;
use super::publish::PublishArgs;
use super::pull::PullArgs;
use super::push::PushArgs;
use super::render::RenderArgs;
use super::repo::RepoCommand;
use super::search::SearchCommand;
use super::show::ShowArgs;
use super::sign::{GenerateKeyPairArgs, SignArgs};
use super::tags::TagsArgs;
use super::template::TemplateArgs;
use super::test::TestArgs;
use super::validate::ValidateArgs;
use super::values::ValuesCommand;
use super::verify::VerifyArgs;
use super::version::VersionArgs;

/// Version and commit, for `--version`.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("SOLAR_COMMIT"), ")");

const EXIT_CODES: &str = "\
Exit codes:
  0    done: created, unchanged, replaced, skipped or rendered
  1    the config, chart, template or values are wrong
  2    the command line is wrong
  3    another digest is at the tag, the digest is not the expected one, or no signature is good
  4    the registry refuses: credentials, another 4xx, or a contradictory answer
  5    the registry, the network or the disk failed, after retries
  10   compare, diff and apply --dry-run with --exit-code: something is not the same
  70   internal error (a bug)
  130  interrupted; 143 terminated";

/// The command without flags and subcommands.
pub(super) fn root() -> clap::Command {
    clap::Command::new("solar-render")
        .version(VERSION)
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args_override_self(true)
        .disable_help_subcommand(true)
        .max_term_width(110)
}

/// Config to OCI Helm chart: render, package, digest, push.
#[derive(Parser, Debug)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalFlags,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands. `definition` says when they get their options.
#[derive(Subcommand, Debug)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Render a config to a chart, and push it
    Render(RenderArgs),
    /// Package chart folders
    Package(PackageArgs),
    /// Print the digest that a push would have, without a network
    Digest(DigestArgs),
    /// Push a chart folder or an archive
    Push(PushArgs),
    /// Push many charts, those that changed: a folder of charts, or configs
    Publish(PublishArgs),
    /// Fetch a chart from a registry or a layout
    #[command(alias = "fetch")]
    Pull(PullArgs),
    /// Copy a chart between registries and layouts, byte for byte
    Copy(CopyArgs),
    /// Import a model, a chart or files, and push them as an OCI artifact
    Artifact(Box<ArtifactArgs>),
    /// List a chart's versions and other tags, newest first
    Tags(TagsArgs),
    /// Delete tags in registries, and their manifests
    Delete(DeleteArgs),
    /// Sign a chart in a registry, in cosign's format
    Sign(SignArgs),
    /// Verify that a chart is signed: in a registry by cosign, or an archive by its provenance file
    Verify(VerifyArgs),
    /// Make a key pair in cosign's format
    GenerateKeyPair(GenerateKeyPairArgs),
    /// Manage a chart's dependencies
    #[command(subcommand, alias = "dep", alias = "dependencies")]
    Dependency(DependencyCommand),
    /// Manage the download cache
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Log in to a registry: check the credentials, and store them where Docker and Helm read them
    Login(LoginArgs),
    /// Remove the stored credentials of a registry
    Logout(LogoutArgs),
    /// Log in to registries and out of them, as `helm registry` does
    #[command(subcommand)]
    Registry(RegistryCommand),
    /// Manage Helm's list of chart repositories, as `helm repo` does
    #[command(subcommand)]
    Repo(RepoCommand),
    /// Search the indexes of chart repositories
    #[command(subcommand)]
    Search(SearchCommand),
    /// Make a new chart folder
    Create(CreateArgs),
    /// Print the settings that come from Helm's environment variables
    Env(EnvArgs),
    /// List plugins: there are none
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// List the functions that templates can call
    #[command(after_help = "Example:\n  solar-render functions -o json")]
    Functions,
    /// Print what a chart renders to, as `helm template` does
    Template(Box<TemplateArgs>),
    /// Show what is in a chart, as `helm show` does
    #[command(alias = "inspect")]
    Show(ShowArgs),
    /// Find problems in charts, as `helm lint` does and beyond
    Lint(Box<LintArgs>),
    /// List the container images that a chart uses
    Images(Box<ImagesArgs>),
    /// Run the tests of charts, in helm-unittest's format
    Test(Box<TestArgs>),
    /// Check what charts render to against the schemas of Kubernetes and of CRDs, at the templates' lines
    Validate(Box<ValidateArgs>),
    /// Show what differs between two charts, two revisions or two sets of values, object by object
    Diff(Box<DiffArgs>),
    /// Apply a chart to a cluster, server-side, or show what that would change
    Apply(Box<ApplyArgs>),
    /// Check values against what templates read, and make their schema
    #[command(subcommand)]
    Values(ValuesCommand),
    /// Compare what charts render to with Helm's own output, to the byte
    Compare(Box<CompareArgs>),
    /// Print the version
    Version(VersionArgs),
    /// Print a completion script for a shell
    Completion(CompletionArgs),
    /// Print the reference of the command line as Markdown
    #[command(hide = true)]
    Reference,
    /// Write the manual pages
    #[command(after_help = "Example:\n  solar-render man ~/.local/share/man/man1")]
    Man {
        /// The folder that gets them
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}
