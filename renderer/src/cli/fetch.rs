//! Charts for the commands that look into one: from disk, or from elsewhere.

use std::path::Path;
use std::sync::Arc;

use clap::Args;

use super::Context;
use super::args::Registry;
use super::shipping::client_options;
use super::source::{self, Choice, Source};
use super::source_args::{Provenance, Repositories};
use crate::chart::load::{self, Loaded};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::oci::{ClientOptions, PullOptions};

/// How a chart is fetched that is not on disk.
#[derive(Args, Debug)]
#[command(next_help_heading = "Charts from elsewhere")]
pub(crate) struct Fetch {
    /// The version of a chart that has several, or a range of versions; else its tag, else the newest release
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Take versions before a release, too
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) devel: bool,
    #[command(flatten)]
    pub(crate) provenance: Provenance,
    #[command(flatten)]
    pub(crate) repositories: Repositories,
    #[command(flatten)]
    pub(crate) cache: super::cache::CacheOptions,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

impl Fetch {
    /// How it is fetched; reads the password if it is on standard input.
    pub(crate) fn client(&self, context: &Context<'_>) -> Result<ClientOptions> {
        Ok(ClientOptions {
            cache: self.cache.find(context),
            ..client_options(&self.registry)?
        })
    }
}

/// A chart that is named by a path, a reference, a URL or a repository's name for it.
pub(crate) fn load(chart: &Path, fetch: &Fetch, context: &Context<'_>) -> Result<Arc<Loaded>> {
    let keyring = fetch.provenance.keyring(context)?;
    // A path that is not UTF-8 can only be one on disk.
    let source = match chart.to_str() {
        Some(name) => Source::of(name, &fetch.repositories)?,
        None => Source::Disk,
    };
    if source == Source::Disk {
        if fetch.version.is_some() {
            let one = Diagnostic::error(Class::Usage, "--version goes with a chart from elsewhere");
            return Err(one.hint("a folder or an archive is one version").into());
        }
        if let Some(keyring) = keyring {
            super::verify::check_file(chart, &keyring, context)?;
        }
        return load::load(chart);
    }
    let client = fetch.client(context)?;
    let folder = tempfile::tempdir()
        .map_err(|error| fsio::cannot("make", Path::new("a temporary folder"), &error, Class::Io))?;
    let options = PullOptions {
        destination: folder.path().to_owned(),
        devel: fetch.devel,
        keyring,
        ..PullOptions::default()
    };
    let choice = Choice {
        version: fetch.version.as_deref(),
        repositories: &fetch.repositories,
    };
    load::load(&source::pull(&source, &choice, options, &client, context)?.path)
}
