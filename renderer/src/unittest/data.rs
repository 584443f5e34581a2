//! Data of suites and of rendered documents, as go-yaml v3 reads and writes it.
//!
//! Helm's values are YAML 1.1. helm-unittest reads suites and documents with go-yaml v3, for which `yes`, `no`, `on` and
//! `off` are texts, and compares numbers with their types: `1` is not `1.0`. A whole number of a document is an integer
//! however it is written, if go-yaml prints it as one: `1.0` is, `1e9` is not.

use std::convert::Infallible;

use crate::source::Source;
use crate::value::{Map, Number, Value};
use crate::yaml::{self, Dialect, Kind, Node, Options, Tree, Writer};

/// The words that YAML 1.1 alone takes for booleans.
const WORDS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];

/// The data of a suite's node.
pub(super) fn suite_data(node: &Node, source: &Source) -> Value {
    data(node, source, false)
}

/// The data of a rendered document.
pub(super) fn document_data(node: &Node, source: &Source) -> Value {
    data(node, source, true)
}

fn data(node: &Node, source: &Source, is_document: bool) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(value) => match word(source.slice(node.span)) {
            Some(word) => Value::from(word),
            None => Value::Bool(*value),
        },
        Kind::Number(Number::Float(value)) if is_document => {
            let printed = yaml::plain_float(*value);
            Value::Number(printed.parse().map_or(Number::Float(*value), Number::Int))
        }
        Kind::Number(value) => Value::Number(*value),
        Kind::String(text) if is_document => document_text(text),
        Kind::String(text) => Value::from(text.as_str()),
        Kind::Seq(items) => Value::List(items.iter().map(|item| data(item, source, is_document)).collect()),
        Kind::Map(entries) => Value::Map(
            entries
                .iter()
                .map(|entry| {
                    let key = word(source.slice(entry.key_span)).unwrap_or(&entry.key);
                    (key.to_owned(), data(&entry.value, source, is_document))
                })
                .collect(),
        ),
    }
}

/// A text of a document: helm-unittest loses line breaks at its beginning.
pub(super) fn document_text(text: &str) -> Value {
    Value::from(text.trim_start_matches('\n'))
}

/// The word, if it is a boolean in YAML 1.1 only.
pub(super) fn word(written: &str) -> Option<&str> {
    let is_word = written.len() <= 3 && WORDS.iter().any(|word| written.eq_ignore_ascii_case(word));
    is_word.then_some(written)
}

/// The values that templates see for a suite's data: all numbers are float64.
pub(super) fn as_values(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(Number::Float(number.as_f64())),
        Value::List(items) => Value::List(items.iter().map(as_values).collect()),
        Value::Map(map) => Value::Map(
            map.iter()
                .map(|(key, value)| (key.clone(), as_values(value)))
                .collect::<Map>(),
        ),
        other => other.clone(),
    }
}

/// The value as go-yaml v3 writes it, with a line break at the end.
pub(super) fn written(value: &Value) -> String {
    written_tree(&Written(value))
}

/// Any tree as go-yaml v3 writes it.
pub(super) fn written_tree<T: Tree<Error = Infallible>>(tree: &T) -> String {
    let options = Options {
        dialect: Dialect::GoYaml3,
        ..Options::default()
    };
    let Ok(text) = yaml::write_tree(tree, &options);
    text
}

#[derive(Clone, Copy)]
struct Written<'v>(&'v Value);

impl Tree for Written<'_> {
    type Error = Infallible;

    fn write(&self, out: &mut Writer) -> Result<(), Infallible> {
        match self.0 {
            Value::Null => out.null(),
            Value::Bool(value) => out.bool(*value),
            Value::Number(Number::Float(value)) => out.word(&yaml::plain_float(*value)),
            Value::Number(value) => out.number(*value),
            Value::String(text) => out.text(text),
            Value::List(items) => out.list(items.iter().map(Written))?,
            Value::Map(map) => out.map(map.iter().map(|(key, item)| (key.as_str(), Written(item))))?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Class;

    fn read(text: &str, is_document: bool) -> Value {
        let source = Source::new("t", text);
        let node = yaml::parse(&source, Class::Chart, &yaml::Limits::default()).unwrap();
        data(&node, &source, is_document)
    }

    #[test]
    fn only_true_and_false_are_booleans() {
        let value = read("yes: no\nx: [y, true, \"no\", Off]\n", false);
        assert_eq!(value.to_json(), r#"{"x":["y",true,"no","Off"],"yes":"no"}"#);
    }

    #[test]
    fn whole_numbers_of_documents_are_integers_as_far_as_they_are_printed_so() {
        let value = read("[1.0, 1e3, 1e9, 1234567.0, 0.5]", true);
        let whole = |number| Value::Number(Number::Int(number));
        let float = |number| Value::Number(Number::Float(number));
        let expected = [whole(1), whole(1000), float(1e9), float(1_234_567.0), float(0.5)];
        assert_eq!(value, Value::List(expected.into()));
        assert_ne!(read("1.0", false), read("1", false));
        assert_eq!(written(&value), "- 1\n- 1000\n- 1e+09\n- 1.234567e+06\n- 0.5\n");
    }
}
