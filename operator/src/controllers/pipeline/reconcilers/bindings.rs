//! ReleaseBindings and RegistryBindings: whether both ends exist, and the Target's namespace grants the reference.

use super::{RegistryBindings, ReleaseBindings};
use crate::api::pipeline::{
    ConditionsStatus, Object, ObjectKey, ObjectReference, RegistryBindingSpec, RegistrySpec,
    ReleaseBindingSpec, ReleaseSpec, Spec, TargetSpec,
};
use crate::controllers::pipeline::conditions::{self, Reference};
use crate::controllers::pipeline::grants::CrossReference;
use crate::controllers::pipeline::stored;
use crate::runtime::conditions::merge;
use crate::runtime::key::Key;
use crate::runtime::{Action, Cx, Error, Kind};

impl Kind for ReleaseBindings {
    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let Some(binding) = stored::primary::<ReleaseBindingSpec>(cx, key) else {
            return Ok(Action::done());
        };
        let ReleaseBindingSpec {
            target_ref,
            release_ref,
        } = &binding.spec;
        let ends = [
            target(cx, &binding, target_ref, CrossReference::ReleaseBindingToTarget),
            beside::<ReleaseSpec>(cx, &binding, &release_ref.name),
        ];
        report(cx, key, &binding, &ends).await
    }
}

impl Kind for RegistryBindings {
    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let Some(binding) = stored::primary::<RegistryBindingSpec>(cx, key) else {
            return Ok(Action::done());
        };
        let RegistryBindingSpec {
            target_ref,
            registry_ref,
        } = &binding.spec;
        let ends = [
            target(cx, &binding, target_ref, CrossReference::RegistryBindingToTarget),
            beside::<RegistrySpec>(cx, &binding, &registry_ref.name),
        ];
        report(cx, key, &binding, &ends).await
    }
}

/// The Target. Without a grant, its existence is not disclosed.
fn target<S: Spec>(
    cx: &Cx,
    binding: &Object<S>,
    reference: &ObjectReference,
    cross: CrossReference,
) -> Reference {
    let key = reference.resolved(binding.namespace());
    let (from, to) = (binding.namespace(), key.namespace.as_str());
    if !stored::is_granted(cx, cross, from, to) {
        let missing = cross.missing(from, to, stored::cross_namespace(cx.stores()));
        return Reference::NotGranted { missing };
    }
    found::<TargetSpec>(cx, key)
}

/// A referenced object in the binding's namespace.
fn beside<S: Spec>(cx: &Cx, binding: &Object<impl Spec>, name: &str) -> Reference {
    found::<S>(cx, ObjectKey::new(binding.namespace(), name))
}

fn found<S: Spec>(cx: &Cx, key: ObjectKey) -> Reference {
    if stored::exists::<S>(cx, &key) {
        Reference::Resolved(key)
    } else {
        Reference::NotFound { kind: S::KIND, key }
    }
}

async fn report<S: Spec<Status = ConditionsStatus>>(
    cx: &Cx,
    key: &Key,
    binding: &Object<S>,
    ends: &[Reference],
) -> Result<Action, Error> {
    let findings = conditions::binding(ends);
    stored::report(cx, key, binding, |known, generation| ConditionsStatus {
        observed_generation: generation,
        conditions: merge(&known.conditions, &findings, generation, cx.now()),
    })
    .await
}
