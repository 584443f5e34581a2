//! A chart's folder as it is at a revision of its git repository.
//!
//! `git` is run without a shell, and reads objects alone: no checkout, no filters, no hooks. What it prints is bounded, and
//! the files stay in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::child_process::{ProcessOutput, RunLimits, run_with};
use super::context::Context;
use super::git_tree::{Blob, Tree, TreeEntry, chart_files, parse};
use crate::chart::HELM_CHART_BYTES;
use crate::chart::folder::MAX_IGNORE_BYTES;
use crate::chart::ignore::Ignore;
use crate::chart::load::{self, Loaded};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::semver::{Constraint, Version};
use crate::values::dependencies::missing_charts;

/// How long one call of git may take: it may fetch objects of a partial clone.
const TIME: Duration = Duration::from_secs(120);
/// The most bytes that git may print of names.
const MAX_LISTING: u64 = 32 << 20;
/// The longest target of a link, in bytes.
const MAX_TARGET: u64 = 4096;
/// Variables that name another repository than that of the chart's folder, as git sets them for its hooks.
const OTHER_REPOSITORY: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
];

/// Loads the chart in a folder as it is at a revision, `None` if the revision does not have that folder. Of the
/// dependencies that the repository does not have, those of `current` are taken that fit.
///
/// # Errors
/// Class usage: no git, no repository, an unknown revision, a folder without a chart. Class chart: errors of the
/// chart.
pub(crate) fn chart_at(
    folder: &Path,
    revision: &str,
    current: &Loaded,
    context: &Context<'_>,
) -> Result<Option<Arc<Loaded>>> {
    let git = Git { folder, context };
    let prefix = git.prefix()?;
    let commit = git.commit(revision)?;
    let Some(tree) = git.tree(&commit, &prefix, revision)? else {
        return Ok(None);
    };
    let located = |problem: Diagnostics| -> Diagnostics {
        let note = format!("in {} at {revision}", folder.display());
        problem
            .into_vec()
            .into_iter()
            .map(|one| one.note(note.clone()))
            .collect()
    };
    let loaded = git.files(&tree).and_then(load::load_files).map_err(located)?;
    Ok(Some(with_dependencies(loaded, current, revision, context)))
}

struct Git<'g> {
    folder: &'g Path,
    context: &'g Context<'g>,
}

