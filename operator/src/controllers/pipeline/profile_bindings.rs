//! The ReleaseBindings of a Profile: one for each Target that it matches.

use std::collections::BTreeMap;

use kube::api::ObjectMeta;
use serde_json::json;

use super::canonical;
use super::task_owner::bounded;
use crate::api::LocalReference;
use crate::api::pipeline::{ObjectKey, ObjectReference, Profile, ReleaseBinding, ReleaseBindingSpec};

/// The changes to a Profile's bindings.
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
    /// Bindings that are being deleted but still exist, by name, with the finalizers that keep them.
    pub stuck: BTreeMap<String, Vec<String>>,
    /// Names that an object with another owner has.
    pub taken: Vec<String>,
}

/// Whether a Profile's selector matches a Target that it may bind, by the Target's metadata.
pub fn matches(profile: &Profile, target: &ObjectMeta) -> bool {
    static NONE: BTreeMap<String, String> = BTreeMap::new();
    target.deletion_timestamp.is_none()
        && profile
            .spec
            .target_selector
            .matches(target.labels.as_ref().unwrap_or(&NONE))
}

/// The bindings that a Profile should have, by name: one for each of these Targets.
pub fn desired<'a>(
    profile: &Profile,
    targets: impl IntoIterator<Item = &'a ObjectKey>,
) -> BTreeMap<String, ReleaseBindingSpec> {
    let bindings = targets.into_iter();
    bindings.map(|target| binding(profile, target)).collect()
}

/// The binding of a Profile for a Target.
pub fn binding(profile: &Profile, target: &ObjectKey) -> (String, ReleaseBindingSpec) {
    (binding_name(profile.name(), target), spec(profile, target))
}

/// The name of a Profile's binding for a Target.
pub fn binding_name(profile: &str, target: &ObjectKey) -> String {
    let hash = canonical::short(&json!([target.namespace, target.name]));
    bounded("", profile, &format!("-{hash}"))
}

/// Brings the bindings of a Profile in line with the desired ones. `existing` are those that it owns, and whatever has
/// the name of a desired one.
pub fn changes(
    profile: &Profile,
    mut desired: BTreeMap<String, ReleaseBindingSpec>,
    existing: &[ReleaseBinding],
) -> BindingChanges {
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
            // It is created again once it is deleted.
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

/// Whether a binding is owned by this Profile: by UID, so that a Profile that was created again adopts none.
pub fn is_owned(binding: &ReleaseBinding, profile: &Profile) -> bool {
    let owners = binding.metadata.owner_references.as_deref().unwrap_or_default();
    let uid = profile.metadata.uid.as_deref();
    owners.iter().any(|owner| Some(owner.uid.as_str()) == uid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::pipeline::Target;
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

    fn changes_of<'a>(
        profile: &Profile,
        targets: impl IntoIterator<Item = &'a Target>,
        existing: &[ReleaseBinding],
    ) -> BindingChanges {
        let matched = targets
            .into_iter()
            .filter(|target| matches(profile, &target.metadata));
        let keys: Vec<ObjectKey> = matched.map(Target::key).collect();
        changes(profile, desired(profile, &keys), existing)
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
    fn targets_match_by_label_until_they_are_deleted() {
        let profile = profile("shop");
        let mut going = target("catalog", "c", "prod");
        let deleted = serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time");
        going.metadata.deletion_timestamp = Some(deleted);
        let mut bare = target("catalog", "d", "prod");
        bare.metadata.labels = None;
        let targets = [
            target("catalog", "a", "prod"),
            target("catalog", "b", "test"),
            going,
            bare,
        ];
        let found = targets.map(|target| matches(&profile, &target.metadata));
        assert_eq!(found, [true, false, false, false]);
    }

    #[test]
    fn bindings_are_created_kept_changed_and_deleted() {
        let (profile, targets) = (
            profile("shop"),
            [target("catalog", "a", "prod"), target("tenant", "c", "prod")],
        );
        let first = changes_of(&profile, &targets, &[]);
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
        let kept = changes_of(&profile, &targets, &existing);
        assert_eq!(
            kept,
            BindingChanges {
                matched: 2,
                ..BindingChanges::default()
            }
        );
        let other = changes_of(&self::profile("other"), &targets, &existing);
        assert_eq!(
            (other.update.len(), other.create.len(), other.delete.len()),
            (2, 0, 0)
        );
        // A revoked grant, and no Target at all.
        let revoked = changes_of(&profile, &targets[..1], &existing);
        assert_eq!((revoked.matched, revoked.delete.len()), (1, 1));
        let gone = changes_of(&profile, [], &existing);
        assert_eq!((gone.matched, gone.delete.len()), (0, 2));
    }

    /// A binding that could not be deleted once kept its Profile forever, and no message named it.
    #[test]
    fn a_binding_that_is_stuck_is_named_with_its_finalizers() {
        let (profile, targets) = (profile("shop"), [target("catalog", "a", "prod")]);
        let name = binding_name("all", &targets[0].key());
        let stuck = [binding(&name, "p1", &spec(&profile, &targets[0].key()), true)];
        let found = changes_of(&profile, &targets, &stuck);
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
        let found = changes_of(&profile, &targets, &foreign);
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
            let forward = changes_of(&profile, &targets, &existing);
            let mut backward = existing.clone();
            backward.reverse();
            prop_assert_eq!(&forward, &changes_of(&profile, targets.iter().rev(), &backward));
            prop_assert_eq!(forward.create.len(), names.difference(&bound).count());
            prop_assert_eq!(forward.delete.len(), bound.difference(&names).count());
        }
    }
}
