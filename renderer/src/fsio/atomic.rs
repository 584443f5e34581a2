//! Atomic writing: files and folders that are complete or not there.

use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::{TOO_MANY_LINKS, UNFINISHED_PREFIX, open, stale};
use crate::reference::Digest;

/// Files being written, to be removed when a signal ends the process. It is locked while one is created, so that it is
/// never missing one.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The maximum number of symlinks that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// Resolves symlinks, even if the target doesn't exist yet, so that writing keeps the links.
pub fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else {
            return Ok(path);
        };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::from_raw_os_error(TOO_MANY_LINKS))
}

/// A file's digest and size in bytes; it is read in chunks.
pub fn digest_of(path: &Path) -> io::Result<(Digest, u64)> {
    use sha2::Digest as _;
    let mut file = open(path)?;
    let mut hash = sha2::Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((Digest::from_sha256(&hash.finalize().into()), size)),
            read => {
                size += read as u64;
                hash.update(buffer.get(..read).unwrap_or_default());
            }
        }
    }
}

/// A file that is created atomically: complete or not at all.
///
/// It is written in the same folder under a temporary name and renamed by [`AtomicFile::commit`]. It is removed if it
/// is dropped before that, or when a signal handler calls [`remove_unfinished`]; after SIGKILL, when another file is
/// created in the folder at least an hour later.
pub struct AtomicFile {
    file: Option<tempfile::NamedTempFile>,
    temporary: PathBuf,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts a file; its folder must exist.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::with_mode(path, 0o666)
    }

    /// Starts a file that only its owner can read.
    pub fn create_private(path: &Path) -> io::Result<Self> {
        Self::with_mode(path, 0o600)
    }

    /// `mode` less the umask, as any program creates files; tempfile's own default is 0600.
    fn with_mode(path: &Path, mode: u32) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let file = tempfile::Builder::new()
            .prefix(UNFINISHED_PREFIX)
            .permissions(fs::Permissions::from_mode(mode))
            .tempfile_in(folder)?;
        let temporary = file.path().to_owned();
        unfinished.push(temporary.clone());
        drop(unfinished);
        stale::claim(file.as_file());
        stale::sweep(folder, file.as_file());
        Ok(Self {
            file: Some(file),
            temporary,
            path: path.to_owned(),
        })
    }

    /// Its temporary path.
    pub fn draft(&self) -> &Path {
        &self.temporary
    }

    /// Syncs its bytes to the disk, so that the file is complete after a power failure.
    pub fn sync(&mut self) -> io::Result<()> {
        let file = self.file.as_mut();
        let file = file.ok_or_else(|| io::Error::other("already committed"))?;
        file.as_file().sync_all()?;
        #[cfg(test)]
        tests::SYNCED.with_borrow_mut(|synced| synced.push(self.path.clone()));
        Ok(())
    }

    /// Renames it to its final name, replacing an existing file.
    pub fn commit(mut self) -> io::Result<()> {
        let file = self
            .file
            .take()
            .ok_or_else(|| io::Error::other("committed twice"))?;
        file.persist(&self.path).map(|_| ()).map_err(|error| error.error)
    }

    /// Renames it to its final name unless that exists by now: then it returns `false`, and the file is removed.
    pub fn commit_new(mut self) -> io::Result<bool> {
        let file = self
            .file
            .take()
            .ok_or_else(|| io::Error::other("committed twice"))?;
        match file.persist_noclobber(&self.path) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or_else(
            || Err(io::Error::other("already committed")),
            |file| file.write(data),
        )
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        unfinished.retain(|path| *path != self.temporary);
    }
}

/// Writes a whole file, atomically.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Writes a whole file that the user named. A regular file is replaced atomically and keeps its mode; a symlink is
/// followed; any other kind of file (a pipe, a device) is written into.
pub fn write_over(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            return fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
        }
        Ok(found) => Some(found.permissions().mode() & 0o777),
        Err(_) => None,
    };
    let mut file = AtomicFile::with_mode(&followed(path)?, mode.unwrap_or(0o666))?;
    if let Some(mode) = mode {
        // Whatever the umask is.
        fs::set_permissions(file.draft(), fs::Permissions::from_mode(mode))?;
    }
    file.write_all(bytes)?;
    file.commit()
}

