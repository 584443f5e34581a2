//! Whether a declared dependency is used: its tags, its conditions, its version.

use super::coalesce::Coalescer;
use super::tree::Node;
use crate::semver::{Constraint, Version};
use crate::value::Value;

/// By the `tags` at the top of the values: one that is true is enough; with false ones alone
/// the chart is disabled.
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

/// By the first of the paths, separated by commas, that leads to a boolean. `path` leads to the
/// parent's values.
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

/// Whether a version satisfies a constraint, in Masterminds' grammar; what is none of them does not.
pub(super) fn is_compatible(constraint: &str, version: &str) -> bool {
    match (Constraint::parse(constraint), Version::parse(version)) {
        (Ok(constraint), Ok(version)) => constraint.check(&version),
        _ => false,
    }
}
