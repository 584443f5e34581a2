//! Decodes YAML to fields like Go's JSON decoder, with its error messages.
//!
//! Helm reads Chart.yaml and manifests through `sigs.k8s.io/yaml`: YAML becomes JSON, where a number or boolean in a
//! string field becomes a string, and JSON is decoded into structs. The first error in the order of sorted keys is
//! reported.

use crate::value::{Map, Number, Value};
use crate::yaml::{Kind, Node};

/// The type of a field.
#[derive(Clone, Copy)]
pub(super) enum FieldType {
    Text,
    Flag,
    Texts,
    TextMap,
    /// `[]interface {}`
    List,
    /// A struct by value.
    Struct(&'static StructType),
    /// A list of structs.
    Structs(&'static StructType),
}

/// A Go struct.
pub(super) struct StructType {
    /// Its name within its package.
    pub(super) name: &'static str,
    /// Its name with the package.
    pub(super) full_name: &'static str,
    /// The fields' names in JSON, and their types.
    pub(super) fields: &'static [(&'static str, FieldType)],
}

/// The result of decoding.
#[derive(Default)]
pub(super) struct Decoded {
    /// The decoded fields, by name.
    pub(super) fields: Map,
    /// Go's message for the first value of a wrong type.
    pub(super) problem: Option<String>,
    /// The first field that the struct does not have.
    pub(super) unknown: Option<String>,
}

/// Decodes a document; null and an empty document give an empty struct.
pub(super) fn decode(node: &Node, fields: &'static StructType) -> Decoded {
    let mut state = StructDecoder::default();
    let mut decoded = Decoded::default();
    match &node.kind {
        Kind::Map(_) => decoded.fields = state.fields(node, fields, &mut Vec::new()),
        Kind::Null => {}
        _ => {
            let message = format!(
                "json: cannot unmarshal {} into Go value of type {}",
                json_kind(node),
                fields.full_name
            );
            state.problem = Some(message);
        }
    }
    decoded.problem = state.problem;
    decoded.unknown = state.unknown;
    decoded
}

#[derive(Default)]
struct StructDecoder {
    problem: Option<String>,
    unknown: Option<String>,
}

impl StructDecoder {
    fn fields(&mut self, node: &Node, shape: &'static StructType, path: &mut Vec<&'static str>) -> Map {
        let mut entries: Vec<_> = node.entries().iter().collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        let mut out = Map::default();
        for entry in entries {
            let exact = shape.fields.iter().find(|(name, _)| *name == entry.key);
            let near = || {
                let fields = shape.fields.iter();
                fields
                    .clone()
                    .find(|(name, _)| name.eq_ignore_ascii_case(&entry.key))
            };
            let Some((name, inner)) = exact.or_else(near) else {
                let unknown = || {
                    format!(
                        "json: unknown field {}",
                        crate::template::print::quote(&entry.key)
                    )
                };
                self.unknown.get_or_insert_with(unknown);
                continue;
            };
            path.push(name);
            if let Some(value) = self.value(&entry.value, *inner, shape, path) {
                out.insert(*name, value);
            }
            path.pop();
        }
        out
    }

    fn value(
        &mut self,
        node: &Node,
        shape: FieldType,
        within: &'static StructType,
        path: &mut Vec<&'static str>,
    ) -> Option<Value> {
        if node.is_null() {
            return None;
        }
        let mut wrong = |node: &Node, wanted: &str| {
            let message = || {
                format!(
                    "json: cannot unmarshal {} into Go struct field {}.{} of type {wanted}",
                    json_kind(node),
                    within.name,
                    path.join(".")
                )
            };
            self.problem.get_or_insert_with(message);
            None
        };
        match (shape, &node.kind) {
            (FieldType::List, Kind::Seq(_)) | (FieldType::Flag, Kind::Bool(_)) => Some(node.to_value()),
            (FieldType::Text, _) => match text(node) {
                Some(text) => Some(Value::from(text)),
                None => wrong(node, "string"),
            },
            (FieldType::Texts, Kind::Seq(items)) => {
                let mut one = |item: &Node| zero_text(item).or_else(|| wrong(item, "string"));
                let texts = items.iter().map(|item| one(item).unwrap_or_default());
                Some(Value::List(texts.collect()))
            }
            (FieldType::TextMap, Kind::Map(entries)) => {
                let mut one = |item: &Node| zero_text(item).or_else(|| wrong(item, "string"));
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_by(|a, b| a.key.cmp(&b.key));
                let texts = entries
                    .into_iter()
                    .map(|entry| (entry.key.clone(), one(&entry.value).unwrap_or_default()));
                Some(Value::Map(texts.collect()))
            }
            (FieldType::Struct(inner), Kind::Map(_)) => Some(Value::Map(self.fields(node, inner, path))),
            (FieldType::Struct(inner), _) => wrong(node, inner.full_name),
            (FieldType::Structs(inner), Kind::Seq(items)) => {
                let mut one = |item: &Node| match &item.kind {
                    Kind::Map(_) => Some(Value::Map(self.fields(item, inner, path))),
                    _ => self.value(item, FieldType::Struct(inner), within, path),
                };
                Some(Value::List(
                    items.iter().map(|item| one(item).unwrap_or_default()).collect(),
                ))
            }
            (FieldType::Structs(inner), _) => wrong(node, &format!("[]*{}", inner.full_name)),
            (FieldType::Texts, _) => wrong(node, "[]string"),
            (FieldType::TextMap, _) => wrong(node, "map[string]string"),
            (FieldType::List, _) => wrong(node, "[]interface {}"),
            (FieldType::Flag, _) => wrong(node, "bool"),
        }
    }
}

/// As [`text`]; null is the empty string.
fn zero_text(node: &Node) -> Option<Value> {
    let text = if node.is_null() {
        Some(String::new())
    } else {
        text(node)
    };
    text.map(Value::from)
}

/// A string, or a number or boolean as its text.
fn text(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::String(text) => Some(text.clone()),
        Kind::Bool(value) => Some(value.to_string()),
        Kind::Number(Number::Float(value)) => Some(Number::Float(*value).canonical().to_string()),
        Kind::Number(exact) => Some(exact.to_string()),
        Kind::Null | Kind::Seq(_) | Kind::Map(_) => None,
    }
}

fn json_kind(node: &Node) -> &'static str {
    match node.kind {
        Kind::Null => "null",
        Kind::Bool(_) => "bool",
        Kind::Number(_) => "number",
        Kind::String(_) => "string",
        Kind::Seq(_) => "array",
        Kind::Map(_) => "object",
    }
}

/// The string in a field; empty if it is absent.
pub(super) fn text_of<'m>(map: &'m Map, name: &str) -> &'m str {
    map.get(name).and_then(Value::as_str).unwrap_or("")
}

/// The items of a field; empty if it is absent.
pub(super) fn list_of<'m>(map: &'m Map, name: &str) -> &'m [Value] {
    match map.get(name) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}
