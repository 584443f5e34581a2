//! Which Profiles are reconciled when a Target, a binding or a grant has changed: those that have something to do.
//!
//! A Profile over a thousand Targets must not go over all of them whenever one of them changes. So Profiles are found
//! by a label that their selector requires, and one whose binding for the Target is as it should be sleeps on.

use std::collections::BTreeSet;

use super::super::{Grants, Profiles, ReleaseBindings, Targets, wakes};
use crate::api::pipeline::{
    LabelSelector, ObjectKey, ProfileSpec, ReleaseBindingSpec, Spec as _, TargetSpec,
};
use crate::controllers::pipeline::grants::CrossReference;
use crate::controllers::pipeline::profile_bindings::{self, matches};
use crate::controllers::pipeline::stored::{self, SpecAndStatus, StoredObject};
use crate::runtime::views::Object;
use crate::runtime::{Controllers, ObjectName, Store, Stores};

/// The index of ReleaseBindings by the Profile that made them.
pub(super) const PROFILE: &str = "profile";
/// The index of Targets by their namespace and each of their labels.
const LABEL: &str = "label";
/// The index of Profiles by their namespace and a label that their selector requires.
const REQUIRED_LABEL: &str = "requiredLabel";
/// The name under which [`REQUIRED_LABEL`] has the Profiles that require none: no label has an empty key.
const NO_LABEL: &str = "";

type StoredTarget = Object<SpecAndStatus<TargetSpec>>;
type StoredProfile = Object<SpecAndStatus<ProfileSpec>>;
type StoredBinding = Object<SpecAndStatus<ReleaseBindingSpec>>;

/// Adds the indexes, and what wakes Profiles beside their Release.
pub(in super::super) fn add(controllers: Controllers) -> Controllers {
    controllers
        .index::<Targets>(LABEL, labels_of)
        .index::<Profiles>(REQUIRED_LABEL, required_labels_of)
        .index::<ReleaseBindings>(PROFILE, profiles_of)
        .wake::<Targets, Profiles>(of_target)
        .wake::<ReleaseBindings, Profiles>(of_binding)
        .wake::<Grants, Profiles>(wakes::granted::<Profiles>)
}

/// The Targets of a namespace that a selector may match, by its rarest label.
pub(super) fn candidates(
    targets: &Store<SpecAndStatus<TargetSpec>>,
    selector: &LabelSelector,
    namespace: &str,
) -> Vec<StoredObject<TargetSpec>> {
    let groups = selector.required().into_iter().map(|group| {
        let keys = group.into_iter().map(|(key, value)| label(namespace, key, value));
        keys.collect::<Vec<_>>()
    });
    let count = |keys: &Vec<ObjectName>| keys.iter().map(|key| targets.count(LABEL, key)).sum::<usize>();
    match groups.min_by_key(count) {
        Some(keys) => keys.iter().flat_map(|key| targets.by(LABEL, key)).collect(),
        None => targets.in_namespace(namespace),
    }
}

fn label(namespace: &str, key: &str, value: &str) -> ObjectName {
    ObjectName::new(namespace, &format!("{key}={value}"))
}

fn labels_of(target: &StoredTarget) -> Vec<ObjectName> {
    let labels = target.metadata.labels.iter().flatten();
    labels
        .map(|(key, value)| label(target.namespace(), key, value))
        .collect()
}

fn required_labels_of(profile: &StoredProfile) -> Vec<ObjectName> {
    let namespace = profile.namespace();
    let Some(view) = profile.view() else {
        return Vec::new();
    };
    match view.spec.target_selector.required().into_iter().next() {
        Some(group) => group
            .into_iter()
            .map(|(key, value)| label(namespace, key, value))
            .collect(),
        None => vec![ObjectName::new(namespace, NO_LABEL)],
    }
}

fn profiles_of(binding: &StoredBinding) -> Vec<ObjectName> {
    let owners = binding.metadata.owner_references.iter().flatten();
    let owners = owners.filter(|owner| owner.kind == ProfileSpec::KIND);
    owners
        .map(|owner| ObjectName::new(binding.namespace(), &owner.name))
        .collect()
}

/// The Profiles that have to bind a Target, or no longer may. It is asked with the Target before and after a change.
pub(super) fn of_target(target: &StoredTarget, stores: &Stores) -> Vec<ObjectName> {
    let mut labels = labels_of(target);
    labels.push(ObjectName::new(target.namespace(), NO_LABEL));
    let profiles = stores.of::<Profiles>();
    let mut found = BTreeSet::new();
    for namespace in stored::granted_namespaces(stores, CrossReference::ProfileToTarget, target.namespace()) {
        for label in &labels {
            let requiring = profiles.by(REQUIRED_LABEL, &ObjectName::new(&namespace, &label.name));
            let unsettled = requiring
                .iter()
                .filter(|profile| !is_settled(profile, &target.name(), stores));
            found.extend(unsettled.map(|profile| profile.name()));
        }
    }
    found.into_iter().collect()
}

/// The Profile that made a binding which is gone, or is not as it should be.
pub(super) fn of_binding(binding: &StoredBinding, stores: &Stores) -> Vec<ObjectName> {
    let now = stores.of::<ReleaseBindings>().get(&binding.name());
    let named = now.as_ref().and_then(|now| {
        let target = now.view()?.spec.target_ref.resolved(now.namespace());
        Some((now, target))
    });
    let is_right = |profile: &ObjectName| {
        let profile = stores.of::<Profiles>().get(profile);
        let (Some(profile), Some((now, target))) = (profile, &named) else {
            return false;
        };
        let name = profile_bindings::binding_name(&profile.name().name, target);
        let target = ObjectName::new(&target.namespace, &target.name);
        now.name().name == name && is_settled(&profile, &target, stores)
    };
    let mut profiles = profiles_of(binding);
    profiles.retain(|profile| !is_right(profile));
    profiles
}

/// Whether the stores have the binding of a Profile for a Target as it should be: there and right, or absent.
fn is_settled(profile: &StoredProfile, target: &ObjectName, stores: &Stores) -> bool {
    let Some(profile) = stored::whole(profile) else {
        return true;
    };
    let key = ObjectKey::new(&target.namespace, &target.name);
    let (name, spec) = profile_bindings::binding(&profile, &key);
    let binding = stores
        .of::<ReleaseBindings>()
        .get(&ObjectName::new(profile.namespace(), &name));
    let target = stores.of::<Targets>().get(target);
    let reference = CrossReference::ProfileToTarget;
    let is_matched = target.is_some_and(|target| {
        target.view().is_some()
            && matches(&profile, &target.metadata)
            && stored::is_granted_in(stores, reference, profile.namespace(), &key.namespace)
    });
    match binding.and_then(|binding| stored::whole(&binding)) {
        None => !is_matched,
        Some(binding) => {
            is_matched
                && !binding.is_deleted()
                && profile_bindings::is_owned(&binding, &profile)
                && binding.spec == spec
        }
    }
}
