//! The whole pipeline in one call: builds an artifact from an input, and pushes it to its target.
//!
//! [`run`] implements the commands `render`, `package`, `digest` and `push`: a [`Request`] in, a [`Delivered`] out,
//! whose report is what `-o json` prints. An [`Observer`] receives the progress.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{PreparedArtifact, VersionOverrides, from_archive, from_config_within, from_folder};
use crate::blueprint;
use crate::config::Config;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::oci::{self, ClientOptions, Destination, PushOptions};
use crate::package::artifact::Artifact;
use crate::package::{Packer, Stamp, with_provenance};
use crate::provenance::ArchiveKey;
use crate::reference::{Digest, Target};
use crate::report::{self, Report};
use crate::world::World;

/// The input of a chart.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Input<'a> {
    /// A config; paths in it are relative to `base`.
    Config {
        /// The config.
        config: &'a Config,
        /// The folder it is in.
        base: &'a Path,
    },
    /// A chart folder.
    Folder {
        /// The folder that holds Chart.yaml.
        path: &'a Path,
        /// Versions that replace those of Chart.yaml.
        versions: VersionOverrides<'a>,
        /// The time of the archive's files: [`super::stamp`] takes it from SOURCE_DATE_EPOCH.
        stamp: Stamp,
    },
    /// An archive, which is not changed.
    Archive(&'a Path),
}

/// The input, the target and the options.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The input of the chart.
    pub input: Input<'a>,
    /// The target; nothing is sent without one.
    pub target: Option<Target>,
    /// Check the target, but send nothing there.
    pub skip_push: bool,
    /// Allow a tag or a repository that does not match the chart.
    pub allow_mismatch: bool,
    /// The time limit of a user's blueprint.
    pub render_timeout: Duration,
    /// The key that signs the archive with a provenance file. Only archives that are packed here are signed.
    pub provenance: Option<Arc<ArchiveKey>>,
    /// The push options: the policy for existing tags, the expected digest, further tags, the signer.
    pub push: PushOptions,
    /// The options of the registry client.
    pub client: ClientOptions,
}

impl<'a> Request<'a> {
    /// A request for the digest alone, with the defaults of the command line: HTTPS, no replacing.
    pub fn new(input: Input<'a>) -> Self {
        Self {
            input,
            target: None,
            skip_push: false,
            allow_mismatch: false,
            render_timeout: blueprint::DEFAULT_TIME,
            provenance: None,
            push: PushOptions::default(),
            client: ClientOptions::default(),
        }
    }

    /// Sets the target.
    #[must_use]
    pub fn to(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }

    /// Sets the push options.
    #[must_use]
    pub fn push(mut self, options: PushOptions) -> Self {
        self.push = options;
        self
    }

    /// The options of the registry client.
    #[must_use]
    pub fn client(mut self, options: ClientOptions) -> Self {
        self.client = options;
        self
    }
}

/// Receives the progress of a run. Every method has a default.
pub trait Observer {
    /// The chart and its digest are known, and the digest is the expected one; nothing was sent.
    ///
    /// # Errors
    /// An error ends the run.
    fn prepared(&self, _prepared: &PreparedArtifact) -> Result<()> {
        Ok(())
    }

    /// From here on the target may get the chart, even if the process is killed.
    fn sending(&self, _report: &Report) {}

    /// Receives the progress of the push.
    fn progress(&self) -> &dyn oci::Progress {
        &oci::Silent
    }
}

impl Observer for oci::Silent {}

/// The result of a request.
#[derive(Debug)]
#[non_exhaustive]
pub struct Delivered {
    /// The report; on failure with all that was known by then.
    pub report: Report,
    /// The errors, if any.
    pub problem: Option<Diagnostics>,
}

impl Delivered {
    /// A failure, with all that was known by then.
    pub fn failed(report: Report, problem: Diagnostics) -> Self {
        let report = Report {
            error: Report::failure(&problem).error,
            ..report
        };
        Self {
            report,
            problem: Some(problem),
        }
    }

    /// The report of a success.
    ///
    /// # Errors
    /// The errors.
    pub fn into_result(self) -> Result<Report> {
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(self.report),
        }
    }
}

