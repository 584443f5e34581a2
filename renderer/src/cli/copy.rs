//! `copy`.

use super::args::copy::CopyArgs;
use super::args::policy::IfExistsChoice;
use super::client::client_options;
use super::context::{CalledAs, CommandOutcome, Context};
use super::keys::signer;
use super::progress::TerminalProgress;
use super::push::{outcome, push_options};
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{self, ClientOptions, CopyOptions, PushOptions};
use crate::pipeline::{delivered, describe};
use crate::reference::{ArtifactStore, Target};

/// `copy`
pub(crate) fn copy(args: &CopyArgs, context: &Context<'_>) -> CommandOutcome {
    let clients = client_options(&args.registry).and_then(|client| {
        check_credentials(args, &client, context)?;
        let with = |plain: bool| ClientOptions {
            plain_http: client.plain_http || plain,
            ..client.clone()
        };
        let signer = signer(&args.policy.signing, args.registry.password_stdin, context)?;
        Ok((with(args.from_plain_http), with(args.to_plain_http), signer))
    });
    let (from, to, signer) = match clients {
        Ok(clients) => clients,
        Err(problem) => return CommandOutcome::failed(problem),
    };
    let policy = &args.policy;
    let options = CopyOptions {
        push: PushOptions {
            signer,
            ..push_options(policy, IfExistsChoice::Fail)
        },
        allow_mismatch: policy.allow_mismatch,
        devel: false,
        referrers: args.referrers,
        ..CopyOptions::default()
    };
    let progress = TerminalProgress::new(context.printer, "copying");
    let copied = oci::copy(
        &args.source,
        &args.target,
        &options,
        (&from, &to),
        context.world,
        &progress,
    );
    progress.end();
    match copied {
        Ok(copied) => {
            let mut report = describe(&copied.artifact);
            report.reference = Some(copied.destination.to_string());
            let mut copied_outcome = outcome(delivered(report, copied.result), CalledAs::SolarRender);
            if let Some(count) = copied.referrers {
                copied_outcome.text.push_str(&format!("Referrers: {count}\n"));
                copied_outcome.report.referrers = Some(count as u64);
            }
            copied_outcome
        }
        Err(problem) => CommandOutcome::failed(problem),
    }
}

/// Refuses one password for two registries: the wrong one would receive it.
fn check_credentials(args: &CopyArgs, client: &ClientOptions, context: &Context<'_>) -> Result<()> {
    let (ArtifactStore::Registry(source), Target::Registry { base, .. }) = (&args.source.place, &args.target)
    else {
        return Ok(());
    };
    let env = |name| context.world.env(name).is_some();
    let given = if client.credentials.is_some() {
        "--username"
    } else if env("REGISTRY_USERNAME") && env("REGISTRY_PASSWORD") && !env(crate::oci::HOST_VARIABLE) {
        "REGISTRY_USERNAME"
    } else {
        return Ok(());
    };
    let host = base.split('/').next().unwrap_or(base);
    if host == source.host() {
        return Ok(());
    }
    let message = format!("{given} would go to both {} and {host}", source.host());
    Err(Diagnostic::error(Class::Usage, message)
        .hint("log in to each with `solar-render login`")
        .into())
}
