//! `test`: runs the suites of charts.
//!
//! A test that does not pass is exit code 1, as a chart that is wrong; so is a suite that can't be read, before any test
//! is run.

use std::path::PathBuf;
use std::sync::Arc;

use super::args::rendering::ValueFlags;
use super::args::test::TestArgs;
use super::chart_search::{expanded, find_all};
use super::context::{CommandOutcome, CommandResult, Context};
use super::lookup_files::lookup_objects;
use super::request::merged;
use super::signals::verb;
use super::test_ci::run_ci;
use super::test_report::TestReport;
use super::watch_test::watch_tests;
use super::{test_findings, test_junit};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::engine::capabilities::Capabilities;
use crate::fsio;
use crate::oci::ClientOptions;
use crate::unittest::{DiscoverOptions, Discovered, RunOptions, RunOutcome, SUITE_FILES, TestOptions, run};

/// How many files without a suite are named.
const SHOWN_EMPTY_FILES: usize = 10;

/// `test`
pub(crate) fn test(args: &TestArgs, context: &Context<'_>) -> CommandResult {
    if args.watch {
        return watch_tests(args, context);
    }
    match run_all(args, context) {
        Ok((found, outcome)) => {
            let report = TestReport {
                found: &found,
                outcome: &outcome,
            };
            CommandResult::Findings {
                json: report.json(),
                text: test_findings::formatted(&report, context.printer.format())
                    .unwrap_or_else(|| report.text(context.printer.is_quiet())),
                problem: report.problem(),
            }
        }
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

/// Runs the tests, and writes their results for JUnit.
pub(super) fn run_all(args: &TestArgs, context: &Context<'_>) -> Result<(Discovered, RunOutcome)> {
    match run_found(args, context) {
        Ok((found, mut outcome)) => {
            let report = TestReport {
                found: &found,
                outcome: &outcome,
            };
            if let Err(problem) = write_junit(args, || test_junit::of_report(&report)) {
                match &mut outcome.unwritten {
                    Some(known) => known.extend(problem),
                    none => *none = Some(problem),
                }
            }
            Ok((found, outcome))
        }
        Err(mut problem) => {
            // The results of an earlier run would be taken for those of this one.
            if let Err(other) = write_junit(args, || test_junit::of_problem(&problem)) {
                problem.extend(other);
            }
            Err(problem)
        }
    }
}

fn write_junit(args: &TestArgs, text: impl FnOnce() -> String) -> Result<()> {
    let Some(path) = &args.junit else {
        return Ok(());
    };
    fsio::write_over(path, text().as_bytes()).map_err(|error| fsio::cannot("write", path, &error, Class::Io))
}

fn run_found(args: &TestArgs, context: &Context<'_>) -> Result<(Discovered, RunOutcome)> {
    let values = value_flags(args);
    let cluster = lookup_objects(&args.lookup, &[&values], &Capabilities::default(), context)?;
    let mut found = discover(args, &values, context)?;
    for warning in &found.warnings {
        context.printer.warn(warning);
    }
    let options = RunOptions {
        test: TestOptions {
            updates: args.update,
            skip_schema: args.skip_schema_validation,
            limits: args.limits.limits(),
            seeded: Arc::clone(&context.seeded),
            cluster: (!args.lookup.lookup_file.is_empty()).then_some(cluster),
        },
        filter: args.filter.clone(),
        fail_fast: args.failfast,
    };
    context.signals.take_over();
    let mut outcome = run(&found.charts, &found.suites, &options, &|| {
        context.signals.caught().is_some()
    })?;
    if args.ci {
        run_ci(args, &values, &options, (&mut found, &mut outcome), context)?;
    }
    if let Some(class) = context.signals.caught() {
        return Err(Diagnostic::error(class, format!("{} by a signal", verb(class))).into());
    }
    if outcome.tests.is_empty() {
        return Err(nothing(args, &found));
    }
    Ok((found, outcome))
}

pub(super) fn value_flags(args: &TestArgs) -> ValueFlags {
    ValueFlags {
        values: args.values.clone(),
        ..ValueFlags::default()
    }
}

fn discover(args: &TestArgs, values: &ValueFlags, context: &Context<'_>) -> Result<Discovered> {
    let (values, _) = merged(values, &ClientOptions::default(), context)?;
    let options = DiscoverOptions {
        files: args.file.clone(),
        with_subcharts: args.with_subchart,
        is_strict: args.strict,
        values: Arc::new(values),
    };
    let mut found = Discovered::default();
    let mut problems = Vec::new();
    for folder in folders(args)? {
        if let Err(problem) = found.add(&folder, &options) {
            problems.extend(problem.into_vec());
        }
    }
    Diagnostics::or(problems, found)
}

/// The chart folders.
fn folders(args: &TestArgs) -> Result<Vec<PathBuf>> {
    let all = find_all(&expanded(&args.charts)?)?;
    match all.iter().find(|path| !path.is_dir()) {
        None => Ok(all),
        Some(other) => {
            let message = format!("{} is no chart folder", other.display());
            let one = Diagnostic::error(Class::Usage, message);
            Err(one
                .hint("unpack the archive: its suites are files beside the templates")
                .into())
        }
    }
}

/// No test was run: a misspelled filter or pattern would pass unseen.
fn nothing(args: &TestArgs, found: &Discovered) -> Diagnostics {
    let mut one = Diagnostic::error(Class::Usage, "there is no test to run");
    if let ([], [_, ..]) = (found.suites.as_slice(), found.empty_files.as_slice()) {
        for file in found.empty_files.iter().take(SHOWN_EMPTY_FILES) {
            one = one.note(format!("{file} holds no suite"));
        }
        return one.into();
    }
    match &args.filter {
        Some(text) => one
            .hint(format!("no test's and no suite's name contains {text:?}"))
            .into(),
        None => {
            let files = args.file.join(", ");
            let one = one.note(format!("suites are the files {files} of each chart"));
            match files == SUITE_FILES {
                true => one.hint("-f gives other patterns").into(),
                false => one.into(),
            }
        }
    }
}
