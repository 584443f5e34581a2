//! What identifies an object.

use std::fmt;

use serde_json::Value;

/// Which object: one that comes in another version of its API is the same, one of another kind with the same name is
/// another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// The key of an object with its namespace.
    pub fn of(object: &Value, namespace: &str) -> Self {
        let text = |pointer: &str| {
            let found = object.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or("").to_owned()
        };
        let version = text("/apiVersion");
        let group = version.split_once('/').map_or("", |(group, _)| group);
        Self {
            group: group.to_owned(),
            kind: text("/kind"),
            namespace: namespace.to_owned(),
            name: text("/metadata/name"),
        }
    }
}

impl fmt::Display for ObjectKey {
    /// `Deployment.apps shop/web`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            group,
            kind,
            namespace,
            name,
        } = self;
        f.write_str(kind)?;
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        if !namespace.is_empty() {
            write!(f, " {namespace}/{name}")
        } else {
            write!(f, " {name}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_says_what_an_object_is_and_not_which_version() {
        let key = |version: &str, kind: &str, namespace: &str| {
            let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}});
            ObjectKey::of(&object, namespace)
        };
        let table = [
            ("apps/v1", "Deployment", "ns", "Deployment.apps ns/a"),
            ("v1", "Node", "", "Node a"),
        ];
        for (version, kind, namespace, expected) in table {
            assert_eq!(key(version, kind, namespace).to_string(), expected);
        }
        assert_eq!(key("autoscaling/v1", "X", "n"), key("autoscaling/v2", "X", "n"));
    }
}
