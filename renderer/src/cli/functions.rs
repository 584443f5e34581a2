//! `functions`: what templates can call, from the tables that the engine itself uses.

use std::fmt::Write as _;

use super::context::CommandResult;
use crate::engine::families;
use crate::value::{Map, Value};

/// By family, in the order of the tables.
pub(crate) fn list() -> CommandResult {
    let families = families();
    let mut text = String::new();
    let mut items = Vec::new();
    for (family, functions) in &families {
        let gap = if text.is_empty() { "" } else { "\n" };
        // Writing to a String can't fail.
        let _ = writeln!(text, "{gap}{family}");
        for one in functions {
            let _ = writeln!(text, "  {one}\n      {}", one.doc);
            let params = one.params.iter().map(|param| Value::from(*param)).collect();
            let entry: Map = [
                ("name", Value::from(one.name)),
                ("family", Value::from(*family)),
                ("params", Value::List(params)),
                ("variadic", Value::from(one.variadic)),
                ("doc", Value::from(one.doc)),
            ]
            .into_iter()
            .collect();
            items.push(Value::Map(entry));
        }
    }
    let document: Map = [("schema", Value::from(1)), ("functions", Value::List(items))]
        .into_iter()
        .collect();
    CommandResult::Document {
        json: Value::Map(document).to_json(),
        text,
    }
}
