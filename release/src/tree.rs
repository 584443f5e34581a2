//! The files of an image's layer, and the tar archive that they make.
//!
//! The archive depends on names, contents and modes alone: entries are sorted, times are zero, everything is root's.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use tar::{EntryType, Header};

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Folder { mode: u32 },
    File { content: Vec<u8>, mode: u32 },
    Link { to: String },
}

/// Files, folders and symbolic links by their paths, without the slash in front.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

impl Tree {
    /// Adds an empty folder, and those above it.
    pub fn add_folder(&mut self, at: &str, mode: u32) {
        let at = at.trim_matches('/');
        self.add_parents(at);
        self.entries.insert(at.to_owned(), Entry::Folder { mode });
    }

    /// Adds a file with this content.
    pub fn add_content(&mut self, at: &str, content: Vec<u8>, mode: u32) {
        let at = at.trim_matches('/');
        self.add_parents(at);
        self.entries.insert(at.to_owned(), Entry::File { content, mode });
    }

    /// Adds a file of the disk, which nobody may write to; it is executable when it is so on the disk.
    ///
    /// # Errors
    /// It can't be read.
    pub fn add_file(&mut self, at: &str, from: &Path) -> io::Result<()> {
        let content = fs::read(from).map_err(|error| with_path(&error, from))?;
        let mode = fs::metadata(from)?.permissions().mode() & 0o555;
        self.add_content(at, content, mode);
        Ok(())
    }

    /// Adds a symbolic link.
    pub fn add_link(&mut self, at: &str, to: &str) {
        let at = at.trim_matches('/');
        self.add_parents(at);
        self.entries
            .insert(at.to_owned(), Entry::Link { to: to.to_owned() });
    }

    /// Adds what is below a folder of the disk: files, folders and links.
    ///
    /// # Errors
    /// Something can't be read, or has a name that is not UTF-8.
    pub fn add_all(&mut self, folder: &Path) -> io::Result<()> {
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            let here = folder.join(&below);
            for entry in fs::read_dir(&here).map_err(|error| with_path(&error, &here))? {
                let entry = entry?;
                let path = below.join(entry.file_name());
                let at = path
                    .to_str()
                    .ok_or_else(|| io::Error::other(format!("{} is not UTF-8", path.display())))?;
                let kind = entry.file_type()?;
                if kind.is_symlink() {
                    let to = fs::read_link(entry.path())?;
                    let to = to
                        .to_str()
                        .ok_or_else(|| io::Error::other(format!("{at}: its target is not UTF-8")))?;
                    self.add_link(at, to);
                } else if kind.is_dir() {
                    self.add_folder(at, entry.metadata()?.permissions().mode() & 0o7777);
                    open.push(path);
                } else {
                    self.add_file(at, &entry.path())?;
                }
            }
        }
        Ok(())
    }

    fn add_parents(&mut self, at: &str) {
        let parents = Path::new(at).ancestors().skip(1);
        for parent in
            parents.filter(|parent| matches!(parent.components().next(), Some(Component::Normal(_))))
        {
            let parent = parent.to_string_lossy().into_owned();
            self.entries
                .entry(parent)
                .or_insert(Entry::Folder { mode: 0o755 });
        }
    }

    /// The archive.
    ///
    /// # Errors
    /// A name is too long for any tar format.
    pub fn to_tar(&self) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        for (at, entry) in &self.entries {
            let mut header = Header::new_gnu();
            header.set_uid(0);
            header.set_gid(0);
            header.set_mtime(0);
            header.set_size(0);
            match entry {
                Entry::Folder { mode } => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_mode(*mode);
                    archive.append_data(&mut header, format!("{at}/"), io::empty())?;
                }
                Entry::File { content, mode } => {
                    header.set_entry_type(EntryType::Regular);
                    header.set_mode(*mode);
                    header.set_size(content.len() as u64);
                    archive.append_data(&mut header, at, content.as_slice())?;
                }
                Entry::Link { to } => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_mode(0o777);
                    archive.append_link(&mut header, at, to)?;
                }
            }
        }
        archive.into_inner()
    }
}

/// The error with the path that it is about.
pub(crate) fn with_path(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names with type, mode, owner, time and content or target.
    fn listed(tree: &Tree) -> Vec<String> {
        use std::io::Read as _;
        let bytes = tree.to_tar().unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let header = entry.header().clone();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let link = entry.link_name().unwrap();
            format!(
                "{} {:o} {}:{} {} {}",
                entry.path().unwrap().display(),
                header.mode().unwrap(),
                header.uid().unwrap(),
                header.gid().unwrap(),
                header.mtime().unwrap(),
                link.map_or(text, |to| format!("-> {}", to.display()))
            )
        });
        entries.collect()
    }

    #[test]
    fn entries_are_sorted_below_their_folders_and_belong_to_root() {
        let mut tree = Tree::default();
        tree.add_content("/usr/bin/b", b"two".to_vec(), 0o555);
        tree.add_link("bin/sh", "/usr/bin/b");
        tree.add_folder("/tmp", 0o1777);
        tree.add_content("a", b"one".to_vec(), 0o444);
        let expected = [
            "a 444 0:0 0 one",
            "bin/ 755 0:0 0 ",
            "bin/sh 777 0:0 0 -> /usr/bin/b",
            "tmp/ 1777 0:0 0 ",
            "usr/ 755 0:0 0 ",
            "usr/bin/ 755 0:0 0 ",
            "usr/bin/b 555 0:0 0 two",
        ];
        assert_eq!(listed(&tree), expected);
    }

    #[test]
    fn files_of_the_disk_lose_the_right_to_be_written_and_their_times() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        fs::create_dir(at.join("bin")).unwrap();
        fs::write(at.join("bin/run"), "x").unwrap();
        fs::set_permissions(at.join("bin/run"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(at.join("bin"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("run", at.join("bin/go")).unwrap();
        let mut tree = Tree::default();
        tree.add_all(at).unwrap();
        let expected = [
            "bin/ 755 0:0 0 ",
            "bin/go 777 0:0 0 -> run",
            "bin/run 555 0:0 0 x",
        ];
        assert_eq!(listed(&tree), expected);
        let missing = tree.add_file("y", &at.join("y")).unwrap_err();
        assert!(missing.to_string().contains("/y: "), "{missing}");
    }
}
