//! `dependency list`: byte for byte what Helm prints.

use std::path::Path;

use testbed::{Tool, run};

use crate::show::write;
use crate::{Run, command};

fn chart(folder: &Path, name: &str, version: &str) {
    let text = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    write(folder, &[("Chart.yaml", &text)]);
}

/// A chart with a dependency in every state.
fn every_state(folder: &Path) {
    let charts = folder.join("demo/charts");
    let mut declared = String::new();
    for (name, version) in [
        ("ok", "1.x"),
        ("unpacked", "^1.0.0"),
        ("same", "1.2"),
        ("missing", "1.0.0"),
        ("wrong", "2.0.0"),
        ("wrong-archive", "~2"),
        ("invalid", "not one"),
        ("misnamed", "1.0.0"),
        ("many", "*"),
        ("two", "*"),
        (
            "a-name-that-is-longer-than-others-are-in-any-chart-that-one-would-want-to-see-in-a-table",
            "1",
        ),
    ] {
        declared.push_str(&format!(
            "  - {{name: {name}, version: '{version}', repository: 'https://charts/{name}'}}\n"
        ));
    }
    let text = format!("apiVersion: v2\nname: demo\nversion: 1.0.0\ndependencies:\n{declared}");
    write(
        &folder.join("demo"),
        &[
            ("Chart.yaml", &text),
            ("charts/_left", "no"),
            ("charts/a.prov", "no"),
        ],
    );
    for (name, version) in [
        ("unpacked", "1.2.3"),
        ("same", "1.2"),
        ("wrong", "1.0.0"),
        ("invalid", "1.0.0"),
        ("extra", "1.0.0"),
    ] {
        chart(&charts.join(name), name, version);
    }
    for (name, version) in [
        ("ok", "1.2.3"),
        ("wrong-archive", "1.0.0"),
        ("many", "1.0.0"),
        ("many", "1.0.1"),
        ("two", "1.0.0"),
    ] {
        let source = folder.join("source").join(name);
        chart(&source, name, version);
        run(Tool::Helm
            .command(folder)
            .arg("package")
            .arg(&source)
            .arg("-d")
            .arg(&charts));
    }
    std::fs::copy(charts.join("two-1.0.0.tgz"), charts.join("two-beta.tgz")).unwrap();
    std::fs::copy(charts.join("two-1.0.0.tgz"), charts.join("misnamed-1.0.0.tgz")).unwrap();
}

fn compare(folder: &Path, words: &[&str]) {
    let mut helm = Tool::Helm.command(folder);
    let expected = run(helm.current_dir(folder).args(["dependency", "list"]).args(words));
    let ours = Run::of(
        command()
            .current_dir(folder)
            .args(["dependency", "list"])
            .args(words),
    );
    assert_eq!(ours.code, 0, "{}", ours.stderr);
    assert_eq!(ours.stdout, expected, "{words:?}");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn each_state_of_a_dependency_is_what_helm_lists() {
    let folder = tempfile::tempdir().unwrap();
    every_state(folder.path());
    compare(folder.path(), &["demo"]);
    compare(folder.path(), &["./demo/../demo//"]);
    for width in ["0", "1", "4", "12"] {
        compare(folder.path(), &["demo", "--max-col-width", width]);
    }
    compare(&folder.path().join("demo"), &[]);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_without_dependencies_has_none_listed() {
    let folder = tempfile::tempdir().unwrap();
    chart(&folder.path().join("bare"), "bare", "1.0.0");
    compare(folder.path(), &["bare"]);
    let text = "apiVersion: v1\nname: old\nversion: 1.0.0\n";
    write(
        &folder.path().join("old"),
        &[("Chart.yaml", text), ("requirements.yaml", "dependencies: []\n")],
    );
    compare(folder.path(), &["old"]);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_archive_and_the_short_names_work_too() {
    let folder = tempfile::tempdir().unwrap();
    every_state(folder.path());
    run(Tool::Helm
        .command(folder.path())
        .current_dir(folder.path())
        .args(["package", "source/ok"]));
    let run = Run::of(
        command()
            .current_dir(folder.path())
            .args(["dep", "ls", "ok-1.2.3.tgz"]),
    );
    assert_eq!(
        run.stdout, "WARNING: no dependencies at ok-1.2.3.tgz/charts\n",
        "{}",
        run.stderr
    );
    let run = Run::of(
        command()
            .current_dir(folder.path())
            .args(["dep", "ls", "demo", "-o", "json"]),
    );
    assert_eq!(run.json()["dependencies"][0]["status"], "ok");
}
