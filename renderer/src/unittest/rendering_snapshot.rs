//! Whole renderings beside their snapshots: what `template` prints of a chart with a values file, in a file of its own.
//!
//! In: requests that give the same in every run, and where their snapshots are. Out: a test for each, among the others,
//! with a failure for each template whose output has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::decode::shown;
use super::discover::Discovered;
use super::outcome::{Failure, TestOutcome, Verdict};
use super::runner::{RunOptions, RunOutcome, SuiteRun};
use super::snapshot::{MAX_SNAPSHOT_BYTES, check_links};
use super::suite::{Settings, Suite, TestCase};
use crate::diag::{Class, Result};
use crate::engine::manifest::{ManifestFilter, printed_by_template};
use crate::engine::{ParsedChart, RenderRequest};
use crate::fsio;
use crate::source::Source;

/// The name of the suite that all renderings are of.
const SUITE: &str = "renderings";

/// A rendering that has a snapshot, or gets one.
pub struct RenderingCase {
    /// The chart: its position among those that were found.
    pub chart: usize,
    /// The test's name: the values file, relative to the chart.
    pub name: String,
    /// The values file.
    pub file: PathBuf,
    /// What is rendered, or why it can't be.
    pub request: Result<RenderRequest>,
    /// The snapshot's file.
    pub snapshot: PathBuf,
}

/// Renders each case, and adds its test to the others. `ended` is asked between them.
///
/// # Errors
/// A snapshot can't be read, or is a link to outside of the chart. One that can't be written is in
/// [`RunOutcome::unwritten`].
pub fn run_renderings(
    cases: Vec<RenderingCase>,
    options: &RunOptions,
    ended: &(dyn Fn() -> bool + Sync),
    (found, outcome): (&mut Discovered, &mut RunOutcome),
) -> Result<()> {
    let is_bad = |one: &TestOutcome| matches!(one.verdict, Verdict::Failed | Verdict::Errored);
    for case in cases {
        if ended() || options.fail_fast && outcome.tests.iter().any(is_bad) {
            break;
        }
        let is_wanted = |text: &String| case.name.contains(text) || SUITE.contains(text.as_str());
        if !options.filter.as_ref().is_none_or(is_wanted) {
            continue;
        }
        let (Some(chart), Some(root)) = (found.charts.get(case.chart), found.roots.get(case.chart)) else {
            continue;
        };
        check_links(&case.snapshot, root)?;
        let mut test = run_one(&case, &chart.chart, options.test.updates, outcome)?;
        test.suite = found.suites.len();
        outcome.tests.push(test);
        found.suites.push(suite_of(case));
    }
    Ok(())
}

fn run_one(
    case: &RenderingCase,
    chart: &ParsedChart,
    updates: bool,
    outcome: &mut RunOutcome,
) -> Result<TestOutcome> {
    let mut test = TestOutcome {
        suite: 0,
        test: 0,
        verdict: Verdict::Passed,
        failures: Vec::new(),
        error: None,
        skipped: None,
        snapshots: Vec::new(),
    };
    let rendered = case.request.clone().and_then(|request| {
        let text = printed(chart, &request)?;
        Ok((request, text))
    });
    let (request, text) = match rendered {
        Ok(rendered) => rendered,
        Err(problem) => {
            test.verdict = Verdict::Errored;
            test.error = Some(problem);
            return Ok(test);
        }
    };
    let stored = match case.snapshot.exists() {
        true => Some(fsio::read_text(&case.snapshot, MAX_SNAPSHOT_BYTES, Class::Chart)?),
        false => None,
    };
    match stored {
        Some(stored) if stored.text() == text => outcome.snapshots.same += 1,
        Some(stored) if !updates => {
            outcome.snapshots.changed += 1;
            test.verdict = Verdict::Failed;
            test.failures = failures(stored.text(), &text, &case.snapshot);
            locate(chart, &request, &mut test.failures);
        }
        stored => match (write(&case.snapshot, &text), stored) {
            (Ok(()), Some(_)) => outcome.snapshots.updated += 1,
            (Ok(()), None) => outcome.snapshots.new += 1,
            // It takes no results away.
            (Err(problem), _) => match &mut outcome.unwritten {
                Some(known) => known.extend(problem),
                none => *none = Some(problem),
            },
        },
    }
    Ok(test)
}

