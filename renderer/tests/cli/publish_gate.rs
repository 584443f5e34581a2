//! `publish`: charts that `lint` fails are not sent, and `-u` brings dependencies first. `dependency build` of several.

use std::fs;
use std::path::Path;

use crate::dependency::{chart, names};
use crate::{Run, command};

fn run(folder: &Path, words: &[&str]) -> Run {
    let mut command = command();
    Run::of(command.current_dir(folder).args(words))
}

#[test]
fn a_chart_whose_template_can_not_be_parsed_is_not_published() {
    let folder = tempfile::tempdir().unwrap();
    let charts = folder.path().join("charts");
    chart(&charts.join("good"), "good", "1.0.0", &[]);
    chart(&charts.join("bad"), "bad", "1.0.0", &[]);
    fs::write(charts.join("bad/templates/x.yaml"), "a: 1\nb: {{ if }}\n").unwrap();
    let publish = |rest: &[&str]| {
        let mut words = vec!["publish", "charts", "oci-layout:out", "-o", "json"];
        words.extend(rest);
        run(folder.path(), &words)
    };
    for check in [&["--check"][..], &[]] {
        let stopped = publish(check);
        assert_eq!(stopped.code, 1, "{}", stopped.stderr);
        assert!(
            stopped.stderr.contains("charts/bad/templates/x.yaml:2:"),
            "{}",
            stopped.stderr
        );
        assert!(stopped.stderr.contains("--no-lint"), "{}", stopped.stderr);
        let results = stopped.json()["results"].clone();
        assert_eq!(results[0]["error"]["class"], "template", "{results}");
        let key = if check.is_empty() { "outcome" } else { "would" };
        assert_eq!(results[1][key], "created", "{results}");
    }
    let forced = publish(&["--no-lint"]);
    assert_eq!(forced.code, 0, "{}", forced.stderr);
    assert_eq!(forced.json()["results"][0]["outcome"], "created");
    assert_eq!(forced.json()["results"][1]["outcome"], "unchanged");
}

#[test]
fn warnings_and_findings_of_our_own_do_not_stop_a_chart() {
    let folder = tempfile::tempdir().unwrap();
    chart(&folder.path().join("app"), "app", "v1.0", &[]);
    let template = "name: {{ .Values.nobodySetsThis }}\n";
    fs::write(folder.path().join("app/templates/x.yaml"), template).unwrap();
    let linted = run(folder.path(), &["lint", "app"]);
    assert_eq!(linted.code, 0, "{}", linted.stderr);
    let published = run(folder.path(), &["publish", "app", "oci-layout:out"]);
    assert_eq!(published.code, 0, "{}", published.stderr);
}

/// `top` and `other` depend on `lib`, `lost` on what is not there.
fn write_dependents(folder: &Path) {
    chart(&folder.join("lib"), "lib", "1.0.0", &[]);
    let on = |name: &str| {
        [format!(
            "{{name: {name}, version: ^1, repository: 'file://../{name}'}}"
        )]
    };
    chart(
        &folder.join("charts/top"),
        "top",
        "1.0.0",
        &on("../lib").map(named_lib),
    );
    chart(
        &folder.join("charts/other"),
        "other",
        "1.0.0",
        &on("../lib").map(named_lib),
    );
    chart(&folder.join("charts/lost"), "lost", "1.0.0", &on("gone"));
}

fn named_lib(text: String) -> String {
    text.replace("name: ../lib", "name: lib")
}

#[test]
fn publish_updates_the_dependencies_of_each_chart_first() {
    let folder = tempfile::tempdir().unwrap();
    write_dependents(folder.path());
    let published = run(
        folder.path(),
        &["publish", "charts", "oci-layout:out", "-u", "-o", "json"],
    );
    assert_eq!(published.code, 1, "{}", published.stderr);
    let results = published.json()["results"].clone();
    let outcomes: Vec<&str> = (0..3)
        .map(|number| results[number]["outcome"].as_str().unwrap_or("failed"))
        .collect();
    assert_eq!(outcomes, ["failed", "created", "created"], "{results}");
    assert!(published.stderr.contains("gone"), "{}", published.stderr);
    for chart in ["top", "other"] {
        assert_eq!(
            names(&folder.path().join("charts").join(chart)),
            ["lib-1.0.0.tgz"]
        );
        assert!(
            folder
                .path()
                .join("charts")
                .join(chart)
                .join("Chart.lock")
                .exists()
        );
    }
}

#[test]
fn dependencies_of_several_charts_are_built_in_one_run() {
    let folder = tempfile::tempdir().unwrap();
    write_dependents(folder.path());
    let words = [
        "dependency",
        "build",
        "charts/lost",
        "charts/top",
        "charts/other",
        "-o",
        "json",
    ];
    let built = run(folder.path(), &words);
    assert_eq!(built.code, 1, "{}", built.stderr);
    assert!(built.stderr.contains("gone"), "{}", built.stderr);
    let results = built.json()["results"].clone();
    assert_eq!(results[0]["error"]["class"], "chart", "{results}");
    for chart in ["top", "other"] {
        let chart = folder.path().join("charts").join(chart);
        assert_eq!(names(&chart), ["lib-1.0.0.tgz"]);
        assert!(chart.join("Chart.lock").exists());
    }
}
