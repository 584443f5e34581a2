//! A chart with everything that rendering needs, loaded once: [`Loaded`].
//!
//! In: a folder, a `.tgz`, or files in memory. Out: Chart.yaml, values, templates, other files
//! and the charts in `charts/`, which may be folders or archives, to any depth up to
//! [`MAX_SUBCHART_DEPTH`]. Each file is read once, on first use at the latest; the content never changes and can be
//! shared between threads. Which subcharts are enabled is not decided here.
//!
//! Files are classified as in Helm 4.3.1: only `.helmignore` of the top folder is used, names in `charts/` that start
//! with `_` or `.` are skipped, `.prov` files there are plain files, a byte order mark is dropped, requirements.yaml is
//! also a plain file in a v1 chart. Where Helm's order of subcharts is random, it is the order of their names.
//!
//! # Differences from Helm
//!
//! - Links that leave the chart's folder, and all links in archives, are refused.
//! - In a template's actions U+FFFD replaces invalid UTF-8.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::body::Body;
use super::details::Details;
use super::metadata::{self, ChartRole, MAX_METADATA_BYTES, Metadata};
use super::pool::ContentPool;
use super::{Content, HELM_CHART_BYTES, LoadBudget, archive, folder, values_file};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::parallel::both;
use crate::source::Source;
use crate::value::Map;
use crate::yaml;

/// The maximum nesting of charts.
pub const MAX_SUBCHART_DEPTH: usize = 32;

/// From this size on, a values.yaml is parsed while the chart's other files are read: starting a thread costs as much
/// as parsing some 10 KiB.
const SHARED_BYTES: usize = 64 << 10;

/// A chart in memory.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Loaded {
    /// The fields of Chart.yaml.
    pub details: Arc<Details>,
    /// The metadata as Helm stores it.
    pub metadata: Arc<Metadata>,
    /// Chart.yaml's text.
    pub chart_yaml: Arc<Source>,
    /// The files below `templates/`, in Helm's order: by path, element by element; for an archive in the archive's
    /// order.
    pub templates: Vec<Template>,
    /// All other files, in the same order: path in the chart, content without a byte order mark.
    pub files: Vec<(String, Body)>,
    /// The content of values.yaml; every number is a float64.
    pub values: Arc<Map>,
    /// The text of values.yaml.
    pub values_source: Option<Arc<Source>>,
    /// The text of values.schema.json.
    pub schema: Option<Arc<Source>>,
    /// The text of Chart.lock, or of requirements.lock.
    pub lock: Option<Arc<Source>>,
    /// The charts in `charts/`, in the order of their folders' and archives' names.
    pub dependencies: Vec<Arc<Loaded>>,
    /// The warnings for the user, of this chart alone.
    pub warnings: Vec<Diagnostic>,
}

/// A template of a chart.
#[derive(Debug, Clone)]
pub struct Template {
    /// Its path in the chart: `templates/a.yaml`.
    pub name: String,
    /// Its text. Templates with the same path and text share one, in whichever charts they are, so its name is the
    /// location of the first.
    pub source: Arc<Source>,
}

impl Loaded {
    /// The chart's name.
    pub fn name(&self) -> &str {
        &self.details.name
    }

    /// The manifests in `crds/` of this chart alone, in Helm's order.
    pub fn crds(&self) -> impl Iterator<Item = (&str, &Body)> {
        let manifest = |name: &str| {
            let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
            ["yaml", "yml", "json"]
                .iter()
                .any(|known| extension.eq_ignore_ascii_case(known))
        };
        self.files
            .iter()
            .filter(move |(name, _)| name.starts_with("crds/") && manifest(name))
            .map(|(name, body)| (name.as_str(), body))
    }

    /// The warnings of this chart and of its subcharts.
    pub fn all_warnings(&self) -> Vec<&Diagnostic> {
        let below = self.dependencies.iter().flat_map(|chart| chart.all_warnings());
        self.warnings.iter().chain(below).collect()
    }
}

/// Loads a chart folder or a `.tgz`.
///
/// # Errors
/// Class chart or values: all errors in the chart. Class io: an I/O error.
pub fn load(path: &Path) -> Result<Arc<Loaded>> {
    if !path.is_file() {
        return load_folder(path);
    }
    let file = std::fs::File::open(path).map_err(|error| fsio::cannot("read", path, &error, Class::Chart))?;
    load_archive(io::BufReader::new(file), &path.display().to_string())
}

