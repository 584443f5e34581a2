//! Packs a chart into a deterministic archive, and archive and metadata into an [`Artifact`].
//!
//! The archive is a pure function of the chart's files and one time: `<name>/` before
//! every path, Chart.yaml first, then bytewise; regular files of mode 0644 owned by 0.
//! The manifest is the one `helm push` writes, without the current time.

pub mod artifact;
pub mod gzip;
mod manifest;
mod spool;
pub mod tar;

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::chart::metadata::Metadata;
use crate::chart::{Chart, Content, File, archive};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::reference::Digest;
use artifact::{Artifact, ArtifactBlob, BlobSource, FileSource, HashingWriter};
use gzip::{Deflater, GzipWriter};
use spool::{Spool, SpoolBytes, SpooledArchive};

/// The time of every file in an archive: 1980-01-01T00:00:00Z, the earliest that zip tools can represent.
pub const DEFAULT_MTIME: u64 = 315_532_800;
/// The maximum size of an archive in memory, in bytes. Larger ones are kept in a temporary file, or, without disk
/// space, compressed twice: once for the digest, once for the upload.
pub const MEMORY_LIMIT: u64 = 16 * 1024 * 1024;
/// The maximum size of a provenance file, in bytes.
const MAX_PROVENANCE_BYTES: u64 = 1024 * 1024;

/// Packs charts; reuses its buffers between them.
pub struct Packer {
    deflater: Option<Box<Deflater>>,
    threads: usize,
}

/// The inputs of an archive in addition to the chart's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The modification time of every file, in seconds since 1970.
    pub mtime: u64,
    /// Whether the manifest has a creation time: only if the user gave the time.
    pub created: bool,
}

impl Default for Stamp {
    fn default() -> Self {
        Self {
            mtime: DEFAULT_MTIME,
            created: false,
        }
    }
}

impl Packer {
    /// A packer that deflates on up to `threads` threads. The bytes don't depend on it.
    pub fn new(threads: usize) -> Self {
        Self {
            deflater: None,
            threads,
        }
    }

    /// Packs a chart and computes every digest.
    pub fn pack(&mut self, chart: Arc<Chart>, stamp: Stamp) -> Result<Artifact> {
        let mut spool = Spool::new(true);
        let deflater = self.deflater.take().unwrap_or_default();
        let deflater =
            write_archive(&chart, stamp.mtime, self.threads, deflater, &mut spool).map_err(unreadable)?;
        self.deflater = Some(deflater);
        let SpooledArchive { digest, size, bytes } = spool.finish();
        let content = match bytes {
            SpoolBytes::Memory(bytes) => artifact::BlobContent::Memory(bytes.into()),
            SpoolBytes::Disk(file) => artifact::BlobContent::Stream(Arc::new(file)),
            SpoolBytes::Nowhere => artifact::BlobContent::Stream(Arc::new(Repack {
                chart: Arc::clone(&chart),
                mtime: stamp.mtime,
                threads: self.threads,
                digest: digest.clone(),
            })),
        };
        let layer = ArtifactBlob {
            media_type: Artifact::LAYER_TYPE,
            digest,
            size,
            content,
        };
        manifest::artifact(&chart.metadata, layer, None, stamp.created.then_some(stamp.mtime))
    }

    /// Wraps an existing archive unchanged, with its `.prov` file if there is one.
    pub fn wrap(&mut self, path: &Path) -> Result<Artifact> {
        let inspected = archive::inspect(path)?;
        let source = Arc::new(FileSource {
            path: path.to_owned(),
        });
        // It is already in a file.
        let mut spool = Spool::new(false);
        source.write_to(&mut spool).map_err(unreadable)?;
        let SpooledArchive { digest, size, bytes } = spool.finish();
        let content = match bytes {
            SpoolBytes::Memory(bytes) => artifact::BlobContent::Memory(bytes.into()),
            SpoolBytes::Disk(_) | SpoolBytes::Nowhere => artifact::BlobContent::Stream(source),
        };
        let layer = ArtifactBlob {
            media_type: Artifact::LAYER_TYPE,
            digest,
            size,
            content,
        };
        manifest::artifact(&inspected.metadata, layer, provenance(path)?, None)
    }
}

/// The artifact with a provenance file, which is a layer and so changes the digest.
///
/// # Errors
/// The artifact has no archive.
pub fn with_provenance(
    artifact: &Artifact,
    metadata: &Metadata,
    provenance: Vec<u8>,
    stamp: Stamp,
) -> Result<Artifact> {
    let layer = artifact.layer().cloned();
    let layer = layer.ok_or_else(|| Diagnostic::error(Class::Internal, "the chart has no archive"))?;
    manifest::artifact(
        metadata,
        layer,
        Some(provenance),
        stamp.created.then_some(stamp.mtime),
    )
}

fn provenance(archive: &Path) -> Result<Option<Vec<u8>>> {
    let mut path = archive.as_os_str().to_owned();
    path.push(".prov");
    let path = Path::new(&path);
    let file = match fsio::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fsio::cannot("read", path, &error, Class::Chart)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_PROVENANCE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| fsio::cannot("read", path, &error, Class::Chart))?;
    if bytes.len() as u64 > MAX_PROVENANCE_BYTES {
        let message = format!(
            "{} is larger than {}",
            path.display(),
            fsio::size(MAX_PROVENANCE_BYTES)
        );
        return Err(Diagnostic::error(Class::Chart, message).into());
    }
    Ok(Some(bytes))
}

/// Writes the whole archive; returns the deflater.
fn write_archive(
    chart: &Chart,
    mtime: u64,
    threads: usize,
    deflater: Box<Deflater>,
    out: &mut dyn Write,
) -> io::Result<Box<Deflater>> {
    let mut gzip = GzipWriter::new(out, threads, deflater)?;
    for File { path, content } in &chart.files {
        let name = format!("{}/{path}", chart.metadata.name);
        let size = content.size();
        tar::write_header(&mut gzip, &name, size, mtime)?;
        match content {
            Content::Memory(bytes) => gzip.write_all(bytes)?,
            Content::Disk { path, size } => copy_exactly(path, *size, &mut gzip)?,
        }
        tar::write_padding(&mut gzip, size)?;
    }
    tar::write_end(&mut gzip)?;
    gzip.finish().map(|(_, deflater)| deflater)
}

/// A file whose size has changed would break the archive.
fn copy_exactly(path: &Path, size: u64, out: &mut dyn Write) -> io::Result<()> {
    let named = |error: io::Error| {
        io::Error::new(
            error.kind(),
            format!("{}: {}", path.display(), fsio::reason(&error)),
        )
    };
    let file = fsio::open(path).map_err(named)?;
    let copied = io::copy(&mut file.take(size + 1), out).map_err(named)?;
    if copied == size {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{} changed while it was read",
        path.display()
    )))
}

fn unreadable(error: io::Error) -> Diagnostics {
    Diagnostic::error(
        Class::Io,
        format!("can't read the chart: {}", fsio::reason(&error)),
    )
    .into()
}

/// Packs a large archive again for each reader.
struct Repack {
    chart: Arc<Chart>,
    mtime: u64,
    threads: usize,
    digest: Digest,
}

impl BlobSource for Repack {
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut hashing = HashingWriter {
            out,
            hash: Sha256::new(),
        };
        write_archive(
            &self.chart,
            self.mtime,
            self.threads,
            Box::default(),
            &mut hashing,
        )?;
        let digest = Digest::from_sha256(&hashing.hash.finalize().into());
        if digest == self.digest {
            return Ok(());
        }
        Err(io::Error::other(
            "the chart's files changed after its digest was computed",
        ))
    }
}
