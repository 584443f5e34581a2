//! Loads a chart folder as Helm 4.3.1 does: Chart.yaml first, then the files that `.helmignore` doesn't exclude.
//!
//! Links to files inside the chart are followed; those that leave it are refused. The order in which the file system
//! lists files does not matter. Only Chart.yaml, `.helmignore`, values.yaml and the metadata of subcharts are read
//! here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::declaration::declaration;
use super::ignore::Ignore;
use super::metadata::{self, ChartRole, MAX_METADATA_BYTES, Metadata};
use super::{Chart, Content, File, HELM_CHART_BYTES, HELM_FILE_BYTES, LoadBudget, MAX_CHART_DEPTH, archive};
use super::{MAX_VALUES_BYTES, check_schema, check_values};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::source::Location;

/// The maximum size of `.helmignore`, in bytes.
pub(crate) const MAX_IGNORE_BYTES: usize = 1024 * 1024;

/// Loads a chart folder.
pub fn load(folder: &Path) -> Result<Chart> {
    let metadata = chart_yaml(folder)?;
    let (files, total) = walk(folder)?;
    let mut chart = Chart {
        metadata,
        files,
        warnings: Vec::new(),
    };
    chart.order();
    check_texts(folder, &chart)?;
    check_subcharts(folder, &chart)?;
    chart.warnings = warnings(&chart, total);
    Ok(chart)
}

/// The files of a chart folder that `.helmignore` doesn't exclude, in no particular order, and their total size. Their
/// content is not read. Excluding Chart.yaml is an error.
pub(super) fn walk(folder: &Path) -> Result<(Vec<File>, u64)> {
    let ignore_path = folder.join(".helmignore");
    let ignore = if ignore_path.is_file() {
        Ignore::parse(&fsio::read_text(&ignore_path, MAX_IGNORE_BYTES, Class::Chart)?)?
    } else {
        Ignore::default()
    };
    let root = folder
        .canonicalize()
        .map_err(|error| fsio::cannot("read", folder, &error, Class::Chart))?;
    let mut walk = Walk {
        root: &root,
        shown: folder,
        ignore,
        budget: LoadBudget::default(),
        files: Vec::new(),
    };
    walk.folder("", &root, &mut vec![root.clone()])?;
    if !walk.files.iter().any(|file| file.path == "Chart.yaml") {
        let message = format!("{} leaves out Chart.yaml", ignore_path.display());
        let hint = "a line that starts with `!` leaves out everything that does not match it";
        return Err(Diagnostic::error(Class::Chart, message).hint(hint).into());
    }
    let total = walk.budget.bytes();
    Ok((walk.files, total))
}

/// Checks that it is a folder with a Chart.yaml.
pub(super) fn check(folder: &Path) -> Result<()> {
    let path = folder.join("Chart.yaml");
    if !folder.is_dir() {
        let problem = if folder.exists() {
            "is not a folder"
        } else {
            "does not exist"
        };
        return Err(Diagnostic::error(Class::Chart, format!("{} {problem}", folder.display())).into());
    }
    if !path.exists() {
        let one = Diagnostic::error(
            Class::Chart,
            format!("{} is not a chart: it has no Chart.yaml", folder.display()),
        );
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let below: Vec<_> = paths.filter(|path| path.join("Chart.yaml").is_file()).collect();
        return Err(match below.as_slice() {
            [] => one.into(),
            [only] => one.hint(format!("did you mean {}?", only.display())).into(),
            several => {
                let pattern = folder.join("*");
                let count = several.len();
                one.hint(format!(
                    "it holds {count} charts: name each one, as in `{}`",
                    pattern.display()
                ))
                .into()
            }
        });
    }
    Ok(())
}

/// Reads and checks a folder's Chart.yaml, with the dependencies of an older chart's requirements.yaml.
pub fn chart_yaml(folder: &Path) -> Result<Metadata> {
    metadata_of(folder, ChartRole::Root)
}

/// The same of a chart in another one's `charts/`.
pub fn subchart_yaml(folder: &Path) -> Result<Metadata> {
    metadata_of(folder, ChartRole::Subchart)
}

