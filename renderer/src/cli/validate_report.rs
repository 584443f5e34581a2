//! What `validate` prints: a line for each chart, and the findings as JSON, JUnit's XML, SARIF and their like.

use std::fmt::Write as _;

use super::args::global::OutputFormat;
use super::finding_formats::{self, ReportedFinding, common_class, counted, junit_entry};
use super::xml::attribute;
use crate::diag::{Class, Diagnostic, Diagnostics, Severity};
use crate::report::documents::Document as _;
use crate::report::validation::{
    TraceEntry, ValidateDocument, ValidateTotal, ValidatedChartEntry, ViolationEntry,
};
use crate::source::Location;
use crate::validate::{ChartFinding, Rule, Validated};

/// The charts that were validated, and for which versions.
pub(crate) struct ValidateReport {
    pub(crate) versions: Vec<&'static str>,
    pub(crate) charts: Vec<(String, Validated)>,
    /// Whether warnings fail.
    pub(crate) strict: bool,
}

fn count(findings: &[ChartFinding], severity: Severity) -> usize {
    findings.iter().filter(|one| one.severity == severity).count()
}

impl ValidateReport {
    fn total(&self) -> ValidateTotal {
        let findings = |severity| {
            let charts = self.charts.iter();
            charts.map(|(_, one)| count(&one.findings, severity)).sum()
        };
        ValidateTotal {
            charts: self.charts.len(),
            objects: self.charts.iter().map(|(_, one)| one.objects).sum(),
            errors: findings(Severity::Error),
            warnings: findings(Severity::Warning),
        }
    }

    /// The failure of the command, if something is wrong.
    pub(crate) fn problem(&self) -> Option<Diagnostics> {
        let ValidateTotal { errors, warnings, .. } = self.total();
        let unrendered = self.charts.iter().flat_map(|(_, one)| &one.findings);
        let unrendered = unrendered.filter(|one| one.rule == Rule::Rendering);
        let unrendered: Vec<Class> = unrendered.map(|one| one.class).collect();
        let (class, what) = match unrendered.len() == errors {
            true => (
                common_class(&unrendered, Class::Chart),
                "charts can't be rendered",
            ),
            false => (Class::Chart, "an API server would refuse this"),
        };
        finding_formats::failure(class, what, (errors, warnings), self.strict)
    }

    /// The findings as they are drawn: the object, the line, and for which versions and values.
    pub(crate) fn diagnostic(&self, one: &ChartFinding) -> Diagnostic {
        let mut drawn = one.to_diagnostic();
        if one.versions.len() < self.versions.len() {
            drawn = drawn.note(format!("in Kubernetes {}", one.versions.join(", ")));
        }
        if !one.values.is_empty() {
            drawn = drawn.note(format!("with {}", one.values.join(", ")));
        }
        drawn
    }

    /// The result in a form other than text, if there is one.
    pub(crate) fn formatted(&self, format: OutputFormat) -> Option<String> {
        finding_formats::formatted(format, || self.reported(), || self.junit())
    }

    fn reported(&self) -> Vec<ReportedFinding> {
        let all = self.charts.iter().flat_map(|(chart, validated)| {
            validated.findings.iter().map(|one| ReportedFinding {
                rule: one.rule.id(),
                rule_doc: one.rule.doc(),
                diagnostic: self.diagnostic(one),
                chart_file: finding_formats::chart_file(chart),
            })
        });
        all.collect()
    }

    /// A line for each chart with findings, and one for all.
    pub(crate) fn text(&self, quiet: bool) -> String {
        let mut out = String::new();
        for (chart, one) in &self.charts {
            let counts = (
                count(&one.findings, Severity::Error),
                count(&one.findings, Severity::Warning),
            );
            out.push_str(&finding_formats::chart_line(chart, counts, quiet));
        }
        if !quiet {
            let ValidateTotal {
                charts,
                objects,
                errors,
                warnings,
            } = self.total();
            let _ = writeln!(
                out,
                "{}, {}, Kubernetes {}: {}, {}",
                counted(charts, "chart"),
                counted(objects, "object"),
                self.versions.join(", "),
                counted(errors, "error"),
                counted(warnings, "warning")
            );
        }
        out
    }

    /// For machines.
    pub(crate) fn json(&self) -> String {
        let charts = self.charts.iter().map(|(chart, one)| ValidatedChartEntry {
            chart: chart.clone(),
            objects: one.objects,
            renderings: one.renderings,
            errors: count(&one.findings, Severity::Error),
            warnings: count(&one.findings, Severity::Warning),
            omitted: one.omitted,
        });
        let findings = self
            .charts
            .iter()
            .flat_map(|(chart, one)| one.findings.iter().map(|finding| entry(chart, finding)));
        ValidateDocument {
            total: self.total(),
            versions: self.versions.iter().map(|&version| version.to_owned()).collect(),
            charts: charts.collect(),
            findings: findings.collect(),
        }
        .to_json()
    }

    /// A suite for each chart, a test for each version.
    fn junit(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let fails = |one: &ChartFinding| one.severity == Severity::Error || self.strict;
        let failures = |findings: &[ChartFinding]| {
            let is_bad = |version: &&&str| {
                findings
                    .iter()
                    .any(|one| fails(one) && one.versions.contains(*version))
            };
            self.versions.iter().filter(is_bad).count()
        };
        let all: usize = self.charts.iter().map(|(_, one)| failures(&one.findings)).sum();
        let tests = self.charts.len() * self.versions.len();
        let _ = writeln!(
            out,
            "<testsuites name=\"solar-render validate\" tests=\"{tests}\" failures=\"{all}\">"
        );
        for (chart, validated) in &self.charts {
            let _ = writeln!(
                out,
                "  <testsuite name={} tests=\"{}\" failures=\"{}\">",
                attribute(chart),
                self.versions.len(),
                failures(&validated.findings)
            );
            for version in &self.versions {
                let name = attribute(&format!("Kubernetes {version}"));
                let _ = write!(out, "    <testcase name={name} classname={}>", attribute(chart));
                let here = validated
                    .findings
                    .iter()
                    .filter(|one| one.versions.contains(version));
                for one in here {
                    junit_entry(&self.diagnostic(one), fails(one), &mut out);
                }
                out.push_str("</testcase>\n");
            }
            out.push_str("  </testsuite>\n");
        }
        out.push_str("</testsuites>\n");
        out
    }
}

fn entry(chart: &str, one: &ChartFinding) -> ViolationEntry {
    let file = |at: &Location| at.source.name().to_owned();
    let position = one.location.as_ref().map(Location::position);
    let trace = one.trace.iter().map(|(included, at)| TraceEntry {
        included: included.clone(),
        file: at.as_ref().map(file),
        line: at.as_ref().map(|at| at.position().line),
    });
    ViolationEntry {
        chart: chart.to_owned(),
        severity: match one.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        rule: one.rule.id(),
        api_version: one.api_version.clone(),
        kind: one.kind.clone(),
        name: one.name.clone(),
        field: one.field.clone(),
        message: one.message.clone(),
        file: one.location.as_ref().map(file),
        line: position.map(|at| at.line),
        column: position.map(|at| at.column),
        trace: trace.collect(),
        printed: one.printed.clone(),
        versions: one.versions.iter().map(|&version| version.to_owned()).collect(),
        values: one.values.clone(),
        notes: one.notes.clone(),
        hints: one.hints.clone(),
    }
}
