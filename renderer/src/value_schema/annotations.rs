//! What comments say about a key of values.yaml: [`Annotations`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::diag::{Class, Diagnostic, Result, did_you_mean};
use crate::source::{Location, Source, Span};
use crate::value::Value;
use crate::values::part_mistake;
use crate::yaml::{self, Entry, Kind};

/// What marks an annotation.
const MARK: &str = "@schema";
/// What marks an annotation of all values.
const ROOT_MARK: &str = "@schema.root";
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

/// Keywords whose value in a short annotation is the text as it stands.
const TEXTS: &[&str] = &[
    "$comment",
    "$id",
    "$ref",
    "description",
    "format",
    "itemRef",
    "pattern",
    "title",
];
/// Keywords that are true in a short annotation without a value.
const FLAGS: &[&str] = &[
    "additionalProperties",
    "deprecated",
    "hidden",
    "readOnly",
    "required",
    "skipProperties",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
];
/// Keywords whose list in a short annotation may stand without brackets.
const LISTS: &[&str] = &["enum", "examples", "item", "itemEnum", "type"];
/// Of these, those that may also be a single name.
const NAMES: &[&str] = &["item", "type"];

/// What comments say about a key.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub(super) description: Option<String>,
    pub(super) keywords: BTreeMap<String, Json>,
    pub(super) is_required: bool,
    pub(super) is_hidden: bool,
    pub(super) skips_properties: bool,
}

/// The annotations of an entry: of the comments above it, behind it and below it, the later before the earlier.
pub(super) fn of(source: &Arc<Source>, entry: &Entry) -> Result<Annotations> {
    let text = source.text();
    let mut out = Annotations::default();
    if let Some(line) = own_line(text, entry) {
        let comment = Comment::above(text, line);
        out.description = comment.description;
        if let Some((at, block)) = comment.block {
            out.add(&block, source, at)?;
        }
        for (at, inline) in comment.inline {
            out.add(&expanded(inline), source, at)?;
        }
    }
    if let Some((at, inline)) = behind(text, entry) {
        out.add(&expanded(inline), source, at)?;
    }
    for (at, inline) in below(text, entry) {
        out.add(&expanded(inline), source, at)?;
    }
    Ok(out)
}

/// The annotations of all values: blocks between lines `# @schema.root` above the first key.
pub(super) fn of_root(source: &Arc<Source>, first: &Entry) -> Result<Annotations> {
    let mut out = Annotations::default();
    let comment = own_line(source.text(), first).map(|line| Comment::above(source.text(), line));
    if let Some((at, block)) = comment.and_then(|comment| comment.root) {
        out.add(&block, source, at)?;
    }
    Ok(out)
}

/// Where the line of a key begins; `None` in a flow map, where the comment above is that of another key.
fn own_line(text: &str, entry: &Entry) -> Option<usize> {
    let before = text.get(..entry.key_span.start as usize)?;
    let before = before.trim_end_matches([' ', '"', '\'']);
    (before.is_empty() || before.ends_with('\n')).then_some(before.len())
}

/// A short annotation as the YAML of a block: a keyword a line.
fn expanded(inline: &str) -> String {
    let keyword = |part: &str| {
        let (key, value) = part.split_once(':').unwrap_or((part, ""));
        let (key, value) = (key.trim(), value.trim());
        let is_bare = !value.starts_with('[');
        match () {
            () if TEXTS.contains(&key) => format!("{key}: {}\n", Json::from(value)),
            () if value.is_empty() && FLAGS.contains(&key) => format!("{key}: true\n"),
            () if LISTS.contains(&key) && is_bare && (value.contains(',') || !NAMES.contains(&key)) => {
                format!("{key}: [{value}]\n")
            }
            () => format!("{key}: {value}\n"),
        }
    };
    let parts = inline.split(';').filter(|part| !part.trim().is_empty());
    parts.map(keyword).collect()
}

/// A comment above a key.
#[derive(Debug, Default)]
struct Comment<'t> {
    /// The lines between `# @schema` and `# @schema`, with the offset of the first.
    block: Option<(usize, String)>,
    /// Those between `# @schema.root` and `# @schema.root`.
    root: Option<(usize, String)>,
    /// Short annotations with their offsets.
    inline: Vec<(usize, &'t str)>,
    description: Option<String>,
}

impl<'t> Comment<'t> {
    /// The lines of comment directly above a line.
    fn above(text: &'t str, line: usize) -> Self {
        let mut lines: Vec<(usize, &str)> = Vec::new();
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
            lines.push((start, content.strip_prefix(' ').unwrap_or(content)));
            end = start;
        }
        let mut out = Self::default();
        // The mark of the block that is open.
        let mut open = None;
        for (at, content) in lines.into_iter().rev() {
            let mark = content.trim();
            if let MARK | ROOT_MARK = mark {
                open = match open {
                    Some(known) if known == mark => None,
                    _ => Some(mark),
                };
            } else if let Some(mark) = open {
                let block = match mark {
                    MARK => &mut out.block,
                    _ => &mut out.root,
                };
                let (_, lines) = block.get_or_insert_with(|| (at, String::new()));
                lines.push_str(content);
                lines.push('\n');
            } else if let Some(inline) = short(content) {
                out.inline.push((at, inline));
            } else {
                out.describe(content);
            }
        }
        out.description = out.description.map(|text| text.trim().to_owned());
        out
    }

    fn describe(&mut self, content: &str) {
        if let Some(first) = content.strip_prefix(DESCRIPTION) {
            self.description = Some(first.trim().to_owned());
        } else if let Some(known) = &mut self.description
            && !content.trim_start().starts_with('@')
        {
            known.push(' ');
            known.push_str(content.trim());
        }
    }
}

/// The keywords of a short annotation, behind its mark.
fn short(comment: &str) -> Option<&str> {
    let inline = comment.trim_start().strip_prefix(MARK)?;
    (inline.starts_with(' ') && !inline.trim().is_empty()).then(|| inline.trim())
}

/// The short annotations directly below an entry of a block map, as far to the right as its key, and before an empty line.
/// A comment that another key follows is that key's.
fn below<'t>(text: &'t str, entry: &Entry) -> Vec<(usize, &'t str)> {
    let Some(line) = own_line(text, entry) else {
        return Vec::new();
    };
    let indent = entry.key_span.start as usize - line;
    let end = match entry.value.kind {
        Kind::Null => entry.key_span.end,
        _ => entry.value.span.end,
    };
    let mut at = match text.get(..end as usize) {
        // The span of a text of several lines has the end of its last line.
        Some(before) if before.ends_with('\n') => before.len(),
        _ => match text.get(end as usize..).and_then(|rest| rest.find('\n')) {
            Some(length) => end as usize + length + 1,
            None => return Vec::new(),
        },
    };
    let mut found = Vec::new();
    for line in text.get(at..).unwrap_or("").split_inclusive('\n') {
        let content = line.trim_start_matches(' ');
        if content.trim().is_empty() {
            break;
        }
        if !content.starts_with('#') || line.len() - content.len() != indent {
            return Vec::new();
        }
        if let Some(inline) = content.strip_prefix('#').and_then(short) {
            found.push((at, inline));
        }
        at += line.len();
    }
    found
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
    let inline = short(line.get(hash + 1..)?)?;
    is_own.then_some((from + hash, inline))
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
        let keywords = self.keywords.clone().into_iter().collect();
        match part_mistake(&Json::Object(keywords)) {
            Some(mistake) => Err(wrong(format!("the annotation is not JSON Schema: {mistake}")).into()),
            None => Ok(()),
        }
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