fn metadata_of(folder: &Path, role: ChartRole) -> Result<Metadata> {
    check(folder)?;
    let path = folder.join("Chart.yaml");
    let older = folder.join("requirements.yaml");
    let older = if older.is_file() {
        Some(fsio::read_text(&older, MAX_METADATA_BYTES, Class::Chart)?)
    } else {
        None
    };
    metadata::parse_with(
        &fsio::read_text(&path, MAX_METADATA_BYTES, Class::Chart)?,
        older.as_ref(),
        role,
    )
}

struct Walk<'a> {
    /// The canonical path.
    root: &'a Path,
    /// The path as the user gave it.
    shown: &'a Path,
    ignore: Ignore,
    budget: LoadBudget,
    files: Vec<File>,
}

impl Walk<'_> {
    /// Adds the files below `real`. `above` are the canonical parent folders: a link to one of them is a cycle.
    fn folder(&mut self, path: &str, real: &Path, above: &mut Vec<PathBuf>) -> Result<()> {
        if above.len() > MAX_CHART_DEPTH {
            return Err(self.error(path, &format!("nests deeper than {MAX_CHART_DEPTH} folders")));
        }
        let entries = fs::read_dir(real).map_err(|error| fsio::cannot("read", real, &error, Class::Chart))?;
        for entry in entries {
            let entry = entry.map_err(|error| fsio::cannot("read", real, &error, Class::Chart))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(self.error(
                    path,
                    &format!("holds a file whose name is not UTF-8: {}", name.display()),
                ));
            };
            let below = if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}/{name}")
            };
            let link = entry
                .metadata()
                .map_err(|error| fsio::cannot("read", &entry.path(), &error, Class::Chart))?;
            self.entry(&below, &entry.path(), link, above)?;
        }
        Ok(())
    }

    /// `link` is the metadata of the entry itself, not of a link's target.
    fn entry(&mut self, path: &str, real: &Path, link: fs::Metadata, above: &mut Vec<PathBuf>) -> Result<()> {
        let target = if link.is_symlink() {
            Some(self.follow(path, real)?)
        } else {
            None
        };
        let real = target.as_deref().unwrap_or(real);
        let metadata = match target {
            Some(_) => {
                fs::metadata(real).map_err(|error| fsio::cannot("read", real, &error, Class::Chart))?
            }
            None => link,
        };
        if self.ignore.ignores(path, metadata.is_dir()) || is_left_out(path) || fsio::is_unfinished(real) {
            return Ok(());
        }
        if metadata.is_dir() {
            // A link's target is canonical, and so are the entries of such a folder.
            if above.iter().any(|one| one == real) {
                return Err(self.error(path, "is a link to a folder that holds it"));
            }
            above.push(real.to_owned());
            self.folder(path, real, above)?;
            above.pop();
            return Ok(());
        }
        if !metadata.is_file() {
            return Err(self.error(path, "is neither a file nor a folder"));
        }
        if path.contains('\\') || path.chars().any(char::is_control) {
            return Err(self.error(
                path,
                "has a backslash or a control character in its name, which Helm refuses",
            ));
        }
        self.budget
            .add(metadata.len(), &self.shown.display().to_string())?;
        let content = Content::Disk {
            path: real.to_owned(),
            size: metadata.len(),
        };
        self.files.push(File {
            path: path.to_owned(),
            content,
        });
        Ok(())
    }

    /// The target of a link, which must be inside the chart.
    fn follow(&self, path: &str, real: &Path) -> Result<PathBuf> {
        let target = real
            .canonicalize()
            .map_err(|error| fsio::cannot("follow", real, &error, Class::Chart))?;
        if target.starts_with(self.root) {
            return Ok(target);
        }
        let one = Diagnostics::from(
            Diagnostic::error(
                Class::Chart,
                format!("{}/{path} is a link that leaves the chart", self.shown.display()),
            )
            .note(format!("it leads to {}", target.display()))
            .hint("copy the file into the chart, or list it in .helmignore"),
        );
        // An ignored link may have any target.
        if self.ignore.ignores(path, target.is_dir()) {
            Ok(target)
        } else {
            Err(one)
        }
    }

    fn error(&self, path: &str, problem: &str) -> Diagnostics {
        let shown = if path.is_empty() {
            self.shown.to_owned()
        } else {
            self.shown.join(path)
        };
        Diagnostic::error(Class::Chart, format!("{} {problem}", shown.display())).into()
    }
}

