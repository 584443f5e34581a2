//! What `lint` found as JSON, JUnit's XML, SARIF and their like.

use std::collections::BTreeSet;

use super::args::global::OutputFormat;
use super::finding_formats::{self, ReportedFinding};
use crate::diag::{Class, Diagnostic};
use crate::lint::{Finding, LintReport, Severity, rules};
use crate::report::documents::{Document as _, FindingEntry, LintDocument, LintedEntry};
use crate::source::Location;

/// The findings in a form other than text and JSON, if it is one. Those that are for information alone are left out.
pub(super) fn formatted(reports: &[LintReport], strict: bool, format: OutputFormat) -> Option<String> {
    finding_formats::formatted(format, || reported(reports), || junit(reports, strict))
}

fn reported(reports: &[LintReport]) -> Vec<ReportedFinding> {
    let mut known = BTreeSet::new();
    let mut out = Vec::new();
    for report in reports {
        let chart_file = finding_formats::chart_file(&report.chart);
        let findings = report.findings.iter().filter(|one| one.severity > Severity::Info);
        for one in findings {
            let diagnostic = located(one);
            let place = diagnostic.location.as_ref().map(ToString::to_string);
            // Helm reports the error of one file for several files.
            if let Some(place) = place
                && !known.insert((place, diagnostic.message.clone()))
            {
                continue;
            }
            out.push(ReportedFinding {
                rule: one.rule.id,
                rule_doc: one.rule.doc,
                diagnostic,
                chart_file: chart_file.clone(),
            });
        }
        out.extend(refusal(report).map(|diagnostic| ReportedFinding {
            rule: rules::CHART_LOAD.id,
            rule_doc: rules::CHART_LOAD.doc,
            diagnostic,
            chart_file,
        }));
    }
    out
}

/// A test for each chart.
fn junit(reports: &[LintReport], strict: bool) -> String {
    let bar = if strict {
        Severity::Warning
    } else {
        Severity::Error
    };
    let charts = reports.iter().map(|report| {
        let findings = report.findings.iter().filter(|one| one.severity > Severity::Info);
        let findings = findings.map(|one| (located(one), one.is_helms && one.severity >= bar));
        let refusal = refusal(report).map(|one| (one, true));
        (report.chart.as_str(), findings.chain(refusal).collect())
    });
    finding_formats::junit_of_charts("lint", "lint", &charts.collect::<Vec<_>>())
}

/// The finding with its line, where it has one.
fn located(one: &Finding) -> Diagnostic {
    let drawn = one.to_diagnostic();
    match (&drawn.location, &one.location) {
        (None, Some(at)) => drawn.at(at.clone()),
        _ => drawn,
    }
}

/// Why a chart could not be linted; it has no findings then.
fn refusal(report: &LintReport) -> Option<Diagnostic> {
    let refused = report.refused.clone()?;
    Some(Diagnostic::error(Class::Chart, refused))
}

/// For machines.
pub(super) fn json(reports: &[LintReport], strict: bool) -> String {
    let charts = reports.iter().map(|report| LintedEntry {
        chart: report.chart.clone(),
        failed: report.fails(strict),
        error: report.refused.clone(),
    });
    let findings = reports
        .iter()
        .flat_map(|report| report.findings.iter().map(|one| entry(report, one)));
    let document = LintDocument {
        charts: charts.collect(),
        findings: findings.collect(),
    };
    document.to_json()
}

fn entry(report: &LintReport, one: &Finding) -> FindingEntry {
    let Diagnostic { notes, hints, .. } = one.to_diagnostic();
    let position = one.location.as_ref().map(Location::position);
    FindingEntry {
        chart: report.chart.clone(),
        severity: one.severity.as_str(),
        rule: one.rule.id,
        helm: one.is_helms,
        path: one.path.clone(),
        message: one.message.clone(),
        file: one.location.as_ref().map(|at| at.source.name().to_owned()),
        line: position.map(|at| at.line),
        column: position.map(|at| at.column),
        notes,
        hints,
    }
}
