//! An OCI image layout on disk (`oci-layout:DIR[:tag]`): what `skopeo`, `oras` and `crane` read
//! and write without a server. Source: the OCI image specification, image-layout 1.0.0.
//!
//! Blobs are written before `index.json` refers to them, and every file is written atomically. The folder itself is
//! locked meanwhile (`flock`), so that parallel processes lose no entries and no lock file is left behind.

pub(in crate::oci) mod archive_file;
pub(in crate::oci) mod disk;
pub(in crate::oci) mod read;
pub(in crate::oci) mod shared_tag;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::diag::Class;
use crate::fsio::{self, AtomicFile, reason};
use crate::oci::Progress;
use crate::oci::failure::Failure;
use crate::oci::push::policy::{
    IfExists, Plan, PushOptions, Pushed, TagResult, all_tags, is_version, plan, pushed,
};
use crate::package::artifact::{Artifact, ArtifactBlob, BlobContent};
use crate::reference::{Digest, Tag};
use crate::report::Outcome;

/// The maximum size of `index.json`, in bytes.
pub(in crate::oci) const MAX_INDEX: u64 = 64 << 20;
/// The annotation with an entry's tag.
const REF_NAME: &str = "org.opencontainers.image.ref.name";
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const VERSION: &str = "1.0.0";

/// Errors of a layout.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// An I/O error.
    #[error("{} can't be {action}: {}", .path.display(), reason(.source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// `read`, `written`, `locked` or `made`.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The folder doesn't exist.
    #[error("the layout {} does not exist", .0.display())]
    Absent(PathBuf),
    /// It does not have the requested tag or digest.
    #[error("oci-layout:{} does not have {what}", .dir.display())]
    Missing {
        /// The layout.
        dir: PathBuf,
        /// `the tag 1.0.0`
        what: String,
    },
    /// An existing file doesn't conform to the specification. It was not changed.
    #[error("{} is not part of an OCI image layout: {reason}", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why it doesn't conform.
        reason: String,
    },
}

