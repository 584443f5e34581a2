//! Blobs as bytes on disk.

use std::io::{self, Write};

use sha2::Digest as _;

use crate::package::artifact::{ArtifactBlob, BlobContent, HashingWriter};
use crate::reference::Digest;

/// Writes the blob; fails if its bytes don't have its digest.
pub(in crate::oci) fn write_blob(blob: &ArtifactBlob, out: &mut dyn Write) -> io::Result<()> {
    match &blob.content {
        BlobContent::Memory(bytes) => out.write_all(bytes),
        BlobContent::Stream(source) => {
            let mut hashing = HashingWriter {
                out,
                hash: sha2::Sha256::new(),
            };
            source.write_to(&mut hashing)?;
            let digest = Digest::from_sha256(&hashing.hash.finalize().into());
            if digest == blob.digest {
                Ok(())
            } else {
                Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the chart changed since its digest was made",
                ))
            }
        }
    }
}
