//! Turns an input into an artifact: a config, folder or archive, rendered and packed, with all digests.
//!
//! The results are functions of the named files and of the [`Stamp`]; nothing is written and no network is used.
//! [`run`] also pushes the chart and returns the result; the `oci` module does the transfer.

#[cfg(feature = "oci")]
mod run;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

#[cfg(feature = "oci")]
pub use self::run::{Delivered, Input, Observer, Request, delivered, describe, prepare, run};
use crate::blueprint;
use crate::chart::{Chart, folder};
use crate::config::{self, Config, MAX_CONFIG_BYTES};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::package::artifact::Artifact;
use crate::package::{Packer, Stamp};
use crate::reference::Digest;
use crate::source::Source;
use crate::world::World;

/// The latest SOURCE_DATE_EPOCH: the largest time of a ustar header, in the year 2242.
pub const MAX_EPOCH: u64 = 0o77_777_777_777;

/// A chart with its artifact.
#[derive(Debug)]
#[non_exhaustive]
pub struct PreparedArtifact {
    /// The chart; `None` for an archive, which is not unpacked.
    pub chart: Option<Arc<Chart>>,
    /// The chart as a registry stores it.
    pub artifact: Artifact,
}

/// The variable with the SHA-256, in hex, that the config of a Job must have.
const CONFIG_SHA256: &str = "SOLAR_CONFIG_SHA256";

/// Versions given on the command line.
#[derive(Debug, Clone, Copy, Default)]
pub struct VersionOverrides<'a> {
    /// Replaces Chart.yaml's version.
    pub version: Option<&'a str>,
    /// Replaces Chart.yaml's appVersion.
    pub app_version: Option<&'a str>,
}

/// Reads a config file, or standard input for `-`.
pub fn read_config(path: &Path, stdin: impl Read) -> Result<Config> {
    config::parse(&read_source(path, stdin)?)
}

/// Refuses a config other than the one that the environment names: in a Job, a node may have cached the Secret of a
/// deleted task with the same name. That is temporary, so the class is a retried one.
pub fn check_expected_config(source: &Source, world: &dyn World) -> Result<()> {
    let Some(expected) = world.env(CONFIG_SHA256) else {
        return Ok(());
    };
    let digest = Digest::from_sha256(&Sha256::digest(source.text().as_bytes()).into());
    if digest.hex() == expected.to_ascii_lowercase() {
        return Ok(());
    }
    let message = format!("{} is not the config that {CONFIG_SHA256} names", source.name());
    Err(Diagnostic::error(Class::Io, message)
        .note(format!("expected sha256:{expected}, found {digest}"))
        .hint("the mounted Secret may still have older content: try again")
        .into())
}

/// The text of a config file, or of standard input for `-`.
pub fn read_source(path: &Path, stdin: impl Read) -> Result<Arc<Source>> {
    if path == Path::new("-") {
        fsio::read_text_from(stdin, "<stdin>", MAX_CONFIG_BYTES, Class::Config)
    } else {
        fsio::read_text(path, MAX_CONFIG_BYTES, Class::Config)
    }
}

/// Renders and packs a config. `base` is the config's folder.
///
/// The archive's times are fixed: the result must not depend on the environment.
pub fn from_config(config: &Config, base: &Path, packer: &mut Packer) -> Result<PreparedArtifact> {
    from_config_within(config, base, blueprint::DEFAULT_TIME, packer)
}

/// As [`from_config`], with a time limit for a user's blueprint.
pub fn from_config_within(
    config: &Config,
    base: &Path,
    time: Duration,
    packer: &mut Packer,
) -> Result<PreparedArtifact> {
    let chart = Arc::new(blueprint::render_within(config, base, time)?);
    let artifact = packer.pack(Arc::clone(&chart), Stamp::default())?;
    Ok(PreparedArtifact {
        chart: Some(chart),
        artifact,
    })
}

/// As [`from_config`], from a text.
pub fn from_text(source: &Arc<Source>, base: &Path, packer: &mut Packer) -> Result<PreparedArtifact> {
    from_config(&config::parse(source)?, base, packer)
}

/// Packs a chart folder.
pub fn from_folder(
    path: &Path,
    versions: VersionOverrides<'_>,
    stamp: Stamp,
    packer: &mut Packer,
) -> Result<PreparedArtifact> {
    let mut chart = folder::load(path)?;
    if versions.version.is_some() || versions.app_version.is_some() {
        chart.set_versions(versions.version, versions.app_version)?;
    }
    let chart = Arc::new(chart);
    let artifact = packer.pack(Arc::clone(&chart), stamp)?;
    Ok(PreparedArtifact {
        chart: Some(chart),
        artifact,
    })
}

/// Wraps an archive unchanged.
pub fn from_archive(path: &Path, packer: &mut Packer) -> Result<PreparedArtifact> {
    Ok(PreparedArtifact {
        chart: None,
        artifact: packer.wrap(path)?,
    })
}

/// The time for a chart folder's archive: SOURCE_DATE_EPOCH, if it is set.
pub fn stamp(world: &dyn World) -> Result<Stamp> {
    let Some(text) = world.env("SOURCE_DATE_EPOCH") else {
        return Ok(Stamp::default());
    };
    match text.parse() {
        Ok(mtime) if mtime <= MAX_EPOCH => Ok(Stamp { mtime, created: true }),
        _ => {
            let message = format!("SOURCE_DATE_EPOCH is {text:?}");
            Err(Diagnostic::error(Class::Usage, message)
                .note("expected seconds since 1970, such as 1700000000")
                .into())
        }
    }
}
