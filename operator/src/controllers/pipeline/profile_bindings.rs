//! The ReleaseBindings of a Profile: one for each Target that it matches.

use std::collections::BTreeMap;

use serde_json::json;

use super::canonical;
use super::grants::CrossReference;
use super::task_owner::bounded;
use crate::api::LocalReference;
use crate::api::pipeline::{
    ObjectKey, ObjectReference, Profile, ReferenceGrant, ReleaseBinding, ReleaseBindingSpec, Target,
};

/// What is to be done about a Profile's bindings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BindingChanges {
    /// How many Targets match.
    pub matched: usize,
    /// Bindings to be created, by name.
    pub create: BTreeMap<String, ReleaseBindingSpec>,
    /// Bindings to be changed: the Profile names another Release.
    pub update: BTreeMap<String, ReleaseBindingSpec>,
    /// Bindings to be deleted, by name.
    pub delete: Vec<String>,
    /// Bindings that are being deleted and are still there, by name, with the finalizers that keep them.
    pub stuck: BTreeMap<String, Vec<String>>,
    /// Names that an object has which isn't this Profile's.
    pub taken: Vec<String>,
}

/// Whether a Profile matches a Target: by its labels, in the Profile's namespace or where that is granted.
pub fn matches(profile: &Profile, target: &Target, grants: &[ReferenceGrant]) -> bool {
    let labels = target.metadata.labels.clone().unwrap_or_default();
    !target.is_deleted()
        && profile.spec.target_selector.matches(&labels)
        && CrossReference::ProfileToTarget.is_granted(profile.namespace(), target.namespace(), grants)
}

/// The name of a Profile's binding for a Target.
pub fn binding_name(profile: &str, target: &ObjectKey) -> String {
    let hash = canonical::short(&json!([target.namespace, target.name]));
    bounded("", profile, &format!("-{hash}"))
}

/// Brings the bindings of a Profile in line with the Targets it matches. `existing` are the bindings in its namespace.
/// A Profile that is being deleted has none.
pub fn changes<'a>(
    profile: &Profile,
    targets: impl IntoIterator<Item = &'a Target>,
    existing: &[ReleaseBinding],
    grants: &[ReferenceGrant],
) -> BindingChanges {
    let mut desired = BTreeMap::new();
    let matched = targets
        .into_iter()
        .filter(|target| !profile.is_deleted() && matches(profile, target, grants));
    for target in matched {
        let key = target.key();
        desired.insert(binding_name(profile.name(), &key), spec(profile, &key));
    }
    let mut changes = BindingChanges {
        matched: desired.len(),
        ..BindingChanges::default()
    };
    for binding in existing {
        let name = binding.name();
        let wanted = desired.remove(name);
        if !is_owned(binding, profile) {
            if wanted.is_some() {
                changes.taken.push(name.to_owned());
            }
            continue;
        }
        if binding.is_deleted() {
            // It is created again when it is gone.
            let finalizers = binding.metadata.finalizers.clone().unwrap_or_default();
            changes.stuck.insert(name.to_owned(), finalizers);
            continue;
        }
        match wanted {
            None => changes.delete.push(name.to_owned()),
            Some(spec) if spec != binding.spec => {
                changes.update.insert(name.to_owned(), spec);
            }
            Some(_) => {}
        }
    }
    changes.create = desired;
    changes.delete.sort_unstable();
    changes.taken.sort_unstable();
    changes
}

fn spec(profile: &Profile, target: &ObjectKey) -> ReleaseBindingSpec {
    let namespace = if target.namespace == profile.namespace() {
        String::new()
    } else {
        target.namespace.clone()
    };
    ReleaseBindingSpec {
        target_ref: ObjectReference {
            name: target.name.clone(),
            namespace,
        },
        release_ref: LocalReference {
            name: profile.spec.release_ref.name.clone(),
        },
    }
}

