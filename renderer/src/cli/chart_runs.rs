//! What commands that check charts share: the charts that arguments name, all at once, and the values files of `ci/`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::args::fetch::FetchFlags;
use super::args::rendering::ValueFlags;
use super::chart_location::ChartLocation;
use super::chart_search::{expanded, find_all};
use super::csv;
use super::signals::Signals;
use crate::diag::{Class, Diagnostic, Result};
use crate::engine::workers;
use crate::fsio;

/// The folder with values files for tests, and how they end.
const CI_FOLDER: &str = "ci";
const CI_FILES: &str = "-values.yaml";

/// The charts: folders are searched, references are fetched later.
pub(crate) fn named_charts(names: &[String], fetch: &FetchFlags) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for name in names {
        if ChartLocation::of(name, &fetch.repositories)? != ChartLocation::Disk {
            out.push(name.clone());
            continue;
        }
        let found = find_all(&expanded(&[PathBuf::from(name)])?)?;
        out.extend(found.iter().map(|path| path.display().to_string()));
    }
    Ok(out)
}

/// Does the work for every chart, several at a time; the results are in the order of the charts. A signal ends it early.
pub(crate) fn in_parallel<T: Send>(
    charts: &[String],
    signals: &Signals,
    work: &(dyn Fn(&str) -> T + Sync),
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::default();
    let some = || {
        while signals.caught().is_none() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(chart) = charts.get(index) else { break };
            let result = work(chart);
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((index, result));
        }
    };
    workers(charts.len(), some);
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The values files for tests in a chart's folder `ci`, which needn't exist, sorted.
///
/// # Errors
/// Class io: the folder can't be read. Class usage: a path is not UTF-8.
pub(crate) fn ci_files(chart: &Path) -> Result<Vec<String>> {
    let folder = chart.join(CI_FOLDER);
    let cannot = |error: &std::io::Error| fsio::cannot("read", &folder, error, Class::Io);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(cannot(&error)),
    };
    let mut out = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| cannot(&error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(CI_FILES) && path.is_file() {
            let Some(path) = path.to_str() else {
                let message = format!(
                    "the path {} is not UTF-8: it can't be a flag's value",
                    path.display()
                );
                return Err(Diagnostic::error(Class::Usage, message).into());
            };
            out.push(path.to_owned());
        }
    }
    out.sort();
    Ok(out)
}

/// Whether a path in a chart is that of a values file for tests.
pub(crate) fn is_ci_file(path: &str) -> bool {
    let parts = path.split_once('/');
    parts.is_some_and(|(folder, name)| folder == CI_FOLDER && name.ends_with(CI_FILES) && !name.contains('/'))
}

/// The flags with a values file of `ci/` before the given ones.
pub(crate) fn with_ci_file(flags: &ValueFlags, file: &str) -> ValueFlags {
    ValueFlags {
        values: std::iter::once(csv::quoted(file))
            .chain(flags.values.clone())
            .collect(),
        ..flags.clone()
    }
}
