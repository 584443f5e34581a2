//! `dependency build` and `dependency update`; `dependency list` is next door.

use std::collections::BTreeSet;
use std::path::Path;

use super::args::dependency::{Dependencies, DependencyCommand};
use super::args::provenance::Provenance;
use super::args::repositories::KnownRepositories;
use super::client::client_options;
use super::context::{Context, Done, Outcome};
use super::printer::to_stderr;
use super::progress::Progress;
use crate::dependencies::{self, Change, Mode, Placed, Reach};
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::ClientOptions;
use crate::report::{self, Report};

/// `dependency`
pub(crate) fn dependency(command: &DependencyCommand, context: &Context<'_>) -> Done {
    let (args, mode) = match command {
        DependencyCommand::List(args) => return super::dependency_list::list(args, context),
        DependencyCommand::Build(args) => (args, Mode::Build),
        DependencyCommand::Update(args) => (args, Mode::Update),
    };
    let client = client_options(&args.registry).map(|client| ClientOptions {
        cache: args.cache.find(context),
        ..client
    });
    match client.and_then(|client| run(args.wanted(), &client, mode, context)) {
        Ok(outcomes) => Done::Many(outcomes),
        Err(problem) => Done::One(Box::new(Outcome::failed(problem))),
    }
}

/// Whose dependencies, and from where.
pub(crate) struct Wanted<'w> {
    pub(crate) chart: &'w Path,
    pub(crate) known: &'w KnownRepositories,
    pub(crate) provenance: &'w Provenance,
}

impl Dependencies {
    fn wanted(&self) -> Wanted<'_> {
        Wanted {
            chart: &self.chart,
            known: &self.known,
            provenance: &self.provenance,
        }
    }
}

fn run(
    wanted: Wanted<'_>,
    client: &ClientOptions,
    mode: Mode,
    context: &Context<'_>,
) -> Result<Vec<Outcome>> {
    check_credentials(wanted.chart, client)?;
    let keyring = wanted.provenance.keyring(context)?;
    let progress = Progress::new(context.printer, "pulling");
    let reach = Reach {
        client,
        repositories: wanted.known.repository_config.as_deref(),
        keyring: keyring.as_deref(),
        world: context.world,
        progress: &progress,
    };
    let done = dependencies::run(wanted.chart, mode, reach);
    progress.end();
    let done = done?;
    let mut outcomes = Vec::new();
    for chart in done {
        for warning in &chart.warnings {
            context.printer.warn(warning);
        }
        outcomes.extend(chart.archives.into_iter().map(outcome));
        if let Some(lock) = chart.lock {
            let path = lock.display().to_string();
            outcomes.push(Outcome {
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
    Ok(outcomes)
}

/// What `dependency update` does, before something else is done with the chart: it says so with -v only.
pub(crate) fn update_first(wanted: Wanted<'_>, client: &ClientOptions, context: &Context<'_>) -> Result<()> {
    for outcome in run(wanted, client, Mode::Update, context)? {
        if context.printer.is_verbose() {
            to_stderr(&outcome.text);
        }
    }
    Ok(())
}

fn outcome(placed: Placed) -> Outcome {
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
    Outcome {
        text: format!("{verb}: {name} {version}{from}\n"),
        report: Report {
            outcome: Some(outcome),
            reference: reference(&repository, &name, &version),
            layer: Some(report::Blob {
                digest: digest.to_string(),
                size,
            }),
            file: Some(path),
            ..Report::default()
        },
        problem: None,
    }
}

/// What can be pulled again: a tag has `_` where the version has `+`. A folder has no reference.
fn reference(repository: &str, name: &str, version: &str) -> Option<String> {
    let place = repository.trim_end_matches('/');
    match place.split_once("://")?.0 {
        "file" => None,
        "oci" => Some(format!("{place}/{name}:{}", version.replace('+', "_"))),
        _ => Some(format!("{place}/{name}:{version}")),
    }
}

/// One password for several registries would show it to the wrong ones.
fn check_credentials(chart: &Path, client: &ClientOptions) -> Result<()> {
    if client.credentials.is_none() {
        return Ok(());
    }
    let metadata = crate::chart::folder::chart_yaml(chart)?;
    let hosts: BTreeSet<String> = dependencies::wanted(&metadata)
        .iter()
        .filter_map(|one| one.repository.strip_prefix("oci://"))
        .map(|rest| rest.split('/').next().unwrap_or(rest).to_owned())
        .collect();
    if hosts.len() < 2 {
        return Ok(());
    }
    let hosts: Vec<String> = hosts.into_iter().collect();
    let message = format!("--username would go to {}", hosts.join(" and "));
    Err(Diagnostic::error(Class::Usage, message)
        .hint("log in to each with `solar-render login`")
        .into())
}
