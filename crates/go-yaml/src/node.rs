//! The content of a YAML text: [`Node`], a value with its span.

use solar_diagnostics::source::Span;
use solar_diagnostics::value::{Number, Value};

/// A value with its span in the text.
///
/// The value of an alias has the span of the anchored node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its span, including quotes and brackets.
    pub span: Span,
    /// Its kind.
    pub kind: Kind,
}

/// The kind of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// `null`, `~` or nothing at all.
    Null,
    /// `true`, `yes`, `on` … and their opposites.
    Bool(bool),
    /// A finite number. An integer beyond uint64 is a float; its digits are in the text.
    Number(Number),
    /// Text.
    String(String),
    /// A list.
    Seq(Vec<Node>),
    /// A map: keys are unique, in the order of the text.
    Map(Vec<Entry>),
}

/// One key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key; booleans and numbers are turned into text as Helm does.
    pub key: String,
    /// The span of the key.
    pub key_span: Span,
    /// Its value.
    pub value: Node,
}

impl Node {
    /// The data without its places.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(*value),
            Kind::String(value) => Value::String(value.clone()),
            Kind::Seq(items) => Value::List(items.iter().map(Self::to_value).collect()),
            Kind::Map(entries) => Value::Map(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_value()))
                    .collect(),
            ),
        }
    }

    /// The data without spans, without copying strings.
    pub fn into_value(self) -> Value {
        match self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(value),
            Kind::Number(value) => Value::Number(value),
            Kind::String(value) => Value::String(value),
            Kind::Seq(items) => Value::List(items.into_iter().map(Self::into_value).collect()),
            Kind::Map(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|entry| (entry.key, entry.value.into_value()))
                    .collect(),
            ),
        }
    }

    /// The value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let entry = self.entries().iter().find(|entry| entry.key == key)?;
        Some(&entry.value)
    }

    /// The entries of a map, in source order; empty for other kinds.
    pub fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; empty for other kinds.
    pub fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::Seq(items) => items,
            _ => &[],
        }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// The name of its kind for messages: `a map`, `a string`, …
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::Seq(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }
}
