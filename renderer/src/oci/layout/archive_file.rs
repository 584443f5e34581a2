//! An archive in a folder (`file:DIR`): `<name>-<version>.tgz`, with `.tgz.prov` if the chart has a provenance file.
//! The policy compares bytes.

use std::io;
use std::path::{Path, PathBuf};

use crate::diag::Class;
use crate::fsio::{self, AtomicFile, reason};
use crate::oci::failure::Failure;
use crate::oci::layout::disk;
use crate::oci::push::policy::{Plan, PushOptions, Pushed, plan};
use crate::package::artifact::{Artifact, ArtifactBlob};
use crate::reference::Digest;
use crate::report::Outcome;

/// Why an archive could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// An I/O error.
    #[error("{} can't be {action}: {}", .path.display(), reason(.source))]
    Io {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The artifact has no archive.
    #[error("the chart has no archive")]
    NoLayer,
}

impl FileError {
    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Io { source, .. } if fsio::never_passes(source) => Class::Config,
            Self::Io { .. } => Class::Io,
            Self::NoLayer => Class::Internal,
        }
    }
}

/// Writes the archive to `path`.
pub(in crate::oci) fn push(
    artifact: &Artifact,
    path: &Path,
    options: &PushOptions,
) -> Result<Pushed, Failure> {
    let layer = artifact.layer().ok_or(FileError::NoLayer)?;
    let provenance = artifact
        .blobs
        .iter()
        .find(|blob| blob.media_type == Artifact::PROVENANCE_TYPE);
    let reference = format!("file:{}", path.display());
    loop {
        let found = digest_of(path).map_err(failed(path, "read"))?;
        let beside = provenance.map(|blob| (blob, provenance_of(path)));
        let differs = match &beside {
            Some((blob, path)) => {
                let found = digest_of(path).map_err(failed(path, "read"))?;
                found.map(|digest| digest != blob.digest)
            }
            None => Some(false),
        };
        let same = found
            .as_ref()
            .map(|digest| *digest == layer.digest && differs != Some(true));
        let outcome = match plan(same, options.if_exists) {
            Plan::Conflict => {
                return Err(Failure::Conflict {
                    reference,
                    ours: layer.digest.clone(),
                    existing: None,
                    is_version: true,
                });
            }
            Plan::Done(Outcome::Unchanged) if differs.is_none() && !options.check => {
                write_provenance(beside)?;
                Outcome::Unchanged
            }
            Plan::Done(outcome) => outcome,
            Plan::Send(outcome) if options.check => outcome,
            Plan::Send(outcome) => {
                // Before the archive, so that a reader who finds the archive finds both.
                write_provenance(beside)?;
                let placed = write(layer, path, found.is_some()).map_err(failed(path, "written"))?;
                if !placed {
                    // Another process wrote the file first: compare its content.
                    continue;
                }
                outcome
            }
        };
        return Ok(Pushed {
            outcome,
            reference,
            existing_digest: None,
            tags: Vec::new(),
            signature: None,
            equivalent: None,
        });
    }
}

fn write_provenance(beside: Option<(&ArtifactBlob, PathBuf)>) -> Result<(), FileError> {
    let Some((blob, path)) = beside else {
        return Ok(());
    };
    write(blob, &path, true).map_err(failed(&path, "written"))?;
    Ok(())
}

/// The path of an archive's provenance file.
pub(crate) fn provenance_of(archive: &Path) -> PathBuf {
    let mut name = archive.as_os_str().to_owned();
    name.push(".prov");
    PathBuf::from(name)
}

fn failed(path: &Path, action: &'static str) -> impl Fn(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError::Io {
        path: path.clone(),
        action,
        source,
    }
}

fn digest_of(path: &Path) -> io::Result<Option<Digest>> {
    match fsio::digest_of(path) {
        Ok((digest, _)) => Ok(Some(digest)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// `false` if the file was created meanwhile and `replace` is not set.
fn write(blob: &ArtifactBlob, path: &Path, replace: bool) -> io::Result<bool> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut draft = AtomicFile::create(path)?;
    disk::write_blob(blob, &mut draft)?;
    if replace {
        return draft.commit().map(|()| true);
    }
    draft.commit_new()
}
