//! `functions`: lists the template functions, from the engine's own tables.

use std::fmt::Write as _;

use super::context::CommandResult;
use crate::engine::families;
use crate::report::documents::{Document as _, FunctionEntry, FunctionsDocument};

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
            items.push(FunctionEntry {
                name: one.name,
                family,
                params: one.params.clone(),
                variadic: one.variadic,
                doc: one.doc,
            });
        }
    }
    let document = FunctionsDocument { functions: items };
    CommandResult::Document {
        json: document.to_json(),
        text,
    }
}
