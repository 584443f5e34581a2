//! The objects that this operator reconciles: those that the watches with selectors have delivered.
//!
//! Another operator in the cluster may own dependents of objects that the selectors exclude here, so an owner is only
//! woken if it is among these.

use std::collections::{BTreeMap, BTreeSet};

use super::key::{Key, KindId};
use super::views::Object;
use crate::api::{REQUESTED_AT_ANNOTATION, RETRY_ANNOTATION};

/// The objects, and their triggers.
#[derive(Debug, Default)]
pub(super) struct Primaries {
    triggers: BTreeMap<Key, Trigger>,
}

/// The fields of an object whose change starts a reconcile. A change of its own status changes none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trigger {
    /// Another object of the same name has another UID.
    pub(super) uid: String,
    /// It changes with the spec.
    pub(super) generation: Option<i64>,
    /// Whether it is being deleted.
    pub(super) deleting: bool,
    /// The annotations that request a reconcile.
    pub(super) requests: [Option<String>; 2],
    /// The other fields that its kind is woken by ([`super::Kind::wakes`]).
    pub(super) other: u64,
}

impl Trigger {
    /// The trigger of an object; `other` is [`super::Kind::wakes`].
    pub(super) fn new<V>(object: &Object<V>, other: u64) -> Self {
        let request = |key| object.annotation(key).map(str::to_owned);
        Self {
            uid: object.uid().to_owned(),
            generation: object.metadata.generation,
            deleting: object.metadata.deletion_timestamp.is_some(),
            requests: [request(RETRY_ANNOTATION), request(REQUESTED_AT_ANNOTATION)],
            other,
        }
    }
}

impl Primaries {
    /// Whether an object is reconciled here.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.triggers.contains_key(key)
    }

    /// Whether an object is reconciled here and has this UID.
    pub(super) fn is(&self, key: &Key, uid: &str) -> bool {
        self.triggers.get(key).is_some_and(|trigger| trigger.uid == uid)
    }

    /// An object was created or changed. Returns whether its trigger changed.
    pub(super) fn put(&mut self, key: &Key, trigger: Trigger) -> bool {
        if self.triggers.get(key) == Some(&trigger) {
            return false;
        }
        self.triggers.insert(key.clone(), trigger);
        true
    }

    /// An object was deleted, or the selectors no longer match it.
    pub(super) fn remove(&mut self, key: &Key) -> bool {
        self.triggers.remove(key).is_some()
    }

    /// After a new list of one kind, in one namespace or in all: removes the objects that were not in it.
    pub(super) fn retain(
        &mut self,
        kind: KindId,
        uids: &BTreeSet<String>,
        namespace: Option<&str>,
    ) -> Vec<Key> {
        let gone = |key: &Key, trigger: &mut Trigger| {
            let listed = key.kind == kind && namespace.is_none_or(|namespace| namespace == key.namespace);
            listed && !uids.contains(&trigger.uid)
        };
        let gone = self.triggers.extract_if(.., gone);
        gone.map(|(key, _)| key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::test_kinds::{LAMPS, lamp, name};

    fn key(namespace: &str, text: &str) -> Key {
        LAMPS.key(name(namespace, text))
    }

    fn trigger(namespace: &str, text: &str, generation: i64) -> Trigger {
        Trigger::new(&lamp(namespace, text, "", generation), 0)
    }

    #[test]
    fn only_a_changed_trigger_is_a_change() {
        let mut primaries = Primaries::default();
        let one = trigger("a", "1", 1);
        assert!(primaries.put(&key("a", "1"), one.clone()));
        assert!(!primaries.put(&key("a", "1"), one.clone()));
        let retried = Trigger {
            requests: [Some("now".into()), None],
            ..one.clone()
        };
        let another = Trigger {
            uid: "another".into(),
            ..one.clone()
        };
        let deleting = Trigger {
            deleting: true,
            ..one.clone()
        };
        let other = Trigger {
            other: 7,
            ..one.clone()
        };
        for change in [trigger("a", "1", 2), retried, another, deleting, other] {
            primaries.put(&key("a", "1"), one.clone());
            assert!(primaries.put(&key("a", "1"), change.clone()), "{change:?}");
        }
        assert!(primaries.remove(&key("a", "1")) && !primaries.has(&key("a", "1")));
    }

    #[test]
    fn a_new_list_of_a_namespace_removes_the_deleted_objects() {
        let mut primaries = Primaries::default();
        for (namespace, text) in [("a", "same"), ("a", "gone"), ("b", "elsewhere")] {
            primaries.put(&key(namespace, text), trigger(namespace, text, 1));
        }
        let listed = [trigger("a", "same", 1).uid].into();
        assert_eq!(primaries.retain(LAMPS, &listed, Some("a")), [key("a", "gone")]);
        assert!(primaries.has(&key("b", "elsewhere")) && primaries.has(&key("a", "same")));
    }
}
