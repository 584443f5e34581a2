//! The source of a linted chart: a folder, or the files of an archive.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::chart::archive;
use crate::chart::load::{self, Loaded};
use crate::diag::{Class, Diagnostics, Result};
use crate::fsio;
use crate::source::Source;
use crate::yaml;

/// A chart to be linted.
pub(super) struct LintedChart {
    files: ChartFiles,
    /// The loaded chart, or why it can't be loaded.
    pub(super) loaded: Result<Arc<Loaded>>,
    /// The chart's folder in Helm's messages.
    pub(super) shown: String,
}

enum ChartFiles {
    Folder(PathBuf),
    Memory(BTreeMap<String, Vec<u8>>),
}

/// The kind of a path in the chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Nothing,
    File,
    Folder,
}

impl LintedChart {
    /// Opens a chart; the error is Helm's message.
    pub(super) fn open(path: &Path) -> std::result::Result<Self, String> {
        let name = path.to_string_lossy();
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let shown = absolute.components().collect::<PathBuf>().display().to_string();
        if name.ends_with(".tgz") || name.ends_with(".tar.gz") {
            let file = fsio::open(path)
                .map_err(|error| format!("unable to open tarball: open {name}: {}", go_reason(&error)))?;
            let files = archive::read_files(std::io::BufReader::new(file), &name)
                .map_err(|problem| format!("unable to extract tarball: {problem}"))?;
            if !files.iter().any(|(path, _)| path == "Chart.yaml") {
                return Err("unable to extract tarball: chart name not specified".to_owned());
            }
            return Ok(Self {
                loaded: load::load_files(files.clone()),
                files: ChartFiles::Memory(files.into_iter().collect()),
                shown,
            });
        }
        let chart_yaml = path.join("Chart.yaml");
        if let Err(error) = std::fs::metadata(&chart_yaml) {
            return Err(format!(
                "unable to check Chart.yaml file in chart: stat {}: {}",
                clean(&chart_yaml),
                go_reason(&error)
            ));
        }
        Ok(Self {
            files: ChartFiles::Folder(path.to_owned()),
            loaded: load::load(path),
            shown,
        })
    }

    /// The kind of a path; links that leave the chart count as missing.
    pub(super) fn find(&self, path: &str) -> EntryKind {
        match &self.files {
            ChartFiles::Folder(root) => match inside(root, path).map(|path| path.is_dir()) {
                Some(true) => EntryKind::Folder,
                Some(false) => EntryKind::File,
                None => EntryKind::Nothing,
            },
            ChartFiles::Memory(files) => {
                let folder = format!("{path}/");
                if files.contains_key(path) {
                    EntryKind::File
                } else if files.keys().any(|name| name.starts_with(&folder)) {
                    EntryKind::Folder
                } else {
                    EntryKind::Nothing
                }
            }
        }
    }

    /// A file's text; `None` if there is no such file.
    pub(super) fn text(&self, path: &str, class: Class) -> Option<Result<Arc<Source>>> {
        match &self.files {
            ChartFiles::Folder(root) => {
                let found = inside(root, path).filter(|path| path.is_file())?;
                let text = fsio::read_text(&found, yaml::Limits::BYTES, class);
                let shown = root.join(path).display().to_string();
                Some(text.map(|source| Source::new(shown, source.text())))
            }
            ChartFiles::Memory(files) => {
                let bytes = files.get(path)?;
                Some(fsio::text_of(path, bytes.clone(), class))
            }
        }
    }
}

/// The message about a file that is not text, embedded in Helm's message like go-yaml's.
pub(super) fn unreadable(problem: &Diagnostics) -> String {
    let message = problem.iter().next().map_or("", |one| one.message.as_str());
    format!("error converting YAML to JSON: yaml: {message}")
}

fn inside(root: &Path, path: &str) -> Option<PathBuf> {
    let root = root.canonicalize().ok()?;
    let found = root.join(path).canonicalize().ok()?;
    found.starts_with(&root).then_some(found)
}

/// A path normalised like Go's `filepath.Join`.
fn clean(path: &Path) -> String {
    path.components().collect::<PathBuf>().display().to_string()
}

fn go_reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        std::io::ErrorKind::NotADirectory => "not a directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => fsio::reason(error).to_string(),
    }
}
