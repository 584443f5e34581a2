//! Which task: what queues, indexes and logs go by.

use std::fmt;

use crate::api::Scope;

/// A task by kind, namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskKey {
    /// Which of the two kinds.
    pub scope: Scope,
    /// Empty for cluster tasks.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scope {
            Scope::Namespaced => write!(f, "{}/{}", self.namespace, self.name),
            Scope::Cluster => f.write_str(&self.name),
        }
    }
}
