//! A custom object against the structural schema of its CRD.
//!
//! As API servers do: fields that the schema doesn't have would be pruned, which strict validation reports; null counts
//! as absent unless the field is nullable; `metadata` is that of Kubernetes.

use super::check::{Checker, MAX_DEPTH, missing_field, unknown_field, wrong_type};
use super::finding::{Rule, Violation};
use super::path::FieldPath;
use super::structural::{Additional, Structural};
use super::structural_values::check_values;
use super::types::{ListKeys, or_at};
use crate::source::Span;
use crate::value::Number;
use crate::yaml::{Kind, Node};

/// The fields that every object has.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A walk through an object. It collects into a [`Checker`], which knows `metadata`.
pub(super) struct StructuralChecker<'c> {
    pub(super) checker: &'c mut Checker,
    /// The definition of `metadata`.
    pub(super) metadata: Option<usize>,
    pub(super) depth: usize,
}

impl StructuralChecker<'_> {
    /// Checks an object, or an embedded one.
    pub(super) fn object(&mut self, node: &Node, schema: &Structural, path: &FieldPath<'_>, at: Span) {
        if let (Some(metadata), Some(number)) = (
            node.entries().iter().find(|entry| entry.key == "metadata"),
            self.metadata,
        ) {
            let below = path.key("metadata");
            self.checker
                .definition(&metadata.value, number, &below, metadata.key_span);
        }
        self.map(node, schema, path, at, true);
    }

    fn value(&mut self, node: &Node, schema: &Structural, path: &FieldPath<'_>, at: Span) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        let span = or_at(node.span, at);
        if !is_of_type(node, schema) {
            let expected = match schema.int_or_string {
                true => "an integer or a string",
                false => type_name(schema.kind.as_deref().unwrap_or_default()),
            };
            self.checker.found.push(wrong_type(node, expected, path, span));
            return;
        }
        self.depth += 1;
        match &node.kind {
            Kind::Map(_) if schema.embedded => self.object(node, schema, path, at),
            Kind::Map(_) => self.map(node, schema, path, at, false),
            Kind::Seq(items) => self.list(items, schema, path, span),
            _ => {}
        }
        self.depth -= 1;
        check_values(node, schema, path, span, &mut self.checker.found);
    }

    fn map(&mut self, node: &Node, schema: &Structural, path: &FieldPath<'_>, at: Span, is_object: bool) {
        let is_fixed = |key: &str| is_object && OF_EVERY_OBJECT.contains(&key);
        for entry in node.entries() {
            let below = path.key(&entry.key);
            let of_field = schema.properties.get(&entry.key);
            let is_absent = |inner: &Structural| entry.value.is_null() && !inner.nullable;
            match (of_field, &schema.additional) {
                _ if is_fixed(&entry.key) => {}
                (Some(inner), _) if is_absent(inner) => {}
                (Some(inner), _) => self.value(&entry.value, inner, &below, entry.key_span),
                (None, Additional::Schema(inner)) if is_absent(inner) => {}
                (None, Additional::Schema(inner)) => self.value(&entry.value, inner, &below, entry.key_span),
                (None, Additional::Any) => {}
                (None, Additional::None) if schema.preserves => {}
                (None, Additional::None) => {
                    let known = schema.properties.keys().map(String::as_str);
                    let one = unknown_field(&entry.key, known, below, entry.key_span);
                    self.checker.found.push(one);
                }
            }
        }
        for name in schema.required.iter().filter(|name| !is_fixed(name)) {
            let nullable = schema.properties.get(name).is_some_and(|inner| inner.nullable);
            let entry = node.entries().iter().find(|entry| entry.key == *name);
            match entry {
                Some(entry) if entry.value.is_null() && !nullable => {
                    self.checker.found.push(missing_field(name, path, entry.key_span));
                }
                Some(_) => {}
                None => self.checker.found.push(missing_field(name, path, at)),
            }
        }
    }

    fn list(&mut self, items: &[Node], schema: &Structural, path: &FieldPath<'_>, at: Span) {
        let Some(inner) = &schema.items else { return };
        for (index, item) in items.iter().enumerate() {
            self.value(item, inner, &path.item(index), or_at(item.span, at));
        }
        let mut seen: Vec<String> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let key = match &schema.unique.0 {
                ListKeys::None => break,
                ListKeys::Items => item.to_value().to_json(),
                ListKeys::Fields(keys) => {
                    let of = |key: &String| item.get(key).map(|value| value.to_value().to_json());
                    format!("{:?}", keys.iter().map(of).collect::<Vec<_>>())
                }
            };
            if seen.contains(&key) {
                let message = "another item of the list has the same key";
                let span = or_at(item.span, at);
                let one = Violation::error(Rule::DuplicateItem, path.item(index), span, message);
                self.checker.found.push(one);
                break;
            }
            seen.push(key);
        }
    }
}

/// Whether a value has the type of a schema.
pub(super) fn is_of_type(node: &Node, schema: &Structural) -> bool {
    if node.is_null() && schema.nullable {
        return true;
    }
    let is_integer = |number: Number| super::check::whole(number).is_some();
    if schema.int_or_string {
        return match &node.kind {
            Kind::String(_) => true,
            Kind::Number(number) => is_integer(*number),
            _ => false,
        };
    }
    match (schema.kind.as_deref(), &node.kind) {
        (None, _)
        | (Some("object"), Kind::Map(_))
        | (Some("array"), Kind::Seq(_))
        | (Some("string"), Kind::String(_))
        | (Some("boolean"), Kind::Bool(_))
        | (Some("number"), Kind::Number(_)) => true,
        (Some("integer"), Kind::Number(number)) => is_integer(*number),
        _ => false,
    }
}

fn type_name(kind: &str) -> &'static str {
    match kind {
        "object" => "a map",
        "array" => "a list",
        "string" => "a string",
        "boolean" => "a boolean",
        "integer" => "an integer",
        "number" => "a number",
        _ => "another type",
    }
}