/// Whether a binding is this Profile's: by UID, so that a Profile that was made again takes nothing over.
fn is_owned(binding: &ReleaseBinding, profile: &Profile) -> bool {
    let owners = binding.metadata.owner_references.as_deref().unwrap_or_default();
    let uid = profile.metadata.uid.as_deref();
    owners.iter().any(|owner| Some(owner.uid.as_str()) == uid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GROUP;
    use crate::controllers::pipeline::test_objects::object;
    use proptest::prelude::*;
    use serde_json::Value;

    fn profile(release: &str) -> Profile {
        object(json!({
            "metadata": {"name": "all", "namespace": "catalog", "uid": "p1"},
            "spec": {"releaseRef": {"name": release}, "targetSelector": {"matchLabels": {"env": "prod"}}},
        }))
    }

    fn target(namespace: &str, name: &str, env: &str) -> Target {
        object(json!({
            "metadata": {"name": name, "namespace": namespace, "labels": {"env": env}},
            "spec": {"renderRegistryRef": {"name": "charts"}},
        }))
    }

    fn grant() -> ReferenceGrant {
        object(json!({
            "metadata": {"name": "g", "namespace": "tenant"},
            "spec": {"from": [{"group": GROUP, "kind": "Profile", "namespace": "catalog"}],
                "to": [{"group": GROUP, "kind": "Target"}]},
        }))
    }

    fn binding(name: &str, uid: &str, spec: &ReleaseBindingSpec, deleted: bool) -> ReleaseBinding {
        let mut metadata = json!({
            "name": name, "namespace": "catalog",
            "ownerReferences": [{"apiVersion": "v", "kind": "Profile", "name": "all", "uid": uid}],
        });
        if deleted {
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            metadata["finalizers"] = json!(["example.com/stuck"]);
        }
        object(json!({"metadata": metadata, "spec": serde_json::to_value(spec).expect("JSON")}))
    }

    #[test]
    fn targets_match_by_label_and_in_other_namespaces_by_grant() {
        let targets = [
            target("catalog", "a", "prod"),
            target("catalog", "b", "test"),
            target("tenant", "c", "prod"),
            target("other", "d", "prod"),
        ];
        let names = |grants: &[ReferenceGrant]| -> Vec<String> {
            let profile = profile("shop");
            let matched = targets.iter().filter(|target| matches(&profile, target, grants));
            matched.map(|target| target.name().to_owned()).collect()
        };
        assert_eq!(names(&[]), ["a"]);
        assert_eq!(names(&[grant()]), ["a", "c"]);
    }

    #[test]
    fn bindings_are_created_kept_changed_and_deleted() {
        let (profile, targets) = (
            profile("shop"),
            [target("catalog", "a", "prod"), target("tenant", "c", "prod")],
        );
        let grants = [grant()];
        let first = changes(&profile, &targets, &[], &grants);
        assert_eq!((first.matched, first.create.len()), (2, 2));
        let specs: Vec<Value> = first.create.values().map(canonical::json).collect();
        assert!(specs.contains(&json!({"targetRef": {"name": "a"}, "releaseRef": {"name": "shop"}})));
        assert!(specs.contains(
            &json!({"targetRef": {"name": "c", "namespace": "tenant"}, "releaseRef": {"name": "shop"}})
        ));

        let existing: Vec<ReleaseBinding> = first
            .create
            .iter()
            .map(|(name, spec)| binding(name, "p1", spec, false))
            .collect();
        let kept = changes(&profile, &targets, &existing, &grants);
        assert_eq!(
            kept,
            BindingChanges {
                matched: 2,
                ..BindingChanges::default()
            }
        );
        let other = changes(&self::profile("other"), &targets, &existing, &grants);
        assert_eq!(
            (other.update.len(), other.create.len(), other.delete.len()),
            (2, 0, 0)
        );
        // A revoked grant, and a Profile that goes.
        let revoked = changes(&profile, &targets, &existing, &[]);
        assert_eq!((revoked.matched, revoked.delete.len()), (1, 1));
        let mut going = profile;
        going.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time"));
        let gone = changes(&going, &targets, &existing, &grants);
        assert_eq!((gone.matched, gone.delete.len()), (0, 2));
    }

    /// A binding that could not go kept its Profile for ever once, and nothing said which.
    #[test]
    fn a_binding_that_is_stuck_is_named_with_what_keeps_it() {
        let (profile, targets) = (profile("shop"), [target("catalog", "a", "prod")]);
        let name = binding_name("all", &targets[0].key());
        let stuck = [binding(&name, "p1", &spec(&profile, &targets[0].key()), true)];
        let found = changes(&profile, &targets, &stuck, &[]);
        assert_eq!(found.stuck[&name], ["example.com/stuck"]);
        assert!(found.create.is_empty() && found.delete.is_empty());
    }

    #[test]
    fn others_bindings_are_neither_changed_nor_deleted() {
        let (profile, targets) = (profile("shop"), [target("catalog", "a", "prod")]);
        let name = binding_name("all", &targets[0].key());
        let foreign = [
            binding(
                &name,
                "p0",
                &spec(&self::profile("evil"), &targets[0].key()),
                false,
            ),
            binding("manual", "p0", &spec(&profile, &targets[0].key()), false),
        ];
        let found = changes(&profile, &targets, &foreign, &[]);
        assert_eq!(
            found,
            BindingChanges {
                matched: 1,
                taken: vec![name],
                ..BindingChanges::default()
            }
        );
    }

    proptest! {
        #[test]
        fn the_order_of_targets_and_bindings_does_not_matter(
            names in proptest::collection::btree_set("[a-e]", 0..5),
            bound in proptest::collection::btree_set("[a-e]", 0..5),
        ) {
            let profile = profile("shop");
            let targets: Vec<Target> = names.iter().map(|name| target("catalog", name, "prod")).collect();
            let existing: Vec<ReleaseBinding> = bound.iter().map(|name| {
                let key = ObjectKey::new("catalog", name);
                binding(&binding_name("all", &key), "p1", &spec(&profile, &key), false)
            }).collect();
            let forward = changes(&profile, &targets, &existing, &[]);
            let mut backward = existing.clone();
            backward.reverse();
            prop_assert_eq!(&forward, &changes(&profile, targets.iter().rev(), &backward, &[]));
            prop_assert_eq!(forward.create.len(), names.difference(&bound).count());
            prop_assert_eq!(forward.delete.len(), bound.difference(&names).count());
        }
    }
}
