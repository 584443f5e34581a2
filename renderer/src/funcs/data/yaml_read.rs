//! YAML as `fromYaml` reads it: all numbers are float64.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::read::ReadOutcome;
use crate::diag::Class;
use crate::go_yaml_errors::go_yaml_message;
use crate::source::Source;
use crate::template::{Map, MapType, Str, Val};
use crate::yaml::{self, Kind, Limits, Node};

/// The value of a text's first document.
pub(super) fn read(text: &Str) -> ReadOutcome {
    let (value, error) = match parse(text) {
        Ok(value) => (value, None),
        Err(message) => (
            Val::Map(Map::default()),
            Some(format!("error converting YAML to JSON: {message}")),
        ),
    };
    ReadOutcome {
        value,
        error,
        prefix: "error unmarshaling JSON: while decoding JSON: ",
        null_is_empty: true,
    }
}

fn parse(text: &Str) -> Result<Val, String> {
    let Some(text) = text.as_str() else {
        let bytes = text.as_bytes();
        let start = bytes.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
        let leads = bytes.get(start).is_none_or(|byte| !(0xc2..0xf5).contains(byte));
        let what = if leads { "leading" } else { "trailing" };
        return Err(format!("yaml: invalid {what} UTF-8 octet"));
    };
    let source = Source::new("", text);
    let node = yaml::parse(&source, Class::Template, &Limits::default());
    node.map(value).map_err(|error| go_yaml_message(&error))
}

fn value(node: Node) -> Val {
    match node.kind {
        Kind::Null => Val::Nil,
        Kind::Bool(value) => Val::Bool(value),
        Kind::Number(value) => Val::Float(value.as_f64()),
        Kind::String(text) => Val::str(text),
        Kind::Seq(items) => Val::list(items.into_iter().map(value).collect()),
        Kind::Map(entries) => {
            let entries: BTreeMap<Arc<str>, Val> = entries
                .into_iter()
                .map(|entry| (entry.key.into(), value(entry.value)))
                .collect();
            Val::Map(Map::with(MapType::Any, entries))
        }
    }
}
