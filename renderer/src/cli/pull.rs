//! `pull`.

use super::args::Pull;
use super::progress::Progress;
use super::shipping::client_options;
use super::{Context, Done, Outcome};
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{self, PullOptions, Pulled};
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
    let prepared = client_options(&args.registry).and_then(|client| {
        let verify_by = args.verify_by.as_ref();
        let verify_by = verify_by.map(|key| super::sign::load_public(key, context.world));
        Ok((client, verify_by.transpose()?))
    });
    let (client, verify_by) = match prepared {
        Ok(prepared) => prepared,
        Err(problem) => return Done::One(Box::new(Outcome::failed(problem))),
    };
    let client = oci::ClientOptions {
        cache: args.cache.find(context),
        ..client
    };
    let mut outcomes: Vec<Outcome> = args
        .charts
        .iter()
        .map(|chart| pull_one(chart, args, &client, verify_by.clone(), context))
        .collect();
    match outcomes.pop() {
        Some(one) if outcomes.is_empty() => Done::One(Box::new(one)),
        last => Done::Many(outcomes.into_iter().chain(last).collect()),
    }
}

fn pull_one(
    chart: &Locator,
    args: &Pull,
    client: &oci::ClientOptions,
    verify_by: Option<oci::VerifyingKey>,
    context: &Context<'_>,
) -> Outcome {
    let pulled = locate(chart, args.version.as_deref()).and_then(|(locator, range)| {
        let options = PullOptions {
            destination: args.destination.clone(),
            // Without `.` inside: nothing can be made by that name.
            untar: args
                .untar
                .then(|| args.destination.join(&args.untardir).components().collect()),
            provenance: args.prov,
            devel: args.devel,
            range,
            expect_digest: args.expect_digest.clone(),
            verify_by,
        };
        let progress = Progress::new(context.printer, "pulling");
        let pulled = oci::pull(&locator, &options, client, context.world, &progress);
        progress.end();
        pulled
    });
    match pulled {
        Ok(pulled) => {
            if args.prov && pulled.provenance.is_none() {
                let message = format!("{} has no provenance file", pulled.reference);
                context.printer.warn(&Diagnostic::warning(Class::Chart, message));
            }
            done(pulled)
        }
        Err(problem) => Outcome::failed(problem),
    }
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
        digest,
        size,
        layer,
        path,
        provenance: _,
    } = pulled;
    let path = path.display().to_string();
    // Helm's two lines first.
    let text = format!("Pulled: {reference}\nDigest: {digest}\nSaved: {path}\n");
    let report = Report {
        outcome: Some(report::Outcome::Pulled),
        reference: Some(reference),
        layer: Some(report::Blob {
            digest: layer.0.to_string(),
            size: layer.1,
        }),
        file: Some(path),
        ..Report::default()
    };
    Outcome {
        report: report.with_digest(&digest, size),
        text,
        problem: None,
    }
}
