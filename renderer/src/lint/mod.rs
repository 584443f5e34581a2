//! Lints charts: Helm 4.3.1's checks with Helm's messages, and more.
//!
//! In: a chart's folder or archive, and values ([`LintOptions`]). Out: [`Finding`]s, Helm's in
//! Helm's order ([`Finding::is_helms`]), and with them our own: every template's failure where Helm stops at the first,
//! and values that no values.yaml defines (rule [`rules::UNDEFINED_VALUE`]). [`print()`] returns the lines of `helm
//! lint`.
//!
//! # Differences from Helm
//!
//! - For invalid files, the messages of go-yaml and of the chart loader are repeated where they are known, otherwise
//!   the messages are ours.
//! - An archive has no folder: where Helm's messages name its temporary folder, ours name the archive.

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
pub mod value_check;
mod values;

use std::path::Path;
use std::sync::Arc;

use crate::credentials::without_credentials;
use crate::diag::{Class, Diagnostic, Severity as Grave};
use crate::engine::Limits;
use crate::engine::capabilities::Capabilities;
use crate::source::Location;
use crate::value::Map;
use crate::values::ValueOrigins;
use crate::values::schema_documents::SchemaStore;
use linted_chart::LintedChart;

#[cfg(feature = "cli")]
pub(crate) use deprecations::find as deprecation;
#[cfg(feature = "cli")]
pub(crate) use names::check as object_name_problem;
pub use rules::{Check, Rule};

/// The severity of a finding, as in Helm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information.
    Info,
    /// A violation of conventions.
    Warning,
    /// An error.
    Error,
}

impl Severity {
    /// The name in JSON.
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
#[non_exhaustive]
pub struct Finding {
    /// Its severity.
    pub severity: Severity,
    /// The file it is about, as Helm names it: `Chart.yaml`, `templates/`, `templates/a.yaml`.
    pub path: String,
    /// The message.
    pub message: String,
    /// The rule it violates.
    pub rule: &'static Rule,
    /// Its location, if known.
    pub location: Option<Location>,
    /// Whether Helm reports it too; otherwise it is ours.
    pub is_helms: bool,
    /// The diagnostic with an excerpt, in addition to Helm's line.
    pub diagnostic: Option<Diagnostic>,
}

/// The options of linting.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LintOptions {
    /// The user's values.
    pub values: Map,
    /// The locations of the values, as far as they are known.
    pub places: ValueOrigins,
    /// `.Release.Namespace`
    pub namespace: String,
    /// `.Capabilities`; its version decides what is deprecated.
    pub capabilities: Capabilities,
    /// Whether schemas are not checked.
    pub skip_schema: bool,
    /// The store of schemas that others refer to by URL.
    pub schemas: Arc<dyn SchemaStore>,
    /// The resource limits of a rendering.
    pub limits: Limits,
}

/// The findings in one chart.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LintReport {
    /// The chart, as the user named it.
    pub chart: String,
    /// All findings, in order.
    pub findings: Vec<Finding>,
    /// Helm's message if it could not be linted.
    pub refused: Option<String>,
}

impl LintReport {
    /// Whether there is a warning or error of Helm; our own don't count.
    pub fn has_warnings(&self) -> bool {
        self.refused.is_some() || self.helms().any(|one| one.severity > Severity::Info)
    }

    /// Whether the chart fails; with `strict` also because of Helm's warnings.
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

/// Lints one chart; `shown` is its name in messages.
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

/// The output of `helm lint` on standard output, and its final message.
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
    /// Records Helm's finding, if there is a problem; returns true otherwise.
    fn report(&mut self, path: &str, rule: &'static Rule, problem: Option<String>) -> bool {
        let Some(message) = problem else { return true };
        let message = without_credentials(&message).into_owned();
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

    /// Adds a diagnostic to the last finding.
    fn explain(&mut self, diagnostic: Diagnostic) {
        if let Some(last) = self.findings.last_mut() {
            last.location.clone_from(&diagnostic.location);
            last.diagnostic = Some(diagnostic);
        }
    }

    /// Records a finding of our own.
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
    /// The diagnostic that is printed with an excerpt on standard error.
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
