//! The output shown on the pages is what is printed: each `sh` block is run, and the `text` block after it must match
//! its output. A line `…` matches any lines.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::markdown::{Block, Page, ROOT, pages};

const ELLIPSIS: &str = "…";
/// The README's command, and how a test runs it.
const CARGO_RUN: &str = "cargo run -p solar-render --";

fn page(path: &str) -> Page {
    pages().into_iter().find(|page| page.path == path).unwrap()
}

/// Runs a script in a folder, both streams in one.
fn run(script: &str, folder: &Path) -> String {
    let binaries = Path::new(env!("CARGO_BIN_EXE_solar-render")).parent().unwrap();
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("exec 2>&1\n{script}"))
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", binaries.display()))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Whether the lines are those that are shown.
fn agrees(shown: &str, printed: &str) -> bool {
    let mut rest = printed.trim_end();
    let gap = format!("\n{ELLIPSIS}\n");
    let mut parts = shown.trim_end().split(&gap);
    let first = parts.next().unwrap_or("");
    let Some(after) = rest.strip_prefix(first) else {
        return false;
    };
    rest = after;
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in between {
        let Some((_, after)) = rest.split_once(&format!("\n{part}\n")) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(&format!("\n{last}"))
}

fn compare(page: &Page, shown: &Block, printed: &str) {
    if agrees(&shown.body, printed) {
        return;
    }
    let line = shown.line;
    if std::env::var_os("UPDATE_DOCS").is_some() && !shown.body.contains(ELLIPSIS) {
        let path = Path::new(ROOT).join(&page.path);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen(&shown.body, printed, 1)).unwrap();
        return;
    }
    panic!("{}:{line}: this is printed instead:\n{printed}", page.path);
}

#[test]
fn the_tutorial_shows_what_is_printed() {
    let page = page("docs/tutorial.md");
    let folder = tempfile::tempdir().unwrap();
    let mut printed = String::new();
    let mut compared = 0;
    for block in page.blocks() {
        match block.language.as_str() {
            "sh" => printed = run(&block.body, folder.path()),
            _ => {
                compare(&page, &block, &printed);
                compared += 1;
            }
        }
    }
    assert!(compared > 5, "the tutorial shows little");
}

#[test]
fn the_readmes_first_command_prints_what_it_shows() {
    let page = page("README.md");
    let blocks = page.blocks();
    let at = blocks
        .iter()
        .position(|block| block.body.starts_with(CARGO_RUN))
        .unwrap();
    let script = blocks[at].body.replace(CARGO_RUN, "solar-render");
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(Path::new(ROOT).join("testdata"), folder.path().join("testdata")).unwrap();
    compare(&page, &blocks[at + 1], &run(&script, folder.path()));
}

#[test]
fn an_ellipsis_stands_for_lines_and_nothing_else_may_differ() {
    let table = [
        ("a\nb\n", "a\nb", true),
        ("a\nb\n", "a\nc", false),
        ("a\n", "a\nb", false),
        ("a\n…\nd\n", "a\nb\nc\nd\n", true),
        ("a\n…\nd\n", "a\nb\nc\n", false),
        ("a\n…\nc\n…\ne\n", "a\nb\nc\nd\ne", true),
        ("a\n…\nx\n…\ne\n", "a\nb\nc\nd\ne", false),
    ];
    for (shown, printed, expected) in table {
        assert_eq!(agrees(shown, printed), expected, "{shown:?} {printed:?}");
    }
}
