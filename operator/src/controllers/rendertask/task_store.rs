//! The tasks that this operator reconciles: those that its watches of tasks have shown.
//!
//! Another operator may have Jobs in the same cluster, for tasks that a selector leaves out here:
//! what wakes a task by its Job or pods must ask whether it is among these.

use std::collections::BTreeMap;

use crate::api::Scope;
use crate::runtime::key::TaskKey;

/// The tasks, and what counts of them.
#[derive(Debug, Default)]
pub struct TaskStore {
    tasks: BTreeMap<TaskKey, TaskVersion>,
}

/// What counts of a task for waking it. A change of its own status changes none of this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskVersion {
    /// Another object of the name has another one.
    pub uid: Option<String>,
    /// Changes with the spec.
    pub generation: Option<i64>,
    /// The annotation that asks for another run.
    pub retry: Option<String>,
    /// It is being deleted.
    pub deleting: bool,
}

impl TaskStore {
    /// Whether a task is one of them.
    pub fn has(&self, key: &TaskKey) -> bool {
        self.tasks.contains_key(key)
    }

    /// Whether a task is one of them, and this its UID.
    pub fn is(&self, key: &TaskKey, uid: &str) -> bool {
        let seen = self.tasks.get(key);
        seen.is_some_and(|seen| seen.uid.as_deref() == Some(uid))
    }

    /// One was made or has changed. False: nothing that counts.
    pub fn put(&mut self, key: &TaskKey, seen: TaskVersion) -> bool {
        if self.tasks.get(key) == Some(&seen) {
            return false;
        }
        self.tasks.insert(key.clone(), seen);
        true
    }

    /// One was deleted, or a selector leaves it out now.
    pub fn remove(&mut self, key: &TaskKey) {
        self.tasks.remove(key);
    }

    /// A new list of one kind, in one namespace or in all. Gives back what is new, changed or
    /// gone; the first two in the order of the list.
    pub fn replace(
        &mut self,
        scope: Scope,
        namespace: Option<&str>,
        list: Vec<(TaskKey, TaskVersion)>,
    ) -> Vec<TaskKey> {
        let here = |key: &TaskKey| {
            key.scope == scope && namespace.is_none_or(|namespace| namespace == key.namespace)
        };
        let mut before: BTreeMap<TaskKey, TaskVersion> =
            self.tasks.extract_if(.., |key, _| here(key)).collect();
        let mut changed = Vec::new();
        for (key, seen) in list {
            if before.remove(&key).as_ref() != Some(&seen) {
                changed.push(key.clone());
            }
            self.tasks.insert(key, seen);
        }
        changed.extend(before.into_keys());
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(namespace: &str, name: &str) -> TaskKey {
        TaskKey {
            scope: Scope::Namespaced,
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    fn seen(generation: i64) -> TaskVersion {
        TaskVersion {
            uid: None,
            generation: Some(generation),
            retry: None,
            deleting: false,
        }
    }

    #[test]
    fn only_what_counts_is_a_change() {
        let mut tasks = TaskStore::default();
        assert!(tasks.put(&key("a", "1"), seen(1)));
        assert!(!tasks.put(&key("a", "1"), seen(1)));
        assert!(tasks.put(&key("a", "1"), seen(2)));
        tasks.remove(&key("a", "1"));
        assert!(!tasks.has(&key("a", "1")));
    }

    #[test]
    fn a_new_list_tells_what_is_new_changed_or_gone_in_its_place() {
        let mut tasks = TaskStore::default();
        for (namespace, name) in [("a", "same"), ("a", "changed"), ("a", "gone"), ("b", "elsewhere")] {
            tasks.put(&key(namespace, name), seen(1));
        }
        let list = vec![
            (key("a", "same"), seen(1)),
            (key("a", "new"), seen(1)),
            (key("a", "changed"), seen(2)),
        ];
        let changed = tasks.replace(Scope::Namespaced, Some("a"), list);
        assert_eq!(changed, [key("a", "new"), key("a", "changed"), key("a", "gone")]);
        assert!(tasks.has(&key("b", "elsewhere")) && !tasks.has(&key("a", "gone")));
    }
}
