//! Copies a chart: its manifest byte for byte, only its missing blobs, and within one registry by mounting them.

pub(in crate::oci) mod blob_fetcher;
pub(in crate::oci) mod referrers;

use std::path::Path;
use std::sync::Arc;

use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::oci::client::image::{AnyManifest, Descriptor};
use crate::oci::client::referrers::digest_of;
use crate::oci::client::{AccessScope, Client};
use crate::oci::copy::blob_fetcher::BlobFetcher;
use crate::oci::copy::referrers::{ReferrerCopy, Sink};
use crate::oci::failure::Failure;
use crate::oci::layout;
use crate::oci::layout::archive_file as file;
use crate::oci::layout::read as layout_read;
use crate::oci::pull::chart_source::{ChartSource, not_a_chart};
use crate::oci::push::Push;
use crate::oci::push::policy::{PushOptions, Pushed};
use crate::oci::{ClientOptions, Destination, Progress, resolve};
use crate::package::artifact::{Artifact, ArtifactBlob, BlobContent, FileSource};
use crate::reference::{ArtifactStore, At, Digest, Locator, Reference, Tag, Target};
use crate::report::Outcome;
use crate::world::World;

/// The maximum size of a blob of an artifact that is not a chart, in bytes.
const MAX_BLOB: u64 = 1 << 40;

/// The options of a copy.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CopyOptions {
    /// The policy at the destination.
    pub push: PushOptions,
    /// As for [`resolve`].
    pub allow_mismatch: bool,
    /// Without tag and digest, pre-release versions count too.
    pub devel: bool,
    /// Also copy the chart's referrers, above all signatures.
    pub referrers: bool,
    /// What is copied: anything else is refused.
    pub kind: CopiedKind,
    /// The maximum size of all blobs together, in bytes, by the manifest: more is refused before any is fetched.
    pub max_bytes: Option<u64>,
    /// The source's cache is for this copy alone: blobs that the manifest doesn't name are removed before any is
    /// fetched, and with them what an interrupted copy left.
    pub exclusive_cache: bool,
}

/// What is copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopiedKind {
    /// A Helm chart.
    #[default]
    Chart,
    /// An image manifest of any kind, or of this artifact type alone. Its blobs may have any size, and the target
    /// must have a tag.
    Artifact(Option<&'static str>),
}

/// The result of a copy.
#[derive(Debug)]
#[non_exhaustive]
pub struct Copied {
    /// The chart; its blobs are without bytes.
    pub artifact: Artifact,
    /// Its destination.
    pub destination: Destination,
    /// The result of the push.
    pub result: std::result::Result<Pushed, Failure>,
    /// How many referrers of the chart were copied; `None` if the chart was not.
    pub referrers: Option<usize>,
}

/// Copies a chart. `from` and `to` are the options for the two registries. Blocks until it is done.
///
/// # Errors
/// Errors of the source, or a target that does not match the chart. Errors of the destination are in
/// [`Copied::result`].
pub fn copy(
    locator: &Locator,
    target: &Target,
    options: &CopyOptions,
    (from, to): (&ClientOptions, &ClientOptions),
    world: &dyn World,
    progress: &dyn Progress,
) -> Result<Copied> {
    if let (Target::File { .. }, true) = (target, options.referrers) {
        let one = Diagnostic::error(Class::Usage, "--referrers requires oci:// or oci-layout:");
        return Err(one.note("nothing can refer to an archive in a folder").into());
    }
    let runtime = crate::oci::runtime().map_err(Failure::from)?;
    let result = runtime.block_on(async {
        let origin = ChartSource::open(&locator.place, from, world, progress)?;
        let at = origin.resolve(locator, options.devel, None).await?;
        let reference = locator.place.with(&at);
        let artifact = match options.kind {
            CopiedKind::Chart => {
                let before = |blobs: &[Descriptor]| before_blobs(blobs, &reference, options, from);
                chart(&origin, &at, &reference, &locator.place, before).await?
            }
            CopiedKind::Artifact(kind) => {
                let bytes = origin.manifest(&at).await?;
                let (manifest, bytes) =
                    any_manifest(bytes, kind).map_err(|reason| not_copied(&reference, &reason))?;
                before_blobs(&manifest.blobs, &reference, options, from)?;
                let names = (String::new(), String::new());
                let digest = digest_of(&bytes);
                artifact_of(bytes, digest, &manifest.blobs, names, &locator.place)
            }
        };
        let allow_mismatch = options.allow_mismatch || options.kind != CopiedKind::Chart;
        let destination = resolve(target, &artifact, allow_mismatch)?;
        let copy = CopyRun {
            origin: &origin,
            place: &locator.place,
            artifact: &artifact,
            options: &PushOptions {
                exact: true,
                ..options.push.clone()
            },
            referrers: options.referrers,
        };
        let result = copy.run(&destination, to, world, progress).await;
        let (result, referrers) = match result {
            Ok((pushed, referrers)) => (Ok(pushed), referrers),
            Err(failure) => (Err(failure), None),
        };
        Ok(Copied {
            artifact,
            destination,
            result,
            referrers,
        })
    });
    runtime.shutdown_background();
    result
}

