//! What comments say about a key of values.yaml: [`Annotations`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::diag::{Class, Diagnostic, Result, did_you_mean};
use crate::source::{Location, Source, Span};
use crate::value::Value;
use crate::yaml::{self, Entry, Kind};

/// What marks an annotation.
const MARK: &str = "@schema";
/// What begins a description, as helm-docs has it.
const DESCRIPTION: &str = "-- ";

/// The most bytes behind a key or a value in which an annotation is searched.
const MAX_LINE: usize = 4_096;

/// The keywords of JSON Schema that annotations may have.
const KEYWORDS: &[&str] = &[
    "$comment",
    "$defs",
    "$id",
    "$ref",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "default",
    "definitions",
    "dependencies",
    "deprecated",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "properties",
    "propertyNames",
    "readOnly",
    "then",
    "title",
    "type",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
];
/// Further ones: the short forms of helm-values-schema-json, and what concerns the key.
const OTHERS: &[&str] = &[
    "hidden",
    "item",
    "itemEnum",
    "itemProperties",
    "itemRef",
    "required",
    "skipProperties",
];

/// What comments say about a key.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub(super) description: Option<String>,
    pub(super) keywords: BTreeMap<String, Json>,
    pub(super) is_required: bool,
    pub(super) is_hidden: bool,
    pub(super) skips_properties: bool,
}

/// The annotations of an entry: of the comment above it, and of the one behind it.
pub(super) fn of(source: &Arc<Source>, entry: &Entry) -> Result<Annotations> {
    let text = source.text();
    let start = entry.key_span.start as usize;
    let before = text.get(..start).unwrap_or("").trim_end_matches([' ', '"', '\'']);
    let mut out = Annotations::default();
    // In a flow map the comment above is that of another key.
    if before.is_empty() || before.ends_with('\n') {
        let (block, description) = above(text, before.len());
        out.description = description;
        if let Some((at, block)) = block {
            out.add(&block, source, at)?;
        }
    }
    if let Some((at, inline)) = behind(text, entry) {
        let written: String = inline
            .split(';')
            .map(|part| part.trim().replacen(':', ": ", 1) + "\n")
            .collect();
        out.add(&written, source, at)?;
    }
    Ok(out)
}

/// The block of annotations in the comment above a line, with its offset, and the description.
fn above(text: &str, line: usize) -> (Option<(usize, String)>, Option<String>) {
    let mut comment: Vec<(usize, &str)> = Vec::new();
    let mut end = line;
    while end > 0 {
        let start = text
            .get(..end - 1)
            .and_then(|before| before.rfind('\n'))
            .map_or(0, |at| at + 1);
        let content = text.get(start..end).unwrap_or("").trim();
        let Some(content) = content.strip_prefix('#') else {
            break;
        };
        comment.push((start, content.strip_prefix(' ').unwrap_or(content)));
        end = start;
    }
    comment.reverse();
    let (mut block, mut is_open, mut description): (Option<(usize, String)>, bool, Option<String>) =
        (None, false, None);
    for (at, content) in comment {
        if content.trim() == MARK {
            is_open = !is_open;
        } else if is_open {
            let (_, lines) = block.get_or_insert_with(|| (at, String::new()));
            lines.push_str(content);
            lines.push('\n');
        } else if let Some(first) = content.strip_prefix(DESCRIPTION) {
            description = Some(first.trim().to_owned());
        } else if let Some(known) = &mut description
            && !content.trim_start().starts_with('@')
        {
            known.push(' ');
            known.push_str(content.trim());
        }
    }
    (block, description.map(|text| text.trim().to_owned()))
}

/// The annotation behind an entry, with its offset: behind a value on the key's line, else behind the key. What is inside
/// of a flow map has none, since that behind the map is about all of it.
fn behind<'t>(text: &'t str, entry: &Entry) -> Option<(usize, &'t str)> {
    let (key, value) = (entry.key_span.end as usize, entry.value.span.end as usize);
    let is_below = entry.value.kind == Kind::Null || text.get(key..value)?.contains('\n');
    let from = if is_below { key } else { value };
    let near = text.get(from..text.floor_char_boundary(from + MAX_LINE))?;
    let line = near.split('\n').next()?;
    let hash = line.find("# ")?;
    let before = line.get(..hash)?;
    let is_own = match is_below {
        true => !before.contains(['"', ',', '}', ']']),
        false => before.trim().is_empty(),
    };
    let inline = line.get(hash + 1..)?.trim_start().strip_prefix(MARK)?.trim();
    (is_own && !inline.is_empty()).then_some((from + hash, inline))
}

impl Annotations {
    fn add(&mut self, text: &str, source: &Arc<Source>, at: usize) -> Result<()> {
        let location = || {
            let line = source
                .text()
                .get(at..)
                .and_then(|rest| rest.lines().next())
                .unwrap_or("");
            Location::new(source, Span::new(at, at + line.len()))
        };
        let wrong = |message: String| Diagnostic::error(Class::Values, message).at(location());
        let parsed = yaml::parse(
            &Source::new("@schema", text),
            Class::Values,
            &yaml::Limits::default(),
        );
        let read = match parsed.map(yaml::Node::into_value) {
            Ok(Value::Map(map)) => map,
            Ok(_) => return Err(wrong("an annotation must be a map of keywords".to_owned()).into()),
            Err(problem) => return Err(wrong(format!("the annotation is not YAML: {problem}")).into()),
        };
        for (key, value) in read.iter() {
            let is_known =
                KEYWORDS.contains(&key.as_str()) || OTHERS.contains(&key.as_str()) || key.starts_with("x-");
            if !is_known {
                let near = did_you_mean(key, KEYWORDS.iter().chain(OTHERS).copied());
                let problem = wrong(format!("unknown keyword `{key}` in an annotation"));
                let problem = match near {
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None => problem,
                };
                return Err(problem.into());
            }
            self.keyword(key, value);
        }
        Ok(())
    }

    fn keyword(&mut self, key: &str, value: &Value) {
        let is_true = matches!(value, Value::Bool(true));
        let json = to_json(value);
        match key {
            "required" if matches!(value, Value::Bool(_)) => self.is_required = is_true,
            "hidden" => self.is_hidden = is_true,
            "skipProperties" => self.skips_properties = is_true,
            "item" => self.item("type", named(value)),
            "itemEnum" => self.item("enum", json),
            "itemProperties" => self.item("properties", json),
            "itemRef" => self.item("$ref", json),
            "type" => {
                self.keywords.insert("type".to_owned(), named(value));
            }
            key => {
                self.keywords.insert(key.to_owned(), json);
            }
        }
    }

    fn item(&mut self, key: &str, value: Json) {
        let items = self
            .keywords
            .entry("items".to_owned())
            .or_insert_with(|| Json::Object(serde_json::Map::new()));
        if let Json::Object(items) = items {
            items.insert(key.to_owned(), value);
        }
    }
}

/// Names of types: `null` is one, and YAML has it for nothing.
fn named(value: &Value) -> Json {
    match value {
        Value::Null => Json::from("null"),
        Value::List(items) => Json::Array(items.iter().map(named).collect()),
        other => to_json(other),
    }
}

fn to_json(value: &Value) -> Json {
    serde_json::from_str(&value.to_json()).unwrap_or(Json::Null)
}
