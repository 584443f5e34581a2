//! Blobs as bytes on disk.

use std::io::{self, Write};

use sha2::Digest as _;

use crate::package::artifact::{Blob, Content};
use crate::reference::Digest;

/// Writes the blob; fails when its bytes are not those of its digest.
pub(in crate::oci) fn write_blob(blob: &Blob, out: &mut dyn Write) -> io::Result<()> {
    match &blob.content {
        Content::Memory(bytes) => out.write_all(bytes),
        Content::Stream(source) => {
            let mut hashing = Hashing {
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

struct Hashing<'o> {
    out: &'o mut dyn Write,
    hash: sha2::Sha256,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
