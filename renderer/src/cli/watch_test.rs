//! `test --watch`: the report, then after each change the tests that do not pass, and those that pass again.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::args::test::TestArgs;
use super::context::{CommandOutcome, CommandResult, Context};
use super::test::{run_all, value_flags};
use super::test_report::{TestReport, name_of};
use super::watch::{Round, Watched, watch};
use super::watch_template::{flag_files, refuse_documents};
use crate::diag::{Diagnostics, Result};
use crate::unittest::{Discovered, RunOutcome, SNAPSHOT_FOLDER, Verdict};

/// Tests by file, name and number among those with the name.
type Verdicts = BTreeMap<(String, String, usize), Verdict>;

/// `test --watch`
pub(super) fn watch_tests(args: &TestArgs, context: &Context<'_>) -> CommandResult {
    match paths(args, context) {
        Ok(paths) => {
            let watched = Watched {
                paths,
                is_written: &|path| is_written(path, args.junit.as_deref()),
            };
            let mut last = None;
            watch(&watched, context, &mut || round(args, &mut last, context))
        }
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

/// Whether a run writes the file itself.
fn is_written(path: &Path, junit: Option<&Path>) -> bool {
    let is_snapshots = |part: Component<'_>| part.as_os_str() == SNAPSHOT_FOLDER;
    path.components().any(is_snapshots) || junit == Some(path)
}

/// One run; `last` are the verdicts of the last one that could be made.
fn round(args: &TestArgs, last: &mut Option<Verdicts>, context: &Context<'_>) -> Round {
    let done = run_all(args, context);
    let (mut text, mut notice, mut files) = (String::new(), None, Vec::new());
    match done {
        _ if context.signals.caught().is_some() => {}
        Ok((found, outcome)) => {
            for one in outcome.unwritten.iter().flat_map(Diagnostics::iter) {
                context.printer.error(one);
            }
            let report = TestReport {
                found: &found,
                outcome: &outcome,
            };
            let verdicts = verdicts(&found, &outcome);
            text = match last.replace(verdicts.clone()) {
                None => report.text(context.printer.is_quiet()),
                Some(before) => report.text(true) + &passing_again(&before, &verdicts) + &report.last_line(),
            };
            files = found
                .suites
                .iter()
                .flat_map(|run| run.suite.values_files())
                .collect();
        }
        Err(problem) => {
            for one in problem.iter() {
                context.printer.error(one);
            }
            notice = Some("not run: the last results stay".to_owned()).filter(|_| last.is_some());
        }
    }
    Round { text, notice, files }
}

fn verdicts(found: &Discovered, outcome: &RunOutcome) -> Verdicts {
    let (mut out, mut counts) = (Verdicts::new(), BTreeMap::new());
    for one in &outcome.tests {
        let Some(run) = found.suites.get(one.suite) else {
            continue;
        };
        let (file, name) = (run.suite.source.name(), name_of(run, one));
        let count: &mut usize = counts.entry((file, name)).or_default();
        out.insert((file.to_owned(), name.to_owned(), *count), one.verdict);
        *count += 1;
    }
    out
}

/// A line for each test that passes and did not before.
fn passing_again(before: &Verdicts, now: &Verdicts) -> String {
    let is_bad = |verdict: &Verdict| matches!(verdict, Verdict::Failed | Verdict::Errored);
    let passing = now.iter().filter(|(_, verdict)| **verdict == Verdict::Passed);
    let again = passing.filter(|(key, _)| before.get(key).is_some_and(is_bad));
    again
        .map(|((file, name, _), _)| format!("PASS  {file}\n  passes again: {name}\n"))
        .collect()
}

/// The charts, and the files that flags name.
///
/// # Errors
/// Class usage: something is not a file that can be read again.
fn paths(args: &TestArgs, context: &Context<'_>) -> Result<Vec<PathBuf>> {
    refuse_documents(context)?;
    let mut paths: Vec<PathBuf> = args.charts.iter().map(|chart| without_pattern(chart)).collect();
    paths.extend(flag_files(&value_flags(args), &args.lookup)?);
    Ok(paths)
}

/// The path, or the folder in which its pattern is looked for.
fn without_pattern(path: &Path) -> PathBuf {
    let is_pattern = |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    match path.exists() {
        true => path.to_owned(),
        false => {
            let fixed: PathBuf = path.components().take_while(|part| !is_pattern(part)).collect();
            match fixed.as_os_str().is_empty() {
                true => PathBuf::from("."),
                false => fixed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_pattern_its_folder_is_watched() {
        for (given, expected) in [
            ("no/charts/*", "no/charts"),
            ("no/ch*/x", "no"),
            ("*", "."),
            ("no", "no"),
        ] {
            assert_eq!(without_pattern(Path::new(given)), Path::new(expected), "{given}");
        }
    }

    #[test]
    fn snapshots_and_junit_s_file_are_written_by_the_run() {
        let junit = Some(Path::new("shop/out.xml"));
        assert!(is_written(
            Path::new("shop/tests/__snapshot__/a_test.yaml.snap"),
            junit
        ));
        assert!(is_written(Path::new("shop/out.xml"), junit));
        assert!(!is_written(Path::new("shop/tests/a_test.yaml"), junit));
    }
}
