//! Loads the chart that a command inspects, from disk or from a registry or repository.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::fetch::FetchFlags;
use super::chart_location::{self, ChartLocation, VersionChoice};
use super::client::client_options;
use super::context::Context;
use super::input::{chart_of_config, is_config};
use crate::chart::load::{self, Loaded};
use crate::diag::{Class, Result};
use crate::fsio;
use crate::oci::{ClientOptions, PullOptions};
use crate::provenance::Keyring;

impl FetchFlags {
    /// The client options; reads the password if it is on standard input.
    pub(crate) fn client(&self, context: &Context<'_>) -> Result<ClientOptions> {
        Ok(ClientOptions {
            cache: self.cache.find(context),
            ..client_options(&self.registry)?
        })
    }
}

/// Loads the chart of a config, as if it had been packaged.
fn load_config(config: &Path) -> Result<Arc<Loaded>> {
    load::load_files(chart_of_config(config)?.into_files()?)
}

/// Loads a chart that is named by a path, a reference, a URL or its name in a repository.
pub(crate) fn load(chart: &Path, fetch: &FetchFlags, context: &Context<'_>) -> Result<Arc<Loaded>> {
    // A path that is not UTF-8 can only be a local one.
    let source = match chart.to_str() {
        Some(name) => ChartLocation::of(name, &fetch.repositories)?,
        None => ChartLocation::Disk,
    };
    load_from(&source, chart, fetch.version.as_deref(), fetch, context)
}

/// Loads the chart at a location; `chart` is its path if it is on disk, and `version` is for those that have several.
pub(crate) fn load_from(
    source: &ChartLocation,
    chart: &Path,
    version: Option<&str>,
    fetch: &FetchFlags,
    context: &Context<'_>,
) -> Result<Arc<Loaded>> {
    let keyring = fetch.provenance.keyring(context)?;
    if *source == ChartLocation::Disk {
        // As in Helm, --version is ignored for a folder or an archive.
        if let Some(keyring) = keyring {
            super::provenance::check_file(chart, &keyring, context)?;
        }
        return match is_config(chart) {
            true => load_config(chart),
            false => load::load(chart),
        };
    }
    let client = fetch.client(context)?;
    let folder = tempfile::tempdir()
        .map_err(|error| fsio::cannot("make", Path::new("a temporary folder"), &error, Class::Io))?;
    load::load(&archive(
        source,
        fetch,
        version,
        keyring,
        &client,
        folder.path(),
        context,
    )?)
}

/// Fetches a chart that is not on disk into a folder, and returns the path of its archive.
pub(crate) fn archive(
    source: &ChartLocation,
    fetch: &FetchFlags,
    version: Option<&str>,
    keyring: Option<Arc<Keyring>>,
    client: &ClientOptions,
    folder: &Path,
    context: &Context<'_>,
) -> Result<PathBuf> {
    let options = PullOptions {
        destination: folder.to_owned(),
        devel: fetch.devel,
        keyring,
        ..PullOptions::default()
    };
    let choice = VersionChoice {
        version,
        repositories: &fetch.repositories,
    };
    Ok(chart_location::pull(source, &choice, options, client, context)?.path)
}
