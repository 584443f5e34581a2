//! Where a change is in an object: `spec.template.spec.containers[web].image`.

use std::fmt;

use crate::value::Value;
use crate::yaml::{Kind, Node};

/// The fields and items from the object to a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldPath(pub(super) Vec<Step>);

/// A step of a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A field of a map.
    Key(String),
    /// An item of a list.
    Item {
        /// What identifies it: `web`, `containerPort=80`; absent for an item that is known by its position alone.
        label: Option<String>,
        /// Its position in the older list, from 0.
        from: Option<usize>,
        /// Its position in the newer list, from 0.
        to: Option<usize>,
    },
}

/// One of the two things that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Side {
    /// The older.
    From,
    /// The newer.
    To,
}

impl FieldPath {
    /// The path of a field in maps.
    pub fn of_keys(keys: &[&str]) -> Self {
        Self(keys.iter().map(|key| Step::Key((*key).to_owned())).collect())
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The name of the last field: of an item, that of its list.
    pub(super) fn last_key(&self) -> &str {
        let keys = self.0.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item { .. } => None,
        });
        keys.unwrap_or_default()
    }

    /// Where the value begins in a document's text: its key, or the item.
    pub(super) fn offset(&self, object: &Node, side: Side) -> Option<u32> {
        let mut node = object;
        let mut at = begin(object);
        for step in &self.0 {
            (node, at) = match step {
                Step::Key(key) => {
                    let entry = node.entries().iter().find(|entry| entry.key == *key)?;
                    (&entry.value, entry.key_span.start)
                }
                Step::Item { from, to, .. } => {
                    let number = match side {
                        Side::From => from,
                        Side::To => to,
                    };
                    let item = node.items().get((*number)?)?;
                    (item, begin(item))
                }
            };
        }
        Some(at)
    }

    /// As [`FieldPath::offset`], in a document that was not compared itself: as much of the path as it has, and items of
    /// lists by what identifies them, since they may be at other positions.
    pub(super) fn nearest_offset(&self, object: &Node) -> u32 {
        let mut node = object;
        let mut at = begin(object);
        for step in &self.0 {
            let found = match step {
                Step::Key(key) => {
                    let entry = node.entries().iter().find(|entry| entry.key == *key);
                    entry.map(|entry| (&entry.value, entry.key_span.start))
                }
                Step::Item { label, to, .. } => {
                    let labeled = label.as_ref().and_then(|label| labeled_item(node, label));
                    let item = match label {
                        Some(_) => labeled,
                        None => to.and_then(|number| node.items().get(number)),
                    };
                    item.map(|item| (item, begin(item)))
                }
            };
            match found {
                Some(found) => (node, at) = found,
                None => break,
            }
        }
        at
    }
}

/// The item of a list that a label identifies: `containerPort=80` by fields, `web` by the value of one.
fn labeled_item<'n>(list: &'n Node, label: &str) -> Option<&'n Node> {
    let text = |node: &Node| match node.to_value() {
        Value::String(text) => text,
        other => other.to_json(),
    };
    let pairs: Vec<(&str, &str)> = label.split(',').filter_map(|pair| pair.split_once('=')).collect();
    let has = |item: &&Node| match pairs.is_empty() {
        true => item.entries().iter().any(|entry| text(&entry.value) == label),
        // A field with its default is often not written.
        false => pairs
            .iter()
            .all(|(key, value)| item.get(key).is_none_or(|node| text(node) == *value)),
    };
    list.items().iter().find(has)
}

/// Where a node begins. That of a map in block style may be its end.
pub(super) fn begin(node: &Node) -> u32 {
    match &node.kind {
        Kind::Map(entries) => entries
            .first()
            .map_or(node.span.start, |entry| entry.key_span.start),
        _ => node.span.start,
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if is_plain(key) && number == 0 => f.write_str(key)?,
                Step::Key(key) if is_plain(key) => write!(f, ".{key}")?,
                Step::Key(key) => write!(f, "[{key:?}]")?,
                Step::Item {
                    label: Some(label), ..
                } => match label.contains('=') || is_name(label) {
                    true => write!(f, "[{label}]")?,
                    false => write!(f, "[{label:?}]")?,
                },
                Step::Item { from, to, .. } => write!(f, "[{}]", to.or(*from).unwrap_or_default())?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    let plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '$');
    !key.is_empty() && key.chars().all(plain)
}

/// Whether a label is neither a number, which would be a position, nor hard to read.
fn is_name(label: &str) -> bool {
    let plain = |one: char| one.is_alphanumeric() || matches!(one, '-' | '_' | '.' | '/' | ':');
    label.chars().all(plain) && label.chars().any(|one| !one.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl FieldPath {
        fn key(&self, key: &str) -> Self {
            self.with(Step::Key(key.to_owned()))
        }

        fn with(&self, step: Step) -> Self {
            Self(self.0.iter().cloned().chain([step]).collect())
        }
    }

    #[test]
    fn a_path_is_found_as_far_as_another_document_has_it() {
        let text = "spec:\n  containers:\n  - image: a\n    name: side\n  - name: web\n    ports:\n    - containerPort: 80\n  args:\n  - one\n  - two\n";
        let source = crate::source::Source::new("a", text);
        let node = crate::yaml::parse(
            &source,
            crate::diag::Class::Chart,
            &crate::yaml::Limits::default(),
        )
        .unwrap();
        let item = |label: Option<&str>, to: usize| Step::Item {
            label: label.map(str::to_owned),
            from: Some(0),
            to: Some(to),
        };
        let spec = FieldPath::default().key("spec");
        let web = spec.key("containers").with(item(Some("web"), 0));
        let port = web
            .key("ports")
            .with(item(Some("containerPort=80,protocol=TCP"), 3));
        let table = [
            (web.key("name"), 5),
            (web.key("image"), 5),
            (port.key("containerPort"), 7),
            (spec.key("args").with(item(None, 1)), 10),
            (spec.key("args").with(item(None, 7)), 8),
            (spec.key("replicas"), 1),
            (FieldPath::default(), 1),
        ];
        for (path, line) in table {
            assert_eq!(source.position(path.nearest_offset(&node)).line, line, "{path}");
        }
    }

    #[test]
    fn a_path_is_written_as_its_reader_would_write_it() {
        let item = |label: Option<&str>| Step::Item {
            label: label.map(str::to_owned),
            from: Some(1),
            to: Some(2),
        };
        let path = FieldPath::default().key("spec").key("containers");
        assert_eq!(
            path.with(item(Some("web"))).key("image").to_string(),
            "spec.containers[web].image"
        );
        assert_eq!(path.with(item(None)).to_string(), "spec.containers[2]");
        assert_eq!(path.with(item(Some("80"))).to_string(), "spec.containers[\"80\"]");
        assert_eq!(
            path.with(item(Some("containerPort=80"))).to_string(),
            "spec.containers[containerPort=80]"
        );
        assert_eq!(
            path.with(item(Some("a b]"))).to_string(),
            "spec.containers[\"a b]\"]"
        );
        let annotations = FieldPath::default().key("metadata").key("annotations");
        assert_eq!(
            annotations.key("a.b/c").to_string(),
            "metadata.annotations[\"a.b/c\"]"
        );
        assert_eq!(annotations.key("").to_string(), "metadata.annotations[\"\"]");
        assert_eq!(
            FieldPath::default().key("a/b").key("c").to_string(),
            "[\"a/b\"].c"
        );
    }
}
