//! What `test` prints: each failure with the template's line and a diff, the suites, and the same as JSON and JUnit.

use std::fmt::Write as _;
use std::path::Path;

use super::line_diff::line_diff;
use super::real_paths::{with_real_location, with_real_paths};
use crate::diag::{Class, Diagnostic, Diagnostics};
use crate::draw::printable_but;
use crate::report::documents::Document as _;
use crate::report::testing::{FailureEntry, SnapshotEntry, SuiteEntry, TestDocument, TestEntry, TestTotal};
use crate::source::Location;
use crate::unittest::{Discovered, Failure, RunOutcome, SnapshotTotal, SuiteRun, TestOutcome, Verdict};

/// The most lines of a diff that are printed; JSON and JUnit have all.
pub(super) const SHOWN_LINES: usize = 30;

/// A run and what it was about.
pub(crate) struct TestReport<'r> {
    pub(crate) found: &'r Discovered,
    pub(crate) outcome: &'r RunOutcome,
}

impl TestReport<'_> {
    /// The tests of each suite that has some, in order.
    pub(super) fn suites(&self) -> impl Iterator<Item = (&SuiteRun, &Path, &[TestOutcome])> {
        let chunks = self.outcome.tests.chunk_by(|one, next| one.suite == next.suite);
        chunks.filter_map(|tests| {
            let run = self.found.suites.get(tests.first()?.suite)?;
            let root = self.found.roots.get(run.chart)?;
            Some((run, root.as_path(), tests))
        })
    }

    fn count(&self, verdict: Verdict) -> usize {
        let tests = self.outcome.tests.iter();
        tests.filter(|one| one.verdict == verdict).count()
    }

    /// The failure of the command: files that could not be written, and tests that do not pass, which decide the exit code.
    pub(crate) fn problem(&self) -> Option<Diagnostics> {
        let files = self.outcome.unwritten.clone();
        let all = files.into_iter().chain(self.bad_tests().map(Diagnostics::from));
        Diagnostics::from_vec(all.flat_map(Diagnostics::into_vec).collect())
    }

    fn bad_tests(&self) -> Option<Diagnostic> {
        let bad = self.count(Verdict::Failed) + self.count(Verdict::Errored);
        if bad == 0 {
            return None;
        }
        let total = self.outcome.tests.len();
        let one = Diagnostic::error(Class::Chart, format!("{bad} of {total} tests do not pass"));
        Some(match self.outcome.snapshots.changed {
            0 => one,
            _ => one.hint("--update writes the snapshots that have changed; look at the changes first"),
        })
    }

    /// For machines.
    pub(crate) fn json(&self) -> String {
        let suites: Vec<SuiteEntry> = self
            .suites()
            .map(|(run, root, tests)| SuiteEntry {
                chart: self
                    .found
                    .folders
                    .get(run.chart)
                    .map_or(String::new(), |folder| folder.display().to_string()),
                file: run.suite.source.name().to_owned(),
                suite: run.suite.name.clone(),
                tests: tests.iter().map(|one| entry(run, root, one)).collect(),
            })
            .collect();
        let SnapshotTotal {
            same,
            new,
            changed,
            updated,
            removed,
        } = self.outcome.snapshots;
        let total = TestTotal {
            suites: suites.len(),
            tests: self.outcome.tests.len(),
            passed: self.count(Verdict::Passed),
            failed: self.count(Verdict::Failed),
            errored: self.count(Verdict::Errored),
            skipped: self.count(Verdict::Skipped),
            snapshots: SnapshotEntry {
                same,
                new,
                changed,
                updated,
                removed,
            },
        };
        TestDocument { total, suites }.to_json()
    }

    /// For people. Only what does not pass with `quiet`.
    pub(crate) fn text(&self, quiet: bool) -> String {
        let mut out = String::new();
        for (run, root, tests) in self.suites() {
            let is_bad = tests.iter().any(is_bad);
            if quiet && !is_bad {
                continue;
            }
            let verdict = match is_bad {
                true => "FAIL",
                false if tests.iter().all(|one| one.verdict == Verdict::Skipped) => "SKIP",
                false => "PASS",
            };
            let name = [run.suite.name.as_str(), " "].concat();
            line(
                &format!("{verdict}  {}{}", name.trim_start(), run.suite.source.name()),
                &mut out,
            );
            for one in tests {
                describe(run, root, one, &mut out);
            }
        }
        if !quiet {
            out.push_str(&self.last_line());
        }
        out
    }

    /// The numbers.
    pub(super) fn last_line(&self) -> String {
        let mut parts = Vec::new();
        for verdict in [
            Verdict::Passed,
            Verdict::Failed,
            Verdict::Errored,
            Verdict::Skipped,
        ] {
            let count = self.count(verdict);
            if count > 0 {
                parts.push(format!("{count} {}", verdict.as_str()));
            }
        }
        let suites = counted(self.suites().count(), "suite");
        let tests = counted(self.outcome.tests.len(), "test");
        let mut out = format!("{suites}, {tests}: {}", parts.join(", "));
        let SnapshotTotal {
            same,
            new,
            changed,
            updated,
            removed,
        } = self.outcome.snapshots;
        let snapshots = [
            (same, "same"),
            (new, "new"),
            (changed, "changed"),
            (updated, "updated"),
            (removed, "removed"),
        ];
        let snapshots = snapshots.iter().filter(|(count, _)| *count > 0);
        let snapshots: Vec<String> = snapshots.map(|(count, what)| format!("{count} {what}")).collect();
        if !snapshots.is_empty() {
            let _ = write!(out, "; snapshots: {}", snapshots.join(", "));
        }
        out.push('\n');
        out
    }
}

