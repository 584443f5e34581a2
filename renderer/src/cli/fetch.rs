//! Charts for the commands that look into one: from disk, or from a registry or a layout.

use std::path::Path;
use std::sync::Arc;

use clap::Args;

use super::Context;
use super::args::Registry;
use super::progress::Progress;
use super::shipping::client_options;
use crate::chart::load::{self, Loaded};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::oci::{self, PullOptions};
use crate::reference::Locator;

/// How a chart is fetched that is not on disk.
#[derive(Args, Debug)]
#[command(next_help_heading = "Charts from a registry")]
pub(crate) struct Fetch {
    /// The version of an oci:// chart, or a range of versions; else its tag, else the newest release
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Take versions before a release, too
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) devel: bool,
    #[command(flatten)]
    pub(crate) cache: super::cache::CacheOptions,
    #[command(flatten)]
    pub(crate) registry: Registry,
}

/// A chart that is named by a path, or by `oci://…` or `oci-layout:…`.
pub(crate) fn load(chart: &Path, fetch: &Fetch, context: &Context<'_>) -> Result<Arc<Loaded>> {
    let Some(name) = chart.to_str().filter(|name| is_remote(name)) else {
        if fetch.version.is_some() {
            let one = Diagnostic::error(Class::Usage, "--version goes with a chart from a registry");
            return Err(one.hint("a folder or an archive is one version").into());
        }
        return load::load(chart);
    };
    if name.starts_with("http://") || name.starts_with("https://") {
        let one = Diagnostic::error(Class::Usage, format!("{name} is not fetched here"));
        return Err(one
            .hint("download the archive, or name a chart in a registry: oci://HOST/PATH:TAG")
            .into());
    }
    let locator: Locator = name
        .parse()
        .map_err(|error| Diagnostic::error(Class::Usage, format!("{name}: {error}")))?;
    let (locator, range) = super::pull::locate(&locator, fetch.version.as_deref())?;
    let client = oci::ClientOptions {
        cache: fetch.cache.find(context),
        ..client_options(&fetch.registry)?
    };
    let folder = tempfile::tempdir()
        .map_err(|error| fsio::cannot("make", Path::new("a temporary folder"), &error, Class::Io))?;
    let options = PullOptions {
        destination: folder.path().to_owned(),
        untar: None,
        provenance: false,
        devel: fetch.devel,
        range,
        expect_digest: None,
        verify_by: None,
    };
    let progress = Progress::new(context.printer, "fetching");
    let pulled = oci::pull(&locator, &options, &client, context.world, &progress);
    progress.end();
    load::load(&pulled?.path)
}

fn is_remote(name: &str) -> bool {
    ["oci://", "oci-layout:", "http://", "https://"]
        .iter()
        .any(|scheme| name.starts_with(scheme))
}