async fn chart(
    origin: &ChartSource<'_>,
    at: &At,
    reference: &str,
    place: &ArtifactStore,
    before_blobs: impl Fn(&[Descriptor]) -> Result<()>,
) -> Result<Artifact> {
    let image = origin.image(at, reference).await?;
    // Without an archive it is not a chart, and could not be pulled.
    image.layer().map_err(|reason| not_a_chart(reference, reason))?;
    let blobs: Vec<Descriptor> = std::iter::once(&image.config)
        .chain(&image.layers)
        .cloned()
        .collect();
    before_blobs(&blobs)?;
    let named = origin.named(&image, reference).await?;
    let names = (named.name, named.version);
    Ok(artifact_of(image.bytes, image.digest, &blobs, names, place))
}

/// Refuses blobs that are too large together, and makes room for the others.
fn before_blobs(
    blobs: &[Descriptor],
    reference: &str,
    options: &CopyOptions,
    from: &ClientOptions,
) -> Result<()> {
    let total = blobs.iter().fold(0u64, |sum, blob| sum.saturating_add(blob.size));
    if let Some(limit) = options.max_bytes.filter(|limit| total > *limit) {
        let message = format!("{reference} has {total} bytes, the limit is {limit}");
        return Err(Diagnostic::error(Class::Refused, message)
            .hint("raise it with `--max-size`")
            .into());
    }
    if let (true, Some(cache)) = (options.exclusive_cache, &from.cache) {
        let kept = blobs.iter().map(|blob| cache.path_of(&blob.digest)).collect();
        let retained = cache.retain(&kept);
        retained.map_err(|error| fsio::cannot("clean up", cache.dir(), &error, Class::Io))?;
    }
    Ok(())
}

/// An image manifest, with its bytes. `Err` is the reason why it can't be copied.
fn any_manifest(bytes: Vec<u8>, kind: Option<&str>) -> std::result::Result<(AnyManifest, Vec<u8>), String> {
    let manifest = AnyManifest::parse(&bytes, MAX_BLOB)?;
    let media_type = manifest.media_type.as_deref().unwrap_or(Artifact::MANIFEST_TYPE);
    if media_type != Artifact::MANIFEST_TYPE {
        return Err(format!("its manifest is of the type {media_type:?}"));
    }
    if let Some(kind) = kind
        && manifest.kind != kind
    {
        return Err(format!(
            "it is of the type {:?}, expected was {kind:?}",
            manifest.kind
        ));
    }
    Ok((manifest, bytes))
}

fn not_copied(reference: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(Class::Refused, format!("{reference} can't be copied: {reason}"))
}

/// A layout's blobs are on disk already; a registry's are fetched when they are needed.
pub(in crate::oci) fn artifact_of(
    manifest: Vec<u8>,
    digest: Digest,
    blobs: &[Descriptor],
    (name, version): (String, String),
    place: &ArtifactStore,
) -> Artifact {
    let blobs = blobs
        .iter()
        .map(|descriptor| ArtifactBlob {
            media_type: media_type(&descriptor.media_type),
            digest: descriptor.digest.clone(),
            size: descriptor.size,
            content: match place {
                ArtifactStore::Layout(dir) => BlobContent::Stream(Arc::new(FileSource {
                    path: layout_read::blob_path(dir, &descriptor.digest),
                })),
                ArtifactStore::Registry(_) => BlobContent::Memory(Arc::from([])),
            },
        })
        .collect();
    Artifact {
        name,
        version,
        manifest,
        digest,
        blobs,
    }
}

/// Fetches the bytes of these blobs of the artifact.
pub(in crate::oci) async fn fill(
    artifact: &mut Artifact,
    wanted: &[Digest],
    supply: Option<&BlobFetcher<'_>>,
    progress: &dyn Progress,
) -> std::result::Result<(), Failure> {
    let Some(supply) = supply else { return Ok(()) };
    for blob in artifact
        .blobs
        .iter_mut()
        .filter(|blob| wanted.contains(&blob.digest))
    {
        progress.blob_started(&blob.digest, blob.size);
        *blob = supply.fetch(blob).await?;
    }
    Ok(())
}

