//! What reconciles each kind of the pipeline: a file or folder a kind, with what it watches and what wakes it. They read
//! from stores, leave the decisions to pure functions, and apply and report what these decide.

mod artifact;
mod bindings;
pub mod charts_in_use;
mod profile;
mod referenced;
mod release;
mod render_binding;
mod target;
mod wakes;

pub use artifact::RenderArtifacts;

use super::grants::CrossNamespace;
use super::namespaces::Namespaces;
use super::stored::{self, Stored};
use crate::api::pipeline::{
    ComponentVersionSpec, ObjectKey, ProfileSpec, ReferenceGrantSpec, RegistryBindingSpec, RegistrySpec,
    ReleaseBindingSpec, ReleaseSpec, RenderArtifactSpec, RenderBindingSpec, TargetSpec,
};
use crate::controllers::rendertask::RenderTasks;
use crate::runtime::Controllers;

type Releases = Stored<ReleaseSpec>;
type ReleaseBindings = Stored<ReleaseBindingSpec>;
type RegistryBindings = Stored<RegistryBindingSpec>;
type Profiles = Stored<ProfileSpec>;
type ComponentVersions = Stored<ComponentVersionSpec>;
type Registries = Stored<RegistrySpec>;
type Targets = Stored<TargetSpec>;
type Grants = Stored<ReferenceGrantSpec>;
type Artifacts = Stored<RenderArtifactSpec>;
type RenderBindings = Stored<RenderBindingSpec>;
type Tasks = RenderTasks;

/// The settings of the pipeline's controllers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PipelineSettings {
    /// Whether a resource of a host that no RegistryBinding of the Target names is refused, instead of pulled
    /// anonymously.
    pub is_registry_binding_strict: bool,
    /// Whether objects may refer to those of other namespaces.
    pub cross_namespace: CrossNamespace,
}

/// Adds the pipeline's controllers to the list.
pub fn add(controllers: Controllers, settings: PipelineSettings, artifacts: RenderArtifacts) -> Controllers {
    let watched = target::add(controllers, settings.is_registry_binding_strict)
        .kind(Releases::kind())
        .kind(ReleaseBindings::kind())
        .kind(RegistryBindings::kind())
        .kind(Profiles::kind());
    let watched = stored::add_grants(watched);
    let watched = profile::wakes::add(woken(indexed(watched)));
    artifact::add(referenced::add(watched), artifacts)
}

/// Adds the indexes by the objects that a spec refers to.
fn indexed(controllers: Controllers) -> Controllers {
    controllers
        .index::<Releases>(
            wakes::COMPONENT_VERSION,
            wakes::reference::<ReleaseSpec>(|release, namespace| {
                release.component_version_ref.resolved(namespace)
            }),
        )
        .index::<ReleaseBindings>(
            wakes::TARGET,
            wakes::reference::<ReleaseBindingSpec>(|binding, namespace| {
                binding.target_ref.resolved(namespace)
            }),
        )
        .index::<ReleaseBindings>(
            wakes::RELEASE,
            wakes::reference::<ReleaseBindingSpec>(|binding, namespace| {
                ObjectKey::new(namespace, &binding.release_ref.name)
            }),
        )
        .index::<RegistryBindings>(
            wakes::TARGET,
            wakes::reference::<RegistryBindingSpec>(|binding, namespace| {
                binding.target_ref.resolved(namespace)
            }),
        )
        .index::<RegistryBindings>(
            wakes::REGISTRY,
            wakes::reference::<RegistryBindingSpec>(|binding, namespace| {
                ObjectKey::new(namespace, &binding.registry_ref.name)
            }),
        )
        .index::<Profiles>(
            wakes::RELEASE,
            wakes::reference::<ProfileSpec>(|profile, namespace| {
                ObjectKey::new(namespace, &profile.release_ref.name)
            }),
        )
}

/// Adds the wake rules.
fn woken(controllers: Controllers) -> Controllers {
    controllers
        .wake::<ComponentVersions, Releases>(wakes::by::<Releases, _>(wakes::COMPONENT_VERSION))
        .wake::<Targets, ReleaseBindings>(wakes::by::<ReleaseBindings, _>(wakes::TARGET))
        .wake::<Releases, ReleaseBindings>(wakes::by::<ReleaseBindings, _>(wakes::RELEASE))
        .wake::<Targets, RegistryBindings>(wakes::by::<RegistryBindings, _>(wakes::TARGET))
        .wake::<Registries, RegistryBindings>(wakes::by::<RegistryBindings, _>(wakes::REGISTRY))
        .wake::<Releases, Profiles>(wakes::by::<Profiles, _>(wakes::RELEASE))
        .wake::<Grants, Releases>(wakes::granted_reference::<ReleaseSpec>(|release, namespace| {
            release.component_version_ref.resolved(namespace)
        }))
        .wake::<Grants, ReleaseBindings>(wakes::granted_reference::<ReleaseBindingSpec>(
            |binding, namespace| binding.target_ref.resolved(namespace),
        ))
        .wake::<Grants, RegistryBindings>(wakes::granted_reference::<RegistryBindingSpec>(
            |binding, namespace| binding.target_ref.resolved(namespace),
        ))
}
