//! The workflows and the action, as actionlint reads them, and what they have to keep to.

use std::fs;

use testbed::Tool;

use crate::root;

fn files() -> Vec<(String, String)> {
    let names = [
        ".github/workflows/ci.yml",
        ".github/workflows/release.yml",
        "action.yml",
    ];
    let read = |name: &str| (name.to_owned(), fs::read_to_string(root().join(name)).unwrap());
    names.map(read).into()
}

/// A tag can be moved to other code.
#[test]
fn every_action_is_pinned_by_its_commit() {
    let mut count = 0;
    for (name, text) in files() {
        for line in text.lines().filter_map(|line| line.split_once("uses: ")) {
            let (action, version) = line
                .1
                .rsplit_once(" # v")
                .unwrap_or_else(|| panic!("{name}: {}", line.1));
            let commit = action.split_once('@').unwrap().1;
            assert!(
                commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{name}: {action}"
            );
            assert!(version.starts_with(|first: char| first.is_ascii_digit()));
            count += 1;
        }
    }
    assert!(count > 5, "{count}");
}

/// What a workflow calls exists in the repository.
#[test]
fn workflows_call_scripts_that_exist() {
    let mut called = Vec::new();
    for (_, text) in files() {
        for (at, word) in text.match_indices("release/") {
            let rest = &text[at + word.len()..];
            called.push(
                rest.split(|next: char| !next.is_ascii_lowercase())
                    .next()
                    .unwrap()
                    .to_owned(),
            );
        }
    }
    assert!(called.iter().any(|name| name == "pack"), "{called:?}");
    for name in called {
        assert!(root().join("release").join(&name).is_file(), "release/{name}");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn actionlint_finds_nothing() {
    let home = tempfile::tempdir().unwrap();
    let workflows = files()
        .into_iter()
        .map(|(name, _)| root().join(name))
        .filter(|path| !path.ends_with("action.yml"));
    testbed::run(Tool::Actionlint.command(home.path()).args(workflows));
    // It reads an action's inputs when a workflow of the repository uses it.
    let project = home.path().join("project");
    fs::create_dir_all(project.join(".github/workflows")).unwrap();
    fs::create_dir(project.join(".git")).unwrap();
    fs::copy(root().join("action.yml"), project.join("action.yml")).unwrap();
    let uses = |inputs: &str| {
        let workflow = project.join(".github/workflows/use.yml");
        let text = format!(
            "on: push\njobs:\n  x:\n    runs-on: ubuntu-24.04\n    steps:\n      - id: setup\n        uses: ./\n        \
             with: {{{inputs}}}\n      - run: echo \"${{{{ steps.setup.outputs.path }}}}\"\n"
        );
        fs::write(&workflow, text).unwrap();
        let mut lint = Tool::Actionlint.command(&project);
        lint.arg(workflow).output().unwrap()
    };
    let good = uses("version: 1.0.0, sha256: abc");
    assert!(good.status.success(), "{good:?}");
    for wrong in ["sha256: abc", "version: 1.0.0, versoin: 1"] {
        assert!(!uses(wrong).status.success(), "{wrong}");
    }
}
