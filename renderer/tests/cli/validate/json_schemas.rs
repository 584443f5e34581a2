//! The embedded schemas as kubeconform reads them, made without the program's own code: for a test and a benchmark.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use serde_json::{Map, Value, json};

/// The version of testbed's API server, and its bit in the embedded schemas.
pub(crate) const VERSION: (&str, u32) = ("1.34", 1 << 5);

/// The embedded schemas of one version, read without the program's own code.
pub(crate) struct Schemas {
    /// By API version and kind: the number of the definition.
    pub(crate) kinds: BTreeMap<(String, String), usize>,
    /// By number: the fields, each with its type, and whether it is required.
    pub(crate) definitions: BTreeMap<usize, Vec<(String, String, bool)>>,
}

impl Schemas {
    pub(crate) fn read() -> Self {
        let packed = include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/validate/kubernetes.txt.gz"
        ));
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed.as_slice())
            .read_to_string(&mut text)
            .unwrap();
        let mut all = Self {
            kinds: BTreeMap::new(),
            definitions: BTreeMap::new(),
        };
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split(' ').collect();
            if u32::from_str_radix(words[1], 16).unwrap() & VERSION.1 == 0 {
                continue;
            }
            match words[0] {
                "kind" => {
                    let key = (words[2].to_owned(), words[3].to_owned());
                    all.kinds.insert(key, words[4].parse().unwrap());
                }
                _ => {
                    let fields = words[3..].iter().filter(|field| !field.is_empty()).map(|field| {
                        let (name, kind) = field.split_once(':').unwrap();
                        let plain = name.trim_end_matches('!');
                        (plain.to_owned(), kind.to_owned(), name.ends_with('!'))
                    });
                    all.definitions
                        .insert(words[2].parse().unwrap(), fields.collect());
                }
            }
        }
        all
    }

    /// JSON Schemas in the form and under the names that kubeconform expects.
    pub(crate) fn write(&self, folder: &Path) {
        for ((api, kind), number) in &self.kinds {
            let (group, version) = api.rsplit_once('/').unwrap_or(("", api));
            let group = group.split('.').next().unwrap();
            let parts = [kind.to_lowercase(), group.to_owned(), version.to_owned()];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let mut definitions = Map::new();
            self.collect(*number, &mut definitions);
            let schema = json!({"$ref": format!("#/definitions/d{number}"), "definitions": definitions});
            fs::write(
                folder.join(format!("{}.json", parts.join("-"))),
                schema.to_string(),
            )
            .unwrap();
        }
    }

    /// A definition and those that it refers to.
    fn collect(&self, number: usize, definitions: &mut Map<String, Value>) {
        let name = format!("d{number}");
        if definitions.contains_key(&name) {
            return;
        }
        definitions.insert(name, self.definition(number));
        for (_, kind, _) in &self.definitions[&number] {
            for other in kind.split('|').filter_map(|kind| kind.split_once('#')) {
                self.collect(other.1.parse().unwrap(), definitions);
            }
        }
    }

    fn definition(&self, number: usize) -> Value {
        let fields = &self.definitions[&number];
        let or_null = |schema: Value| json!({"anyOf": [schema, {"type": "null"}]});
        let properties: Map<String, Value> = fields
            .iter()
            .map(|(name, kind, required)| match required {
                true => (name.clone(), schema(kind)),
                false => (name.clone(), or_null(schema(kind))),
            })
            .collect();
        let required: Vec<&String> = fields
            .iter()
            .filter(|field| field.2)
            .map(|field| &field.0)
            .collect();
        let mut out = json!({"type": "object", "properties": properties, "additionalProperties": false});
        // Draft 4, which kubeconform reads, knows no empty list here.
        if !required.is_empty() {
            out["required"] = json!(required);
        }
        out
    }
}

fn schema(kind: &str) -> Value {
    if kind.contains('|') {
        return json!({"anyOf": kind.split('|').map(schema).collect::<Vec<_>>()});
    }
    let rest = &kind[1..];
    match kind.chars().next().unwrap() {
        's' | 'y' | 't' => json!({"type": "string"}),
        'i' | 'l' => json!({"type": "integer"}),
        'n' => json!({"type": "number"}),
        'b' => json!({"type": "boolean"}),
        'q' => json!({"type": ["string", "number"]}),
        'x' => json!({"type": ["string", "integer"]}),
        'o' => json!({"type": "object"}),
        '*' => json!({}),
        '#' => json!({"$ref": format!("#/definitions/d{rest}")}),
        '<' => json!({"type": "object", "additionalProperties": {"anyOf": [schema(rest), {"type": "null"}]}}),
        '(' => {
            let values: Vec<String> = enum_values(kind);
            json!({"type": "string", "enum": values})
        }
        '[' => json!({"type": "array", "items": schema(items(rest))}),
        other => panic!("{other}"),
    }
}

/// The type of a list's items, without its keys.
pub(crate) fn items(rest: &str) -> &str {
    rest.strip_prefix('@')
        .map_or(rest, |rest| rest.split_once('@').unwrap().1)
}

/// The values of an enum.
pub(crate) fn enum_values(kind: &str) -> Vec<String> {
    let inner = kind.trim_start_matches('(').trim_end_matches(')');
    inner.split(',').map(|value| value.replace('_', " ")).collect()
}
