//! A chart: its Chart.yaml and its files.
//!
//! For packaging: from a folder ([`folder`]), from memory ([`Chart::from_files`]), or the metadata of an archive
//! ([`archive`]). For rendering: [`load`]. This module doesn't render.

pub mod archive;
pub mod body;
#[cfg(feature = "oci")]
pub(crate) mod compare;
pub mod declaration;
pub mod details;
mod fields;
pub mod folder;
pub mod ignore;
pub mod load;
pub mod metadata;
mod pool;
pub mod values_file;

use std::path::PathBuf;
use std::sync::Arc;

use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::source::{Location, Source};
use crate::yaml;
use metadata::{ChartRole, Metadata};

/// The maximum size of values.yaml and schema, in bytes: Helm's limit for any file.
pub(crate) const MAX_VALUES_BYTES: usize = 5 * 1024 * 1024;
/// The maximum total size of a chart's files, in bytes: a larger folder is not a chart's.
pub const MAX_CHART_BYTES: u64 = 1 << 30;
/// The maximum number of files of a chart.
pub const MAX_CHART_FILES: usize = 50_000;
/// The maximum nesting of a chart's folders.
pub const MAX_CHART_DEPTH: usize = 64;
/// The maximum size of a file that Helm 4.3.1 loads, in bytes; larger ones are packaged with a warning.
pub const HELM_FILE_BYTES: u64 = 5 * 1024 * 1024;
/// The maximum total size that Helm 4.3.1 unpacks, in bytes; larger charts are packaged with a warning.
pub const HELM_CHART_BYTES: u64 = 100 * 1024 * 1024;

/// A chart ready to be packaged.
#[derive(Debug, Clone)]
pub struct Chart {
    /// The metadata of Chart.yaml.
    pub metadata: Metadata,
    /// Chart.yaml first, then sorted by path, bytewise.
    pub files: Vec<File>,
    /// The warnings for the user.
    pub warnings: Vec<Diagnostic>,
}

/// A file of a chart.
#[derive(Debug, Clone)]
pub struct File {
    /// Relative to the chart, with `/`.
    pub path: String,
    /// Its content.
    pub content: Content,
}

/// A file's content.
#[derive(Debug, Clone)]
pub enum Content {
    /// In memory.
    Memory(Vec<u8>),
    /// On disk, read when it is needed: charts can be large.
    Disk {
        /// The path of the file.
        path: PathBuf,
        /// Its size in bytes when the chart was loaded.
        size: u64,
    },
}

impl Chart {
    /// A chart from files in memory; Chart.yaml must be among them.
    pub fn from_files(files: Vec<(String, Vec<u8>)>) -> Result<Self> {
        let chart_yaml = files.iter().find(|(path, _)| path == "Chart.yaml");
        let Some((_, bytes)) = chart_yaml else {
            return Err(Diagnostic::error(Class::Chart, "the chart has no Chart.yaml").into());
        };
        let metadata = metadata::parse(&fsio::text_of("Chart.yaml", bytes.clone(), Class::Chart)?)?;
        let files = files
            .into_iter()
            .map(|(path, bytes)| File {
                path,
                content: Content::Memory(bytes),
            })
            .collect();
        let mut chart = Self {
            metadata,
            files,
            warnings: Vec::new(),
        };
        chart.order();
        Ok(chart)
    }

