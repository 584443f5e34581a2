//! Reads an image layout on disk: tags, manifests, blobs. Content is checked against its digest, as a registry's
//! responses are.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::Path;

use sha2::Digest as _;

use crate::fsio;
use crate::oci::client::MAX_MANIFEST;
use crate::oci::client::image::Descriptor;
use crate::oci::failure::Failure;
use crate::oci::layout::{Index, LayoutError, check_marker};
use crate::oci::pull::chart_source::disk;
use crate::reference::{At, Digest, Tag};

/// The maximum number of manifests of a layout that are read in search of a subject.
const MAX_SCANNED: usize = 100_000;

/// The valid tags of the layout.
pub(in crate::oci) fn tags(dir: &Path) -> Result<Vec<Tag>, LayoutError> {
    let index = open(dir)?;
    Ok(index.tags().filter_map(|tag| tag.parse().ok()).collect())
}

/// A manifest's bytes.
pub(in crate::oci) fn manifest(dir: &Path, at: &At) -> Result<Vec<u8>, LayoutError> {
    let missing = |what: String| LayoutError::Missing {
        dir: dir.to_owned(),
        what,
    };
    let digest = match at {
        At::Digest(_) if !dir.exists() => return Err(LayoutError::Absent(dir.to_owned())),
        At::Digest(digest) => digest.clone(),
        At::Tag(tag) => {
            let index = open(dir)?;
            let text = index
                .digest_at(tag)
                .ok_or_else(|| missing(format!("the tag {tag}")))?;
            text.parse()
                .map_err(|error| LayoutError::foreign(&dir.join("index.json"), format!("{tag}: {error}")))?
        }
    };
    let path = blob_path(dir, &digest);
    let file = match fsio::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(missing(format!("the manifest {digest}")));
        }
        Err(error) => return Err(LayoutError::io(&path, "read")(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_MANIFEST as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(LayoutError::io(&path, "read"))?;
    if bytes.len() > MAX_MANIFEST {
        return Err(LayoutError::foreign(
            &path,
            format!("it is larger than {MAX_MANIFEST} bytes"),
        ));
    }
    let found = Digest::from_sha256(&sha2::Sha256::digest(&bytes).into());
    if found != digest {
        return Err(LayoutError::foreign(&path, format!("its digest is {found}")));
    }
    Ok(bytes)
}

/// The manifests of the layout's index that name this one as their subject.
pub(in crate::oci) fn referrers(dir: &Path, subject: &Digest) -> Result<Vec<Digest>, LayoutError> {
    let index = open(dir)?;
    let mut all: Vec<Digest> = Vec::new();
    for digest in index.digests().take(MAX_SCANNED) {
        let Ok(digest) = digest.parse() else { continue };
        if digest == *subject || all.contains(&digest) {
            continue;
        }
        // A manifest that the layout doesn't have is skipped.
        let bytes = match manifest(dir, &At::Digest(digest.clone())) {
            Ok(bytes) => bytes,
            Err(LayoutError::Missing { .. }) => continue,
            Err(error) => return Err(error),
        };
        let manifest: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let named = manifest
            .pointer("/subject/digest")
            .and_then(serde_json::Value::as_str);
        if named == Some(subject.as_str()) {
            all.push(digest);
        }
    }
    Ok(all)
}

/// Copies a blob, with size and digest checked.
pub(in crate::oci) fn blob<W: Write>(
    dir: &Path,
    blob: &Descriptor,
    open: impl Fn() -> io::Result<W>,
) -> Result<W, Failure> {
    let path = blob_path(dir, &blob.digest);
    let file = match fsio::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let what = format!("the blob {}", blob.digest);
            let dir = dir.to_owned();
            return Err(LayoutError::Missing { dir, what }.into());
        }
        Err(error) => return Err(LayoutError::io(&path, "read")(error).into()),
    };
    let mut out = open().map_err(|source| disk(&path, "copied", source))?;
    copy(file, &path, blob, &mut out)?;
    Ok(out)
}

fn copy(file: File, path: &Path, blob: &Descriptor, out: &mut dyn Write) -> Result<(), Failure> {
    // One more byte shows that the file is longer.
    let mut file = file.take(blob.size + 1);
    let mut hash = sha2::Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut buffer).map_err(LayoutError::io(path, "read"))?;
        if read == 0 {
            break;
        }
        let piece = buffer.get(..read).unwrap_or_default();
        hash.update(piece);
        out.write_all(piece)
            .map_err(|source| disk(path, "copied", source))?;
    }
    let found = Digest::from_sha256(&hash.finalize().into());
    let size = (blob.size + 1).saturating_sub(file.limit());
    if found != blob.digest || size != blob.size {
        let reason = format!(
            "it holds {found} with {size} bytes, expected {} with {}",
            blob.digest, blob.size
        );
        return Err(LayoutError::foreign(path, reason).into());
    }
    Ok(())
}

fn open(dir: &Path) -> Result<Index, LayoutError> {
    if !dir.exists() {
        return Err(LayoutError::Absent(dir.to_owned()));
    }
    if !dir.join("index.json").exists() {
        let what = "an index.json".to_owned();
        let dir = dir.to_owned();
        return Err(LayoutError::Missing { dir, what });
    }
    check_marker(dir)?;
    Index::read(dir)
}

/// The path of a blob in a layout.
pub(in crate::oci) fn blob_path(dir: &Path, digest: &Digest) -> std::path::PathBuf {
    dir.join("blobs/sha256").join(digest.hex())
}
