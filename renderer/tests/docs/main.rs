//! The pages say what is so: links lead somewhere, commands and flags exist, paths too, and what the tutorial shows is
//! what is printed. `UPDATE_DOCS=1` writes the tutorial's output anew.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "a test that can't go on should stop, and UPDATE_DOCS is asked for"
)]

mod commands;
mod growth;
mod links;
mod markdown;
mod module_order;
mod tutorial;

use std::fs;
use std::path::Path;

use commands::Program;
use markdown::{Page, ROOT, pages};

/// Flags of other programs that the pages name.
const FLAGS_OF_OTHERS: &[&str] = &[
    "--server-side",
    "--locked",
    "--armor",
    "--target",
    "--concurrency",
    "--allowed-hosts",
    "--context",
    "--max-concurrent-jobs-per-namespace",
    "--no-cross-namespace-refs",
    "--pipeline",
    "--artifacts",
    "--keep-workspace",
    "--kit-image",
    // helm-unittest's, beside ours.
    "--update-snapshot",
    "--chart-tests-path",
    "--cluster-addons",
    "--registry-binding-strict",
];
/// Pages about flags of Helm, and about the operator's, whose own test reads them.
const PAGES_ABOUT_OTHERS: &[&str] = &[
    "docs/cluster-addons.md",
    "docs/controllers.md",
    "docs/from-helm.md",
    "docs/differences.md",
    "docs/operator.md",
    "docs/pipeline.md",
    "docs/runbook.md",
];
/// Folders at the root whose paths the pages name.
const FOLDERS: &[&str] = &[
    "renderer/",
    "operator/",
    "crates/",
    "testdata/",
    "charts/",
    "benches/",
    "fuzz/",
    ".ci/",
    "docs/",
];

fn program() -> Program {
    Program::new("solar-render", env!("CARGO_BIN_EXE_solar-render"), &["render"])
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn every_link_leads_to_a_page_and_a_heading_that_are_there() {
    let pages = pages();
    let problems: Vec<String> = pages
        .iter()
        .flat_map(|page| links::problems(page, &pages))
        .collect();
    assert_none(&problems);
}

#[test]
fn every_page_is_in_the_summary() {
    let pages = pages();
    let summary = pages.iter().find(|page| page.path == "docs/SUMMARY.md").unwrap();
    let listed = links::targets(summary);
    // The site lists the generated pages of the reference by itself.
    let generated = |path: &str| path.starts_with("docs/reference/") && path != "docs/reference/README.md";
    let missing = pages
        .iter()
        .filter(|page| page.path != summary.path && !generated(&page.path) && !listed.contains(&page.path));
    let problems: Vec<String> = missing
        .map(|page| format!("docs/SUMMARY.md does not list {}", page.path))
        .collect();
    assert_none(&problems);
}

#[test]
fn commands_on_the_pages_exist_with_their_flags() {
    let program = program();
    let pages = pages();
    let problems: Vec<String> = pages.iter().flat_map(|page| program.problems(page)).collect();
    assert_none(&problems);
}

#[test]
fn flags_that_the_pages_name_exist() {
    let program = program();
    let pages = pages();
    let own = pages
        .iter()
        .filter(|page| !PAGES_ABOUT_OTHERS.contains(&page.path.as_str()));
    let problems: Vec<String> = own
        .flat_map(|page| program.unknown_flags(page, FLAGS_OF_OTHERS))
        .collect();
    assert_none(&problems);
}

#[test]
fn a_command_a_flag_a_link_and_a_heading_that_are_not_there_are_found() {
    let page = Page {
        path: "docs/wrong.md".to_owned(),
        text: "# A\n\n[b](nowhere.md) [c](#nowhere) `--no-such-flag`\n\n```sh\nx=$(solar-render no-such-command)\n\
               solar-render push ./a oci://h \\\n  --no-such-flag | cat # --more\nsolar-render cache grow\n```\n"
            .to_owned(),
    };
    let problems = program().problems(&page);
    let expected = [
        "no command no-such-command",
        "no flag --no-such-flag",
        "no command grow below cache",
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem}");
    }
    let pages = [page];
    assert_eq!(links::problems(&pages[0], &pages).len(), 2);
    assert_eq!(program().unknown_flags(&pages[0], FLAGS_OF_OTHERS).len(), 1);
}

#[test]
fn paths_on_the_pages_exist() {
    let mut problems = Vec::new();
    for page in pages() {
        // The changelog speaks of what was.
        if page.path == "CHANGELOG.md" {
            continue;
        }
        for (line, span) in page.spans() {
            let is_path = FOLDERS.iter().any(|folder| span.starts_with(folder));
            let is_pattern = span.contains(['<', '*', '…', ' ']);
            if is_path && !is_pattern && !Path::new(ROOT).join(span).exists() {
                problems.push(format!("{}:{line}: there is no {span}", page.path));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn every_module_is_on_the_map() {
    let map = fs::read_to_string(Path::new(ROOT).join("docs/ARCHITECTURE.md")).unwrap();
    let library = fs::read_to_string(Path::new(ROOT).join("renderer/src/lib.rs")).unwrap();
    let modules = library.lines().filter_map(|line| {
        let rest = line
            .strip_prefix("pub mod ")
            .or_else(|| line.strip_prefix("pub(crate) mod "))?;
        rest.strip_suffix(';')
    });
    let modules: Vec<&str> = modules.collect();
    assert!(modules.len() > 10, "{modules:?}");
    let missing = modules.iter().filter(|name| !map.contains(&format!("`{name}`")));
    let problems: Vec<String> = missing
        .map(|name| format!("docs/ARCHITECTURE.md does not name the module {name}"))
        .collect();
    assert_none(&problems);
}

#[test]
fn the_page_about_the_library_shows_the_programs_that_are_tested() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/library.md")).unwrap();
    let mut count = 0;
    for entry in fs::read_dir(Path::new(ROOT).join("renderer/examples")).unwrap() {
        let path = entry.unwrap().path();
        let program = fs::read_to_string(&path).unwrap();
        assert!(
            page.contains(&format!("```rust\n{program}```")),
            "docs/library.md does not show {} as it is",
            path.display()
        );
        count += 1;
    }
    assert_eq!(page.matches("```rust\n").count(), count);
}
