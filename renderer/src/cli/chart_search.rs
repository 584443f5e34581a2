//! The charts that arguments name: folders of charts, patterns, archives, configs.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::context::Context;
use crate::chart::MAX_CHART_DEPTH;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;

/// The maximum number of charts of a run.
const MAX_CHARTS: usize = 100_000;

/// The file that identifies a chart folder.
const CHART_FILE: &str = "Chart.yaml";

/// Expands glob patterns that the shell did not expand; results are sorted.
pub(crate) fn expanded(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    let mut problems = Vec::new();
    for input in inputs {
        let pattern = input
            .to_str()
            .filter(|text| text.contains(['*', '?', '[']) && !input.exists());
        let Some(pattern) = pattern else {
            all.push(input.clone());
            continue;
        };
        let before = all.len();
        match glob::glob(pattern) {
            // Unreadable paths count as absent.
            Ok(found) => all.extend(found.flatten().take(MAX_CHARTS)),
            Err(error) => problems.push(Diagnostic::error(Class::Usage, format!("{pattern:?}: {error}"))),
        }
        if all.len() == before && problems.is_empty() {
            problems.push(Diagnostic::error(
                Class::Usage,
                format!("nothing matches {pattern:?}"),
            ));
        }
    }
    Diagnostics::or(problems, all)
}

/// Replaces folders by the charts below them, sorted; files are kept.
pub(crate) fn find_all(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for input in inputs {
        if input.is_dir() {
            let before = all.len();
            match find(input, 0, &mut all) {
                Ok(()) if all.len() == before => {
                    let message = format!("there is no chart below {}", input.display());
                    problems.push(Diagnostic::error(Class::Chart, message));
                }
                Ok(()) => {}
                Err(problem) => problems.extend(problem.into_vec()),
            }
        } else if input.file_name() == Some(CHART_FILE.as_ref()) && input.exists() {
            // A Chart.yaml that a pattern matches means its chart.
            let folder = input.parent().filter(|folder| !folder.as_os_str().is_empty());
            all.push(folder.unwrap_or(Path::new(".")).to_owned());
        } else if input.exists() {
            all.push(input.clone());
        } else {
            let message = format!("{} does not exist", input.display());
            problems.push(Diagnostic::error(Class::Chart, message));
        }
    }
    // Patterns may overlap, and a chart may be given as `shop` and `./shop`.
    all.retain(|path: &PathBuf| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    if all.len() > MAX_CHARTS {
        let message = format!("there are {} charts, and {MAX_CHARTS} are the most", all.len());
        problems.push(Diagnostic::error(Class::Usage, message));
    }
    Diagnostics::or(problems, all)
}

/// Replaces folders that are no charts by the charts below them. A folder without any is kept, so that the command says
/// what is wrong with it; called as Helm, which does not search, all are.
pub(crate) fn with_charts_below(inputs: &[PathBuf], context: &Context<'_>) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for input in inputs {
        let before = all.len();
        let searched = !context.called_as.is_helm() && input.is_dir() && find(input, 0, &mut all).is_ok();
        if !searched || all.len() == before {
            all.truncate(before);
            all.push(input.clone());
        }
    }
    all
}

/// A chart's subcharts are part of it, and hidden folders are skipped.
fn find(folder: &Path, depth: usize, all: &mut Vec<PathBuf>) -> Result<()> {
    if folder.join(CHART_FILE).is_file() {
        all.push(folder.to_owned());
        return Ok(());
    }
    if depth >= MAX_CHART_DEPTH {
        let message = format!("{} nests deeper than {MAX_CHART_DEPTH} folders", folder.display());
        return Err(Diagnostic::error(Class::Chart, message).into());
    }
    let cannot = |error: io::Error| fsio::cannot("read", folder, &error, Class::Chart);
    let mut below = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        // Links are not followed: they may be cyclic.
        if !hidden && entry.file_type().map_err(cannot)?.is_dir() {
            below.push(entry.path());
        }
    }
    below.sort();
    below.iter().try_for_each(|path| find(path, depth + 1, all))
}
