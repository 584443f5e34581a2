//! A folder of a git repository's tree as the files of a chart: what `.helmignore` leaves out is left out, links inside it
//! are followed, and those that leave it are refused, as on disk. Pure: `git_revision` runs git.

use std::collections::BTreeMap;

use crate::chart::folder::is_left_out;
use crate::chart::ignore::Ignore;
use crate::chart::{MAX_CHART_DEPTH, MAX_CHART_FILES};
use crate::diag::{Class, Diagnostic, Result};

/// The mode of a link, and of a submodule.
const LINK: &str = "120000";
const SUBMODULE: &str = "160000";
/// The most links on the way to a file.
const MAX_LINKS: usize = 40;

/// What a tree has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TreeEntry {
    /// A file.
    File(Blob),
    /// A link; its content is its target.
    Link(Blob),
    /// Another repository.
    Submodule,
}

/// A content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blob {
    /// The name of its object.
    pub(crate) id: String,
    pub(crate) size: u64,
}

/// The entries of a tree, by path.
pub(crate) type Tree = BTreeMap<String, TreeEntry>;

/// Parses what `git ls-tree -r -z -l` prints.
///
/// # Errors
/// Class chart: a path that no chart can have.
pub(crate) fn parse(listing: &[u8]) -> Result<Tree> {
    let mut tree = Tree::new();
    for line in listing.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let line = String::from_utf8_lossy(line);
        let Some((head, path)) = line.split_once('\t') else {
            let message = format!("git lists {line:?}, which can't be read");
            return Err(Diagnostic::error(Class::Chart, message).into());
        };
        check_path(path)?;
        let mut words = head.split_ascii_whitespace();
        let mode = words.next().unwrap_or_default();
        let id = words.nth(1).unwrap_or_default().to_owned();
        let size = words.next().and_then(|size| size.parse().ok()).unwrap_or(0);
        let entry = match mode {
            LINK => TreeEntry::Link(Blob { id, size }),
            SUBMODULE => TreeEntry::Submodule,
            _ => TreeEntry::File(Blob { id, size }),
        };
        tree.insert(path.to_owned(), entry);
        if tree.len() > MAX_CHART_FILES {
            let message = format!("the folder has more than {MAX_CHART_FILES} files");
            return Err(Diagnostic::error(Class::Chart, message).into());
        }
    }
    Ok(tree)
}

/// Git's trees may have names that no checkout would make.
fn check_path(path: &str) -> Result<()> {
    let problem = if path.contains('\u{fffd}') {
        "is not UTF-8"
    } else if path.contains('\\') || path.chars().any(char::is_control) {
        "has a backslash or a control character, which Helm refuses"
    } else if path.split('/').any(|name| matches!(name, "" | "." | "..")) {
        "leaves the chart"
    } else if path.split('/').count() > MAX_CHART_DEPTH {
        "is in too many folders"
    } else {
        return Ok(());
    };
    Err(Diagnostic::error(Class::Chart, format!("the name {path:?} in git {problem}")).into())
}

/// The files of a chart: their paths, and what they hold. `targets` are the contents of links.
///
/// # Errors
/// Class chart: a link that leaves the folder, leads nowhere or in a circle; a submodule.
pub(crate) fn chart_files(
    tree: &Tree,
    targets: &BTreeMap<String, String>,
    ignore: &Ignore,
) -> Result<Vec<(String, Blob)>> {
    let mut files = ChartFiles {
        tree,
        targets,
        ignore,
        found: Vec::new(),
        visited: 0,
    };
    files.folder("", "", &mut Vec::new())?;
    Ok(files.found)
}

struct ChartFiles<'t> {
    tree: &'t Tree,
    targets: &'t BTreeMap<String, String>,
    ignore: &'t Ignore,
    found: Vec<(String, Blob)>,
    /// How many entries were visited, again through links.
    visited: usize,
}

