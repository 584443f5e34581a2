//! Lean views of what the API server sends: what is not read is skipped, neither decoded nor kept.
//!
//! Whoever may write an object decides how deep and how large it is. `managedFields` mirrors a spec's nesting, a
//! spec holds a megabyte of a tenant's values, and annotations hold a quarter of one. Here they are passed over
//! without recursion, so that no object of a tenant's can stop a watch or fill the memory.
//!
//! In: JSON of Kubernetes objects. Out: types that kube's watcher and [`kube::Api`] take in place of the whole
//! ones. This must not know what the fields mean.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::{Job, JobStatus};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodStatus};
use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::api::{Scope, Task, metadata};

/// A task's metadata alone: what wakes it.
#[derive(Debug, Clone, Deserialize)]
pub struct TaskMetadata {
    /// Without managed fields.
    #[serde(deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
}

/// An object's metadata alone, whatever its kind.
#[derive(Debug, Clone, Deserialize)]
pub struct PartialMetadata {
    /// Without managed fields.
    #[serde(deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
}

/// A Job without its template.
#[derive(Debug, Clone, Deserialize)]
pub struct PartialJob {
    /// Without managed fields.
    #[serde(deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
    /// What counts of it.
    #[serde(default)]
    pub spec: PartialJobSpec,
    /// All of it.
    #[serde(default)]
    pub status: Option<JobStatus>,
}

/// What counts of a Job's spec.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct PartialJobSpec {
    /// It makes no pods.
    #[serde(default)]
    pub suspend: Option<bool>,
}

/// A pod without its spec.
#[derive(Debug, Clone, Deserialize)]
pub struct PartialPod {
    /// Without managed fields.
    #[serde(deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
    /// All of it.
    #[serde(default)]
    pub status: Option<PodStatus>,
}

/// A ConfigMap's keys.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartialConfigMap {
    /// Without managed fields.
    #[serde(deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
    #[serde(default)]
    data: BTreeMap<String, IgnoredAny>,
    #[serde(default)]
    binary_data: BTreeMap<String, IgnoredAny>,
}

impl PartialConfigMap {
    /// Whether it has the key, as text or not.
    pub fn has(&self, key: &str) -> bool {
        self.data.contains_key(key) || self.binary_data.contains_key(key)
    }
}

/// The same resource as another type that holds the whole object.
macro_rules! resource {
    ($lean:ty, $whole:ty, $dynamic:ty, $scope:ty) => {
        impl Resource for $lean {
            type DynamicType = $dynamic;
            type Scope = $scope;

            fn kind(dynamic: &$dynamic) -> Cow<'_, str> {
                <$whole>::kind(dynamic)
            }

            fn group(dynamic: &$dynamic) -> Cow<'_, str> {
                <$whole>::group(dynamic)
            }

            fn version(dynamic: &$dynamic) -> Cow<'_, str> {
                <$whole>::version(dynamic)
            }

            fn plural(dynamic: &$dynamic) -> Cow<'_, str> {
                <$whole>::plural(dynamic)
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

resource!(TaskMetadata, Task, Scope, kube::core::DynamicResourceScope);
resource!(PartialJob, Job, (), NamespaceResourceScope);
resource!(PartialPod, Pod, (), NamespaceResourceScope);
resource!(PartialConfigMap, ConfigMap, (), NamespaceResourceScope);

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::WatchEvent;

    /// JSON as deep as this, in an object or in a list.
    fn nested(depth: usize) -> String {
        format!("{}1{}", "{\"f:a\":[".repeat(depth), "]}".repeat(depth))
    }

    fn event(depth: usize) -> String {
        let deep = nested(depth);
        format!(
            r#"{{"type":"ADDED","object":{{"apiVersion":"solar.opendefense.cloud/v1alpha1","kind":"RenderTask",
            "metadata":{{"name":"shop","namespace":"tenant","uid":"1","resourceVersion":"7",
            "managedFields":[{{"fieldsV1":{deep}}}]}},"spec":{{"type":"release","release":{{"values":{deep}}},
            "template":{deep}}},"status":{{"succeeded":1}}}}}}"#
        )
    }

    fn decodes<K: Clone + serde::de::DeserializeOwned>(text: &str) -> Result<(), serde_json::Error> {
        serde_json::from_str::<WatchEvent<K>>(text).map(|_| ())
    }

    /// One task with values nested 120 deep once stopped every watch of it for everybody.
    #[test]
    fn no_depth_of_what_is_not_read_stops_a_watch() {
        assert!(
            decodes::<kube::core::PartialObjectMeta<Task>>(&event(120)).is_err(),
            "it did"
        );
        for depth in [1, 119, 120, 1000, 100_000] {
            let text = event(depth);
            for decoded in [
                decodes::<TaskMetadata>(&text),
                decodes::<PartialJob>(&text),
                decodes::<PartialPod>(&text),
                decodes::<PartialConfigMap>(&text),
                decodes::<PartialMetadata>(&text),
            ] {
                assert!(decoded.is_ok(), "{depth}: {decoded:?}");
            }
        }
    }

    #[test]
    fn what_is_null_or_missing_is_absent() {
        let text =
            r#"{"metadata":{"name":"a","annotations":null,"ownerReferences":null,"creationTimestamp":null}}"#;
        let job: PartialJob = serde_json::from_str(text).expect("a Job");
        assert_eq!((job.metadata.annotations, job.spec.suspend), (None, None));
    }
}
