//! What is wrong with a chart: Helm 4.3.1's checks in Helm's words, and more.
//!
//! In: a chart's folder or archive, and values ([`LintOptions`]). Out: [`Finding`]s, Helm's in
//! Helm's order ([`Finding::is_helms`]), and with them our own: every template's failure
//! where Helm stops at the first, and values that no values.yaml knows
//! (rule [`rules::UNDEFINED_VALUE`]). [`print()`] gives the lines of `helm lint`.
//!
//! # Where it differs from Helm
//!
//! - What go-yaml and the chart loader report of invalid files is repeated where their messages
//!   are known, else in ours.
//! - An archive has no folder of its own: what Helm says of its temporary one names the archive.

mod chartfile;
mod crds;
mod decode;
mod dependencies;
mod deprecations;
mod documents;
mod lenient_values;
mod linted_chart;
mod names;
mod objects;
pub mod rules;
mod schema;
mod templates;
pub mod undefined;
mod unread;
mod url_validation;
mod values;

use std::path::Path;
use std::sync::Arc;

use crate::diag::{Class, Diagnostic, Severity as Grave};
use crate::engine::Limits;
use crate::engine::capabilities::Capabilities;
use crate::source::Location;
use crate::value::Map;
use crate::values::ValueOrigins;
use crate::values::schema_documents::SchemaStore;
use linted_chart::LintedChart;

pub use rules::{Check, Rule};

/// How grave a finding is, in Helm's grades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Against convention.
    Warning,
    /// Will not work.
    Error,
}

impl Severity {
    /// As in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }
}

/// A finding about a chart.
#[derive(Debug, Clone)]
pub struct Finding {
    /// How grave.
    pub severity: Severity,
    /// The file it is about, as Helm names it: `Chart.yaml`, `templates/`, `templates/a.yaml`.
    pub path: String,
    /// What.
    pub message: String,
    /// Which rule it breaks.
    pub rule: &'static Rule,
    /// Where in a text, if that is known.
    pub location: Option<Location>,
    /// Whether Helm says it too; else it is ours.
    pub is_helms: bool,
    /// For people, with an excerpt: what is more than Helm's line.
    pub diagnostic: Option<Diagnostic>,
}

/// What charts are held against.
#[derive(Debug, Clone)]
pub struct LintOptions {
    /// What the user gives.
    pub values: Map,
    /// Where they stand, as far as that is known.
    pub places: ValueOrigins,
    /// `.Release.Namespace`
    pub namespace: String,
    /// `.Capabilities`; its version decides what is deprecated.
    pub capabilities: Capabilities,
    /// Whether schemas are left alone.
    pub skip_schema: bool,
    /// Where schemas are kept that others refer to by URL.
    pub schemas: Arc<dyn SchemaStore>,
    /// How much a rendering may take.
    pub limits: Limits,
}

/// What was found in one chart.
#[derive(Debug, Clone)]
pub struct LintReport {
    /// The chart, as the user named it.
    pub chart: String,
    /// Everything, in order.
    pub findings: Vec<Finding>,
    /// Why it could not be linted: Helm's message.
    pub refused: Option<String>,
}

impl LintReport {
    /// Whether there is a warning or worse; our own don't count.
    pub fn has_warnings(&self) -> bool {
        self.refused.is_some() || self.helms().any(|one| one.severity > Severity::Info)
    }

    /// Whether the chart fails; with `strict` on Helm's warnings, too.
    pub fn fails(&self, strict: bool) -> bool {
        let bar = if strict {
            Severity::Warning
        } else {
            Severity::Error
        };
        self.refused.is_some() || self.helms().any(|one| one.severity >= bar)
    }

    fn helms(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|one| one.is_helms)
    }
}

/// The checks, in Helm's order.
#[allow(clippy::type_complexity, reason = "it is written once, here")]
const CHECKS: &[(Check, fn(&LintedChart, &LintOptions, &mut Linter))] = &[
    (Check::ChartYaml, |place, _, linter| {
        chartfile::check(place, linter)
    }),
    (Check::Values, values::check),
    (Check::Templates, templates::check),
    (Check::Dependencies, |place, _, linter| {
        dependencies::check(place, linter)
    }),
    (Check::Crds, |place, _, linter| crds::check(place, linter)),
];

/// Checks one chart; `shown` is its name for people.
pub fn lint(path: &Path, shown: &str, options: &LintOptions) -> LintReport {
    let mut report = LintReport {
        chart: shown.to_owned(),
        findings: Vec::new(),
        refused: None,
    };
    let place = match LintedChart::open(path) {
        Ok(place) => place,
        Err(problem) => {
            report.refused = Some(problem);
            return report;
        }
    };
    let mut linter = Linter { findings: Vec::new() };
    for (_, check) in CHECKS {
        check(&place, options, &mut linter);
    }
    report.findings = linter.findings;
    report
}

/// What `helm lint` prints on standard output, and what it says in the end.
pub fn print(reports: &[LintReport], strict: bool, quiet: bool) -> (String, String) {
    let mut out = String::new();
    for report in reports {
        if quiet && !report.has_warnings() {
            continue;
        }
        out.push_str(&format!("==> Linting {}\n", report.chart));
        if let Some(problem) = &report.refused {
            out.push_str(&format!("Error {problem}\n"));
        }
        for one in report
            .helms()
            .filter(|one| !quiet || one.severity > Severity::Info)
        {
            out.push_str(&format!(
                "[{}] {}: {}\n",
                one.severity.label(),
                one.path,
                one.message
            ));
        }
        out.push('\n');
    }
    let failed = reports.iter().filter(|one| one.fails(strict)).count();
    let end = format!("{} chart(s) linted, {failed} chart(s) failed", reports.len());
    (out, end)
}

/// Collects findings.
struct Linter {
    findings: Vec<Finding>,
}

impl Linter {
    /// Notes what Helm says, if it says anything; whether it does not.
    fn report(&mut self, path: &str, rule: &'static Rule, problem: Option<String>) -> bool {
        let Some(message) = problem else { return true };
        self.findings.push(Finding {
            severity: rule.severity,
            path: path.to_owned(),
            message,
            rule,
            location: None,
            is_helms: true,
            diagnostic: None,
        });
        false
    }

    /// Says more about the finding noted last.
    fn explain(&mut self, diagnostic: Diagnostic) {
        if let Some(last) = self.findings.last_mut() {
            last.location.clone_from(&diagnostic.location);
            last.diagnostic = Some(diagnostic);
        }
    }

    /// Notes what only we say.
    fn own(&mut self, path: &str, rule: &'static Rule, diagnostic: Diagnostic) {
        self.findings.push(Finding {
            severity: match diagnostic.severity {
                Grave::Error => Severity::Error,
                Grave::Warning => Severity::Warning,
            },
            path: path.to_owned(),
            message: diagnostic.message.clone(),
            rule,
            location: diagnostic.location.clone(),
            is_helms: false,
            diagnostic: Some(diagnostic),
        });
    }
}

impl Finding {
    /// For people: drawn with an excerpt on standard error.
    pub fn to_diagnostic(&self) -> Diagnostic {
        self.diagnostic.clone().unwrap_or_else(|| {
            let message = format!("{}: {}", self.path, self.message);
            match self.severity {
                Severity::Error => Diagnostic::error(Class::Chart, message),
                Severity::Info | Severity::Warning => Diagnostic::warning(Class::Chart, message),
            }
        })
    }
}
