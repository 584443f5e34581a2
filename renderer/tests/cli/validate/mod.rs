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