impl ChartFiles<'_> {
    /// Adds what is in the folder `from` (empty, or with a slash at its end) below the path `to`. `above` are the links
    /// that lead there.
    fn folder(&mut self, from: &str, to: &str, above: &mut Vec<String>) -> Result<()> {
        let below = self.tree.range(from.to_owned()..);
        let below = below.take_while(|(path, _)| path.starts_with(from));
        for (real, entry) in below {
            let path = [to, real.get(from.len()..).unwrap_or_default()].concat();
            self.visited += 1;
            if self.visited > MAX_CHART_FILES {
                return Err(refused(
                    &path,
                    "is one file too many: links make more of them than a chart may have",
                )
                .into());
            }
            if self.is_left_out(&path) {
                continue;
            }
            match entry {
                TreeEntry::File(blob) => self.found.push((path, blob.clone())),
                TreeEntry::Submodule => {
                    let one = refused(&path, "is a submodule: its files are in another repository");
                    return Err(one.hint("compare two folders that are checked out").into());
                }
                TreeEntry::Link(blob) => self.link(real, &path, blob, above)?,
            }
        }
        Ok(())
    }

    /// Adds what a link leads to: `real` is where it is, `path` how it was reached.
    fn link(&mut self, real: &str, path: &str, blob: &Blob, above: &mut Vec<String>) -> Result<()> {
        let target = self.targets.get(&blob.id).map_or("", String::as_str);
        let Some(found) = self.resolve(real, target) else {
            let one = refused(path, "is a link that leaves the chart, or leads nowhere");
            return Err(one.note(format!("it leads to {target}")).into());
        };
        if let Some(TreeEntry::File(blob)) = self.tree.get(&found) {
            self.found.push((path.to_owned(), blob.clone()));
            return Ok(());
        }
        let inside = if found.is_empty() {
            found
        } else {
            format!("{found}/")
        };
        above.push(real.to_owned());
        if above.len() > MAX_LINKS || above.iter().any(|link| link.starts_with(&inside)) {
            return Err(refused(path, "is a link to a folder that holds it").into());
        }
        self.folder(&inside, &format!("{path}/"), above)?;
        above.pop();
        Ok(())
    }

    /// Whether Helm ignores the file, or a folder it is in.
    fn is_left_out(&self, path: &str) -> bool {
        let folders = path.match_indices('/').filter_map(|(slash, _)| path.get(..slash));
        let mut folders = folders.map(|folder| (folder, true)).chain([(path, false)]);
        folders.any(|(path, is_folder)| self.ignore.ignores(path, is_folder) || is_left_out(path))
    }

    /// The file or folder that a link leads to, through other links; `None` if it is outside the chart, or does not exist.
    fn resolve(&self, link: &str, target: &str) -> Option<String> {
        let parent = link.rsplit_once('/').map_or("", |(parent, _)| parent);
        let mut left: Vec<String> = steps(target)?;
        let mut at: Vec<String> = parent
            .split('/')
            .filter(|step| !step.is_empty())
            .map(str::to_owned)
            .collect();
        let mut links = 0;
        left.reverse();
        while let Some(step) = left.pop() {
            if step == ".." {
                at.pop()?;
                continue;
            }
            at.push(step);
            if let Some(TreeEntry::Link(blob)) = self.tree.get(&at.join("/")) {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                at.pop();
                left.extend(steps(self.targets.get(&blob.id)?)?.into_iter().rev());
            }
        }
        let path = at.join("/");
        let inside = format!("{path}/");
        let mut below = self.tree.range(inside.clone()..);
        let is_folder = path.is_empty() || below.next().is_some_and(|(path, _)| path.starts_with(&inside));
        (is_folder || matches!(self.tree.get(&path), Some(TreeEntry::File(_)))).then_some(path)
    }
}

fn refused(path: &str, problem: &str) -> Diagnostic {
    Diagnostic::error(Class::Chart, format!("{path} {problem}"))
}

