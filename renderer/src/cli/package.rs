//! `package`

use std::path::Path;
use std::sync::Arc;

use super::args::package::PackageArgs;
use super::args::provenance::ProvenanceFlags;
use super::client::client_options;
use super::context::{CalledAs, CommandOutcome, CommandResult, Context};
use super::dependency::{DependencyInputs, update_first};
use super::input::{ArtifactSource, is_config, packer};
use super::push::deliver;
use crate::diag::{Class, Diagnostic, Result};
use crate::oci::{ClientOptions, IfExists, PushOptions};
use crate::package::Packer;
use crate::pipeline::Request;
use crate::provenance::ArchiveKey;
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
    let key = match args.signing.key(args.registry.password_stdin, context) {
        Ok(key) => key,
        Err(problem) => return CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    };
    let packing = Packing {
        args,
        client: client.as_ref(),
        key,
        context,
    };
    let mut packer = packer();
    let mut outcomes: Vec<CommandOutcome> = args
        .charts
        .iter()
        .map(|chart| packing.package(chart, &mut packer))
        .collect();
    match outcomes.pop() {
        Some(one) if outcomes.is_empty() => CommandResult::One(Box::new(one)),
        last => CommandResult::Many(outcomes.into_iter().chain(last).collect()),
    }
}

/// The options that all charts of a run share.
struct Packing<'a> {
    args: &'a PackageArgs,
    /// The client options for dependencies.
    client: Option<&'a ClientOptions>,
    /// Signs the archives.
    key: Option<Arc<ArchiveKey>>,
    context: &'a Context<'a>,
}

impl Packing<'_> {
    fn package(&self, chart: &Path, packer: &mut Packer) -> CommandOutcome {
        let delivered = self
            .update_dependencies(chart)
            .and_then(|()| self.save(chart, packer));
        let mut outcome = delivered.unwrap_or_else(CommandOutcome::failed);
        if outcome.problem.is_none() {
            let reference = outcome.report.reference.as_deref().unwrap_or_default();
            let path = reference.strip_prefix("file:").unwrap_or(reference);
            let digest = outcome.report.digest.as_deref().unwrap_or_default();
            outcome.text = match self.context.called_as {
                CalledAs::Helm => format!(
                    "Successfully packaged chart and saved it to: {}\n",
                    self.as_helm(path)
                ),
                _ => format!("Successfully packaged chart and saved it to: {path}\nDigest: {digest}\n"),
            };
        }
        outcome
    }

    /// Helm prints the absolute path of the current folder.
    fn as_helm(&self, path: &str) -> String {
        let whole = std::path::absolute(path).ok();
        let whole = whole.filter(|_| self.args.destination == Path::new("."));
        whole.map_or_else(|| path.to_owned(), |whole| whole.display().to_string())
    }

    fn update_dependencies(&self, chart: &Path) -> Result<()> {
        let Some(client) = self.client.filter(|_| !is_config(chart)) else {
            return Ok(());
        };
        let wanted = DependencyInputs {
            known: &self.args.known,
            provenance: &ProvenanceFlags::default(),
        };
        update_first(chart, wanted, client, self.context)
    }

    /// As in Helm, an existing package is replaced, since it is derived from the folder.
    fn save(&self, chart: &Path, packer: &mut Packer) -> Result<CommandOutcome> {
        let source = match is_config(chart) {
            true => ArtifactSource::config(chart, self.context)?,
            false => ArtifactSource::folder(chart, self.context)?,
        };
        let input = source.input(self.args.versions.given())?;
        let target = Target::File {
            dir: self.args.destination.clone(),
        };
        let options = PushOptions {
            if_exists: IfExists::Replace,
            expect_digest: self.args.expect_digest.clone(),
            ..PushOptions::default()
        };
        let mut request = Request::new(input).to(target).push(options);
        request.provenance = self.key.clone();
        let mut outcome = deliver(&request, None, packer, self.context);
        // The replaced digest is not reported.
        outcome.report.existing_digest = None;
        Ok(outcome)
    }
}
