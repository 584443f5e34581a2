//! `--watch`: does its work again whenever one of the files changes, until Ctrl-C.
//!
//! Files are polled: what changed is found the same way on network and container file systems, for editors that write by
//! rename, for folders that come and go and for links, of which a system's notifications miss some each. A scan asks for
//! each file's time and size and opens none; it takes at most a twentieth of a processor.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::context::{CommandOutcome, CommandResult, Context};
use super::printer::write_stdout;
use super::signals::verb;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;

/// How long a scan is the last one.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How many times as long as a scan takes it is the last one, at least.
const SCAN_SHARE: u32 = 20;
/// How long files must be as they are after a change: programs write several, or one in parts.
const SETTLE_INTERVAL: Duration = Duration::from_millis(50);
/// How often that is waited for: a file that is written all the time does not stop the work.
const MAX_SETTLES: usize = 40;
/// The most files that are watched.
pub(crate) const MAX_WATCHED_FILES: usize = 100_000;
/// What is the same of a file that has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    modified: (i64, i64),
    length: u64,
    inode: u64,
}

/// The files below some paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Stamps(BTreeMap<PathBuf, FileStamp>);

/// What one round did.
pub(crate) struct Round {
    /// What is printed.
    pub(crate) text: String,
    /// A line about what changed, on standard error.
    pub(crate) notice: Option<String>,
    /// Further files and folders to watch, besides those that were given.
    pub(crate) files: Vec<PathBuf>,
}

/// What is watched, and which files below it the work itself writes.
pub(crate) struct Watched<'w> {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) is_written: &'w dyn Fn(&Path) -> bool,
}

/// Does the work, and again whenever a file has changed. Ctrl-C, and a reader who leaves, are the ends that it has: they
/// are no failure.
pub(crate) fn watch(
    watched: &Watched<'_>,
    context: &Context<'_>,
    work: &mut dyn FnMut() -> Round,
) -> CommandResult {
    context.signals.take_over();
    match rounds(watched, context, work) {
        Ok(()) => CommandResult::Document {
            json: String::new(),
            text: String::new(),
        },
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

fn rounds(watched: &Watched<'_>, context: &Context<'_>, work: &mut dyn FnMut() -> Round) -> Result<()> {
    let mut more = Vec::new();
    loop {
        // Before the work, so that no change during it is lost.
        let before = Stamps::of(watched.paths.iter().chain(&more))?;
        let Round { text, notice, files } = work();
        if ended(context)? {
            return Ok(());
        }
        // What is watched from now on is as the work has just read it: asked for before anything is printed, on which
        // somebody may change a file.
        let fresh: Vec<PathBuf> = files
            .iter()
            .filter(|path| !more.contains(path))
            .cloned()
            .collect();
        let is_of_work =
            |path: &Path| (watched.is_written)(path) || fresh.iter().any(|one| path.starts_with(one));
        more = files;
        let paths = || watched.paths.iter().chain(&more);
        let known = before.with(Stamps::of(paths())?, &is_of_work);
        match write_stdout(&text) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written
                .map_err(|error| fsio::cannot("write to", Path::new("standard output"), &error, Class::Io))?,
        }
        if let Some(notice) = notice {
            context.printer.notice(&notice);
        }
        if context.printer.shows_progress() {
            let count = known.0.len();
            context
                .printer
                .notice(&format!("watching {count} files, Ctrl-C ends"));
        }
        if !changed(&known, &mut || Stamps::of(paths()), context)? {
            return Ok(());
        }
    }
}

/// Waits until files have changed, and no longer change; false if a signal came before.
fn changed(known: &Stamps, scan: &mut dyn FnMut() -> Result<Stamps>, context: &Context<'_>) -> Result<bool> {
    let mut pause = POLL_INTERVAL;
    loop {
        std::thread::sleep(pause);
        if ended(context)? {
            return Ok(false);
        }
        let begin = Instant::now();
        let mut now = scan()?;
        pause = POLL_INTERVAL.max(begin.elapsed() * SCAN_SHARE);
        if now == *known {
            continue;
        }
        for _ in 0..MAX_SETTLES {
            std::thread::sleep(SETTLE_INTERVAL);
            let next = scan()?;
            if next == now {
                break;
            }
            now = next;
        }
        return Ok(true);
    }
}

/// Whether Ctrl-C ended it.
///
/// # Errors
/// Class terminated: another signal did.
fn ended(context: &Context<'_>) -> Result<bool> {
    match context.signals.caught() {
        None => Ok(false),
        Some(Class::Interrupted) => Ok(true),
        Some(class) => Err(Diagnostic::error(class, format!("{} by a signal", verb(class))).into()),
    }
}

impl Stamps {
    /// Paths that do not exist have none: they may come.
    ///
    /// # Errors
    /// Class usage: there are too many files.
    fn of<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Result<Self> {
        let (mut all, mut seen) = (Self::default(), BTreeSet::new());
        let paths: BTreeSet<&PathBuf> = paths.collect();
        for path in paths {
            all.add(path, &mut seen)?;
        }
        Ok(all)
    }

    /// Adds a file, or those of a folder that was not `seen`: by device and inode, since links may be cyclic.
    fn add(&mut self, path: &Path, seen: &mut BTreeSet<(u64, u64)>) -> Result<()> {
        let Ok(found) = fs::metadata(path) else {
            return Ok(());
        };
        if found.is_dir() {
            let is_new = seen.insert((found.dev(), found.ino()));
            let entries = fs::read_dir(path).ok().filter(|_| is_new);
            let mut entries: Vec<_> = entries
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.file_name())
                .collect();
            // Which of several paths to a folder is the first one must not change from scan to scan.
            entries.sort();
            for name in entries {
                if !is_ignored(&name.to_string_lossy()) {
                    self.add(&path.join(name), seen)?;
                }
            }
            return Ok(());
        }
        let stamp = FileStamp {
            modified: (found.mtime(), found.mtime_nsec()),
            length: found.len(),
            inode: found.ino(),
        };
        self.0.insert(path.to_owned(), stamp);
        if self.0.len() > MAX_WATCHED_FILES {
            let message = format!("--watch: there are more than {MAX_WATCHED_FILES} files to watch");
            let one = Diagnostic::error(Class::Usage, message);
            return Err(one.hint("name the chart's folder, not one above it").into());
        }
        Ok(())
    }

    /// These, but of some files those of `after`.
    fn with(mut self, after: Self, is_of_after: &dyn Fn(&Path) -> bool) -> Self {
        self.0.retain(|path, _| !is_of_after(path));
        self.0
            .extend(after.0.into_iter().filter(|(path, _)| is_of_after(path)));
        self
    }
}