fn is_bad(one: &TestOutcome) -> bool {
    matches!(one.verdict, Verdict::Failed | Verdict::Errored)
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

pub(super) fn name_of<'n>(run: &'n SuiteRun, one: &TestOutcome) -> &'n str {
    run.suite.tests.get(one.test).map_or("", |test| &test.name)
}

fn real(place: &Location, root: &Path) -> Location {
    with_real_location(place.clone(), root)
}

pub(super) fn error_text(one: &TestOutcome, root: &Path) -> Option<String> {
    let error = one.error.clone()?;
    let error = with_real_paths(error, root);
    let lines = error.iter().map(|one| {
        let at = one
            .location
            .as_ref()
            .map(|at| format!("{at}: "))
            .unwrap_or_default();
        let notes: String = one.notes.iter().map(|note| format!(" ({note})")).collect();
        format!("{at}{}{notes}", one.message)
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

fn describe(run: &SuiteRun, root: &Path, one: &TestOutcome, out: &mut String) {
    let name = name_of(run, one);
    if let Some(reason) = &one.skipped {
        line(&format!("  skipped: {name} ({reason})"), out);
    }
    if !is_bad(one) {
        return;
    }
    line(&format!("  {}: {name}", one.verdict.as_str()), out);
    if let Some(error) = error_text(one, root) {
        for text in error.lines() {
            line(&format!("    {text}"), out);
        }
    }
    for failure in &one.failures {
        line(&format!("    {}", head(failure)), out);
        let details = diff(failure).into_iter().take(SHOWN_LINES);
        for text in places(failure, root).into_iter().chain(details) {
            line(&format!("      {text}"), out);
        }
    }
}

/// Adds a line. Texts of suites and templates are in it: control characters, which a terminal would obey, are escaped,
/// and a line that CI systems would take for a command (`::warning::`, `##[error]`) gets a backslash.
fn line(text: &str, out: &mut String) {
    let text = printable_but(text, &['\t']);
    let rest = text.trim_start();
    let (indent, _) = text.split_at(text.len() - rest.len());
    let escape = match rest.starts_with("::") || rest.starts_with("##") {
        true => "\\",
        false => "",
    };
    let _ = writeln!(out, "{indent}{escape}{rest}");
}

/// `equal spec.replicas: expected to equal (shop/templates/a.yaml, document 1)`
pub(super) fn head(failure: &Failure) -> String {
    let mut out = failure.assertion.clone();
    if !failure.path.is_empty() {
        let _ = write!(out, " {}", failure.path);
    }
    let _ = write!(out, ": {}", failure.message);
    if let Some(template) = &failure.template {
        let document = failure.document.filter(|number| *number > 0);
        let document = document.map_or(String::new(), |number| format!(", document {number}"));
        let _ = write!(out, " ({template}{document})");
    }
    out
}

pub(super) fn places(failure: &Failure, root: &Path) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(at) = &failure.asserted_at {
        out.push(format!("asserted at {at}"));
    }
    if let Some(at) = &failure.printed_at {
        out.push(format!("--> {}", real(at, root)));
        for (name, at) in &failure.trace {
            out.push(format!("    included as {name:?} at {}", real(at, root)));
        }
    }
    out
}

/// The lines of what is expected with `-`, those of what was rendered with `+`.
pub(super) fn diff(failure: &Failure) -> Vec<String> {
    let (Some(expected), Some(actual)) = (&failure.expected, &failure.actual) else {
        return Vec::new();
    };
    line_diff(expected, actual)
}

fn entry(run: &SuiteRun, root: &Path, one: &TestOutcome) -> TestEntry {
    TestEntry {
        name: name_of(run, one).to_owned(),
        verdict: one.verdict.as_str(),
        reason: one.skipped.clone(),
        error: error_text(one, root),
        failures: one
            .failures
            .iter()
            .map(|failure| failure_entry(failure, root))
            .collect(),
    }
}

fn failure_entry(failure: &Failure, root: &Path) -> FailureEntry {
    let printed = failure.printed_at.as_ref().map(|at| real(at, root));
    let position = printed.as_ref().map(Location::position);
    FailureEntry {
        number: failure.number,
        assertion: failure.assertion.clone(),
        message: failure.message.clone(),
        suite_line: failure.asserted_at.as_ref().map(|at| at.position().line),
        template: failure.template.clone(),
        document: failure.document,
        path: failure.path.clone(),
        expected: failure.expected.clone(),
        actual: failure.actual.clone(),
        file: printed.map(|at| at.source.name().to_owned()),
        line: position.map(|at| at.line),
        column: position.map(|at| at.column),
    }
}
