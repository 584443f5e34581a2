//! Views of what the API server sends: fields that are not read are skipped, neither decoded nor kept.
//!
//! Anyone with write access to an object decides how deep and how large it is. `managedFields` mirrors a spec's
//! nesting, a spec holds a megabyte of a tenant's values, and annotations hold a quarter of one. Here they are skipped
//! without recursion, so that no tenant's object can stop a watch or fill the memory. An object whose fields have other
//! types than its view expects is delivered with its metadata alone: it does not stop the watch either.
//!
//! In: JSON of Kubernetes objects. Out: [`Object`], which kube's watcher and [`kube::Api`] take as the object's type.
//! This must not know what the fields mean.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;

use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::DynamicResourceScope;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::key::{Key, KindId, ObjectName};
use crate::api::metadata;

/// What is decoded of an object in addition to its metadata: a struct with those fields of `spec` and `status` that are
/// read. Strings that tenants choose should be bounded ([`bounded`]).
pub trait View: DeserializeOwned + Debug + Clone + PartialEq + Send + Sync + 'static {}

impl<T: DeserializeOwned + Debug + Clone + PartialEq + Send + Sync + 'static> View for T {}

/// The view of an object of which the metadata is enough.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct MetadataOnly {}

/// An object with its metadata and a view of the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Object<V> {
    /// Without managed fields and without annotations of other groups.
    pub metadata: ObjectMeta,
    /// The view, or the error of decoding it.
    pub view: Result<V, String>,
}

/// An object's metadata alone.
pub type PartialMetadata = Object<MetadataOnly>;

impl<V> Object<V> {
    /// Its namespace and name.
    pub fn name(&self) -> ObjectName {
        ObjectName::from(&self.metadata)
    }

    /// Its key, given its kind.
    pub fn key(&self, kind: KindId) -> Key {
        kind.key(self.name())
    }

    /// The view, where it could be decoded.
    pub fn view(&self) -> Option<&V> {
        self.view.as_ref().ok()
    }

    /// Its UID.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or("")
    }

    /// Its namespace; empty for a cluster-scoped one.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or("")
    }

    /// The value of a label, where labels are kept.
    pub fn label(&self, key: &str) -> Option<&str> {
        let labels = self.metadata.labels.as_ref()?;
        labels.get(key).map(String::as_str)
    }

    /// The value of an annotation of this group.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations.get(key).map(String::as_str)
    }
}

impl<'de, V: View> Deserialize<'de> for Object<V> {
    /// Metadata and view are decoded one after the other from the same text, so that the metadata is kept if the view
    /// can't be decoded.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Metadata {
            #[serde(deserialize_with = "metadata::with_labels")]
            metadata: ObjectMeta,
        }

        let text = Box::<RawValue>::deserialize(deserializer)?;
        let Metadata { metadata } = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        Ok(Self {
            metadata,
            view: serde_json::from_str(text.get()).map_err(|error| error.to_string()),
        })
    }
}

impl<V: View> Resource for Object<V> {
    type DynamicType = KindId;
    type Scope = DynamicResourceScope;

    fn kind(kind: &KindId) -> Cow<'_, str> {
        kind.kind.into()
    }

    fn group(kind: &KindId) -> Cow<'_, str> {
        kind.group.into()
    }

    fn version(kind: &KindId) -> Cow<'_, str> {
        kind.version.into()
    }

    fn plural(kind: &KindId) -> Cow<'_, str> {
        kind.plural.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Decodes a string that a tenant chooses: a long one is replaced by its hash, so that a change is still detected. For
/// `#[serde(deserialize_with = "bounded")]`.
pub fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(metadata::bounded)
}

/// Matches labels as a selector does: the object has all of `wanted` with their values.
pub fn matches_labels(metadata: &ObjectMeta, wanted: &BTreeMap<String, String>) -> bool {
    let labels = metadata.labels.as_ref();
    wanted
        .iter()
        .all(|(key, value)| labels.is_some_and(|labels| labels.get(key) == Some(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::WatchEvent;

    #[derive(Debug, Clone, PartialEq, Default, Deserialize)]
    #[serde(default)]
    struct Sized {
        spec: SizedSpec,
    }

    #[derive(Debug, Clone, PartialEq, Default, Deserialize)]
    #[serde(default)]
    struct SizedSpec {
        size: u32,
        #[serde(deserialize_with = "bounded")]
        title: String,
    }

    /// JSON of this depth, in objects and lists.
    fn nested(depth: usize) -> String {
        format!("{}1{}", "{\"f:a\":[".repeat(depth), "]}".repeat(depth))
    }

    fn event(depth: usize, size: &str) -> String {
        let deep = nested(depth);
        format!(
            r#"{{"type":"ADDED","object":{{"apiVersion":"solar.opendefense.cloud/v1alpha1","kind":"RenderTask",
            "metadata":{{"name":"shop","namespace":"tenant","uid":"1","resourceVersion":"7",
            "managedFields":[{{"fieldsV1":{deep}}}]}},"spec":{{"size":{size},"release":{{"values":{deep}}},
            "template":{deep}}},"status":{{"succeeded":1}}}}}}"#
        )
    }

    fn decode<K: Clone + DeserializeOwned>(text: &str) -> Result<K, String> {
        match serde_json::from_str::<WatchEvent<K>>(text) {
            Ok(WatchEvent::Added(object)) => Ok(object),
            Ok(_) => Err("another event".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// One task with values nested 120 deep once stopped the watch for all tenants.
    #[test]
    fn the_depth_of_fields_that_are_not_read_stops_no_watch() {
        let whole = decode::<kube::core::PartialObjectMeta<crate::api::Task>>(&event(120, "3"));
        assert!(whole.is_err(), "it did");
        for depth in [1, 119, 120, 1000, 100_000] {
            let object: Object<Sized> = decode(&event(depth, "3")).expect("an object");
            assert_eq!(object.view().map(|view| view.spec.size), Some(3), "{depth}");
            assert!(decode::<PartialMetadata>(&event(depth, "3")).is_ok(), "{depth}");
        }
    }

    /// Another version of the CRD may have accepted such an object.
    #[test]
    fn an_object_that_does_not_match_its_view_has_its_metadata_alone() {
        for size in ["-1", "\"large\"", "[]", &nested(1000)] {
            let object: Object<Sized> = decode(&event(1, size)).expect("an object");
            assert_eq!(object.name().to_string(), "tenant/shop");
            let error = object.view.expect_err("no view");
            assert!(!error.is_empty() && error.len() < 200, "{error}");
        }
    }

    #[test]
    fn what_is_null_or_missing_is_absent() {
        let text =
            r#"{"metadata":{"name":"a","annotations":null,"ownerReferences":null,"creationTimestamp":null}}"#;
        let object: Object<Sized> = serde_json::from_str(text).expect("an object");
        assert_eq!(object.metadata.annotations, None);
        assert_eq!(object.view, Ok(Sized::default()));
    }

    #[test]
    fn a_long_string_is_replaced_by_its_hash() {
        let text = |title: &str| format!(r#"{{"metadata":{{"name":"a"}},"spec":{{"title":"{title}"}}}}"#);
        let title = |text: &str| {
            let object: Object<Sized> = serde_json::from_str(text).expect("an object");
            object.view.expect("a view").spec.title
        };
        assert_eq!(title(&text("short")), "short");
        let (one, other) = (
            title(&text(&"x".repeat(100_000))),
            title(&text(&"y".repeat(100_000))),
        );
        assert!(one.starts_with("sha256:") && one.len() < 100);
        assert_ne!(one, other);
    }
}
