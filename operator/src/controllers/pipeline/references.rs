//! What keeps a Registry, a Release or a ComponentVersion from vanishing: objects that refer to it.
//!
//! While there is one, the object has a finalizer. References that are not granted hold nothing, or a tenant could keep
//! the platform's objects; and in a namespace that is being deleted, objects of other namespaces hold nothing, so that
//! no finalizer keeps a namespace for ever.

use super::grants::CrossReference;
use super::task_owner::finalizer;
use crate::api::pipeline::{
    ComponentVersion, Object, ObjectKey, Profile, ReferenceGrant, Registry, RegistryBinding, Release,
    ReleaseBinding, RenderArtifact, Spec, Target,
};

/// An object that refers to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace and name.
    pub key: ObjectKey,
}

/// What is to be done about the finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalizerChange {
    /// It is as it should be.
    None,
    /// It is missing.
    Add,
    /// Nothing refers to the object any more.
    Remove,
}

/// A kind that other objects refer to.
pub trait Referenced: Spec {
    /// The finalizer's name in this group.
    const FINALIZER: &'static str;
}

impl Referenced for crate::api::pipeline::RegistrySpec {
    const FINALIZER: &'static str = "registry-ref";
}

impl Referenced for crate::api::pipeline::ReleaseSpec {
    const FINALIZER: &'static str = "release-ref";
}

impl Referenced for crate::api::pipeline::ComponentVersionSpec {
    const FINALIZER: &'static str = "componentversion-ref";
}

/// The change of an object's finalizer, and who holds the object, in order.
pub fn decide<S: Referenced>(
    object: &Object<S>,
    holders: Vec<Holder>,
    is_namespace_terminating: bool,
) -> (FinalizerChange, Vec<Holder>) {
    let mut holding: Vec<Holder> = holders
        .into_iter()
        .filter(|holder| !is_namespace_terminating || holder.key.namespace == object.namespace())
        .collect();
    holding.sort();
    holding.dedup();
    let own = finalizer(S::FINALIZER);
    let finalizers = object.metadata.finalizers.as_deref().unwrap_or_default();
    let change = match (finalizers.contains(&own), holding.is_empty()) {
        (true, true) => FinalizerChange::Remove,
        // To an object that is being deleted no finalizer can be added.
        (false, false) if !object.is_deleted() => FinalizerChange::Add,
        _ => FinalizerChange::None,
    };
    (change, holding)
}

/// What refers to a Registry: Targets and RenderArtifacts that may, and RegistryBindings beside it.
pub fn of_registry(
    registry: &Registry,
    targets: &[Target],
    bindings: &[RegistryBinding],
    artifacts: &[RenderArtifact],
    grants: &[ReferenceGrant],
) -> Vec<Holder> {
    let key = registry.key();
    let targets = targets.iter().filter(|target| {
        let reference = &target.spec.render_registry_ref;
        reference.resolved(target.namespace()) == key
            && CrossReference::TargetToRegistry.is_granted(target.namespace(), &key.namespace, grants)
    });
    let artifacts = artifacts.iter().filter(|artifact| {
        let reference = artifact.spec.registry_ref.as_ref();
        reference.is_some_and(|reference| reference.resolved(artifact.namespace()) == key)
            && CrossReference::ArtifactToRegistry.is_granted(artifact.namespace(), &key.namespace, grants)
    });
    let bindings = bindings
        .iter()
        .filter(|binding| is_beside(*binding, &binding.spec.registry_ref.name, &key));
    targets
        .map(holder)
        .chain(bindings.map(holder))
        .chain(artifacts.map(holder))
        .collect()
}

/// What refers to a Release: ReleaseBindings and Profiles beside it.
pub fn of_release(release: &Release, bindings: &[ReleaseBinding], profiles: &[Profile]) -> Vec<Holder> {
    let key = release.key();
    let bindings = bindings
        .iter()
        .filter(|binding| is_beside(*binding, &binding.spec.release_ref.name, &key));
    let profiles = profiles
        .iter()
        .filter(|profile| is_beside(*profile, &profile.spec.release_ref.name, &key));
    bindings.map(holder).chain(profiles.map(holder)).collect()
}

/// What refers to a ComponentVersion: Releases that may.
pub fn of_component_version(
    version: &ComponentVersion,
    releases: &[Release],
    grants: &[ReferenceGrant],
) -> Vec<Holder> {
    let key = version.key();
    let releases = releases.iter().filter(|release| {
        let reference = &release.spec.component_version_ref;
        reference.resolved(release.namespace()) == key
            && CrossReference::ReleaseToComponentVersion.is_granted(
                release.namespace(),
                &key.namespace,
                grants,
            )
    });
    releases.map(holder).collect()
}

/// Whether an object refers to a name of its own namespace, and that is the object of this key.
fn is_beside<S: Spec>(object: &Object<S>, name: &str, key: &ObjectKey) -> bool {
    object.namespace() == key.namespace && name == key.name
}

