//! The programs in `examples/` do what their first lines say.
#![allow(clippy::unwrap_used, reason = "a test that can't go on should stop")]
#![allow(
    dead_code,
    reason = "of each program only its function is called here, not `main`"
)]

#[path = "../examples/objects.rs"]
mod objects;
#[path = "../examples/push_config.rs"]
mod push_config;
#[path = "../examples/render_chart.rs"]
mod render_chart;

use std::fs;
use std::path::{Path, PathBuf};

use solar_render::draw::Style;
use solar_render::report::Outcome;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn a_chart_is_rendered_with_the_values_of_file_and_flag() {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("shop");
    fs::create_dir_all(chart.join("templates")).unwrap();
    fs::write(
        chart.join("Chart.yaml"),
        "{apiVersion: v2, name: shop, version: 1.0.0}",
    )
    .unwrap();
    let template = "image: {{ .Values.image.name }}:{{ .Values.image.tag }}\nin: {{ .Release.Namespace }}\n\
                    on: {{ .Capabilities.KubeVersion }}\n";
    fs::write(chart.join("templates/a.yaml"), template).unwrap();
    let chart = chart.to_str().unwrap();
    let text = render_chart::render(chart, "image: {name: web, tag: old}").unwrap();
    let expected = "---\n# Source: shop/templates/a.yaml\nimage: web:1.2.3\nin: prod\non: v1.31\n";
    assert_eq!(text, expected);

    let problem = render_chart::render(chart, "image: [").unwrap_err();
    let drawn = problem.draw(Style::Plain);
    assert!(drawn.contains("values.yaml:1:"), "{drawn}");
    assert!(drawn.contains("1 | image: ["), "{drawn}");
}

#[test]
fn objects_come_with_their_templates() {
    let deployment = (
        "Deployment/shop".to_owned(),
        "shop/templates/deployment.yaml".to_owned(),
    );
    assert_eq!(objects::objects(3).unwrap(), [deployment]);
}

#[test]
fn a_config_is_pushed_and_unchanged_when_pushed_again() {
    let folder = tempfile::tempdir().unwrap();
    let config = repository().join("testdata/release.yaml");
    let push = || {
        let target = format!("oci-layout:{}", folder.path().display());
        let report = push_config::push(config.to_str().unwrap(), &target).unwrap();
        report.outcome.unwrap()
    };
    assert_eq!([push(), push()], [Outcome::Created, Outcome::Unchanged]);
    let problem = push_config::push(config.to_str().unwrap(), "nowhere").unwrap_err();
    assert!(
        problem.to_string().starts_with("nowhere is no target"),
        "{problem}"
    );
}
