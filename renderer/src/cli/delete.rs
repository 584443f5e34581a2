//! `delete`

use super::args::delete::DeleteArgs;
use super::client::client_options;
use super::context::{CommandOutcome, CommandResult, Context};
use super::progress::TerminalProgress;
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{self, DeleteOptions, Deleted, Failure};
use crate::reference::{At, Digest, Locator};
use crate::report::{self, Report};

/// `delete`
pub(crate) fn delete(args: &DeleteArgs, context: &Context<'_>) -> CommandResult {
    match run(args, context) {
        Ok(mut outcomes) => match outcomes.pop() {
            Some(one) if outcomes.is_empty() => CommandResult::One(Box::new(one)),
            last => CommandResult::Many(outcomes.into_iter().chain(last).collect()),
        },
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

fn run(args: &DeleteArgs, context: &Context<'_>) -> Result<Vec<CommandOutcome>> {
    if args.expect_digest.is_some() && args.references.len() > 1 {
        let message = "--expect-digest requires a single reference";
        let one = Diagnostic::error(Class::Usage, message);
        return Err(one.hint("REF:TAG@DIGEST expects a digest of each").into());
    }
    let client = client_options(&args.registry)?;
    let options = DeleteOptions {
        expect_digest: args.expect_digest.clone(),
        check: args.dry_run,
        max_compared_tags: args.max_compared_tags,
    };
    let progress = TerminalProgress::new(context.printer, "deleting");
    let going = |reference: &Locator, digest: &Digest| {
        context.signals.goes_out(&report_of(reference, Some(digest)));
    };
    let results = oci::delete(
        &args.references,
        &options,
        &client,
        context.world,
        &progress,
        &going,
    );
    progress.end();
    let outcomes = args.references.iter().zip(results?);
    Ok(outcomes
        .map(|(reference, result)| outcome(reference, result, args.dry_run))
        .collect())
}

fn report_of(reference: &Locator, digest: Option<&Digest>) -> Report {
    let tag = reference.tag.clone().map(At::Tag);
    let at = tag.or_else(|| reference.at());
    let shown = at.map_or_else(|| reference.place.to_string(), |at| reference.place.with(&at));
    Report {
        reference: Some(shown),
        digest: digest.map(Digest::to_string),
        ..Report::default()
    }
}

fn outcome(
    reference: &Locator,
    result: std::result::Result<Deleted, Failure>,
    is_check: bool,
) -> CommandOutcome {
    let deleted = match result {
        Ok(deleted) => deleted,
        Err(failure) => {
            let problem = failure.diagnostic().into();
            return CommandOutcome {
                report: Report {
                    existing_digest: failure.existing_digest().map(Digest::to_string),
                    error: Report::failure(&problem).error,
                    ..report_of(reference, None)
                },
                text: String::new(),
                problem: Some(problem),
            };
        }
    };
    let mut report = report_of(reference, deleted.digest.as_ref());
    let shown = report.reference.clone().unwrap_or_default();
    let became = match deleted.digest {
        Some(_) => report::Outcome::Deleted,
        None => report::Outcome::Absent,
    };
    let verb = match (&deleted.digest, is_check) {
        (None, _) => "Absent",
        (Some(_), true) => "Would delete",
        (Some(_), false) => "Deleted",
    };
    let mut text = format!("{verb}: {shown}\n");
    if let Some(digest) = &deleted.digest {
        text.push_str(&format!("Digest: {digest}\n"));
    }
    if let Some(reason) = &deleted.kept {
        text.push_str(&format!("Note: only the tag: {reason}\n"));
    }
    report.note = deleted.kept.map(|reason| format!("only the tag: {reason}"));
    if is_check {
        report.would = Some(became);
    } else {
        report.outcome = Some(became);
    }
    CommandOutcome {
        report,
        text,
        problem: None,
    }
}
