//! `digest`

use super::args::digest::DigestArgs;
use super::args::versions::PushVersions;
use super::context::{Context, Outcome};
use super::input::{prepare_any, warn};
use super::push::{check_expected, describe, failed};
use crate::report::{self, Report};

/// `digest`
pub(crate) fn digest(args: &DigestArgs, context: &Context<'_>) -> Outcome {
    let versions = PushVersions {
        version: args.versions.version.clone(),
        app_version: args.versions.app_version.clone(),
    };
    let prepared = match prepare_any(&args.input, &versions, context) {
        Ok(prepared) => prepared,
        Err(problem) => return Outcome::failed(problem),
    };
    warn(&prepared, context);
    let artifact = &prepared.artifact;
    let report = describe(artifact);
    if let Err(problem) = check_expected(artifact, args.expect_digest.as_ref()) {
        return failed(report, problem);
    }
    let report = Report {
        outcome: Some(report::Outcome::Rendered),
        ..report
    };
    Outcome {
        report,
        text: format!("{}\n", artifact.digest),
        problem: None,
    }
}
