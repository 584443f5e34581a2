//! JUnit's XML of `test`: a suite for each suite, the failures as text; or the mistakes for which no test was run.

use std::fmt::Write as _;
use std::path::Path;

use super::test_report::{TestReport, diff, error_text, head, name_of, places};
use super::xml::{attribute, escaped};
use crate::diag::Diagnostics;
use crate::unittest::{SuiteRun, TestOutcome, Verdict};

/// JUnit's XML: a suite for each suite, the failures as text.
pub(crate) fn of_report(report: &TestReport<'_>) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let count = |tests: &[TestOutcome], verdict| tests.iter().filter(|one| one.verdict == verdict).count();
    let numbers = |tests: &[TestOutcome]| {
        format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
            tests.len(),
            count(tests, Verdict::Failed),
            count(tests, Verdict::Errored),
            count(tests, Verdict::Skipped)
        )
    };
    let _ = writeln!(
        out,
        "<testsuites name=\"solar-render test\" {}>",
        numbers(&report.outcome.tests)
    );
    for (run, root, tests) in report.suites() {
        let file = run.suite.source.name();
        let name = match run.suite.name.as_str() {
            "" => file,
            name => name,
        };
        let _ = writeln!(
            out,
            "  <testsuite name={} file={} {}>",
            attribute(name),
            attribute(file),
            numbers(tests)
        );
        for one in tests {
            junit_case(run, root, one, name, &mut out);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// The mistakes for which no test was run, each as a test that could not be run.
pub(crate) fn of_problem(problem: &Diagnostics) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let count = problem.iter().count();
    let numbers = format!("tests=\"{count}\" failures=\"0\" errors=\"{count}\" skipped=\"0\"");
    let _ = writeln!(out, "<testsuites name=\"solar-render test\" {numbers}>");
    let _ = writeln!(out, "  <testsuite name=\"suites\" {numbers}>");
    for one in problem.iter() {
        let at = one.location.as_ref().map(ToString::to_string).unwrap_or_default();
        let name = match at.as_str() {
            "" => &one.message,
            at => at,
        };
        let details = one.notes.iter().chain(&one.hints).map(String::as_str);
        let lines: Vec<&str> = std::iter::once(one.message.as_str()).chain(details).collect();
        let _ = writeln!(
            out,
            "    <testcase name={} classname=\"suites\"><error message={}>{}</error></testcase>",
            attribute(name),
            attribute(&one.message),
            escaped(&lines.join("\n"))
        );
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn junit_case(run: &SuiteRun, root: &Path, one: &TestOutcome, suite: &str, out: &mut String) {
    let name = attribute(name_of(run, one));
    let _ = write!(out, "    <testcase name={name} classname={}", attribute(suite));
    match one.verdict {
        Verdict::Passed => out.push_str("/>\n"),
        Verdict::Skipped => {
            let reason = attribute(one.skipped.as_deref().unwrap_or_default());
            let _ = writeln!(out, "><skipped message={reason}/></testcase>");
        }
        Verdict::Errored => {
            let error = error_text(one, root).unwrap_or_default();
            let first = attribute(error.lines().next().unwrap_or_default());
            let _ = writeln!(
                out,
                "><error message={first}>{}</error></testcase>",
                escaped(&error)
            );
        }
        Verdict::Failed => {
            out.push_str(">\n");
            for failure in &one.failures {
                let mut lines = places(failure, root);
                lines.extend(diff(failure));
                let _ = writeln!(
                    out,
                    "      <failure message={}>{}</failure>",
                    attribute(&head(failure)),
                    escaped(&lines.join("\n"))
                );
            }
            out.push_str("    </testcase>\n");
        }
    }
}
