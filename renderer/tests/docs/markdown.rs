//! The project's pages as text, code blocks and code spans. As much of Markdown as these pages use.

use std::fs;
use std::path::Path;

/// The root of the repository.
pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Where code begins and ends.
const FENCE: &str = "```";

/// A page.
pub(crate) struct Page {
    /// From the root: `docs/install.md`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// A block of code.
pub(crate) struct Block {
    /// What stands behind the fence: `sh`, `text`, …
    pub(crate) language: String,
    /// The line it begins at, from 1.
    pub(crate) line: usize,
    /// The code.
    pub(crate) body: String,
}

/// Every page, in the order of their paths.
pub(crate) fn pages() -> Vec<Page> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(ROOT).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
    collect(&Path::new(ROOT).join("docs"), &mut paths);
    let mut pages: Vec<Page> = paths
        .iter()
        .map(|path| Page {
            path: path
                .strip_prefix(ROOT)
                .unwrap()
                .to_str()
                .unwrap()
                .replace('\\', "/"),
            text: fs::read_to_string(path).unwrap(),
        })
        .collect();
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(pages.len() > 15, "the pages were not found");
    pages
}

fn collect(folder: &Path, paths: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
}

impl Page {
    /// Its blocks of code, in order.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut open = false;
        for (index, line) in self.text.lines().enumerate() {
            match (line.strip_prefix(FENCE), open) {
                (Some(language), false) => {
                    blocks.push(Block {
                        language: language.to_owned(),
                        line: index + 1,
                        body: String::new(),
                    });
                    open = true;
                }
                (Some(_), true) => open = false,
                (None, true) => {
                    if let Some(block) = blocks.last_mut() {
                        block.body.push_str(line);
                        block.body.push('\n');
                    }
                }
                (None, false) => {}
            }
        }
        assert!(!open, "{}: a block of code has no end", self.path);
        blocks
    }

    /// Its lines outside of blocks, with their numbers.
    pub(crate) fn prose(&self) -> Vec<(usize, &str)> {
        let mut inside = false;
        let mut lines = Vec::new();
        for (index, line) in self.text.lines().enumerate() {
            if line.starts_with(FENCE) {
                inside = !inside;
            } else if !inside {
                lines.push((index + 1, line));
            }
        }
        lines
    }

    /// What stands between backticks outside of blocks, with line numbers.
    pub(crate) fn spans(&self) -> Vec<(usize, &str)> {
        let lines = self.prose().into_iter();
        lines
            .flat_map(|(number, line)| {
                let pieces = line.split('`').enumerate();
                pieces
                    .filter(|(index, _)| index % 2 == 1)
                    .map(move |(_, span)| (number, span))
            })
            .collect()
    }
}
