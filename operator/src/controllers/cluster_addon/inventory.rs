//! What the operator has applied in a cluster, and what it has to delete there. Pure.
//!
//! Objects are keyed by group, kind, namespace and name: one that comes in another version of its API is the same object,
//! one of another kind with the same name is another.

use std::collections::BTreeSet;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use solar_server_side_apply::ObjectKey;

use crate::api::cluster_addons::InventoryEntry;

/// How many hex digits of an object's SHA-256 the inventory has.
const HASH_DIGITS: usize = 16;

/// The entry of an object with the hash of its content; without one, it isn't applied yet.
pub(super) fn entry(key: &ObjectKey, hash: &str) -> InventoryEntry {
    let ObjectKey {
        group,
        kind,
        namespace,
        name,
    } = key.clone();
    InventoryEntry {
        group,
        kind,
        namespace,
        name,
        hash: hash.to_owned(),
    }
}

/// The key of an entry.
pub(super) fn key_of(entry: &InventoryEntry) -> ObjectKey {
    let InventoryEntry {
        group,
        kind,
        namespace,
        name,
        hash: _,
    } = entry.clone();
    ObjectKey {
        group,
        kind,
        namespace,
        name,
    }
}

/// The hash of an object as it is applied.
pub(super) fn hash(object: &Value) -> String {
    let text = object.to_string();
    let mut hash = String::with_capacity(HASH_DIGITS);
    for byte in Sha256::digest(text.as_bytes()).iter().take(HASH_DIGITS / 2) {
        use std::fmt::Write as _;
        // Writing to a String can't fail.
        let _ = write!(hash, "{byte:02x}");
    }
    hash
}

/// What the inventory must say before anything is applied: what is there, and behind it what may come. A crash in
/// between loses no object.
pub(super) fn before(known: &[InventoryEntry], desired: &[ObjectKey]) -> Vec<InventoryEntry> {
    let have: BTreeSet<ObjectKey> = known.iter().map(key_of).collect();
    let new = desired.iter().filter(|key| !have.contains(key));
    known
        .iter()
        .cloned()
        .chain(new.map(|key| entry(key, "")))
        .collect()
}

/// What the inventory has and the chart has no longer, last applied first.
pub(super) fn obsolete(known: &[InventoryEntry], desired: &[ObjectKey]) -> Vec<ObjectKey> {
    let wanted: BTreeSet<&ObjectKey> = desired.iter().collect();
    let keys = known.iter().rev().map(key_of);
    keys.filter(|key| !wanted.contains(key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(version: &str, kind: &str, name: &str) -> ObjectKey {
        ObjectKey::of(
            &json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}}),
            "ns",
        )
    }

    #[test]
    fn an_object_is_obsolete_when_the_chart_has_no_object_of_its_key() {
        let known: Vec<_> = [
            key("v1", "ConfigMap", "a"),
            key("autoscaling/v2beta2", "HorizontalPodAutoscaler", "a"),
            key("v1", "Service", "a"),
        ]
        .iter()
        .map(|key| entry(key, "x"))
        .collect();
        let table = [
            // Another version is the same object; another kind of the same name is not.
            (
                vec![
                    key("v1", "ConfigMap", "a"),
                    key("autoscaling/v2", "HorizontalPodAutoscaler", "a"),
                    key("v1", "Secret", "a"),
                ],
                vec!["Service"],
            ),
            (vec![], vec!["Service", "HorizontalPodAutoscaler", "ConfigMap"]),
            (
                // Another group is another object.
                vec![key("example.com/v1", "Service", "a")],
                vec!["Service", "HorizontalPodAutoscaler", "ConfigMap"],
            ),
        ];
        for (desired, expected) in table {
            let found: Vec<_> = obsolete(&known, &desired)
                .into_iter()
                .map(|key| key.kind)
                .collect();
            assert_eq!(found, expected, "{desired:?}");
        }
        let other = ObjectKey {
            namespace: "other".to_owned(),
            ..key("v1", "ConfigMap", "a")
        };
        assert_eq!(obsolete(&known[..1], &[other]).len(), 1, "another namespace");
    }

    #[test]
    fn what_may_be_applied_is_in_the_inventory_before_it_is() {
        let known = [entry(&key("v1", "ConfigMap", "a"), "x")];
        let all = before(&known, &[key("v1", "ConfigMap", "a"), key("v1", "Secret", "b")]);
        let found: Vec<_> = all
            .iter()
            .map(|one| (one.kind.as_str(), one.hash.as_str()))
            .collect();
        assert_eq!(found, [("ConfigMap", "x"), ("Secret", "")]);
    }

    #[test]
    fn keys_and_hashes_tell_objects_apart() {
        let one = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replicas": 1}});
        let mut other = one.clone();
        other["spec"]["replicas"] = 2.into();
        assert_ne!(hash(&one), hash(&other));
        assert_eq!(hash(&one).len(), HASH_DIGITS);
        assert_eq!(ObjectKey::of(&one, "ns").to_string(), "Deployment.apps ns/a");
        assert_eq!(key("v1", "Node", "a").to_string(), "Node ns/a");
    }
}
