//! Files: bounded reading, and atomic writing.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::reference::Digest;
use crate::source::{Location, Source, Span};

mod stale;

/// Files being written, to be removed when a signal ends the process. It is locked while one is created, so that it is
/// never missing one.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The maximum number of symlinks that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// Opens a file by its name. A named pipe is refused: opening it blocks until another process writes, possibly forever.
/// The system's own names are allowed (`/dev/stdin`, and `/dev/fd/63` of shells' process substitution).
pub fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::FileTypeExt as _;
    let is_pipe = || fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    let is_systems = ["/dev", "/proc"].iter().any(|root| path.starts_with(root));
    if !is_systems && is_pipe() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a named pipe, not a regular file",
        ));
    }
    File::open(path)
}

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

/// The whole text of a file of at most `limit` bytes.
pub fn read_text(path: &Path, limit: usize, class: Class) -> Result<Arc<Source>> {
    let name = path.display().to_string();
    let file = open(path).map_err(|error| cannot("read", path, &error, class))?;
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    if length > limit as u64 {
        return Err(too_large(&name, limit, class).into());
    }
    read_text_from(file, &name, limit, class)
}

/// The whole content of a file of at most `limit` bytes.
pub fn read_bytes(path: &Path, limit: usize, class: Class) -> Result<Vec<u8>> {
    let file = open(path).map_err(|error| cannot("read", path, &error, class))?;
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| cannot("read", path, &error, class))?;
    if bytes.len() > limit {
        return Err(too_large(&path.display().to_string(), limit, class).into());
    }
    Ok(bytes)
}

/// The whole text of a reader of at most `limit` bytes; `name` is for messages.
pub fn read_text_from(reader: impl Read, name: &str, limit: usize, class: Class) -> Result<Arc<Source>> {
    let mut bytes = Vec::new();
    let mut bounded = reader.take(limit as u64 + 1);
    bounded
        .read_to_end(&mut bytes)
        .map_err(|error| cannot("read", Path::new(name), &error, class))?;
    if bytes.len() > limit {
        return Err(too_large(name, limit, class).into());
    }
    text_of(name, bytes, class)
}

/// Bytes as text; invalid UTF-8 is an error with its location.
pub fn text_of(name: &str, bytes: Vec<u8>, class: Class) -> Result<Arc<Source>> {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Ok(Source::new(name, text)),
        Err(error) => error,
    };
    let offset = bytes.utf8_error().valid_up_to();
    let whole = bytes.into_bytes();
    let bad = whole.get(offset).copied().unwrap_or(0);
    let source = Source::new(name, String::from_utf8_lossy(&whole));
    let message = format!("{name} is not UTF-8: byte 0x{bad:02x} at offset {offset}");
    let mut one = Diagnostic::error(class, message).at(Location::new(&source, Span::new(offset, offset + 1)));
    if whole.starts_with(&[0xff, 0xfe]) || whole.starts_with(&[0xfe, 0xff]) {
        one = one.hint("it looks like UTF-16: save it as UTF-8");
    }
    Err(one.into())
}

/// Checks that bytes are text, as [`text_of`] does.
pub fn check_text(name: &str, bytes: &[u8], class: Class) -> Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(_) => Ok(()),
        Err(_) => text_of(name, bytes.to_vec(), class).map(drop),
    }
}

/// The errno for too many symlinks (ELOOP): [`io::ErrorKind`] has no stable name for it.
const TOO_MANY_LINKS: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };

/// Whether the error is permanent: a name that is too long for the file system, or a symlink loop.
pub fn never_passes(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidFilename || error.raw_os_error() == Some(TOO_MANY_LINKS)
}

/// An error for a file that can't be read or written. User errors are of `class`; I/O errors are [`Class::Io`].
pub fn cannot(verb: &str, path: &Path, error: &io::Error, class: Class) -> Diagnostics {
    let class = match class {
        // A retry would not help.
        Class::Io if never_passes(error) => Class::Config,
        given => given,
    };
    let named_wrongly = matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidInput
    ) || never_passes(error);
    let class = if named_wrongly { class } else { Class::Io };
    Diagnostic::error(
        class,
        format!("can't {verb} {}: {}", path.display(), reason(error)),
    )
    .into()
}

/// The system's message without the errno.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    let mut characters = plain.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(characters).collect()
    })
}

fn too_large(name: &str, limit: usize, class: Class) -> Diagnostic {
    Diagnostic::error(class, format!("{name} is larger than {}", size(limit as u64)))
        .note("the limit keeps a wrong file from being read whole")
}

/// A human-readable size: `16 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(unit, name)| format!("{} {name}", bytes.div_ceil(*unit)),
    )
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

/// The prefix of names of unfinished files and folders.
const UNFINISHED_PREFIX: &str = ".solar-render-";

/// Whether the name is that of an unfinished file or folder.
pub fn is_unfinished(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with(UNFINISHED_PREFIX))
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
    use super::*;

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

    #[test]
    fn a_text_over_the_limit_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("big");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let problem = read_text(&path, 1000, Class::Config).unwrap_err();
        assert!(
            problem.to_string().contains("larger than 1000 bytes"),
            "{problem}"
        );
        let endless = read_text_from(io::repeat(b'x'), "<stdin>", 1000, Class::Config).unwrap_err();
        assert!(endless.to_string().contains("larger than"), "{endless}");
    }

    #[test]
    fn invalid_utf8_is_reported_with_its_location() {
        let problem = text_of("f", b"a: b\nc: \xff\n".to_vec(), Class::Config).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "f:2:4: f is not UTF-8: byte 0xff at offset 8"
        );
    }

    #[test]
    fn sizes_are_for_people() {
        assert_eq!(
            (size(12), size(16 << 20), size((1 << 30) + 1)),
            ("12 bytes".into(), "16 MiB".into(), "2 GiB".into())
        );
    }
}
