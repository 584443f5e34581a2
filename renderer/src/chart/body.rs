//! A file's content, which is read from disk on first use, and once.
//!
//! Charts contain megabytes that few renderings read: CRDs, dashboards, documents.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::HELM_CHART_BYTES;
use crate::diag::{Class, Diagnostics, Result};
use crate::fsio;

/// The bytes of a chart's file, without a byte order mark. Cheap to clone; clones share the content.
#[derive(Clone)]
pub struct Body(Arc<BodyStorage>);

enum BodyStorage {
    Memory(Vec<u8>),
    Disk {
        path: PathBuf,
        /// The size in bytes when the chart was loaded.
        size: u64,
        read: OnceLock<Result<Vec<u8>>>,
    },
}

impl Body {
    /// Content that is already in memory.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Arc::new(BodyStorage::Memory(without_mark(bytes))))
    }

    /// A file on disk with this size.
    pub(super) fn on_disk(path: PathBuf, size: u64) -> Self {
        let read = OnceLock::new();
        Self(Arc::new(BodyStorage::Disk { path, size, read }))
    }

    /// The bytes.
    ///
    /// # Errors
    /// Class chart or io: the file can't be read. It is the same error every time.
    pub fn read(&self) -> Result<&[u8]> {
        match &*self.0 {
            BodyStorage::Memory(bytes) => Ok(bytes),
            BodyStorage::Disk { path, size, read } => match read.get_or_init(|| from_disk(path, *size)) {
                Ok(bytes) => Ok(bytes),
                Err(problem) => Err(problem.clone()),
            },
        }
    }

    /// The bytes; empty for a file that can't be read, whose error [`Body::problem`] returns.
    pub fn bytes(&self) -> &[u8] {
        self.read().unwrap_or_default()
    }

    /// As [`Body::bytes`], with U+FFFD for what is not UTF-8.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// The error of reading the bytes, if they were requested.
    pub fn problem(&self) -> Option<Diagnostics> {
        match &*self.0 {
            BodyStorage::Memory(_) => None,
            BodyStorage::Disk { read, .. } => read.get()?.as_ref().err().cloned(),
        }
    }

    /// The bytes, owned by the caller: a file's content is not cached.
    pub(super) fn into_bytes(self) -> Result<Vec<u8>> {
        match Arc::try_unwrap(self.0) {
            Ok(BodyStorage::Memory(bytes)) => Ok(bytes),
            Ok(BodyStorage::Disk { path, size, read }) => {
                read.into_inner().unwrap_or_else(|| from_disk(&path, size))
            }
            Err(shared) => Self(shared).read().map(<[u8]>::to_vec),
        }
    }
}

fn from_disk(path: &Path, size: u64) -> Result<Vec<u8>> {
    let cannot = |error: io::Error| fsio::cannot("read", path, &error, Class::Chart);
    let file = fsio::open(path).map_err(cannot)?;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // At most the known size, so no extra read for the end of the file. A file of size 0 may be virtual, as in /proc.
    let most = if size == 0 { HELM_CHART_BYTES } else { size };
    file.take(most).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(without_mark(bytes))
}

fn without_mark(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    bytes
}

impl fmt::Debug for Body {
    /// Without the bytes, which may be large and secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_on_first_use_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "\u{feff}first").unwrap();
        let body = Body::on_disk(path.clone(), 8);
        let other = body.clone();
        assert_eq!(body.bytes(), b"first");
        std::fs::write(&path, "second").unwrap();
        assert_eq!(other.text(), "first");
        assert_eq!(other.into_bytes().unwrap(), b"first");
    }

    #[test]
    fn a_missing_file_is_reported_to_each_reader() {
        let body = Body::on_disk("/nonexistent/file".into(), 1);
        assert!(body.problem().is_none(), "it was not requested");
        assert_eq!(body.bytes(), b"");
        let problem = body.problem().unwrap().to_string();
        assert!(problem.contains("can't read /nonexistent/file"), "{problem}");
        assert!(body.read().is_err());
        assert!(body.into_bytes().is_err());
    }
}