/// The manifest has the original media type; this one only decides how the blob is handled.
fn media_type(text: &str) -> &'static str {
    [
        Artifact::CONFIG_TYPE,
        Artifact::LAYER_TYPE,
        Artifact::PROVENANCE_TYPE,
    ]
    .into_iter()
    .find(|known| *known == text)
    .unwrap_or("application/octet-stream")
}

struct CopyRun<'a> {
    origin: &'a ChartSource<'a>,
    place: &'a ArtifactStore,
    artifact: &'a Artifact,
    options: &'a PushOptions,
    referrers: bool,
}

/// The result for the chart, and how many referrers were copied with it.
type Reached = std::result::Result<(Pushed, Option<usize>), Failure>;

impl CopyRun<'_> {
    async fn run(
        &self,
        destination: &Destination,
        client: &ClientOptions,
        world: &dyn World,
        progress: &dyn Progress,
    ) -> Reached {
        if let Some(expected) = &self.options.expect_digest
            && *expected != self.artifact.digest
        {
            return Err(Failure::Expected {
                expected: expected.clone(),
                ours: self.artifact.digest.clone(),
            });
        }
        if self.options.signer.is_some() && !matches!(destination, Destination::Registry(_)) {
            return Err(Failure::NoSignatures(destination.to_string()));
        }
        match destination {
            Destination::Registry(reference) => self.to_registry(reference, client, world, progress).await,
            Destination::Layout { dir, tag } => self.to_layout(dir, tag, progress).await,
            Destination::File { path } => self.to_file(path, progress).await.map(|pushed| (pushed, None)),
        }
    }

    /// A registry's blobs must be fetched; within one registry they can be mounted.
    fn supply(&self, host: &str) -> Option<BlobFetcher<'_>> {
        match self.place {
            ArtifactStore::Layout(_) => None,
            ArtifactStore::Registry(source) => Some(BlobFetcher {
                origin: self.origin,
                mount: Some(source).filter(|source| source.host() == host),
            }),
        }
    }

    async fn take_along(
        &self,
        pushed: &Pushed,
        supply: Option<BlobFetcher<'_>>,
        sink: Sink<'_>,
        progress: &dyn Progress,
    ) -> std::result::Result<Option<usize>, Failure> {
        // The tag was left with another chart, which this one's referrers don't refer to.
        let ours = pushed.outcome != Outcome::Skipped
            || pushed.tags.iter().any(|tag| tag.outcome != Outcome::Skipped);
        if !self.referrers || !ours || self.options.check {
            return Ok(None);
        }
        let along = ReferrerCopy {
            origin: self.origin,
            place: self.place,
            supply,
            sink,
            progress,
        };
        along.take(&self.artifact.digest).await.map(Some)
    }

    async fn to_registry(
        &self,
        reference: &Reference,
        client: &ClientOptions,
        world: &dyn World,
        progress: &dyn Progress,
    ) -> Reached {
        let host = reference.repository.host();
        let supply = self.supply(host);
        let mount = supply.as_ref().and_then(|supply| supply.mount);
        let subject = AccessScope::Write(&reference.repository, mount);
        let push = Push {
            client: Client::new(subject, client, world, progress)?,
            artifact: self.artifact,
            reference,
            options: self.options,
            progress,
            supply,
        };
        let pushed = push.run().await?;
        let sink = Sink::Registry(&push.client);
        let taken = self
            .take_along(&pushed, self.supply(host), sink, progress)
            .await?;
        Ok((pushed, taken))
    }

    async fn to_layout(&self, dir: &Path, tag: &Tag, progress: &dyn Progress) -> Reached {
        let mut artifact = self.artifact.clone();
        let missing = layout::missing(&artifact, dir, tag, self.options)?;
        fill(&mut artifact, &missing, self.supply("").as_ref(), progress).await?;
        let pushed = layout::push(&artifact, dir, tag, self.options, progress)?;
        let taken = self
            .take_along(&pushed, self.supply(""), Sink::Layout(dir), progress)
            .await?;
        Ok((pushed, taken))
    }

    /// The archive alone, with its provenance file.
    async fn to_file(&self, path: &Path, progress: &dyn Progress) -> std::result::Result<Pushed, Failure> {
        let mut artifact = self.artifact.clone();
        let config = artifact.blobs.first().map(|blob| blob.digest.clone());
        let wanted: Vec<Digest> = artifact.blobs.iter().map(|blob| blob.digest.clone()).collect();
        let wanted: Vec<Digest> = wanted
            .into_iter()
            .filter(|digest| Some(digest) != config.as_ref())
            .collect();
        fill(&mut artifact, &wanted, self.supply("").as_ref(), progress).await?;
        file::push(&artifact, path, self.options)
    }
}
