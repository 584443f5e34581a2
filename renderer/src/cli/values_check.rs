//! `values check`: keys of values that nothing reads, and values that templates read and nothing sets.
//!
//! A given key that nothing reads is exit code 1. What is wrong with the chart itself is a warning.

use std::path::Path;
use std::sync::Arc;

use super::args::rendering::ValueFlags;
use super::args::values::ValuesCheckArgs;
use super::chart_runs::{ci_files, in_parallel, named_charts, with_ci_file};
use super::context::{CommandOutcome, CommandResult, Context};
use super::fetch;
use super::real_paths::with_real_path;
use super::remote_values::web_options;
use super::request::merged_silently;
use super::signals::verb;
use super::values_check_report::{CheckedChart, ValuesReport};
use crate::chart::load::Loaded;
use crate::diag::{Diagnostic, Result, Severity};
use crate::lint::value_check::{GivenValues, Scope, ValueFinding, check as check_values};

/// `values check`
pub(crate) fn check(args: &ValuesCheckArgs, context: &Context<'_>) -> CommandResult {
    match run(args, context) {
        Ok(done) => done,
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

fn run(args: &ValuesCheckArgs, context: &Context<'_>) -> Result<CommandResult> {
    // Wrong flags are reported once, not for each chart.
    let given = given(&args.values, None, args, context)?;
    for warning in given.origins.warnings() {
        context.printer.warn(&warning);
    }
    let charts = named_charts(&args.charts, &args.fetch)?;
    context.signals.take_over();
    let checked = in_parallel(&charts, context.signals, &|chart| {
        check_chart(chart, &given, args, context)
    });
    if let Some(class) = context.signals.caught() {
        return Err(Diagnostic::error(class, format!("{} by a signal", verb(class))).into());
    }
    let report = ValuesReport {
        charts: charts.into_iter().zip(checked).collect(),
        strict: args.strict,
    };
    let formatted = report.formatted(context.printer.format());
    if formatted.is_none() {
        print_findings(&report, context);
    }
    Ok(CommandResult::Findings {
        json: report.json(),
        text: formatted.unwrap_or_else(|| report.text(context.printer.is_quiet())),
        problem: report.problem(),
    })
}

/// Prints the findings with excerpts.
fn print_findings(report: &ValuesReport, context: &Context<'_>) {
    for one in report.diagnostics() {
        match one.severity {
            Severity::Error => context.printer.error(&one),
            Severity::Warning => context.printer.warn(&one),
        }
    }
}

fn given(
    flags: &ValueFlags,
    file: Option<String>,
    args: &ValuesCheckArgs,
    context: &Context<'_>,
) -> Result<GivenValues> {
    let merged = merged_silently(flags, &web_options(&args.fetch.registry), context)?;
    Ok(GivenValues::new(file, merged))
}

fn check_chart(
    chart: &str,
    given: &GivenValues,
    args: &ValuesCheckArgs,
    context: &Context<'_>,
) -> CheckedChart {
    let path = Path::new(chart);
    let found = fetch::load(path, &args.fetch, context)
        .and_then(|loaded| check_loaded(&loaded, path, given, args, context));
    match found {
        Ok(mut findings) => {
            for one in &mut findings {
                one.diagnostic = with_real_path(one.diagnostic.clone(), path);
            }
            CheckedChart {
                findings,
                problem: None,
            }
        }
        Err(problem) => CheckedChart {
            findings: Vec::new(),
            problem: Some(problem),
        },
    }
}

fn check_loaded(
    loaded: &Arc<Loaded>,
    path: &Path,
    flags_only: &GivenValues,
    args: &ValuesCheckArgs,
    context: &Context<'_>,
) -> Result<Vec<ValueFinding>> {
    let mut runs = Vec::new();
    let files = match args.ci {
        true => ci_files(path)?,
        false => Vec::new(),
    };
    for file in files {
        let with_file = with_ci_file(&args.values, &file);
        runs.push(given(&with_file, Some(file), args, context)?);
    }
    if runs.is_empty() {
        runs.push(flags_only.clone());
    }
    let scope = match args.given_only {
        true => Scope::Given,
        false => Scope::GivenAndChart,
    };
    check_values(loaded, &runs, scope)
}
