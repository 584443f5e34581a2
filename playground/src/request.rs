//! What the page asks for.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use solar_render::chart::archive::read_files;
use solar_render::chart::ignore::Ignore;
use solar_render::diag::{Class, Diagnostic, Diagnostics, Result};
use solar_render::engine::manifest::ManifestFilter;
use solar_render::engine::{Limits, ParsedChart, RenderRequest};
use solar_render::source::Source;

use crate::page_world::PageWorld;
use crate::response::Response;

/// The memory that the values of a rendering may take, in bytes: a page has less of it than a machine.
const MEMORY: usize = 256 << 20;
/// The name of the user's values in messages. No file of a chart has it.
pub(crate) const VALUES: &str = "values given";

/// A request of the page.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "camelCase")]
pub enum Request {
    /// Renders a chart.
    Render(Rendering),
    /// Unpacks a `.tgz`.
    Unpack(PackedChart),
}

/// A chart to be rendered, and how.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rendering {
    /// The chart's files.
    pub files: Vec<ChartFile>,
    /// The text of a values file.
    pub values: String,
    /// The release's name.
    pub release: String,
    /// Its namespace.
    pub namespace: String,
    /// `1.31`; Helm's default if it is empty.
    pub kube_version: String,
    /// Whether CRDs are printed.
    pub include_crds: bool,
    /// The time, in milliseconds since 1970.
    pub now: u64,
    /// Random bytes in base64, from which all others are made.
    pub random: String,
}

/// A chart's archive.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PackedChart {
    /// Its name, for messages.
    pub name: String,
    /// Its bytes in base64.
    pub archive: String,
}

/// A file of a chart: one of text and bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChartFile {
    /// Its path in the chart.
    pub path: String,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64, if they are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
}

impl ChartFile {
    fn new(path: String, bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self {
                path,
                text: Some(text),
                bytes: None,
            },
            Err(error) => Self {
                path,
                text: None,
                bytes: Some(STANDARD.encode(error.as_bytes())),
            },
        }
    }

    fn into_bytes(self) -> Result<(String, Vec<u8>)> {
        let bytes = match (self.text, self.bytes) {
            (Some(text), _) => text.into_bytes(),
            (None, bytes) => decode(&self.path, &bytes.unwrap_or_default())?,
        };
        Ok((self.path, bytes))
    }
}

fn decode(name: &str, text: &str) -> Result<Vec<u8>> {
    STANDARD
        .decode(text)
        .map_err(|error| Diagnostic::error(Class::Usage, format!("{name} is not base64: {error}")).into())
}

impl Request {
    pub(crate) fn respond(self) -> Response {
        let done = match self {
            Self::Render(rendering) => rendering.respond(),
            Self::Unpack(chart) => chart.respond(),
        };
        done.unwrap_or_else(|problem| Response::failed(&problem))
    }
}

impl Rendering {
    fn respond(self) -> Result<Response> {
        let files = not_ignored(self.files)?.into_iter().map(ChartFile::into_bytes);
        let chart = ParsedChart::from_files(files.collect::<Result<_>>()?)?;
        let mut limits = Limits::default();
        limits.memory = MEMORY;
        let world = PageWorld::new(self.now, decode("random", &self.random)?);
        let request = RenderRequest::new(&self.release)
            .namespace(self.namespace)
            .kube_version(&self.kube_version)?
            .values_yaml(VALUES, &self.values)?
            .limits(limits)
            .world(Arc::new(world));
        let inside = |problem: Diagnostics| in_the_chart(problem, chart.loaded().name());
        let mut rendered = chart.render(&request).map_err(inside)?;
        let texts = std::mem::take(&mut rendered.texts);
        let manifests = chart.manifests(&request, texts, false).map_err(inside)?;
        let crds = match self.include_crds {
            true => rendered.crds.as_slice(),
            false => &[],
        };
        Ok(Response {
            output: Some(manifests.print(crds, ManifestFilter::default())),
            notes: manifests.notes.clone(),
            objects: manifests.manifests.len() + manifests.hooks.len() + crds.len(),
            ..Response::with(&rendered.warnings)
        })
    }
}

impl PackedChart {
    fn respond(self) -> Result<Response> {
        let bytes = decode(&self.name, &self.archive)?;
        let files = read_files(bytes.as_slice(), &self.name)?.into_iter();
        Ok(Response {
            files: files.map(|(path, bytes)| ChartFile::new(path, bytes)).collect(),
            ..Response::default()
        })
    }
}

/// The files that `.helmignore` doesn't exclude. It is applied to archives, too: what Helm packed has no others.
fn not_ignored(mut files: Vec<ChartFile>) -> Result<Vec<ChartFile>> {
    let rules = files.iter().find(|file| file.path == ".helmignore");
    let ignore = match rules.and_then(|file| file.text.as_ref()) {
        Some(text) => Ignore::parse(&Source::new(".helmignore", text.as_str()))?,
        None => Ignore::default(),
    };
    files.retain(|ChartFile { path, .. }| {
        let mut folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        !folders.any(|folder| ignore.ignores(folder, true)) && !ignore.ignores(path, false)
    });
    Ok(files)
}

/// Rendered texts have full names, `<chart>/templates/…`; the page knows paths in the chart.
fn in_the_chart(problem: Diagnostics, chart: &str) -> Diagnostics {
    let prefix = format!("{chart}/");
    let shorten = |one: &mut solar_render::source::Location| {
        if let Some(path) = one.source.name().strip_prefix(&prefix) {
            one.source = one.source.renamed(path);
        }
    };
    let list = problem.into_vec().into_iter().map(|mut one| {
        one.location.iter_mut().for_each(shorten);
        one.trace
            .iter_mut()
            .filter_map(|(_, at)| at.as_mut())
            .for_each(shorten);
        one
    });
    list.collect()
}