/// Loads a `.tgz` from any reader; `name` is for messages.
///
/// # Errors
/// As [`load`].
pub fn load_archive(reader: impl Read, name: &str) -> Result<Arc<Loaded>> {
    Loader::default().archive(reader, name, 0)
}

/// Loads a chart from files in memory, with their paths in the chart.
///
/// # Errors
/// As [`load`].
pub fn load_files(files: Vec<(String, Vec<u8>)>) -> Result<Arc<Loaded>> {
    let mut loader = Loader::default();
    for (_, bytes) in &files {
        loader.budget.add(bytes.len() as u64, "the chart")?;
    }
    let files = files.into_iter().map(|(path, bytes)| (path, Body::new(bytes)));
    loader.chart(files.collect(), "", 0)
}

fn load_folder(path: &Path) -> Result<Arc<Loaded>> {
    folder::check(path)?;
    let (mut found, total) = folder::walk(path)?;
    if total > HELM_CHART_BYTES {
        let limit = fsio::size(HELM_CHART_BYTES);
        let message = format!(
            "{} holds more than {limit}, which is all that Helm loads",
            path.display()
        );
        return Err(Diagnostic::error(Class::Chart, message)
            .hint("list what is not part of the chart in .helmignore")
            .into());
    }
    // Sorted by the elements of their paths: as if a slash sorted before every other character.
    let element = |byte: u8| if byte == b'/' { 0 } else { byte };
    found.sort_by(|a, b| a.path.bytes().map(element).cmp(b.path.bytes().map(element)));
    let files = found.into_iter().map(|file| {
        let body = match file.content {
            Content::Memory(bytes) => Body::new(bytes),
            Content::Disk { path, size } => Body::on_disk(path, size),
        };
        (file.path, body)
    });
    let shown = path.display().to_string();
    Loader::default().chart(files.collect(), &format!("{}/", shown.trim_end_matches('/')), 0)
}

#[derive(Default)]
struct Loader {
    pool: ContentPool,
    budget: LoadBudget,
}

/// A chart's files by kind.
#[derive(Default)]
struct ChartParts {
    chart_yaml: Option<Vec<u8>>,
    requirements: Option<Vec<u8>>,
    lock: Option<(String, Vec<u8>)>,
    older_lock: Option<Vec<u8>>,
    values: Option<Vec<u8>>,
    schema: Option<Vec<u8>>,
    templates: Vec<(String, Body)>,
    files: Vec<(String, Body)>,
    /// By the first element of the path below `charts/`.
    charts: BTreeMap<String, Vec<(String, Body)>>,
}

/// A values.yaml and its content.
type Values = (Option<Arc<Source>>, Arc<Map>);

/// The result of [`Loader::rest`].
struct Rest {
    lock: Option<Arc<Source>>,
    dependencies: Vec<Arc<Loaded>>,
    templates: Vec<Template>,
}

impl ChartParts {
    fn add(&mut self, path: String, body: Body) -> Result<()> {
        match path.as_str() {
            "Chart.yaml" => self.chart_yaml = Some(body.into_bytes()?),
            "requirements.yaml" => self.requirements = Some(body.into_bytes()?),
            "Chart.lock" => self.lock = Some((path, body.into_bytes()?)),
            "requirements.lock" => self.older_lock = Some(body.into_bytes()?),
            "values.yaml" => self.values = Some(body.into_bytes()?),
            "values.schema.json" => self.schema = Some(body.into_bytes()?),
            _ if path.starts_with("templates/") => self.templates.push((path, body)),
            _ => match path.strip_prefix("charts/") {
                Some(below) if !path.ends_with(".prov") => {
                    let (name, inside) = below.split_once('/').unwrap_or((below, ""));
                    let group = self.charts.entry(name.to_owned()).or_default();
                    group.push((inside.to_owned(), body));
                }
                _ => self.files.push((path, body)),
            },
        }
        Ok(())
    }

    /// In a v1 chart these are also plain files.
    fn keep_older(&mut self) {
        let lock = self.older_lock.as_deref();
        for (name, bytes) in [
            ("requirements.lock", lock),
            ("requirements.yaml", self.requirements.as_deref()),
        ] {
            if let Some(bytes) = bytes {
                let at = self
                    .files
                    .partition_point(|(path, _)| path.split('/').lt(name.split('/')));
                self.files
                    .insert(at, (name.to_owned(), Body::new(bytes.to_vec())));
            }
        }
    }
}

