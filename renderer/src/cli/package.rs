//! `package`

use std::path::Path;

use super::args::package::Package;
use super::args::provenance::Provenance;
use super::client::client_options;
use super::context::{Context, Done, Outcome};
use super::dependency::{Wanted, update_first};
use super::input::{packer, warn};
use super::push::{check_expected, describe, failed};
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{self, ClientOptions};
use crate::package::Packer;
use crate::package::artifact::Artifact;
use crate::pipeline::{self, Versions};
use crate::reference::Target;
use crate::report::Report;

/// `package`
pub(crate) fn package(args: &Package, context: &Context<'_>) -> Done {
    if args.expect_digest.is_some() && args.charts.len() > 1 {
        let one = Diagnostic::error(Class::Usage, "--expect-digest goes with one chart");
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
    let versions = Versions {
        version: args.versions.version.as_deref(),
        app_version: args.versions.app_version.as_deref(),
    };
    let prepared = update_dependencies(chart, args, client, context)
        .and_then(|()| pipeline::stamp(context.world))
        .and_then(|stamp| pipeline::from_folder(chart, versions, stamp, packer));
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(problem) => return Outcome::failed(problem),
    };
    warn(&prepared, context);
    let report = describe(&prepared.artifact);
    match save(&prepared.artifact, args, context) {
        Ok(pushed) => {
            let path = pushed
                .reference
                .strip_prefix("file:")
                .unwrap_or(&pushed.reference);
            let digest = &prepared.artifact.digest;
            let text = format!("Successfully packaged chart and saved it to: {path}\nDigest: {digest}\n");
            let report = Report {
                outcome: Some(pushed.outcome),
                reference: Some(pushed.reference),
                ..report
            };
            Outcome {
                report,
                text,
                problem: None,
            }
        }
        Err(problem) => failed(report, problem),
    }
}

fn update_dependencies(
    chart: &Path,
    args: &Package,
    client: Option<&ClientOptions>,
    context: &Context<'_>,
) -> Result<()> {
    let Some(client) = client else { return Ok(()) };
    let wanted = Wanted {
        chart,
        known: &args.known,
        provenance: &Provenance::default(),
    };
    update_first(wanted, client, context)
}

/// As with Helm, a package that is there is replaced: it is what the folder makes.
fn save(artifact: &Artifact, args: &Package, context: &Context<'_>) -> Result<oci::Pushed> {
    check_expected(artifact, args.expect_digest.as_ref())?;
    let target = Target::File {
        dir: args.destination.clone(),
    };
    let destination = oci::resolve(&target, artifact, false)?;
    let options = oci::PushOptions {
        if_exists: oci::IfExists::Replace,
        ..oci::PushOptions::default()
    };
    let client = oci::ClientOptions::default();
    oci::push(
        artifact,
        &destination,
        &options,
        &client,
        context.world,
        &oci::Silent,
    )
    .map_err(|failure| failure.diagnostic().into())
}
