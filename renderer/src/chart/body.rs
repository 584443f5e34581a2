//! A file's content, which is read from disk when something asks for it, and once.
//!
//! Charts bring megabytes that few renderings read: CRDs, dashboards, documents.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::HELM_CHART_BYTES;
use crate::diag::{Class, Diagnostics, Result};
use crate::fsio;

/// The bytes of a chart's file, without a byte order mark. Cheap to clone; the clones share what was read.
#[derive(Clone)]
pub struct Body(Arc<BodyStorage>);

enum BodyStorage {
    Memory(Vec<u8>),
    Disk {
        path: PathBuf,
        /// In bytes, when the chart was loaded.
        size: u64,
        read: OnceLock<Result<Vec<u8>>>,
    },
}

impl Body {
    /// What is in memory already.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Arc::new(BodyStorage::Memory(without_mark(bytes))))
    }

    /// A file that had so many bytes.
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

    /// The bytes; of a file that can't be read there are none, and [`Body::problem`] says why.
    pub fn bytes(&self) -> &[u8] {
        self.read().unwrap_or_default()
    }

    /// As [`Body::bytes`], with U+FFFD for what is not UTF-8.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// Why the bytes that were asked for could not be read.
    pub fn problem(&self) -> Option<Diagnostics> {
        match &*self.0 {
            BodyStorage::Memory(_) => None,
            BodyStorage::Disk { read, .. } => read.get()?.as_ref().err().cloned(),
        }
    }

    /// The bytes, to be kept by the caller alone: those of a file are not kept here.
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
    // No more than there was: the end need not be searched for. A file of no size may be one that
    // the kernel makes up.
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
    /// Not the bytes: they are many, and may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_when_it_is_asked_for_and_once() {
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
    fn a_file_that_is_gone_is_told_to_whoever_asks() {
        let body = Body::on_disk("/nonexistent/file".into(), 1);
        assert!(body.problem().is_none(), "nobody has asked");
        assert_eq!(body.bytes(), b"");
        let problem = body.problem().unwrap().to_string();
        assert!(problem.contains("can't read /nonexistent/file"), "{problem}");
        assert!(body.read().is_err());
        assert!(body.into_bytes().is_err());
    }
}