/// Renders, packages, computes the digest and pushes.
///
/// # Guarantees
/// - The digest is a function of the input alone, and known before anything is sent.
/// - Nothing is sent unless the input is valid, the digest is the expected one, and the target names the chart.
/// - The target's contents change by the policy of [`oci`](crate::oci).
///
/// # Example
/// A config becomes a chart in an OCI image layout on disk:
/// ```
/// use std::path::Path;
/// use solar_render::package::Packer;
/// use solar_render::pipeline::{Input, Request, run};
/// use solar_render::{config, oci, source::Source, world};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config = config::parse(&Source::new(
///     "config.yaml",
///     r#"
/// type: bootstrap
/// bootstrap:
///   chart: {name: edge, description: releases of the edge, version: 1.0.0, appVersion: "1"}
///   input:
///     releases:
///       shop: {repository: registry.example.com/charts/shop, tag: 2.1.0}
/// "#,
/// ))?;
/// # let folder = tempfile::tempdir()?;
/// # let layout = folder.path().join("charts");
/// let input = Input::Config { config: &config, base: Path::new(".") };
/// let request = Request::new(input).to(format!("oci-layout:{}", layout.display()).parse()?);
/// let report = run(&request, &mut Packer::new(1), &world::System, &oci::Silent).into_result()?;
/// assert!(report.digest.is_some_and(|digest| digest.starts_with("sha256:")));
/// assert_eq!(report.outcome.map(|outcome| outcome.as_str()), Some("created"));
/// # assert!(layout.join("edge/index.json").exists());
/// # Ok(())
/// # }
/// ```
pub fn run(
    request: &Request<'_>,
    packer: &mut Packer,
    world: &dyn World,
    observer: &dyn Observer,
) -> Delivered {
    let prepared = prepare_within(request.input, request.render_timeout, packer);
    let prepared = match prepared.and_then(|prepared| signed(prepared, request, world)) {
        Ok(prepared) => prepared,
        Err(problem) => return Delivered::failed(Report::default(), problem),
    };
    let artifact = &prepared.artifact;
    let mut report = describe(artifact);
    report.provenance = request.provenance.as_ref().map(|key| key.signer().into());
    let ready = check_expected(artifact, request.push.expect_digest.as_ref())
        .and_then(|()| observer.prepared(&prepared))
        .and_then(|()| destination(request, artifact));
    let destination = match ready {
        Ok(destination) => destination,
        Err(problem) => return Delivered::failed(report, problem),
    };
    report.reference = destination.as_ref().map(ToString::to_string);
    match destination {
        Some(destination) if !request.skip_push => {
            send(artifact, &destination, request, report, world, observer)
        }
        _ => Delivered {
            report: Report {
                outcome: Some(report::Outcome::Rendered),
                ..report
            },
            problem: None,
        },
    }
}

/// Builds the artifact of an input: rendered and packed, with all digests.
///
/// # Errors
/// The errors of the input.
pub fn prepare(input: Input<'_>, packer: &mut Packer) -> Result<PreparedArtifact> {
    prepare_within(input, blueprint::DEFAULT_TIME, packer)
}

fn prepare_within(input: Input<'_>, time: Duration, packer: &mut Packer) -> Result<PreparedArtifact> {
    match input {
        Input::Config { config, base } => from_config_within(config, base, time, packer),
        Input::Folder {
            path,
            versions,
            stamp,
        } => from_folder(path, versions, stamp, packer),
        Input::Archive(path) => from_archive(path, packer),
    }
}

/// Adds a provenance file, if one was requested.
fn signed(prepared: PreparedArtifact, request: &Request<'_>, world: &dyn World) -> Result<PreparedArtifact> {
    let Some(key) = &request.provenance else {
        return Ok(prepared);
    };
    let PreparedArtifact {
        chart: Some(chart),
        artifact,
    } = prepared
    else {
        let one = Diagnostic::error(
            Class::Usage,
            "an archive that exists can't be signed with a provenance file",
        );
        return Err(one.hint("package and sign the chart's folder").into());
    };
    let stamp = match request.input {
        Input::Folder { stamp, .. } => stamp,
        Input::Config { .. } | Input::Archive(_) => Stamp::default(),
    };
    let layer = artifact
        .layer()
        .map(|layer| &layer.digest)
        .unwrap_or(&artifact.digest);
    let provenance = key.provenance(
        &chart.metadata.value()?,
        &artifact.archive_name(),
        layer,
        world.now(),
    );
    let provenance = provenance.map_err(|error| Diagnostic::error(Class::Signature, error.to_string()))?;
    let artifact = with_provenance(&artifact, &chart.metadata, provenance, stamp)?;
    Ok(PreparedArtifact {
        chart: Some(chart),
        artifact,
    })
}

