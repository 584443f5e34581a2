//! The objects that keep a Registry, a Release or a ComponentVersion: those that refer to it.
//!
//! While one exists, the object has a finalizer. References that are not granted don't count, or a tenant could keep
//! the platform's objects; and in a namespace that is being deleted, objects of other namespaces don't count, so that
//! no finalizer keeps a namespace forever.

use std::collections::BTreeMap;

use kube::api::ObjectMeta;

use super::grants::CrossReference;
use super::task_owner::finalizer;
use crate::api::pipeline::{ComponentVersionSpec, ObjectKey, RegistrySpec, ReleaseSpec, Spec};
use crate::runtime::finalizers;

/// An object that refers to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace and name.
    pub key: ObjectKey,
}

/// The change to the finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalizerChange {
    /// No change.
    None,
    /// It is added.
    Add,
    /// No object refers to this one any more: it is removed.
    Remove,
}

/// A kind that other objects refer to.
pub trait Referenced: Spec {
    /// The finalizer's name in this group.
    const FINALIZER: &'static str;

    /// The full name of the finalizer.
    fn finalizer() -> String {
        finalizer(Self::FINALIZER)
    }
}

impl Referenced for RegistrySpec {
    const FINALIZER: &'static str = "registry-ref";
}

impl Referenced for ReleaseSpec {
    const FINALIZER: &'static str = "release-ref";
}

impl Referenced for ComponentVersionSpec {
    const FINALIZER: &'static str = "componentversion-ref";
}

/// Objects of one kind that name an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referrers {
    kind: &'static str,
    /// The grant that objects of other namespaces need; `None`: they can't refer to it.
    cross: Option<CrossReference>,
    keys: Vec<ObjectKey>,
}

impl Referrers {
    /// Objects that may be in other namespaces, if that is granted.
    pub fn crossing(reference: CrossReference, keys: Vec<ObjectKey>) -> Self {
        Self {
            kind: reference.kinds().0,
            cross: Some(reference),
            keys,
        }
    }

    /// Objects of kind `S`, which only refer to objects of their own namespace.
    pub fn beside<S: Spec>(keys: Vec<ObjectKey>) -> Self {
        Self {
            kind: S::KIND,
            cross: None,
            keys,
        }
    }
}

/// What holds an object of a namespace, in order; `may_refer` says whether objects of another namespace may refer to
/// it so, and is asked once for each.
pub fn holders(
    namespace: &str,
    referrers: Vec<Referrers>,
    may_refer: impl Fn(CrossReference, &str) -> bool,
    is_namespace_terminating: bool,
) -> Vec<Holder> {
    let mut all = Vec::new();
    for Referrers { kind, cross, keys } in referrers {
        let mut may: BTreeMap<String, bool> = BTreeMap::new();
        for key in keys {
            let may_refer = |from: &str| cross.is_some_and(|cross| may_refer(cross, from));
            let holds = key.namespace == namespace
                || (!is_namespace_terminating
                    && *may
                        .entry(key.namespace.clone())
                        .or_insert_with_key(|from| may_refer(from)));
            if holds {
                all.push(Holder { kind, key });
            }
        }
    }
    all.sort();
    all.dedup();
    all
}

/// The change of an object's finalizer.
pub fn decide<S: Referenced>(metadata: &ObjectMeta, is_held: bool) -> FinalizerChange {
    let is_deleted = metadata.deletion_timestamp.is_some();
    match (finalizers::has(metadata, &S::finalizer()), is_held) {
        (true, false) => FinalizerChange::Remove,
        // No finalizer can be added to an object that is being deleted.
        (false, true) if !is_deleted => FinalizerChange::Add,
        _ => FinalizerChange::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GROUP;
    use crate::api::pipeline::{ReferenceGrant, RegistryBindingSpec, ReleaseBindingSpec};
    use crate::controllers::pipeline::test_objects::object;
    use serde_json::json;

    fn metadata(finalized: bool, deleted: bool) -> ObjectMeta {
        let mut json = json!({"name": "charts", "namespace": "system"});
        if finalized {
            json["finalizers"] = json!(["other/finalizer", "solar.opendefense.cloud/registry-ref"]);
        }
        if deleted {
            json["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        serde_json::from_value(json).expect("metadata")
    }

    fn grant(kind: &str, to: &str) -> ReferenceGrant {
        object(json!({
            "metadata": {"name": "g", "namespace": "system"},
            "spec": {"from": [{"group": GROUP, "kind": kind, "namespace": "tenant"}],
                "to": [{"group": GROUP, "kind": to}]},
        }))
    }

    fn keys(namespaces: &[&str]) -> Vec<ObjectKey> {
        let namespaces = namespaces.iter();
        namespaces
            .map(|namespace| ObjectKey::new(namespace, "x"))
            .collect()
    }

    fn held_by(referrers: &[Referrers], grants: &[ReferenceGrant], is_terminating: bool) -> Vec<String> {
        let may_refer = |cross: CrossReference, from: &str| cross.is_granted(from, "system", grants);
        let holders = holders("system", referrers.to_vec(), may_refer, is_terminating);
        let names = holders
            .iter()
            .map(|holder| format!("{} {}", holder.kind, holder.key));
        names.collect()
    }

    #[test]
    fn granted_references_keep_an_object() {
        let all = ["system", "tenant", "evil"];
        let referrers = [
            Referrers::crossing(CrossReference::TargetToRegistry, keys(&all)),
            Referrers::crossing(CrossReference::ArtifactToRegistry, keys(&all)),
            Referrers::beside::<RegistryBindingSpec>(keys(&["system"])),
        ];
        let here = [
            "RegistryBinding system/x",
            "RenderArtifact system/x",
            "Target system/x",
        ];
        assert_eq!(held_by(&referrers, &[], false), here);
        // A tenant without the grant can't keep the platform's Registry.
        let grants = [grant("Target", "Registry")];
        assert_eq!(
            held_by(&referrers, &grants, false),
            [here[0], here[1], here[2], "Target tenant/x"]
        );
        // Referring objects in its own namespace are deleted with that namespace.
        assert_eq!(held_by(&referrers, &grants, true), here);
    }

    #[test]
    fn kinds_that_refer_within_their_namespace_keep_no_other_objects() {
        let bindings = [Referrers::beside::<ReleaseBindingSpec>(keys(&[
            "system", "tenant",
        ]))];
        let grants = [grant("ReleaseBinding", "Release")];
        assert_eq!(held_by(&bindings, &grants, false), ["ReleaseBinding system/x"]);
    }

    #[test]
    fn the_finalizer_follows_the_references() {
        // Finalizer, deleted, held; change.
        let table = [
            (false, false, false, FinalizerChange::None),
            (false, false, true, FinalizerChange::Add),
            (true, false, true, FinalizerChange::None),
            (true, false, false, FinalizerChange::Remove),
            (true, true, true, FinalizerChange::None),
            (true, true, false, FinalizerChange::Remove),
            (false, true, true, FinalizerChange::None),
        ];
        for (finalized, deleted, is_held, change) in table {
            let found = decide::<RegistrySpec>(&metadata(finalized, deleted), is_held);
            assert_eq!(found, change, "{finalized} {deleted} {is_held}");
        }
    }
}
