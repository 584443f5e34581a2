//! `validate`: what charts render to, against the schemas of Kubernetes and of CRDs.
//!
//! An object that an API server would refuse is exit code 1, as a chart that can't be rendered is.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::args::rendering::ValueFlags;
use super::args::validate::ValidateArgs;
use super::chart_location::ChartLocation;
use super::chart_search::{expanded, find_all};
use super::context::{CommandOutcome, CommandResult, Context};
use super::csv;
use super::fetch;
use super::namespace::namespace;
use super::real_paths::{with_real_location, with_real_path};
use super::remote_schemas::schema_store;
use super::remote_values::web_options;
use super::request::{filter, frozen_world, merged_silently};
use super::signals::verb;
use super::validate_report::ValidateReport;
use crate::chart::load::Loaded;
use crate::diag::{Diagnostic, Diagnostics, Result, Severity};
use crate::engine::capabilities::{Capabilities, KubeVersion};
use crate::engine::release::{Release, check_name};
use crate::engine::workers;
use crate::engine::{ChartVersions, ParsedChart, RenderRequest};
use crate::validate::{
    ChartFinding, CrdSchemas, Rule, ValidateOptions, Validated, VersionChoice, validate as validate_chart,
};
use crate::values::schema_documents::SchemaStore;

/// The folder with values files for tests, and how they end.
const CI_FOLDER: &str = "ci";
const CI_FILES: &str = "-values.yaml";

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
    api_versions: Vec<String>,
}

fn run(args: &ValidateArgs, context: &Context<'_>) -> Result<CommandResult> {
    check_name(&args.release_name)?;
    let versions = versions(&args.kube_version)?;
    let mut crds = CrdSchemas::default();
    for path in &args.crds {
        crds.add_path(path)?;
    }
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
        api_versions: csv::fields("--api-versions", &args.api_versions)?,
    };
    // Wrong flags are reported once, not for each chart.
    let _ = shared.request(&args.values)?;
    let charts = charts(args)?;
    context.signals.take_over();
    let validated = shared.in_parallel(&charts);
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

/// The charts: folders are searched, references are fetched later.
fn charts(args: &ValidateArgs) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for name in &args.charts {
        if ChartLocation::of(name, &args.fetch.repositories)? != ChartLocation::Disk {
            out.push(name.clone());
            continue;
        }
        let found = find_all(&expanded(&[PathBuf::from(name)])?)?;
        out.extend(found.iter().map(|path| path.display().to_string()));
    }
    Ok(out)
}

impl Shared<'_> {
    /// The results in the order of the charts.
    fn in_parallel(&self, charts: &[String]) -> Vec<Validated> {
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Validated)>> = Mutex::default();
        let some = || {
            while self.context.signals.caught().is_none() {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(chart) = charts.get(index) else { break };
                let validated = self.validate(chart);
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((index, validated));
            }
        };
        workers(charts.len(), some);
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, validated)| validated).collect()
    }

    fn validate(&self, chart: &str) -> Validated {
        let mut all = Validated::default();
        let path = Path::new(chart);
        match fetch::load(path, &self.args.fetch, self.context) {
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
            false => Vec::new(),
        };
        let flags = &self.args.values;
        if files.is_empty() {
            match self.request(flags) {
                Ok(request) => validate_chart(&parsed, &request, None, &self.options, all),
                Err(problem) => all.findings.extend(unloaded(&problem, &self.options)),
            }
        }
        for file in files {
            let with_file = ValueFlags {
                values: std::iter::once(csv::quoted(&file))
                    .chain(flags.values.clone())
                    .collect(),
                ..flags.clone()
            };
            match self.request(&with_file) {
                Ok(request) => validate_chart(&parsed, &request, Some(&file), &self.options, all),
                Err(problem) => all.findings.extend(unloaded(&problem, &self.options)),
            }
        }
    }

    /// The request of a rendering: always as with `--frozen`, so that results are the same in every run.
    fn request(&self, values: &ValueFlags) -> Result<RenderRequest> {
        let args = self.args;
        let (values, places) = merged_silently(values, &web_options(&args.fetch.registry), self.context)?;
        let (world, seed) = frozen_world();
        Ok(RenderRequest {
            values,
            places,
            release: Release {
                name: args.release_name.clone(),
                namespace: namespace(&args.release.namespace, self.context),
                is_upgrade: args.release.is_upgrade,
                revision: 1,
            },
            capabilities: Capabilities::with(None, &self.api_versions)?,
            skip_schema: args.skip_schema_validation,
            schemas: Arc::clone(&self.schemas),
            world,
            seed: Some(seed),
            lint: false,
            limits: args.limits.limits(),
            cluster: Arc::default(),
            only: None,
            chart_versions: ChartVersions::default(),
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

/// The values files for tests in a chart's folder, sorted.
fn ci_files(chart: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(chart.join(CI_FOLDER));
    let entries = entries.into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path().display().to_string());
    let mut out: Vec<String> = paths.filter(|path| path.ends_with(CI_FILES)).collect();
    out.sort();
    out
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
