//! Detects schemas whose references are cyclic without descending into the values: validation would not end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

/// Keywords whose subschemas apply to the same value.
const ONE: &[&str] = &["not", "if", "then", "else"];
const MANY: &[&str] = &["allOf", "anyOf", "oneOf"];
const NAMED: &[&str] = &["dependentSchemas", "dependencies"];
const REFERENCES: &[&str] = &["$ref", "$recursiveRef", "$dynamicRef"];

/// Whether a schema in it refers to itself for the same value.
pub(super) fn refers_to_itself(root: &Json) -> bool {
    let mut search = CycleSearch {
        root,
        open: BTreeSet::new(),
        closed: BTreeSet::new(),
    };
    let mut left = vec![root];
    while let Some(next) = left.pop() {
        match next {
            Json::Object(entries) => {
                let refers = REFERENCES.iter().any(|name| entries.contains_key(*name));
                if refers && search.cycles(next) {
                    return true;
                }
                left.extend(entries.values());
            }
            Json::Array(items) => left.extend(items),
            _ => {}
        }
    }
    false
}

/// Keywords that examine all schemas that apply to the same value.
const UNEVALUATED: &[&str] = &["unevaluatedItems", "unevaluatedProperties"];

/// The number of schemas that all `unevaluated…` keywords visit: each as often as a path leads to it. References must
/// not be cyclic.
pub(super) fn looked_into(root: &Json) -> usize {
    let search = CycleSearch {
        root,
        open: BTreeSet::new(),
        closed: BTreeSet::new(),
    };
    let (mut ways, mut total) = (BTreeMap::new(), 0_usize);
    let mut left = vec![root];
    while let Some(next) = left.pop() {
        match next {
            Json::Object(entries) => {
                if UNEVALUATED.iter().any(|name| entries.contains_key(*name)) {
                    total = total.saturating_add(search.ways(next, &mut ways));
                }
                left.extend(entries.values());
            }
            Json::Array(items) => left.extend(items),
            _ => {}
        }
    }
    total
}

struct CycleSearch<'s> {
    root: &'s Json,
    /// The schemas on the current path, by address.
    open: BTreeSet<usize>,
    closed: BTreeSet<usize>,
}

impl<'s> CycleSearch<'s> {
    fn cycles(&mut self, start: &'s Json) -> bool {
        // The schemas to visit; `true` marks leaving one.
        let mut left = vec![(start, false)];
        while let Some((schema, leaving)) = left.pop() {
            let address = std::ptr::from_ref(schema).addr();
            if leaving {
                self.open.remove(&address);
                self.closed.insert(address);
                continue;
            }
            if self.open.contains(&address) {
                return true;
            }
            if self.closed.contains(&address) {
                continue;
            }
            self.open.insert(address);
            left.push((schema, true));
            left.extend(self.next(schema).into_iter().map(|next| (next, false)));
        }
        false
    }

    /// The number of paths from a schema to those that apply to the same value, itself included.
    fn ways(&self, start: &'s Json, known: &mut BTreeMap<usize, usize>) -> usize {
        let address = |schema: &'s Json| std::ptr::from_ref(schema).addr();
        let mut left = vec![(start, false)];
        while let Some((schema, leaving)) = left.pop() {
            if known.contains_key(&address(schema)) {
                continue;
            }
            let next = self.next(schema);
            if leaving {
                let below = next.iter().filter_map(|next| known.get(&address(next)));
                let sum = below.fold(1_usize, |sum, ways| sum.saturating_add(*ways));
                known.insert(address(schema), sum);
                continue;
            }
            left.push((schema, true));
            left.extend(next.into_iter().map(|next| (next, false)));
        }
        known.get(&address(start)).copied().unwrap_or(1)
    }

    /// The subschemas that apply to the same value.
    fn next(&self, schema: &'s Json) -> Vec<&'s Json> {
        let Json::Object(entries) = schema else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for (name, value) in entries {
            let name = name.as_str();
            if ONE.contains(&name) {
                out.push(value);
            } else if MANY.contains(&name) {
                out.extend(value.as_array().into_iter().flatten());
            } else if NAMED.contains(&name) {
                out.extend(value.as_object().into_iter().flat_map(serde_json::Map::values));
            } else if REFERENCES.contains(&name) {
                let target = value.as_str().and_then(|text| text.strip_prefix('#'));
                out.extend(target.and_then(|pointer| self.root.pointer(pointer)));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cyclic_references_are_found_and_recursive_schemas_are_not() {
        let cases = [
            (r##"{"$ref":"#"}"##, true),
            (r##"{"allOf":[{"$ref":"#"}]}"##, true),
            (
                r##"{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}"##,
                true,
            ),
            (r##"{"properties":{"a":{"$ref":"#"}}}"##, false),
            (
                r##"{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"items":{"$ref":"#"}}}}"##,
                false,
            ),
        ];
        for (text, expected) in cases {
            let schema: Json = serde_json::from_str(text).unwrap();
            assert_eq!(refers_to_itself(&schema), expected, "{text}");
        }
    }
}
