use super::*;
use crate::chart::load;
use crate::values::dependencies::{missing_charts, prepare};
use crate::values::schema::{Level, validate};

const VALUES: &str = "\
# -- How many pods there are,
# at least one
# @schema
# minimum: 1
# @schema
replicas: 2
name: shop
ratio: 0.5
tag: \"\"
anything:
debug: false
image:
  repository: shop # @schema pattern:^[a-z/]+$;required:true
  pullPolicy: Always # @schema enum:[Always, Never]
hosts: []
ports: [80]
annotations: {}
config: |
  a: 1
internal: 1 # @schema hidden:true
list: [] # @schema item:string;minItems:0;type:[array, null]
";

fn chart(values: &str) -> Arc<Loaded> {
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    load::load_files(vec![
        file("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"),
        file("values.yaml", values),
        file(
            "templates/a.yaml",
            "{{ toYaml .Values.annotations }}{{ tpl .Values.config . }}{{ .Values.name }}",
        ),
    ])
    .unwrap()
}

fn map(text: &str) -> Map {
    let source = Source::new("given.yaml", text);
    match yaml::parse(&source, Class::Values, &yaml::Limits::default())
        .unwrap()
        .into_value()
    {
        Value::Map(map) => map,
        other => panic!("{other:?}"),
    }
}

fn accepts(chart: &Arc<Loaded>, schema: &str, given: &Map) -> bool {
    let schema = Source::new("values.schema.json", schema);
    let level = Level {
        chart: "",
        schema: Some(&schema),
        children: Vec::new(),
    };
    let prepared = prepare(chart, given).unwrap();
    validate(&level, &prepared.values, &|_| None).is_ok()
}

#[test]
fn the_schema_is_made_of_values_comments_and_templates() {
    insta::assert_snapshot!(schema_of(&chart(VALUES), &[]).unwrap());
}

#[test]
fn it_accepts_the_charts_values_and_refuses_wrong_types() {
    let chart = chart(VALUES);
    let schema = schema_of(&chart, &[]).unwrap();
    assert_eq!(schema, schema_of(&chart, &[]).unwrap());
    for good in [
        "{}",
        "replicas: 3",
        "tag: 1",
        "tag: x",
        "tag: true",
        "anything: {a: 1}",
        "annotations: {a: b}",
        "annotations: \"{{ x }}\"",
        "image: {pullPolicy: Never, more: 1}",
        "other: 1",
        "ports: [1, x]",
        "ratio: 1",
        "config: {a: 1}",
        "list: [a]",
        "debug: null",
    ] {
        assert!(accepts(&chart, &schema, &map(good)), "{good}");
    }
    for bad in [
        "replicas: two",
        "replicas: 0",
        "replicas: 1.5",
        "replicas: [1]",
        "name: 1",
        "name: {a: 1}",
        "name: true",
        "ratio: half",
        "tag: [a]",
        "tag: {a: 1}",
        "debug: \"yes\"",
        "debug: 1",
        "image: shop",
        "image: {repository: UPPER}",
        "image: {repository: null}",
        "image: {pullPolicy: always}",
        "hosts: a",
        "ports: 80",
        "list: [1]",
        "list: a",
        "annotations: 1",
    ] {
        assert!(!accepts(&chart, &schema, &map(bad)), "{bad}");
    }
}

#[test]
fn what_ci_files_set_is_accepted() {
    let given = map("name: 1\nhosts: x\nimage: {tag: 1, repository: [a]}");
    let chart = chart("name: a\nhosts: []\nimage: {tag: a, repository: b}\n");
    let schema = schema_of(&chart, &[&given]).unwrap();
    assert!(accepts(&chart, &schema, &given));
    assert!(!accepts(&chart, &schema_of(&chart, &[]).unwrap(), &given));
}