/// Resolves the target, and reports all errors that can be found without the network.
fn destination(request: &Request<'_>, artifact: &Artifact) -> Result<Option<Destination>> {
    let Some(target) = &request.target else {
        return Ok(None);
    };
    let destination = oci::resolve(target, artifact, request.allow_mismatch)?;
    let push = &request.push;
    let has_tags = !push.tags.is_empty() || !push.moved_tags.is_empty();
    if has_tags && matches!(destination, Destination::File { .. }) {
        let one = Diagnostic::error(Class::Usage, "--tag and --move-tag require oci:// or oci-layout:");
        return Err(one.note("an archive in a folder has no tags").into());
    }
    if push.signer.is_some() && !matches!(destination, Destination::Registry(_)) {
        return Err(oci::Failure::NoSignatures(destination.to_string()).into());
    }
    Ok(Some(destination))
}

fn send(
    artifact: &Artifact,
    destination: &Destination,
    request: &Request<'_>,
    report: Report,
    world: &dyn World,
    observer: &dyn Observer,
) -> Delivered {
    let before = archive_digest(destination);
    observer.sending(&report);
    let pushed = oci::push(
        artifact,
        destination,
        &request.push,
        &request.client,
        world,
        observer.progress(),
    );
    let mut delivered = delivered(report, pushed);
    let ours = Some(artifact.digest.to_string());
    let report = &mut delivered.report;
    report.existing_digest = report
        .existing_digest
        .take()
        .or(before)
        .filter(|other| Some(other) != ours.as_ref());
    delivered
}

/// The digest of the chart whose archive is at the destination: a folder keeps no digests.
fn archive_digest(destination: &Destination) -> Option<String> {
    let Destination::File { path } = destination else {
        return None;
    };
    // A file that is not a chart has no digest to report; the push reports the error.
    let existing = from_archive(path, &mut Packer::new(1)).ok()?;
    Some(existing.artifact.digest.to_string())
}

/// A report about an artifact before it is sent.
pub fn describe(artifact: &Artifact) -> Report {
    let layer = artifact.layer().map(|blob| report::BlobReport {
        digest: blob.digest.to_string(),
        size: blob.size,
    });
    Report {
        name: Some(artifact.name.clone()),
        version: Some(artifact.version.clone()),
        layer,
        ..Report::default()
    }
    .with_digest(&artifact.digest, artifact.size())
}

/// Adds the result of a push to the report.
pub fn delivered(mut report: Report, pushed: std::result::Result<oci::Pushed, oci::Failure>) -> Delivered {
    match pushed {
        Ok(pushed) => {
            report.outcome = Some(pushed.outcome);
            report.existing_digest = pushed.existing_digest.as_ref().map(ToString::to_string);
            report.reference = Some(pushed.reference);
            report.signature = pushed.signature;
            report.tags = pushed.tags.into_iter().map(tag_report).collect();
            if let Some(equivalent) = pushed.equivalent {
                report = keep_equivalent(report, &equivalent);
            }
            Delivered {
                report,
                problem: None,
            }
        }
        Err(failure) => {
            report.existing_digest = failure.existing_digest().map(ToString::to_string);
            // The tag with the existing digest, if there are several.
            if let Some(reference) = failure.reference() {
                report.reference = Some(reference.to_owned());
            }
            Delivered::failed(report, failure.diagnostic().into())
        }
    }
}

/// Reports the tag's existing digest as the chart's, instead of the one computed here.
fn keep_equivalent(report: Report, equivalent: &oci::Equivalent) -> Report {
    let (layer, size) = &equivalent.layer;
    Report {
        layer: Some(report::BlobReport {
            digest: layer.to_string(),
            size: *size,
        }),
        note: Some(equivalent.sameness.note().to_owned()),
        ..report.with_digest(&equivalent.digest, equivalent.size)
    }
}

fn tag_report(tagged: oci::TagResult) -> report::TagReport {
    let oci::TagResult {
        tag,
        outcome,
        existing_digest,
    } = tagged;
    report::TagReport {
        tag: tag.to_string(),
        outcome,
        existing_digest: existing_digest.map(|digest| digest.to_string()),
    }
}

/// Fails when the digest is not the expected one.
fn check_expected(artifact: &Artifact, expected: Option<&Digest>) -> Result<()> {
    match expected {
        Some(expected) if *expected != artifact.digest => {
            let message = format!("the digest is {}, but {expected} was expected", artifact.digest);
            Err(Diagnostic::error(Class::Digest, message)
                .note("nothing was sent")
                .into())
        }
        _ => Ok(()),
    }
}