/// A folder that is created atomically: files are written into [`AtomicDir::path`], next to the final path. It is
/// removed if it is dropped before it is committed.
pub struct AtomicDir {
    temporary: tempfile::TempDir,
    /// Holds the lock.
    _open: Option<File>,
}

impl AtomicDir {
    /// Creates a temporary folder in `parent`, which must exist.
    pub fn create_in(parent: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let temporary = tempfile::Builder::new()
            .prefix(UNFINISHED_PREFIX)
            .permissions(fs::Permissions::from_mode(0o777))
            .tempdir_in(parent)?;
        unfinished.push(temporary.path().to_owned());
        drop(unfinished);
        let open = File::open(temporary.path()).ok();
        if let Some(open) = &open {
            stale::claim(open);
            stale::sweep(parent, open);
        }
        Ok(Self {
            temporary,
            _open: open,
        })
    }

    /// Its temporary path.
    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Renames the folder `inside` it to `path`; everything else in it is removed. Returns `false` if `path` exists.
    pub fn commit_new(self, inside: &str, path: &Path) -> io::Result<bool> {
        // A rename would replace an empty folder.
        if path.symlink_metadata().is_ok() {
            return Ok(false);
        }
        match fs::rename(self.path().join(inside), path) {
            Ok(()) => Ok(true),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::AlreadyExists
                        | io::ErrorKind::DirectoryNotEmpty
                        | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for AtomicDir {
    fn drop(&mut self) {
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        unfinished.retain(|path| path != self.temporary.path());
    }
}

/// Removes the unfinished files, before a signal ends the process: creating another file blocks from then on.
pub fn remove_unfinished() {
    let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    let paths = std::mem::take(&mut *unfinished);
    // It is never unlocked.
    std::mem::forget(unfinished);
    for path in paths {
        // It may have just been renamed; then there is nothing to remove.
        if path.is_dir() {
            // More may come into it while it is removed.
            let _ = (0..10).any(|_| fs::remove_dir_all(&path).is_ok());
        } else {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::{cannot, never_passes, read_text};
    use super::*;
    use crate::diag::Class;

    thread_local! {
        /// The files that this thread has synced, by their final names.
        pub(crate) static SYNCED: std::cell::RefCell<Vec<PathBuf>> = const { std::cell::RefCell::new(Vec::new()) };
    }

    /// They were once reported as temporary I/O errors.
    #[test]
    fn too_long_names_and_symlink_loops_are_permanent_errors() {
        let folder = tempfile::tempdir().unwrap();
        let circle = folder.path().join("circle");
        std::os::unix::fs::symlink("circle", &circle).unwrap();
        for path in [folder.path().join("x".repeat(300)), circle.clone()] {
            let problem = read_text(&path, 10, Class::Config).unwrap_err();
            assert_eq!(problem.class(), Class::Config, "{problem}");
            let error = std::fs::write(&path, "").unwrap_err();
            assert_eq!(cannot("write", &path, &error, Class::Io).class().exit_code(), 1);
        }
        assert!(followed(&circle).is_err_and(|error| never_passes(&error)));
    }

    #[test]
    fn a_file_is_created_atomically() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        write_atomically(&path, b"whole").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_overwritten_file_keeps_its_mode_and_its_symlinks() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("second", at("first")).unwrap();
        fs::create_dir(at("sub")).unwrap();
        symlink("sub/file", at("second")).unwrap();
        let mode = || fs::metadata(at("sub/file")).unwrap().permissions().mode() & 0o777;
        write_over(&at("first"), b"new").unwrap();
        for wanted in [0o600, 0o666] {
            fs::set_permissions(at("sub/file"), fs::Permissions::from_mode(wanted)).unwrap();
            write_over(&at("first"), b"again").unwrap();
            assert_eq!(mode(), wanted);
        }
        assert_eq!(fs::read(at("sub/file")).unwrap(), b"again");
        assert_eq!(fs::read_link(at("first")).unwrap(), Path::new("second"));
        symlink("circle", at("circle")).unwrap();
        assert!(write_over(&at("circle"), b"").is_err());
        write_over(Path::new("/dev/null"), b"gone").unwrap();
    }
}