/// What `template` prints.
fn printed(chart: &ParsedChart, request: &RenderRequest) -> Result<String> {
    let rendered = chart.render(request)?;
    let manifests = chart.manifests(request, rendered.texts, false)?;
    Ok(manifests.print(&[], ManifestFilter::default()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let cannot = |error: std::io::Error| fsio::cannot("write", path, &error, Class::Io);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(cannot)?;
    }
    fsio::write_atomically(path, text.as_bytes()).map_err(cannot)
}

/// A failure for each template whose output is another; one for all if only their order is.
fn failures(stored: &str, text: &str, snapshot: &Path) -> Vec<Failure> {
    let (old, new) = (printed_by_template(stored), printed_by_template(text));
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let of = |all: &BTreeMap<&str, String>, name: &str| all.get(name).cloned().unwrap_or_default();
    let failure = |template: Option<&str>, expected: String, actual: String| Failure {
        assertion: "matchSnapshot".to_owned(),
        template: template.filter(|name| !name.is_empty()).map(str::to_owned),
        message: format!("expected to be {}", shown(snapshot)),
        expected: Some(expected),
        actual: Some(actual),
        ..Failure::default()
    };
    let changed = names.into_iter().filter(|name| old.get(name) != new.get(name));
    let out: Vec<Failure> = changed
        .map(|name| failure(Some(name), of(&old, name), of(&new, name)))
        .collect();
    match out.is_empty() {
        true => vec![failure(None, stored.to_owned(), text.to_owned())],
        false => out,
    }
}

/// Finds the templates' lines that printed the first line of each failure that is another: they are run once more for it.
fn locate(chart: &ParsedChart, request: &RenderRequest, failures: &mut [Failure]) {
    let names = failures.iter().filter_map(|one| one.template.as_deref());
    let names: BTreeSet<Arc<str>> = names.map(Arc::from).collect();
    let Ok((rendered, _, origins)) = chart.run_traced(request, true, names) else {
        return;
    };
    for failure in failures {
        let Some(name) = failure.template.as_deref() else {
            continue;
        };
        let text = rendered.texts.iter().find(|(of, _)| **of == *name);
        let (Some((_, text)), Some(origins)) = (text, origins.get(name)) else {
            continue;
        };
        let (expected, actual) = (failure.expected.as_deref(), failure.actual.as_deref());
        let at = first_changed_line(expected.unwrap_or_default(), actual.unwrap_or_default(), text);
        if let Some(origin) = at.and_then(|(line, column)| origins.find(line, column)) {
            failure.printed_at = Some(origin.location);
            let trace = origin.trace.into_iter();
            failure.trace = trace.map(|(name, place)| (name.to_string(), place)).collect();
        }
    }
}

/// Line and column, from 1, in the template's whole output. A manifest is a part of it without the blanks around it.
fn first_changed_line(expected: &str, actual: &str, output: &str) -> Option<(usize, usize)> {
    let (mut old, new) = (expected.lines(), actual.lines());
    let mut manifest = 0;
    let mut changed = None;
    let lines: Vec<&str> = new.collect();
    for (number, line) in lines.iter().enumerate() {
        if *line == "---" {
            manifest = number + 1;
        }
        if old.next() != Some(line) {
            changed = Some(number);
            break;
        }
    }
    let changed = changed.filter(|number| *number >= manifest)?;
    let until = lines.get(manifest..=changed)?.join("\n");
    let start = output.find(&until)?;
    let before = output.get(..start + until.len())?;
    let line = lines.get(changed)?;
    let column = line.chars().take_while(|letter| letter.is_whitespace()).count() + 1;
    Some((before.matches('\n').count() + 1, column))
}

/// A suite with the one test.
fn suite_of(case: RenderingCase) -> SuiteRun {
    let test = TestCase {
        name: case.name,
        templates: Vec::new(),
        index: None,
        selector: None,
        settings: Settings::default(),
        skip: None,
        asserts: Vec::new(),
    };
    let suite = Suite {
        name: SUITE.to_owned(),
        source: Source::new(shown(&case.file), ""),
        folder: PathBuf::new(),
        snapshot_id: String::new(),
        templates: Vec::new(),
        excluded: Vec::new(),
        include_crds: false,
        settings: Settings::default(),
        skip: None,
        tests: vec![test],
    };
    SuiteRun {
        suite,
        chart: case.chart,
        file: case.file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_is_another_is_found_in_the_template_s_output() {
        let output = "\n# a comment\n\na: 1\nb: 2\n---\na: 1\nb:\n  c: 3\n";
        let both = "a: 1\nb: 2\n---\na: 1\nb:\n  c: 3\n";
        let cases = [
            ("a: 1\nb: 1\n---\na: 1\nb:\n  c: 3\n", Some((5, 1))),
            ("a: 1\nb: 2\n---\na: 1\nb:\n  c: 4\n", Some((9, 3))),
            ("", Some((4, 1))),
            (both, None),
        ];
        for (expected, at) in cases {
            assert_eq!(first_changed_line(expected, both, output), at, "{expected}");
        }
        assert_eq!(first_changed_line("a", "b", "c"), None);
    }

    #[test]
    fn each_template_with_another_output_is_a_failure() {
        let stored = "---\n# Source: s/a.yaml\na: 1\n\n---\n# Source: s/b.yaml\nb: 1\n";
        let text = "---\n# Source: s/a.yaml\na: 2\n\n---\n# Source: s/c.yaml\nb: 1\n";
        let path = Path::new("x.snap");
        let found = failures(stored, text, path);
        let names: Vec<_> = found.iter().map(|one| one.template.as_deref().unwrap()).collect();
        assert_eq!(names, ["s/a.yaml", "s/b.yaml", "s/c.yaml"]);
        let moved = "---\n# Source: s/b.yaml\nb: 1\n\n---\n# Source: s/a.yaml\na: 1\n";
        let found = failures(stored, moved, path);
        assert!(found.len() == 1 && found[0].template.is_none());
    }
}
