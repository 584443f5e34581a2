//! Where a value of a document is in its template's output.

use super::documents::Document;
use crate::diag::Class;
use crate::value::Value;
use crate::yaml::{self, Node};

/// The line and the column, from 1, in the template's output; of the document's beginning without a value, or if the
/// value is not one of the document's own.
pub(super) fn position(document: &Document, value: Option<&Value>) -> (usize, usize) {
    let node = yaml::parse(&document.text, Class::Template, &yaml::Limits::default()).ok();
    let found = value
        .zip(node.as_ref())
        .and_then(|(value, node)| find(&document.value, node, value));
    let at = found.map_or(0, |node| node.span.start as usize);
    let before = document.text.text().get(..at).unwrap_or("");
    let lines = before.matches('\n').count();
    let column = at - before.rfind('\n').map_or(0, |line| line + 1);
    (document.first_line + lines, column + 1)
}

/// The node of the value that is at the same address as the wanted one.
fn find<'n>(value: &Value, node: &'n Node, wanted: &Value) -> Option<&'n Node> {
    if std::ptr::eq(value, wanted) {
        return Some(node);
    }
    match value {
        Value::List(items) => items
            .iter()
            .zip(node.items())
            .find_map(|(item, node)| find(item, node, wanted)),
        Value::Map(map) => map
            .iter()
            .find_map(|(key, item)| find(item, node.get(key)?, wanted)),
        _ => None,
    }
}
