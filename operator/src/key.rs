//! Keys of objects, as queues, stores and logs use them.

use std::fmt;

use kube::api::ObjectMeta;

/// A resource kind of the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId {
    /// The kind's name, `RenderTask`.
    pub kind: &'static str,
    /// Its API group; empty for the core group.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its name in URLs, `rendertasks`.
    pub plural: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

/// An object by kind, namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its kind.
    pub kind: KindId,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// An object of a known kind by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl KindId {
    /// `group/version`, as in an object's `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            return self.version.to_owned();
        }
        format!("{}/{}", self.group, self.version)
    }

    /// The key of the object of this kind with a name.
    pub fn key(self, name: ObjectName) -> Key {
        Key {
            kind: self,
            namespace: name.namespace,
            name: name.name,
        }
    }
}

impl Key {
    /// The name without the kind.
    pub fn object_name(&self) -> ObjectName {
        ObjectName::new(&self.namespace, &self.name)
    }
}

impl ObjectName {
    /// A name in a namespace, which is empty for cluster-scoped objects.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl From<&ObjectMeta> for ObjectName {
    fn from(metadata: &ObjectMeta) -> Self {
        Self::new(
            metadata.namespace.as_deref().unwrap_or(""),
            metadata.name.as_deref().unwrap_or(""),
        )
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(&self.namespace, &self.name, f)
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(&self.namespace, &self.name, f)
    }
}

fn write_name(namespace: &str, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if namespace.is_empty() {
        return f.write_str(name);
    }
    write!(f, "{namespace}/{name}")
}
