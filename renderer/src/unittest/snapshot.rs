//! Snapshot files: `__snapshot__/NAME_test.yaml.snap` beside the suite, in helm-unittest's form.
//!
//! A file is a map from the tests' names to maps from numbers, from 1, to texts. It is written as go-yaml v3 writes it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};

use super::data::written_tree;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::source::Location;
use crate::yaml::{self, Kind, Node, Tree, Writer};

/// The maximum size of a file, in bytes.
pub const MAX_SNAPSHOT_BYTES: usize = yaml::Limits::BYTES;
/// The folder of snapshot files, beside their suites.
pub const SNAPSHOT_FOLDER: &str = "__snapshot__";

/// The snapshots of a file, by the test's name and the number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Snapshots(BTreeMap<String, BTreeMap<u32, String>>);

impl Snapshots {
    /// Reads a file; one that does not exist has none.
    ///
    /// # Errors
    /// Class chart: it is no snapshot file. Class io.
    pub(super) fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let source = fsio::read_text(path, MAX_SNAPSHOT_BYTES, Class::Chart)?;
        let node = yaml::parse(&source, Class::Chart, &yaml::Limits::default())?;
        let mut all = Self::default();
        let is_map = |node: &Node| matches!(node.kind, Kind::Null | Kind::Map(_));
        let maps = std::iter::once(&node).chain(node.entries().iter().map(|entry| &entry.value));
        if let Some(other) = maps.into_iter().find(|node| !is_map(node)) {
            let message = format!(
                "{} is no snapshot file: a snapshot file is a map of tests",
                path.display()
            );
            let at = Location::new(&source, other.span);
            let one = Diagnostic::error(Class::Chart, message).at(at);
            return Err(one.hint("move the file away and run the tests again").into());
        }
        for entry in node.entries() {
            for below in entry.value.entries() {
                let (Ok(number), Some(text)) = (below.key.parse(), below.value.as_str()) else {
                    let message = "a snapshot is a text with a number";
                    let at = Location::new(&source, below.key_span);
                    let one = Diagnostic::error(Class::Chart, message).at(at);
                    return Err(one.hint("remove the file and run the tests again").into());
                };
                all.insert(&entry.key, number, text.to_owned());
            }
        }
        Ok(all)
    }

    pub(super) fn insert(&mut self, test: &str, number: u32, text: String) {
        self.0.entry(test.to_owned()).or_default().insert(number, text);
    }

    pub(super) fn get(&self, test: &str, number: u32) -> Option<&str> {
        self.0.get(test)?.get(&number).map(String::as_str)
    }

    /// Takes over what another one has of a test.
    pub(super) fn keep(&mut self, test: &str, of: &Self) {
        for (number, text) in of.0.get(test).into_iter().flatten() {
            let own = self.0.entry(test.to_owned()).or_default();
            own.entry(*number).or_insert_with(|| text.clone());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn tests(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// How many there are that another one does not have.
    pub(super) fn without(&self, other: &Self) -> usize {
        let all = self.0.iter();
        let all = all.flat_map(|(test, numbers)| numbers.keys().map(move |number| (test, *number)));
        all.filter(|(test, number)| other.get(test, *number).is_none())
            .count()
    }

    /// The file's text.
    pub(super) fn text(&self) -> String {
        written_tree(&FileTree(self))
    }

    /// Writes the file, and its folder if it is missing.
    ///
    /// # Errors
    /// Class io.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let cannot = |error: std::io::Error| fsio::cannot("write", path, &error, Class::Io);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(cannot)?;
        }
        fsio::write_atomically(path, self.text().as_bytes()).map_err(cannot)
    }
}

struct FileTree<'s>(&'s Snapshots);

impl Tree for FileTree<'_> {
    type Error = Infallible;

    fn write(&self, out: &mut Writer) -> std::result::Result<(), Infallible> {
        let tests = self.0.0.iter();
        out.map(tests.map(|(test, numbers)| (test.as_str(), TestTree(numbers))))
    }
}

#[derive(Clone, Copy)]
struct TestTree<'s>(&'s BTreeMap<u32, String>);

impl Tree for TestTree<'_> {
    type Error = Infallible;

    fn write(&self, out: &mut Writer) -> std::result::Result<(), Infallible> {
        out.numbered(self.0.iter().map(|(number, text)| (*number, SnapshotText(text))))
    }
}

struct SnapshotText<'s>(&'s str);

impl Tree for SnapshotText<'_> {
    type Error = Infallible;

    fn write(&self, out: &mut Writer) -> std::result::Result<(), Infallible> {
        out.text(self.0);
        Ok(())
    }
}

/// The file of a suite's snapshots.
pub(super) fn snapshot_path(suite_file: &Path, id: &str) -> PathBuf {
    let name = suite_file.file_name().unwrap_or_default().to_string_lossy();
    let suffix = match id.is_empty() {
        true => String::new(),
        false => format!("_{id}"),
    };
    let folder = suite_file.parent().unwrap_or(Path::new(""));
    folder.join(SNAPSHOT_FOLDER).join(format!("{name}{suffix}.snap"))
}

/// Refuses a snapshot file, or its folder, that is a link to outside of the chart: running a chart's tests writes nothing
/// there.
///
/// # Errors
/// Class chart.
pub(super) fn check_links(path: &Path, chart: &Path) -> Result<()> {
    for link in path
        .parent()
        .into_iter()
        .chain([path])
        .filter(|path| path.is_symlink())
    {
        let ends = std::fs::canonicalize(link)
            .ok()
            .zip(std::fs::canonicalize(chart).ok());
        if ends.is_none_or(|(target, chart)| !target.starts_with(chart)) {
            let message = format!("{} is a link to outside of the chart", link.display());
            let one = Diagnostic::error(Class::Chart, message);
            return Err(one
                .hint("snapshots are kept beside their suites: remove the link")
                .into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_as_helm_unittest_writes_it() {
        let mut all = Snapshots::default();
        all.insert("q: 'x' # y", 1, "'''x'''\n".to_owned());
        all.insert("", 1, "kind: A\ntext: \"a  \\n\"\n".to_owned());
        for number in [10, 9, 1] {
            all.insert("many", number, format!("{number}\n"));
        }
        let expected = "\"\":\n  1: |\n    kind: A\n    text: \"a  \\n\"\nmany:\n  1: |\n    1\n  9: |\n    9\n  10: |\n    10\n'q: ''x'' # y':\n  1: |\n    '''x'''\n";
        assert_eq!(all.text(), expected);
        let folder = tempfile::tempdir().unwrap();
        let path = snapshot_path(&folder.path().join("a_test.yaml"), "0");
        assert!(path.ends_with("__snapshot__/a_test.yaml_0.snap"));
        assert_eq!(Snapshots::read(&path).unwrap(), Snapshots::default());
        all.write(&path).unwrap();
        assert_eq!(Snapshots::read(&path).unwrap(), all);
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.snap");
        std::fs::write(&path, "a: {b: c}\n").unwrap();
        let problem = Snapshots::read(&path).unwrap_err();
        assert!(problem.to_string().contains("a snapshot is a text"), "{problem}");
        for other in ["a text", "[1]", "a: 1", "a: [x]"] {
            std::fs::write(&path, other).unwrap();
            let problem = Snapshots::read(&path).unwrap_err();
            assert!(problem.to_string().contains("a map of tests"), "{problem}");
        }
        for none in ["", "null", "{}", "a:\n"] {
            std::fs::write(&path, none).unwrap();
            assert!(Snapshots::read(&path).unwrap().is_empty(), "{none}");
        }
    }
}
