//! A chart loaded once and rendered any number of times: [`ParsedChart`].
//!
//! ```
//! use solar_render::engine::{ParsedChart, RenderRequest};
//!
//! # fn main() -> solar_render::diag::Result<()> {
//! let chart = ParsedChart::from_files(vec![
//!     ("Chart.yaml".into(), b"{apiVersion: v2, name: shop, version: 1.0.0}".to_vec()),
//!     ("values.yaml".into(), b"color: red".to_vec()),
//!     ("templates/a.yaml".into(), b"color: {{ .Values.color }} of {{ .Release.Name }}".to_vec()),
//! ])?;
//! // Any number of threads may share the chart.
//! let printed = std::thread::scope(|scope| {
//!     let one = scope.spawn(|| chart.template(&RenderRequest::new("one")));
//!     let two = scope.spawn(|| chart.template(&RenderRequest::new("two").set("color=blue")?));
//!     [one, two].map(|thread| thread.join().unwrap())
//! });
//! let [one, two] = printed;
//! assert_eq!(one?, "---\n# Source: shop/templates/a.yaml\ncolor: red of one\n");
//! assert_eq!(two?, "---\n# Source: shop/templates/a.yaml\ncolor: blue of two\n");
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::locate_error::{Traced, blame};
use super::manifest::{Crd, ManifestFilter, Manifests};
use super::metadata::metadata;
use super::program::{Parsed, Program, ProgramUnit};
use super::release::check_name;
use super::request::{RenderRequest, RenderedChart};
use super::template_error::TemplateError;
use super::{RenderInput, RenderOutput};
use crate::chart::load::{self, Loaded};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::semver::{Constraint, Version};
use crate::values::dependencies::prepare_located;
use crate::values::schema::{self, Level};
use crate::values::{Defaults, Enabled, PreparedValues};

/// A chart, and its templates that have been parsed so far. Shared between threads.
#[derive(Debug)]
pub struct ParsedChart {
    loaded: Arc<Loaded>,
    parsed: Parsed,
}

