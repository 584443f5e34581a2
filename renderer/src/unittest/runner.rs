//! Runs the suites of charts: tests in parallel, results in the order of the files, then the snapshots are written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::case::{Case, TestOptions, TestedChart, ValuesFiles};
use super::outcome::{SnapshotState, TestOutcome, Verdict};
use super::snapshot::{Snapshots, snapshot_path};
use super::suite::Suite;
use crate::diag::Result;

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
pub struct RunOutcome {
    /// The tests that were run or skipped, in order.
    pub tests: Vec<TestOutcome>,
    /// The snapshots.
    pub snapshots: SnapshotTotal,
}

/// The tests of one suite with the same name: they share the numbers of their snapshots.
struct Group {
    suite: usize,
    tests: Vec<usize>,
}

/// Runs suites. `ended` is asked between tests.
///
/// # Errors
/// A snapshot file can't be read or written.
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
    let mut stored = BTreeMap::new();
    for path in &paths {
        if !stored.contains_key(path) {
            stored.insert(path.clone(), Snapshots::read(path)?);
        }
    }
    let groups = groups(suites, options);
    let files = ValuesFiles::default();
    let none = Snapshots::default();
    let work = |group: &Group| {
        let mut out = Vec::new();
        let mut used = 0;
        for &number in &group.tests {
            let found = suites.get(group.suite);
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
                    .get(group.suite)
                    .and_then(|path| stored.get(path))
                    .unwrap_or(&none),
                used,
            };
            let outcome = case.run((group.suite, number));
            used += outcome.snapshots.len();
            out.push(outcome);
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
    let snapshots = write(suites, &tests, (&paths, &stored), whole, options)?;
    Ok(RunOutcome { tests, snapshots })
}

fn is_bad(one: &TestOutcome) -> bool {
    matches!(one.verdict, Verdict::Failed | Verdict::Errored)
}

fn groups(suites: &[SuiteRun], options: &RunOptions) -> Vec<Group> {
    let mut out = Vec::new();
    for (suite, run) in suites.iter().enumerate() {
        let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, test) in run.suite.tests.iter().enumerate() {
            let wanted = options
                .filter
                .as_ref()
                .is_none_or(|text| test.name.contains(text) || run.suite.name.contains(text));
            if !wanted {
                continue;
            }
            let at = *by_name.entry(&test.name).or_insert(out.len());
            match out.get_mut(at) {
                Some(Group { tests, .. }) => tests.push(number),
                None => out.push(Group {
                    suite,
                    tests: vec![number],
                }),
            }
        }
    }
    out
}

/// The outcomes of all groups, in any order; of those before the first bad one at least, if that ends the run.
fn in_parallel(
    groups: &[Group],
    fail_fast: bool,
    ended: &(dyn Fn() -> bool + Sync),
    work: impl Fn(&Group) -> Vec<TestOutcome> + Sync,
) -> Vec<TestOutcome> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results = Mutex::new(Vec::new());
    let some = || {
        while !(ended() || fail_fast && failed.load(Ordering::Relaxed)) {
            let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            let mut outcomes = work(group);
            failed.fetch_or(outcomes.iter().any(is_bad), Ordering::Relaxed);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.append(&mut outcomes);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..crate::parallel::processors().min(groups.len()) {
            scope.spawn(some);
        }
        some();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
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
        let mut complete = BTreeSet::new();
        for one in tests.iter().filter(|one| here(one.suite)) {
            let Some(test) = suites
                .get(one.suite)
                .and_then(|run| run.suite.tests.get(one.test))
            else {
                continue;
            };
            if matches!(one.verdict, Verdict::Errored | Verdict::Skipped) {
                new.keep(&test.name, old);
                continue;
            }
            complete.insert(&test.name);
            if one.verdict == Verdict::Failed {
                // It may have failed before it came to its snapshots.
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
            for name in old.tests().filter(|name| !complete.contains(name)) {
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