/// What git and editors keep beside files.
fn is_ignored(name: &str) -> bool {
    const ENDS: [&str; 4] = ["~", ".swp", ".swx", ".swo"];
    name == ".git" || name == "4913" || name.starts_with(".#") || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(path: &Path) -> Stamps {
        Stamps::of([path.to_owned()].iter()).unwrap()
    }

    #[test]
    fn files_that_come_change_or_go_are_changes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let mut known = scan(folder.path());
        let mut is_changed = || {
            let now = scan(folder.path());
            std::mem::replace(&mut known, now.clone()) != now
        };
        assert!(!is_changed());
        fs::create_dir_all(at("templates/deep")).unwrap();
        assert!(!is_changed(), "a folder without files");
        fs::write(at("templates/deep/a.yaml"), "a").unwrap();
        assert!(is_changed());
        fs::write(at("templates/deep/a.yaml"), "ab").unwrap();
        assert!(is_changed());
        // As editors write: another file gets the name.
        fs::write(at("new"), "cd").unwrap();
        assert!(is_changed());
        fs::rename(at("new"), at("templates/deep/a.yaml")).unwrap();
        assert!(is_changed());
        fs::rename(at("templates"), at("moved")).unwrap();
        assert!(is_changed());
        fs::remove_dir_all(at("moved")).unwrap();
        assert!(is_changed());
        for ignored in [".a.yaml.swp", "a.yaml~", "4913", ".#a.yaml"] {
            fs::write(at(ignored), "x").unwrap();
        }
        fs::create_dir(at(".git")).unwrap();
        fs::write(at(".git/index"), "x").unwrap();
        assert!(!is_changed());
    }

    #[test]
    fn links_are_followed_and_may_be_cyclic() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir(at("real")).unwrap();
        fs::write(at("real/a"), "a").unwrap();
        std::os::unix::fs::symlink("real", at("link")).unwrap();
        let before = scan(&at("link"));
        assert_eq!(before.0.len(), 1);
        fs::write(at("real/a"), "ab").unwrap();
        assert_ne!(before, scan(&at("link")));
        std::os::unix::fs::symlink("..", at("real/up")).unwrap();
        assert_eq!(scan(&at("link")).0.len(), 1);
        assert_eq!(scan(folder.path()).0.len(), 1);
    }

    #[test]
    fn of_files_that_the_work_writes_the_later_state_counts() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for name in ["read", "written", "removed"] {
            fs::write(at(name), "1").unwrap();
        }
        let before = scan(folder.path());
        for name in ["read", "written"] {
            fs::write(at(name), "22").unwrap();
        }
        fs::remove_file(at("removed")).unwrap();
        let after = scan(folder.path());
        let known = before
            .clone()
            .with(after.clone(), &|path| !path.ends_with("read"));
        assert_ne!(known, after);
        assert_eq!(known.0.get(&at("read")), before.0.get(&at("read")));
        assert_eq!(known.0.get(&at("written")), after.0.get(&at("written")));
        assert_eq!(known.0.len(), 2);
    }
}
