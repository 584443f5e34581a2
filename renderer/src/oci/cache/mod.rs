//! A cache of blobs on disk, by digest: `<dir>/sha256/<two digits>/<the hex digits>`.
//!
//! Any number of processes share it without locks. A file gets its name when it is complete; it is hashed when it is
//! read, and removed if the digest doesn't match; a deleted file only means another download. A cache that can't be
//! written only costs time.

// Of what is fetched by URL: schemas, for the command line.
#[cfg(feature = "cli")]
mod texts;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::Digest as _;

use crate::fsio::{self, AtomicFile, is_unfinished};
use crate::oci::client::image::Descriptor;
use crate::reference::Digest;
use crate::world::World;

/// The variable with the cache's folder, or `off`.
pub const VARIABLE: &str = "SOLAR_RENDER_CACHE";
/// Unfinished files older than this are left over from killed processes.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// A folder of blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobCache {
    dir: PathBuf,
}

/// The content of the cache, or what was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheUsage {
    /// The number of blobs.
    pub files: u64,
    /// Their total size in bytes.
    pub bytes: u64,
}

/// Which blobs are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Blobs that were used within this time.
    pub age: Option<Duration>,
    /// The most recently used blobs, up to this total size in bytes.
    pub bytes: Option<u64>,
}

struct CachedBlob {
    path: PathBuf,
    used: SystemTime,
    size: u64,
}

