//! `dependency list`: a chart's declared dependencies and their status, as `helm dependency list` prints them, but
//! without passwords in repository URLs.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::args::dependency::DependencyListArgs;
use super::context::{CommandOutcome, CommandResult, Context};
use super::table::table;
use crate::chart::details::DependencyDetails;
use crate::chart::load::{Loaded, load};
use crate::credentials::without_credentials;
use crate::diag::Result;
use crate::report::documents::{DependencyDocument, DependencyEntry, Document as _};
use crate::semver::{Constraint, Version};
use crate::template::print::quote;
use crate::version;

/// `dependency list`
pub(crate) fn list(args: &DependencyListArgs, context: &Context<'_>) -> CommandResult {
    match run(args, context) {
        Ok(done) => done,
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

fn run(args: &DependencyListArgs, context: &Context<'_>) -> Result<CommandResult> {
    let path = cleaned(&args.chart);
    let chart = load(&path)?;
    for warning in chart.all_warnings() {
        context.printer.warn(warning);
    }
    let charts = path.join("charts");
    let Some(declared) = &chart.details.dependencies else {
        let warning = format!("no dependencies at {}", charts.display());
        let text = format!("WARNING: {warning}\n");
        return Ok(done(&[], &[warning], &text));
    };
    let found = archives_and_folders(&charts);
    let rows: Vec<DependencyRow> = declared
        .iter()
        .map(|one| DependencyRow {
            dependency: one,
            repository: without_credentials(&one.repository).into_owned(),
            status: status(one, &found, &chart),
        })
        .collect();
    let mut lines = vec![["NAME", "VERSION", "REPOSITORY", "STATUS"]];
    lines.extend(rows.iter().map(|row| {
        let DependencyDetails { name, version, .. } = row.dependency;
        [
            name.as_str(),
            version.as_str(),
            row.repository.as_str(),
            row.status,
        ]
    }));
    let mut text = table(&lines, args.max_col_width);
    text.push('\n');
    let warnings: Vec<String> = found.iter().filter_map(|path| unwanted(path, declared)).collect();
    for warning in &warnings {
        text.push_str(&format!("WARNING: {warning}\n"));
    }
    Ok(done(&rows, &warnings, &text))
}

struct DependencyRow<'c> {
    dependency: &'c DependencyDetails,
    /// The repository without credentials.
    repository: String,
    status: &'static str,
}

fn done(rows: &[DependencyRow<'_>], warnings: &[String], text: &str) -> CommandResult {
    let rows = rows.iter().map(|row| DependencyEntry {
        name: row.dependency.name.clone(),
        version: row.dependency.version.clone(),
        repository: row.repository.clone(),
        status: row.status,
    });
    let document = DependencyDocument {
        dependencies: rows.collect(),
        warnings: warnings.to_vec(),
    };
    CommandResult::Document {
        json: document.to_json(),
        text: text.to_owned(),
    }
}

/// Go's `filepath.Clean`, without file system access.
fn cleaned(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            Component::ParentDir if out.has_root() => {}
            part => out.push(part),
        }
    }
    if out.as_os_str().is_empty() {
        out.push(".");
    }
    out
}

/// The entries of `charts/`, sorted by name; empty for an archive.
fn archives_and_folders(charts: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(charts) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir() || is_archive(path))
        // `./charts/x` is `charts/x` in Go.
        .map(|path| path.strip_prefix(".").map(Path::to_owned).unwrap_or(path))
        .collect();
    paths.sort();
    paths
}

fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "tgz")
}

/// The status of a declared dependency, with Helm's text. Archives are checked first, by their names, then loaded
/// charts.
fn status(wanted: &DependencyDetails, found: &[PathBuf], chart: &Loaded) -> &'static str {
    let prefix = format!("{}-", wanted.name);
    let version = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".tgz")?;
        name.strip_prefix(&prefix).map(str::to_owned)
    };
    let mut archives: Vec<&PathBuf> = found.iter().filter(|path| version(path).is_some()).collect();
    if archives.len() > 1 {
        archives.retain(|path| version(path).is_some_and(|version| is_strict(&version)));
        if archives.len() > 1 {
            return "too many matches";
        }
    }
    if let Some(path) = archives.first().filter(|path| path.exists()) {
        return match load(path) {
            Err(_) => "corrupt",
            Ok(found) if found.name() != wanted.name => "misnamed",
            Ok(found) => mismatch(wanted, &found).unwrap_or("ok"),
        };
    }
    let same = |found: &&std::sync::Arc<Loaded>| found.name() == wanted.name;
    match chart.dependencies.iter().rfind(same) {
        None => "missing",
        Some(found) => mismatch(wanted, found).unwrap_or("unpacked"),
    }
}

fn mismatch(wanted: &DependencyDetails, found: &Loaded) -> Option<&'static str> {
    if found.details.version == wanted.version {
        return None;
    }
    match (
        Constraint::parse(&wanted.version),
        Version::parse(&found.details.version),
    ) {
        (Ok(constraint), Ok(version)) => (!constraint.check(&version)).then_some("wrong version"),
        _ => Some("invalid version"),
    }
}

/// Whether it is strict SemVer: three numbers, no `v`, no leading zeros.
fn is_strict(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or(text);
    let number = |part: &str| part == "0" || !part.starts_with('0');
    version::is_valid(text)
        && !text.starts_with('v')
        && core.split('.').count() == 3
        && core.split('.').all(number)
}

/// The warning about an entry of `charts/`.
fn unwanted(path: &Path, declared: &[DependencyDetails]) -> Option<String> {
    let shown = quote(&path.display().to_string());
    match load(path) {
        Err(_) => Some(format!("{shown} is not a chart.")),
        Ok(chart) if declared.iter().any(|one| one.name == chart.name()) => None,
        Ok(_) => Some(format!("{shown} is not in Chart.yaml.")),
    }
}
