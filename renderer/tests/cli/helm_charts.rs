//! Whole charts: what Helm 4.3.1 printed for each run of `testdata/helm/charts`, to the byte,
//! and whether it failed.

use std::path::Path;

use crate::command;

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
