//! Decodes YAML nodes to typed fields, and reports every mistake with its location.
//!
//! The decoder of the config and Chart.yaml. It collects errors: a wrong type in one field doesn't hide an unknown name
//! in another. `null` counts as absent.

use std::sync::Arc;

use crate::diag::{Class, Diagnostic, Diagnostics, Result, did_you_mean};
use crate::source::{Location, Source, Span};
use crate::yaml::{Entry, Kind, Node};

/// Decodes one text and collects its errors.
pub struct Decoder {
    source: Arc<Source>,
    class: Class,
    problems: Vec<Diagnostic>,
}

/// A map of the text, with its dotted path for messages (`release.chart`).
#[derive(Clone)]
pub struct ObjectNode<'n> {
    /// The map.
    pub node: &'n Node,
    /// Its dotted path; empty at the top level.
    pub path: String,
}

impl Decoder {
    /// A decoder of one text whose errors are of one class.
    pub fn new(source: &Arc<Source>, class: Class) -> Self {
        Self {
            source: Arc::clone(source),
            class,
            problems: Vec::new(),
        }
    }

    /// The value, or all errors if there were any.
    pub fn finish<T>(mut self, value: Option<T>) -> Result<T> {
        match value {
            Some(value) if self.problems.is_empty() => Ok(value),
            _ => {
                // Sorted by position, whatever the order of decoding.
                self.problems
                    .sort_by_key(|one| one.location.as_ref().map(|at| at.span.start));
                Err(Diagnostics::from_vec(self.problems)
                    .unwrap_or_else(|| Diagnostic::error(Class::Internal, "nothing was decoded").into()))
            }
        }
    }

    /// Reports an error at a location.
    pub fn report(
        &mut self,
        span: Span,
        message: impl Into<String>,
        refine: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        let location = Location::new(&self.source, span);
        self.problems
            .push(refine(Diagnostic::error(self.class, message).at(location)));
    }

    /// A key as the user wrote it: in YAML 1.1 `y` and `no` are booleans, and become `true` and `false`.
    pub fn written<'e>(&'e self, entry: &'e Entry) -> &'e str {
        let written = self.source.slice(entry.key_span);
        let is_word = !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_alphabetic());
        if is_word && matches!(entry.key.as_str(), "true" | "false") {
            written
        } else {
            &entry.key
        }
    }

    /// The text being decoded.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The node as a map. Anything else is an error, also null unless the caller has handled it.
    pub fn object<'n>(&mut self, node: &'n Node, path: impl Into<String>) -> Option<ObjectNode<'n>> {
        let path = path.into();
        if let Kind::Map(_) = node.kind {
            return Some(ObjectNode { node, path });
        }
        self.wrong_type(node, &path, "a map");
        None
    }

    /// The node as a string. For a bare number or boolean, the hint is to quote it.
    pub fn string(&mut self, node: &Node, path: &str) -> Option<String> {
        if let Kind::String(text) = &node.kind {
            return Some(text.clone());
        }
        self.wrong_type(node, path, "a string");
        None
    }

    /// The node as a boolean.
    pub fn boolean(&mut self, node: &Node, path: &str) -> Option<bool> {
        if let Kind::Bool(value) = node.kind {
            return Some(value);
        }
        self.wrong_type(node, path, "true or false");
        None
    }

    /// Reports that a node is of another type than expected.
    pub fn wrong_type(&mut self, node: &Node, path: &str, wanted: &str) {
        let message = format!("{} must be {wanted}, not {}", name_or_top(path), node.kind_name());
        let literal = self.source.slice(node.span).to_owned();
        let quotable = wanted == "a string" && matches!(node.kind, Kind::Number(_) | Kind::Bool(_));
        self.report(node.span, message, |one| {
            if quotable {
                one.hint(format!("quote it: \"{literal}\""))
            } else {
                one
            }
        });
    }
}

impl<'n> ObjectNode<'n> {
    /// A field's node; null counts as absent.
    pub fn get(&self, name: &str) -> Option<&'n Node> {
        self.node
            .get(name)
            .filter(|node| !matches!(node.kind, Kind::Null))
    }

    /// A field's dotted path.
    pub fn field(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    /// A required field.
    pub fn required(&self, decoder: &mut Decoder, name: &str) -> Option<&'n Node> {
        let node = self.get(name);
        if node.is_none() {
            let message = format!("{} is missing", self.field(name));
            // The whole block would be too long an excerpt: its first line is enough.
            let start = self.node.span.start as usize;
            let line = decoder
                .source
                .text()
                .get(start..)
                .and_then(|rest| rest.lines().next())
                .map_or(0, str::len);
            decoder.report(Span::new(start, start + line), message, |one| one);
        }
        node
    }

    /// A required map.
    pub fn required_object(&self, decoder: &mut Decoder, name: &str) -> Option<ObjectNode<'n>> {
        let node = self.required(decoder, name)?;
        decoder.object(node, self.field(name))
    }

    /// A required string that must not be empty.
    pub fn required_string(&self, decoder: &mut Decoder, name: &str) -> Option<String> {
        let node = self.required(decoder, name)?;
        let text = decoder.string(node, &self.field(name))?;
        if text.is_empty() {
            decoder.report(node.span, format!("{} is empty", self.field(name)), |one| one);
            return None;
        }
        Some(text)
    }

    /// An optional string.
    pub fn string(&self, decoder: &mut Decoder, name: &str) -> Option<String> {
        let node = self.get(name)?;
        decoder.string(node, &self.field(name))
    }

    /// Reports every field that is not one of `known`, with the closest name.
    pub fn only(&self, decoder: &mut Decoder, known: &[&str]) {
        let Kind::Map(entries) = &self.node.kind else {
            return;
        };
        for entry in entries
            .iter()
            .filter(|entry| !known.contains(&entry.key.as_str()))
        {
            let written = decoder.written(entry);
            let message = format!("unknown field `{}`", self.field(written));
            let near = did_you_mean(written, known.iter().copied());
            decoder.report(entry.key_span, message, |one| match near {
                Some(name) => one.hint(format!("did you mean `{name}`?")),
                None => one.note(format!("expected one of: {}", known.join(", "))),
            });
        }
    }
}

fn name_or_top(path: &str) -> &str {
    if path.is_empty() { "the document" } else { path }
}