impl Git<'_> {
    fn run(&self, words: &[&str], stdin: Stdio, output: u64) -> Result<ProcessOutput> {
        let mut command = Command::new("git");
        for name in OTHER_REPOSITORY {
            command.env_remove(name);
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            .arg("-C")
            .arg(self.folder)
            .args(words);
        let limits = RunLimits { time: TIME, output };
        let is_cancelled = || self.context.signals.caught().is_some();
        run_with(&mut command, stdin, limits, self.context.world, &is_cancelled).map_err(|error| match error
            .kind()
        {
            std::io::ErrorKind::NotFound => Diagnostic::error(Class::Usage, "--against requires git")
                .note("there is no `git` on the PATH")
                .into(),
            _ => fsio::cannot("run", Path::new("git"), &error, Class::Io),
        })
    }

    /// What a call prints, or why it fails.
    fn ask(&self, words: &[&str]) -> Result<std::result::Result<String, String>> {
        let done = self.run(words, Stdio::null(), MAX_LISTING)?;
        Ok(match done.code {
            Some(0) => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
            _ => Err(reason(&done.stderr)),
        })
    }

    /// The chart's folder in the repository, with a slash at its end; empty for its root.
    fn prefix(&self) -> Result<String> {
        match self.ask(&["rev-parse", "--show-prefix"])? {
            Ok(prefix) => Ok(prefix.strip_suffix('\n').unwrap_or(&prefix).to_owned()),
            Err(said) => {
                let folder = self.folder.display();
                let message = match said.contains("not a git repository") {
                    true => format!("{folder} is not in a git repository"),
                    false => format!("git can't read the repository of {folder}"),
                };
                let one = Diagnostic::error(Class::Usage, message).note(format!("git: {said}"));
                Err(match said.contains("dubious ownership") {
                    true => {
                        one.hint("it is another user's: `git config --global --add safe.directory FOLDER`")
                    }
                    false => one,
                }
                .into())
            }
        }
    }

    fn commit(&self, revision: &str) -> Result<String> {
        let find = |revision: &str| {
            let commit = format!("{revision}^{{commit}}");
            self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
        };
        if let Ok(found) = find(revision)? {
            return Ok(found.trim().to_owned());
        }
        let message = format!(
            "there is no revision {revision:?} in the repository of {}",
            self.folder.display()
        );
        let one = Diagnostic::error(Class::Usage, message);
        let remote = format!("origin/{revision}");
        if find(&remote)?.is_ok() {
            return Err(one.hint(format!("did you mean `{remote}`?")).into());
        }
        // What `git fetch` takes: a name at the remote, and nothing that counts commits.
        let hint = match revision.contains(['~', '^', '@']) {
            true => {
                "fetch all commits first: `git fetch --unshallow`; or clone with `fetch-depth: 0`".to_owned()
            }
            false => format!(
                "fetch it first: `git fetch --depth 1 origin {}`, then `--against FETCH_HEAD`; or clone with `fetch-depth: 0`",
                revision.strip_prefix("origin/").unwrap_or(revision)
            ),
        };
        let is_shallow = self.ask(&["rev-parse", "--is-shallow-repository"])?;
        Err(match is_shallow.is_ok_and(|said| said.trim() == "true") {
            true => one
                .note("the clone is shallow: it has the newest commits alone")
                .hint(hint),
            false => one.hint("`git branch --all` and `git tag` list names"),
        }
        .into())
    }

    /// The tree of the chart's folder; `None` if the commit does not have the folder.
    fn tree(&self, commit: &str, prefix: &str, revision: &str) -> Result<Option<Tree>> {
        let path = prefix.trim_end_matches('/');
        // Of a folder that is not there this prints nothing, where the tree's own name below would only fail.
        let exists = path.is_empty() || !self.list(&["--name-only", commit, "--", path])?.is_empty();
        if !exists {
            return Ok(None);
        }
        let listing = parse(&self.list(&["-r", "-l", &format!("{commit}:{path}")])?)?;
        if listing.contains_key("Chart.yaml") {
            return Ok(Some(listing));
        }
        let path = match path {
            "" => "the repository's root",
            path => path,
        };
        let message = format!("{path} is no chart at {revision}: it has no Chart.yaml");
        Err(Diagnostic::error(Class::Usage, message)
            .hint("a chart that was moved is compared as two folders: `git worktree add ../old REV`")
            .into())
    }

    /// What `git ls-tree` prints.
    fn list(&self, words: &[&str]) -> Result<Vec<u8>> {
        let words = [&["--literal-pathspecs", "ls-tree", "-z", "--full-tree"], words].concat();
        let done = self.run(&words, Stdio::null(), MAX_LISTING)?;
        match done.code {
            Some(0) => Ok(done.stdout),
            _ => {
                let message = format!("git can't list {}", self.folder.display());
                let one = Diagnostic::error(Class::Io, message);
                Err(one.note(format!("git: {}", reason(&done.stderr))).into())
            }
        }
    }

    /// The files of the chart, with what they hold.
    fn files(&self, tree: &Tree) -> Result<Vec<(String, Vec<u8>)>> {
        let links = tree.values().filter_map(|entry| match entry {
            TreeEntry::Link(blob) if blob.size <= MAX_TARGET => Some(blob),
            _ => None,
        });
        let ignore = match tree.get(".helmignore") {
            Some(TreeEntry::File(blob)) if blob.size <= MAX_IGNORE_BYTES as u64 => Some(blob),
            _ => None,
        };
        let first = self.contents(&links.chain(ignore).collect::<Vec<_>>())?;
        let text = |id: &String| {
            first
                .get(id)
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let targets = first
            .keys()
            .filter_map(|id| Some((id.clone(), text(id)?)))
            .collect();
        let ignore = match ignore.and_then(|blob| first.get(&blob.id)) {
            Some(bytes) => Ignore::parse(&fsio::text_of(".helmignore", bytes.clone(), Class::Chart)?)?,
            None => Ignore::default(),
        };
        let files = chart_files(tree, &targets, &ignore)?;
        let total: u64 = files.iter().map(|(_, blob)| blob.size).sum();
        if total > HELM_CHART_BYTES {
            let message = format!(
                "the chart holds more than {}, which is all that Helm loads",
                fsio::size(HELM_CHART_BYTES)
            );
            return Err(Diagnostic::error(Class::Chart, message).into());
        }
        let contents = self.contents(&files.iter().map(|(_, blob)| blob).collect::<Vec<_>>())?;
        let mut files: Vec<(String, Vec<u8>)> = files
            .into_iter()
            .map(|(path, blob)| {
                let bytes = contents.get(&blob.id).cloned();
                (path, bytes.unwrap_or_default())
            })
            .collect();
        // As a folder is loaded: by the elements of paths.
        files.sort_by(|(a, _), (b, _)| a.split('/').cmp(b.split('/')));
        Ok(files)
    }

    /// What objects hold, each once.
    fn contents(&self, blobs: &[&Blob]) -> Result<BTreeMap<String, Vec<u8>>> {
        let sizes: BTreeMap<&str, u64> = blobs.iter().map(|blob| (blob.id.as_str(), blob.size)).collect();
        if sizes.is_empty() {
            return Ok(BTreeMap::new());
        }
        let ids: BTreeSet<&str> = sizes.keys().copied().collect();
        let write = || -> std::io::Result<std::fs::File> {
            let mut file = tempfile::tempfile()?;
            for id in &ids {
                writeln!(file, "{id}")?;
            }
            file.rewind()?;
            Ok(file)
        };
        let input = write()
            .map_err(|error| fsio::cannot("write", Path::new("a temporary file"), &error, Class::Io))?;
        // Each object has a line before it, and a line break behind it.
        let room = sizes.values().sum::<u64>() + sizes.len() as u64 * 200;
        let done = self.run(&["cat-file", "--batch"], Stdio::from(input), room)?;
        let found = objects(&done.stdout);
        match ids.iter().find(|id| !found.contains_key(**id)) {
            None => Ok(found),
            Some(missing) => {
                let message = format!("git does not have the object {missing}");
                let said = reason(&done.stderr);
                let one = Diagnostic::error(Class::Io, message).note(format!("git: {said}"));
                Err(one
                    .hint("a partial clone fetches it from its remote: is that reachable?")
                    .into())
            }
        }
    }
}

/// What `git cat-file --batch` prints: `ID blob SIZE`, the content, a line break.
fn objects(mut printed: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::new();
    while let Some(end) = memchr::memchr(b'\n', printed) {
        let head = String::from_utf8_lossy(printed.get(..end).unwrap_or_default()).into_owned();
        printed = printed.get(end + 1..).unwrap_or_default();
        let words: Vec<&str> = head.split(' ').collect();
        let [id, "blob", size] = words.as_slice() else {
            continue;
        };
        let size = size.parse().unwrap_or(usize::MAX);
        let Some(content) = printed.get(..size) else { break };
        out.insert((*id).to_owned(), content.to_vec());
        printed = printed.get(size + 1..).unwrap_or_default();
    }
    out
}

/// Why git failed: the line that says so, else the last.
fn reason(messages: &str) -> String {
    let fatal = messages.lines().find_map(|line| line.strip_prefix("fatal: "));
    let last = || messages.lines().rev().find(|line| !line.trim().is_empty());
    fatal.or_else(last).unwrap_or("it says nothing").trim().to_owned()
}

/// `charts/` is often left out of a repository: what is missing there is taken from the folder, if the version fits.
fn with_dependencies(
    loaded: Arc<Loaded>,
    current: &Loaded,
    revision: &str,
    context: &Context<'_>,
) -> Arc<Loaded> {
    let missing: BTreeSet<String> = missing_charts(&loaded).into_iter().map(str::to_owned).collect();
    let fits = |chart: &Loaded| {
        let declared = loaded.details.dependencies().iter();
        let mut declared = declared.filter(|wanted| wanted.name == chart.name());
        let version = Version::parse(&chart.details.version);
        declared.all(|wanted| match (Constraint::parse(&wanted.version), &version) {
            (Ok(range), Ok(version)) => range.check(version),
            _ => false,
        })
    };
    let found = current.dependencies.iter();
    let found = found.filter(|chart| missing.contains(chart.name()) && fits(chart));
    let found: Vec<Arc<Loaded>> = found.cloned().collect();
    if found.is_empty() {
        return loaded;
    }
    let names: Vec<&str> = found.iter().map(|chart| chart.name()).collect();
    let message = format!(
        "{} at {revision} is not in git: that of the folder is taken",
        names.join(", ")
    );
    context.printer.warn(&Diagnostic::warning(Class::Chart, message));
    let mut whole = Loaded::clone(&loaded);
    whole.dependencies.extend(found);
    whole
        .dependencies
        .sort_by(|one, other| one.name().cmp(other.name()));
    Arc::new(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_prints_of_objects_is_bytes() {
        let printed = b"aa blob 3\n\n\xff\n\nbb missing\ncc blob 0\n\ndd blob 99\nshort\n";
        let found = objects(printed);
        assert_eq!(found.get("aa").map(Vec::as_slice), Some(b"\n\xff\n".as_slice()));
        assert_eq!(found.get("cc").map(Vec::as_slice), Some(b"".as_slice()));
        assert_eq!(found.len(), 2);
    }
}
