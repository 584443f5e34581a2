//! The tests that do not pass as findings, each at the template's line that printed the value, else at the suite's.

use std::path::Path;

use super::args::global::OutputFormat;
use super::finding_formats::{self, ReportedFinding};
use super::real_paths::{with_real_location, with_real_paths};
use super::test_junit;
use super::test_report::{SHOWN_LINES, TestReport, diff, head, name_of, places};
use crate::diag::{Class, Diagnostic};
use crate::unittest::{Failure, SuiteRun, TestOutcome, Verdict};

/// The result in a form other than text and JSON, if it is one.
pub(super) fn formatted(report: &TestReport<'_>, format: OutputFormat) -> Option<String> {
    finding_formats::formatted(format, || reported(report), || test_junit::of_report(report))
}

fn reported(report: &TestReport<'_>) -> Vec<ReportedFinding> {
    let mut out = Vec::new();
    for (run, root, tests) in report.suites() {
        for one in tests {
            add(run, root, one, &mut out);
        }
    }
    out
}

fn add(run: &SuiteRun, root: &Path, one: &TestOutcome, out: &mut Vec<ReportedFinding>) {
    let name = name_of(run, one);
    let finding = |(rule, rule_doc), diagnostic| ReportedFinding {
        rule,
        rule_doc,
        diagnostic,
        chart_file: run.suite.source.name().to_owned(),
    };
    match one.verdict {
        Verdict::Passed | Verdict::Skipped => {}
        Verdict::Errored => {
            let problems = one.error.clone().map(|error| with_real_paths(error, root));
            for problem in problems.iter().flat_map(|problems| problems.iter()) {
                let message = format!("{name}: {}", problem.message);
                let problem = Diagnostic {
                    message,
                    ..problem.clone()
                };
                out.push(finding(("test-error", "A test could not be rendered."), problem));
            }
        }
        Verdict::Failed => out.extend(one.failures.iter().map(|failure| {
            let rule = ("test-failure", "An assertion of a test does not hold.");
            finding(rule, failure_diagnostic(name, failure, root))
        })),
    }
}

fn failure_diagnostic(name: &str, failure: &Failure, root: &Path) -> Diagnostic {
    let mut drawn = Diagnostic::error(Class::Chart, format!("{name}: {}", head(failure)));
    let printed = failure.printed_at.clone().map(|at| with_real_location(at, root));
    drawn.location = printed.or_else(|| failure.asserted_at.clone());
    let details = diff(failure).into_iter().take(SHOWN_LINES);
    places(failure, root)
        .into_iter()
        .chain(details)
        .fold(drawn, Diagnostic::note)
}
