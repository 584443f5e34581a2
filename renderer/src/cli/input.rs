//! The inputs of commands that make an artifact: a config, a chart folder or an archive.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::args::versions::PushVersions;
use super::context::Context;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::package::Packer;
use crate::pipeline::{self, Prepared, Versions};

/// A chart folder, an archive or a config, told apart by what is there.
pub(crate) fn prepare_any(input: &Path, versions: &PushVersions, context: &Context<'_>) -> Result<Prepared> {
    let PushVersions { version, app_version } = versions;
    let given = version.is_some() || app_version.is_some();
    if input != Path::new("-") && input.is_dir() {
        let versions = Versions {
            version: version.as_deref(),
            app_version: app_version.as_deref(),
        };
        return pipeline::from_folder(input, versions, pipeline::stamp(context.world)?, &mut packer());
    }
    if given {
        let message = "--version and --app-version go with a chart folder";
        return Err(Diagnostics::from(Diagnostic::error(Class::Usage, message)));
    }
    if input != Path::new("-") && is_archive(input) {
        return pipeline::from_archive(input, &mut packer());
    }
    let config = pipeline::read_config(input, std::io::stdin())?;
    pipeline::from_config(&config, folder_of(input), &mut packer())
}

/// By name, or by gzip's first bytes.
pub(crate) fn is_archive(path: &Path) -> bool {
    if path.extension().is_some_and(|extension| extension == "tgz") {
        return path.exists();
    }
    let mut magic = [0; 2];
    // What is read of a pipe is gone.
    path.is_file()
        && File::open(path)
            .and_then(|mut file| file.read_exact(&mut magic))
            .is_ok()
        && magic == [0x1f, 0x8b]
}

/// The folder that a config's paths are relative to.
pub(crate) fn folder_of(config: &Path) -> &Path {
    config.parent().unwrap_or(Path::new(""))
}

pub(crate) fn packer() -> Packer {
    Packer::new(crate::parallel::processors())
}

pub(crate) fn warn(prepared: &Prepared, context: &Context<'_>) {
    for warning in prepared.chart.iter().flat_map(|chart| &chart.warnings) {
        context.printer.warn(warning);
    }
}
