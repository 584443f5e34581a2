//! The reference page of the JSON documents, `docs/reference/result.md`, made from their types.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

use super::application::ApplyDocument;
use super::comparison::CompareDocument;
use super::difference::DiffDocument;
use super::documents::{
    CacheDocument, DependencyDocument, EnvDocument, FunctionsDocument, ImagesDocument, LintDocument,
    PluginsDocument, RepositoriesDocument, RulesDocument, SearchDocument, ShowDocument, TagsDocument,
    TemplateDocument, VersionDocument,
};
use super::testing::TestDocument;
use super::validation::ValidateDocument;
use super::values::{ValuesCheckDocument, ValuesDocsDocument, ValuesSchemaDocument};
use super::{MAX_DOCUMENT, Outcome, Report, SCHEMA};
use crate::diag::Class;

const HEAD: &str = "\
# Result documents

<!-- Generated from the types of the documents. To make it again: UPDATE_DOCS=1 cargo test -p solar-render --lib report::page -->

With `-o json` a command prints exactly one of these documents, on one line. [Results](../results.md) says where they are written. Fields are added within a schema, never
renamed or removed. A field marked *optional* is absent when there is nothing to say.

";

/// The commands that print a document of their own.
fn documents() -> [(&'static str, Schema); 22] {
    [
        ("template", schema::<TemplateDocument>()),
        ("lint", schema::<LintDocument>()),
        ("lint --rules", schema::<RulesDocument>()),
        ("images", schema::<ImagesDocument>()),
        ("test", schema::<TestDocument>()),
        ("validate", schema::<ValidateDocument>()),
        ("diff", schema::<DiffDocument>()),
        ("apply", schema::<ApplyDocument>()),
        ("values check", schema::<ValuesCheckDocument>()),
        ("values schema", schema::<ValuesSchemaDocument>()),
        ("values docs", schema::<ValuesDocsDocument>()),
        ("compare", schema::<CompareDocument>()),
        ("show", schema::<ShowDocument>()),
        ("dependency list", schema::<DependencyDocument>()),
        ("functions", schema::<FunctionsDocument>()),
        ("tags", schema::<TagsDocument>()),
        ("cache", schema::<CacheDocument>()),
        ("repo list", schema::<RepositoriesDocument>()),
        ("search repo", schema::<SearchDocument>()),
        ("env", schema::<EnvDocument>()),
        ("plugin list", schema::<PluginsDocument>()),
        ("version", schema::<VersionDocument>()),
    ]
}

fn schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
}

fn page() -> String {
    let mut out = HEAD.to_owned();
    let result = schema::<Report>();
    out.push_str("## The result\n\nWhat every other command prints, what `--result-file` holds, and a Job's termination message, ");
    let _ = writeln!(
        out,
        "which has at most {MAX_DOCUMENT} bytes. Of several charts: `schema`, `results` (a list of these documents \
         without `schema`), and in a termination message `omitted`, the number of results that did not fit.\n"
    );
    table(&result, true, &mut out);
    nested(&result, &mut out);
    outcomes(&mut out);
    classes(&mut out);
    for (command, schema) in documents() {
        let _ = writeln!(out, "## `{command}`\n");
        table(&schema, true, &mut out);
        nested(&schema, &mut out);
    }
    out
}

fn object(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

/// A table of the fields.
fn table(schema: &Schema, versioned: bool, out: &mut String) {
    out.push_str("| field | type | |\n|---|---|---|\n");
    if versioned {
        let _ = writeln!(
            out,
            "| `schema` | integer | The version of the schema: {SCHEMA}. |"
        );
    }
    let required: BTreeSet<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, field) in object(schema.get("properties")) {
        let description = text(&field, "description").replace('\n', " ").replace('|', "\\|");
        assert!(description.ends_with(['.', '`', '…']), "{name}: {description}");
        let optional = if required.contains(name.as_str()) {
            ""
        } else {
            "*optional* "
        };
        let _ = writeln!(
            out,
            "| `{name}` | {} | {optional}{description} |",
            type_of(&field)
        );
    }
    out.push('\n');
}

/// The types that fields refer to, in order.
fn nested(schema: &Schema, out: &mut String) {
    for (name, one) in object(schema.get("$defs")) {
        if one.get("properties").is_none() {
            continue;
        }
        let _ = writeln!(out, "### {name}\n\n{}\n", text(&one, "description"));
        let one = Schema::try_from(one).unwrap();
        table(&one, false, out);
    }
}

fn type_of(field: &Value) -> String {
    if let Some(name) = field.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap();
        return match name {
            "AnyValue" => "any".to_owned(),
            "Outcome" => "[outcome](#outcomes)".to_owned(),
            other => format!("[{other}](#{})", other.to_lowercase()),
        };
    }
    if let Some(list) = field.get("anyOf").and_then(Value::as_array) {
        let kinds: BTreeSet<String> = list.iter().map(type_of).filter(|kind| kind != "null").collect();
        return kinds.into_iter().collect::<Vec<_>>().join(" or ");
    }
    let kind = match field.get("type") {
        Some(Value::Array(kinds)) => {
            let kinds = kinds
                .iter()
                .filter_map(Value::as_str)
                .filter(|kind| *kind != "null");
            kinds.collect::<Vec<_>>().join(" or ")
        }
        Some(Value::String(kind)) => kind.clone(),
        _ => "any".to_owned(),
    };
    match (kind.as_str(), field.get("items")) {
        ("array", Some(items)) => format!("list of {}", type_of(items)),
        _ => kind,
    }
}

fn outcomes(out: &mut String) {
    out.push_str("## Outcomes\n\n| outcome | |\n|---|---|\n");
    let schema = schema::<Outcome>();
    let list = schema.get("oneOf").and_then(Value::as_array).unwrap();
    assert!(list.len() > 10);
    for one in list {
        let _ = writeln!(out, "| `{}` | {} |", text(one, "const"), text(one, "description"));
    }
    out.push('\n');
}

fn classes(out: &mut String) {
    out.push_str(
        "## Error classes\n\nThe class decides the exit code. A *transient* failure may pass by itself.\n\n\
         | class | exit code | transient |\n|---|---|---|\n",
    );
    for class in Class::ALL {
        let transient = if class.is_transient() { "yes" } else { "no" };
        let _ = writeln!(
            out,
            "| `{}` | {} | {transient} |",
            class.as_str(),
            class.exit_code()
        );
    }
    out.push('\n');
}

#[test]
#[allow(clippy::disallowed_methods, reason = "asks whether to write the page")]
fn the_page_of_results_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/result.md");
    let expected = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/reference/result.md is stale: UPDATE_DOCS=1 cargo test -p solar-render --lib report::page"
    );
}
