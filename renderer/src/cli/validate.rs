//! `validate`: what charts render to, against the schemas of Kubernetes and of CRDs.
//!
//! An object that an API server would refuse is exit code 1, as a chart that can't be rendered is.

use std::path::Path;
use std::sync::Arc;

use super::args::rendering::ValueFlags;
use super::args::validate::ValidateArgs;
use super::chart_runs::{ci_files, in_parallel, named_charts, with_ci_file};
use super::context::{CommandOutcome, CommandResult, Context};
use super::csv;
use super::fetch;
use super::lookup_files::lookup_objects;
use super::namespace::namespace;
use super::real_paths::{with_real_location, with_real_path};
use super::remote_schemas::schema_store;
use super::remote_values::web_options;
use super::request::{filter, frozen_request, merged_silently};
use super::signals::verb;
use super::validate_report::ValidateReport;
use crate::chart::load::Loaded;
use crate::diag::{Diagnostic, Diagnostics, Result, Severity};
use crate::engine::capabilities::{Capabilities, KubeVersion};
use crate::engine::release::{Release, check_name};
use crate::engine::{ParsedChart, RenderRequest};
use crate::funcs::ClusterObjects;
use crate::validate::{
    ChartFinding, CrdSchemas, Rule, ValidateOptions, Validated, VersionChoice, validate as validate_chart,
};
use crate::values::schema_documents::SchemaStore;

