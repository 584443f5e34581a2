//! Where a value is in an object: `spec.template.spec.containers[0].image`.

use std::fmt;

/// One step of a path; the steps before it are in its parent. Nothing is copied until it is printed.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldPath<'p> {
    /// The object itself.
    Root,
    /// A field of a map.
    Key(&'p FieldPath<'p>, &'p str),
    /// An item of a list.
    Item(&'p FieldPath<'p>, usize),
}

impl FieldPath<'_> {
    pub(super) fn key<'p>(&'p self, key: &'p str) -> FieldPath<'p> {
        FieldPath::Key(self, key)
    }

    pub(super) fn item(&self, index: usize) -> FieldPath<'_> {
        FieldPath::Item(self, index)
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(parent, key) => {
                parent.fmt(f)?;
                let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '$');
                match (key.chars().all(is_plain) && !key.is_empty(), parent) {
                    (true, Self::Root) => write!(f, "{key}"),
                    (true, _) => write!(f, ".{key}"),
                    (false, _) => write!(f, "[{key:?}]"),
                }
            }
            Self::Item(parent, index) => {
                parent.fmt(f)?;
                write!(f, "[{index}]")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_no_names_are_quoted() {
        let root = FieldPath::Root;
        let metadata = root.key("metadata");
        let annotations = metadata.key("annotations");
        assert_eq!(
            annotations.key("a.b/c").to_string(),
            r#"metadata.annotations["a.b/c"]"#
        );
        let spec = root.key("spec");
        let containers = spec.key("containers");
        let first = containers.item(0);
        assert_eq!(first.key("image").to_string(), "spec.containers[0].image");
        assert_eq!(root.item(1).to_string(), "[1]");
    }
}
