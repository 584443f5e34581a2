//! `push`, and how an artifact gets to its target for the other commands.

use super::args::policy::{Exists, Policy};
use super::args::push::Push;
use super::args::registry::Registry;
use super::client::client_options;
use super::context::{Context, Outcome};
use super::input::{is_archive, prepare_any, warn};
use super::keys::signer;
use super::progress::Progress;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::oci::{self, ClientOptions, IfExists, PushOptions};
use crate::package::Packer;
use crate::package::artifact::Artifact;
use crate::pipeline::{self, Prepared};
use crate::reference::{Digest, Target};
use crate::report::{self, Report};

/// `push`
pub(crate) fn push(args: &Push, context: &Context<'_>) -> Outcome {
    let prepared = match prepare_push(args, context) {
        Ok(prepared) => prepared,
        Err(problem) => return Outcome::failed(problem),
    };
    warn(&prepared, context);
    ship(
        &prepared.artifact,
        &args.target,
        &args.policy,
        &args.registry,
        context,
    )
}

fn prepare_push(args: &Push, context: &Context<'_>) -> Result<Prepared> {
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
    prepare_any(&args.chart, &args.versions, context)
}

/// A report of what is known of an artifact before it is shipped.
pub(crate) fn describe(artifact: &Artifact) -> Report {
    let layer = artifact.layer().map(|blob| report::Blob {
        digest: blob.digest.to_string(),
        size: blob.size,
    });
    Report {
        layer,
        ..Report::default()
    }
    .with_digest(&artifact.digest, artifact.size())
}

/// A failure with all that is known of the artifact.
pub(crate) fn failed(report: Report, problem: Diagnostics) -> Outcome {
    let report = Report {
        error: Report::failure(&problem).error,
        ..report
    };
    Outcome {
        report,
        text: String::new(),
        problem: Some(problem),
    }
}

/// Fails when the digest is not the expected one.
pub(crate) fn check_expected(artifact: &Artifact, expected: Option<&Digest>) -> Result<()> {
    match expected {
        Some(expected) if *expected != artifact.digest => {
            let message = format!("the digest is {}, but {expected} was expected", artifact.digest);
            Err(Diagnostic::error(Class::Digest, message)
                .note("nothing was sent")
                .into())
        }
        _ => Ok(()),
    }
}

/// Takes an artifact to a target.
pub(crate) fn ship(
    artifact: &Artifact,
    target: &Target,
    policy: &Policy,
    registry: &Registry,
    context: &Context<'_>,
) -> Outcome {
    let mut report = describe(artifact);
    let prepared = prepare(artifact, target, policy, registry)
        .and_then(|both| Ok((both, signer(&policy.signing, registry.password_stdin, context)?)));
    let ((destination, client), signer) = match prepared {
        Ok(prepared) => prepared,
        Err(problem) => return failed(report, problem),
    };
    report.reference = Some(destination.to_string());
    let default = if context.as_solar {
        Exists::Skip
    } else {
        Exists::Fail
    };
    let if_exists = IfExists::from(policy.if_exists.unwrap_or(default));
    let options = PushOptions {
        if_exists,
        expect_digest: policy.expect_digest.clone(),
        tags: policy.tag.clone(),
        moved_tags: policy.move_tag.clone(),
        signer,
        ..PushOptions::default()
    };
    let before = archive_digest(&destination);
    context.signals.goes_out(&report);
    let progress = Progress::new(context.printer, "pushing");
    let pushed = oci::push(
        artifact,
        &destination,
        &options,
        &client,
        context.world,
        &progress,
    );
    progress.end();
    let mut outcome = shipped(report, pushed, context.as_solar);
    let ours = Some(artifact.digest.to_string());
    outcome.report.existing_digest = outcome
        .report
        .existing_digest
        .or(before)
        .filter(|other| Some(other) != ours.as_ref());
    outcome
}

/// The digest of the chart whose archive is at the destination: a folder keeps no digests.
fn archive_digest(destination: &oci::Destination) -> Option<String> {
    let oci::Destination::File { path } = destination else {
        return None;
    };
    // What can't be read as a chart has no digest to report; the push says what is wrong.
    let existing = pipeline::from_archive(path, &mut Packer::new(1)).ok()?;
    Some(existing.artifact.digest.to_string())
}

/// What a push came to, with what was known before.
pub(crate) fn shipped(
    mut report: Report,
    pushed: std::result::Result<oci::Pushed, oci::Failure>,
    as_solar: bool,
) -> Outcome {
    match pushed {
        Ok(pushed) => {
            report.outcome = Some(pushed.outcome);
            report.existing_digest = pushed.existing_digest.as_ref().map(ToString::to_string);
            report.reference = Some(pushed.reference);
            report.signature = pushed.signature;
            report.tags = pushed.tags.into_iter().map(tag_report).collect();
            if let Some(equivalent) = pushed.equivalent {
                report = keep_equivalent(report, &equivalent);
            }
            let text = shipped_text(&report, as_solar);
            Outcome {
                report,
                text,
                problem: None,
            }
        }
        Err(failure) => {
            report.existing_digest = failure.existing_digest().map(ToString::to_string);
            // Of several tags the one that the digest was found at.
            if let Some(reference) = failure.reference() {
                report.reference = Some(reference.to_owned());
            }
            failed(report, failure.diagnostic().into())
        }
    }
}

/// What is at the tag is the chart's digest from now on, though not the one made here.
fn keep_equivalent(report: Report, equivalent: &oci::Equivalent) -> Report {
    let (layer, size) = &equivalent.layer;
    Report {
        layer: Some(report::Blob {
            digest: layer.to_string(),
            size: *size,
        }),
        note: Some(equivalent.sameness.note().to_owned()),
        ..report.with_digest(&equivalent.digest, equivalent.size)
    }
}

/// Everything that can be wrong before the network is used.
fn prepare(
    artifact: &Artifact,
    target: &Target,
    policy: &Policy,
    registry: &Registry,
) -> Result<(oci::Destination, ClientOptions)> {
    let destination = oci::resolve(target, artifact, policy.allow_mismatch)?;
    let has_tags = !policy.tag.is_empty() || !policy.move_tag.is_empty();
    if has_tags && matches!(destination, oci::Destination::File { .. }) {
        let one = Diagnostic::error(Class::Usage, "--tag and --move-tag require oci:// or oci-layout:");
        return Err(one.note("an archive in a folder has no tags").into());
    }
    if policy.signing.sign_by.is_some() && !matches!(destination, oci::Destination::Registry(_)) {
        return Err(oci::Failure::NoSignatures(destination.to_string()).into());
    }
    Ok((destination, client_options(registry)?))
}

fn tag_report(tagged: oci::Tagged) -> report::Tagged {
    let oci::Tagged {
        tag,
        outcome,
        existing_digest,
    } = tagged;
    report::Tagged {
        tag: tag.to_string(),
        outcome,
        existing_digest: existing_digest.map(|digest| digest.to_string()),
    }
}

fn shipped_text(report: &Report, as_solar: bool) -> String {
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
    let line = |one: &report::Tagged| format!("Tag: {} ({})\n", one.tag, one.outcome.as_str());
    let tags: String = report.tags.iter().map(line).collect();
    let signed = match report.signature {
        Some(report::Outcome::Signed) => "Signed\n",
        Some(_) => "Signed before\n",
        None => "",
    };
    if as_solar {
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
