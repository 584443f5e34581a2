//! A chart's objects: rendered once, checked for every version, and each finding at the template's line.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::crds::CrdSchemas;
use super::finding::{ChartFinding, Rule, Violation};
use super::kubernetes::VersionChoice;
use super::object::{ObjectId, objects};
use crate::diag::{Class, Diagnostics, Result, Severity};
use crate::engine::capabilities::KubeVersion;
use crate::engine::manifest::{Manifest, ManifestFilter};
use crate::engine::{ParsedChart, RenderRequest, word_at};
use crate::source::Location;
use crate::template::Origin;
use crate::yaml::{self, Document};

/// The name of a text that `tpl` renders, as in Helm.
const TPL_NAME: &str = "gotpl";
/// The most findings of a chart that are kept; further ones are only counted.
pub const MAX_FINDINGS: usize = 1_000;

/// What objects are checked against.
#[non_exhaustive]
pub struct ValidateOptions<'o> {
    /// The versions of Kubernetes: their schemas, and what templates see.
    pub versions: &'o [(VersionChoice, KubeVersion)],
    /// CRDs that are given, besides the chart's own.
    pub crds: &'o CrdSchemas,
    /// Which hooks are checked.
    pub hooks: ManifestFilter,
    /// Whether a kind without a schema is an error.
    pub requires_schemas: bool,
}

/// What was found in a chart.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Validated {
    /// How many objects were checked, of all renderings.
    pub objects: usize,
    /// How often the chart was rendered.
    pub renderings: usize,
    /// What is wrong, in the order of the templates' output.
    pub findings: Vec<ChartFinding>,
    /// How many more findings there are.
    pub omitted: usize,
    /// Warnings about the chart.
    pub warnings: Vec<crate::diag::Diagnostic>,
}

/// What a rendering gave, parsed.
struct Rendering {
    request: RenderRequest,
    documents: Vec<(Manifest, Document)>,
    crds: CrdSchemas,
    reads_version: bool,
    pending: Vec<Pending>,
}

/// A violation whose template is not known yet.
struct Pending {
    document: usize,
    object: ObjectId,
    violation: Violation,
    versions: Vec<&'static str>,
}

/// Checks what a chart renders to. `values` is the values file of `ci/` that the request has, for the findings. What is
/// found is added to `all`.
pub fn validate(
    chart: &ParsedChart,
    request: &RenderRequest,
    values: Option<&str>,
    options: &ValidateOptions<'_>,
    all: &mut Validated,
) {
    let mut current: Option<Rendering> = None;
    for (version, kube_version) in options.versions {
        let mut request = request.clone();
        request.capabilities.kube_version = kube_version.clone();
        if current.as_ref().is_none_or(|rendering| rendering.reads_version) {
            if let Some(done) = current.take() {
                done.locate(chart, values, all);
            }
            match Rendering::of(chart, request.clone(), options.hooks, all) {
                Ok(rendering) => {
                    all.objects += rendering.count();
                    current = Some(rendering);
                }
                Err(problem) => refused(&problem, *version, values, all),
            }
        } else if let Err(problem) = chart.check_installable(&request) {
            refused(&problem, *version, values, all);
            continue;
        }
        if let Some(rendering) = &mut current {
            rendering.check(*version, options);
        }
    }
    if let Some(done) = current {
        done.locate(chart, values, all);
    }
}

/// Findings about a chart that can't be rendered.
fn refused(problem: &Diagnostics, version: VersionChoice, values: Option<&str>, all: &mut Validated) {
    for one in problem.iter() {
        all.add(ChartFinding {
            values: values.map(str::to_owned).into_iter().collect(),
            ..ChartFinding::of_diagnostic(Rule::Rendering, one, vec![version.number()])
        });
    }
}

impl Rendering {
    fn of(
        chart: &ParsedChart,
        request: RenderRequest,
        hooks: ManifestFilter,
        all: &mut Validated,
    ) -> Result<Self> {
        let rendered = chart.render(&request)?;
        all.renderings += 1;
        if all.renderings == 1 {
            all.warnings = rendered.warnings;
        }
        let mut crds = CrdSchemas::default();
        for crd in &rendered.crds {
            crds.add(&crd.name, &crd.body.text());
        }
        let manifests = chart.manifests(&request, rendered.texts, false)?;
        let mut documents = Vec::new();
        for manifest in manifests.manifests.iter().chain(manifests.chosen_hooks(hooks)) {
            if manifest.kind == "CustomResourceDefinition" {
                crds.add(&manifest.source, manifest.text());
            }
            let parsed =
                yaml::parse_document(manifest.source_text(), Class::Template, &yaml::Limits::default());
            documents.push((manifest.clone(), parsed?));
        }
        Ok(Self {
            request,
            documents,
            crds,
            reads_version: rendered.reads_kube_version,
            pending: Vec::new(),
        })
    }

    fn count(&self) -> usize {
        let all = self.documents.iter();
        all.map(|(_, document)| objects(&document.root).len()).sum()
    }

