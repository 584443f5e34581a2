//! The kinds of the pipeline, as SolAr's API has them, and their CRDs.
//!
//! Every kind is an [`Object`] of its spec; the spec's type implements [`Spec`]: the kind's names, its columns and the
//! type of its status. The JSON is SolAr's, field by field; fields that are added to it are optional. Nothing here uses
//! a client or a store, or knows how an object is reconciled.

mod component;
mod component_version;
mod crd;
mod profile;
mod reference;
mod reference_grant;
mod registry;
mod registry_binding;
mod release;
mod release_binding;
mod render_artifact;
mod render_binding;
mod schemas;
mod selector;
mod target;

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::NamespaceResourceScope;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use component::ComponentSpec;
pub use component_version::{ComponentVersionSpec, Entrypoint, EntrypointKind, HelmResource, ResourceAccess};
pub use crd::crds;
pub use profile::{ProfileSpec, ProfileStatus};
pub use reference::{ObjectKey, ObjectReference};
pub use reference_grant::{GrantFrom, GrantTo, ReferenceGrantSpec};
pub use registry::RegistrySpec;
pub use registry_binding::RegistryBindingSpec;
pub use release::{ReleaseSpec, ReleaseStatus, RenderTaskReference};
pub use release_binding::ReleaseBindingSpec;
pub use render_artifact::{RenderArtifactSpec, RenderArtifactStatus};
pub use render_binding::{KEEPS_TAG, RenderBindingSpec};
pub use selector::{LabelSelector, Operator, Requirement};
pub use target::{KeyPair, ReleaseState, SigningKeys, SigningSpec, TargetRelease, TargetSpec, TargetStatus};

use super::{GROUP, VERSION};

/// A component that has versions.
pub type Component = Object<ComponentSpec>;
/// One version of a component.
pub type ComponentVersion = Object<ComponentVersionSpec>;
/// A component version with values, to be deployed to targets.
pub type Release = Object<ReleaseSpec>;
/// A release on a target.
pub type ReleaseBinding = Object<ReleaseBindingSpec>;
/// A release on all targets with certain labels.
pub type Profile = Object<ProfileSpec>;
/// An OCI registry.
pub type Registry = Object<RegistrySpec>;
/// A registry that a target pulls from.
pub type RegistryBinding = Object<RegistryBindingSpec>;
/// An environment that releases are deployed to.
pub type Target = Object<TargetSpec>;
/// A chart that was pushed.
pub type RenderArtifact = Object<RenderArtifactSpec>;
/// The use of a pushed chart by a target.
pub type RenderBinding = Object<RenderBindingSpec>;
/// The permission to refer to objects of another namespace.
pub type ReferenceGrant = Object<ReferenceGrantSpec>;

/// The names and the status type of a kind; implemented by its spec.
pub trait Spec:
    Clone + fmt::Debug + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// The observed state of an object.
    type Status: Clone
        + fmt::Debug
        + Default
        + PartialEq
        + ReportedConditions
        + Serialize
        + DeserializeOwned
        + JsonSchema
        + Send
        + Sync;
    /// The kind's name.
    const KIND: &'static str;
    /// Its name in URLs.
    const PLURAL: &'static str;
    /// Its short name.
    const SHORT: &'static str;
    /// One sentence about it.
    const ABOUT: &'static str;
    /// The columns of its own, before Ready, Reason and Age.
    const COLUMNS: &'static [Column];
    /// The message of Ready=True that an object has from its creation on, by a default in the CRD: of a kind of which
    /// nothing has to be found out first. It costs no request, and a controller only writes what differs.
    const READY_FROM_CREATION: Option<&'static str> = None;
}

/// A status with conditions, as every kind's is.
pub trait ReportedConditions {
    /// All of them.
    fn conditions(&self) -> &[Condition];
}

/// Implements it for types with a field `conditions`.
macro_rules! reported_conditions {
    ($($status:ty),+ $(,)?) => {
        $(impl ReportedConditions for $status {
            fn conditions(&self) -> &[Condition] {
                &self.conditions
            }
        })+
    };
}

reported_conditions!(
    ConditionsStatus,
    ProfileStatus,
    ReleaseStatus,
    RenderArtifactStatus,
    TargetStatus
);

/// The message of Ready of an object that others refer to.
pub const USABLE: &str = "it can be used";

/// A printed column: name, type and JSON path.
pub type Column = (&'static str, &'static str, &'static str);

/// An object of a kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "")]
pub struct Object<S: Spec> {
    /// As a stored object has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// As a stored object has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name, namespace, UID, labels, finalizers, owners.
    #[serde(deserialize_with = "crate::api::metadata::with_labels")]
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: S,
    /// The observed state.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub status: Option<S::Status>,
}

/// The status of kinds that report nothing but conditions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConditionsStatus {
    /// The generation of the spec that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The conditions of the object: Ready, Stalled, and those of its kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

impl<S: Spec> Object<S> {
    /// Its namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey {
            namespace: self.metadata.namespace.clone().unwrap_or_default(),
            name: self.metadata.name.clone().unwrap_or_default(),
        }
    }

    /// Its namespace.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or("")
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or("")
    }

    /// Whether it is being deleted.
    pub fn is_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

impl<S: Spec> Resource for Object<S> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        S::KIND.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        VERSION.into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        S::PLURAL.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// `Option::default` would require a default of the status's type parameter.
fn none<T>() -> Option<T> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_annotations_of_an_object_are_bounded() {
        let labels: serde_json::Map<_, _> = (0..1000).map(|n| (format!("l{n}"), "v".into())).collect();
        let object = serde_json::json!({
            "metadata": {"name": "a", "labels": labels, "annotations": {"example.com/text": "long"}},
            "spec": {"targetRef": {"name": "t"}, "releaseRef": {"name": "r"}},
        });
        let binding: ReleaseBinding = serde_json::from_value(object).expect("a ReleaseBinding");
        assert_eq!(binding.metadata.labels.map(|all| all.len()), Some(128));
        assert_eq!(binding.metadata.annotations, None);
    }
}
