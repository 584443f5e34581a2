//! `package`

use std::path::Path;

use super::args::package::PackageArgs;
use super::args::provenance::ProvenanceFlags;
use super::client::client_options;
use super::context::{CommandOutcome, CommandResult, Context};
use super::dependency::{DependencyInputs, update_first};
use super::input::{ArtifactSource, is_config, packer};
use super::push::deliver;
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{ClientOptions, IfExists, PushOptions};
use crate::package::Packer;
use crate::pipeline::Request;
use crate::reference::Target;

/// `package`
pub(crate) fn package(args: &PackageArgs, context: &Context<'_>) -> CommandResult {
    if args.expect_digest.is_some() && args.charts.len() > 1 {
        let one = Diagnostic::error(Class::Usage, "--expect-digest requires a single chart");
        return CommandResult::One(Box::new(CommandOutcome::failed(one.into())));
    }
    // The password may come from standard input, which is read once.
    let client = args
        .dependency_update
        .then(|| client_options(&args.registry))
        .transpose();
    let client = match client {
        Ok(client) => client.map(|client| ClientOptions {
            cache: args.cache.find(context),
            ..client
        }),
        Err(problem) => return CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    };
    let mut packer = packer();
    let mut outcomes: Vec<CommandOutcome> = args
        .charts
        .iter()
        .map(|chart| package_one(chart, args, client.as_ref(), &mut packer, context))
        .collect();
    match outcomes.pop() {
        Some(one) if outcomes.is_empty() => CommandResult::One(Box::new(one)),
        last => CommandResult::Many(outcomes.into_iter().chain(last).collect()),
    }
}

fn package_one(
    chart: &Path,
    args: &PackageArgs,
    client: Option<&ClientOptions>,
    packer: &mut Packer,
    context: &Context<'_>,
) -> CommandOutcome {
    let delivered =
        update_dependencies(chart, args, client, context).and_then(|()| save(chart, args, packer, context));
    let mut outcome = delivered.unwrap_or_else(CommandOutcome::failed);
    if outcome.problem.is_none() {
        let reference = outcome.report.reference.as_deref().unwrap_or_default();
        let path = reference.strip_prefix("file:").unwrap_or(reference);
        let digest = outcome.report.digest.as_deref().unwrap_or_default();
        outcome.text = format!("Successfully packaged chart and saved it to: {path}\nDigest: {digest}\n");
    }
    outcome
}

fn update_dependencies(
    chart: &Path,
    args: &PackageArgs,
    client: Option<&ClientOptions>,
    context: &Context<'_>,
) -> Result<()> {
    let Some(client) = client.filter(|_| !is_config(chart)) else {
        return Ok(());
    };
    let wanted = DependencyInputs {
        known: &args.known,
        provenance: &ProvenanceFlags::default(),
    };
    update_first(chart, wanted, client, context)
}

/// As with Helm, a package that is there is replaced: it is what the folder makes.
fn save(
    chart: &Path,
    args: &PackageArgs,
    packer: &mut Packer,
    context: &Context<'_>,
) -> Result<CommandOutcome> {
    let source = match is_config(chart) {
        true => ArtifactSource::config(chart, context)?,
        false => ArtifactSource::folder(chart, context)?,
    };
    let input = source.input(args.versions.given())?;
    let target = Target::File {
        dir: args.destination.clone(),
    };
    let options = PushOptions {
        if_exists: IfExists::Replace,
        expect_digest: args.expect_digest.clone(),
        ..PushOptions::default()
    };
    let request = Request::new(input).to(target).push(options);
    let mut outcome = deliver(&request, None, packer, context);
    // What was there before is of no interest.
    outcome.report.existing_digest = None;
    Ok(outcome)
}
