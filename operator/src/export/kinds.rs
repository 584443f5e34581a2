//! The kinds, in the order in which their objects are applied.
//!
//! What is referred to comes before what refers to it. A Target starts the rendering, so that all that decides what it
//! gets comes before it: a bootstrap chart with only some of its Releases would make Flux uninstall the others. The
//! bindings of charts that were pushed come behind their Target, for without one they are deleted, and the charts behind
//! their bindings, for the tag of one that nothing binds is deleted.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::artifact::{ARTIFACTS, ArtifactSpec};
use crate::api::cluster_addons::{CLUSTER_STACKS, ClusterStackSpec};
use crate::api::pipeline::{
    ComponentSpec, ComponentVersionSpec, ProfileSpec, ReferenceGrantSpec, RegistryBindingSpec, RegistrySpec,
    ReleaseBindingSpec, ReleaseSpec, RenderArtifactSpec, RenderBindingSpec, Spec, TargetSpec,
};
use crate::api::{GROUP, Scope, TaskSpec, VERSION};
use crate::key::KindId;

/// A kind whose objects are exported.
#[derive(Clone, Copy)]
pub(super) struct ExportKind {
    /// Which.
    pub id: KindId,
    /// A spec as this operator has it: in one form, whoever has filled in defaults.
    pub normal: fn(&str) -> Result<Value, serde_json::Error>,
}

/// All of them, in the order in which they are applied.
pub(super) fn all() -> [ExportKind; 15] {
    [
        pipeline::<ReferenceGrantSpec>(),
        pipeline::<RegistrySpec>(),
        pipeline::<ComponentSpec>(),
        pipeline::<ComponentVersionSpec>(),
        pipeline::<ReleaseSpec>(),
        pipeline::<RegistryBindingSpec>(),
        pipeline::<ReleaseBindingSpec>(),
        pipeline::<ProfileSpec>(),
        pipeline::<TargetSpec>(),
        pipeline::<RenderBindingSpec>(),
        pipeline::<RenderArtifactSpec>(),
        task(Scope::Namespaced),
        task(Scope::Cluster),
        ExportKind {
            id: ARTIFACTS,
            normal: normal::<ArtifactSpec>,
        },
        // Its ClusterAddons are the operator's, which makes them again.
        ExportKind {
            id: CLUSTER_STACKS,
            normal: normal::<ClusterStackSpec>,
        },
    ]
}

fn pipeline<S: Spec>() -> ExportKind {
    ExportKind {
        id: KindId {
            kind: S::KIND,
            group: GROUP,
            version: VERSION,
            plural: S::PLURAL,
            namespaced: true,
        },
        normal: normal::<S>,
    }
}

fn task(scope: Scope) -> ExportKind {
    ExportKind {
        id: scope.id(),
        normal: normal::<TaskSpec>,
    }
}

fn normal<S: Serialize + DeserializeOwned>(spec: &str) -> Result<Value, serde_json::Error> {
    let spec: S = serde_json::from_str(spec)?;
    serde_json::to_value(spec)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api;

    #[test]
    fn every_kind_that_users_write_is_exported_once() {
        let crds = api::crds(api::OptionalKinds::ALL).expect("CRDs");
        let mut plurals: BTreeSet<String> = crds.iter().map(|crd| crd.spec.names.plural.clone()).collect();
        assert!(plurals.remove("clusteraddons"));
        let exported: Vec<String> = all().iter().map(|kind| kind.id.plural.to_owned()).collect();
        assert_eq!(exported.len(), plurals.len());
        assert_eq!(exported.into_iter().collect::<BTreeSet<_>>(), plurals);
    }

    #[test]
    fn what_would_be_deleted_without_another_object_comes_behind_it() {
        let kinds = all().map(|kind| kind.id.kind);
        let position = |kind: &str| kinds.iter().position(|one| *one == kind).expect("a kind");
        for (first, second) in [
            ("ReferenceGrant", "Registry"),
            ("ComponentVersion", "Release"),
            ("Release", "ReleaseBinding"),
            ("RegistryBinding", "Target"),
            ("ReleaseBinding", "Target"),
            ("Profile", "Target"),
            ("Target", "RenderBinding"),
            ("RenderBinding", "RenderArtifact"),
        ] {
            assert!(position(first) < position(second), "{first} before {second}");
        }
    }
}
