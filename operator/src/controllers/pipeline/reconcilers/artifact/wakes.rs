//! What wakes RenderArtifacts and RenderBindings, and the Registries that they refer to.

use super::super::{
    Artifacts, Grants, Namespaces, Registries, RenderBindings, Targets, charts_in_use, wakes,
};
use super::RenderArtifacts;
use crate::api::pipeline::{RegistrySpec, RenderArtifactSpec, RenderBindingSpec};
use crate::controllers::pipeline::references::Referenced as _;
use crate::controllers::pipeline::stored::SpecAndStatus;
use crate::runtime::views::Object;
use crate::runtime::{Controllers, ObjectName, Stores, finalizers};

/// Adds RenderArtifacts and RenderBindings, and what wakes them.
pub(in super::super) fn add(controllers: Controllers, artifacts: RenderArtifacts) -> Controllers {
    controllers
        .kind(artifacts)
        .kind(RenderBindings::kind())
        .index::<RenderBindings>(wakes::ARTIFACT, artifact_of)
        .index::<RenderBindings>(wakes::OWNER, owner_of)
        .index::<Artifacts>(wakes::REGISTRY, registry_of)
        .wake::<RenderBindings, RenderArtifacts>(|binding, _| artifact_of(binding))
        .wake::<Artifacts, RenderBindings>(wakes::by::<RenderBindings, _>(wakes::ARTIFACT))
        .wake::<Registries, RenderArtifacts>(|registry, stores| {
            let names = wakes::by::<Artifacts, _>(wakes::REGISTRY)(registry, stores);
            deleted(names, stores)
        })
        .wake::<Grants, RenderArtifacts>(|grant, stores| {
            deleted(wakes::granted::<Artifacts>(grant, stores), stores)
        })
        .wake::<Namespaces, RenderArtifacts>(wakes::of_namespace::<Artifacts>)
        // Only a deleted Target wakes its bindings.
        .wake::<Targets, RenderBindings>(
            |target, stores| match stores.of::<Targets>().get(&target.name()) {
                Some(_) => Vec::new(),
                None => wakes::by::<RenderBindings, _>(wakes::OWNER)(target, stores),
            },
        )
        .wake::<Artifacts, Registries>(held_registry)
}

type StoredArtifact = Object<SpecAndStatus<RenderArtifactSpec>>;

fn artifact_of(binding: &Object<SpecAndStatus<RenderBindingSpec>>) -> Vec<ObjectName> {
    let view = binding.view();
    let name = view.map(|view| ObjectName::new(binding.namespace(), &view.spec.render_artifact_ref.name));
    name.into_iter().collect()
}

fn owner_of(binding: &Object<SpecAndStatus<RenderBindingSpec>>) -> Vec<ObjectName> {
    let owner = binding.view().and_then(|view| charts_in_use::owner(&view.spec));
    let name = owner.map(|owner| ObjectName::new(&owner.namespace, &owner.name));
    name.into_iter().collect()
}

fn registry_of(artifact: &StoredArtifact) -> Vec<ObjectName> {
    let reference = artifact.view().and_then(|view| view.spec.registry_ref.as_ref());
    let key = reference.map(|reference| reference.resolved(artifact.namespace()));
    key.map(|key| ObjectName::new(&key.namespace, &key.name))
        .into_iter()
        .collect()
}

/// Only artifacts that are being deleted need credentials.
fn deleted(names: Vec<ObjectName>, stores: &Stores) -> Vec<ObjectName> {
    let store = stores.of::<Artifacts>();
    let is_deleted = |name: &ObjectName| {
        let artifact = store.get(name);
        artifact.is_some_and(|artifact| artifact.metadata.deletion_timestamp.is_some())
    };
    names.into_iter().filter(is_deleted).collect()
}

/// A Registry that has its finalizer needn't be woken by each of thousands of artifacts, only by a deleted one.
fn held_registry(artifact: &StoredArtifact, stores: &Stores) -> Vec<ObjectName> {
    let goes = artifact.metadata.deletion_timestamp.is_some()
        || stores.of::<Artifacts>().get(&artifact.name()).is_none();
    let is_new_to = |name: &ObjectName| {
        let registry = stores.of::<Registries>().get(name);
        registry.is_some_and(|registry| !finalizers::has(&registry.metadata, &RegistrySpec::finalizer()))
    };
    registry_of(artifact)
        .into_iter()
        .filter(|name| goes || is_new_to(name))
        .collect()
}
