//! `compare`: what must not happen when a program is killed, or a chart is hostile or large.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::compare::{compare, script_at, shop, verdicts};

/// A Helm that does this.
fn helm_that(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("helm");
    let version = "if [ \"$1\" = version ]; then echo v4.3.1; exit; fi";
    script_at(&path, &format!("#!/bin/sh\n{version}\n{script}"));
    path
}

/// It once counted as a refusal, and as the same when we refuse.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_helm_that_is_killed_has_not_refused() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    fs::remove_dir_all(shop.join("ci")).unwrap();
    let killed = helm_that(folder.path(), "kill -9 $$");
    let run = compare(&shop, &killed, &[]);
    assert_eq!(run.code, 10, "{}", run.stdout);
    let expected = "Helm did not end:\n  ended: by signal 9\nsolar-render renders it.\n";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
    fs::write(shop.join("templates/b.yaml"), "{{ fail \"never\" }}").unwrap();
    let run = compare(&shop, &killed, &["-o", "json"]);
    assert_eq!(run.code, 10, "{}", run.stdout);
    let document = run.json();
    assert_eq!(verdicts(&document), ["shop - helm-did-not-end 0"]);
    assert_eq!(document["total"]["different"], 1);
    assert_eq!(document["cases"][0]["helmError"], "ended: by signal 9");
}

/// Only the lines that differ were once filtered.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_terminal_gets_no_control_characters_of_a_chart() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    let hostile = folder.path().join("\u{1b}[34m");
    fs::rename(shop, &hostile).unwrap();
    let shop = hostile;
    let object = "kind: ConfigMap\nmetadata: {name: \"a\\e[31mRED\"}\ndata: {a: \"\t2\"}\n";
    fs::write(shop.join("templates/b.yaml"), object).unwrap();
    let rest = "printf -- '---\\n# Source: shop/templates/b.yaml\\n'; printf 'a: \\033[1m\\n'";
    let run = compare(&shop, &helm_that(folder.path(), rest), &[]);
    assert_eq!(run.code, 10, "{}", run.stderr);
    let is_control = |one: char| one.is_control() && !matches!(one, '\n' | '\t');
    for text in [&run.stdout, &run.stderr] {
        assert!(!text.contains(is_control), "{text:?}");
    }
    assert!(
        run.stdout.contains("RED") && run.stdout.contains('\t'),
        "{}",
        run.stdout
    );
}

/// Each difference once took a search of everything that was rendered; the lines of the first are located.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn of_many_differences_the_first_are_located() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    fs::remove_dir_all(shop.join("ci")).unwrap();
    let many = "{{ range until 1010 }}\n---\nkind: A\nmetadata: {name: a{{ . }}}\nv: ours\n{{ end }}";
    fs::write(shop.join("templates/b.yaml"), many).unwrap();
    let own = crate::binary().display().to_string();
    let helm = helm_that(
        folder.path(),
        &format!("{own} \"$@\" | sed 's/v: ours/v: theirs/'"),
    );
    let run = compare(&shop, &helm, &["-o", "json"]);
    assert_eq!(run.code, 10, "{}", run.stderr);
    let document = run.json();
    let differences = document["cases"][0]["differences"].as_array().unwrap();
    let lines: Vec<Option<u64>> = differences.iter().map(|one| one["line"].as_u64()).collect();
    assert_eq!(lines.len(), 1010);
    assert!(lines.iter().take(1000).all(|line| *line == Some(5)), "{lines:?}");
    assert!(lines.iter().skip(1000).all(Option::is_none), "{lines:?}");
}
