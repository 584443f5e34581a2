//! Stores a packed archive: in memory while it is small, then in an unnamed temporary file, which the system removes
//! with the process. Without disk space, the archive is packed again when it is sent.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;

use sha2::{Digest as _, Sha256};

use super::MEMORY_LIMIT;
use super::artifact::BlobSource;
use crate::reference::Digest;

/// The chunk size for reading the file, in bytes.
const PIECE: usize = 128 << 10;

/// Hashes and stores the bytes that are written to it.
pub(super) struct Spool {
    hash: Sha256,
    size: u64,
    kept: Holding,
    /// Creates the file.
    make: fn() -> io::Result<File>,
}

enum Holding {
    Memory(Vec<u8>),
    Disk(File),
    /// Too large for memory, and no disk space for a file.
    Nothing,
}

/// The bytes that were written to a [`Spool`].
pub(super) struct SpooledArchive {
    pub(super) digest: Digest,
    pub(super) size: u64,
    pub(super) bytes: SpoolBytes,
}

/// The location of the bytes.
pub(super) enum SpoolBytes {
    Memory(Vec<u8>),
    Disk(SpoolFile),
    Nowhere,
}

/// A file without a name.
pub(super) struct SpoolFile {
    file: File,
    size: u64,
}

impl Spool {
    /// `may_spill`: whether a large archive is kept in a file.
    pub(super) fn new(may_spill: bool) -> Self {
        Self {
            hash: Sha256::new(),
            size: 0,
            kept: Holding::Memory(Vec::new()),
            make: if may_spill {
                tempfile::tempfile
            } else {
                || Err(io::ErrorKind::Unsupported.into())
            },
        }
    }

    pub(super) fn finish(self) -> SpooledArchive {
        SpooledArchive {
            digest: Digest::from_sha256(&self.hash.finalize().into()),
            size: self.size,
            bytes: match self.kept {
                Holding::Memory(bytes) => SpoolBytes::Memory(bytes),
                Holding::Disk(file) => SpoolBytes::Disk(SpoolFile {
                    file,
                    size: self.size,
                }),
                Holding::Nothing => SpoolBytes::Nowhere,
            },
        }
    }

    fn keep(&mut self, data: &[u8]) {
        if let Holding::Memory(bytes) = &mut self.kept {
            if self.size <= MEMORY_LIMIT {
                bytes.extend_from_slice(data);
                return;
            }
            let spilled = (self.make)().and_then(|mut file| file.write_all(bytes).map(|()| file));
            self.kept = spilled.map_or(Holding::Nothing, Holding::Disk);
        }
        if let Holding::Disk(file) = &mut self.kept
            && file.write_all(data).is_err()
        {
            // The disk is full: the space is freed at once.
            self.kept = Holding::Nothing;
        }
    }
}

impl Write for Spool {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.hash.update(data);
        self.size += data.len() as u64;
        self.keep(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BlobSource for SpoolFile {
    /// Reads from the beginning, independent of other readers.
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        while at < self.size {
            let read = self.file.read_at(&mut piece, at)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            out.write_all(piece.get(..read).unwrap_or_default())?;
            at += read as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spooled(size: u64, make: fn() -> io::Result<File>) -> (SpooledArchive, Vec<u8>) {
        let mut spool = Spool {
            make,
            ..Spool::new(true)
        };
        let data: Vec<u8> = (0..size).map(|at| u8::try_from(at % 251).unwrap_or(0)).collect();
        for piece in data.chunks(999_983) {
            spool.write_all(piece).unwrap();
        }
        (spool.finish(), data)
    }

    #[test]
    fn a_large_archive_is_spooled_to_a_file_that_can_be_read_repeatedly() {
        let (small, data) = spooled(MEMORY_LIMIT, || panic!("no file is needed"));
        assert!(matches!(small.bytes, SpoolBytes::Memory(bytes) if bytes == data));
        let (large, data) = spooled(MEMORY_LIMIT + 1, tempfile::tempfile);
        assert_eq!(large.size, MEMORY_LIMIT + 1);
        assert_eq!(large.digest, Digest::from_sha256(&Sha256::digest(&data).into()));
        let SpoolBytes::Disk(file) = large.bytes else {
            panic!("it is not on disk");
        };
        for _ in 0..2 {
            let mut out = Vec::new();
            file.write_to(&mut out).unwrap();
            assert!(out == data, "its bytes are others");
        }
    }

    #[test]
    fn without_room_for_a_file_only_the_digest_is_kept() {
        let none = || Err(io::Error::from(io::ErrorKind::ReadOnlyFilesystem));
        // A file that can be opened but not written acts as a full disk.
        let full = || File::open("/dev/null");
        for make in [none as fn() -> io::Result<File>, full] {
            let (large, data) = spooled(MEMORY_LIMIT + 1, make);
            assert!(matches!(large.bytes, SpoolBytes::Nowhere));
            assert_eq!(large.digest, Digest::from_sha256(&Sha256::digest(&data).into()));
        }
    }
}
