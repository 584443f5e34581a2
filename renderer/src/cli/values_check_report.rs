//! What `values check` prints: a line for each chart, and the findings as JSON, JUnit's XML, SARIF and their like.

use std::fmt::Write as _;
use std::path::Path;

use super::args::global::OutputFormat;
use super::finding_formats::{self, ReportedFinding, common_class, counted};
use crate::diag::{Class, Diagnostic, Diagnostics, Severity};
use crate::lint::rules;
use crate::lint::value_check::ValueFinding;
use crate::report::documents::Document as _;
use crate::report::values::{CheckedChartEntry, ValueEntry, ValuesCheckDocument, ValuesTotal};
use crate::source::Location;

/// The charts that were checked.
pub(crate) struct ValuesReport {
    pub(crate) charts: Vec<(String, CheckedChart)>,
    /// Whether warnings fail.
    pub(crate) strict: bool,
}

/// What is wrong with the values of a chart.
pub(crate) struct CheckedChart {
    pub(crate) findings: Vec<ValueFinding>,
    /// Why it could not be checked.
    pub(crate) problem: Option<Diagnostics>,
}

/// A finding, or an error that prevented the check.
struct Reported {
    rule: &'static rules::Rule,
    key: String,
    diagnostic: Diagnostic,
    files: Vec<String>,
}

impl CheckedChart {
    fn all(&self) -> impl Iterator<Item = Reported> {
        let problems = self
            .problem
            .iter()
            .flat_map(Diagnostics::iter)
            .map(|one| Reported {
                rule: &rules::CHART_LOAD,
                key: String::new(),
                diagnostic: one.clone(),
                files: Vec::new(),
            });
        let findings = self.findings.iter().map(|one| Reported {
            rule: one.rule,
            key: one.key.clone(),
            diagnostic: match one.files.as_slice() {
                [] => one.diagnostic.clone(),
                files => one.diagnostic.clone().note(format!("with {}", files.join(", "))),
            },
            files: one.files.clone(),
        });
        problems.chain(findings)
    }

    /// The findings as they are drawn.
    pub(crate) fn diagnostics(&self) -> impl Iterator<Item = Diagnostic> {
        self.all().map(|one| one.diagnostic)
    }

    fn count(&self, severity: Severity) -> usize {
        let problems = self.problem.iter().flat_map(Diagnostics::iter);
        let all = problems.chain(self.findings.iter().map(|one| &one.diagnostic));
        all.filter(|one| one.severity == severity).count()
    }
}

impl ValuesReport {
    fn total(&self) -> ValuesTotal {
        let all = |severity| self.charts.iter().map(|(_, one)| one.count(severity)).sum();
        ValuesTotal {
            charts: self.charts.len(),
            errors: all(Severity::Error),
            warnings: all(Severity::Warning),
        }
    }

    /// The failure of the command, if something is wrong.
    pub(crate) fn problem(&self) -> Option<Diagnostics> {
        let ValuesTotal { errors, warnings, .. } = self.total();
        let unloaded = self.charts.iter().filter_map(|(_, one)| one.problem.as_ref());
        let unloaded: Vec<Class> = unloaded
            .flat_map(Diagnostics::iter)
            .map(|one| one.class)
            .collect();
        let (class, what) = match unloaded.len() == errors {
            true => (common_class(&unloaded, Class::Values), "charts can't be checked"),
            false => (Class::Values, "the values do not fit the chart"),
        };
        finding_formats::failure(class, what, (errors, warnings), self.strict)
    }

    /// The findings as they are drawn, chart by chart.
    pub(crate) fn diagnostics(&self) -> impl Iterator<Item = Diagnostic> {
        self.charts.iter().flat_map(|(chart, checked)| {
            let all = checked.diagnostics();
            all.map(|one| self.with_chart(chart, one))
        })
    }

    /// Of several charts: which one a finding in a file outside of it is about.
    fn with_chart(&self, chart: &str, one: Diagnostic) -> Diagnostic {
        let file = one.location.as_ref().map(|at| Path::new(at.source.name()));
        let is_clear = file.is_none_or(|file| file.starts_with(chart));
        match self.charts.len() > 1 && !is_clear {
            true => one.note(format!("of the chart {chart}")),
            false => one,
        }
    }

    /// The result in a form other than text, if there is one.
    pub(crate) fn formatted(&self, format: OutputFormat) -> Option<String> {
        finding_formats::formatted(format, || self.reported(), || self.junit())
    }

    fn reported(&self) -> Vec<ReportedFinding> {
        let all = self.charts.iter().flat_map(|(chart, checked)| {
            checked.all().map(|one| ReportedFinding {
                rule: one.rule.id,
                rule_doc: one.rule.doc,
                diagnostic: self.with_chart(chart, one.diagnostic),
                chart_file: finding_formats::chart_file(chart),
            })
        });
        all.collect()
    }

    /// A line for each chart with findings, and one for all.
    pub(crate) fn text(&self, quiet: bool) -> String {
        let mut out = String::new();
        for (chart, one) in &self.charts {
            let counts = (one.count(Severity::Error), one.count(Severity::Warning));
            out.push_str(&finding_formats::chart_line(chart, counts, quiet));
        }
        if !quiet {
            let ValuesTotal {
                charts,
                errors,
                warnings,
            } = self.total();
            let (errors, warnings) = (counted(errors, "error"), counted(warnings, "warning"));
            let _ = writeln!(out, "{}: {errors}, {warnings}", counted(charts, "chart"));
        }
        out
    }

    /// For machines.
    pub(crate) fn json(&self) -> String {
        let charts = self.charts.iter().map(|(chart, one)| CheckedChartEntry {
            chart: chart.clone(),
            errors: one.count(Severity::Error),
            warnings: one.count(Severity::Warning),
        });
        let findings = self
            .charts
            .iter()
            .flat_map(|(chart, checked)| checked.all().map(|one| entry(chart, one)));
        ValuesCheckDocument {
            total: self.total(),
            charts: charts.collect(),
            findings: findings.collect(),
        }
        .to_json()
    }

    /// A suite with a test for each chart.
    fn junit(&self) -> String {
        let fails = |one: &Diagnostic| one.severity == Severity::Error || self.strict;
        let charts = self.charts.iter().map(|(chart, checked)| {
            let found = checked.diagnostics().map(|one| {
                let fails = fails(&one);
                (one, fails)
            });
            (chart.as_str(), found.collect())
        });
        finding_formats::junit_of_charts("values check", "values", &charts.collect::<Vec<_>>())
    }
}

fn entry(chart: &str, one: Reported) -> ValueEntry {
    let Diagnostic {
        severity,
        message,
        location,
        notes,
        hints,
        ..
    } = one.diagnostic;
    let position = location.as_ref().map(Location::position);
    ValueEntry {
        chart: chart.to_owned(),
        severity: match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        rule: one.rule.id,
        key: one.key,
        message,
        file: location.as_ref().map(|at| at.source.name().to_owned()),
        line: position.map(|at| at.line),
        column: position.map(|at| at.column),
        values: one.files,
        notes,
        hints,
    }
}