/// The steps of a relative path.
fn steps(path: &str) -> Option<Vec<String>> {
    let steps = path.split('/').filter(|step| !matches!(*step, "" | "."));
    (!path.starts_with('/') && !path.is_empty()).then(|| steps.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, &str)]) -> (Tree, BTreeMap<String, String>) {
        let (mut tree, mut targets) = (Tree::new(), BTreeMap::new());
        for (path, target) in entries {
            let blob = Blob {
                id: format!("id of {path}"),
                size: 1,
            };
            let entry = match *target {
                "" => TreeEntry::File(blob),
                "submodule" => TreeEntry::Submodule,
                target => {
                    targets.insert(blob.id.clone(), target.to_owned());
                    TreeEntry::Link(blob)
                }
            };
            tree.insert((*path).to_owned(), entry);
        }
        (tree, targets)
    }

    fn found(entries: &[(&str, &str)]) -> String {
        let (tree, targets) = tree(entries);
        let ignore = Ignore::parse(&crate::source::Source::new(".helmignore", "*.md\nnot/\n")).unwrap();
        match chart_files(&tree, &targets, &ignore) {
            Ok(files) => files
                .into_iter()
                .map(|(path, blob)| format!("{path}={} ", blob.id.replace("id of ", "")))
                .collect(),
            Err(problem) => problem.to_string(),
        }
    }

    #[test]
    fn links_inside_the_folder_are_followed_and_others_refused() {
        assert_eq!(found(&[("a", ""), ("b", "a"), ("c/d", "../a")]), "a=a b=a c/d=a ");
        assert_eq!(
            found(&[("f/a", ""), ("f/g/b", ""), ("l", "f"), ("m", "./l/../f/g/")]),
            "f/a=f/a f/g/b=f/g/b l/a=f/a l/g/b=f/g/b m/b=f/g/b "
        );
        assert_eq!(
            found(&[("f/a", ""), ("f/g/x", "../a"), ("l", "f/g")]),
            "f/a=f/a f/g/x=f/a l/x=f/a "
        );
        for outside in ["../a", "/etc/passwd", "f/../../a", "none"] {
            let problem = found(&[("a", ""), ("f/x", ""), ("l", outside)]);
            assert!(
                problem.contains("l is a link that leaves the chart"),
                "{outside}: {problem}"
            );
        }
        for (links, name) in [
            (vec![("a", "b"), ("b", "a")], "a is a link"),
            (vec![("f/l", "..")], "f/l is a link to a folder that holds it"),
            (
                vec![("f/l", "."), ("f/x", "")],
                "f/l is a link to a folder that holds it",
            ),
            (
                vec![("a/x", "../b"), ("b/y", "../a")],
                "is a link to a folder that holds it",
            ),
            (vec![("s", "submodule")], "s is a submodule"),
        ] {
            let problem = found(&links);
            assert!(problem.contains(name), "{links:?}: {problem}");
        }
    }

    #[test]
    fn what_helm_ignores_is_left_out_whatever_it_is() {
        let entries = [
            ("README.md", "/etc/passwd"),
            ("a", ""),
            ("charts/_b/x", ""),
            ("charts/.c", ""),
            ("charts/d/_x", ""),
            ("not/x", "submodule"),
            ("templates/.x", ""),
        ];
        assert_eq!(found(&entries), "a=a charts/d/_x=charts/d/_x ");
    }

    #[test]
    fn hostile_names_are_refused() {
        let listed = |path: &str| parse(format!("100644 blob abc 1\t{path}\0").as_bytes());
        let tree = listed("templates/a.yaml").unwrap();
        let blob = Blob {
            id: "abc".to_owned(),
            size: 1,
        };
        assert_eq!(tree.get("templates/a.yaml"), Some(&TreeEntry::File(blob)));
        for path in [
            "../a",
            "a/../b",
            "a//b",
            "./a",
            "/a",
            "a\\b",
            "a\nb",
            "\u{fffd}",
            &"a/".repeat(70),
        ] {
            assert!(listed(path).is_err(), "{path:?}");
        }
        assert!(parse(b"nonsense\0").is_err());
    }

    #[test]
    fn a_tree_with_too_many_files_is_refused() {
        let lines = (0..=MAX_CHART_FILES).map(|number| format!("100644 blob abc 1\ta{number}\0"));
        let problem = parse(lines.collect::<String>().as_bytes()).unwrap_err();
        assert!(problem.to_string().contains("more than 50000 files"), "{problem}");
        // Two to the power of forty ways to nothing.
        let mut ways: Vec<(String, String)> = Vec::new();
        for level in 0..39 {
            for name in ["a", "b"] {
                ways.push((format!("d{level}/{name}"), format!("../d{}", level + 1)));
            }
        }
        ways.push(("d39/x".to_owned(), String::new()));
        let ways: Vec<(&str, &str)> = ways.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert!(found(&ways).contains("is one file too many"));
        let mut entries: Vec<(String, String)> =
            (0..1_000).map(|n| (format!("f/{n}"), String::new())).collect();
        entries.extend((0..60).map(|n| (format!("l{n}"), "f".to_owned())));
        let entries: Vec<(&str, &str)> = entries.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert!(found(&entries).contains("is one file too many"));
    }
}
