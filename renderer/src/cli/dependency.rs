//! `dependency build` and `dependency update`; `dependency list` is in `dependency_list`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::args::dependency::{DependencyArgs, DependencyCommand};
use super::args::provenance::ProvenanceFlags;
use super::args::repositories::RepositoryFileFlags;
use super::chart_search::with_charts_below;
use super::client::client_options;
use super::context::{CommandOutcome, CommandResult, Context};
use super::input::name_input;
use super::printer::to_stderr;
use super::progress::{CLEARED, TerminalProgress, bar};
use crate::dependencies::{self, Change, Mode, Placed, Reach};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::oci::ClientOptions;
use crate::report::{self, Report};

/// `dependency`
pub(crate) fn dependency(command: &DependencyCommand, context: &Context<'_>) -> CommandResult {
    let (args, mode) = match command {
        DependencyCommand::List(args) => return super::dependency_list::list(args, context),
        DependencyCommand::Build(args) => (args, Mode::Build),
        DependencyCommand::Update(args) => (args, Mode::Update),
    };
    let client = client_options(&args.registry).map(|client| ClientOptions {
        cache: args.cache.find(context),
        ..client
    });
    let charts = with_charts_below(&args.charts, context);
    match client.and_then(|client| run(&charts, args.wanted(), &client, mode, context)) {
        Ok(charts) => {
            let charts = charts.into_iter();
            CommandResult::Many(charts.flat_map(|one| one.unwrap_or_else(failed)).collect())
        }
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

/// The options for fetching dependencies.
#[derive(Clone, Copy)]
pub(crate) struct DependencyInputs<'w> {
    pub(crate) known: &'w RepositoryFileFlags,
    pub(crate) provenance: &'w ProvenanceFlags,
}

impl DependencyArgs {
    fn wanted(&self) -> DependencyInputs<'_> {
        DependencyInputs {
            known: &self.known,
            provenance: &self.provenance,
        }
    }
}

fn failed(problem: Diagnostics) -> Vec<CommandOutcome> {
    vec![CommandOutcome::failed(problem)]
}

/// One result for each chart; with several charts, failures name theirs.
fn run(
    charts: &[PathBuf],
    wanted: DependencyInputs<'_>,
    client: &ClientOptions,
    mode: Mode,
    context: &Context<'_>,
) -> Result<Vec<Result<Vec<CommandOutcome>>>> {
    check_credentials(charts, client)?;
    let keyring = wanted.provenance.keyring(context)?;
    let progress = TerminalProgress::new(context.printer, "pulling");
    let reach = Reach {
        client,
        repositories: wanted.known.repository_config.as_deref(),
        keyring: keyring.as_deref(),
        world: context.world,
        progress: &progress,
    };
    let shows = context.printer.shows_progress() && charts.len() > 1;
    let begins = |number| {
        if shows {
            to_stderr(&bar(number, charts.len()));
        }
    };
    let done = dependencies::run_each(charts, mode, reach, &begins);
    progress.end();
    if shows {
        to_stderr(CLEARED);
    }
    let named = |(done, chart): (Result<_>, &PathBuf)| match done {
        Ok(done) => Ok(outcomes(done, context)),
        Err(problem) if charts.len() > 1 => {
            let all = problem.into_vec().into_iter();
            Err(all.map(|one| name_input(one, chart)).collect())
        }
        Err(problem) => Err(problem),
    };
    Ok(done?.into_iter().zip(charts).map(named).collect())
}

fn outcomes(done: Vec<dependencies::BuiltDependencies>, context: &Context<'_>) -> Vec<CommandOutcome> {
    let mut outcomes = Vec::new();
    for chart in done {
        for warning in &chart.warnings {
            context.printer.warn(warning);
        }
        outcomes.extend(chart.archives.into_iter().map(outcome));
        if let Some(lock) = chart.lock {
            let path = lock.display().to_string();
            outcomes.push(CommandOutcome {
                text: format!("Wrote: {path}\n"),
                report: Report {
                    outcome: Some(report::Outcome::Saved),
                    file: Some(path),
                    ..Report::default()
                },
                problem: None,
            });
        }
    }
    outcomes
}

/// Runs `dependency update` before another command: it only reports with -v.
pub(crate) fn update_first(
    chart: &Path,
    wanted: DependencyInputs<'_>,
    client: &ClientOptions,
    context: &Context<'_>,
) -> Result<()> {
    update_each(&[chart.to_owned()], wanted, client, context)?
        .into_iter()
        .collect()
}

/// As [`update_first`], for several charts, each with a result of its own.
pub(crate) fn update_each(
    charts: &[PathBuf],
    wanted: DependencyInputs<'_>,
    client: &ClientOptions,
    context: &Context<'_>,
) -> Result<Vec<Result<()>>> {
    let reported = |done: Result<Vec<CommandOutcome>>| {
        for outcome in done? {
            if context.printer.is_verbose() {
                to_stderr(&outcome.text);
            }
        }
        Ok(())
    };
    let charts = run(charts, wanted, client, Mode::Update, context)?;
    Ok(charts.into_iter().map(reported).collect())
}

fn outcome(placed: Placed) -> CommandOutcome {
    let Placed {
        path,
        chart: (name, version, repository),
        digest,
        size,
        change,
    } = placed;
    let (outcome, verb) = match change {
        Change::Added => (report::Outcome::Pulled, "Saved"),
        Change::Kept => (report::Outcome::Unchanged, "Unchanged"),
        Change::Removed => (report::Outcome::Removed, "Removed"),
    };
    let path = path.display().to_string();
    let from = if repository.is_empty() {
        String::new()
    } else {
        format!(" from {repository}")
    };
    CommandOutcome {
        text: format!("{verb}: {name} {version}{from}\n"),
        report: Report {
            outcome: Some(outcome),
            reference: reference(&repository, &name, &version),
            layer: Some(report::BlobReport {
                digest: digest.to_string(),
                size,
            }),
            file: Some(path),
            ..Report::default()
        },
        problem: None,
    }
}

/// The reference of an archive; tags have `_` for `+`. `None` for a folder.
fn reference(repository: &str, name: &str, version: &str) -> Option<String> {
    let place = repository.trim_end_matches('/');
    match place.split_once("://")?.0 {
        "file" => None,
        "oci" => Some(format!("{place}/{name}:{}", version.replace('+', "_"))),
        _ => Some(format!("{place}/{name}:{version}")),
    }
}

/// Refuses one password for several registries: the wrong ones would receive it.
fn check_credentials(charts: &[PathBuf], client: &ClientOptions) -> Result<()> {
    if client.credentials.is_none() {
        return Ok(());
    }
    let mut hosts = BTreeSet::new();
    for chart in charts {
        let metadata = crate::chart::folder::chart_yaml(chart)?;
        let wanted = dependencies::wanted(&metadata);
        let places = wanted
            .iter()
            .filter_map(|one| one.repository.strip_prefix("oci://"));
        hosts.extend(places.map(|rest| rest.split('/').next().unwrap_or(rest).to_owned()));
    }
    if hosts.len() < 2 {
        return Ok(());
    }
    let hosts: Vec<String> = hosts.into_iter().collect();
    let message = format!("--username would go to {}", hosts.join(" and "));
    Err(Diagnostic::error(Class::Usage, message)
        .hint("log in to each with `solar-render login`")
        .into())
}
