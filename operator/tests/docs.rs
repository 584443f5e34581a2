//! What the pages say of the operator: commands and flags that exist, and the generated page of the custom resources,
//! which `UPDATE_DOCS=1 cargo test -p solar-operator --test docs` writes from what `solar-operator crds` prints; and that
//! the order of modules in `lib.rs` is true.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests stop at once when something isn't as it should be, and UPDATE_DOCS is asked for"
)]

#[path = "../../renderer/tests/docs/commands.rs"]
mod commands;
#[path = "../../renderer/tests/docs/markdown.rs"]
mod markdown;
#[path = "../../renderer/tests/docs/module_order.rs"]
mod module_order;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use commands::Program;
use serde_json::Value;
use solar_render::diag::Class;
use solar_render::source::Source;
use solar_render::yaml::{self, Limits};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/crds.md");
/// The pages about the operator, whose flags are its own.
const PAGES: &[&str] = &[
    "docs/cluster-addons.md",
    "docs/moving-from-solar.md",
    "docs/operator.md",
    "docs/pipeline.md",
    "docs/runbook.md",
];
/// Flags of other programs that these pages name.
const FLAGS_OF_OTHERS: &[&str] = &["--server-side"];
/// Fields with arbitrary content are not descended into.
const ANY: &str = "x-kubernetes-preserve-unknown-fields";

const INTRODUCTION: &str = "\
# Custom resources

<!-- Generated from the CRDs. To make it again: UPDATE_DOCS=1 cargo test -p solar-operator --test docs -->

The custom resources of `solar-operator`, as `solar-operator crds` prints them. What they are for is described in
[Operator](../operator.md).

`<key>` in a field's path stands for any key of a map, `[]` for each item of a list.
";

fn crds() -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_solar-operator"))
        .arg("crds")
        .output()
        .unwrap();
    let source = Source::new("crds", String::from_utf8(output.stdout).unwrap());
    let documents = yaml::parse_all(&source, Class::Internal, &Limits::default()).unwrap();
    let json = documents
        .into_iter()
        .map(|document| document.into_value().to_json());
    json.map(|json| serde_json::from_str(&json).unwrap()).collect()
}

fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    value.pointer(path).and_then(Value::as_str).unwrap_or("")
}

fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// One cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

fn type_of(schema: &Value) -> String {
    match text(schema, "/type") {
        "array" => format!("list of {}", type_of(&schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("map of {}", type_of(&schema["additionalProperties"]))
        }
        "" if schema["x-kubernetes-int-or-string"] == true => "integer or string".into(),
        "" => "any".into(),
        name => match text(schema, "/format") {
            "date-time" => "time".into(),
            _ => name.into(),
        },
    }
}

/// What a value must be besides its type.
fn bounds(schema: &Value) -> Vec<String> {
    let mut bounds = Vec::new();
    let allowed = schema["enum"].as_array().into_iter().flatten();
    let allowed: Vec<String> = allowed
        .filter(|one| !one.is_null())
        .map(|one| {
            format!(
                "`{}`",
                one.as_str().map_or_else(|| one.to_string(), str::to_owned)
            )
        })
        .collect();
    if !allowed.is_empty() {
        bounds.push(format!("One of {}.", allowed.join(", ")));
    }
    let limits = [
        ("minimum", "At least"),
        ("maximum", "At most"),
        ("minLength", "Characters, at least:"),
        ("maxLength", "Characters, at most:"),
        ("minItems", "Items, at least:"),
        ("maxItems", "Items, at most:"),
        ("maxProperties", "Keys, at most:"),
    ];
    for (key, words) in limits {
        match &schema[key] {
            Value::Null => {}
            // Every required text has at least one; that is what required means to a reader.
            one if key == "minLength" && one.as_f64() == Some(1.0) => bounds.push("Not empty.".into()),
            one => bounds.push(format!("{words} {one}.")),
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        bounds.push(format!("Matches `{pattern}`."));
    }
    for rule in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        bounds.push(format!("Rule: {}.", text(rule, "/message").trim_end_matches('.')));
    }
    bounds
}

/// A row for each field below `schema`, and for those below them.
fn rows(schema: &Value, path: &str, out: &mut String) {
    let required = texts(&schema["required"]);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}{name}");
        let mut about = vec![text(field, "/description").to_owned()];
        about.extend(bounds(field));
        let default = match &field["default"] {
            Value::Null if required.contains(&name.as_str()) => "required".to_owned(),
            Value::Null => String::new(),
            other => format!("`{other}`"),
        };
        let about = cell(&about.join(" "));
        writeln!(out, "| `{path}` | {} | {default} | {about} |", type_of(field)).unwrap();
        below(field, &path, out);
    }
}