#[test]
fn wrong_annotations_are_errors_at_their_lines() {
    for (values, message, place) in [
        (
            "a: 1 # @schema minimun:1\n",
            "unknown keyword `minimun`",
            "values.yaml:1:6",
        ),
        (
            "b: 1\n# @schema\n# [a\n# @schema\na: 1\n",
            "the annotation is not YAML",
            "values.yaml:3:1",
        ),
        (
            "# @schema\n# just text\n# @schema\na: 1\n",
            "must be a map of keywords",
            "values.yaml:2:1",
        ),
        // These were once written into the schema.
        (
            "# @schema\n# type: strin\n# @schema\na: 1\n",
            "at '/type': ",
            "values.yaml:2:1",
        ),
        (
            "a: 1 # @schema minimum:abc\n",
            "at '/minimum': ",
            "values.yaml:1:6",
        ),
        (
            "a: x # @schema pattern:[a\n",
            "not a regular expression: ",
            "values.yaml:1:6",
        ),
        (
            "a: x # @schema pattern:^[a;b]$\n",
            "unknown keyword `b]$`",
            "values.yaml:1:6",
        ),
        (
            "# @schema.root\n# additionalProperties: 1\n# @schema.root\na: x\n",
            "at '/additionalProperties': ",
            "values.yaml:2:1",
        ),
    ] {
        let problem = schema_of(&chart(values), &[]).unwrap_err();
        let one = problem.iter().next().unwrap();
        assert!(one.message.contains(message), "{values}: {one:?}");
        assert_eq!(one.location.as_ref().unwrap().to_string(), place);
    }
}

#[test]
fn maps_below_the_limit_of_nesting_are_any_map() {
    let mut values = String::new();
    for depth in 0..=MAX_NESTING {
        values.push_str(&format!("{}a:\n", "  ".repeat(depth)));
    }
    values.push_str(&format!("{}a: 1\n", "  ".repeat(MAX_NESTING + 1)));
    let schema = schema_of(&chart(&values), &[]).unwrap();
    assert_eq!(schema.matches("\"properties\"").count(), MAX_NESTING);
}

/// The schemas of public charts accept the charts' own values and their ci values.
#[test]
#[ignore = "opt-in: CHART_CORPUS names a folder with public charts"]
#[allow(clippy::disallowed_methods, reason = "a test that is asked for by a variable")]
fn public_charts_values_are_accepted() {
    let folders = |path: std::path::PathBuf| -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let corpus = std::env::var_os("CHART_CORPUS").map(std::path::PathBuf::from);
    let charts = corpus.into_iter().flat_map(folders).flat_map(folders);
    let mut refused = Vec::new();
    for path in charts.filter(|path| path.join("Chart.yaml").is_file()) {
        let chart = load::load(&path).unwrap();
        if !missing_charts(&chart).is_empty() {
            continue;
        }
        let mut given = vec![Map::default()];
        for file in folders(path.join("ci"))
            .iter()
            .filter(|path| path.to_string_lossy().ends_with("-values.yaml"))
        {
            let text = std::fs::read_to_string(file).unwrap();
            if !text
                .lines()
                .all(|line| line.trim().is_empty() || line.starts_with(['#', '-']))
            {
                given.push(map(&text));
            }
        }
        let schema = schema_of(&chart, &given.iter().collect::<Vec<_>>());
        match schema {
            Ok(schema) => {
                let bad = given
                    .iter()
                    .filter(|values| !accepts(&chart, &schema, values))
                    .count();
                refused.extend((bad > 0).then(|| format!("{}: {bad} of {}", path.display(), given.len())));
            }
            Err(problem) => refused.push(format!("{}: {problem}", path.display())),
        }
    }
    assert_eq!(refused, [""; 0]);
}

#[test]
fn an_annotation_behind_a_flow_map_is_that_of_the_whole() {
    let values = "image: {repository: shop, more: {a: 1}, none} # @schema description:the image\nempty: # @schema type:string\n";
    let schema: Json = serde_json::from_str(&schema_of(&chart(values), &[]).unwrap()).unwrap();
    let image = &schema["properties"]["image"];
    assert_eq!(image["description"], "the image");
    assert_eq!(image["properties"]["repository"], json!({"type": "string"}));
    assert_eq!(image["properties"]["more"]["description"], Json::Null);
    assert_eq!(image["properties"]["none"], json!({}));
    assert_eq!(schema["properties"]["empty"]["type"], "string");
}