/// Helm skips names that start with `_` or `.` directly below `charts/`.
pub(crate) fn is_left_out(path: &str) -> bool {
    path.strip_prefix("charts/")
        .is_some_and(|rest| !rest.contains('/') && rest.starts_with(['_', '.']))
}

/// The files that Helm reads while packaging must be valid.
fn check_texts(folder: &Path, chart: &Chart) -> Result<()> {
    let text = |path: &str| {
        let there = chart.files.iter().any(|file| file.path == path);
        let read = || fsio::read_text(&folder.join(path), MAX_VALUES_BYTES, Class::Values);
        there.then(read).transpose()
    };
    if let Some(values) = text("values.yaml")? {
        check_values(&values)?;
    }
    if let Some(schema) = text("values.schema.json")? {
        check_schema(&schema)?;
    }
    Ok(())
}

/// Everything below `charts/` must be a chart, and every declared dependency must exist.
fn check_subcharts(folder: &Path, chart: &Chart) -> Result<()> {
    let below: BTreeSet<&str> = chart
        .files
        .iter()
        .filter_map(|file| file.path.strip_prefix("charts/"))
        .filter(|rest| !rest.ends_with(".prov") || rest.contains('/'))
        .map(|rest| rest.split('/').next().unwrap_or(rest))
        .collect();
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for name in below {
        let path = folder.join("charts").join(name);
        let found = if path.is_dir() {
            subchart_yaml(&path)
        } else if name.ends_with(".tgz") {
            archive::inspect_subchart(&path).map(|inspected| inspected.metadata)
        } else {
            let one = Diagnostic::error(Class::Chart, format!("{} is not a chart", path.display()));
            Err(one
                .note("Helm takes only charts below charts/")
                .hint("move it, or list it in .helmignore")
                .into())
        };
        match found {
            Ok(metadata) => {
                names.insert(metadata.name);
            }
            Err(found) => problems.extend(found.into_vec()),
        }
    }
    for wanted in chart
        .metadata
        .dependencies
        .iter()
        .filter(|wanted| !names.contains(*wanted))
    {
        let one = Diagnostic::error(
            Class::Chart,
            format!(
                "{} declares the dependency `{wanted}`, which is not in charts/",
                folder.display()
            ),
        );
        let one = match declared(folder, wanted) {
            Some(place) => one.at(place).label("not in charts/"),
            None => one,
        };
        let build = format!(
            "fetch it first: `solar-render dependency build {}`",
            folder.display()
        );
        problems.push(one.hint(build));
    }
    Diagnostics::or(problems, ())
}

/// Where a chart folder declares a dependency.
pub(crate) fn declared(folder: &Path, name: &str) -> Option<Location> {
    let texts = ["requirements.yaml", "Chart.yaml"].map(|file| folder.join(file));
    let texts = texts
        .iter()
        .filter_map(|path| fsio::read_text(path, MAX_METADATA_BYTES, Class::Chart).ok());
    declaration(&texts.collect::<Vec<_>>(), name)
}

fn warnings(chart: &Chart, total: u64) -> Vec<Diagnostic> {
    let large = chart
        .files
        .iter()
        .filter(|file| file.content.size() > HELM_FILE_BYTES)
        .map(|file| {
            let size = fsio::size(file.content.size());
            let message = format!(
                "{} has {size}; Helm loads files of at most {}",
                file.path,
                fsio::size(HELM_FILE_BYTES)
            );
            Diagnostic::warning(Class::Chart, message)
        });
    let sum = (total > HELM_CHART_BYTES).then(|| {
        let message = format!(
            "the chart has {} in all; Helm unpacks at most {}",
            fsio::size(total),
            fsio::size(HELM_CHART_BYTES)
        );
        Diagnostic::warning(Class::Chart, message)
    });
    large.chain(sum).collect()
}
