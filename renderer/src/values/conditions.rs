//! Whether a declared dependency is enabled: its tags, its conditions, its version.

use super::coalesce::Coalescer;
use super::tree::Node;
use crate::semver::{Constraint, Version};
use crate::value::Value;

/// By the top-level `tags` of the values: one true tag is enough; with only false ones the chart is disabled.
pub(super) fn by_tags(tags: &[String], chart: &str, values: &Node<'_>, coalescer: &mut Coalescer) -> bool {
    let Some(known) = values.get("tags").filter(Node::is_table) else {
        return true;
    };
    let (mut any_true, mut any_false) = (false, false);
    for tag in tags {
        match known.get(tag) {
            None => {}
            Some(Node::Leaf(Value::Bool(true))) => any_true = true,
            Some(Node::Leaf(Value::Bool(false))) => any_false = true,
            Some(_) => coalescer.warn(format!("returned non-bool value tag={tag} chart={chart}")),
        }
    }
    any_true || !any_false
}

/// By the first of the comma-separated paths that has a boolean value. `path` is that of the parent's values.
pub(super) fn by_condition(
    condition: &str,
    chart: &str,
    values: &Node<'_>,
    path: &str,
    coalescer: &mut Coalescer,
) -> Option<bool> {
    for one in condition.trim().split(',').filter(|one| !one.is_empty()) {
        match values.at(format!("{path}{one}").split('.')) {
            Some(Node::Leaf(Value::Bool(value))) => return Some(*value),
            Some(Node::Leaf(_)) => {
                coalescer.warn(format!("returned non-bool value path={one} chart={chart}"));
            }
            _ => {}
        }
    }
    None
}

/// Whether a version satisfies a constraint, in Masterminds' grammar; an invalid one does not.
pub(super) fn is_compatible(constraint: &str, version: &str) -> bool {
    match (Constraint::parse(constraint), Version::parse(version)) {
        (Ok(constraint), Ok(version)) => constraint.check(&version),
        _ => false,
    }
}
