//! values.schema.json from a chart's values.yaml, its comments and what its templates do with each value.
//!
//! In: a loaded chart, the values of its `ci/` files, and which values its templates read ([`ValueReads`]). Out: the text
//! of the schema, in draft 7, the same for the same input. It accepts the chart's own values and those of all these files.
//!
//! - A value's types are those that it has in values.yaml and in the files. An empty text may be any scalar, and null
//!   anything. What a template formats as YAML or JSON, or asks for its type, may also be a text, and if it is empty a list
//!   or a map.
//! - A key may be set that values.yaml does not have.
//! - Comments decide over all of it: blocks between lines `# @schema` (as helm-schema reads them), and `# @schema
//!   type:integer;minimum:1` behind, above or below a key (as helm-values-schema-json reads it). `# -- text` is the
//!   description. An annotation that is not JSON Schema is an error.

mod annotations;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::chart::load::Loaded;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::source::Source;
use crate::value::{Map, Value};
use crate::value_reads::ValueReads;
use crate::yaml::{self, Kind, Node};
use annotations::Annotations;

/// The dialect of the schema.
const DRAFT: &str = "http://json-schema.org/draft-07/schema#";
/// The maximum nesting of maps that are described; deeper ones are any map.
pub const MAX_NESTING: usize = 64;

/// The text of a chart's values.schema.json; `given` are the values of its `ci/` files.
///
/// # Errors
/// Class values: a comment's annotation that can't be read.
pub fn schema_of(chart: &Loaded, given: &[&Map]) -> Result<String> {
    let mut schema = BTreeMap::from([
        ("$schema".to_owned(), json!(DRAFT)),
        ("type".to_owned(), json!("object")),
    ]);
    if let Some(source) = &chart.values_source {
        let nodes = yaml::parse_all(source, Class::Values, &yaml::Limits::default())?;
        let describer = Describer {
            source,
            reads: ValueReads::of(chart, given)?,
            problems: Vec::new(),
        };
        if let Some(root) = nodes.first() {
            let samples: Vec<&Map> = given.to_vec();
            schema.extend(describer.described(root, &samples)?);
            if let Some(first) = root.entries().first() {
                schema.extend(annotations::of_root(source, first)?.keywords);
            }
        }
    }
    let text = serde_json::to_string_pretty(&in_order(schema));
    let text = text.map_err(|error| Diagnostic::error(Class::Internal, error.to_string()))?;
    Ok(text + "\n")
}

/// A map whose keys are sorted, whatever map the JSON library uses.
fn in_order(fields: BTreeMap<String, Json>) -> Json {
    Json::Object(fields.into_iter().collect())
}

struct Describer<'s> {
    source: &'s Arc<Source>,
    reads: ValueReads,
    problems: Vec<Diagnostic>,
}

impl Describer<'_> {
    fn described(mut self, root: &Node, samples: &[&Map]) -> Result<BTreeMap<String, Json>> {
        let fields = self.properties(root, samples, &mut Vec::new());
        Diagnostics::or(self.problems, fields)
    }

    /// `properties` and `required` of a map.
    fn properties(&mut self, map: &Node, samples: &[&Map], path: &mut Vec<String>) -> BTreeMap<String, Json> {
        let (mut properties, mut required) = (BTreeMap::new(), Vec::new());
        for entry in map.entries() {
            path.push(entry.key.clone());
            let annotations = match annotations::of(self.source, entry) {
                Ok(found) => found,
                Err(problem) => {
                    self.problems.extend(problem.into_vec());
                    Annotations::default()
                }
            };
            let values: Vec<&Value> = samples.iter().filter_map(|map| map.get(&entry.key)).collect();
            if annotations.is_required {
                required.push(entry.key.clone());
            }
            if !annotations.is_hidden {
                let schema = self.of_value(&entry.value, &values, annotations, path);
                properties.insert(entry.key.clone(), schema);
            }
            path.pop();
        }
        required.sort();
        let mut out = BTreeMap::new();
        if !properties.is_empty() {
            out.insert("properties".to_owned(), in_order(properties));
        }
        if !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
        }
        out
    }

    fn of_value(
        &mut self,
        value: &Node,
        samples: &[&Value],
        notes: Annotations,
        path: &mut Vec<String>,
    ) -> Json {
        let own = value.to_value();
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let types = types(&own, samples, self.reads.may_have_other_type(&keys));
        let mut out = BTreeMap::new();
        if let Some(types) = types {
            out.insert(
                "type".to_owned(),
                match types.as_slice() {
                    [one] => json!(one),
                    several => json!(several),
                },
            );
        }
        if matches!(value.kind, Kind::Map(_)) && !notes.skips_properties && path.len() < MAX_NESTING {
            let maps: Vec<&Map> = samples.iter().filter_map(|value| value.as_map()).collect();
            out.extend(self.properties(value, &maps, path));
        }
        if let Some(text) = notes.description {
            out.insert("description".to_owned(), json!(text));
        }
        // A reference, or alternatives, stand for the types.
        if ["$ref", "oneOf", "anyOf", "allOf", "enum", "const"]
            .iter()
            .any(|key| notes.keywords.contains_key(*key))
        {
            out.remove("type");
        }
        out.extend(notes.keywords);
        // Draft 7 ignores what stands beside a reference.
        if out.len() > 1
            && let Some(reference) = out.remove("$ref")
        {
            let all = out.entry("allOf".to_owned()).or_insert_with(|| json!([]));
            if let Json::Array(all) = all {
                all.push(json!({"$ref": reference}));
            }
        }
        in_order(out)
    }
}

/// The types that a value may have, sorted; `None` for any.
fn types(own: &Value, samples: &[&Value], may_have_others: bool) -> Option<Vec<&'static str>> {
    let mut out: Vec<&'static str> = Vec::new();
    let is_empty = |value: &Value| match value {
        Value::Map(map) => map.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    for value in std::iter::once(own).chain(samples.iter().copied()) {
        match value {
            Value::Null if std::ptr::eq(value, own) => return None,
            // It removes what values.yaml has.
            Value::Null => {}
            Value::Bool(_) => out.push("boolean"),
            Value::Number(number) if number.as_f64().fract() == 0.0 => out.push("integer"),
            Value::Number(_) => out.push("number"),
            Value::String(text) if text.is_empty() => out.extend(["boolean", "null", "number", "string"]),
            Value::String(_) => out.push("string"),
            Value::List(_) => out.push("array"),
            Value::Map(_) => out.push("object"),
        }
    }
    let is_scalar = |one: &&'static str| !matches!(*one, "array" | "object");
    if may_have_others {
        if out.iter().all(is_scalar) {
            // A text that is formatted as YAML is a block of YAML by default.
            if out.contains(&"string") {
                return None;
            }
        } else {
            out.extend(if is_empty(own) {
                &["array", "object", "string"][..]
            } else {
                &["string"]
            });
        }
    }
    out.sort_unstable();
    out.dedup();
    if out.contains(&"number") {
        out.retain(|one| *one != "integer");
    }
    Some(out)
}