/// What helm-values-schema-json 2.3.1 makes of the same comments, without what is inferred.
#[test]
fn short_annotations_may_stand_above_behind_and_below_a_key() {
    for (values, expected) in [
        (
            "# @schema maxLength:9;minLength:1\na: x\n",
            json!({"maxLength": 9, "minLength": 1, "type": "string"}),
        ),
        (
            "# @schema minLength:1\n# -- described\n# @schema maxLength:3\na: x # @schema pattern:^n\n",
            json!({"description": "described", "maxLength": 3, "minLength": 1, "pattern": "^n", "type": "string"}),
        ),
        (
            "a:\n  p: 1\n# @schema additionalProperties:false\n",
            json!({"additionalProperties": false, "properties": {"p": {"type": "integer"}}, "type": "object"}),
        ),
        (
            "a:\n# @schema type:[string, null]\n\nb: 1\n",
            json!({"type": ["string", "null"]}),
        ),
        (
            "a: |\n  x\n# @schema minLength:1\n\nb: 1\n",
            json!({"minLength": 1, "type": "string"}),
        ),
        (
            "a: x # @schema type: string, null\n",
            json!({"type": ["string", "null"]}),
        ),
        (
            "a: [] # @schema item: string, null\n",
            json!({"items": {"type": ["string", "null"]}, "type": "array"}),
        ),
        ("a: x # @schema enum: x, z\n", json!({"enum": ["x", "z"]})),
        ("a: x # @schema enum: x\n", json!({"enum": ["x"]})),
        (
            "a: x # @schema title: My title ; description: It is: x\n",
            json!({"description": "It is: x", "title": "My title", "type": "string"}),
        ),
        (
            "a: x # @schema pattern:[a-z]+$\n",
            json!({"pattern": "[a-z]+$", "type": "string"}),
        ),
        (
            "a: {b: 1} # @schema $ref: https://example.com/s.json\n",
            json!({
                "allOf": [{"$ref": "https://example.com/s.json"}],
                "properties": {"b": {"type": "integer"}},
            }),
        ),
        (
            "a: x # @schema readOnly\n",
            json!({"readOnly": true, "type": "string"}),
        ),
    ] {
        let schema: Json = serde_json::from_str(&schema_of(&chart(values), &[]).unwrap()).unwrap();
        assert_eq!(schema["properties"]["a"], expected, "{values}");
    }
}

#[test]
fn a_comment_that_another_key_follows_is_that_keys() {
    let values = "a: x\n# @schema minLength:1\nb: x # @schema required\n";
    let schema: Json = serde_json::from_str(&schema_of(&chart(values), &[]).unwrap()).unwrap();
    assert_eq!(schema["properties"]["a"], json!({"type": "string"}));
    assert_eq!(
        schema["properties"]["b"],
        json!({"minLength": 1, "type": "string"})
    );
    assert_eq!(schema["required"], json!(["b"]));
}

#[test]
fn a_root_block_is_about_all_values() {
    let values = "# @schema.root\n# title: Shop\n# additionalProperties: false\n# @schema.root\n# @schema\n# minimum: 1\n# @schema\na: 1\n";
    let chart = chart(values);
    let text = schema_of(&chart, &[]).unwrap();
    let schema: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(schema["title"], "Shop");
    assert_eq!(
        schema["properties"]["a"],
        json!({"minimum": 1, "type": "integer"})
    );
    assert!(accepts(&chart, &text, &map("a: 2")));
    assert!(!accepts(&chart, &text, &map("b: 2")));
}

/// Each key was once searched for the whole line around it.
#[test]
fn a_line_with_very_many_keys_is_read_once() {
    let keys: Vec<String> = (0..100_000).map(|number| format!("k{number}: 1")).collect();
    let values = format!("all: {{{}}}\n", keys.join(", "));
    let schema = schema_of(&chart(&values), &[]).unwrap();
    assert!(schema.contains("\"k99999\""));
}
