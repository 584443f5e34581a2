//! `test --ci`: each chart with each of its `ci/*-values.yaml`, beside the snapshot of that rendering.

use std::path::{Path, PathBuf};

use super::args::rendering::ValueFlags;
use super::args::test::TestArgs;
use super::chart_runs::{ci_files, with_ci_file};
use super::context::Context;
use super::request::{frozen_request, merged_silently};
use crate::diag::{Class, Diagnostic, Result};
use crate::engine::RenderRequest;
use crate::engine::release::DEFAULT_NAME;
use crate::fsio;
use crate::oci::ClientOptions;
use crate::unittest::{Discovered, RenderingCase, RunOptions, RunOutcome, SNAPSHOT_FOLDER, run_renderings};

/// The folder of values files for tests; its own folder of snapshots is in it.
const CI_FOLDER: &str = "ci";
/// The values file of a chart that has none in [`CI_FOLDER`].
const VALUES_FILE: &str = "values.yaml";
/// How snapshots of renderings end.
const SNAPSHOT_END: &str = ".snap";

/// Renders all charts, and adds a test for each values file to the others.
///
/// # Errors
/// A folder or a snapshot can't be read, written or removed.
pub(super) fn run_ci(
    args: &TestArgs,
    values: &ValueFlags,
    options: &RunOptions,
    (found, outcome): (&mut Discovered, &mut RunOutcome),
    context: &Context<'_>,
) -> Result<()> {
    let mut cases = Vec::new();
    for (chart, (folder, root)) in found.folders.iter().zip(&found.roots).enumerate() {
        // A subchart is rendered with its parent.
        if folder != root {
            continue;
        }
        let files = ci_files(root)?;
        let flags = files
            .iter()
            .map(|file| (PathBuf::from(file), with_ci_file(values, file)));
        let mut flags: Vec<(PathBuf, ValueFlags)> = flags.collect();
        if flags.is_empty() {
            flags.push((root.join(VALUES_FILE), values.clone()));
        }
        let of_chart = flags.into_iter().map(|(file, flags)| RenderingCase {
            chart,
            name: file.strip_prefix(root).unwrap_or(&file).display().to_string(),
            request: request(&flags, options, context),
            snapshot: snapshot_path(root, &file),
            file,
        });
        let before = cases.len();
        cases.extend(of_chart);
        if options.filter.is_none() {
            let kept = cases.get(before..).unwrap_or_default();
            outcome.snapshots.removed += orphans(root, kept, args.update, context)?;
        }
    }
    let ended = || context.signals.caught().is_some();
    run_renderings(cases, options, &ended, (found, outcome))
}

/// The request of a rendering: as with `--frozen`, so that it is the same in every run.
fn request(flags: &ValueFlags, options: &RunOptions, context: &Context<'_>) -> Result<RenderRequest> {
    let (values, places) = merged_silently(flags, &ClientOptions::default(), context)?;
    let mut request = RenderRequest {
        values,
        places,
        skip_schema: options.test.skip_schema,
        limits: options.test.limits.clone(),
        ..frozen_request(DEFAULT_NAME, context)
    };
    if let Some(cluster) = &options.test.cluster {
        request.cluster = cluster.clone();
    }
    Ok(request)
}

fn snapshot_path(root: &Path, values_file: &Path) -> PathBuf {
    let name = values_file.file_name().unwrap_or_default().to_string_lossy();
    let folder = root.join(CI_FOLDER).join(SNAPSHOT_FOLDER);
    folder.join(format!("{name}{SNAPSHOT_END}"))
}

/// Reports the snapshots that no rendering has any more, or removes them; how many were removed.
fn orphans(root: &Path, cases: &[RenderingCase], updates: bool, context: &Context<'_>) -> Result<usize> {
    let Ok(entries) = std::fs::read_dir(root.join(CI_FOLDER).join(SNAPSHOT_FOLDER)) else {
        return Ok(0);
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let is_orphan = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(SNAPSHOT_END) && !cases.iter().any(|case| case.snapshot == *path)
    };
    let mut orphans: Vec<PathBuf> = paths.filter(is_orphan).collect();
    orphans.sort();
    for path in &orphans {
        if updates {
            std::fs::remove_file(path).map_err(|error| fsio::cannot("remove", path, &error, Class::Io))?;
            continue;
        }
        let message = format!("{} has no values file any more", path.display());
        let one = Diagnostic::warning(Class::Chart, message);
        context.printer.warn(&one.hint("--update removes it"));
    }
    Ok(if updates { orphans.len() } else { 0 })
}
