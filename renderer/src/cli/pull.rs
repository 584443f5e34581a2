//! `pull`

use super::args::pull::PullArgs;
use super::chart_location::{self, ChartLocation, VersionChoice};
use super::client::client_options;
use super::context::{CalledAs, CommandOutcome, CommandResult, Context};
use super::keys::load_public;
use super::provenance::signed_text;
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{self, ClientOptions, PullOptions, Pulled};
use crate::report::{self, Report};

/// `pull`
pub(crate) fn pull(args: &PullArgs, context: &Context<'_>) -> CommandResult {
    if args.charts.len() > 1 && args.expect_digest.is_some() {
        let one = Diagnostic::error(Class::Usage, "--expect-digest requires a single chart");
        return CommandResult::One(Box::new(CommandOutcome::failed(one.into())));
    }
    // The password may come from standard input, which is read once.
    let (client, options) = match prepare(args, context) {
        Ok(prepared) => prepared,
        Err(problem) => return CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    };
    let mut outcomes: Vec<CommandOutcome> = args
        .charts
        .iter()
        .map(|chart| pull_one(chart, args, &client, options.clone(), context))
        .collect();
    match outcomes.pop() {
        Some(one) if outcomes.is_empty() => CommandResult::One(Box::new(one)),
        last => CommandResult::Many(outcomes.into_iter().chain(last).collect()),
    }
}

fn prepare(args: &PullArgs, context: &Context<'_>) -> Result<(ClientOptions, PullOptions)> {
    let client = oci::ClientOptions {
        cache: args.cache.find(context),
        ..client_options(&args.registry)?
    };
    let verify_by = args.verify_by.as_ref();
    let verify_by = verify_by.map(|key| load_public(key, context.world));
    let options = PullOptions {
        destination: args.destination.clone(),
        // Without `.` elements, which can't be created.
        untar: args
            .untar
            .then(|| args.destination.join(&args.untardir).components().collect()),
        provenance: args.prov,
        devel: args.devel,
        range: None,
        expect_digest: args.expect_digest.clone(),
        verify_by: verify_by.transpose()?,
        keyring: args.provenance.keyring(context)?,
    };
    Ok((client, options))
}

fn pull_one(
    chart: &str,
    args: &PullArgs,
    client: &ClientOptions,
    options: PullOptions,
    context: &Context<'_>,
) -> CommandOutcome {
    let choice = VersionChoice {
        version: args.version.as_deref(),
        repositories: &args.repositories,
    };
    let pulled = ChartLocation::of(chart, &args.repositories).and_then(|source| match source {
        ChartLocation::Disk => Err(nowhere(chart)),
        source => chart_location::pull(&source, &choice, options, client, context),
    });
    match pulled {
        Ok(pulled) => {
            if args.prov && !pulled.provenance {
                let message = format!("{} has no provenance file", pulled.reference);
                context.printer.warn(&Diagnostic::warning(Class::Chart, message));
            }
            done(pulled, context.called_as)
        }
        Err(problem) => CommandOutcome::failed(problem),
    }
}

fn nowhere(chart: &str) -> crate::diag::Diagnostics {
    let message = format!("{chart:?} does not name a chart in a registry or repository");
    Diagnostic::error(Class::Usage, message)
        .hint("oci://HOST/PATH, oci-layout:DIR and https://HOST/PATH.tgz are, or --repo URL with a name")
        .into()
}

fn done(pulled: Pulled, called_as: CalledAs) -> CommandOutcome {
    let Pulled {
        reference,
        manifest,
        layer,
        path,
        provenance: _,
        signer,
    } = pulled;
    let path = path.display().to_string();
    // Helm's lines come first.
    let digest = manifest
        .as_ref()
        .map_or(String::new(), |(digest, _)| format!("Digest: {digest}\n"));
    let signed = signer
        .as_ref()
        .map_or(String::new(), |signer| signed_text(signer, &layer.0));
    let text = match called_as {
        // Helm prints nothing for charts from web servers.
        CalledAs::Helm if digest.is_empty() => signed,
        CalledAs::Helm => format!("Pulled: {reference}\n{digest}{signed}"),
        _ => format!("Pulled: {reference}\n{digest}{signed}Saved: {path}\n"),
    };
    let report = Report {
        outcome: Some(report::Outcome::Pulled),
        reference: Some(reference),
        layer: Some(report::BlobReport {
            digest: layer.0.to_string(),
            size: layer.1,
        }),
        file: Some(path),
        provenance: signer.as_ref().map(Into::into),
        ..Report::default()
    };
    let report = match manifest {
        Some((digest, size)) => report.with_digest(&digest, size),
        None => report,
    };
    CommandOutcome {
        report,
        text,
        problem: None,
    }
}
