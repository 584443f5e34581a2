//! `publish`: pushes those of many charts that changed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::args::policy::IfExistsChoice;
use super::args::provenance::ProvenanceFlags;
use super::args::publish::PublishArgs;
use super::chart_search::{expanded, find_all};
use super::ci;
use super::client::client_options;
use super::context::{CommandOutcome, CommandResult, Context};
use super::dependency::{DependencyInputs, update_each};
use super::input::ArtifactSource;
use super::keys::signer;
use super::lint_gate::LintGate;
use super::printer::to_stderr;
use super::progress::{CLEARED, TerminalProgress, bar};
use super::publish_rows::{PublishRow, PublishRows, annotate};
use super::remote_schemas::schema_store;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::oci::{self, Batch, ClientOptions, IfExists, PushOptions, Ready};
use crate::package::{Packer, Stamp};
use crate::pipeline::{self, VersionOverrides};
use crate::reference::Target;
use crate::report::Report;

/// `publish`
pub(crate) fn publish(args: &PublishArgs, context: &Context<'_>) -> CommandResult {
    match run(args, context) {
        Ok(rows) => done(rows, args, context),
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

fn run(args: &PublishArgs, context: &Context<'_>) -> Result<Vec<PublishRow>> {
    if let Target::Registry { tag: Some(_), .. } | Target::Layout { tag: Some(_), .. } = args.target {
        let one = Diagnostic::error(Class::Usage, "many charts can't go to one tag");
        return Err(one
            .hint("leave the tag out: each chart's version becomes its own")
            .into());
    }
    let inputs = find_all(&expanded(&args.inputs)?)?;
    if let Some(path) = &args.dotenv {
        // Checks before pushing that the report can be written; and clears an older one.
        fsio::write_over(path, b"").map_err(|error| fsio::cannot("write", path, &error, Class::Usage))?;
    }
    let client = client_options(&args.registry)?;
    let stamp = pipeline::stamp(context.world)?;
    let refused = update_dependencies(&inputs, args, &client, context)?;
    let making = Making {
        target: &args.target,
        stamp,
        gate: lint_gate(args, context)?,
    };
    let make = |number: usize, packer: &mut Packer| match (inputs.get(number), refused.get(&number)) {
        (_, Some(problem)) => Err(problem.clone()),
        (Some(input), None) => making.one(input, packer),
        (None, None) => Err(Diagnostic::error(Class::Internal, "there is no such chart").into()),
    };
    let options = PushOptions {
        if_exists: IfExists::from(args.if_exists.unwrap_or(IfExistsChoice::Fail)),
        check: args.check,
        signer: signer(&args.signing, args.registry.password_stdin, context)?,
        ..PushOptions::default()
    };
    let batch = Batch {
        count: inputs.len(),
        make: &make,
        threads: crate::parallel::processors(),
        connections: usize::from(args.connections),
        options: &options,
        cancellation: context.signals.take_over(),
    };
    let mut rows = PublishRows::new(&inputs, args.check, context);
    let progress = TerminalProgress::new(context.printer, "pushing");
    let mut count = 0;
    let mut finished = |number, finished| {
        count += 1;
        if context.printer.shows_progress() {
            to_stderr(&bar(count, inputs.len()));
        }
        rows.tell(number, finished);
    };
    oci::publish(batch, &client, context.world, &progress, &mut finished)?;
    if context.printer.shows_progress() {
        to_stderr(CLEARED);
    }
    Ok(rows.finish())
}

/// What chart folders must pass. Schemas are no business of the target's: its credentials and TLS are not used.
fn lint_gate(args: &PublishArgs, context: &Context<'_>) -> Result<Option<LintGate>> {
    if args.no_lint {
        return Ok(None);
    }
    let client = ClientOptions {
        cache: args.cache.find(context),
        ..ClientOptions::default()
    };
    LintGate::new(schema_store(&args.schemas, client, false, context)?).map(Some)
}

/// `-u`: the charts whose dependencies can't be had, by number. `--username` and `--password` are the target's.
fn update_dependencies(
    inputs: &[PathBuf],
    args: &PublishArgs,
    client: &ClientOptions,
    context: &Context<'_>,
) -> Result<BTreeMap<usize, Diagnostics>> {
    if !args.dependency_update {
        return Ok(BTreeMap::new());
    }
    let client = ClientOptions {
        credentials: None,
        cache: args.cache.find(context),
        ..client.clone()
    };
    let wanted = DependencyInputs {
        known: &args.known,
        provenance: &ProvenanceFlags::default(),
    };
    let folders = inputs.iter().enumerate().filter(|(_, input)| input.is_dir());
    let (numbers, folders): (Vec<usize>, Vec<PathBuf>) =
        folders.map(|(number, input)| (number, input.clone())).unzip();
    let updated = update_each(&folders, wanted, &client, context)?;
    let failed = |(number, updated): (usize, Result<()>)| Some((number, updated.err()?));
    Ok(numbers.into_iter().zip(updated).filter_map(failed).collect())
}

/// The options for building a chart.
struct Making<'m> {
    target: &'m Target,
    stamp: Stamp,
    /// The lint gate for chart folders.
    gate: Option<LintGate>,
}

impl Making<'_> {
    fn one(&self, input: &Path, packer: &mut Packer) -> Result<Ready> {
        let source = ArtifactSource::with_stamp(input, io::empty(), || Ok(self.stamp))?;
        let prepared = pipeline::prepare(source.input(VersionOverrides::default())?, packer)?;
        let destination = oci::resolve(self.target, &prepared.artifact, false)?;
        if let (Some(gate), ArtifactSource::Folder { path, .. }) = (&self.gate, &source) {
            gate.check(path)?;
        }
        let warnings = prepared.chart.map_or(Vec::new(), |chart| chart.warnings.clone());
        Ok(Ready {
            artifact: prepared.artifact,
            destination,
            warnings,
        })
    }
}

/// Writes the table, and the files for CI.
fn done(mut rows: Vec<PublishRow>, args: &PublishArgs, context: &Context<'_>) -> CommandResult {
    let cells: Vec<ci::ChartRow> = rows.iter().map(PublishRow::cells).collect();
    let reports: Vec<Report> = rows.iter().map(|row| row.outcome.report.clone()).collect();
    annotate(&rows, context.printer);
    let result_file = context.printer.result_file();
    let mut problems = ci::write_github_files(&cells, &reports, result_file, context.world);
    if let Some(path) = &args.dotenv {
        problems.extend(ci::ambiguous(&cells));
        let (text, omitted) = ci::dotenv(&cells, usize::from(args.dotenv_variables));
        if let Err(error) = fsio::write_over(path, text.as_bytes()) {
            problems.extend(fsio::cannot("write", path, &error, Class::Usage).into_vec());
        }
        if omitted > 0 {
            let message = format!(
                "{} leaves out {omitted} charts: GitLab takes no more",
                path.display()
            );
            problems.push(Diagnostic::warning(Class::Io, message));
        }
    }
    for problem in &problems {
        context.printer.warn(problem);
    }
    let table = ci::table(&cells);
    for (row, line) in rows.iter_mut().zip(table.lines().skip(1)) {
        row.outcome.text = format!("{line}\n");
    }
    if let (Some(row), Some(head)) = (rows.first_mut(), table.lines().next()) {
        row.outcome.text = format!("{head}\n{}", row.outcome.text);
    }
    CommandResult::Many(rows.into_iter().map(|row| row.outcome).collect())
}