    /// All files with their bytes.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn into_files(self) -> Result<Vec<(String, Vec<u8>)>> {
        let read = |file: File| {
            let bytes = match file.content {
                Content::Memory(bytes) => bytes,
                Content::Disk { path, .. } => {
                    std::fs::read(&path).map_err(|error| fsio::cannot("read", &path, &error, Class::Io))?
                }
            };
            Ok((file.path, bytes))
        };
        self.files.into_iter().map(read).collect()
    }

    /// Gives the chart another version or appVersion, in Chart.yaml too, as `helm package` does.
    pub fn set_versions(&mut self, version: Option<&str>, app_version: Option<&str>) -> Result<()> {
        self.set_fields(&[("version", version), ("appVersion", app_version)])
    }

    /// Gives the chart another name, in Chart.yaml too.
    ///
    /// # Errors
    /// A name that no chart can have.
    pub fn set_name(&mut self, name: &str) -> Result<()> {
        self.set_fields(&[("name", Some(name))])
    }

    fn set_fields(&mut self, fields: &[(&str, Option<&str>)]) -> Result<()> {
        let Some(mut source) = self.metadata_text("Chart.yaml")? else {
            return Ok(());
        };
        for &(field, text) in fields {
            if let Some(text) = text {
                source = metadata::with_field(&source, field, text)?;
            }
        }
        let older = self.metadata_text("requirements.yaml")?;
        self.metadata = metadata::parse_with(&source, older.as_ref(), ChartRole::Root)?;
        for file in self.files.iter_mut().filter(|file| file.path == "Chart.yaml") {
            file.content = Content::Memory(source.text().as_bytes().to_vec());
        }
        Ok(())
    }

    /// The text of a file of the chart, if it exists.
    fn metadata_text(&self, path: &str) -> Result<Option<Arc<Source>>> {
        let Some(file) = self.files.iter().find(|file| file.path == path) else {
            return Ok(None);
        };
        let text = match &file.content {
            Content::Memory(bytes) => fsio::text_of(path, bytes.clone(), Class::Chart)?,
            Content::Disk { path, .. } => fsio::read_text(path, metadata::MAX_METADATA_BYTES, Class::Chart)?,
        };
        Ok(Some(text))
    }

    fn order(&mut self) {
        self.files
            .sort_by(|a, b| (a.path != "Chart.yaml", &a.path).cmp(&(b.path != "Chart.yaml", &b.path)));
    }
}

/// values.yaml must be YAML, and a map: Helm refuses to package and to load others.
pub(crate) fn check_values(source: &Arc<Source>) -> Result<()> {
    let node = yaml::parse(source, Class::Values, &yaml::Limits::default())?;
    match node.kind {
        yaml::Kind::Map(_) | yaml::Kind::Null => Ok(()),
        _ => {
            let message = format!("values.yaml must be a map, not {}", node.kind_name());
            Err(Diagnostic::error(Class::Values, message)
                .at(Location::new(source, node.span))
                .into())
        }
    }
}

/// values.schema.json must be JSON.
pub(crate) fn check_schema(source: &Arc<Source>) -> Result<()> {
    // As Helm does without a byte order mark.
    let text = source.text().trim_start_matches('\u{feff}');
    serde_json::from_str::<serde::de::IgnoredAny>(text)
        .map(|_| ())
        .map_err(|error| {
            let before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
            let start = source.text().len() - text.len() + before.map(str::len).sum::<usize>();
            let at = start + error.column().saturating_sub(1);
            let one = Diagnostic::error(Class::Values, "values.schema.json is not JSON");
            one.at(Location::new(source, crate::source::Span::new(at, at + 1)))
                .into()
        })
}

impl Content {
    /// The size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Disk { size, .. } => *size,
        }
    }
}

/// Counts against the limits while a chart is loaded.
#[derive(Default)]
pub(crate) struct LoadBudget {
    bytes: u64,
    files: usize,
}

impl LoadBudget {
    pub(crate) fn add(&mut self, bytes: u64, chart: &str) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.files += 1;
        let problem = if self.bytes > MAX_CHART_BYTES {
            format!("{chart} holds more than {}", fsio::size(MAX_CHART_BYTES))
        } else if self.files > MAX_CHART_FILES {
            format!("{chart} holds more than {MAX_CHART_FILES} files")
        } else {
            return Ok(());
        };
        let one = Diagnostic::error(Class::Chart, problem);
        Err(Diagnostics::from(one.hint(
            "name the chart's own folder, and list what is not part of it in .helmignore",
        )))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}