impl BlobCache {
    /// The cache in this folder.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The user's cache: [`VARIABLE`], else `solar-render` in XDG_CACHE_HOME or in ~/.cache; none if the variable is
    /// `off`, and none in a Job, which has no home.
    pub fn of(world: &dyn World) -> Option<Self> {
        if let Some(dir) = world.env(VARIABLE) {
            return (dir != "off").then(|| Self::at(dir.into()));
        }
        // The XDG base directory specification says that relative paths are ignored.
        let absolute = |dir: &PathBuf| dir.is_absolute();
        let base = world.env("XDG_CACHE_HOME").map(PathBuf::from).filter(absolute);
        let base = base.or_else(|| Some(world.home().filter(absolute)?.join(".cache")))?;
        Some(Self::at(base.join("solar-render")))
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where a blob is, or will be.
    pub(in crate::oci) fn path_of(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        self.dir
            .join("sha256")
            .join(hex.get(..2).unwrap_or(hex))
            .join(hex)
    }

    /// Copies a blob to the writer that `open` returns; `None` if it is not in the cache.
    pub(in crate::oci) fn read<W: Write>(
        &self,
        blob: &Descriptor,
        world: &dyn World,
        open: impl Fn() -> io::Result<W>,
    ) -> io::Result<Option<W>> {
        let path = self.path_of(&blob.digest);
        let Ok(file) = fsio::open(&path) else {
            return Ok(None);
        };
        // The modification time records the last use.
        let _ = file.set_modified(world.now());
        let mut out = open()?;
        Ok(self.copy(file, blob, &mut out)?.then_some(out))
    }

    /// Copies a blob from its file; false if the file is damaged.
    fn copy(&self, file: File, blob: &Descriptor, out: &mut dyn Write) -> io::Result<bool> {
        let mut hash = sha2::Sha256::new();
        let mut file = file.take(blob.size.saturating_add(1));
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(_) => return Ok(false),
            };
            let piece = buffer.get(..read).unwrap_or_default();
            hash.update(piece);
            out.write_all(piece)?;
        }
        if Digest::from_sha256(&hash.finalize().into()) != blob.digest {
            let _ = fs::remove_file(self.path_of(&blob.digest));
            return Ok(false);
        }
        out.flush()?;
        Ok(true)
    }

    /// A file for a new blob; `None` if the cache can't be written.
    pub(in crate::oci) fn draft(&self, digest: &Digest) -> Option<AtomicFile> {
        let path = self.path_of(digest);
        let folder = path.parent()?;
        if !folder.is_dir() {
            use std::os::unix::fs::DirBuilderExt as _;
            // Blobs of private registries stay private.
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .ok()?;
        }
        AtomicFile::create_private(&path).ok()
    }

    /// The number of blobs and their size.
    ///
    /// # Errors
    /// A folder that can't be read; a missing one counts as empty.
    pub fn usage(&self) -> io::Result<CacheUsage> {
        let entries = self.entries()?;
        Ok(entries
            .iter()
            .fold(CacheUsage::default(), |sum, entry| sum.with(entry)))
    }

    /// Removes the blobs that are not kept, and returns their number and size; without any limit, all are removed.
    ///
    /// # Errors
    /// A folder that can't be read, a file that can't be removed.
    pub fn prune(&self, keep: Retention, world: &dyn World) -> io::Result<CacheUsage> {
        let now = world.now();
        let mut entries = self.entries()?;
        entries.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.path.cmp(&b.path)));
        let nothing_stays = keep == Retention::default();
        let (mut removed, mut kept) = (CacheUsage::default(), 0u64);
        for entry in entries {
            let age = now.duration_since(entry.used).unwrap_or_default();
            let stays = !nothing_stays
                && keep.age.is_none_or(|limit| age <= limit)
                && keep
                    .bytes
                    .is_none_or(|limit| kept.saturating_add(entry.size) <= limit);
            if stays {
                kept = kept.saturating_add(entry.size);
                continue;
            }
            match fs::remove_file(&entry.path) {
                // Another process is pruning too.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => removed = removed.with(&entry),
            }
        }
        self.sweep(now);
        Ok(removed)
    }

    /// Removes all files but these, and what is unfinished. For a cache that no other process uses.
    pub(in crate::oci) fn retain(&self, kept: &BTreeSet<PathBuf>) -> io::Result<()> {
        for folder in self.folders()? {
            // A link or a file in the way of a folder.
            if !fs::symlink_metadata(&folder)?.is_dir() {
                fs::remove_file(&folder)?;
                continue;
            }
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                let found = fs::symlink_metadata(&path)?;
                match found.is_dir() {
                    true => fs::remove_dir_all(&path)?,
                    false if found.is_file() && kept.contains(&path) => {}
                    false => fs::remove_file(&path)?,
                }
            }
        }
        Ok(())
    }

    fn folders(&self) -> io::Result<Vec<PathBuf>> {
        match fs::read_dir(self.dir.join("sha256")) {
            Ok(list) => list.map(|entry| Ok(entry?.path())).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Only blobs: files with other names are neither counted nor removed.
    fn entries(&self) -> io::Result<Vec<CachedBlob>> {
        let mut all = Vec::new();
        for folder in self.folders()?.iter().filter(|folder| folder.is_dir()) {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                let name = path
                    .file_name()
                    .and_then(|name| name.to_str())
                    .unwrap_or_default();
                if format!("sha256:{name}").parse::<Digest>().is_err() {
                    continue;
                }
                // It was deleted meanwhile.
                let Ok(metadata) = fs::symlink_metadata(&path) else {
                    continue;
                };
                if metadata.is_file() {
                    let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    all.push(CachedBlob {
                        path,
                        used,
                        size: metadata.len(),
                    });
                }
            }
        }
        Ok(all)
    }

    /// Removes unfinished files of killed processes.
    fn sweep(&self, now: SystemTime) {
        for folder in self.folders().unwrap_or_default() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let modified = entry.metadata().and_then(|metadata| metadata.modified());
                let age = modified.ok().and_then(|then| now.duration_since(then).ok());
                if is_unfinished(&entry.path()) && age.is_some_and(|age| age > STALE) {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }
}

impl CacheUsage {
    fn with(self, entry: &CachedBlob) -> Self {
        Self {
            files: self.files + 1,
            bytes: self.bytes.saturating_add(entry.size),
        }
    }
}

/// Writes to the caller's writer, and to the cache as long as that succeeds.
pub(in crate::oci) struct Tee<W> {
    out: W,
    draft: Option<AtomicFile>,
}

impl<W: Write> Tee<W> {
    pub(in crate::oci) fn new(out: W, draft: Option<AtomicFile>) -> Self {
        Self { out, draft }
    }

    /// Commits the blob to the cache; the caller has checked that it is complete.
    pub(in crate::oci) fn keep(self) -> W {
        if let Some(draft) = self.draft {
            // A failure only means another download.
            let _ = draft.commit();
        }
        self.out
    }
}

impl<W: Write> Write for Tee<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        let piece = bytes.get(..written).unwrap_or_default();
        if let Some(draft) = &mut self.draft
            && draft.write_all(piece).is_err()
        {
            self.draft = None;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::world::Fixed;

    fn put(cache: &BlobCache, bytes: &[u8], age: u64) -> Descriptor {
        let digest = Digest::from_sha256(&sha2::Sha256::digest(bytes).into());
        let mut tee = Tee::new(io::sink(), cache.draft(&digest));
        tee.write_all(bytes).unwrap();
        tee.keep();
        let file = File::options().write(true).open(cache.path_of(&digest)).unwrap();
        file.set_modified(now() - Duration::from_secs(age)).unwrap();
        Descriptor {
            media_type: String::new(),
            digest,
            size: bytes.len() as u64,
        }
    }

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
    }

    fn world(env: &[(&str, &str)]) -> Fixed {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Fixed {
            env: env.collect(),
            now: now(),
            ..Fixed::default()
        }
    }

    fn read(cache: &BlobCache, blob: &Descriptor) -> Option<Vec<u8>> {
        cache.read(blob, &world(&[]), || Ok(Vec::new())).unwrap()
    }

    #[test]
    fn a_blob_is_read_again_and_a_damaged_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = BlobCache::at(folder.path().join("c"));
        let blob = put(&cache, b"bytes", 0);
        assert_eq!(read(&cache, &blob).unwrap(), b"bytes");
        for damage in ["byte", "bytes and more", "bites"] {
            fs::write(cache.path_of(&blob.digest), damage).unwrap();
            assert_eq!(read(&cache, &blob), None, "{damage}");
            assert!(!cache.path_of(&blob.digest).exists());
        }
        // A pipe without a writer once blocked the reader.
        let mut pipe = std::process::Command::new("mkfifo");
        assert!(pipe.arg(cache.path_of(&blob.digest)).status().unwrap().success());
        assert_eq!(read(&cache, &blob), None);
        put(&cache, b"bytes", 0);
        assert_eq!(read(&cache, &blob).unwrap(), b"bytes");
    }

    #[test]
    fn pruning_is_by_last_use_and_by_size() {
        let folder = tempfile::tempdir().unwrap();
        let cache = BlobCache::at(folder.path().to_owned());
        let blobs = [
            put(&cache, b"aaaa", 10),
            put(&cache, b"bbbb", 100),
            put(&cache, b"cccc", 1000),
        ];
        assert_eq!(cache.usage().unwrap(), CacheUsage { files: 3, bytes: 12 });
        let by_age = Retention {
            age: Some(Duration::from_secs(500)),
            bytes: None,
        };
        assert_eq!(
            cache.prune(by_age, &world(&[])).unwrap(),
            CacheUsage { files: 1, bytes: 4 }
        );
        assert!(read(&cache, &blobs[1]).is_some(), "and is the last used one now");
        let by_size = Retention {
            age: None,
            bytes: Some(5),
        };
        assert_eq!(
            cache.prune(by_size, &world(&[])).unwrap(),
            CacheUsage { files: 1, bytes: 4 }
        );
        assert!(read(&cache, &blobs[1]).is_some() && read(&cache, &blobs[0]).is_none());
        let left = cache
            .path_of(&blobs[0].digest)
            .with_file_name(".solar-render-abc");
        fs::write(cache.path_of(&blobs[0].digest).with_file_name("notes"), "").unwrap();
        File::create(&left)
            .unwrap()
            .set_modified(now() - STALE * 2)
            .unwrap();
        assert_eq!(
            cache.prune(Retention::default(), &world(&[])).unwrap(),
            CacheUsage { files: 1, bytes: 4 }
        );
        assert!(!left.exists());
        assert_eq!(cache.usage().unwrap(), CacheUsage::default());
        assert!(cache.path_of(&blobs[0].digest).with_file_name("notes").exists());
    }

    #[test]
    fn the_folder_is_the_users_and_there_is_none_without_a_home() {
        type Row = (&'static [(&'static str, &'static str)], Option<&'static str>);
        let table: [Row; 6] = [
            (&[], None),
            (&[("HOME", "/h")], Some("/h/.cache/solar-render")),
            (
                &[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")],
                Some("/c/solar-render"),
            ),
            (
                &[("HOME", "/h"), ("XDG_CACHE_HOME", "c")],
                Some("/h/.cache/solar-render"),
            ),
            (&[("HOME", "/h"), (VARIABLE, "/x")], Some("/x")),
            (&[("HOME", "/h"), (VARIABLE, "off")], None),
        ];
        for (env, expected) in table {
            let found = BlobCache::of(&world(env));
            assert_eq!(
                found.as_ref().map(BlobCache::dir),
                expected.map(Path::new),
                "{env:?}"
            );
        }
    }
}
