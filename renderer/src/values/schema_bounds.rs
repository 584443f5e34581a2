//! Prepares schemas for the validator: limits for the number of validation steps ([`Steps`]) and for the compiled size
//! of patterns ([`pattern_bytes`]), and Go's expressions ([`Patterns`]).
//!
//! A short schema can require unbounded work: six alternatives that contain six others, twenty levels deep. So each
//! schema with subschemas gets a keyword of ours that counts, and the validating thread unwinds when the limit is
//! exceeded.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonschema::{Keyword, ValidationError};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value as Json};

use super::schema_patterns::Patterns;
use crate::value::Map as ValueMap;

/// The maximum number of compilations and evaluations of schemas with subschemas for the values of one chart.
pub(super) const MAX_STEPS: usize = 2_000_000;
/// The maximum number of schemas that `unevaluated…` keywords may visit, which are compiled for each of them.
pub(super) const MAX_LOOKED_INTO: usize = 100_000;
/// The maximum compiled size of all patterns of a schema, in bytes.
pub(super) const MAX_PATTERN_BYTES: usize = 64 << 20;
/// The maximum compiled size of one pattern, in bytes.
pub(super) const MAX_ONE_PATTERN: usize = 10 << 20;

/// The name of the keyword that counts.
pub(super) const KEYWORD: &str = "x-solar-render-step";

/// Keywords whose value is a schema, or (with `items`, before 2020) a list of them.
const ONE: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas.
const MANY: &[&str] = &["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords whose value is a map with schemas in it.
const NAMED: &[&str] = &[
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
/// Keywords that continue after a subschema fails.
const BRANCHES: &[&str] = &["anyOf", "if", "not", "oneOf"];
/// Keywords that name a schema elsewhere.
pub(super) const REFERENCES: &[&str] = &["$dynamicRef", "$recursiveRef", "$ref"];

/// The panic payload when there are too many steps. Only a WebAssembly module, whose panics can't be caught, ends by it.
pub struct TooManySteps;

impl std::fmt::Display for TooManySteps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "values.schema.json takes more than {MAX_STEPS} steps to check")
    }
}

/// The step counter.
#[derive(Default, Clone)]
pub(super) struct Steps(Arc<AtomicUsize>);

impl Steps {
    /// Counts a step; unwinds, without a panic message, when the limit is exceeded. A WebAssembly module's hook writes one.
    #[allow(
        clippy::panic,
        reason = "in WebAssembly nothing unwinds: a panic's message is all that the page gets"
    )]
    pub(super) fn step(&self) {
        if self.0.fetch_add(1, Ordering::Relaxed) >= MAX_STEPS {
            match cfg!(target_family = "wasm") {
                true => std::panic::panic_any(TooManySteps),
                false => std::panic::resume_unwind(Box::new(TooManySteps)),
            }
        }
    }
}

