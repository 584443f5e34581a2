//! `verify`: cosign's signatures of charts in registries, and Helm's provenance files.

use std::path::Path;

use super::args::verify::VerifyArgs;
use super::client::client_options;
use super::context::{CommandOutcome, Context};
use super::keys::load_public;
use super::progress::TerminalProgress;
use super::provenance::{blob, check_file, signed_text};
use super::sign::done;
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{self, files};
use crate::reference::Locator;
use crate::report::{self, Report};

/// `verify`
pub(crate) fn verify(args: &VerifyArgs, context: &Context<'_>) -> CommandOutcome {
    let remote = ["oci://", "oci-layout:"]
        .iter()
        .any(|scheme| args.chart.starts_with(scheme));
    let result = match (&args.key, &args.bundle, remote) {
        (Some(key), Some(bundle), _) => by_bundle(args, key, bundle, context),
        (Some(key), None, true) => by_cosign(args, key, context),
        (None, _, true) if args.keyring.keyring.is_some() => there(args, context),
        (None, _, true) => Err(no_key(&args.chart).into()),
        (Some(_), None, false) => Err(only_there(&args.chart).into()),
        (None, _, false) => on_disk(args, context),
    };
    result.unwrap_or_else(CommandOutcome::failed)
}

fn by_cosign(args: &VerifyArgs, key: &str, context: &Context<'_>) -> Result<CommandOutcome> {
    let chart = locator(&args.chart)?;
    let key = load_public(key, context.world)?;
    let client = client_options(&args.registry)?;
    let progress = TerminalProgress::new(context.printer, "reading");
    let expected = args.expect_digest.as_ref();
    let verified = oci::verify(&chart, &key, expected, &client, context.world, &progress)?;
    Ok(done(verified, "Verified"))
}

/// Verifies a file by a bundle beside it.
fn by_bundle(args: &VerifyArgs, key: &str, bundle: &Path, context: &Context<'_>) -> Result<CommandOutcome> {
    let key = load_public(key, context.world)?;
    let path = Path::new(&args.chart);
    let digest = files::verify_file(path, bundle, &key, args.predicate_type.as_deref())?;
    let report = Report {
        outcome: Some(report::Outcome::Verified),
        file: Some(args.chart.clone()),
        digest: Some(digest.to_string()),
        ..Report::default()
    };
    Ok(CommandOutcome {
        report,
        text: format!("Verified: {}\nDigest: {digest}\n", args.chart),
        problem: None,
    })
}

/// Verifies the provenance file of a chart in a registry or a layout.
fn there(args: &VerifyArgs, context: &Context<'_>) -> Result<CommandOutcome> {
    let chart = locator(&args.chart)?;
    let keyring = args.keyring.load(context)?;
    let client = client_options(&args.registry)?;
    let progress = TerminalProgress::new(context.printer, "reading");
    let expected = args.expect_digest.as_ref();
    let found = oci::verify_provenance(&chart, &keyring, expected, &client, context.world, &progress)?;
    let signed = signed_text(&found.signer, &found.layer.0);
    let mut outcome = done(found.subjected, "Verified");
    outcome.text.push_str(&signed);
    outcome.report.layer = Some(blob(&found.layer));
    outcome.report.provenance = Some((&found.signer).into());
    Ok(outcome)
}

fn locator(chart: &str) -> Result<Locator> {
    chart
        .parse()
        .map_err(|error| Diagnostic::error(Class::Usage, format!("{chart}: {error}")).into())
}

/// Verifies an archive like `helm verify`, with its output.
fn on_disk(args: &VerifyArgs, context: &Context<'_>) -> Result<CommandOutcome> {
    if args.expect_digest.is_some() {
        let one = Diagnostic::error(Class::Usage, "--expect-digest requires oci:// or oci-layout:");
        return Err(one
            .hint("`digest` prints what an archive would have there")
            .into());
    }
    let path = Path::new(&args.chart);
    if !path.exists() && args.keyring.keyring.is_none() {
        return Err(
            Diagnostic::error(Class::Chart, format!("{} does not exist", args.chart))
                .hint("expected an archive, or oci://HOST/PATH:TAG with --key or --keyring")
                .into(),
        );
    }
    let keyring = args.keyring.load(context)?;
    let (signer, layer) = check_file(path, &keyring, context)?;
    let text = signed_text(&signer, &layer.0);
    let report = Report {
        outcome: Some(report::Outcome::Verified),
        file: Some(args.chart.clone()),
        layer: Some(blob(&layer)),
        provenance: Some((&signer).into()),
        ..Report::default()
    };
    Ok(CommandOutcome {
        report,
        text,
        problem: None,
    })
}

fn no_key(chart: &str) -> Diagnostic {
    Diagnostic::error(Class::Usage, format!("no key is given to verify {chart}"))
        .hint("--key cosign.pub verifies a cosign signature, --keyring FILE a Helm provenance file")
}

fn only_there(chart: &str) -> Diagnostic {
    Diagnostic::error(
        Class::Usage,
        format!("--key requires oci://, and {chart} is not such a reference"),
    )
    .note("cosign signs what is in a registry; --bundle FILE names its signature of a file")
    .hint("--keyring asks for a provenance file beside an archive")
}
