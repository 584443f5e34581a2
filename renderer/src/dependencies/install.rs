//! Installs archives in `charts/`, and removes those that are no dependencies any more.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use super::{BuiltDependencies, Change, Placed, Staged};
use crate::chart::archive;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio::{self, AtomicDir};
use crate::world::World;

/// Everything is staged and checked by now: only I/O errors can occur from here on.
pub(super) fn place(chart: &Path, draft: AtomicDir, staged: &[Staged]) -> Result<BuiltDependencies> {
    let folder = chart.join("charts");
    let cannot = |path: &Path, error: &io::Error| fsio::cannot("write", path, error, Class::Chart);
    fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
    let mut done = BuiltDependencies {
        chart: chart.to_owned(),
        archives: Vec::new(),
        lock: None,
        warnings: Vec::new(),
    };
    let mut taken = BTreeSet::new();
    for one in staged {
        let (Some(file), Some(digest)) = (&one.file, &one.digest) else {
            continue;
        };
        if !taken.insert(file.clone()) {
            continue;
        }
        let (from, path) = (draft.path().join(file), folder.join(file));
        let size = fs::metadata(&from).map_err(|error| cannot(&from, &error))?.len();
        let same = fsio::digest_of(&path).is_ok_and(|(found, _)| found == *digest);
        if !same {
            fs::rename(&from, &path).map_err(|error| cannot(&path, &error))?;
        }
        let dependency = &one.locked;
        if folder.join(&dependency.name).is_dir() {
            let message = format!(
                "{} is a folder next to {file}: Helm renders both",
                folder.join(&dependency.name).display()
            );
            done.warnings.push(Diagnostic::warning(Class::Chart, message));
        }
        done.archives.push(Placed {
            path,
            chart: (
                dependency.name.clone(),
                dependency.version.clone(),
                dependency.repository.clone(),
            ),
            digest: digest.clone(),
            size,
            change: if same { Change::Kept } else { Change::Added },
        });
    }
    let lying: BTreeSet<&str> = staged
        .iter()
        .filter(|one| one.file.is_none())
        .map(|one| one.locked.name.as_str())
        .collect();
    remove_outdated(&folder, &taken, &lying, &mut done)?;
    Ok(done)
}

/// As in Helm: removes archives of charts that are not dependencies, and keeps other files.
fn remove_outdated(
    folder: &Path,
    taken: &BTreeSet<String>,
    lying: &BTreeSet<&str>,
    done: &mut BuiltDependencies,
) -> Result<()> {
    let cannot = |verb: &str, path: &Path, error: &io::Error| fsio::cannot(verb, path, error, Class::Chart);
    let entries = fs::read_dir(folder).map_err(|error| cannot("read", folder, &error))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|error| cannot("read", folder, &error))?.path());
    }
    paths.sort();
    for path in paths {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        if !is_file || taken.contains(&name) {
            continue;
        }
        let Ok(found) = archive::inspect_subchart(&path) else {
            continue;
        };
        let found = found.metadata;
        if lying.contains(found.name.as_str()) {
            continue;
        }
        let Ok((digest, size)) = fsio::digest_of(&path) else {
            continue;
        };
        fs::remove_file(&path).map_err(|error| cannot("remove", &path, &error))?;
        done.archives.push(Placed {
            path,
            chart: (found.name, found.version, String::new()),
            digest,
            size,
            change: Change::Removed,
        });
    }
    Ok(())
}

/// The current time, or SOURCE_DATE_EPOCH, in Go's format.
pub(crate) fn timestamp(world: &dyn World) -> Result<String> {
    let wrong =
        |error: jiff::Error| Diagnostic::error(Class::Usage, format!("the clock can't be read: {error}"));
    let stamp = crate::pipeline::stamp(world)?;
    let time = if stamp.created {
        let seconds = i64::try_from(stamp.mtime).unwrap_or(i64::MAX);
        jiff::Timestamp::from_second(seconds)
    } else {
        jiff::Timestamp::try_from(world.now())
    };
    Ok(time.map_err(wrong)?.to_string())
}
