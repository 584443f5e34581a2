//! `lint`: Helm's lines on standard output, everything with excerpts on standard error.
//!
//! Helm's findings decide the exit code: 1 if a chart fails, with `--strict` also on warnings. Our own, such as
//! undefined values, are reported on standard error and with `-o json`; they never fail a chart that Helm accepts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::args::lint::LintArgs;
use super::chart_files::write_chart;
use super::chart_search::with_charts_below;
use super::context::{CommandOutcome, CommandResult, Context};
use super::input::{chart_of_config, is_config};
use super::lint_report;
use super::namespace::namespace;
use super::printer::to_stderr;
use super::progress::{CLEARED, bar};
use super::real_paths::{with_real_location, with_real_path};
use super::remote_schemas::schema_store;
use super::request::merged;
use crate::chart::MAX_CHART_DEPTH;
use crate::diag::{Class, Diagnostic, Result, Severity as Grave};
use crate::engine::capabilities::Capabilities;
use crate::fsio;
use crate::lint::{self, Finding, LintOptions, LintReport, Rule, Severity, rules};
use crate::oci::ClientOptions;
use crate::report::documents::{Document as _, RuleEntry, RulesDocument};

/// `lint`
pub(crate) fn lint(args: &LintArgs, context: &Context<'_>) -> CommandResult {
    if args.rules {
        return rule_table();
    }
    let options = match options(args, context) {
        Ok(options) => options,
        Err(problem) => return CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    };
    let charts = with_charts_below(&args.paths, context);
    let mut paths = charts.clone();
    if args.with_subcharts {
        for path in &charts {
            subcharts(&clean(&path.join("charts")), 0, &mut paths);
        }
    }
    let mut reports = lint_all(&paths, &options, context);
    if args.skip_undefined {
        for report in &mut reports {
            report.findings.retain(|one| one.rule != &rules::UNDEFINED_VALUE);
        }
    }
    let (mut text, end) = lint::print(&reports, args.strict, context.printer.is_quiet());
    let formatted = lint_report::formatted(&reports, args.strict, context.printer.format());
    if formatted.is_none() {
        print_findings(&reports, context);
    }
    let json = lint_report::json(&reports, args.strict);
    let failed = reports.iter().any(|one| one.fails(args.strict));
    if !failed && (!context.printer.is_quiet() || reports.iter().any(LintReport::has_warnings)) {
        text.push_str(&format!("{end}\n"));
    }
    CommandResult::Findings {
        json,
        text: formatted.unwrap_or(text),
        problem: failed.then(|| Diagnostic::error(Class::Chart, end).into()),
    }
}

fn lint_all(paths: &[PathBuf], options: &LintOptions, context: &Context<'_>) -> Vec<LintReport> {
    let shows = context.printer.shows_progress() && paths.len() > 1;
    let lint_one = |(number, path): (usize, &PathBuf)| {
        if shows {
            to_stderr(&bar(number, paths.len()));
        }
        let shown = path.display().to_string();
        match is_config(path) {
            true => lint_config(path, &shown, options),
            false => located(lint::lint(path, &shown, options), path),
        }
    };
    let reports = paths.iter().enumerate().map(lint_one).collect();
    if shows {
        to_stderr(CLEARED);
    }
    reports
}

/// Replaces template names by file paths.
fn located(mut report: LintReport, root: &Path) -> LintReport {
    for one in &mut report.findings {
        one.location = one.location.take().map(|place| with_real_location(place, root));
        one.diagnostic = one.diagnostic.take().map(|drawn| with_real_path(drawn, root));
    }
    report
}

/// Lints the chart of a config.
fn lint_config(config: &Path, shown: &str, options: &LintOptions) -> LintReport {
    let linted = chart_of_config(config).and_then(|chart| {
        let folder = tempfile::tempdir()
            .map_err(|error| fsio::cannot("make", Path::new("a temporary folder"), &error, Class::Io))?;
        write_chart(&chart, folder.path())?;
        Ok(lint::lint(folder.path(), shown, options))
    });
    linted.unwrap_or_else(|problem| LintReport {
        chart: shown.to_owned(),
        findings: problem.iter().map(unreadable).collect(),
        refused: None,
    })
}

fn unreadable(problem: &Diagnostic) -> Finding {
    Finding {
        severity: Severity::Error,
        path: "config".to_owned(),
        message: problem.message.clone(),
        rule: &rules::CHART_LOAD,
        location: problem.location.clone(),
        is_helms: true,
        diagnostic: Some(problem.clone()),
    }
}

/// Prints the findings with excerpts; with several charts, below the chart's path.
fn print_findings(reports: &[LintReport], context: &Context<'_>) {
    let mut known = BTreeSet::new();
    for report in reports {
        let mut is_named = reports.len() == 1 || context.printer.is_quiet();
        for one in &report.findings {
            let drawn = one.to_diagnostic();
            if !is_drawn(one) {
                if one.severity != Severity::Info {
                    context.printer.annotate(&drawn, Some(&report.chart));
                }
                continue;
            }
            // Helm reports the error of one file for several files.
            if let Some(place) = &drawn.location
                && !known.insert((place.to_string(), drawn.message.clone()))
            {
                continue;
            }
            if !std::mem::replace(&mut is_named, true) {
                to_stderr(&format!("==> {}\n", report.chart));
            }
            match drawn.severity {
                Grave::Error => context.printer.error(&drawn),
                Grave::Warning => context.printer.warn(&drawn),
            }
        }
    }
}

/// `lint --rules`
fn rule_table() -> CommandResult {
    let mut text = String::new();
    let rules = rules::RULES.iter().map(|rule| {
        let Rule {
            id,
            severity,
            origin,
            check,
            doc,
        } = rule;
        let severity = severity.as_str();
        text.push_str(&format!("{id:<24} {severity:<8} {doc}\n"));
        RuleEntry {
            id,
            severity,
            reported_by: origin.as_str(),
            check: check.as_str(),
            doc,
        }
    });
    let document = RulesDocument {
        rules: rules.collect(),
    };
    CommandResult::Document {
        json: document.to_json(),
        text,
    }
}

/// Whether the diagnostic adds to Helm's line.
fn is_drawn(one: &Finding) -> bool {
    !one.is_helms
        || one
            .diagnostic
            .as_ref()
            .is_some_and(|drawn| drawn.location.is_some())
}

fn options(args: &LintArgs, context: &Context<'_>) -> Result<LintOptions> {
    let capabilities = Capabilities::with(Some(&args.kube_version), &[])?;
    let (values, places) = merged(&args.values, &ClientOptions::default(), context)?;
    Ok(LintOptions {
        values,
        places,
        namespace: namespace(&args.namespace, context),
        capabilities,
        skip_schema: args.skip_schema_validation,
        schemas: schema_store(&args.schemas, ClientOptions::default(), false, context)?,
        limits: args.limits.limits(),
    })
}

/// Charts in a folder, in the order of Go's `filepath.Walk`; links are not followed.
fn subcharts(folder: &Path, depth: usize, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut entries: Vec<_> = entries.filter_map(std::result::Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if name == "Chart.yaml" {
            out.push(folder.to_owned());
        } else if name.ends_with(".tgz") || name.ends_with(".tar.gz") {
            out.push(path.clone());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth < MAX_CHART_DEPTH {
            subcharts(&path, depth + 1, out);
        }
    }
}

fn clean(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| !matches!(part, std::path::Component::CurDir))
        .collect()
}
