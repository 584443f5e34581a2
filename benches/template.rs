//! Rendering, step by step and as a whole, on one core: `cargo bench --bench template`.
//!
//! The text is a typical Deployment: labels by `include`, conditions, loops. Tokenizing is a part of `parse`.
#![allow(clippy::unwrap_used, reason = "a benchmark that can't go on should stop")]

use std::sync::Arc;

use divan::Bencher;
use divan::counter::BytesCount;
use solar_render::chart::load::load_files;
use solar_render::engine::{
    Limits, ParsedChart, Program, ProgramUnit, RenderInput, RenderRequest, functions,
};
use solar_render::funcs::ClusterObjects;
use solar_render::source::Source;
use solar_render::template::Val;
use solar_render::value::{Map, Value};
use solar_render::values::prepare;
use solar_render::world::Fixed;

const HELPERS: &str = r#"{{- define "app.name" -}}{{ .Values.name | default .Release.Name }}{{- end }}
{{- define "app.labels" -}}
app.kubernetes.io/name: {{ include "app.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- range $key, $value := .Values.labels }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end }}"#;

const DEPLOYMENT: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "app.name" . }}
  labels:
    {{- include "app.labels" . | nindent 4 }}
spec:
  {{- if not .Values.autoscaling }}
  replicas: {{ .Values.replicas }}
  {{- end }}
  selector:
    matchLabels: {{- include "app.labels" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "app.labels" . | nindent 8 }}
    spec:
      containers:
        {{- range $index, $one := .Values.containers }}
        - name: {{ $one.name }}
          image: {{ printf "%s/%s:%s" $one.registry $one.repository ($one.tag | default "latest") }}
          {{- with $one.env }}
          env:
            {{- range $name, $value := . }}
            - {name: {{ $name }}, value: {{ $value | quote }}}
            {{- end }}
          {{- end }}
          {{- if and $one.port (gt (int $one.port) 0) }}
          ports: [{containerPort: {{ $one.port }}}]
          {{- end }}
          resources: {{- toYaml $one.resources | nindent 12 }}
        {{- end }}
"#;

const VALUES: &str = r#"{"name":"shop","replicas":3,"labels":{"a":"1","b":"2","team":"core"},"containers":[
{"name":"web","registry":"r.example","repository":"shop/web","tag":"1.2","port":8080,"env":{"A":"1","B":"2","C":"3"},"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"100m"}}},
{"name":"side","registry":"r.example","repository":"shop/side","port":0,"resources":{}}]}"#;

fn main() {
    divan::main();
}

fn values() -> Map {
    let source = Source::new("values", VALUES);
    let limits = solar_render::yaml::Limits::default();
    match solar_render::yaml::parse(&source, solar_render::diag::Class::Values, &limits)
        .unwrap()
        .into_value()
    {
        Value::Map(map) => map,
        _ => Map::default(),
    }
}

fn unit(copies: usize) -> ProgramUnit {
    let mut templates = vec![("templates/_helpers.tpl".to_owned(), Source::new("h", HELPERS))];
    templates.extend(
        (0..copies).map(|number| (format!("templates/d{number}.yaml"), Source::new("d", DEPLOYMENT))),
    );
    ProgramUnit {
        name: "app".to_owned(),
        path: "app".to_owned(),
        metadata: Map::default(),
        library: false,
        templates,
        files: Vec::new(),
        children: Vec::new(),
    }
}

#[divan::bench]
fn parse(bencher: Bencher<'_, '_>) {
    let (name, source) = (Arc::from("d"), Source::new("d", DEPLOYMENT));
    bencher
        .counter(BytesCount::of_str(DEPLOYMENT))
        .bench(|| functions().parse(&name, &source).unwrap());
}

/// A chart with this number of deployments: the times show the exponent.
#[divan::bench(args = [1, 10, 100, 1000])]
fn execute(bencher: Bencher<'_, '_>, copies: usize) {
    let program = Program::new(unit(copies)).unwrap();
    let (values, release) = (
        values(),
        [("Name", Value::from("rel"))].into_iter().collect::<Map>(),
    );
    let input = RenderInput {
        values: &values,
        release: &release,
        capabilities: &|| Val::Nil,
        world: Arc::new(Fixed::default()),
        seed: None,
        lint: false,
        limits: Limits::default(),
        traced: std::collections::BTreeSet::new(),
        cluster: Arc::new(ClusterObjects::default()),
        seeded: Arc::default(),
    };
    let bytes: usize = program
        .render(&input)
        .unwrap()
        .texts
        .iter()
        .map(|(_, text)| text.len())
        .sum();
    bencher
        .counter(BytesCount::new(bytes))
        .bench(|| program.render(&input).unwrap());
}

/// `toYaml` of this number of copies of the values.
#[divan::bench(args = [1, 100])]
fn to_yaml(bencher: Bencher<'_, '_>, copies: usize) {
    let list = Value::List(vec![Value::Map(values()); copies]);
    bencher
        .counter(BytesCount::of_str(&solar_render::yaml::write(&list)))
        .bench(|| solar_render::yaml::write(&list));
}

/// Files of a chart with this number of subcharts, each with values, templates and values from its parent.
fn files(subcharts: usize) -> Vec<(String, Vec<u8>)> {
    let chart = |name: &str| format!("{{apiVersion: v2, name: {name}, version: 1.0.0}}").into_bytes();
    let mut values = String::from(VALUES.trim_end().trim_end_matches('}'));
    let mut files = vec![("Chart.yaml".to_owned(), chart("app"))];
    for number in 0..subcharts {
        let below = format!("charts/sub{number}");
        values.push_str(&format!(
            r#","sub{number}":{{"replicas":{number},"labels":{{"b":null}}}}"#
        ));
        files.push((format!("{below}/Chart.yaml"), chart(&format!("sub{number}"))));
        files.push((format!("{below}/values.yaml"), VALUES.into()));
        files.push((format!("{below}/templates/_helpers.tpl"), HELPERS.into()));
        files.push((format!("{below}/templates/deployment.yaml"), DEPLOYMENT.into()));
    }
    values.push('}');
    files.push(("values.yaml".to_owned(), values.into_bytes()));
    files
}

/// Merging the values of a chart with this number of subcharts.
#[divan::bench(args = [1, 8, 64])]
fn coalesce(bencher: Bencher<'_, '_>, subcharts: usize) {
    let chart = load_files(files(subcharts)).unwrap();
    let user = values();
    bencher.bench(|| prepare(&chart, &user).unwrap());
}

/// Renders a whole chart from files in memory.
#[divan::bench(args = [1, 8, 64])]
fn whole_chart(bencher: Bencher<'_, '_>, subcharts: usize) {
    bencher.with_inputs(|| files(subcharts)).bench_values(|files| {
        ParsedChart::from_files(files)
            .unwrap()
            .render(&RenderRequest::new("rel"))
            .unwrap()
    });
}
