//! `pull`.

use super::args::Pull;
use super::progress::Progress;
use super::shipping::client_options;
use super::{Context, Outcome};
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{self, PullOptions, Pulled};
use crate::reference::{Locator, Tag};
use crate::report::{self, Report};
use crate::version;

/// `pull`
pub(crate) fn pull(args: &Pull, context: &Context<'_>) -> Outcome {
    let pulled = locate(args).and_then(|locator| {
        let client = oci::ClientOptions {
            cache: args.cache.find(context),
            ..client_options(&args.registry)?
        };
        let options = PullOptions {
            destination: args.destination.clone(),
            // Without `.` inside: nothing can be made by that name.
            untar: args
                .untar
                .then(|| args.destination.join(&args.untardir).components().collect()),
            provenance: args.prov,
            devel: args.devel,
            expect_digest: args.expect_digest.clone(),
            verify_by: args
                .verify_by
                .as_ref()
                .map(|key| super::sign::load_public(key, context.world))
                .transpose()?,
        };
        let progress = Progress::new(context.printer, "pulling");
        let pulled = oci::pull(&locator, &options, &client, context.world, &progress);
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

/// The tag may be given as a version, too, but only one of them.
fn locate(args: &Pull) -> Result<Locator> {
    let mut locator = args.chart.clone();
    let Some(version) = &args.version else {
        return Ok(locator);
    };
    let wrong = |message: String| Diagnostic::error(Class::Usage, message);
    if !version::is_valid(version) {
        return Err(wrong(format!("--version {version:?} is not a version"))
            .note("ranges are not supported: what they mean changes with the next push")
            .hint("without --version the newest release is taken")
            .into());
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
            Ok(locator)
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
