//! What a config becomes in a cluster: rendered by us, then by real Helm, and compared
//! with the objects that the design shows, built here a second time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "a test that can't go on should stop, and reads best as one story"
)]

mod expected;
mod flux;
mod generate;
mod table;
mod verify;

use std::path::Path;
use std::sync::Arc;

use solar_render::chart::Content;
use solar_render::config;
use solar_render::diag::Class;
use solar_render::pipeline;
use solar_render::source::Source;
use solar_render::value::{Number, Value};
use solar_render::yaml;
use testbed::{Tool, run};

/// Release name and namespace of every rendering.
pub(crate) const NAMESPACE: &str = "apps";

/// Renders a config, hands the chart to `helm template`, and reads the objects.
pub(crate) fn through_helm(config: &str, release: &str, extra: &[&str]) -> Vec<Value> {
    let chart = render(config);
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("chart");
    for (path, text) in &chart {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut helm = Tool::Helm.command(home.path());
    let text = run(helm
        .args(["template", release])
        .arg(&folder)
        .args(["--namespace", NAMESPACE])
        .args(extra));
    objects(&text)
}

/// A chart's files.
pub(crate) fn render(config: &str) -> Vec<(String, Vec<u8>)> {
    let source = Source::new("config.yaml", config);
    let config = config::parse(&source).unwrap_or_else(|problem| panic!("{problem}\n{config}"));
    let chart = solar_render::blueprint::render(&config, Path::new(".")).unwrap();
    let bytes = |content| match content {
        Content::Memory(bytes) => bytes,
        Content::Disk { .. } => panic!("a config's chart is in memory"),
    };
    chart
        .files
        .into_iter()
        .map(|file| (file.path, bytes(file.content)))
        .collect()
}

/// The documents of a rendering, in the order of kind and name.
pub(crate) fn objects(text: &str) -> Vec<Value> {
    let source = Source::new("helm template", text);
    let nodes = yaml::parse_all(&source, Class::Template, &yaml::Limits::default())
        .unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    let mut objects: Vec<Value> = nodes
        .iter()
        .map(|node| canonical(node.to_value()))
        .filter(|value| *value != Value::Null)
        .collect();
    objects.sort_by_key(sort_key);
    objects
}

/// Numbers as a float64 reader sees them: Helm's output is read so.
pub(crate) fn canonical(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(Number::Float(number.as_f64())),
        Value::List(items) => Value::List(items.into_iter().map(canonical).collect()),
        Value::Map(map) => Value::Map(
            map.into_iter()
                .map(|(key, value)| (key, canonical(value)))
                .collect(),
        ),
        other => other,
    }
}

pub(crate) fn sort_key(object: &Value) -> String {
    let field = |path: &[&str]| {
        let found = path
            .iter()
            .try_fold(object, |value, key| value.as_map()?.get(key));
        found.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    format!("{}/{}", field(&["kind"]), field(&["metadata", "name"]))
}

/// The digest of a config.
pub(crate) fn digest(text: &str) -> String {
    let source: Arc<Source> = Source::new("config", text);
    let mut packer = solar_render::package::Packer::new(1);
    pipeline::from_text(&source, Path::new("."), &mut packer)
        .unwrap()
        .artifact
        .digest
        .to_string()
}