impl ParsedChart {
    /// Loads a folder or an archive.
    ///
    /// # Errors
    /// Class chart or values: errors in the chart. Class io: an I/O error.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(load::load(path.as_ref())?))
    }

    /// A chart of the bytes of a `.tgz`; `name` is for messages.
    ///
    /// # Errors
    /// As [`ParsedChart::load`].
    pub fn from_archive(name: &str, archive: impl Read) -> Result<Self> {
        Ok(Self::new(load::load_archive(archive, name)?))
    }

    /// A chart of files in memory, with their paths in the chart.
    ///
    /// # Errors
    /// As [`ParsedChart::load`].
    pub fn from_files(files: Vec<(String, Vec<u8>)>) -> Result<Self> {
        Ok(Self::new(load::load_files(files)?))
    }

    /// Wraps a loaded chart.
    pub fn new(loaded: Arc<Loaded>) -> Self {
        Self {
            loaded,
            parsed: Parsed::default(),
        }
    }

    /// The loaded chart.
    pub fn loaded(&self) -> &Arc<Loaded> {
        &self.loaded
    }

    /// What `helm template` prints of the chart: its objects in the order of installation, then its hooks; no CRDs and
    /// no notes. [`ParsedChart::render`] and [`ParsedChart::manifests`] give all parts.
    ///
    /// # Errors
    /// Errors of the chart, the values or a template, and output that is not YAML.
    pub fn template(&self, request: &RenderRequest) -> Result<String> {
        let rendered = self.render(request)?;
        let manifests = self.manifests(request, rendered.texts, false)?;
        Ok(manifests.print(&[], ManifestFilter::default()))
    }

    /// The objects in the texts that the request rendered, sorted; with `all_notes` the notes of subcharts too.
    ///
    /// # Errors
    /// Class template: text that is not YAML or no object, located in the template that printed it.
    pub fn manifests(
        &self,
        request: &RenderRequest,
        texts: Vec<(Arc<str>, String)>,
        all_notes: bool,
    ) -> Result<Manifests> {
        let made = Manifests::new(self.loaded.name(), texts, all_notes);
        made.map_err(|problem| self.blame(request, problem))
    }

    /// Renders the chart: processes dependencies, merges values, validates them against the schemas, and runs the
    /// templates. The first failure of a template ends it, as in Helm; parse errors are reported together.
    ///
    /// # Errors
    /// Errors of the release's name, the chart, the values or a template.
    pub fn render(&self, request: &RenderRequest) -> Result<RenderedChart> {
        check_name(&request.release.name)?;
        self.check_installable(request)?;
        let (rendered, problems) = self.run(request, true)?;
        Diagnostics::or(problems.iter().map(TemplateError::diagnostic).collect(), rendered)
    }

    /// As [`ParsedChart::render`], but continues after a template's failure: returns the output that could be rendered,
    /// and every failure. Charts that Helm refuses to install are rendered too.
    ///
    /// # Errors
    /// Errors of the chart or the values; a parse error of a template is a failure.
    pub fn run(
        &self,
        request: &RenderRequest,
        first_ends: bool,
    ) -> Result<(RenderedChart, Vec<TemplateError>)> {
        let (rendered, problems, _) = self.run_traced(request, first_ends, BTreeSet::new())?;
        Ok((rendered, problems))
    }

    /// Moves errors in rendered texts to the templates that printed them, which are run once more for that. Errors that
    /// can't be located that way are unchanged.
    pub fn blame(&self, request: &RenderRequest, problem: Diagnostics) -> Diagnostics {
        let names = problem.iter().filter_map(|one| one.location.as_ref());
        let names = names.map(|place| Arc::from(place.source.name())).collect();
        match self.run_traced(request, true, names) {
            Ok((.., origins)) => blame(problem, &origins),
            Err(_) => problem,
        }
    }

    /// As [`ParsedChart::run`], and which nodes printed the texts of the templates that are named.
    ///
    /// # Errors
    /// As [`ParsedChart::run`].
    pub fn run_traced(
        &self,
        request: &RenderRequest,
        first_ends: bool,
        traced: BTreeSet<Arc<str>>,
    ) -> Result<(RenderedChart, Vec<TemplateError>, Traced)> {
        let source = self.loaded.values_source.as_ref();
        let own: Vec<Defaults<'_>> = source.map(|source| (0, source)).into_iter().collect();
        let prepared = prepare_located(&self.loaded, &request.values, &|path| {
            request.places.search().find(path, &own)
        })?;
        if !request.skip_schema {
            let places = request.places.search();
            let locate = |path: &[String]| places.find(path, &defaults(&prepared.root, path));
            let level = level(&prepared.root);
            schema::validate_with(&level, &prepared.values, &locate, &*request.schemas)?;
        }
        let crds = crds(&prepared.root);
        let PreparedValues {
            root,
            values,
            warnings,
        } = prepared;
        let mut unit = unit(&root);
        unit.replace_versions(&request.chart_versions);
        if let Some(only) = &request.only {
            unit.keep(only);
        }
        let program = match Program::with(unit, &self.parsed)? {
            Ok(program) => program,
            Err(problems) => {
                let rendered = self.rendered(RenderOutput::default(), crds, warnings);
                return Ok((rendered, problems, Traced::new()));
            }
        };
        let reads_version = Arc::new(AtomicBool::new(false));
        let input = RenderInput {
            values: &values,
            release: &request.release.to_map(),
            capabilities: &|| request.capabilities.to_val_recording(Arc::clone(&reads_version)),
            world: Arc::clone(&request.world),
            seed: request.seed,
            lint: request.lint,
            limits: request.limits.clone(),
            traced,
            cluster: Arc::clone(&request.cluster),
            seeded: Arc::clone(&request.seeded),
        };
        let (mut output, problems) = program.run(&input, first_ends)?;
        let origins = std::mem::take(&mut output.origins);
        let mut rendered = self.rendered(output, crds, warnings);
        rendered.reads_kube_version = reads_version.load(Ordering::Relaxed);
        Ok((rendered, problems, origins))
    }

    fn rendered(&self, output: RenderOutput, crds: Vec<Crd>, prepared: Vec<Diagnostic>) -> RenderedChart {
        let mut warnings: Vec<Diagnostic> = self.loaded.all_warnings().into_iter().cloned().collect();
        warnings.extend(prepared);
        if self.loaded.details.deprecated {
            warnings.push(Diagnostic::warning(Class::Chart, "this chart is deprecated"));
        }
        RenderedChart {
            chart: self.loaded.name().to_owned(),
            texts: output.texts,
            crds,
            impure: output.impure,
            predictable: output.predictable,
            reads_kube_version: false,
            warnings,
        }
    }

    /// Library charts can't be installed, and a chart may require a version of Kubernetes.
    pub(crate) fn check_installable(&self, request: &RenderRequest) -> Result<()> {
        let details = &self.loaded.details;
        if !matches!(details.kind.as_str(), "" | "application") {
            let message = format!("{} charts are not installable", details.kind);
            return Err(Diagnostic::error(Class::Chart, message)
                .hint("render a chart that uses it")
                .into());
        }
        let version = &request.capabilities.kube_version;
        let wanted = &details.kube_version;
        let fits = || match (Constraint::parse(wanted), Version::parse(&version.normalized)) {
            (Ok(constraint), Ok(version)) => constraint.check(&version),
            _ => false,
        };
        if wanted.is_empty() || fits() {
            return Ok(());
        }
        let message = format!(
            "chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {}",
            version.version
        );
        let one = Diagnostic::error(Class::Chart, message);
        Err(Diagnostics::from(
            one.hint("--kube-version sets the version to render for"),
        ))
    }
}

fn level(one: &Enabled) -> Level<'_> {
    Level {
        chart: one.name(),
        schema: one.chart.schema.as_ref(),
        children: one.children.iter().map(level).collect(),
    }
}

/// The values.yaml files of the charts along a path, in ascending precedence.
pub(crate) fn defaults<'a>(root: &'a Enabled, path: &[String]) -> Vec<Defaults<'a>> {
    let mut out: Vec<Defaults<'a>> = Vec::new();
    let mut chart = Some(root);
    for skip in 0.. {
        let Some(one) = chart else { break };
        out.extend(one.chart.values_source.as_ref().map(|source| (skip, source)));
        chart = path
            .get(skip)
            .and_then(|name| one.children.iter().find(|child| child.name() == name));
    }
    out.reverse();
    out
}

/// The engine's view of a chart and its subcharts; the loader limits their nesting.
pub fn unit(one: &Enabled) -> ProgramUnit {
    let templates = one.chart.templates.iter();
    let files = one.chart.files.iter();
    ProgramUnit {
        name: one.name().to_owned(),
        path: one.path.clone(),
        metadata: metadata(&one.details),
        library: one.details.is_library(),
        templates: templates
            .map(|template| (template.name.clone(), Arc::clone(&template.source)))
            .collect(),
        files: files
            .map(|(path, body)| (Arc::from(path.as_str()), body.clone()))
            .collect(),
        children: one.children.iter().map(unit).collect(),
    }
}

/// In Helm's order.
fn crds(root: &Enabled) -> Vec<Crd> {
    root.crds()
        .into_iter()
        .map(|(name, body)| Crd { name, body })
        .collect()
}
