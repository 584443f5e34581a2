//! `pull`.

use super::args::Pull;
use super::shipping::client_options;
use super::source::{self, Choice, Source};
use super::{Context, Done, Outcome};
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{self, ClientOptions, PullOptions, Pulled};
use crate::reference::{Locator, Tag};
use crate::report::{self, Report};
use crate::semver::Constraint;
use crate::version;

/// `pull`
pub(crate) fn pull(args: &Pull, context: &Context<'_>) -> Done {
    if args.charts.len() > 1 && args.expect_digest.is_some() {
        let one = Diagnostic::error(Class::Usage, "--expect-digest goes with one chart");
        return Done::One(Box::new(Outcome::failed(one.into())));
    }
    // The password may come from standard input, which is read once.
    let (client, options) = match prepare(args, context) {
        Ok(prepared) => prepared,
        Err(problem) => return Done::One(Box::new(Outcome::failed(problem))),
    };
    let mut outcomes: Vec<Outcome> = args
        .charts
        .iter()
        .map(|chart| pull_one(chart, args, &client, options.clone(), context))
        .collect();
    match outcomes.pop() {
        Some(one) if outcomes.is_empty() => Done::One(Box::new(one)),
        last => Done::Many(outcomes.into_iter().chain(last).collect()),
    }
}

fn prepare(args: &Pull, context: &Context<'_>) -> Result<(ClientOptions, PullOptions)> {
    let client = oci::ClientOptions {
        cache: args.cache.find(context),
        ..client_options(&args.registry)?
    };
    let verify_by = args.verify_by.as_ref();
    let verify_by = verify_by.map(|key| super::sign::load_public(key, context.world));
    let options = PullOptions {
        destination: args.destination.clone(),
        // Without `.` inside: nothing can be made by that name.
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
    args: &Pull,
    client: &ClientOptions,
    options: PullOptions,
    context: &Context<'_>,
) -> Outcome {
    let choice = Choice {
        version: args.version.as_deref(),
        repositories: &args.repositories,
    };
    let pulled = Source::of(chart, &args.repositories).and_then(|source| match source {
        Source::Disk => Err(nowhere(chart)),
        source => source::pull(&source, &choice, options, client, context),
    });
    match pulled {
        Ok(pulled) => {
            if args.prov && !pulled.provenance {
                let message = format!("{} has no provenance file", pulled.reference);
                context.printer.warn(&Diagnostic::warning(Class::Chart, message));
            }
            done(pulled)
        }
        Err(problem) => Outcome::failed(problem),
    }
}

fn nowhere(chart: &str) -> crate::diag::Diagnostics {
    let message = format!("{chart:?} is no chart to be fetched");
    Diagnostic::error(Class::Usage, message)
        .hint("oci://HOST/PATH, oci-layout:DIR and https://HOST/PATH.tgz are, or --repo URL with a name")
        .into()
}

/// The tag may be given as a version, too, but only one of them; a range chooses among all tags.
pub(super) fn locate(chart: &Locator, version: Option<&str>) -> Result<(Locator, Option<Constraint>)> {
    let mut locator = chart.clone();
    let Some(version) = version else {
        return Ok((locator, None));
    };
    let wrong = |message: String| Diagnostic::error(Class::Usage, message);
    if !version::is_valid(version) {
        let range = Constraint::parse(version).map_err(|error| {
            wrong(format!(
                "--version {version:?} is neither a version nor a range: {error}"
            ))
        })?;
        return match locator.at() {
            None => Ok((locator, Some(range))),
            Some(at) => Err(wrong(format!(
                "{} is exact: a range has nothing to choose there",
                chart.place.with(&at)
            ))
            .into()),
        };
    }
    let tag = Tag::from_version(version).map_err(|error| wrong(format!("--version: {error}")))?;
    match &locator.tag {
        Some(other) if *other != tag => Err(wrong(format!(
            "the tag is {:?}, but --version says {version:?}",
            other.as_str()
        ))
        .into()),
        _ => {
            locator.tag = Some(tag);
            Ok((locator, None))
        }
    }
}

fn done(pulled: Pulled) -> Outcome {
    let Pulled {
        reference,
        manifest,
        layer,
        path,
        provenance: _,
        signer,
    } = pulled;
    let path = path.display().to_string();
    // Helm's lines first.
    let digest = manifest
        .as_ref()
        .map_or(String::new(), |(digest, _)| format!("Digest: {digest}\n"));
    let signed = signer.as_ref().map_or(String::new(), |signer| {
        super::verify::signed_text(signer, &layer.0)
    });
    let text = format!("Pulled: {reference}\n{digest}{signed}Saved: {path}\n");
    let report = Report {
        outcome: Some(report::Outcome::Pulled),
        reference: Some(reference),
        layer: Some(report::Blob {
            digest: layer.0.to_string(),
            size: layer.1,
        }),
        file: Some(path),
        provenance: signer.map(super::verify::signed_report),
        ..Report::default()
    };
    let report = match manifest {
        Some((digest, size)) => report.with_digest(&digest, size),
        None => report,
    };
    Outcome {
        report,
        text,
        problem: None,
    }
}
