//! `digest`

use super::args::digest::DigestArgs;
use super::context::{CommandOutcome, Context};
use super::input::{ArtifactSource, packer};
use super::push::deliver;
use crate::diag::Result;
use crate::pipeline::Request;

/// `digest`
pub(crate) fn digest(args: &DigestArgs, context: &Context<'_>) -> CommandOutcome {
    run(args, context).unwrap_or_else(CommandOutcome::failed)
}

fn run(args: &DigestArgs, context: &Context<'_>) -> Result<CommandOutcome> {
    let source = ArtifactSource::of(&args.input, context)?;
    let mut request = Request::new(source.input(args.versions.given())?);
    request.push.expect_digest.clone_from(&args.expect_digest);
    let mut outcome = deliver(&request, None, &mut packer(), context);
    if let (None, Some(digest)) = (&outcome.problem, &outcome.report.digest) {
        outcome.text = format!("{digest}\n");
    }
    Ok(outcome)
}
