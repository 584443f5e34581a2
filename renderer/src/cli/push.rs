//! `push`, and how the commands that build an artifact run the pipeline.

use std::path::Path;

use super::args::policy::{IfExistsChoice, PolicyFlags};
use super::args::push::PushArgs;
use super::args::registry::RegistryFlags;
use super::chart_files;
use super::client::client_options;
use super::context::{CalledAs, CommandOutcome, Context};
use super::input::{ArtifactSource, packer, warn};
use super::keys::signer;
use super::progress::TerminalProgress;
use super::wrong_kind::is_archive;
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{self, IfExists, PushOptions};
use crate::package::Packer;
use crate::pipeline::{self, Delivered, Observer, PreparedArtifact, Request};
use crate::report::{self, Report};

/// `push`
pub(crate) fn push(args: &PushArgs, context: &Context<'_>) -> CommandOutcome {
    run(args, context).unwrap_or_else(CommandOutcome::failed)
}

fn run(args: &PushArgs, context: &Context<'_>) -> Result<CommandOutcome> {
    if !args.chart.is_dir() && !is_archive(&args.chart) {
        let problem = if args.chart.exists() {
            "is neither a chart folder nor an archive"
        } else {
            "does not exist"
        };
        let one = Diagnostic::error(Class::Chart, format!("{} {problem}", args.chart.display()));
        return Err(one
            .hint("a config is pushed by `solar-render CONFIG --url TARGET`")
            .into());
    }
    let source = ArtifactSource::of(&args.chart, context)?;
    let request = Request::new(source.input(args.versions.given())?).to(args.target.clone());
    let request = with_policy(request, &args.policy, &args.registry, context)?;
    Ok(deliver(&request, None, &mut packer(), context))
}

/// Adds the target and policy from the command line. Reads the password if it is on standard input, and the signing
/// key.
pub(crate) fn with_policy<'a>(
    mut request: Request<'a>,
    policy: &PolicyFlags,
    registry: &RegistryFlags,
    context: &Context<'_>,
) -> Result<Request<'a>> {
    let default = if context.called_as.is_helm() {
        // Helm overwrites tags without asking.
        IfExistsChoice::Replace
    } else if context.called_as.is_solar() {
        IfExistsChoice::Skip
    } else {
        IfExistsChoice::Fail
    };
    request.allow_mismatch = policy.allow_mismatch;
    request.push = push_options(policy, default);
    if !request.skip_push && request.target.is_some() {
        request.client = client_options(registry)?;
        request.push.signer = signer(&policy.signing, registry.password_stdin, context)?;
    }
    Ok(request)
}

/// The options of a push, unsigned. `default`: what is done when another digest is at the tag and no flag says so.
pub(crate) fn push_options(policy: &PolicyFlags, default: IfExistsChoice) -> PushOptions {
    PushOptions {
        if_exists: IfExists::from(policy.if_exists.unwrap_or(default)),
        expect_digest: policy.expect_digest.clone(),
        tags: policy.tag.clone(),
        moved_tags: policy.move_tag.clone(),
        ..PushOptions::default()
    }
}

/// Runs the pipeline, and returns its outcome.
pub(crate) fn deliver(
    request: &Request<'_>,
    keep: Option<&Path>,
    packer: &mut Packer,
    context: &Context<'_>,
) -> CommandOutcome {
    let watched = ObservedPush {
        progress: TerminalProgress::new(context.printer, "pushing"),
        keep,
        context,
    };
    let delivered = pipeline::run(request, packer, context.world, &watched);
    watched.progress.end();
    outcome(delivered, context.called_as)
}

/// The outcome as text and as a report.
pub(crate) fn outcome(delivered: Delivered, called_as: CalledAs) -> CommandOutcome {
    let Delivered { report, problem } = delivered;
    let text = match problem {
        None => pushed_text(&report, called_as),
        Some(_) => String::new(),
    };
    CommandOutcome {
        report,
        text,
        problem,
    }
}

/// The observer of a pipeline run.
struct ObservedPush<'a> {
    progress: TerminalProgress,
    keep: Option<&'a Path>,
    context: &'a Context<'a>,
}

impl Observer for ObservedPush<'_> {
    fn prepared(&self, prepared: &PreparedArtifact) -> Result<()> {
        warn(prepared, self.context);
        match (self.keep, &prepared.chart) {
            (Some(folder), Some(chart)) => chart_files::write_chart(chart, folder),
            _ => Ok(()),
        }
    }

    fn sending(&self, report: &Report) {
        self.context.signals.goes_out(report);
    }

    fn progress(&self) -> &dyn oci::Progress {
        &self.progress
    }
}

fn pushed_text(report: &Report, called_as: CalledAs) -> String {
    let reference = report.reference.as_deref().unwrap_or_default();
    let digest = report.digest.as_deref().unwrap_or_default();
    let outcome = report.outcome.map_or("", report::Outcome::as_str);
    let existing = report
        .existing_digest
        .as_ref()
        .filter(|other| **other != digest)
        .map_or(String::new(), |other| format!("Existing: {other}\n"));
    let note = report
        .note
        .as_ref()
        .map_or(String::new(), |note| format!("Note: {note}\n"));
    let line = |one: &report::TagReport| format!("Tag: {} ({})\n", one.tag, one.outcome.as_str());
    let tags: String = report.tags.iter().map(line).collect();
    let signed = match report.signature {
        Some(report::Outcome::Signed) => "Signed\n",
        Some(_) => "Signed before\n",
        None => "",
    };
    if called_as.is_helm() {
        return format!("Pushed: {reference}\nDigest: {digest}\n");
    }
    if called_as.is_solar() {
        return format!(
            "Pushed result to {reference}\nOutcome: {outcome}\nDigest: {digest}\n{existing}{note}{tags}{signed}"
        );
    }
    let verb = match report.outcome {
        Some(report::Outcome::Skipped) => "Skipped",
        Some(report::Outcome::Unchanged) => "Unchanged",
        Some(report::Outcome::Replaced) => "Replaced",
        _ => "Pushed",
    };
    format!("{verb}: {reference}\nDigest: {digest}\n{existing}{note}{tags}{signed}")
}
