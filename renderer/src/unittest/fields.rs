//! Reads the fields of suites: types are checked, unknown names are warnings or errors.

use std::sync::Arc;

use super::data::{suite_data, word};
use crate::decode::{Decoder, ObjectNode};
use crate::diag::{Class, Diagnostic, Result, did_you_mean};
use crate::source::{Location, Source, Span};
use crate::value::{Map, Number, Value};
use crate::yaml::{Kind, Node};

/// Below this, the whole part of every number is an integer: 2 to the power of 63.
const WHOLE: f64 = 9_223_372_036_854_775_808.0;

/// Reads one file.
pub(super) struct FieldReader {
    decoder: Decoder,
    source: Arc<Source>,
    is_strict: bool,
    warnings: Vec<Diagnostic>,
}

impl FieldReader {
    /// With `is_strict`, unknown fields are errors.
    pub(super) fn new(source: &Arc<Source>, is_strict: bool) -> Self {
        Self {
            decoder: Decoder::new(source, Class::Chart),
            source: Arc::clone(source),
            is_strict,
            warnings: Vec::new(),
        }
    }

    /// The value with the warnings, or every error.
    pub(super) fn finish<T>(self, value: Option<T>) -> Result<(T, Vec<Diagnostic>)> {
        let warnings = self.warnings;
        self.decoder.finish(value).map(|value| (value, warnings))
    }

    pub(super) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Reports an error.
    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.decoder.report(span, message, |one| one);
    }

    /// Reports an error with a hint.
    pub(super) fn error_with_hint(&mut self, span: Span, message: impl Into<String>, hint: Option<String>) {
        self.decoder.report(span, message, |one| match hint {
            Some(hint) => one.hint(hint),
            None => one,
        });
    }

    /// A map; null is an empty one.
    pub(super) fn object<'n>(&mut self, node: &'n Node, path: &str) -> Option<ObjectNode<'n>> {
        match node.kind {
            Kind::Null => Some(ObjectNode {
                node,
                path: path.to_owned(),
            }),
            _ => self.decoder.object(node, path),
        }
    }

    /// A map in a field.
    pub(super) fn object_in<'n>(&mut self, object: &ObjectNode<'n>, name: &str) -> Option<ObjectNode<'n>> {
        let node = object.get(name)?;
        self.decoder.object(node, object.field(name))
    }

    /// Reports fields that are not known, with the nearest name.
    pub(super) fn only(&mut self, object: &ObjectNode<'_>, known: &[&str]) {
        if self.is_strict {
            object.only(&mut self.decoder, known);
            return;
        }
        for entry in object.node.entries() {
            if known.contains(&entry.key.as_str()) {
                continue;
            }
            let written = self.decoder.written(entry);
            let message = format!("unknown field `{}` is ignored", object.field(written));
            let one =
                Diagnostic::warning(Class::Chart, message).at(Location::new(&self.source, entry.key_span));
            self.warnings
                .push(match did_you_mean(written, known.iter().copied()) {
                    Some(near) => one.hint(format!("did you mean `{near}`?")),
                    None => one.note(format!("expected one of: {}", known.join(", "))),
                });
        }
    }

    /// A text, or a number or boolean as it is written.
    pub(super) fn text(&mut self, object: &ObjectNode<'_>, name: &str) -> Option<String> {
        let node = object.get(name)?;
        self.text_of(node, &object.field(name))
    }

    /// A text as [`FieldReader::text`]; an empty one counts as absent.
    pub(super) fn text_or_none(&mut self, object: &ObjectNode<'_>, name: &str) -> Option<String> {
        self.text(object, name).filter(|text| !text.is_empty())
    }

    /// A part of Kubernetes' version: a text or a whole number. Other numbers and booleans are ignored, as in
    /// helm-unittest: `1.30` would be 1.3.
    pub(super) fn version_number(&mut self, object: &ObjectNode<'_>, name: &str) -> Option<String> {
        let node = object.get(name)?;
        match (&node.kind, word(self.source.slice(node.span))) {
            (Kind::Number(Number::Int(number)), _) => Some(number.to_string()),
            (Kind::Bool(_), Some(word)) => Some(word.to_owned()),
            (Kind::Bool(_) | Kind::Number(_), _) => {
                let message = format!("{} is ignored: it is no whole number", object.field(name));
                let one = Diagnostic::warning(Class::Chart, message);
                let one = one.at(Location::new(&self.source, node.span));
                self.warnings
                    .push(one.hint("write it as a whole number or in quotes"));
                None
            }
            _ => self.text_or_none(object, name),
        }
    }

    fn text_of(&mut self, node: &Node, path: &str) -> Option<String> {
        match &node.kind {
            Kind::String(text) => Some(text.clone()),
            Kind::Number(_) | Kind::Bool(_) => Some(self.source.slice(node.span).to_owned()),
            _ => {
                self.decoder.wrong_type(node, path, "a string");
                None
            }
        }
    }

    /// A text that is written as one.
    pub(super) fn exact_text(&mut self, object: &ObjectNode<'_>, name: &str) -> Option<String> {
        let node = object.get(name)?;
        match suite_data(node, &self.source) {
            Value::String(text) => Some(text),
            _ => self.decoder.string(node, &object.field(name)),
        }
    }

    /// A list of texts; one text is a list, too.
    pub(super) fn texts(&mut self, object: &ObjectNode<'_>, name: &str) -> Vec<String> {
        let Some(node) = object.get(name) else {
            return Vec::new();
        };
        let path = object.field(name);
        let Kind::Seq(items) = &node.kind else {
            self.decoder.wrong_type(node, &path, "a list");
            return Vec::new();
        };
        items
            .iter()
            .filter_map(|item| self.text_of(item, &path))
            .collect()
    }

    pub(super) fn boolean(&mut self, object: &ObjectNode<'_>, name: &str) -> Option<bool> {
        let node = object.get(name)?;
        self.decoder.boolean(node, &object.field(name))
    }

    /// A whole number; of another one its whole part, as go-yaml v3 reads it.
    pub(super) fn integer(&mut self, object: &ObjectNode<'_>, name: &str) -> Option<i64> {
        let node = object.get(name)?;
        match node.kind {
            Kind::Number(Number::Int(number)) => Some(number),
            #[allow(clippy::cast_possible_truncation, reason = "the whole part is what is meant")]
            Kind::Number(Number::Float(number)) if number.abs() < WHOLE => Some(number as i64),
            _ => {
                self.decoder
                    .wrong_type(node, &object.field(name), "a whole number");
                None
            }
        }
    }

    /// Any value; null if it is absent.
    pub(super) fn value(&self, object: &ObjectNode<'_>, name: &str) -> Value {
        let node = object.node.get(name);
        node.map_or(Value::Null, |node| suite_data(node, &self.source))
    }

    /// A list of maps.
    pub(super) fn maps(&mut self, object: &ObjectNode<'_>, name: &str) -> Vec<Map> {
        let items = object.get(name).map_or(&[][..], Node::items);
        let path = object.field(name);
        let mut maps = Vec::new();
        for item in items {
            match suite_data(item, &self.source) {
                Value::Map(map) => maps.push(map),
                _ => self.decoder.wrong_type(item, &path, "a map"),
            }
        }
        maps
    }
}
