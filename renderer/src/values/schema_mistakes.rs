//! What is wrong with a values.schema.json itself, and where.
//!
//! In: its text, and what the validator or the translator of patterns refused. Out: each mistake with its span in the
//! text. The draft's own schema is only asked once something is wrong.

use std::collections::BTreeSet;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ReferencingError, ValidationError};
use serde_json::Value as Json;
use url::Url;

use super::schema_bounds::{MAX_PATTERN_BYTES, REFERENCES};
use super::schema_documents::DocumentError;
use super::schema_messages::{quoted, words};
use super::schema_patterns::Patterns;
use super::value_origins::span_of;
use crate::diag::Class;
#[cfg(feature = "pipeline")]
use crate::funcs::re2;
use crate::source::{Source, Span};
use crate::yaml::{self, Kind as NodeKind, Node};

/// One mistake of a schema.
pub(super) struct SchemaMistake {
    pub(super) message: String,
    /// What lies behind it, a line each.
    pub(super) causes: Vec<String>,
    /// Values, or why a schema can't be fetched.
    pub(super) class: Class,
    /// Where in values.schema.json.
    pub(super) span: Option<Span>,
}

impl SchemaMistake {
    /// One that no single line has.
    pub(super) fn of_all(message: String) -> Self {
        Self {
            message,
            causes: Vec::new(),
            class: Class::Values,
            span: None,
        }
    }

    /// What the schemas that it refers to have, at the reference.
    pub(super) fn of_document(source: &Source, error: DocumentError) -> Self {
        let DocumentError { class, message, url } = error;
        let root = yaml::parse_json(source, &yaml::Limits::default());
        let span = |url: Url| find_url(root.as_ref()?, url.as_str(), REFERENCES);
        Self {
            class,
            span: url.and_then(span),
            ..Self::of_all(message)
        }
    }

    /// One that makes it another thing than a schema.
    fn no_schema(message: &str, causes: Vec<String>, span: Option<Span>) -> Self {
        Self {
            message: format!("values.schema.json is not a schema: {message}"),
            causes,
            class: Class::Values,
            span,
        }
    }
}

/// A text that is not JSON.
pub(super) fn not_json(source: &Source, error: &serde_json::Error) -> SchemaMistake {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&place).unwrap_or(&text);
    let before = source.text().split_inclusive('\n');
    let start: usize = before.take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = start + error.column().saturating_sub(1);
    SchemaMistake {
        message: format!("values.schema.json is not JSON: {reason}"),
        causes: Vec::new(),
        class: Class::Values,
        span: Some(Span::new(at, at + 1)),
    }
}

/// What the draft's own schema has against it, each pattern that Go could not read, or else why the validator refused.
pub(super) fn mistakes(
    source: &Source,
    schema: &Json,
    refused: Option<&ValidationError<'_>>,
    patterns: &Patterns<'_>,
) -> Vec<SchemaMistake> {
    let root = yaml::parse_json(source, &yaml::Limits::default());
    let root = root.as_ref();
    let mut found = Vec::new();
    // Each vocabulary of a draft finds the same mistake.
    let mut known = BTreeSet::new();
    if let Ok(draft) = jsonschema::meta::validator_for(schema) {
        for error in draft.iter_errors(schema) {
            if of_a_pattern(&error) {
                continue;
            }
            let pointer = error.instance_path().as_str();
            let (message, causes) = words(&error, schema);
            if !known.insert((pointer.to_owned(), message.clone(), causes.clone())) {
                continue;
            }
            let span = root.and_then(|root| span_of(root, pointer));
            found.push(SchemaMistake::no_schema(
                &format!("at {}: {message}", quoted(pointer)),
                causes,
                span,
            ));
        }
    }
    for (pattern, reason) in patterns.refused() {
        let message = format!("{} is not a regular expression: {reason}", quoted(pattern));
        let span = root.and_then(|root| find_pattern(root, pattern));
        found.push(SchemaMistake::no_schema(&message, Vec::new(), span));
    }
    if let (true, Some(error)) = (found.is_empty(), refused) {
        found.push(refusal(root, error, patterns));
    }
    found
}

/// What draft 7 has against a schema that becomes a part of another one, or why Go can't read its pattern.
#[cfg(feature = "pipeline")]
pub(crate) fn part_mistake(schema: &Json) -> Option<String> {
    let draft = jsonschema::draft7::meta::validator();
    let mut errors = draft.iter_errors(schema).filter(|error| !of_a_pattern(error));
    if let Some(error) = errors.next() {
        let (message, causes) = words(&error, schema);
        let place = quoted(error.instance_path().as_str());
        let causes = causes.iter().map(|cause| format!("; {cause}"));
        return Some(format!("at {place}: {message}{}", causes.collect::<String>()));
    }
    let pattern = schema.get("pattern").and_then(Json::as_str)?;
    let reason = re2::written(pattern).err()?;
    Some(format!(
        "{} is not a regular expression: {reason}",
        quoted(pattern)
    ))
}

/// Whether the draft refuses a pattern, which it reads in another dialect.
fn of_a_pattern(error: &ValidationError<'_>) -> bool {
    match error.kind() {
        Kind::Format { format } => format == "regex",
        Kind::PropertyNames { error } => of_a_pattern(error),
        _ => false,
    }
}

