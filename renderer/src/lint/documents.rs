//! The documents of a manifest, split and parsed as Helm's linter does (k8s.io/apimachinery's
//! `YAMLOrJSONDecoder`).
//!
//! If a document is simple enough, only the requested fields are parsed: rendered CRDs have megabytes of others.

use std::sync::Arc;

use super::decode::StructType;
use crate::diag::{Class, Diagnostic};
use crate::go_yaml_errors::go_yaml_message;
use crate::source::{Source, Span};
use crate::yaml::{self, Kind, Node};

/// The error that ends parsing.
pub(super) struct UnreadableDocument {
    /// Go's message.
    pub(super) words: String,
    /// Our diagnostic, with the location in the rendered text.
    pub(super) diagnostic: Option<Box<Diagnostic>>,
}

/// The documents, the last of which may be invalid; each with at least the entries that `wanted` names.
pub(super) fn read(name: &str, text: &str, wanted: &StructType) -> Vec<Result<Node, UnreadableDocument>> {
    let mut out = Vec::new();
    let is_json = text.trim_start().starts_with('{');
    for piece in pieces(text) {
        let read = match piece {
            Ok(piece) => match some(text.get(piece.clone()).unwrap_or(""), wanted) {
                Some(node) => Ok(node),
                None => parse(name, text, piece).map_err(|broken| match json_words(text) {
                    Some(words) if is_json && out.is_empty() => UnreadableDocument { words, ..broken },
                    _ => broken,
                }),
            },
            Err(words) => Err(UnreadableDocument {
                words,
                diagnostic: None,
            }),
        };
        let broken = read.is_err();
        out.push(read);
        if broken {
            break;
        }
    }
    out
}

/// The entries of a map that `wanted` names, in any case; `None` if the whole document must be parsed.
fn some(text: &str, wanted: &StructType) -> Option<Node> {
    let lines = yaml::pick(text, |key| {
        wanted
            .fields
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(key))
    })?;
    if lines.is_empty() {
        let kind = Kind::Map(Vec::new());
        return Some(Node {
            span: Span::default(),
            kind,
        });
    }
    yaml::parse(&Source::new("", lines), Class::Template, &yaml::Limits::default()).ok()
}

/// The first document of a whole text.
pub(super) fn first(name: &str, text: &str) -> Result<Node, UnreadableDocument> {
    parse(name, text, 0..text.len())
}

fn parse(name: &str, text: &str, piece: std::ops::Range<usize>) -> Result<Node, UnreadableDocument> {
    let start = piece.start;
    let source: Arc<Source> = Source::new(name, text.get(piece).unwrap_or(""));
    yaml::parse(&source, Class::Template, &yaml::Limits::default()).map_err(|error| {
        let words = format!("error converting YAML to JSON: {}", go_yaml_message(&error));
        let whole = Source::new(name, text);
        let diagnostic = Some(Box::new(Diagnostic::from(error.within(&whole, start))));
        UnreadableDocument { words, diagnostic }
    })
}

/// Ranges between lines that begin with `---`; invalid text after `---` is an error.
fn pieces(text: &str) -> Vec<Result<std::ops::Range<usize>, String>> {
    let mut out = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix("---") {
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                out.push(Err(format!("invalid Yaml document separator: {rest}")));
                return out;
            }
            if start < at {
                out.push(Ok(start..at));
            }
            start = at + line.len();
        }
        at += line.len();
    }
    if start < at {
        out.push(Ok(start..at));
    }
    out
}

/// The message of Go's JSON decoder for a text that begins like JSON, for the typical mistake in templates: braces that
/// were not evaluated as an action.
fn json_words(text: &str) -> Option<String> {
    let open = text.find('{')?;
    let rest = text.get(open + 1..)?;
    let next = rest.find(|character: char| !matches!(character, ' ' | '\t' | '\r' | '\n'))?;
    let character = rest.get(next..)?.chars().next()?;
    if matches!(character, '"' | '}') {
        return None;
    }
    // Go counts the bytes it has read, including the wrong one.
    let offset = open + 1 + next + 1;
    Some(format!(
        "json: offset {offset}: invalid character '{character}' looking for beginning of object key string"
    ))
}
