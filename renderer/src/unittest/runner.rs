//! Runs the suites of charts: tests in parallel, results in the order of the files, then the snapshots are written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::case::{Case, TestOptions, TestedChart, ValuesFiles};
use super::outcome::{SnapshotState, TestOutcome, Verdict};
use super::snapshot::{Snapshots, snapshot_path};
use super::suite::Suite;
use crate::diag::{Diagnostics, Result};

/// A suite with its chart and its file.
#[derive(Debug)]
pub struct SuiteRun {
    /// The suite.
    pub suite: Suite,
    /// The chart it is for: its position among the charts.
    pub chart: usize,
    /// Its file.
    pub file: PathBuf,
}

/// Which tests are run, and how.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// How each is rendered and compared.
    pub test: TestOptions,
    /// Only tests whose suite's or own name contains it.
    pub filter: Option<String>,
    /// Whether the run ends with the first test that does not pass.
    pub fail_fast: bool,
}

/// The numbers of snapshots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SnapshotTotal {
    /// How many were the same.
    pub same: usize,
    /// How many were new and have been written.
    pub new: usize,
    /// How many have changed, and were not updated.
    pub changed: usize,
    /// How many have changed and were updated.
    pub updated: usize,
    /// How many no test uses any more: they have been removed.
    pub removed: usize,
}

/// The result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The tests that were run or skipped, in order.
    pub tests: Vec<TestOutcome>,
    /// The snapshots.
    pub snapshots: SnapshotTotal,
    /// Why a file with snapshots could not be written, which are not counted then, or one with results.
    pub unwritten: Option<Diagnostics>,
}

/// The tests of one snapshot file with the same name: they share the numbers of their snapshots.
struct Group {
    tests: Vec<GroupedTest>,
}

/// A test by the positions of its suite and of the test, and whether it is one of those to run. One that is not is run
/// only as far as a later one needs to know how many snapshots come before its own.
#[derive(Clone, Copy)]
struct GroupedTest {
    at: (usize, usize),
    is_wanted: bool,
}

/// The snapshots of each file.
fn read_snapshots(paths: &[PathBuf]) -> Result<BTreeMap<PathBuf, Snapshots>> {
    let mut stored = BTreeMap::new();
    for path in paths {
        if !stored.contains_key(path) {
            stored.insert(path.clone(), Snapshots::read(path)?);
        }
    }
    Ok(stored)
}

/// Runs suites. `ended` is asked between tests.
///
/// # Errors
/// A snapshot file can't be read. One that can't be written takes no results away: see [`RunOutcome::unwritten`].
pub fn run(
    charts: &[TestedChart],
    suites: &[SuiteRun],
    options: &RunOptions,
    ended: &(dyn Fn() -> bool + Sync),
) -> Result<RunOutcome> {
    let paths: Vec<PathBuf> = suites
        .iter()
        .map(|one| snapshot_path(&one.file, &one.suite.snapshot_id))
        .collect();
    let stored = read_snapshots(&paths)?;
    let groups = groups(suites, &paths, options);
    let files = ValuesFiles::default();
    let none = Snapshots::default();
    let work = |group: &Group| {
        let mut out = Vec::new();
        let mut used = 0;
        for &GroupedTest { at, is_wanted } in &group.tests {
            let (suite, number) = at;
            let found = suites.get(suite);
            let Some((run, test)) = found.and_then(|run| Some((run, run.suite.tests.get(number)?))) else {
                continue;
            };
            let Some(chart) = charts.get(run.chart) else {
                continue;
            };
            let case = Case {
                chart,
                suite: &run.suite,
                test,
                options: &options.test,
                files: &files,
                stored: paths
                    .get(suite)
                    .and_then(|path| stored.get(path))
                    .unwrap_or(&none),
                used,
            };
            let outcome = case.run(at);
            used += outcome.snapshots.len();
            if is_wanted {
                out.push(outcome);
            }
        }
        out
    };
    let mut tests = in_parallel(&groups, options.fail_fast, ended, work);
    tests.sort_by_key(|one| (one.suite, one.test));
    if options.fail_fast
        && let Some(first) = tests.iter().position(is_bad)
    {
        tests.truncate(first + 1);
    }
    let whole = !options.fail_fast && !ended();
    let (snapshots, unwritten) = match write(suites, &tests, (&paths, &stored), whole, options) {
        Ok(snapshots) => (snapshots, None),
        Err(problem) => (SnapshotTotal::default(), Some(problem)),
    };
    Ok(RunOutcome {
        tests,
        snapshots,
        unwritten,
    })
}

fn is_bad(one: &TestOutcome) -> bool {
    matches!(one.verdict, Verdict::Failed | Verdict::Errored)
}