impl<'i> Keyword<'i> for Steps {
    fn validate(&self, _: &'i Json) -> Result<(), ValidationError<'i>> {
        self.step();
        Ok(())
    }

    fn is_valid(&self, _: &'i Json) -> bool {
        self.step();
        true
    }
}

/// Adds the keyword to each schema that contains or refers to others, including locations that other documents refer
/// to, and rewrites patterns for the validator.
pub(super) fn prepare<'s, 'v>(
    documents: impl Iterator<Item = (&'s mut Json, Vec<String>)>,
    values: &'v ValueMap,
) -> Patterns<'v> {
    let mut patterns = Patterns::new(values);
    let mut roots = Vec::new();
    for (root, named) in documents {
        let draft = root.get("$schema").and_then(Json::as_str).unwrap_or_default();
        // They have no `$defs`.
        let is_old = draft.contains("/draft-0");
        if roots.is_empty() {
            patterns.is_draft_7 = draft.contains("/draft-07/");
        }
        // Including schemas that are only referenced.
        let targets = references(root).into_iter().chain(named);
        for target in targets {
            if let Some(schema) = root.pointer_mut(&target) {
                mark(schema, is_old, &mut patterns);
            }
        }
        mark(root, is_old, &mut patterns);
        roots.push(root);
    }
    for root in roots {
        patterns.redirect(root, REFERENCES);
    }
    patterns
}

/// The maximum size of each of `count` patterns.
pub(super) fn pattern_bytes(count: usize) -> usize {
    (MAX_PATTERN_BYTES / count.max(1)).min(MAX_ONE_PATTERN)
}

/// The locations that the references in the document name.
fn references(root: &Json) -> Vec<String> {
    let (mut found, mut left) = (BTreeSet::new(), vec![root]);
    while let Some(next) = left.pop() {
        match next {
            Json::Object(entries) => {
                let named = REFERENCES.iter().filter_map(|name| entries.get(*name)?.as_str());
                let pointers = named.filter_map(|text| text.strip_prefix('#'));
                found.extend(pointers.map(|text| percent_decode_str(text).decode_utf8_lossy().into_owned()));
                left.extend(entries.values());
            }
            Json::Array(items) => left.extend(items),
            _ => {}
        }
    }
    found.into_iter().collect()
}

fn mark(schema: &mut Json, is_old: bool, patterns: &mut Patterns<'_>) {
    let mut left = vec![schema];
    while let Some(next) = left.pop() {
        let Json::Object(entries) = next else {
            continue;
        };
        if entries.contains_key(KEYWORD) {
            continue;
        }
        patterns.replace(entries);
        if holds_others(entries) {
            if BRANCHES.iter().any(|name| entries.contains_key(*name)) {
                mark_first(entries);
            }
            entries.insert(KEYWORD.to_owned(), Json::Bool(true));
        }
        for (name, value) in entries {
            let name = name.as_str();
            if value.is_object() && ONE.contains(&name) {
                left.push(value);
                continue;
            }
            match value {
                Json::Object(_) if is_old && name == "$defs" => {}
                Json::Array(items) if MANY.contains(&name) => left.extend(items),
                Json::Object(named) if NAMED.contains(&name) => left.extend(named.values_mut()),
                _ => {}
            }
        }
    }
}

/// Makes the step count before the alternatives are tried. Custom keywords are evaluated last, which is never reached
/// if all alternatives fail.
fn mark_first(entries: &mut Map<String, Json>) {
    let all = entries.entry("allOf").or_insert_with(|| Json::Array(Vec::new()));
    if let Json::Array(all) = all {
        // After the existing ones, which references may name by index.
        all.push(Json::Object(
            [(KEYWORD.to_owned(), Json::Bool(true))].into_iter().collect(),
        ));
    }
}

fn holds_others(entries: &Map<String, Json>) -> bool {
    let all = [ONE, MANY, NAMED, REFERENCES];
    all.into_iter().flatten().any(|name| entries.contains_key(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schemas_with_subschemas_are_marked() {
        let mut schema: Json = serde_json::from_str(
            r##"{"properties":{"properties":{"type":"object"},"b":{"not":{"pattern":"a"}},"c":{"$ref":"#/odd/x"}},
                "enum":[{"not":1}],"const":{"if":{}},"odd":{"x":{"patternProperties":{"^b":{}}}}}"##,
        )
        .unwrap();
        let values = ValueMap::default();
        let patterns = prepare(std::iter::once((&mut schema, Vec::new())), &values);
        assert_eq!(pattern_bytes(patterns.count()), MAX_ONE_PATTERN);
        let is_marked = |pointer: &str| schema.pointer(pointer).unwrap().get(KEYWORD).is_some();
        for pointer in [
            "",
            "/properties/b",
            "/properties/b/allOf/0",
            "/properties/c",
            "/odd/x",
        ] {
            assert!(is_marked(pointer), "{pointer}");
        }
        for pointer in [
            "/properties",
            "/properties/properties",
            "/enum/0",
            "/const",
            "/odd",
        ] {
            assert!(!is_marked(pointer), "{pointer}");
        }
    }
}
