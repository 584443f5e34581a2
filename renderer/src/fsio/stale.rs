//! What processes that were killed have left behind: unfinished files and folders. The next run that writes
//! beside them removes them.
//!
//! Whoever writes one holds a lock on it, which ends with the process. Where a file system has no locks,
//! what is there stays.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::is_unfinished;

/// A younger one may have been made and not yet been locked.
const AGE: Duration = Duration::from_secs(3600);

/// The folders that this process has cleaned: once is enough.
static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Says that it is being written, as long as it is open.
pub(super) fn claim(file: &File) {
    // Without a lock it is only never taken away.
    let _ = file.try_lock();
}

/// Removes what was left behind in a folder long before `new` was made there.
pub(super) fn sweep(folder: &Path, new: &File) {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if !seen.insert(folder.to_owned()) {
        return;
    }
    drop(seen);
    // The file system's own clock, which may be another machine's.
    let Some(limit) = new
        .metadata()
        .and_then(|new| new.modified())
        .ok()
        .and_then(|now| now.checked_sub(AGE))
    else {
        return;
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // By their names first: a layout has thousands of files that are nobody's rest.
    let unfinished = entries
        .map(|entry| entry.path())
        .filter(|path| is_unfinished(path));
    for path in unfinished {
        let is_old = |found: &fs::Metadata| found.modified().is_ok_and(|time| time < limit);
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        if !is_old(&found) || !(found.is_file() || found.is_dir()) {
            continue;
        }
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_err() {
            continue;
        }
        // What can't be removed stays, and harms nobody.
        let _ = if found.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AtomicDir, AtomicFile};

    #[test]
    fn what_the_killed_left_is_removed_and_what_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let age = |path: &std::path::Path, hours: u64| {
            let file = std::fs::File::open(path).unwrap();
            let time = file.metadata().unwrap().modified().unwrap();
            file.set_modified(time - std::time::Duration::from_secs(hours * 3600 + 60))
                .unwrap();
        };
        for name in [".solar-render-old", ".solar-render-young", "old"] {
            std::fs::write(at(name), "x").unwrap();
        }
        std::fs::create_dir_all(at(".solar-render-dir/below")).unwrap();
        let (file, dir) = (
            AtomicFile::create(&at("x")).unwrap(),
            AtomicDir::create_in(folder.path()).unwrap(),
        );
        for path in [&at(".solar-render-old"), &at("old"), &at(".solar-render-dir")] {
            age(path, 1);
        }
        age(file.draft(), 30);
        age(dir.path(), 30);
        super::SEEN.lock().unwrap().remove(folder.path());
        let other = AtomicFile::create(&at("y")).unwrap();
        let is_there = |name: &str| at(name).exists();
        assert!(!is_there(".solar-render-old") && !is_there(".solar-render-dir"));
        assert!(is_there(".solar-render-young") && is_there("old"));
        assert!(file.draft().exists() && dir.path().exists() && other.draft().exists());
        file.commit().unwrap();
        assert!(is_there("x"));
    }
}
