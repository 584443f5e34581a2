//! What `lookup` asks: [`ObjectLookup`].

use super::ClusterObjects;
use crate::value::Map;

/// Where `lookup` finds objects: given ones, or a cluster.
pub trait ObjectLookup: Send + Sync {
    /// The object with a name; the list of all if the name is empty, of all namespaces if the namespace is empty, too.
    /// An empty map if there is none.
    ///
    /// # Errors
    /// Why that is not known: the rendering fails with it.
    fn find(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Map, String>;
}

impl ObjectLookup for ClusterObjects {
    fn find(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Map, String> {
        Ok(Self::find(self, api_version, kind, namespace, name))
    }
}
