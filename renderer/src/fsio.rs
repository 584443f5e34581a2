//! Files: bounded reading, and atomic writing ([`AtomicFile`][], with the feature `pipeline`).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::source::{Location, Source, Span};

#[cfg(feature = "pipeline")]
pub(crate) mod atomic;
#[cfg(feature = "pipeline")]
mod stale;

#[cfg(feature = "pipeline")]
pub use atomic::{
    AtomicDir, AtomicFile, digest_of, followed, remove_unfinished, write_atomically, write_over,
};

/// Opens a file by its name. A named pipe is refused: opening it blocks until another process writes, possibly forever.
/// The system's own names are allowed (`/dev/stdin`, and `/dev/fd/63` of shells' process substitution).
pub fn open(path: &Path) -> io::Result<File> {
    let is_pipe = || fs::metadata(path).is_ok_and(|found| is_fifo(found.file_type()));
    let is_systems = ["/dev", "/proc"].iter().any(|root| path.starts_with(root));
    if !is_systems && is_pipe() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a named pipe, not a regular file",
        ));
    }
    File::open(path)
}

#[cfg(unix)]
fn is_fifo(kind: fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    kind.is_fifo()
}

#[cfg(not(unix))]
fn is_fifo(_: fs::FileType) -> bool {
    false
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

/// The prefix of names of unfinished files and folders.
const UNFINISHED_PREFIX: &str = ".solar-render-";

/// Whether the name is that of an unfinished file or folder.
pub fn is_unfinished(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with(UNFINISHED_PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

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
