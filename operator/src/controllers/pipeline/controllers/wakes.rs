//! Which objects are reconciled when another has changed: by indexes, and by the namespaces that a grant names.

use crate::api::pipeline::{
    ObjectKey, ProfileSpec, ReferenceGrantSpec, RegistryBindingSpec, ReleaseBindingSpec, ReleaseSpec,
    Spec as _, TargetSpec,
};
use crate::controllers::pipeline::stored::Parts;
use crate::runtime::key::ObjectName;
use crate::runtime::views::{Object, View};
use crate::runtime::{Stores, Watched};

use super::Profiles;

/// The index by ComponentVersion.
pub(super) const COMPONENT_VERSION: &str = "componentVersion";
/// The index by Target.
pub(super) const TARGET: &str = "target";
/// The index by Release.
pub(super) const RELEASE: &str = "release";
/// The index by Registry.
pub(super) const REGISTRY: &str = "registry";

fn name(key: ObjectKey) -> ObjectName {
    ObjectName::new(&key.namespace, &key.name)
}

pub(super) fn component_version_of(release: &Object<Parts<ReleaseSpec>>) -> Vec<ObjectName> {
    let spec = release.view().map(|view| &view.spec);
    let key = spec.map(|spec| spec.component_version_ref.resolved(release.namespace()));
    key.map(name).into_iter().collect()
}

pub(super) fn target_of_release_binding(binding: &Object<Parts<ReleaseBindingSpec>>) -> Vec<ObjectName> {
    let spec = binding.view().map(|view| &view.spec);
    let key = spec.map(|spec| spec.target_ref.resolved(binding.namespace()));
    key.map(name).into_iter().collect()
}

pub(super) fn release_of_binding(binding: &Object<Parts<ReleaseBindingSpec>>) -> Vec<ObjectName> {
    let spec = binding.view().map(|view| &view.spec);
    let found = spec.map(|spec| ObjectName::new(binding.namespace(), &spec.release_ref.name));
    found.into_iter().collect()
}

pub(super) fn target_of_registry_binding(binding: &Object<Parts<RegistryBindingSpec>>) -> Vec<ObjectName> {
    let spec = binding.view().map(|view| &view.spec);
    let key = spec.map(|spec| spec.target_ref.resolved(binding.namespace()));
    key.map(name).into_iter().collect()
}

pub(super) fn registry_of_binding(binding: &Object<Parts<RegistryBindingSpec>>) -> Vec<ObjectName> {
    let spec = binding.view().map(|view| &view.spec);
    let found = spec.map(|spec| ObjectName::new(binding.namespace(), &spec.registry_ref.name));
    found.into_iter().collect()
}

pub(super) fn release_of_profile(profile: &Object<Parts<ProfileSpec>>) -> Vec<ObjectName> {
    let spec = profile.view().map(|view| &view.spec);
    let found = spec.map(|spec| ObjectName::new(profile.namespace(), &spec.release_ref.name));
    found.into_iter().collect()
}

/// The objects of `To` that an index has under the changed object.
pub(super) fn by<To: Watched, V: View>(
    index: &'static str,
) -> impl Fn(&Object<V>, &Stores) -> Vec<ObjectName> + Send + Sync + 'static {
    move |changed, stores| {
        let found = stores.of::<To>().by(index, &changed.name());
        found.iter().map(|object| object.name()).collect()
    }
}

/// The Profiles whose selector matches a Target; whether they may is decided by their reconcile.
pub(super) fn profiles_of_target(target: &Object<Parts<TargetSpec>>, stores: &Stores) -> Vec<ObjectName> {
    let labels = target.metadata.labels.clone().unwrap_or_default();
    let profiles = stores.of::<Profiles>().all();
    let matching = profiles.iter().filter(|profile| {
        let view = profile.view();
        view.is_some_and(|view| view.spec.target_selector.matches(&labels))
    });
    matching.map(|profile| profile.name()).collect()
}

/// The Profile that made a binding.
pub(super) fn profile_of_binding(binding: &Object<Parts<ReleaseBindingSpec>>, _: &Stores) -> Vec<ObjectName> {
    let owners = binding.metadata.owner_references.as_deref().unwrap_or_default();
    let owners = owners.iter().filter(|owner| owner.kind == ProfileSpec::KIND);
    owners
        .map(|owner| ObjectName::new(binding.namespace(), &owner.name))
        .collect()
}

/// The objects of `To` in the namespaces that a grant names for their kind.
pub(super) fn granted<To: Watched>(
    grant: &Object<Parts<ReferenceGrantSpec>>,
    stores: &Stores,
) -> Vec<ObjectName> {
    let from = grant.view().map(|view| view.spec.from.as_slice());
    let namespaces = from
        .unwrap_or_default()
        .iter()
        .filter(|from| from.kind == To::ID.kind)
        .map(|from| from.namespace.as_str());
    let store = stores.of::<To>();
    let objects = namespaces.flat_map(|namespace| store.in_namespace(namespace));
    objects.map(|object| object.name()).collect()
}