fn below(field: &Value, path: &str, out: &mut String) {
    if field[ANY] == true {
        return;
    }
    let (inner, step) = match (&field["items"], &field["additionalProperties"]) {
        (items, _) if items.is_object() => (items, "[]"),
        (_, values) if values.is_object() => (values, ".<key>"),
        _ => (field, ""),
    };
    if inner["properties"].is_object() {
        rows(inner, &format!("{path}{step}."), out);
    } else if step == "[]" || step == ".<key>" {
        below(inner, &format!("{path}{step}"), out);
    }
}

fn schema(crd: &Value) -> &Value {
    crd.pointer("/spec/versions/0/schema/openAPIV3Schema")
        .unwrap_or(&Value::Null)
}

fn page(crds: &[Value]) -> String {
    let mut out = INTRODUCTION.to_owned();
    let mut written: Vec<(&Value, &str)> = Vec::new();
    for crd in crds {
        let kind = text(crd, "/spec/names/kind");
        let version = text(crd, "/spec/versions/0/name");
        let group = text(crd, "/spec/group");
        let schema = schema(crd);
        let short = texts(&crd["spec"]["names"]["shortNames"]).join("`, `");
        writeln!(out, "\n## {kind}\n\n{}\n", text(schema, "/description")).unwrap();
        writeln!(
            out,
            "| apiVersion | scope | plural | short |\n|---|---|---|---|\n| `{group}/{version}` | {} | `{}` | `{short}` |",
            text(crd, "/spec/scope"),
            text(crd, "/spec/names/plural"),
        )
        .unwrap();
        for (name, of) in schema["properties"].as_object().into_iter().flatten() {
            if of["properties"].is_null() {
                continue;
            }
            writeln!(out, "\n### {kind}: {name}\n").unwrap();
            let lines = [text(of, "/description").to_owned(), bounds(of).join(" ")];
            let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
            writeln!(out, "{}\n", lines.join("\n\n")).unwrap();
            match written.iter().find(|(other, _)| *other == of) {
                Some((_, other)) => writeln!(out, "The fields are those of {other}.").unwrap(),
                None => {
                    out.push_str("| field | type | default | description |\n|---|---|---|---|\n");
                    rows(of, "", &mut out);
                    written.push((of, kind));
                }
            }
        }
    }
    out
}

#[test]
fn the_page_of_custom_resources_is_what_the_crds_say() {
    let crds = crds();
    assert!(!crds.is_empty());
    let page = page(&crds);
    for crd in &crds {
        let kind = text(crd, "/spec/names/kind");
        assert!(page.contains(&format!("## {kind}\n")), "{kind} is missing");
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(Path::new(PAGE).parent().unwrap()).unwrap();
        std::fs::write(PAGE, &page).unwrap();
    }
    let stored = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        stored == page,
        "docs/reference/crds.md is stale: UPDATE_DOCS=1 cargo test -p solar-operator --test docs"
    );
}

#[test]
fn commands_and_flags_on_the_pages_exist() {
    let program = Program::new("solar-operator", env!("CARGO_BIN_EXE_solar-operator"), &[]);
    let mut problems = Vec::new();
    for page in markdown::pages() {
        problems.extend(program.problems(&page));
        if PAGES.contains(&page.path.as_str()) {
            problems.extend(program.unknown_flags(&page, FLAGS_OF_OTHERS));
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}
