//! References to other objects.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schemas::{NAMESPACE, OBJECT_NAME};

/// An object, maybe of another namespace: that takes a ReferenceGrant there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectReference {
    /// Its name.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
    /// Its namespace; without one, that of the referring object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63), regex(pattern = NAMESPACE))]
    pub namespace: String,
}

/// An object by namespace and name, in the order of the two.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectReference {
    /// The object that a reference from the namespace `from` names.
    pub fn resolved(&self, from: &str) -> ObjectKey {
        let namespace = if self.namespace.is_empty() {
            from
        } else {
            &self.namespace
        };
        ObjectKey::new(namespace, &self.name)
    }
}

impl ObjectKey {
    /// The object of this namespace and name.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
