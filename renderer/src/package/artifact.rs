//! A packaged chart: its manifest and its blobs, with all digests.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::reference::Digest;

/// A chart as a registry stores it. Complete and immutable: pushing it changes nothing.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The chart's name.
    pub name: String,
    /// The chart's version, as in Chart.yaml.
    pub version: String,
    /// The manifest, byte for byte.
    pub manifest: Vec<u8>,
    /// The manifest's digest: the digest of the chart.
    pub digest: Digest,
    /// Config first, then layer and, if there is one, provenance, in the manifest's order: sorted by digest, as in
    /// Helm.
    pub blobs: Vec<ArtifactBlob>,
}

/// One blob of an artifact.
#[derive(Debug, Clone)]
pub struct ArtifactBlob {
    /// The media type in the manifest.
    pub media_type: &'static str,
    /// The digest of the bytes.
    pub digest: Digest,
    /// The size in bytes.
    pub size: u64,
    /// The bytes, or their source.
    pub content: BlobContent,
}

/// The bytes of a blob.
#[derive(Clone)]
#[non_exhaustive]
pub enum BlobContent {
    /// Held in memory.
    Memory(Arc<[u8]>),
    /// Produced again for each reader.
    Stream(Arc<dyn BlobSource>),
}

/// Produces the same bytes each time, in chunks.
pub trait BlobSource: Send + Sync {
    /// Writes all bytes. Fails if the underlying files have changed since the digest was computed.
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()>;
}

impl Artifact {
    /// The media type of the manifest.
    pub const MANIFEST_TYPE: &'static str = "application/vnd.oci.image.manifest.v1+json";
    /// The media type of the config: Chart.yaml as JSON.
    pub const CONFIG_TYPE: &'static str = "application/vnd.cncf.helm.config.v1+json";
    /// The media type of the layer: the archive.
    pub const LAYER_TYPE: &'static str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
    /// The media type of a provenance file.
    pub const PROVENANCE_TYPE: &'static str = "application/vnd.cncf.helm.chart.provenance.v1.prov";

    /// The manifest's size in bytes.
    pub fn size(&self) -> u64 {
        self.manifest.len() as u64
    }

    /// The file name of the archive.
    pub fn archive_name(&self) -> String {
        format!("{}-{}.tgz", self.name, self.version)
    }

    /// The archive.
    pub fn layer(&self) -> Option<&ArtifactBlob> {
        self.blobs.iter().find(|blob| blob.media_type == Self::LAYER_TYPE)
    }
}

impl fmt::Debug for BlobContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory(_) => "Memory",
            Self::Stream(_) => "Stream",
        })
    }
}

/// A blob in a file.
pub(crate) struct FileSource {
    pub(crate) path: PathBuf,
}

impl BlobSource for FileSource {
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        io::copy(&mut File::open(&self.path)?, out).map(|_| ())
    }
}

/// Writes to another writer, and hashes the written bytes.
pub(crate) struct HashingWriter<'o> {
    pub(crate) out: &'o mut dyn Write,
    pub(crate) hash: Sha256,
}

impl Write for HashingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
