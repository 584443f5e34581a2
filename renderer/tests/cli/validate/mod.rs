//! `validate`: objects against the schemas of Kubernetes and of CRDs.

mod formats;
pub(crate) mod json_schemas;
mod lines;
mod peers;
mod versions;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Run, command};

/// A chart `shop` with these files.
fn shop(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
    let shop = folder.join("shop");
    let chart = ("Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n");
    for (path, text) in [&[chart], files].concat() {
        let path = shop.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    shop
}

fn validate(chart: &Path, more: &[&str]) -> Run {
    let mut command = command();
    command.arg("validate").arg(chart).args(more);
    Run::of(&mut command)
}

/// The findings of a run, each with its rule, field and location.
fn findings(chart: &Path, more: &[&str]) -> Vec<Value> {
    let run = validate(chart, &[&["-o", "json"], more].concat());
    let json = run.json();
    json["findings"]
        .as_array()
        .unwrap_or_else(|| panic!("{}{}", run.stdout, run.stderr))
        .clone()
}

/// `rule field` of each finding.
fn rules(chart: &Path, more: &[&str]) -> Vec<String> {
    let findings = findings(chart, more);
    let shown = findings.iter().map(|one| {
        let text = |key: &str| one[key].as_str().unwrap().to_owned();
        format!("{} {}", text("rule"), text("field"))
    });
    shown.collect()
}

/// It was once an error, so that no repository with one could be validated.
#[test]
fn a_library_chart_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    shop(
        folder.path(),
        &[(
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        )],
    );
    let library = folder.path().join("common");
    fs::create_dir_all(library.join("templates")).unwrap();
    fs::write(
        library.join("Chart.yaml"),
        "apiVersion: v2\nname: common\nversion: 1.0.0\ntype: library\n",
    )
    .unwrap();
    fs::write(library.join("templates/_a.tpl"), "{{ define \"a\" }}{{ end }}").unwrap();
    let run = validate(folder.path(), &["-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json = run.json();
    assert_eq!(json["total"]["charts"], 2);
    assert_eq!(json["total"]["objects"], 1);
}

#[test]
fn why_charts_cant_be_rendered_decides_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let unreachable = validate(Path::new("oci://127.0.0.1:1/shop"), &["--retries", "0"]);
    assert_eq!(unreachable.code, 5, "{}", unreachable.stderr);
    let broken = shop(folder.path(), &[("templates/a.yaml", "{{ if")]);
    let run = validate(&broken, &[]);
    assert_eq!(run.code, 1);
    let last = run.stderr.lines().last();
    assert_eq!(last, Some("error: charts can't be rendered: 1 error"));
}
