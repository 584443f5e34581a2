//! Whether two charts with different digests are equivalent.
//!
//! A manifest's digest also depends on more than the chart: `helm push` writes the time into it, and other tools pack
//! the same files into different archives. A chart that Helm pushed counts as unchanged when it is pushed again.

use std::io;

use crate::chart::compare::is_same_content;
use crate::chart::load;
use crate::oci::client::Client;
use crate::oci::client::image::{ChartManifest, Descriptor};
use crate::oci::client::manifest::ManifestRead;
use crate::oci::error::ClientError;
use crate::package::MEMORY_LIMIT;
use crate::package::artifact::{Artifact, BlobContent};
use crate::reference::Digest;

/// The maximum size of an archive that is compared by its files, in bytes: it is held in memory.
pub(in crate::oci) const MAX_COMPARED: u64 = MEMORY_LIMIT;

/// The same chart with another digest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Equivalent {
    /// The manifest's digest.
    pub digest: Digest,
    /// The manifest's size in bytes.
    pub size: u64,
    /// The archive's digest and size in bytes.
    pub layer: (Digest, u64),
    /// What both have in common.
    pub sameness: Sameness,
}

/// What two charts of different digests have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sameness {
    /// Config and archive, byte for byte.
    Blobs,
    /// The files in the archive.
    Files,
}

impl Sameness {
    /// A line for messages.
    pub fn note(self) -> &'static str {
        match self {
            Self::Blobs => "same config and archive, pushed by another tool",
            Self::Files => "same files, packaged by another tool",
        }
    }
}

/// Whether the existing manifest is the same chart.
pub(in crate::oci) async fn find(
    client: &Client<'_>,
    artifact: &Artifact,
    found: &ManifestRead,
) -> Result<Option<Equivalent>, ClientError> {
    // A manifest that is not a chart's differs from ours.
    let Ok(image) = ChartManifest::parse(found.bytes.clone()) else {
        return Ok(None);
    };
    let Ok(layer) = image.layer() else {
        return Ok(None);
    };
    let sameness = if has_same_blobs(artifact, &image) {
        Sameness::Blobs
    } else if has_same_config(artifact, &image) && has_same_files(client, artifact, layer).await? {
        Sameness::Files
    } else {
        return Ok(None);
    };
    Ok(Some(Equivalent {
        digest: found.digest.clone(),
        size: found.bytes.len() as u64,
        layer: (layer.digest.clone(), layer.size),
        sameness,
    }))
}

/// Whether it has all of our blobs, and no others except a provenance file.
fn has_same_blobs(artifact: &Artifact, image: &ChartManifest) -> bool {
    let ours = |digest: &Digest| artifact.blobs.iter().any(|blob| blob.digest == *digest);
    let theirs = |digest: &Digest| {
        image.config.digest == *digest || image.layers.iter().any(|layer| layer.digest == *digest)
    };
    artifact.blobs.iter().all(|blob| theirs(&blob.digest))
        && ours(&image.config.digest)
        && image
            .layers
            .iter()
            .all(|layer| ours(&layer.digest) || layer.media_type == Artifact::PROVENANCE_TYPE)
}

/// All tools write Chart.yaml as JSON in the same way: if it differs, nothing else needs to be fetched.
fn has_same_config(artifact: &Artifact, image: &ChartManifest) -> bool {
    let config = artifact
        .blobs
        .iter()
        .find(|blob| blob.media_type == Artifact::CONFIG_TYPE);
    config.is_some_and(|config| config.digest == image.config.digest)
}

async fn has_same_files(
    client: &Client<'_>,
    artifact: &Artifact,
    theirs: &Descriptor,
) -> Result<bool, ClientError> {
    // A provenance file is for one archive, byte for byte.
    let is_signed = artifact
        .blobs
        .iter()
        .any(|blob| blob.media_type == Artifact::PROVENANCE_TYPE);
    let Some(ours) = artifact.layer().filter(|_| !is_signed) else {
        return Ok(false);
    };
    if ours.size > MAX_COMPARED || theirs.size > MAX_COMPARED {
        return Ok(false);
    }
    let BlobContent::Memory(ours) = &ours.content else {
        return Ok(false);
    };
    let theirs = match client.blob(theirs, || Ok::<_, io::Error>(Vec::new())).await {
        Ok(bytes) => bytes,
        // A registry whose archive is missing or inconsistent does not have this chart.
        Err(ClientError::Status { status: 404, .. } | ClientError::Protocol { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    let load = |bytes: &[u8]| load::load_archive(bytes, &artifact.name).ok();
    Ok(load(ours)
        .zip(load(&theirs))
        .is_some_and(|(ours, theirs)| is_same_content(&ours, &theirs)))
}