fn holder<S: Spec>(object: &Object<S>) -> Holder {
    Holder {
        kind: S::KIND,
        key: object.key(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GROUP;
    use crate::controllers::pipeline::test_objects::object;
    use serde_json::{Value, json};

    fn registry(finalized: bool, deleted: bool) -> Registry {
        let mut json =
            json!({"metadata": {"name": "charts", "namespace": "system"}, "spec": {"hostname": "h"}});
        if finalized {
            json["metadata"]["finalizers"] =
                json!(["other/finalizer", "solar.opendefense.cloud/registry-ref"]);
        }
        if deleted {
            json["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        object(json)
    }

    fn target(namespace: &str, registry: &Value) -> Target {
        object(json!({
            "metadata": {"name": "edge", "namespace": namespace}, "spec": {"renderRegistryRef": registry},
        }))
    }

    fn grant(kind: &str, to: &str) -> ReferenceGrant {
        object(json!({
            "metadata": {"name": "g", "namespace": "system"},
            "spec": {"from": [{"group": GROUP, "kind": kind, "namespace": "tenant"}],
                "to": [{"group": GROUP, "kind": to}]},
        }))
    }

    fn names(holders: &[Holder]) -> Vec<String> {
        let holders = holders.iter();
        holders
            .map(|holder| format!("{} {}", holder.kind, holder.key))
            .collect()
    }

    #[test]
    fn a_registry_is_held_by_targets_bindings_and_artifacts_that_may() {
        let targets = [
            target("system", &json!({"name": "charts"})),
            target("tenant", &json!({"name": "charts", "namespace": "system"})),
            // Of another namespace, and of another name.
            target("tenant", &json!({"name": "charts"})),
            target("system", &json!({"name": "other"})),
            // Not granted: this tenant can't keep the platform's Registry.
            target("evil", &json!({"name": "charts", "namespace": "system"})),
        ];
        let binding = |namespace: &str, registry: &str| -> RegistryBinding {
            object(json!({
                "metadata": {"name": "b", "namespace": namespace},
                "spec": {"targetRef": {"name": "edge"}, "registryRef": {"name": registry}},
            }))
        };
        let bindings = [
            binding("system", "charts"),
            binding("tenant", "charts"),
            binding("system", "other"),
        ];
        let artifacts: [RenderArtifact; 1] = [object(json!({
            "metadata": {"name": "art", "namespace": "tenant"},
            "spec": {"baseURL": "h", "repository": "a", "tag": "1", "renderTaskRef": "t",
                "registryRef": {"name": "charts", "namespace": "system"}},
        }))];
        let registry = registry(true, false);
        let holders = |grants: &[ReferenceGrant]| {
            names(
                &decide(
                    &registry,
                    of_registry(&registry, &targets, &bindings, &artifacts, grants),
                    false,
                )
                .1,
            )
        };
        assert_eq!(holders(&[]), ["RegistryBinding system/b", "Target system/edge"]);
        assert_eq!(
            holders(&[grant("Target", "Registry"), grant("RenderArtifact", "Registry")]),
            [
                "RegistryBinding system/b",
                "RenderArtifact tenant/art",
                "Target system/edge",
                "Target tenant/edge"
            ]
        );
    }

    #[test]
    fn releases_and_component_versions_are_held_by_what_names_them() {
        let release = |namespace: &str| -> Release {
            object(json!({
                "metadata": {"name": "shop", "namespace": namespace},
                "spec": {"componentVersionRef": {"name": "shop-1", "namespace": "system"}},
            }))
        };
        let binding: ReleaseBinding = object(json!({
            "metadata": {"name": "b", "namespace": "system"},
            "spec": {"targetRef": {"name": "edge"}, "releaseRef": {"name": "shop"}},
        }));
        let profile: Profile = object(json!({
            "metadata": {"name": "all", "namespace": "system"}, "spec": {"releaseRef": {"name": "shop"}},
        }));
        let held = of_release(
            &release("system"),
            std::slice::from_ref(&binding),
            std::slice::from_ref(&profile),
        );
        assert_eq!(names(&held), ["ReleaseBinding system/b", "Profile system/all"]);
        assert!(of_release(&release("tenant"), &[binding], &[profile]).is_empty());
        let version: ComponentVersion = object(json!({
            "metadata": {"name": "shop-1", "namespace": "system"},
            "spec": {"componentRef": {"name": "shop"}, "tag": "1", "resources": {},
                "entrypoint": {"resourceName": "", "type": ""}},
        }));
        let releases = [release("system"), release("tenant")];
        assert_eq!(
            names(&of_component_version(&version, &releases, &[])),
            ["Release system/shop"]
        );
        let granted = of_component_version(&version, &releases, &[grant("Release", "ComponentVersion")]);
        assert_eq!(granted.len(), 2);
    }

    #[test]
    fn the_finalizer_follows_who_holds_and_never_keeps_a_namespace() {
        let holder = |namespace: &str| Holder {
            kind: "Target",
            key: ObjectKey::new(namespace, "edge"),
        };
        let here = || vec![holder("system")];
        let there = || vec![holder("tenant")];
        // Finalizer, deleted, holders, namespace terminating; change, how many hold.
        let table = [
            (false, false, vec![], false, FinalizerChange::None, 0),
            (false, false, here(), false, FinalizerChange::Add, 1),
            (true, false, here(), false, FinalizerChange::None, 1),
            (true, false, vec![], false, FinalizerChange::Remove, 0),
            (true, true, there(), false, FinalizerChange::None, 1),
            (true, true, vec![], false, FinalizerChange::Remove, 0),
            (false, true, here(), false, FinalizerChange::None, 1),
            // What holds it goes with the namespace, or does not count.
            (true, true, here(), true, FinalizerChange::None, 1),
            (true, true, there(), true, FinalizerChange::Remove, 0),
        ];
        for (finalized, deleted, holders, terminating, change, count) in table {
            let what = format!("{finalized} {deleted} {holders:?} {terminating}");
            let found = decide(&registry(finalized, deleted), holders, terminating);
            assert_eq!((found.0, found.1.len()), (change, count), "{what}");
        }
    }
}
