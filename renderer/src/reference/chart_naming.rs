//! Helm's rule: a chart's repository ends in its name, and its tag is its version.

use super::Tag;

/// Why the rule is kept, for a note.
pub const WHY: &str = "Helm and Flux find a chart by its name and version";

/// What of a place names another chart than this one, in words. `last` is the repository's last element; a layout
/// on disk has none.
pub fn mismatches(last: Option<&str>, tag: &Tag, name: &str, version: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(last) = last.filter(|last| *last != name) {
        found.push(format!(
            "the repository's last element is {last:?}, but the chart's name is {name:?}"
        ));
    }
    if version.replace('+', "_") != tag.as_str() {
        let tag = tag.as_str();
        found.push(format!(
            "the tag is {tag:?}, but the chart's version is {version:?}"
        ));
    }
    found
}
