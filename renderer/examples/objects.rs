//! The objects of a chart in memory, with values from Rust: `cargo run --example objects`

use std::collections::BTreeMap;

use solar_render::diag::Result;
use solar_render::engine::{ParsedChart, RenderRequest};

/// What the chart's values look like.
#[derive(serde::Serialize)]
struct ShopValues {
    replicas: u32,
    labels: BTreeMap<&'static str, &'static str>,
}

fn chart() -> Result<ParsedChart> {
    const CHART: &str = "{apiVersion: v2, name: shop, version: 1.0.0}";
    const TEMPLATE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {{- toYaml .Values.labels | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
";
    ParsedChart::from_files(vec![
        ("Chart.yaml".to_owned(), CHART.into()),
        ("templates/deployment.yaml".to_owned(), TEMPLATE.into()),
    ])
}

/// `kind/name` of each object, and the template that it comes from.
pub(crate) fn objects(replicas: u32) -> Result<Vec<(String, String)>> {
    let labels = BTreeMap::from([("team", "shop")]);
    let request = RenderRequest::new("shop").values("our values", &ShopValues { replicas, labels })?;
    let chart = chart()?;
    let rendered = chart.render(&request)?;
    let manifests = chart.manifests(&request, rendered.texts, false)?;
    let list = manifests.manifests.iter();
    Ok(list
        .map(|one| (format!("{}/{}", one.kind, one.name), one.source.to_string()))
        .collect())
}

#[allow(clippy::print_stdout, reason = "it is a program")]
fn main() -> Result<()> {
    for (object, template) in objects(3)? {
        println!("{object} of {template}");
    }
    Ok(())
}
