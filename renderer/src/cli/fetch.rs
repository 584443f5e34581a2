//! Charts for the commands that look into one: from disk, or from elsewhere.

use std::path::Path;
use std::sync::Arc;

use super::args::fetch::Fetch;
use super::client::client_options;
use super::context::Context;
use super::source::{self, Choice, Source};
use crate::chart::load::{self, Loaded};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::oci::{ClientOptions, PullOptions};

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
            super::provenance::check_file(chart, &keyring, context)?;
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
