//! Finds the suites of a chart and of the subcharts in its folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::case::{TestedChart, chart_problem};
use super::decode::{shown, suites};
use super::runner::SuiteRun;
use super::snapshot::{check_links, snapshot_path};
use super::suite::Suite;
use crate::chart::MAX_CHART_DEPTH;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::engine::ParsedChart;
use crate::fsio;
use crate::source::Source;
use crate::value::Map;
use crate::values::{Enabled, prepare};
use crate::yaml;

/// Where suites are, unless patterns are given.
pub const SUITE_FILES: &str = "tests/*_test.yaml";
/// The maximum number of suite files of a chart.
pub const MAX_SUITE_FILES: usize = 10_000;

/// What is looked for in charts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiscoverOptions {
    /// Patterns of suite files, relative to the chart.
    pub files: Vec<String>,
    /// Whether the suites of subcharts in `charts/` are run, too.
    pub with_subcharts: bool,
    /// Whether unknown fields are errors.
    pub is_strict: bool,
    /// The values of the command line.
    pub values: Arc<Map>,
}

/// What was found in charts.
#[derive(Debug, Default)]
pub struct Discovered {
    /// The charts, and the subcharts that have suites.
    pub charts: Vec<TestedChart>,
    /// Their folders.
    pub folders: Vec<PathBuf>,
    /// The folders of their top charts.
    pub roots: Vec<PathBuf>,
    /// The suite files that hold no suite.
    pub empty_files: Vec<String>,
    /// The suites, chart by chart.
    pub suites: Vec<SuiteRun>,
    /// Warnings of the suites.
    pub warnings: Vec<Diagnostic>,
}

impl Discovered {
    /// Adds a chart folder with its suites.
    ///
    /// # Errors
    /// The chart can't be loaded; every mistake of its suites.
    pub fn add(&mut self, folder: &Path, options: &DiscoverOptions) -> Result<()> {
        let chart = ParsedChart::load(folder).map_err(|problem| chart_problem(problem, folder))?;
        let prepared = prepare(chart.loaded(), &options.values);
        let root = prepared.map_err(|problem| chart_problem(problem, folder))?.root;
        let chart = Arc::new(chart);
        let mut found = vec![(folder.to_owned(), &root, Vec::new())];
        if options.with_subcharts {
            subcharts(folder, &root, &[], 0, &mut found);
        }
        let mut problems = Vec::new();
        let top = folder;
        for (folder, one, scope) in found {
            let number = self.charts.len();
            self.charts.push(TestedChart {
                chart: Arc::clone(&chart),
                path: one.path.clone(),
                scope,
                values: Arc::clone(&options.values),
            });
            if let Err(problem) = self.read(&folder, top, number, options) {
                problems.extend(problem.into_vec());
            }
            self.folders.push(folder);
            self.roots.push(top.to_owned());
        }
        Diagnostics::or(problems, ())
    }

    fn read(&mut self, folder: &Path, top: &Path, chart: usize, options: &DiscoverOptions) -> Result<()> {
        let mut problems = Vec::new();
        for file in suite_files(folder, &options.files)? {
            let limit = yaml::Limits::BYTES;
            let read = fsio::read_text(&file, limit, Class::Chart).and_then(|source| {
                let source = Source::new(shown(&file), source.text());
                suites(&source, &file, options.is_strict)
            });
            match read {
                Ok((found, warnings)) => {
                    self.warnings.extend(warnings);
                    if found.is_empty() {
                        self.empty_files.push(shown(&file));
                    }
                    for suite in &found {
                        let path = snapshot_path(&file, &suite.snapshot_id);
                        let checked = check_links(&path, top);
                        problems.extend(checked.err().map(Diagnostics::into_vec).unwrap_or_default());
                    }
                    let run = |suite: Suite| SuiteRun {
                        suite,
                        chart,
                        file: file.clone(),
                    };
                    self.suites.extend(found.into_iter().map(run));
                }
                Err(problem) => problems.extend(problem.into_vec()),
            }
        }
        Diagnostics::or(problems, ())
    }
}

/// The files that patterns match, sorted, each once.
fn suite_files(folder: &Path, patterns: &[String]) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for pattern in patterns {
        let folder = glob::Pattern::escape(&folder.display().to_string());
        let found = glob::glob(&format!("{folder}/{pattern}")).map_err(|error| {
            let one = Diagnostic::error(Class::Usage, format!("{pattern:?} is no pattern: {error}"));
            Diagnostics::from(one)
        })?;
        out.extend(
            found
                .flatten()
                .filter(|path| path.is_file())
                .take(MAX_SUITE_FILES + 1),
        );
    }
    out.sort();
    out.dedup();
    if out.len() > MAX_SUITE_FILES {
        let message = format!("{} has more than {MAX_SUITE_FILES} suite files", folder.display());
        return Err(Diagnostic::error(Class::Chart, message).into());
    }
    Ok(out)
}

/// The subcharts that are folders and enabled, with the keys of their values.
fn subcharts<'e>(
    folder: &Path,
    chart: &'e Enabled,
    scope: &[String],
    depth: usize,
    out: &mut Vec<(PathBuf, &'e Enabled, Vec<String>)>,
) {
    if depth >= MAX_CHART_DEPTH {
        return;
    }
    let Ok(entries) = std::fs::read_dir(folder.join("charts")) else {
        return;
    };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(std::result::Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.join("Chart.yaml").is_file())
        .collect();
    folders.sort();
    for below in folders {
        let Some(name) = chart_name(&below) else { continue };
        let Some(child) = chart.children.iter().find(|child| child.chart.name() == name) else {
            continue;
        };
        let mut scope = scope.to_vec();
        scope.push(child.name().to_owned());
        out.push((below.clone(), child, scope.clone()));
        subcharts(&below, child, &scope, depth + 1, out);
    }
}

fn chart_name(folder: &Path) -> Option<String> {
    let path = folder.join("Chart.yaml");
    let source = fsio::read_text(&path, yaml::Limits::BYTES, Class::Chart).ok()?;
    let node = yaml::parse(&source, Class::Chart, &yaml::Limits::default()).ok()?;
    Some(node.get("name")?.as_str()?.to_owned())
}
