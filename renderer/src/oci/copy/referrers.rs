//! Copies the referrers of a chart: signatures, attestations, and their referrers.
//!
//! These are all manifests that name it as their subject, and those that cosign 1 and 2 keep under the tags
//! `sha256-<hex>.sig`, `.att` and `.sbom`. Manifests are copied byte for byte; only if such a tag has another manifest
//! at the destination, the missing entries are added to that.

use std::collections::BTreeSet;
use std::path::Path;

use crate::oci::Progress;
use crate::oci::client::Client;
use crate::oci::client::image::{AnyManifest, MAX_LAYER};
use crate::oci::client::referrers::{Referring, digest_of, suffixed};
use crate::oci::copy::blob_fetcher::BlobFetcher;
use crate::oci::copy::{artifact_of, fill};
use crate::oci::error::ClientError;
use crate::oci::failure::Failure;
use crate::oci::layout;
use crate::oci::layout::read as layout_read;
use crate::oci::pull::chart_source::ChartSource;
use crate::oci::push::policy::{IfExists, PushOptions};
use crate::oci::push::send_blobs;
use crate::oci::sign;
use crate::package::artifact::Artifact;
use crate::reference::{ArtifactStore, At, Digest, Tag};

/// The maximum number of copied referrers.
const MAX_REFERRERS: usize = 200;
/// The suffixes of cosign's tags.
const TAGS: [&str; 3] = [".sig", ".att", ".sbom"];

/// The destination of a copy.
pub(in crate::oci) enum Sink<'s> {
    Registry(&'s Client<'s>),
    Layout(&'s Path),
}

/// The source and destination of referrers.
pub(in crate::oci) struct ReferrerCopy<'s> {
    pub(in crate::oci) origin: &'s ChartSource<'s>,
    pub(in crate::oci) place: &'s ArtifactStore,
    pub(in crate::oci) supply: Option<BlobFetcher<'s>>,
    pub(in crate::oci) sink: Sink<'s>,
    pub(in crate::oci) progress: &'s dyn Progress,
}

/// A referrer that was found.
struct ReferrerManifest {
    artifact: Artifact,
    kind: String,
    subject: Digest,
}

impl ReferrerCopy<'_> {
    /// Copies all referrers of the chart; returns their number.
    pub(in crate::oci) async fn take(&self, chart: &Digest) -> Result<usize, Failure> {
        let mut open = vec![chart.clone()];
        let mut seen = BTreeSet::new();
        while let Some(subject) = open.pop() {
            for referrer in self.origin.referrers(&subject).await? {
                if !seen.insert(referrer.to_string()) {
                    continue;
                }
                self.check_count(seen.len())?;
                let bytes = self.origin.manifest(&At::Digest(referrer.clone())).await?;
                let found = self.found(bytes, &subject)?;
                self.put(found).await?;
                open.push(referrer);
            }
            for suffix in TAGS {
                let tag = suffixed(&subject, suffix)?;
                if let Some(bytes) = self.origin.find_manifest(&At::Tag(tag.clone())).await? {
                    seen.insert(tag.to_string());
                    self.check_count(seen.len())?;
                    let found = self.found(bytes, &subject)?;
                    self.put_at(&tag, found.artifact).await?;
                }
            }
        }
        Ok(seen.len())
    }

    fn check_count(&self, count: usize) -> Result<(), Failure> {
        if count <= MAX_REFERRERS {
            return Ok(());
        }
        let message = format!(
            "more than {MAX_REFERRERS} manifests refer to the chart in {}",
            self.place
        );
        Err(ClientError::Setup(message).into())
    }

    fn found(&self, bytes: Vec<u8>, subject: &Digest) -> Result<ReferrerManifest, Failure> {
        let digest = digest_of(&bytes);
        let wrong = |reason: String| {
            ClientError::Setup(format!(
                "{digest}, which refers to {subject}, can't be copied: {reason}"
            ))
        };
        let AnyManifest { kind, blobs, .. } = AnyManifest::parse(&bytes, MAX_LAYER).map_err(wrong)?;
        Ok(ReferrerManifest {
            artifact: artifact_of(bytes, digest, &blobs, (String::new(), String::new()), self.place),
            kind,
            subject: subject.clone(),
        })
    }

    async fn put(&self, found: ReferrerManifest) -> Result<(), Failure> {
        let ReferrerManifest {
            mut artifact,
            kind,
            subject,
        } = found;
        match self.sink {
            Sink::Registry(client) => {
                send_blobs(client, &artifact, self.supply.as_ref(), self.progress).await?;
                let referring = Referring {
                    bytes: &artifact.manifest,
                    digest: &artifact.digest,
                    artifact_type: &kind,
                    subject: &subject,
                };
                Ok(client.refer(&referring).await?)
            }
            Sink::Layout(dir) => {
                let missing = layout::absent(&artifact, dir);
                fill(&mut artifact, &missing, self.supply.as_ref(), self.progress).await?;
                Ok(layout::refer(&artifact, &kind, dir, self.progress)?)
            }
        }
    }

    async fn put_at(&self, tag: &Tag, mut artifact: Artifact) -> Result<(), Failure> {
        match self.sink {
            Sink::Registry(client) => {
                send_blobs(client, &artifact, self.supply.as_ref(), self.progress).await?;
                let there = client.find_manifest(&At::Tag(tag.clone())).await?;
                if there.is_some_and(|bytes| bytes != artifact.manifest) {
                    return Ok(sign::add_simple(client, tag, &artifact.manifest).await?);
                }
                client.put_manifest(tag, &artifact).await?;
                Ok(())
            }
            Sink::Layout(dir) => {
                let missing = layout::absent(&artifact, dir);
                fill(&mut artifact, &missing, self.supply.as_ref(), self.progress).await?;
                let options = PushOptions {
                    if_exists: IfExists::Fail,
                    ..PushOptions::default()
                };
                layout::push(&artifact, dir, tag, &options, self.progress).map(|_| ())
            }
        }
    }
}

impl ChartSource<'_> {
    /// The digests of all manifests that name this one as their subject.
    async fn referrers(&self, subject: &Digest) -> Result<Vec<Digest>, Failure> {
        match self {
            Self::Registry(client) => {
                let list = client.referrers(subject).await?;
                Ok(list.into_iter().map(|one| one.digest).collect())
            }
            Self::Layout(dir) => Ok(layout_read::referrers(dir, subject)?),
        }
    }

    /// A manifest's bytes.
    pub(in crate::oci) async fn manifest(&self, at: &At) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Registry(client) => Ok(client.manifest(at).await?),
            Self::Layout(dir) => Ok(layout_read::manifest(dir, at)?),
        }
    }

    async fn find_manifest(&self, at: &At) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Registry(client) => Ok(client.find_manifest(at).await?),
            Self::Layout(dir) => match layout_read::manifest(dir, at) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(layout::LayoutError::Missing { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            },
        }
    }
}