fn groups(suites: &[SuiteRun], paths: &[PathBuf], options: &RunOptions) -> Vec<Group> {
    let mut out: Vec<Group> = Vec::new();
    let mut by_name: BTreeMap<(&Path, &str), usize> = BTreeMap::new();
    for (suite, (run, path)) in suites.iter().zip(paths).enumerate() {
        for (number, test) in run.suite.tests.iter().enumerate() {
            let is_wanted = options
                .filter
                .as_ref()
                .is_none_or(|text| test.name.contains(text) || run.suite.name.contains(text));
            let one = GroupedTest {
                at: (suite, number),
                is_wanted,
            };
            let position = *by_name.entry((path, &test.name)).or_insert(out.len());
            match out.get_mut(position) {
                Some(Group { tests }) => tests.push(one),
                None => out.push(Group { tests: vec![one] }),
            }
        }
    }
    for group in &mut out {
        let last = group.tests.iter().rposition(|one| one.is_wanted);
        group.tests.truncate(last.map_or(0, |last| last + 1));
    }
    out.retain(|group| !group.tests.is_empty());
    out
}

/// What has been run, and the first test that is bad.
#[derive(Default)]
struct Collected {
    outcomes: Vec<TestOutcome>,
    first_bad: Option<(usize, usize)>,
}

/// The outcomes of all groups, in any order; of those before the first bad one at least, if that ends the run.
fn in_parallel(
    groups: &[Group],
    fail_fast: bool,
    ended: &(dyn Fn() -> bool + Sync),
    work: impl Fn(&Group) -> Vec<TestOutcome> + Sync,
) -> Vec<TestOutcome> {
    let next = AtomicUsize::new(0);
    let collected = Mutex::new(Collected::default());
    let locked = || collected.lock().unwrap_or_else(PoisonError::into_inner);
    // A group begins where its first test is: it may be before a bad one of an earlier group.
    let is_behind = |group: &Group| {
        let first = group.tests.first().map(|one| one.at);
        fail_fast && locked().first_bad.is_some_and(|bad| first > Some(bad))
    };
    let some = || {
        while !ended() {
            let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            if is_behind(group) {
                break;
            }
            let mut outcomes = work(group);
            let mut collected = locked();
            let bad = outcomes.iter().filter(|one| is_bad(one));
            let bad = bad.map(|one| (one.suite, one.test));
            collected.first_bad = collected.first_bad.into_iter().chain(bad).min();
            collected.outcomes.append(&mut outcomes);
        }
    };
    crate::engine::workers(groups.len(), some);
    let collected = collected.into_inner();
    collected.unwrap_or_else(PoisonError::into_inner).outcomes
}

/// How many tests of each name write to a snapshot file.
fn counts(suites: &[SuiteRun], here: impl Fn(usize) -> bool) -> BTreeMap<&str, usize> {
    let mut out = BTreeMap::new();
    for (_, run) in suites.iter().enumerate().filter(|(number, _)| here(*number)) {
        for test in &run.suite.tests {
            *out.entry(test.name.as_str()).or_default() += 1;
        }
    }
    out
}

/// Writes the snapshot files that are different now. What tests have that did not run to their end is kept.
fn write(
    suites: &[SuiteRun],
    tests: &[TestOutcome],
    (paths, stored): (&[PathBuf], &BTreeMap<PathBuf, Snapshots>),
    whole: bool,
    options: &RunOptions,
) -> Result<SnapshotTotal> {
    let mut total = SnapshotTotal::default();
    for (path, old) in stored {
        let here = |suite: usize| paths.get(suite) == Some(path);
        let mut new = Snapshots::default();
        let mut missing = counts(suites, here);
        for one in tests.iter().filter(|one| here(one.suite)) {
            let Some(test) = suites
                .get(one.suite)
                .and_then(|run| run.suite.tests.get(one.test))
            else {
                continue;
            };
            if let Some(count) = missing.get_mut(test.name.as_str()) {
                *count -= 1;
            }
            if one.verdict != Verdict::Passed {
                // It may have ended before it came to its snapshots.
                new.keep(&test.name, old);
            }
            for used in &one.snapshots {
                let text: &str = match (used.state, options.test.updates) {
                    (SnapshotState::New, _) => {
                        total.new += 1;
                        &used.content
                    }
                    (SnapshotState::Same, _) => {
                        total.same += 1;
                        &used.content
                    }
                    (SnapshotState::Changed, true) => {
                        total.updated += 1;
                        &used.content
                    }
                    (SnapshotState::Changed, false) => {
                        total.changed += 1;
                        old.get(&test.name, used.number).unwrap_or(&used.content)
                    }
                };
                new.insert(&test.name, used.number, text.to_owned());
            }
        }
        if !whole || options.filter.is_some() {
            let is_complete = |name: &String| missing.get(name.as_str()) == Some(&0);
            for name in old.tests().filter(|name| !is_complete(name)) {
                new.keep(name, old);
            }
        }
        total.removed += old.without(&new);
        if new != *old && !(new.is_empty() && old.is_empty()) {
            new.write(path)?;
        }
    }
    Ok(total)
}
