//! `lint` says what `helm lint` 4.3.1 said when `testdata/lint/record` was run, and more.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Run, command};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/lint")
}

fn run(arguments: &[&str]) -> Run {
    let charts = folder().join("charts");
    Run::of(command().current_dir(charts).arg("lint").args(arguments))
}

/// Where our words are not Helm's: `numbers` has an apiVersion that our loader refuses and
/// Helm's does not.
const DIFFERENT: &[&str] = &["numbers"];

#[test]
fn the_lines_are_helms() {
    let charts = folder().join("charts").canonicalize().unwrap();
    let cases = std::fs::read_to_string(folder().join("cases")).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in cases.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        if DIFFERENT.contains(&name) {
            continue;
        }
        count += 1;
        let arguments: Vec<&str> = words.collect();
        let run = run(&arguments);
        let end = run
            .stderr
            .lines()
            .rev()
            .find(|line| line.starts_with("error: ") && line.contains("chart(s) linted"))
            .map_or(String::new(), |line| {
                format!("stderr: {}\n", line.replacen("error", "Error", 1))
            });
        let found = format!("{}{end}exit: {}\n", run.stdout, run.code);
        let found = found.replace(charts.to_str().unwrap(), "@DIR@");
        let expected = std::fs::read_to_string(folder().join(format!("golden/{name}.txt"))).unwrap();
        if found != expected {
            wrong.push(format!("== {name}\n{found}-- Helm\n{expected}"));
        }
    }
    assert!(count > 25);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_failing_template_is_reported_with_its_position() {
    let run = run(&["failing"]);
    for place in [
        "templates/_helpers.tpl:1",
        "templates/b.yaml:1",
        "templates/c.yaml:1",
    ] {
        assert!(run.stderr.contains(place), "{place} in {}", run.stderr);
    }
    assert_eq!(run.stdout.matches("[ERROR]").count(), 1, "Helm's first one");
}

#[test]
fn the_findings_are_a_document_too() {
    let run = run(&["metadata", "undefined", "-o", "json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 1);
    assert_eq!(document["charts"][0]["failed"], true);
    assert_eq!(document["charts"][1]["failed"], false);
    let findings = document["findings"].as_array().unwrap();
    let version = findings
        .iter()
        .find(|one| one["rule"] == "chart-version")
        .unwrap();
    assert_eq!(version["line"], 2);
    assert_eq!(version["severity"], "error");
    let undefined: Vec<&Value> = findings
        .iter()
        .filter(|one| one["rule"] == "undefined-value")
        .collect();
    assert_eq!(undefined.len(), 1, "{undefined:?}");
    assert_eq!(undefined[0]["path"], "templates/a.yaml");
    assert_eq!(
        (&undefined[0]["line"], &undefined[0]["column"]),
        (&4.into(), &14.into())
    );
    assert_eq!(undefined[0]["helm"], false);
}

#[test]
fn undefined_values_are_warned_about_and_fail_nothing() {
    let all = run(&["undefined"]);
    assert_eq!(all.code, 0, "{}", all.stderr);
    assert!(
        all.stderr.contains("did you mean `.Values.image.tag`?"),
        "{}",
        all.stderr
    );
    assert!(!all.stdout.contains("tga"), "{}", all.stdout);
    for arguments in [["undefined", "--skip-undefined"], ["undefined", "--quiet"]] {
        assert!(!run(&arguments).stderr.contains("tga"));
    }
}

#[test]
fn images_are_listed_once_and_in_order() {
    let charts = folder().join("charts");
    let run = Run::of(command().current_dir(&charts).args(["images", "good"]));
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "example/app:1\n"),
        "{}",
        run.stderr
    );
    let run = Run::of(command().current_dir(&charts).args([
        "images",
        "good",
        "-o",
        "json",
        "--set",
        "image.tag=2",
    ]));
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["images"][0]["image"], "example/app:2");
    let only = &document["images"][0]["uses"][0];
    assert_eq!(only["field"], "spec.template.spec.containers[0].image");
    assert_eq!(only["source"], "good/templates/deployment.yaml");
    assert_eq!(only["exact"], true);
}
