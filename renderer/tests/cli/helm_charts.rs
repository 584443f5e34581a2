//! Whole charts: what Helm 4.3.1 printed for each run of `testdata/helm/charts`, to the byte,
//! and whether it failed.

use std::path::Path;

use testbed::Registry;

use crate::{Run, command};

#[test]
fn whole_charts_render_as_helm_renders_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/helm/charts");
    let text = std::fs::read_to_string(folder.join("cases.golden.json")).unwrap();
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert!(cases.len() > 80);
    let mut wrong = Vec::new();
    for case in &cases {
        let words = case["args"].as_array().unwrap().iter();
        let chart = case["chart"].as_str().unwrap();
        let output = command()
            .args(["template", "rel", ".", "--namespace", "ns"])
            .args(words.map(|word| word.as_str().unwrap()))
            .current_dir(folder.join(chart))
            .output()
            .unwrap();
        let same = output.stdout == case["stdout"].as_str().unwrap().as_bytes();
        if !same || output.status.success() != (case["code"] == 0) {
            let shown = String::from_utf8_lossy(&output.stderr);
            wrong.push(format!("{chart} {}: {shown}", case["case"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_renders_the_same_from_a_folder_a_layout_and_a_registry() {
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/helm/data");
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start();
    let places = [
        format!("oci-layout:{}", folder.path().display()),
        format!("oci://{}/charts", registry.host()),
    ];
    let run = |words: &[&str]| {
        let mut command = command();
        let run = Run::of(command.args(words).arg("--plain-http"));
        assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
        run.stdout
    };
    let path = chart.display().to_string();
    for what in [["template", "rel"].as_slice(), &["show", "all"], &["images"]] {
        let expected = run(&[what, &[&path]].concat());
        for place in &places {
            run(&["push", &path, place]);
            let name = format!("{place}/c");
            let found = run(&[what, &[&name, "--version", "^1.0.0-0"]].concat());
            assert_eq!(found, expected, "{what:?} {name}");
        }
    }
}
