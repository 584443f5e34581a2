//! The inputs of commands that build an artifact: a config, a chart folder or an archive.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::context::Context;
use super::wrong_kind::{is_archive, read_config_text};
use crate::blueprint;
use crate::chart::Chart;
use crate::config::{self, Config};
use crate::diag::{Class, Diagnostic, Result};
use crate::package::{Packer, Stamp};
use crate::pipeline::{self, Input, PreparedArtifact, VersionOverrides};

/// An input, by the kind of file at its path.
pub(crate) enum ArtifactSource {
    /// A parsed config, and the folder it is in.
    Config { config: Box<Config>, base: PathBuf },
    /// A chart folder.
    Folder { path: PathBuf, stamp: Stamp },
    /// An archive.
    Archive(PathBuf),
}

impl ArtifactSource {
    /// The input at a path; `-` is a config on standard input.
    pub(crate) fn of(path: &Path, context: &Context<'_>) -> Result<Self> {
        Self::with_stamp(path, io::stdin(), || pipeline::stamp(context.world))
    }

    /// As [`Self::of`], with the time for folders, and how `-` is handled.
    pub(crate) fn with_stamp(
        path: &Path,
        stdin: impl Read,
        stamp: impl FnOnce() -> Result<Stamp>,
    ) -> Result<Self> {
        let is_stdin = path == Path::new("-");
        if !is_stdin && path.is_dir() {
            let path = path.to_owned();
            return Ok(Self::Folder {
                path,
                stamp: stamp()?,
            });
        }
        if !is_stdin && is_archive(path) {
            return Ok(Self::Archive(path.to_owned()));
        }
        Ok(Self::Config {
            config: Box::new(config::parse(&read_config_text(path, stdin)?)?),
            base: folder_of(path).to_owned(),
        })
    }

    /// A config, whatever its file name.
    pub(crate) fn config(path: &Path, context: &Context<'_>) -> Result<Self> {
        let text = read_config_text(path, io::stdin())?;
        pipeline::check_expected_config(&text, context.world)?;
        Ok(Self::Config {
            config: Box::new(config::parse(&text)?),
            base: folder_of(path).to_owned(),
        })
    }

    /// A chart folder, whatever is at the path.
    pub(crate) fn folder(path: &Path, context: &Context<'_>) -> Result<Self> {
        Ok(Self::Folder {
            path: path.to_owned(),
            stamp: pipeline::stamp(context.world)?,
        })
    }

    /// The input for the pipeline; only a folder accepts versions.
    pub(crate) fn input<'a>(&'a self, versions: VersionOverrides<'a>) -> Result<Input<'a>> {
        let given = versions.version.is_some() || versions.app_version.is_some();
        match self {
            Self::Folder { path, stamp } => Ok(Input::Folder {
                path,
                versions,
                stamp: *stamp,
            }),
            _ if given => {
                let message = "--version and --app-version require a chart folder";
                Err(Diagnostic::error(Class::Usage, message).into())
            }
            Self::Config { config, base } => Ok(Input::Config { config, base }),
            Self::Archive(path) => Ok(Input::Archive(path)),
        }
    }
}

/// Whether a command for charts was given a config: a file that is not an archive.
pub(crate) fn is_config(path: &Path) -> bool {
    path.is_file() && !is_archive(path)
}

/// Renders the chart of a config.
pub(crate) fn chart_of_config(path: &Path) -> Result<Chart> {
    let config = config::parse(&read_config_text(path, io::empty())?)?;
    blueprint::render(&config, folder_of(path))
}

/// The files of a config besides itself: its blueprint's folder. None if it can't be read.
pub(crate) fn files_of_config(path: &Path) -> Vec<PathBuf> {
    let read = read_config_text(path, io::empty()).and_then(|text| config::parse(&text));
    match read {
        Ok(Config::Blueprint(blueprint)) => vec![folder_of(path).join(blueprint.path)],
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// The folder that a config's paths are relative to.
fn folder_of(config: &Path) -> &Path {
    config.parent().unwrap_or(Path::new(""))
}

pub(crate) fn packer() -> Packer {
    Packer::new(crate::parallel::processors())
}

pub(crate) fn warn(prepared: &PreparedArtifact, context: &Context<'_>) {
    for warning in prepared.chart.iter().flat_map(|chart| &chart.warnings) {
        context.printer.warn(warning);
    }
}

/// With several charts, adds the chart's path to the diagnostic.
pub(crate) fn name_input(one: Diagnostic, input: &Path) -> Diagnostic {
    let shown = input.display().to_string();
    if one.location.is_some() || one.message.contains(&shown) {
        return one;
    }
    one.note(format!("in {shown}"))
}