/// `validate`
pub(crate) fn validate(args: &ValidateArgs, context: &Context<'_>) -> CommandResult {
    match run(args, context) {
        Ok(done) => done,
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

/// What all charts share.
struct Shared<'c> {
    args: &'c ValidateArgs,
    context: &'c Context<'c>,
    options: ValidateOptions<'c>,
    schemas: Arc<dyn SchemaStore>,
    capabilities: Capabilities,
    cluster: Arc<ClusterObjects>,
}

fn run(args: &ValidateArgs, context: &Context<'_>) -> Result<CommandResult> {
    check_name(&args.release_name)?;
    let versions = versions(&args.kube_version)?;
    let mut crds = CrdSchemas::default();
    for path in &args.crds {
        crds.add_path(path)?;
    }
    let api_versions = csv::fields("--api-versions", &args.api_versions)?;
    let capabilities = Capabilities::with(None, &api_versions)?;
    let shared = Shared {
        args,
        context,
        options: ValidateOptions {
            versions: &versions,
            crds: &crds,
            hooks: filter(args.hooks),
            requires_schemas: args.require_schemas,
        },
        schemas: schema_store(&args.schemas, web_options(&args.fetch.registry), false, context)?,
        cluster: lookup_objects(&args.lookup, &[&args.values], &capabilities, context)?,
        capabilities,
    };
    // Wrong flags are reported once, not for each chart.
    let _ = shared.request(&args.values)?;
    let charts = named_charts(&args.charts, &args.fetch)?;
    context.signals.take_over();
    let validated = in_parallel(&charts, context.signals, &|chart| shared.validate(chart));
    if let Some(class) = context.signals.caught() {
        return Err(Diagnostic::error(class, format!("{} by a signal", verb(class))).into());
    }
    let report = ValidateReport {
        versions: versions.iter().map(|(version, _)| version.number()).collect(),
        charts: charts.into_iter().zip(validated).collect(),
        strict: args.strict,
    };
    Ok(concluded(&report, context))
}

/// The result: excerpts on standard error, unless another format has them.
fn concluded(report: &ValidateReport, context: &Context<'_>) -> CommandResult {
    let formatted = report.formatted(context.printer.format());
    if formatted.is_none() {
        print_findings(report, context);
    }
    CommandResult::Findings {
        json: report.json(),
        text: formatted.unwrap_or_else(|| report.text(context.printer.is_quiet())),
        problem: report.problem(),
    }
}

/// Prints the findings with excerpts.
pub(super) fn print_findings(report: &ValidateReport, context: &Context<'_>) {
    for (chart, validated) in &report.charts {
        for warning in &validated.warnings {
            context.printer.warn(warning);
        }
        for one in &validated.findings {
            let drawn = report.diagnostic(one);
            match one.severity {
                Severity::Error => context.printer.error(&drawn),
                Severity::Warning => context.printer.warn(&drawn),
            }
        }
        if validated.omitted > 0 {
            let line = format!("{chart}: {} more findings are not listed", validated.omitted);
            context.printer.notice(&line);
        }
    }
}

/// The versions of `--kube-version`: their schemas, and what templates see.
pub(super) fn versions(given: &[String]) -> Result<Vec<(VersionChoice, KubeVersion)>> {
    let given = csv::fields("--kube-version", given)?;
    let mut out: Vec<(VersionChoice, KubeVersion)> = Vec::new();
    for text in &given {
        let choice = VersionChoice::of(text)?;
        let kube_version = Capabilities::with(Some(text), &[])?.kube_version;
        if !out.iter().any(|(known, _)| *known == choice) {
            out.push((choice, kube_version));
        }
    }
    if out.is_empty() {
        out.push((VersionChoice::newest(), Capabilities::default().kube_version));
    }
    Ok(out)
}

impl Shared<'_> {
    fn validate(&self, chart: &str) -> Validated {
        let mut all = Validated::default();
        let path = Path::new(chart);
        match fetch::load(path, &self.args.fetch, self.context) {
            // It has no objects of its own.
            Ok(loaded) if loaded.details.is_library() => {}
            Ok(loaded) => self.validate_loaded(&loaded, path, &mut all),
            Err(problem) => all.findings.extend(unloaded(&problem, &self.options)),
        }
        located(&mut all, path);
        all
    }

    fn validate_loaded(&self, loaded: &Arc<Loaded>, path: &Path, all: &mut Validated) {
        let parsed = ParsedChart::new(Arc::clone(loaded));
        let files = match self.args.ci {
            true => ci_files(path),
            false => Ok(Vec::new()),
        };
        let files = match files {
            Ok(files) => files,
            Err(problem) => return all.findings.extend(unloaded(&problem, &self.options)),
        };
        let flags = &self.args.values;
        let mut add = |flags: &ValueFlags, file: Option<&String>| match self.request(flags) {
            Ok(request) => validate_chart(&parsed, &request, file.map(String::as_str), &self.options, all),
            Err(problem) => all.findings.extend(unloaded(&problem, &self.options)),
        };
        if files.is_empty() {
            add(flags, None);
        }
        for file in &files {
            add(&with_ci_file(flags, file), Some(file));
        }
    }

    /// The request of a rendering: always as with `--frozen`, so that results are the same in every run.
    fn request(&self, values: &ValueFlags) -> Result<RenderRequest> {
        let args = self.args;
        let (values, places) = merged_silently(values, &web_options(&args.fetch.registry), self.context)?;
        Ok(RenderRequest {
            values,
            places,
            release: Release {
                name: args.release_name.clone(),
                namespace: namespace(&args.release.namespace, self.context),
                is_upgrade: args.release.is_upgrade,
                revision: 1,
            },
            capabilities: self.capabilities.clone(),
            skip_schema: args.skip_schema_validation,
            schemas: Arc::clone(&self.schemas),
            limits: args.limits.limits(),
            cluster: Arc::<ClusterObjects>::clone(&self.cluster),
            ..frozen_request(&args.release_name, self.context)
        })
    }
}

/// Replaces template names by file paths.
pub(super) fn located(all: &mut Validated, path: &Path) {
    for one in &mut all.findings {
        one.location = one.location.take().map(|at| with_real_location(at, path));
        for (_, at) in &mut one.trace {
            *at = at.take().map(|at| with_real_location(at, path));
        }
    }
    let warnings = std::mem::take(&mut all.warnings).into_iter();
    all.warnings = warnings.map(|one| with_real_path(one, path)).collect();
}

/// Findings about a chart that can't be loaded.
fn unloaded(problem: &Diagnostics, options: &ValidateOptions<'_>) -> Vec<ChartFinding> {
    let versions: Vec<&'static str> = options
        .versions
        .iter()
        .map(|(version, _)| version.number())
        .collect();
    let all = problem.iter();
    all.map(|one| ChartFinding::of_diagnostic(Rule::Rendering, one, versions.clone()))
        .collect()
}
