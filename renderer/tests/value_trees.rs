//! Charts in charts, and what becomes of their values: every case of
//! testdata/values/trees.in.yaml gives what Helm 4.3.1 gave (trees.out.json).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on should stop"
)]

use std::path::Path;
use std::sync::Arc;

use solar_render::chart::load::{Loaded, load_files};
use solar_render::diag::{Class, Diagnostics};
use solar_render::source::Source;
use solar_render::value::{Map, Number, Value};
use solar_render::values::set::{Meaning, PaddingBudget, set};
use solar_render::values::{Enabled, PreparedValues, prepare};
use solar_render::yaml::{self, Limits};

#[test]
fn each_tree_gives_what_it_gives_in_helm() {
    let cases = read("trees.in.yaml");
    let Value::Map(expected) = read("trees.out.json") else {
        panic!("a map of cases");
    };
    let Value::List(cases) = cases else {
        panic!("a list of cases");
    };
    assert_eq!(cases.len(), expected.len(), "recorded anew?");
    let mut wrong = Vec::new();
    for case in &cases {
        let name = text(field(case, "case"));
        let expected = expected.get(&name).expect("a recorded case");
        let (seen, wanted) = (seen(case), wanted(expected));
        if seen != wanted {
            wrong.push(format!("{name}\n  ours {seen}\n  helm {wanted}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cases differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testdata/values")
        .join(name);
    let source = Source::new(name, std::fs::read_to_string(path).unwrap());
    yaml::parse(&source, Class::Config, &Limits::default())
        .unwrap()
        .into_value()
}

fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.as_map().and_then(|map| map.get(name))
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What we make of a case, in one line.
fn seen(case: &Value) -> String {
    match run(case) {
        Ok(prepared) => {
            let mut charts: Vec<(String, Value)> = prepared
                .root
                .all()
                .into_iter()
                .filter(|one| !one.details.is_library())
                .map(|one| (one.path.clone(), described(one)))
                .collect();
            charts.sort_by(|a, b| a.0.cmp(&b.0));
            let mut warnings: Vec<String> = prepared.warnings.iter().map(|one| one.message.clone()).collect();
            warnings.sort();
            line(
                &Value::Map(prepared.values),
                &Value::Map(charts.into_iter().collect()),
                &warnings,
            )
        }
        Err(problem) => {
            let message = &problem.iter().next().unwrap().message;
            let subchart = message.strip_suffix(" is a subchart: its values must be a map");
            match subchart.and_then(|text| text.split(" but ").last()) {
                Some(name) => format!("error type mismatch on {name}"),
                None => format!("error {message}"),
            }
        }
    }
}

fn wanted(expected: &Value) -> String {
    if let Some(error) = field(expected, "error") {
        let error = text(Some(error));
        let error = error.strip_prefix("Error: ").unwrap_or(&error);
        let error = error
            .strip_prefix("chart dependencies processing failed: ")
            .unwrap_or(error);
        // Of what YAML can't be, each has its own words.
        return match error.strip_prefix("cannot load values.yaml: ") {
            Some(why) => {
                let kind = if why.contains("array") {
                    "a list"
                } else {
                    "a string"
                };
                format!("error values.yaml must hold a map, not {kind}")
            }
            // What the values are instead we say in our own words.
            None if error.starts_with("type mismatch on ") => {
                format!("error {}", error.split(':').next().unwrap_or_default())
            }
            None => format!("error {error}"),
        };
    }
    let Some(Value::List(warnings)) = field(expected, "warnings") else {
        panic!("warnings");
    };
    // A warning is drawn as one: it was "warning: warning: …".
    let plain = |text: String| text.strip_prefix("warning: ").map_or(text.clone(), str::to_owned);
    let warnings: Vec<String> = warnings.iter().map(|one| plain(text(Some(one)))).collect();
    line(
        field(expected, "values").unwrap(),
        field(expected, "charts").unwrap(),
        &warnings,
    )
}

fn line(values: &Value, charts: &Value, warnings: &[String]) -> String {
    format!("{} {} {warnings:?}", values.to_json(), charts.to_json())
}

/// `.Chart` as far as dependencies change it.
fn described(one: &Enabled) -> Value {
    let dependencies = one.details.dependencies().iter().map(|dependency| {
        let texts =
            |list: &[String]| Value::List(list.iter().map(|text| Value::from(text.as_str())).collect());
        Value::Map(Map::from_iter([
            ("Name", Value::from(dependency.name.as_str())),
            ("Version", Value::from(dependency.version.as_str())),
            ("Repository", Value::from(dependency.repository.as_str())),
            ("Condition", Value::from(dependency.condition.as_str())),
            ("Tags", texts(&dependency.tags)),
            ("Enabled", Value::Bool(dependency.enabled)),
            ("ImportValues", Value::List(dependency.import_values.clone())),
            ("Alias", Value::from(dependency.alias.as_str())),
        ]))
    });
    Value::Map(Map::from_iter([
        ("Name", Value::from(one.name())),
        ("Dependencies", Value::List(dependencies.collect())),
    ]))
}

fn run(case: &Value) -> Result<PreparedValues, Diagnostics> {
    let mut files = Vec::new();
    write(&mut files, "", "root", field(case, "chart").unwrap());
    let chart: Arc<Loaded> = load_files(files)?;
    let mut user = match field(case, "user") {
        Some(Value::Map(map)) => floats(map),
        _ => Map::default(),
    };
    if let Some(Value::List(texts)) = field(case, "set") {
        for one in texts {
            set(
                one.as_str().unwrap(),
                Meaning::Typed,
                &mut user,
                &mut PaddingBudget::default(),
            )?;
        }
    }
    prepare(&chart, &user)
}

fn floats(map: &Map) -> Map {
    fn one(value: &Value) -> Value {
        match value {
            Value::Number(number) => Value::Number(Number::Float(number.as_f64())),
            Value::List(items) => Value::List(items.iter().map(one).collect()),
            Value::Map(map) => Value::Map(floats(map)),
            other => other.clone(),
        }
    }
    map.iter().map(|(key, value)| (key.clone(), one(value))).collect()
}

/// The files that `record` writes.
fn write(files: &mut Vec<(String, Vec<u8>)>, folder: &str, name: &str, chart: &Value) {
    let empty = Value::empty_map();
    let chart = if matches!(chart, Value::Null) {
        &empty
    } else {
        chart
    };
    let get = |key: &str| field(chart, key);
    let version = if get("requirements").is_some() { "v1" } else { "v2" };
    let mut head = Map::from_iter([
        ("apiVersion", Value::from(version)),
        ("name", get("name").cloned().unwrap_or(Value::from(name))),
        ("version", get("version").cloned().unwrap_or(Value::from("1.0.0"))),
    ]);
    for key in ["type", "dependencies"] {
        if let Some(value) = get(key) {
            head.insert(key, value.clone());
        }
    }
    let mut put = |path: &str, text: String| files.push((format!("{folder}{path}"), text.into_bytes()));
    put("Chart.yaml", Value::Map(head).to_json());
    if let Some(list) = get("requirements") {
        put(
            "requirements.yaml",
            format!("{{\"dependencies\":{}}}", list.to_json()),
        );
    }
    match get("values") {
        Some(Value::String(text)) => put("values.yaml", text.clone()),
        Some(values) => put("values.yaml", values.to_json()),
        None => {}
    }
    put("templates/seen.txt", "SEEN\n".to_owned());
    if let Some(Value::Map(charts)) = get("charts") {
        for (below, sub) in charts {
            write(files, &format!("{folder}charts/{below}/"), below, sub);
        }
    }
}

fn prepared(files: &[(&str, String)]) -> Result<PreparedValues, Diagnostics> {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.clone().into_bytes()))
        .collect();
    prepare(&load_files(files)?, &Map::default())
}

fn importing(imports: &str, values: String) -> Result<PreparedValues, Diagnostics> {
    let dependency = format!("{{name: sub, version: '*', import-values: [{imports}]}}");
    prepared(&[
        (
            "Chart.yaml",
            format!("apiVersion: v2\nname: root\nversion: 1.0.0\ndependencies: [{dependency}]\n"),
        ),
        (
            "charts/sub/Chart.yaml",
            "apiVersion: v2\nname: sub\nversion: 1.0.0\n".to_owned(),
        ),
        ("charts/sub/values.yaml", values),
    ])
}

#[test]
fn imports_into_themselves_and_to_endless_paths_end() {
    let circle = "{child: a, parent: x}, {child: a.below, parent: x.below.deep}";
    let endless = format!("{{child: a, parent: {}}}", "x.".repeat(100_000));
    for imports in [circle, &endless] {
        let found = importing(imports, "a: {below: {k: 1}}\n".to_owned());
        let message = found.unwrap_err().to_string();
        assert!(message.contains("nest more than 1100 deep"), "{message}");
    }
}

#[test]
fn values_as_deep_as_yaml_may_be_are_put_together() {
    let depth = Limits::DEPTH - 1;
    let deep = format!("{}1{}", "{a: ".repeat(depth), "}".repeat(depth));
    let values = importing("{child: a, parent: x}", deep).unwrap().values;
    assert!(values.contains_key("x"));
}