impl Loader {
    fn archive(&mut self, reader: impl Read, name: &str, depth: usize) -> Result<Arc<Loaded>> {
        let mut files = Vec::new();
        archive::each_file(
            reader,
            name,
            HELM_CHART_BYTES,
            &mut self.budget,
            &mut |inside, entry| {
                let mut bytes = Vec::new();
                entry
                    .read_to_end(&mut bytes)
                    .map_err(|error| archive::broken(name, &error))?;
                files.push((inside.to_owned(), Body::new(bytes)));
                Ok(())
            },
        )?;
        self.chart(files, &format!("{name}:"), depth)
    }

    /// `place` is the prefix of a file's path in messages.
    fn chart(&mut self, files: Vec<(String, Body)>, place: &str, depth: usize) -> Result<Arc<Loaded>> {
        if depth > MAX_SUBCHART_DEPTH {
            let message = format!("{place} is a chart in more than {MAX_SUBCHART_DEPTH} nested charts");
            return Err(Diagnostic::error(Class::Chart, message).into());
        }
        let mut parts = ChartParts::default();
        for (path, body) in files {
            parts.add(path, body)?;
        }
        let (chart_yaml, metadata) = self.metadata(&parts, place, depth)?;
        let details = Arc::clone(&metadata.details);
        let warnings = warnings(&parts, &details);
        if details.api_version == "v1" {
            parts.keep_older();
        }
        let (mut problems, mut others) = (Vec::new(), Vec::new());
        let values = self.values_source(parts.values.take(), place);
        let values = keep(values, &mut problems).flatten();
        let (values, rest) = self.beside_values(values, |loader| {
            loader.rest(&mut parts, place, depth, &mut others)
        });
        let (values_source, values) = keep(values, &mut problems).unwrap_or_default();
        problems.append(&mut others);
        let Rest {
            lock,
            dependencies,
            templates,
        } = rest;
        let schema = parts
            .schema
            .map(|bytes| Source::of_bytes(format!("{place}values.schema.json"), bytes));
        let loaded = Loaded {
            details,
            metadata,
            chart_yaml,
            templates,
            files: parts.files,
            values,
            values_source,
            schema,
            lock,
            dependencies,
            warnings,
        };
        Diagnostics::or(problems, Arc::new(loaded))
    }

    fn metadata(
        &mut self,
        parts: &ChartParts,
        place: &str,
        depth: usize,
    ) -> Result<(Arc<Source>, Arc<Metadata>)> {
        let Some(bytes) = &parts.chart_yaml else {
            let shown = place.trim_end_matches(['/', ':']);
            let shown = if shown.is_empty() { "the chart" } else { shown };
            let message = format!("{shown} is not a chart: it has no Chart.yaml");
            let one = Diagnostic::error(Class::Chart, message);
            return Err(match depth_of(place) {
                0 => one.into(),
                _ => one
                    .note("Helm takes only charts below charts/")
                    .hint("move it, or list it in .helmignore")
                    .into(),
            });
        };
        let source = self.text("Chart.yaml", bytes.clone(), place, MAX_METADATA_BYTES)?;
        let older = match &parts.requirements {
            Some(bytes) => Some(self.text("requirements.yaml", bytes.clone(), place, MAX_METADATA_BYTES)?),
            None => None,
        };
        let role = if depth == 0 {
            ChartRole::Root
        } else {
            ChartRole::Subchart
        };
        let metadata = self.pool.metadata(&source, older.as_ref(), || {
            metadata::parse_with(&source, older.as_ref(), role)
        })?;
        Ok((source, metadata))
    }

    fn values_source(&mut self, bytes: Option<Vec<u8>>, place: &str) -> Result<Option<Arc<Source>>> {
        let source = bytes.map(|bytes| self.text("values.yaml", bytes, place, yaml::Limits::BYTES));
        source.transpose()
    }

    /// Parses a values.yaml while `other` runs.
    fn beside_values<T>(
        &mut self,
        source: Option<Arc<Source>>,
        other: impl FnOnce(&mut Self) -> T,
    ) -> (Result<Values>, T) {
        let Some(source) = source else {
            return (Ok(Default::default()), other(self));
        };
        let (values, other) = match self.pool.values(&source) {
            Some(values) => (Ok(values), other(self)),
            None if source.text().len() < SHARED_BYTES => (read_values(&source), other(self)),
            None => both(|| read_values(&source), || other(self)),
        };
        if let Ok(values) = &values {
            self.pool.keep_values(&source, values);
        }
        (values.map(|values| (Some(source), values)), other)
    }