impl LayoutError {
    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Io { source, .. } if fsio::never_passes(source) => Class::Config,
            Self::Io { .. } => Class::Io,
            Self::Absent(_) => Class::Usage,
            Self::Foreign { .. } => Class::Config,
            // As a registry's 404.
            Self::Missing { .. } => Class::Refused,
        }
    }

    pub(in crate::oci) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }

    pub(in crate::oci) fn foreign(path: &Path, reason: impl Into<String>) -> Self {
        Self::Foreign {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

/// Writes the artifact into the layout at `dir`, which is created if it doesn't exist.
pub(in crate::oci) fn push(
    artifact: &Artifact,
    dir: &Path,
    tag: &Tag,
    options: &PushOptions,
    progress: &dyn Progress,
) -> Result<Pushed, Failure> {
    let reference = format!("oci-layout:{}:{tag}", dir.display());
    let mut _lock = None;
    if !options.check {
        std::fs::create_dir_all(dir).map_err(LayoutError::io(dir, "made"))?;
        _lock = Some(lock(dir)?);
    }
    check_marker(dir)?;
    let mut index = Index::read(dir)?;
    let mut list = Vec::new();
    let mut sends = false;
    let mut ours = false;
    for (tag, if_exists) in all_tags(tag, options) {
        let (next, existing_digest) = reconcile(artifact, &index, dir, (tag, if_exists))?;
        let (Plan::Send(outcome) | Plan::Done(outcome)) = next else {
            continue;
        };
        if let Plan::Send(_) = next {
            index.put(artifact, tag);
            sends = true;
        }
        ours |= outcome != Outcome::Skipped;
        list.push(TagResult {
            tag: tag.clone(),
            outcome,
            existing_digest,
        });
    }
    if ours && !options.check {
        // Also if nothing changes: missing blobs are restored.
        write_blobs(artifact, dir, progress)?;
    }
    if sends && !options.check {
        write_whole(
            &dir.join("oci-layout"),
            format!("{{\"imageLayoutVersion\":\"{VERSION}\"}}").as_bytes(),
        )?;
        index.write()?;
    }
    // There is one tag at least, and none of them is a conflict.
    pushed(reference.clone(), list).ok_or(Failure::Conflict {
        reference,
        ours: artifact.digest.clone(),
        existing: None,
        is_version: true,
    })
}

/// Which of the artifact's blobs a [`push`] with these options would write.
pub(in crate::oci) fn missing(
    artifact: &Artifact,
    dir: &Path,
    tag: &Tag,
    options: &PushOptions,
) -> Result<Vec<Digest>, Failure> {
    check_marker(dir)?;
    let index = Index::read(dir)?;
    for tag in all_tags(tag, options) {
        reconcile(artifact, &index, dir, tag)?;
    }
    Ok(absent(artifact, dir))
}

/// Which of the artifact's blobs are missing.
pub(in crate::oci) fn absent(artifact: &Artifact, dir: &Path) -> Vec<Digest> {
    let there = |blob: &&ArtifactBlob| {
        let path = crate::oci::layout::read::blob_path(dir, &blob.digest);
        holds(&path, blob).unwrap_or(false)
    };
    let absent = artifact.blobs.iter().filter(|blob| !there(blob));
    absent.map(|blob| blob.digest.clone()).collect()
}

/// Writes an artifact that has a subject into the layout, without a tag.
pub(in crate::oci) fn refer(
    artifact: &Artifact,
    kind: &str,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<(), LayoutError> {
    let _lock = lock(dir)?;
    check_marker(dir)?;
    let mut index = Index::read(dir)?;
    write_blobs(artifact, dir, progress)?;
    let digest = artifact.digest.as_str();
    let is_it = |entry: &Value| entry.get("digest").and_then(Value::as_str) == Some(digest);
    if index.manifests.iter().any(is_it) {
        return Ok(());
    }
    index.manifests.push(json!({
        "mediaType": Artifact::MANIFEST_TYPE,
        "digest": digest,
        "size": artifact.size(),
        "artifactType": kind,
    }));
    index.write()
}

/// Reads the state of the tag and applies the policy.
fn reconcile(
    artifact: &Artifact,
    index: &Index,
    dir: &Path,
    (tag, if_exists): (&Tag, IfExists),
) -> Result<(Plan, Option<Digest>), Failure> {
    let found = index.digest_at(tag);
    let same = found.as_ref().map(|text| text == artifact.digest.as_str());
    let existing = found
        .filter(|_| same == Some(false))
        .and_then(|text| text.parse().ok());
    match plan(same, if_exists) {
        Plan::Conflict => Err(Failure::Conflict {
            reference: format!("oci-layout:{}:{tag}", dir.display()),
            ours: artifact.digest.clone(),
            existing,
            is_version: is_version(artifact, tag),
        }),
        next => Ok((next, existing)),
    }
}

/// Held until it is dropped, or the process ends.
fn lock(dir: &Path) -> Result<File, LayoutError> {
    let folder = File::open(dir).map_err(LayoutError::io(dir, "locked"))?;
    folder.lock().map_err(LayoutError::io(dir, "locked"))?;
    Ok(folder)
}

pub(in crate::oci) fn check_marker(dir: &Path) -> Result<(), LayoutError> {
    let path = dir.join("oci-layout");
    let Some(text) = read(&path)? else {
        return Ok(());
    };
    let marker: Value =
        serde_json::from_slice(&text).map_err(|error| LayoutError::foreign(&path, error.to_string()))?;
    match marker.get("imageLayoutVersion").and_then(Value::as_str) {
        Some(VERSION) => Ok(()),
        Some(other) => Err(LayoutError::foreign(
            &path,
            format!("its version is {other:?}, {VERSION:?} is known"),
        )),
        None => Err(LayoutError::foreign(&path, "it has no imageLayoutVersion")),
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, LayoutError> {
    let file = match fsio::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LayoutError::io(path, "read")(error)),
    };
    let mut text = Vec::new();
    file.take(MAX_INDEX + 1)
        .read_to_end(&mut text)
        .map_err(LayoutError::io(path, "read"))?;
    if text.len() as u64 > MAX_INDEX {
        let reason = format!("it is larger than {MAX_INDEX} bytes");
        return Err(LayoutError::foreign(path, reason));
    }
    Ok(Some(text))
}

/// `index.json`. Unknown fields and other entries are kept unchanged.
pub(in crate::oci) struct Index {
    path: PathBuf,
    fields: Map<String, Value>,
    manifests: Vec<Value>,
}

impl Index {
    pub(in crate::oci) fn read(dir: &Path) -> Result<Self, LayoutError> {
        let path = dir.join("index.json");
        let Some(text) = read(&path)? else {
            let mut fields = Map::new();
            fields.insert("schemaVersion".to_owned(), json!(2));
            fields.insert("mediaType".to_owned(), json!(INDEX_TYPE));
            return Ok(Self {
                path,
                fields,
                manifests: Vec::new(),
            });
        };
        let mut fields: Map<String, Value> =
            serde_json::from_slice(&text).map_err(|error| LayoutError::foreign(&path, error.to_string()))?;
        if fields.get("schemaVersion").and_then(Value::as_u64) != Some(2) {
            return Err(LayoutError::foreign(&path, "its schemaVersion is not 2"));
        }
        let manifests = match fields.remove("manifests") {
            Some(Value::Array(list)) if list.iter().all(Value::is_object) => list,
            None | Some(Value::Null) => Vec::new(),
            Some(_) => {
                return Err(LayoutError::foreign(
                    &path,
                    "its manifests are not a list of objects",
                ));
            }
        };
        Ok(Self {
            path,
            fields,
            manifests,
        })
    }

    /// The digest of a tag.
    pub(in crate::oci) fn digest_at(&self, tag: &Tag) -> Option<String> {
        let entry = self.manifests.iter().find(|entry| is_at(entry, tag))?;
        // An entry without a digest still differs from ours.
        Some(
            entry
                .get("digest")
                .and_then(Value::as_str)
                .unwrap_or("")
                .to_owned(),
        )
    }

    /// The digests, as written in the index.
    pub(in crate::oci) fn digests(&self) -> impl Iterator<Item = &str> {
        self.manifests
            .iter()
            .filter_map(|entry| entry.get("digest")?.as_str())
    }

    /// The tags, as written in the index.
    pub(in crate::oci) fn tags(&self) -> impl Iterator<Item = &str> {
        self.manifests.iter().filter_map(name_of)
    }

    fn put(&mut self, artifact: &Artifact, tag: &Tag) {
        self.manifests.retain(|entry| !is_at(entry, tag));
        self.manifests.push(json!({
            "mediaType": Artifact::MANIFEST_TYPE,
            "digest": artifact.digest.as_str(),
            "size": artifact.size(),
            "annotations": { REF_NAME: tag.as_str() },
        }));
    }

    fn write(mut self) -> Result<(), LayoutError> {
        self.fields
            .insert("manifests".to_owned(), Value::Array(self.manifests));
        let text = Value::Object(self.fields).to_string();
        replace(&self.path, &mut |out| out.write_all(text.as_bytes()))
    }
}

fn is_at(entry: &Value, tag: &Tag) -> bool {
    name_of(entry) == Some(tag.as_str())
}

fn name_of(entry: &Value) -> Option<&str> {
    entry.get("annotations")?.get(REF_NAME)?.as_str()
}

fn write_blobs(artifact: &Artifact, dir: &Path, progress: &dyn Progress) -> Result<(), LayoutError> {
    let folder = dir.join("blobs").join("sha256");
    std::fs::create_dir_all(&folder).map_err(LayoutError::io(&folder, "made"))?;
    let manifest = ArtifactBlob {
        media_type: Artifact::MANIFEST_TYPE,
        digest: artifact.digest.clone(),
        size: artifact.size(),
        content: BlobContent::Memory(Arc::from(artifact.manifest.as_slice())),
    };
    for blob in artifact.blobs.iter().chain([&manifest]) {
        let written = write_blob(blob, &folder)?;
        progress.blob_done(&blob.digest, written);
    }
    Ok(())
}

/// Whether the file has the blob's bytes: it is read, since a damaged file may have the right length.
fn holds(path: &Path, blob: &ArtifactBlob) -> io::Result<bool> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() || found.len() != blob.size {
        return Ok(false);
    }
    let (digest, _) = fsio::digest_of(path)?;
    Ok(digest == blob.digest)
}

/// `false` if it existed. A file with other bytes is damaged, and is written again.
fn write_blob(blob: &ArtifactBlob, folder: &Path) -> Result<bool, LayoutError> {
    let path = folder.join(Digest::hex(&blob.digest));
    match holds(&path, blob) {
        Ok(true) => return Ok(false),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(LayoutError::io(&path, "read")(error));
        }
        Ok(false) | Err(_) => {}
    }
    replace(&path, &mut |out| disk::write_blob(blob, out))?;
    Ok(true)
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), LayoutError> {
    if path.exists() {
        return Ok(());
    }
    replace(path, &mut |out| out.write_all(bytes))
}

/// Replaces a file atomically.
fn replace(path: &Path, fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<(), LayoutError> {
    AtomicFile::create(path)
        .and_then(|mut draft| {
            fill(&mut draft)?;
            draft.sync()?;
            draft.commit()
        })
        .map_err(LayoutError::io(path, "written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_on_disk_before_the_index_refers_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.json");
        write_whole(&path, b"{}").unwrap();
        let synced = fsio::atomic::tests::SYNCED.take();
        assert_eq!(synced, [path]);
    }
}
