//! Referenced objects: Registries and ComponentVersions, and the finalizer that keeps these and Releases while other
//! objects refer to them.

use super::{
    Artifacts, ComponentVersions, Grants, Profiles, Registries, RegistryBindings, ReleaseBindings, Releases,
    Targets, wakes,
};
use crate::api::pipeline::{
    ComponentVersionSpec, ConditionsStatus, Object, ObjectKey, ProfileSpec, RegistryBindingSpec,
    RegistrySpec, Release, ReleaseBindingSpec, ReleaseSpec, Spec, TargetSpec,
};
use crate::controllers::pipeline::conditions;
use crate::controllers::pipeline::grants::CrossReference;
use crate::controllers::pipeline::namespaces::{self, Namespaces};
use crate::controllers::pipeline::references::{
    FinalizerChange, Holder, Referenced, Referrers, decide, holders,
};
use crate::controllers::pipeline::stored::{self, SpecAndStatus};
use crate::runtime::conditions::merge;
use crate::runtime::key::{Key, ObjectName};
use crate::runtime::{Action, Controllers, Cx, Error, Kind, Watched, finalizers};

/// Adds the two kinds, and what wakes them and Releases.
pub(super) fn add(controllers: Controllers) -> Controllers {
    controllers
        .kind(Registries::kind())
        .kind(ComponentVersions::kind())
        .stored::<Namespaces>()
        .wake::<Targets, Registries>(wakes::referred(registry_of_target))
        .wake::<RegistryBindings, Registries>(wakes::referred::<RegistryBindingSpec>(|binding, namespace| {
            ObjectKey::new(namespace, &binding.registry_ref.name)
        }))
        .wake::<ReleaseBindings, Releases>(wakes::referred::<ReleaseBindingSpec>(|binding, namespace| {
            ObjectKey::new(namespace, &binding.release_ref.name)
        }))
        .wake::<Profiles, Releases>(wakes::referred::<ProfileSpec>(|profile, namespace| {
            ObjectKey::new(namespace, &profile.release_ref.name)
        }))
        .wake::<Releases, ComponentVersions>(wakes::referred::<ReleaseSpec>(|release, namespace| {
            release.component_version_ref.resolved(namespace)
        }))
        .wake::<Grants, Registries>(wakes::granting::<Registries>)
        .wake::<Grants, ComponentVersions>(wakes::granting::<ComponentVersions>)
        .wake::<Namespaces, Registries>(wakes::of_namespace::<Registries>)
        .wake::<Namespaces, Releases>(wakes::of_namespace::<Releases>)
        .wake::<Namespaces, ComponentVersions>(wakes::of_namespace::<ComponentVersions>)
}

fn registry_of_target(target: &TargetSpec, namespace: &str) -> ObjectKey {
    target.render_registry_ref.resolved(namespace)
}

impl Kind for Registries {
    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let Some(registry) = stored::primary::<RegistrySpec>(cx, key) else {
            return Ok(Action::done());
        };
        let own = registry.key();
        let referrers = vec![
            Referrers::crossing(
                CrossReference::TargetToRegistry,
                named_by::<Targets, _>(cx, wakes::REGISTRY, &own),
            ),
            Referrers::crossing(
                CrossReference::ArtifactToRegistry,
                named_by::<Artifacts, _>(cx, wakes::REGISTRY, &own),
            ),
            Referrers::beside::<RegistryBindingSpec>(named_by::<RegistryBindings, _>(
                cx,
                wakes::REGISTRY,
                &own,
            )),
        ];
        keep_and_report(cx, key, registry, referrers).await
    }
}

impl Kind for ComponentVersions {
    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let Some(version) = stored::primary::<ComponentVersionSpec>(cx, key) else {
            return Ok(Action::done());
        };
        let releases = named_by::<Releases, _>(cx, wakes::COMPONENT_VERSION, &version.key());
        let referrers = vec![Referrers::crossing(
            CrossReference::ReleaseToComponentVersion,
            releases,
        )];
        keep_and_report(cx, key, version, referrers).await
    }
}

/// The objects that keep a Release, as [`keep`] returns them.
pub(super) async fn keep_release(
    cx: &Cx,
    key: &Key,
    release: Release,
) -> Result<Option<(Release, Vec<Holder>)>, Error> {
    let own = release.key();
    let referrers = vec![
        Referrers::beside::<ReleaseBindingSpec>(named_by::<ReleaseBindings, _>(cx, wakes::RELEASE, &own)),
        Referrers::beside::<ProfileSpec>(named_by::<Profiles, _>(cx, wakes::RELEASE, &own)),
    ];
    keep(cx, key, release, referrers).await
}

async fn keep_and_report<S: Referenced + Spec<Status = ConditionsStatus>>(
    cx: &Cx,
    key: &Key,
    object: Object<S>,
    referrers: Vec<Referrers>,
) -> Result<Action, Error> {
    let Some((object, held_by)) = keep(cx, key, object, referrers).await? else {
        return Ok(Action::done());
    };
    let findings = conditions::referenced(&held_by);
    stored::report(cx, key, &object, |known, generation| ConditionsStatus {
        observed_generation: generation,
        conditions: merge(&known.conditions, &findings, generation, cx.now()),
    })
    .await
}

/// Adds the finalizer to a referenced object, and removes it when it no longer is. Returns the object in its new
/// version, and the objects that keep it if it is being deleted; `None`: it was deleted.
async fn keep<S: Referenced>(
    cx: &Cx,
    key: &Key,
    mut object: Object<S>,
    referrers: Vec<Referrers>,
) -> Result<Option<(Object<S>, Vec<Holder>)>, Error> {
    let namespace = object.namespace();
    let is_terminating = namespaces::is_terminating(cx, namespace);
    let may_refer = |reference, from: &str| stored::is_granted(cx, reference, from, namespace);
    let held_by = holders(namespace, referrers, may_refer, is_terminating);
    let finalizer = S::finalizer();
    match decide::<S>(&object.metadata, !held_by.is_empty()) {
        FinalizerChange::None => {}
        FinalizerChange::Add => {
            let version = finalizers::add(cx, key, &object.metadata, &finalizer).await?;
            object.metadata.resource_version = version;
        }
        FinalizerChange::Remove => {
            finalizers::remove(cx, key, &object.metadata, &finalizer).await?;
            if object.is_deleted() {
                return Ok(None);
            }
            // The watch will deliver the version that the status must be written with.
            return Err(Error::Changed);
        }
    }
    let held_by = if object.is_deleted() { held_by } else { Vec::new() };
    Ok(Some((object, held_by)))
}

/// The objects that an index has for an object.
fn named_by<W, S>(cx: &Cx, index: &'static str, key: &ObjectKey) -> Vec<ObjectKey>
where
    W: Watched<View = SpecAndStatus<S>>,
    S: Spec,
{
    let found = cx
        .store::<W>()
        .by(index, &ObjectName::new(&key.namespace, &key.name));
    let keys = found.iter().map(|object| object.name());
    keys.map(|name| ObjectKey::new(&name.namespace, &name.name))
        .collect()
}
