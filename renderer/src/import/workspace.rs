//! The files of an import on the disk, by their checksums: complete ones, which are verified whenever they are used
//! again, and parts, which are continued.
//!
//! One process at a time uses a folder. What another import left there, and this one doesn't need, is removed: the
//! volume has room for one.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest as sha1;
use sha2::Digest as _;

use super::{RemoteFile, private_files};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::import::file_path::FilePath;
use crate::oci::{BlobCache, Download, Downloader, Failure, Progress, RequestHeaders, ResumableSink};
use crate::reference::Digest;

/// The folder in the working folder.
const FOLDER: &str = "solar-render-import";
const LOCK: &str = "lock";
/// The folder of blobs that are copied from a registry.
const BLOBS: &str = "blobs";
/// The extension of a file that is not complete.
const PART: &str = "part";
/// The buffer in which files are read, in bytes.
const BUFFER: usize = 128 << 10;

/// What a file is verified with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Checksum {
    /// The SHA-256 of its bytes.
    Sha256(Digest),
    /// Its Git object: the SHA-1 of `blob <size>`, a zero byte, and its bytes.
    GitBlob(String),
}

/// Says what a server's refusal of a file means.
pub(super) type Explain<'e> = &'e dyn Fn(Failure, &FilePath) -> Diagnostics;

/// A verified file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredFile {
    pub(super) path: PathBuf,
    pub(super) digest: Digest,
    pub(super) size: u64,
}

/// The folder. Locked while this exists.
pub(super) struct Workspace {
    dir: PathBuf,
    _lock: File,
}

impl Checksum {
    /// The name of the file with this checksum.
    fn file_name(&self) -> String {
        match self {
            Self::Sha256(digest) => format!("sha256-{}", digest.hex()),
            Self::GitBlob(oid) => format!("git-{oid}"),
        }
    }
}

impl Workspace {
    /// Opens the folder in `workdir`; both are created if they don't exist.
    pub(super) fn open(workdir: &Path) -> Result<Self> {
        let dir = workdir.join(FOLDER);
        fs::create_dir_all(workdir).map_err(|error| fsio::cannot("create", workdir, &error, Class::Io))?;
        let made = private_files::make_folder(&dir);
        made.map_err(|error| fsio::cannot("use", &dir, &error, Class::Config))?;
        let path = dir.join(LOCK);
        let lock = private_files::open(&path, OpenOptions::new().create(true).append(true));
        let lock = lock.map_err(|error| fsio::cannot("open", &path, &error, Class::Io))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let message = format!("{} is in use by another import", workdir.display());
                Err(Diagnostic::error(Class::Io, message).into())
            }
            // Not all file systems have locks.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { dir, _lock: lock }),
        }
    }

    /// The store of blobs that are copied from a registry.
    pub(super) fn blobs(&self) -> BlobCache {
        BlobCache::at(self.dir.join(BLOBS))
    }

    /// Removes all files but those with these checksums.
    pub(super) fn retain<'c>(&self, checksums: impl Iterator<Item = &'c Checksum>) -> Result<()> {
        self.remove_others(&checksums.map(Checksum::file_name).collect(), false)
    }

    /// Removes all files but the blobs that were copied from a registry.
    pub(super) fn retain_blobs(&self) -> Result<()> {
        self.remove_others(&BTreeSet::new(), true)
    }

    fn remove_others(&self, kept: &BTreeSet<String>, keeps_blobs: bool) -> Result<()> {
        let failed = |error: io::Error| fsio::cannot("clean up", &self.dir, &error, Class::Io);
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let stem = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .unwrap_or_default();
            let ours = stem.starts_with("sha256-") || stem.starts_with("git-");
            let removed = match path.ends_with(BLOBS) {
                true => !keeps_blobs || !fs::symlink_metadata(&path).map_err(failed)?.is_dir(),
                false => ours && !kept.contains(stem),
            };
            if removed {
                private_files::remove(&path).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// The file, verified: as it is there, or downloaded. `explain` says what a server's refusal means.
    pub(super) fn fetch(
        &self,
        remote: &RemoteFile,
        headers: &RequestHeaders,
        limit: u64,
        downloader: &Downloader<'_>,
        (progress, explain): (&dyn Progress, Explain<'_>),
    ) -> Result<StoredFile> {
        let RemoteFile {
            path,
            url,
            size,
            checksum,
        } = remote;
        let target = self.dir.join(checksum.file_name());
        if let Some(stored) = self.stored(&target, checksum)? {
            progress.trace(&format!("{path} is there already"));
            return Ok(stored);
        }
        let download = Download {
            url,
            headers,
            size: *size,
            limit,
        };
        let mut part = Part::open(&target.with_extension(PART), checksum, *size, progress)?;
        let continued = part.received();
        if continued > 0 {
            progress.trace(&format!("{path}: {continued} bytes are there already"));
        }
        let explained = |failure| explain(failure, path);
        downloader.file(&download, &mut part).map_err(explained)?;
        if continued > 0 && !part.restarted && !part.is_complete() {
            // The part was of another file, or damaged.
            progress.trace(&format!("{path}: what was there did not fit, from the beginning"));
            part.restart().map_err(|error| part.failed(&error))?;
            downloader.file(&download, &mut part).map_err(explained)?;
        }
        if !part.is_complete() {
            return Err(part.refuse(remote));
        }
        part.keep_as(target)
    }

    /// A complete file, if it is there; one that is damaged is removed.
    fn stored(&self, path: &Path, checksum: &Checksum) -> Result<Option<StoredFile>> {
        let failed = |error: &io::Error| fsio::cannot("read", path, error, Class::Io);
        let mut file = match private_files::open(path, OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let size = file.metadata().map_err(|error| failed(&error))?.len();
        let mut sums = Sums::new(checksum, size);
        sums.read(&mut file).map_err(|error| failed(&error))?;
        if sums.is_good(checksum) {
            return Ok(Some(StoredFile {
                path: path.to_owned(),
                digest: sums.digest(),
                size,
            }));
        }
        fs::remove_file(path).map_err(|error| failed(&error))?;
        Ok(None)
    }
}

/// The checksums of bytes as they come.
struct Sums {
    sha256: sha2::Sha256,
    /// Only for a Git object, whose size must be known before.
    git: Option<sha1::Context>,
    received: u64,
}

impl Sums {
    fn new(checksum: &Checksum, size: u64) -> Self {
        let git = matches!(checksum, Checksum::GitBlob(_)).then(|| {
            let mut git = sha1::Context::new(&sha1::SHA1_FOR_LEGACY_USE_ONLY);
            git.update(format!("blob {size}\0").as_bytes());
            git
        });
        Self {
            sha256: sha2::Sha256::new(),
            git,
            received: 0,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        if let Some(git) = &mut self.git {
            git.update(bytes);
        }
        self.received = self.received.saturating_add(bytes.len() as u64);
    }

    fn read(&mut self, file: &mut File) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(()),
                read => self.add(buffer.get(..read).unwrap_or_default()),
            }
        }
    }

    fn digest(&self) -> Digest {
        Digest::from_sha256(&self.sha256.clone().finalize().into())
    }

    fn is_good(&self, checksum: &Checksum) -> bool {
        match checksum {
            Checksum::Sha256(expected) => self.digest() == *expected,
            Checksum::GitBlob(expected) => self.git.clone().is_some_and(|git| {
                let found = git.finish();
                let hex: String = found.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
                hex == *expected
            }),
        }
    }
}

/// A file that is not complete.
struct Part<'p> {
    progress: &'p dyn Progress,
    path: PathBuf,
    file: File,
    sums: Sums,
    checksum: Checksum,
    size: u64,
    /// Whether what was there before has been dropped.
    restarted: bool,
}

