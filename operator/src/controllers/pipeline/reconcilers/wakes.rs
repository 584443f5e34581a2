//! Which objects are reconciled when another has changed: by indexes, and by the namespaces that a grant names.

use crate::api::pipeline::{ObjectKey, ReferenceGrantSpec, Spec};
use crate::controllers::pipeline::stored::{SpecAndStatus, Stored};
use crate::runtime::key::ObjectName;
use crate::runtime::views::{MetadataOnly, Object, View};
use crate::runtime::{Stores, Watched};

/// The index by ComponentVersion.
pub(super) const COMPONENT_VERSION: &str = "componentVersion";
/// The index by Target.
pub(super) const TARGET: &str = "target";
/// The index by Release.
pub(super) const RELEASE: &str = "release";
/// The index by RenderArtifact.
pub(super) const ARTIFACT: &str = "artifact";
/// The index by the Target that it was created for.
pub(super) const OWNER: &str = "owner";
/// The index by Registry.
pub(super) const REGISTRY: &str = "registry";

/// An index by the object that a spec refers to. `refers_to` also gets the namespace of the object.
pub(super) fn reference<S: Spec>(
    refers_to: fn(&S, &str) -> ObjectKey,
) -> impl Fn(&Object<SpecAndStatus<S>>) -> Vec<ObjectName> + Send + Sync + 'static {
    move |object| {
        let key = object
            .view()
            .map(|view| refers_to(&view.spec, object.namespace()));
        let name = key.map(|key| ObjectName::new(&key.namespace, &key.name));
        name.into_iter().collect()
    }
}

/// The object that the spec of the changed one refers to.
pub(super) fn referred<S: Spec>(
    refers_to: fn(&S, &str) -> ObjectKey,
) -> impl Fn(&Object<SpecAndStatus<S>>, &Stores) -> Vec<ObjectName> + Send + Sync + 'static {
    let names = reference(refers_to);
    move |changed, _| names(changed)
}

/// The objects of `To` that an index has for the changed object.
pub(super) fn by<To: Watched, V: View>(
    index: &'static str,
) -> impl Fn(&Object<V>, &Stores) -> Vec<ObjectName> + Send + Sync + 'static {
    move |changed, stores| {
        let found = stores.of::<To>().by(index, &changed.name());
        found.iter().map(|object| object.name()).collect()
    }
}

/// The objects of the kind `S`, in the namespaces that a grant names for it, that refer to the grant's own namespace.
pub(super) fn granted_reference<S: Spec>(
    refers_to: fn(&S, &str) -> ObjectKey,
) -> impl Fn(&Object<SpecAndStatus<ReferenceGrantSpec>>, &Stores) -> Vec<ObjectName> + Send + Sync + 'static {
    move |grant, stores| {
        let store = stores.of::<Stored<S>>();
        let mut names = granted::<Stored<S>>(grant, stores);
        names.retain(|name| {
            let object = store.get(name);
            let spec = object.as_ref().and_then(|object| Some(&object.view()?.spec));
            spec.is_some_and(|spec| refers_to(spec, &name.namespace).namespace == grant.namespace())
        });
        names
    }
}

/// The objects of `To` in the namespaces that a grant names for their kind.
pub(super) fn granted<To: Watched>(
    grant: &Object<SpecAndStatus<ReferenceGrantSpec>>,
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

/// The objects of `To` in a grant's own namespace, if it lets others refer to their kind.
pub(super) fn granting<To: Watched>(
    grant: &Object<SpecAndStatus<ReferenceGrantSpec>>,
    stores: &Stores,
) -> Vec<ObjectName> {
    let to = grant.view().map(|view| view.spec.to.as_slice());
    if !to.unwrap_or_default().iter().any(|to| to.kind == To::ID.kind) {
        return Vec::new();
    }
    names_in::<To>(grant.namespace(), stores)
}

/// The objects of `To` in a namespace that is being deleted.
pub(super) fn of_namespace<To: Watched>(
    namespace: &Object<MetadataOnly>,
    stores: &Stores,
) -> Vec<ObjectName> {
    if namespace.metadata.deletion_timestamp.is_none() {
        return Vec::new();
    }
    names_in::<To>(&namespace.name().name, stores)
}

fn names_in<W: Watched>(namespace: &str, stores: &Stores) -> Vec<ObjectName> {
    let objects = stores.of::<W>().in_namespace(namespace);
    objects.iter().map(|object| object.name()).collect()
}
