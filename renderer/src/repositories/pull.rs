//! Pulls a chart from a web server to a folder: the archive as it is, or unpacked, as [`oci::pull`](crate::oci::pull)
//! does for registries.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use url::Url;

use super::web::{FetchedArchive, Order, VersionRequest, Web};
use crate::chart::archive;
use crate::diag::{Class, Result};
use crate::fsio::{self, AtomicDir};
use crate::oci::{PullOptions, Pulled, check_provenance, provenance_of, taken};

/// The requested chart.
#[derive(Debug, Clone)]
pub(crate) enum RemoteChart<'s> {
    /// The archive at a URL.
    Archive(&'s Url),
    /// A chart of a repository.
    Chart {
        /// The repository's URL.
        repository: &'s str,
        /// The chart's name.
        name: &'s str,
        /// Its version.
        wanted: VersionRequest<'s>,
    },
}

/// Fetches a chart, verifies it, and saves it. Blocks until it is done.
///
/// # Errors
/// No file has its final name then, except the provenance file if an I/O error occurred after it.
pub(crate) fn pull(
    source: &RemoteChart<'_>,
    options: &PullOptions,
    web: &Web<'_>,
    now: SystemTime,
) -> Result<Pulled> {
    let folder = options.untar.as_ref().unwrap_or(&options.destination);
    let cannot = |path: &Path, error: &io::Error| fsio::cannot("write", path, error, Class::Io);
    fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    let draft = AtomicDir::create_in(folder).map_err(|error| cannot(folder, &error))?;
    let packed = draft.path().join("chart.tgz");
    let order = Order {
        to: &packed,
        expected: None,
        provenance: options.wants_provenance(),
    };
    let got = match source {
        RemoteChart::Archive(url) => web.at(url, order)?,
        RemoteChart::Chart {
            repository,
            name,
            wanted,
        } => web.chart(repository, name, wanted, order)?,
    };
    let file = got.file_name();
    let signer = check_provenance(
        (&file, &got.digest),
        &got.shown(),
        got.provenance.as_deref(),
        options,
        now,
    )?;
    let size = fs::metadata(&packed)
        .map_err(|error| cannot(&packed, &error))?
        .len();
    let mut pulled = Pulled {
        reference: got.shown(),
        manifest: None,
        layer: (got.digest.clone(), size),
        path: packed.clone(),
        provenance: got.provenance.is_some(),
        signer,
    };
    pulled.path = match &options.untar {
        Some(folder) => unpack(draft, &packed, folder, &got)?,
        None => save(&packed, &file, options, &got)?,
    };
    Ok(pulled)
}

/// Saves it under the server's file name, unless that is not a name for a chart's archive.
fn save(
    packed: &Path,
    file: &str,
    options: &PullOptions,
    got: &FetchedArchive,
) -> Result<std::path::PathBuf> {
    let found = archive_at(packed, got)?;
    got.check(&found)?;
    let plain = file.ends_with(".tgz") && !file.starts_with('.') && !file.contains(['/', '\\', '%']);
    let path = if plain {
        options.destination.join(file)
    } else {
        options
            .destination
            .join(format!("{}-{}.tgz", found.name, found.version))
    };
    let cannot = |path: &Path, error: &io::Error| fsio::cannot("write", path, error, Class::Io);
    if let Some(text) = got.provenance.as_deref().filter(|_| options.keeps_provenance()) {
        // Before the archive, so that a reader who finds the archive finds both.
        let beside = provenance_of(&path);
        fsio::write_atomically(&beside, text).map_err(|error| cannot(&beside, &error))?;
    }
    fs::rename(packed, &path).map_err(|error| cannot(&path, &error))?;
    Ok(path)
}

fn archive_at(packed: &Path, got: &FetchedArchive) -> Result<crate::chart::metadata::Metadata> {
    let file = fs::File::open(packed).map_err(|error| fsio::cannot("read", packed, &error, Class::Io))?;
    Ok(archive::inspect_reader(io::BufReader::new(file), &got.shown())?.metadata)
}

fn unpack(
    draft: AtomicDir,
    packed: &Path,
    folder: &Path,
    got: &FetchedArchive,
) -> Result<std::path::PathBuf> {
    let cannot = |path: &Path, error: &io::Error| fsio::cannot("write", path, error, Class::Io);
    let unpacked = draft.path().join("chart");
    fs::create_dir(&unpacked).map_err(|error| cannot(&unpacked, &error))?;
    let file = fs::File::open(packed).map_err(|error| cannot(packed, &error))?;
    let found = archive::unpack(io::BufReader::new(file), &got.shown(), &unpacked)?.metadata;
    got.check(&found)?;
    let target = folder.join(&found.name);
    if draft
        .commit_new("chart", &target)
        .map_err(|error| cannot(&target, &error))?
    {
        Ok(target)
    } else {
        Err(taken(&target).into())
    }
}