impl<'p> Part<'p> {
    /// Opens a part, or begins one. `size` is that of the whole file; a longer part is begun again.
    fn open(path: &Path, checksum: &Checksum, size: Option<u64>, progress: &'p dyn Progress) -> Result<Self> {
        let failed = |error: &io::Error| fsio::cannot("open", path, error, Class::Io);
        let mut options = OpenOptions::new();
        let file = private_files::open(path, options.create(true).append(true).read(true));
        let mut file = file.map_err(|error| failed(&error))?;
        let mut sums = Sums::new(checksum, size.unwrap_or(0));
        sums.read(&mut file).map_err(|error| failed(&error))?;
        let mut part = Self {
            progress,
            path: path.to_owned(),
            file,
            sums,
            checksum: checksum.clone(),
            size: size.unwrap_or(0),
            restarted: false,
        };
        if size.is_some_and(|size| part.received() > size) {
            part.restart().map_err(|error| failed(&error))?;
        }
        Ok(part)
    }

    fn failed(&self, error: &io::Error) -> Diagnostics {
        fsio::cannot("write", &self.path, error, Class::Io)
    }

    /// Removes the file, and says what is wrong with it.
    fn refuse(self, remote: &RemoteFile) -> Diagnostics {
        let found = self.sums.digest();
        // Another attempt must not begin with it; whether it is gone decides nothing.
        let _ = fs::remove_file(&self.path);
        let RemoteFile { path, checksum, .. } = remote;
        let (class, expected) = match checksum {
            Checksum::Sha256(expected) => (Class::Digest, expected.to_string()),
            Checksum::GitBlob(oid) => (Class::Digest, format!("the Git object {oid}")),
        };
        let message = format!("{path} is {found}, expected was {expected}");
        Diagnostic::error(class, message)
            .note("nothing was pushed")
            .into()
    }

    fn keep_as(self, path: PathBuf) -> Result<StoredFile> {
        let kept = self.file.sync_data().and_then(|()| fs::rename(&self.path, &path));
        kept.map_err(|error| self.failed(&error))?;
        Ok(StoredFile {
            path,
            digest: self.sums.digest(),
            size: self.sums.received,
        })
    }
}

impl ResumableSink for Part<'_> {
    fn received(&self) -> u64 {
        self.sums.received
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.sums.add(bytes);
        self.progress.file_progress(self.sums.received);
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.sums = Sums::new(&self.checksum, self.size);
        self.restarted = true;
        Ok(())
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn is_complete(&self) -> bool {
        self.sums.is_good(&self.checksum)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[derive(Default)]
    struct Recorder(RefCell<Vec<u64>>);

    impl Progress for Recorder {
        fn file_progress(&self, received: u64) {
            self.0.borrow_mut().push(received);
        }
    }

    /// Nothing was once displayed while files of gigabytes were fetched.
    #[test]
    fn a_part_reports_how_much_of_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.part");
        fs::write(&path, b"1234").unwrap();
        let checksum = Checksum::GitBlob("a".repeat(40));
        let recorder = Recorder::default();
        let mut part = Part::open(&path, &checksum, Some(10), &recorder).unwrap();
        part.append(b"56").unwrap();
        part.restart().unwrap();
        part.append(b"789").unwrap();
        assert_eq!(*recorder.0.borrow(), [6, 3]);
    }
}