fn refusal(root: Option<&Node>, error: &ValidationError<'_>, patterns: &Patterns<'_>) -> SchemaMistake {
    match error.kind() {
        // Only their size is left to be wrong.
        Kind::Format { format } if format == "regex" => {
            let pattern = patterns.original(error.instance().as_str().unwrap_or_default());
            let message = format!(
                "{} is too large: the patterns of a schema may take {MAX_PATTERN_BYTES} bytes",
                quoted(pattern)
            );
            let span = root.and_then(|root| find_pattern(root, pattern));
            SchemaMistake::no_schema(&message, Vec::new(), span)
        }
        Kind::Referencing(error) => SchemaMistake {
            message: unresolved(error),
            causes: Vec::new(),
            class: Class::Values,
            span: root.and_then(|root| find_reference(root, error)),
        },
        Kind::Custom { message, .. } => SchemaMistake::no_schema(message, Vec::new(), None),
        _ => SchemaMistake::no_schema(
            &format!("at '{}': {error}", error.instance_path()),
            Vec::new(),
            root.and_then(|root| span_of(root, error.instance_path().as_str())),
        ),
    }
}

/// A reference that leads nowhere: what it names, and what to do.
fn unresolved(error: &ReferencingError) -> String {
    let reason = match error {
        ReferencingError::Unretrievable { uri, source } => {
            format!("it refers to {uri}, and {source}")
        }
        ReferencingError::PointerToNowhere { pointer } => {
            format!("a `$ref` points to {pointer}, which does not exist in the schema it refers to")
        }
        ReferencingError::NoSuchAnchor { anchor } => {
            format!("a `$ref` points to the anchor {anchor:?}, which no `$anchor` or `$id` defines")
        }
        ReferencingError::InvalidAnchor { anchor } => {
            format!("a `$ref` points to {anchor:?}, which can't be the name of an anchor")
        }
        ReferencingError::InvalidPercentEncoding { pointer, .. } => {
            format!("a `$ref` points to {pointer}, whose `%` sequences are not UTF-8")
        }
        ReferencingError::InvalidArrayIndex { pointer, index, .. } => {
            format!("a `$ref` points to {pointer}, where {index:?} is not an index of a list")
        }
        ReferencingError::UnknownSpecification { specification } => format!(
            "its `$schema` is {specification}, which is not a known draft (4, 6, 7, 2019-09 and 2020-12 are): name one of \
             these, or put that schema in a folder for --schema-location"
        ),
        ReferencingError::CircularMetaschema { uri } => {
            format!("its `$schema` {uri} leads back to itself")
        }
        ReferencingError::InvalidUri(error) => format!("a `$ref`, `$id` or `$schema` is not a URI: {error}"),
    };
    format!("values.schema.json can't be used: {reason}")
}

/// Where `pattern` or `patternProperties` has an expression.
fn find_pattern(root: &Node, pattern: &str) -> Option<Span> {
    find(root, &|name, entry| match &entry.value.kind {
        NodeKind::String(text) if name == "pattern" => (text == pattern).then_some(entry.value.span),
        NodeKind::Map(keys) if name == "patternProperties" => {
            let key = keys.iter().find(|one| one.key == pattern)?;
            Some(key.key_span)
        }
        _ => None,
    })
}

/// Where a reference is written that can't be resolved.
fn find_reference(root: &Node, error: &ReferencingError) -> Option<Span> {
    let (names, target): (&[&str], &str) = match error {
        ReferencingError::UnknownSpecification { specification: uri }
        | ReferencingError::CircularMetaschema { uri } => (&["$schema"], uri),
        ReferencingError::Unretrievable { uri, .. } => (REFERENCES, uri),
        ReferencingError::PointerToNowhere { pointer }
        | ReferencingError::InvalidPercentEncoding { pointer, .. }
        | ReferencingError::InvalidArrayIndex { pointer, .. } => (REFERENCES, pointer),
        ReferencingError::NoSuchAnchor { anchor } | ReferencingError::InvalidAnchor { anchor } => {
            (REFERENCES, anchor)
        }
        ReferencingError::InvalidUri(_) => return None,
    };
    if target.contains("://") {
        return find_url(root, target, names);
    }
    let leads_there = |text: &str| text.split_once('#').map_or("", |(_, fragment)| fragment) == target;
    find_text(root, names, &leads_there)
}

/// Where a URL is written: whole, or else as a relative one, which ends as the whole does.
fn find_url(root: &Node, target: &str, names: &[&str]) -> Option<Span> {
    let bare = |url: &str| url.split_once('#').map_or(url, |(url, _)| url).to_owned();
    let target = bare(target);
    let is_target = |text: &str| {
        let text = bare(text);
        text == target || Url::parse(&text).is_ok_and(|url| url.as_str() == target)
    };
    let is_end = |text: &str| {
        let text = bare(text);
        let path = text.trim_start_matches(['.', '/']);
        let before = target.strip_suffix(path);
        !path.is_empty() && !text.contains("://") && before.is_some_and(|before| before.ends_with('/'))
    };
    find_text(root, names, &is_target).or_else(|| find_text(root, names, &is_end))
}

fn find_text(root: &Node, names: &[&str], leads_there: &dyn Fn(&str) -> bool) -> Option<Span> {
    find(root, &|name, entry| match &entry.value.kind {
        NodeKind::String(text) if names.contains(&name) && leads_there(text) => Some(entry.value.span),
        _ => None,
    })
}

/// The first entry, in the text's order, that `span` gives a place for.
fn find(root: &Node, span: &dyn Fn(&str, &yaml::Entry) -> Option<Span>) -> Option<Span> {
    let mut left = vec![root];
    while let Some(next) = left.pop() {
        for entry in next.entries() {
            if let Some(found) = span(&entry.key, entry) {
                return Some(found);
            }
        }
        left.extend(next.entries().iter().rev().map(|entry| &entry.value));
        left.extend(next.items().iter().rev());
    }
    None
}