    /// Reads the other parts of a chart.
    fn rest(
        &mut self,
        parts: &mut ChartParts,
        place: &str,
        depth: usize,
        problems: &mut Vec<Diagnostic>,
    ) -> Rest {
        let older = parts.older_lock.take();
        let older = older.map(|bytes| ("requirements.lock".to_owned(), bytes));
        let lock = keep(self.lock(parts.lock.take().or(older), place), problems);
        let charts = std::mem::take(&mut parts.charts);
        let dependencies = self.subcharts(charts, place, depth, problems);
        let templates = std::mem::take(&mut parts.templates).into_iter();
        let templates = templates.filter_map(|(name, body)| {
            let bytes = keep(body.into_bytes(), problems)?;
            Some(self.template(name, bytes, place))
        });
        Rest {
            lock: lock.flatten(),
            dependencies,
            templates: templates.collect(),
        }
    }

    /// Helm refuses a chart whose lock file it can't parse, and doesn't use it otherwise here.
    fn lock(&mut self, lock: Option<(String, Vec<u8>)>, place: &str) -> Result<Option<Arc<Source>>> {
        let Some((name, bytes)) = lock else {
            return Ok(None);
        };
        let source = self.text(&name, bytes, place, MAX_METADATA_BYTES)?;
        self.pool.check_lock(&source)?;
        Ok(Some(source))
    }

    fn text(&mut self, name: &str, bytes: Vec<u8>, place: &str, limit: usize) -> Result<Arc<Source>> {
        let class = if name == "values.yaml" {
            Class::Values
        } else {
            Class::Chart
        };
        let shown = format!("{place}{name}");
        if bytes.len() > limit {
            let message = format!("{shown} is larger than {}", fsio::size(limit as u64));
            return Err(Diagnostic::error(class, message).into());
        }
        let source = fsio::text_of(&shown, bytes, class)?;
        Ok(self.pool.share(name, source))
    }

    fn template(&mut self, name: String, bytes: Vec<u8>, place: &str) -> Template {
        let source = Source::of_bytes(format!("{place}{name}"), bytes);
        Template {
            source: self.pool.share(&name, source),
            name,
        }
    }

    fn subcharts(
        &mut self,
        charts: BTreeMap<String, Vec<(String, Body)>>,
        place: &str,
        depth: usize,
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<Arc<Loaded>> {
        let charts = charts
            .into_iter()
            .filter(|(name, _)| !name.starts_with(['_', '.']));
        let found = charts.filter_map(|(name, mut files)| {
            let place = format!("{place}charts/{name}");
            let chart = if name.ends_with(".tgz") {
                match files.pop() {
                    Some((inside, body)) if inside.is_empty() => body
                        .into_bytes()
                        .and_then(|bytes| self.archive(bytes.as_slice(), &place, depth + 1)),
                    _ => Err(archive::refused(&place, "it is a folder")),
                }
            } else {
                files.retain(|(inside, _)| !inside.is_empty());
                self.chart(files, &format!("{place}/"), depth + 1)
            };
            keep(chart, problems)
        });
        found.collect()
    }
}

/// The nesting depth of a location.
fn depth_of(place: &str) -> usize {
    place.matches("charts/").count()
}

fn keep<T>(result: Result<T>, problems: &mut Vec<Diagnostic>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(found) => {
            problems.extend(found.into_vec());
            None
        }
    }
}

/// Warnings with Helm's messages.
fn warnings(parts: &ChartParts, details: &Details) -> Vec<Diagnostic> {
    if details.api_version == "v1" {
        return Vec::new();
    }
    let older = parts.requirements.as_ref().map(|_| {
        "Dependencies are handled in Chart.yaml since apiVersion \"v2\". We recommend migrating dependencies to \
         Chart.yaml."
    });
    let lock = parts.older_lock.as_ref().map(|_| {
        "Dependency locking is handled in Chart.lock since apiVersion \"v2\". We recommend migrating to Chart.lock."
    });
    older
        .into_iter()
        .chain(lock)
        .map(|text| Diagnostic::warning(Class::Chart, text))
        .collect()
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;

fn read_values(source: &Arc<Source>) -> Result<Arc<Map>> {
    Ok(Arc::new(values_file::load(source)?))
}
