//! `package`

use std::path::Path;

use super::args::package::Package;
use super::args::provenance::Provenance;
use super::client::client_options;
use super::context::{Context, Done, Outcome};
use super::dependency::{Wanted, update_first};
use super::input::{Source, is_config, packer};
use super::push::deliver;
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{ClientOptions, IfExists, PushOptions};
use crate::package::Packer;
use crate::pipeline::Request;
use crate::reference::Target;

/// `package`
pub(crate) fn package(args: &Package, context: &Context<'_>) -> Done {
    if args.expect_digest.is_some() && args.charts.len() > 1 {
        let one = Diagnostic::error(Class::Usage, "--expect-digest requires a single chart");
        return Done::One(Box::new(Outcome::failed(one.into())));
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
        Err(problem) => return Done::One(Box::new(Outcome::failed(problem))),
    };
    let mut packer = packer();
    let mut outcomes: Vec<Outcome> = args
        .charts
        .iter()
        .map(|chart| package_one(chart, args, client.as_ref(), &mut packer, context))
        .collect();
    match outcomes.pop() {
        Some(one) if outcomes.is_empty() => Done::One(Box::new(one)),
        last => Done::Many(outcomes.into_iter().chain(last).collect()),
    }
}

fn package_one(
    chart: &Path,
    args: &Package,
    client: Option<&ClientOptions>,
    packer: &mut Packer,
    context: &Context<'_>,
) -> Outcome {
    let delivered =
        update_dependencies(chart, args, client, context).and_then(|()| save(chart, args, packer, context));
    let mut outcome = delivered.unwrap_or_else(Outcome::failed);
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
    args: &Package,
    client: Option<&ClientOptions>,
    context: &Context<'_>,
) -> Result<()> {
    let Some(client) = client.filter(|_| !is_config(chart)) else {
        return Ok(());
    };
    let wanted = Wanted {
        known: &args.known,
        provenance: &Provenance::default(),
    };
    update_first(chart, wanted, client, context)
}

/// As with Helm, a package that is there is replaced: it is what the folder makes.
fn save(chart: &Path, args: &Package, packer: &mut Packer, context: &Context<'_>) -> Result<Outcome> {
    let source = match is_config(chart) {
        true => Source::config(chart, context)?,
        false => Source::folder(chart, context)?,
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