    /// Collects what is wrong for a version.
    fn check(&mut self, version: VersionChoice, options: &ValidateOptions<'_>) {
        let known = self.pending.len();
        let crds = [&self.crds, options.crds];
        let mut found = Vec::new();
        for (number, (_, document)) in self.documents.iter().enumerate() {
            let objects = objects(&document.root);
            if let Some(first) = objects.first() {
                let duplicates = document.duplicates.iter().map(duplicate);
                found.extend(duplicates.map(|violation| (number, first.id(), violation)));
            }
            for object in &objects {
                let violations = object.check(&crds, version).into_iter();
                found.extend(violations.map(|violation| (number, object.id(), violation)));
            }
        }
        for (document, object, mut violation) in found {
            if violation.rule == Rule::NoSchema && options.requires_schemas {
                violation.severity = Severity::Error;
            }
            let is_same = |one: &&mut Pending| {
                one.document == document
                    && one.object == object
                    && one.violation.span == violation.span
                    && one.violation.message == violation.message
                    && one.violation.path == violation.path
            };
            let before = self.pending.iter_mut().take(known);
            match before.into_iter().find(is_same) {
                Some(one) => one.versions.push(version.number()),
                None => self.pending.push(Pending {
                    document,
                    object,
                    violation,
                    versions: vec![version.number()],
                }),
            }
        }
    }

    /// Finds the templates' lines: the templates that printed something wrong are run once more for that.
    fn locate(self, chart: &ParsedChart, values: Option<&str>, all: &mut Validated) {
        let Self {
            request,
            documents,
            pending,
            ..
        } = self;
        let source = |one: &Pending| documents.get(one.document).map(|(manifest, _)| manifest);
        let names: BTreeSet<Arc<str>> = pending
            .iter()
            .filter_map(|one| Some(Arc::clone(&source(one)?.source)))
            .collect();
        if names.is_empty() {
            return;
        }
        let traced = chart.run_traced(&request, true, names);
        let origins = traced.map(|(.., origins)| origins).unwrap_or_default();
        for one in pending {
            let Some(manifest) = source(&one) else { continue };
            let (line, column) = manifest.position(one.violation.span.start);
            let origin = origins
                .get(&manifest.source)
                .and_then(|origins| origins.find(line, column));
            all.add(one.finding(manifest, origin, values));
        }
    }
}

/// The violation of a key that is set twice.
fn duplicate(one: &yaml::DuplicateKey) -> Violation {
    let span = one.location.span;
    let message = format!("the field `{}` is set twice", one.key);
    Violation::error(Rule::DuplicateField, &one.key, span, message)
        .note("an API server refuses it in strict validation; Helm keeps the last")
}

impl Pending {
    fn finding(self, manifest: &Manifest, origin: Option<Origin>, values: Option<&str>) -> ChartFinding {
        let Self {
            object,
            violation,
            versions,
            ..
        } = self;
        let Violation {
            rule,
            severity,
            path,
            message,
            span,
            notes,
            hints,
        } = violation;
        let before = manifest.text().get(..span.start as usize).unwrap_or("");
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = manifest.text().get(start..).unwrap_or("").lines().next();
        let mut notes = notes;
        let (location, trace) = origin.map_or_else(Default::default, |origin| in_a_file(origin, &mut notes));
        ChartFinding {
            rule,
            severity,
            class: Class::Chart,
            api_version: object.api_version,
            // Secrets are never printed.
            printed: line
                .map(|line| line.trim().to_owned())
                .filter(|line| !line.is_empty() && object.kind != "Secret"),
            kind: object.kind,
            name: object.name,
            field: path,
            message,
            location,
            trace,
            versions,
            values: values.map(str::to_owned).into_iter().collect(),
            notes,
            hints,
        }
    }
}

/// The location in a file of the chart. A text that `tpl` renders is none: there it is the call, and a note has the line.
fn in_a_file(origin: Origin, notes: &mut Vec<String>) -> (Option<Location>, Vec<(String, Option<Location>)>) {
    let Origin { mut location, trace } = origin;
    let mut rest = trace.into_iter();
    while location.source.name() == TPL_NAME {
        let Some((_, caller)) = rest.next() else { break };
        notes.push(format!(
            "line {} of the text that tpl renders",
            location.position().line
        ));
        location = caller;
    }
    let trace = rest.map(|(name, at)| (format!("included as {name:?}"), Some(at)));
    (Some(word_at(location)), trace.collect())
}

impl Validated {
    /// Adds a finding, or its versions and values to one that is the same.
    fn add(&mut self, new: ChartFinding) {
        let at = |one: &ChartFinding| one.location.as_ref().map(ToString::to_string);
        let place = at(&new);
        let is_same = |one: &&mut ChartFinding| {
            one.rule == new.rule
                && one.kind == new.kind
                && one.name == new.name
                && one.field == new.field
                && one.message == new.message
                && at(one) == place
        };
        if let Some(known) = self.findings.iter_mut().find(is_same) {
            for version in new.versions {
                if !known.versions.contains(&version) {
                    known.versions.push(version);
                }
            }
            for name in new.values {
                if !known.values.contains(&name) {
                    known.values.push(name);
                }
            }
            return;
        }
        match self.findings.len() < MAX_FINDINGS {
            true => self.findings.push(new),
            false => self.omitted += 1,
        }
    }
}
