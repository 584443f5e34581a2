//! `diff --against`: a chart's folder beside the same one at a revision of its git repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::{changes, diff, document, shop};
use crate::{Run, command};

fn git(folder: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(folder)
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(words);
    let run = Run::of(&mut git);
    assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
}

/// A repository with the chart in `charts/`, and a second version of it in the folder.
fn repository() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let charts = folder.path().join("charts");
    let chart = shop(&charts, "1.0.0", &[]);
    git(folder.path(), &["init", "-q"]);
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "one"]);
    git(folder.path(), &["tag", "v1"]);
    shop(&charts, "1.1.0", &[("values.yaml", "replicas: 3\n")]);
    (folder, chart)
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_folder_is_compared_with_itself_at_a_revision() {
    let (folder, chart) = repository();
    for (revision, words) in [
        ("HEAD", "charts/shop"),
        ("v1", "charts/shop/"),
        ("main", "./charts/shop"),
    ] {
        let found = document(folder.path(), &[words, "--against", revision]);
        let expected = [
            "spec.replicas 1 3",
            "spec.template.spec.containers[web].image \"nginx:1.0.0\" \"nginx:1.1.0\"",
        ];
        assert_eq!(changes(&found), expected, "{revision}");
        assert_eq!(found["from"]["source"], format!("{words} at {revision}"));
        assert_eq!(found["from"]["version"], "1.0.0");
    }
    // From inside the folder, and as git's hooks have it.
    assert_eq!(changes(&document(&chart, &[".", "--against", "HEAD"])).len(), 2);
    // A chart that is the repository itself.
    git(&chart, &["init", "-q"]);
    git(&chart, &["add", "-A"]);
    git(&chart, &["commit", "-q", "-m", "one"]);
    assert!(changes(&document(folder.path(), &["charts/shop", "--against", "HEAD"])).is_empty());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_is_ignored_linked_and_binary_is_read_from_git_as_from_disk() {
    let (folder, chart) = repository();
    fs::write(chart.join(".helmignore"), "*.md\nnot/\n").unwrap();
    fs::create_dir(chart.join("not")).unwrap();
    fs::write(chart.join("not/Chart.yaml"), "[").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", chart.join("x.md")).unwrap();
    fs::write(chart.join("logo.png"), b"\x89PNG\xff\x00\n\n").unwrap();
    std::os::unix::fs::symlink("logo.png", chart.join("link.png")).unwrap();
    fs::create_dir(chart.join("more")).unwrap();
    fs::write(
        chart.join("more/b.yaml"),
        "kind: B\nlogo: {{ .Files.Get \"link.png\" | b64enc }}\nmd: {{ .Files.Glob \"*.md\" | len }}\n",
    )
    .unwrap();
    std::os::unix::fs::symlink("../more", chart.join("templates/linked")).unwrap();
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "two"]);
    let found = document(folder.path(), &["charts/shop", "--against", "HEAD"]);
    assert_eq!(
        found["total"],
        json!({"added": 0, "changed": 0, "renamed": 0, "removed": 0, "unchanged": 2})
    );
    fs::write(chart.join("logo.png"), b"\x89PNG\xfe\x00\n\n").unwrap();
    assert_eq!(
        changes(&document(folder.path(), &["charts/shop", "--against", "HEAD"])).len(),
        1
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_is_too_large_for_a_chart_is_refused_in_git_too() {
    let (folder, chart) = repository();
    let large = chart.join("large");
    fs::File::create(&large).unwrap().set_len(101 << 20).unwrap();
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "large"]);
    fs::remove_file(large).unwrap();
    let run = diff(folder.path(), &["charts/shop", "--against", "HEAD"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stderr.contains("holds more than 100 MiB"), "{}", run.stderr);
    assert!(run.stderr.contains("in charts/shop at HEAD"), "{}", run.stderr);
    // A link that no file system would have: to a path of more than 4096 bytes, and to the repository itself.
    for (target, name) in [("a/".repeat(3_000), "long"), ("../..".to_owned(), "out")] {
        git(folder.path(), &["reset", "-q", "--hard", "v1"]);
        fs::write(folder.path().join("target"), target).unwrap();
        let mut hash = Command::new("git");
        let hash = Run::of(hash.current_dir(folder.path()).env("HOME", folder.path()).args([
            "hash-object",
            "-w",
            "target",
        ]));
        let entry = format!("120000,{},charts/shop/{name}", hash.stdout.trim());
        git(folder.path(), &["update-index", "--add", "--cacheinfo", &entry]);
        git(folder.path(), &["commit", "-q", "-m", "link"]);
        let run = diff(folder.path(), &["charts/shop", "--against", "HEAD"]);
        assert_eq!(run.code, 1, "{}", run.stdout);
        assert!(
            run.stderr
                .contains(&format!("{name} is a link that leaves the chart")),
            "{}",
            run.stderr
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn dependencies_that_git_does_not_have_are_those_of_the_folder_if_they_fit() {
    let (folder, chart) = repository();
    let declare = |range: &str| {
        let text = format!(
            "apiVersion: v2\nname: shop\nversion: 1.0.0\nappVersion: \"1\"\ndependencies: [{{name: db, version: {range:?}, repository: \"https://charts.example.com\"}}]\n"
        );
        fs::write(chart.join("Chart.yaml"), text).unwrap();
    };
    declare("^2");
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "declared"]);
    let db = chart.join("charts/db");
    fs::create_dir_all(&db).unwrap();
    fs::write(
        db.join("Chart.yaml"),
        "apiVersion: v2\nname: db\nversion: 2.1.0\n",
    )
    .unwrap();
    let run = diff(folder.path(), &["charts/shop", "--against", "HEAD"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("db at HEAD is not in git: that of the folder is taken"),
        "{}",
        run.stderr
    );
    fs::write(
        db.join("Chart.yaml"),
        "apiVersion: v2\nname: db\nversion: 3.0.0\n",
    )
    .unwrap();
    declare("^3");
    let run = diff(folder.path(), &["charts/shop", "--against", "HEAD"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(
        run.stderr.contains("missing in charts/ directory: db"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("charts/shop at HEAD is the older side"),
        "{}",
        run.stderr
    );
}

/// As a pull request that adds a chart.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn all_of_a_chart_is_new_that_a_revision_does_not_have() {
    let (folder, _) = repository();
    shop(&folder.path().join("charts/new"), "1.0.0", &[]);
    let run = diff(folder.path(), &["charts/new/shop", "--against", "HEAD"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let warning = "charts/new/shop does not exist at HEAD: all of it is new";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    assert!(
        run.stdout.starts_with("shop 1.0.0 (new): 1 added, 0 unchanged\n"),
        "{}",
        run.stdout
    );
    let found = document(folder.path(), &["charts/new/shop", "--against", "HEAD"]);
    assert_eq!(found["from"]["version"], "", "{found}");
    assert_eq!(found["total"]["added"], 1, "{found}");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_git_does_not_have_is_said() {
    let (folder, chart) = repository();
    let refused = |words: &[&str], expected: &[&str]| {
        let run = diff(folder.path(), words);
        assert_eq!(run.code, 2, "{words:?}: {}{}", run.stdout, run.stderr);
        for expected in expected {
            assert!(run.stderr.contains(expected), "{words:?}: {}", run.stderr);
        }
    };
    refused(
        &["charts/shop", "--against", "mian"],
        &["no revision \"mian\"", "`git branch --all`"],
    );
    refused(
        &["charts/shop", "--against=--output=x"],
        &["no revision \"--output=x\""],
    );
    refused(&["charts/shop", "--against", "HEAD:charts"], &["no revision"]);
    refused(&["charts/shop", "--against", ""], &["no revision"]);
    git(
        folder.path(),
        &["update-ref", "refs/remotes/origin/release", "HEAD"],
    );
    refused(
        &["charts/shop", "--against", "release"],
        &["did you mean `origin/release`?"],
    );
    refused(
        &["charts/shop/Chart.yaml", "--against", "HEAD"],
        &["Chart.yaml is a file"],
    );
    refused(
        &["oci://h.example/shop", "--against", "HEAD"],
        &["compares a chart on disk"],
    );
    refused(
        &["charts/shop", "charts/shop", "--against", "HEAD"],
        &["is a second"],
    );
    // A clone that has the newest commit alone.
    git(folder.path(), &["commit", "-q", "-a", "-m", "two"]);
    let url = format!("file://{}", folder.path().display());
    git(folder.path(), &["clone", "-q", "--depth", "1", &url, "shallow"]);
    let run = diff(
        &folder.path().join("shallow"),
        &["charts/shop", "--against", "v1"],
    );
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the clone is shallow"), "{}", run.stderr);
    // The remote has no branch `origin/next`, and no `HEAD~1`.
    for (revision, command) in [
        ("origin/next", "`git fetch --depth 1 origin next`"),
        ("HEAD~1", "`git fetch --unshallow`"),
    ] {
        let run = diff(
            &folder.path().join("shallow"),
            &["charts/shop", "--against", revision],
        );
        assert!(run.stderr.contains(command), "{}", run.stderr);
    }
    // No repository at all, and no git.
    let plain = tempfile::tempdir().unwrap();
    shop(plain.path(), "1.0.0", &[]);
    let run = diff(plain.path(), &["shop", "--against", "HEAD"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("shop is not in a git repository"),
        "{}",
        run.stderr
    );
    // Another user's, as in a container that mounts a checkout.
    let mut other = command();
    other
        .current_dir(folder.path())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", plain.path())
        .env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    let run = Run::of(other.args(["diff", "charts/shop", "--against", "HEAD"]));
    assert_eq!(run.code, 2);
    for expected in [
        "git can't read the repository of charts/shop",
        "dubious ownership",
        "safe.directory",
    ] {
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
    let mut without = command();
    without.current_dir(folder.path()).env("PATH", "/nonexistent");
    let run = Run::of(without.args(["diff", "charts/shop", "--against", "HEAD"]));
    assert!(
        run.stderr.contains("there is no `git` on the PATH"),
        "{}",
        run.stderr
    );
    assert!(chart.exists());
}

/// What can't be read is no new chart.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_broken_repository_is_an_error() {
    for tree in ["HEAD:charts/shop", "HEAD:charts"] {
        let (folder, _) = repository();
        let mut find = Command::new("git");
        find.current_dir(folder.path()).args(["rev-parse", tree]);
        let id = String::from_utf8(find.output().unwrap().stdout).unwrap();
        let (start, rest) = id.trim().split_at(2);
        fs::remove_file(folder.path().join(".git/objects").join(start).join(rest)).unwrap();
        let run = diff(folder.path(), &["charts/shop", "--against", "HEAD"]);
        assert_eq!(run.code, 5, "{tree}: {}{}", run.stdout, run.stderr);
        assert!(
            run.stderr.contains("git can't list charts/shop"),
            "{}",
            run.stderr
        );
    }
}
