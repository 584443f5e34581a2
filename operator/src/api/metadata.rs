//! The decoded part of an object's metadata: only what is read, and nothing that can be deep or large.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::api::ObjectMeta;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use sha2::{Digest as _, Sha256};

use super::{GROUP, REQUESTED_AT_ANNOTATION, RUN_ANNOTATION};

/// The maximum length of a text that is kept unchanged, in bytes; a longer one is replaced by its hash, so that a
/// change is still detected.
const MAX_TEXT: usize = 256;
/// The same limit for the annotation that the operator writes itself: it contains another one, escaped.
const MAX_RUN_ANNOTATION: usize = 4096;
/// How many annotations of this group are kept.
const MAX_ANNOTATIONS: usize = 16;
/// How many labels are kept.
const MAX_LABELS: usize = 128;

/// The kept part of any object's metadata.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Kept {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    owner_references: Option<Vec<OwnerReference>>,
    #[serde(deserialize_with = "own_annotations")]
    annotations: Option<BTreeMap<String, String>>,
    #[serde(deserialize_with = "bounded_labels")]
    labels: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
}

/// An object's metadata without labels, finalizers, managed fields and annotations of other groups.
pub(crate) fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    Ok(ObjectMeta {
        labels: None,
        finalizers: None,
        ..with_labels(deserializer)?
    })
}

/// An object's metadata without managed fields and annotations of other groups.
pub(crate) fn with_labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let Kept {
        name,
        namespace,
        uid,
        resource_version,
        generation,
        creation_timestamp,
        deletion_timestamp,
        owner_references,
        annotations,
        labels,
        finalizers,
    } = Kept::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name,
        namespace,
        uid,
        resource_version,
        generation,
        creation_timestamp,
        deletion_timestamp,
        owner_references,
        annotations,
        labels,
        finalizers,
        ..ObjectMeta::default()
    })
}

/// The annotations of this group, and Flux' request to reconcile; at most [`MAX_ANNOTATIONS`].
fn own_annotations<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let keep = |kept: &BTreeMap<_, _>, key: &str| is_own(key) && kept.len() < MAX_ANNOTATIONS;
    deserializer.deserialize_any(Pairs(keep, bounded_annotation))
}

/// The first [`MAX_LABELS`] labels.
fn bounded_labels<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let keep = |kept: &BTreeMap<_, _>, _: &str| kept.len() < MAX_LABELS;
    deserializer.deserialize_any(Pairs(keep, |_: &str, value: String| value))
}

/// Decodes those pairs of a map that the first function accepts, and maps their values by the second one.
struct Pairs<K, V>(K, V);

impl<'de, K, V> Visitor<'de> for Pairs<K, V>
where
    K: Fn(&BTreeMap<String, String>, &str) -> bool,
    V: Fn(&str, String) -> String,
{
    type Value = Option<BTreeMap<String, String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of strings")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut kept = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if (self.0)(&kept, &key) {
                let value = (self.1)(&key, map.next_value()?);
                kept.insert(key, value);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok((!kept.is_empty()).then_some(kept))
    }
}

fn is_own(key: &str) -> bool {
    let of_group = key.strip_prefix(GROUP).is_some_and(|rest| rest.starts_with('/'));
    of_group || key == REQUESTED_AT_ANNOTATION
}

fn bounded_annotation(key: &str, value: String) -> String {
    if key == RUN_ANNOTATION && value.len() <= MAX_RUN_ANNOTATION {
        return value;
    }
    bounded(value)
}

/// The text itself, or its hash if it is longer than [`MAX_TEXT`].
pub(crate) fn bounded(value: String) -> String {
    if value.len() <= MAX_TEXT {
        return value;
    }
    format!("sha256:{}", hash(&value))
}

fn hash(value: &str) -> String {
    let digest = Sha256::digest(value.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::RETRY_ANNOTATION;

    #[derive(Debug, Deserialize)]
    struct PartialMetadata {
        #[serde(deserialize_with = "metadata")]
        metadata: ObjectMeta,
    }

    #[test]
    fn only_own_annotations_are_kept_and_none_is_long() {
        let long = "x".repeat(MAX_TEXT + 1);
        let text = format!(
            r#"{{"metadata":{{"name":"a","labels":{{"l":"1"}},"annotations":{{"other":"{long}","{RETRY_ANNOTATION}":"{long}",
            "{GROUP}/short":"s","{GROUP}.evil/x":"y"}}}}}}"#
        );
        let head: PartialMetadata = serde_json::from_str(&text).expect("a head");
        let kept = head.metadata.annotations.expect("annotations");
        assert_eq!(
            kept.keys().collect::<Vec<_>>(),
            [RETRY_ANNOTATION, &format!("{GROUP}/short")]
        );
        assert!(kept[RETRY_ANNOTATION].starts_with("sha256:"), "{kept:?}");
        assert_eq!(head.metadata.labels, None);
        let other = text.replacen(r#"retry":"x"#, r#"retry":"y"#, 1);
        let other: PartialMetadata = serde_json::from_str(&other).expect("a head");
        assert_ne!(
            other.metadata.annotations.expect("annotations"),
            kept,
            "a change shows"
        );
    }

    #[test]
    fn labels_and_own_annotations_are_bounded_in_number() {
        #[derive(Deserialize)]
        struct Labelled {
            #[serde(deserialize_with = "with_labels")]
            metadata: ObjectMeta,
        }
        let pairs = |prefix: &str| {
            let pairs = (0..1000).map(|number| format!(r#""{prefix}{number}":"v""#));
            pairs.collect::<Vec<_>>().join(",")
        };
        let (labels, annotations) = (pairs("l"), pairs(&format!("{GROUP}/a")));
        let text = format!(
            r#"{{"metadata":{{"labels":{{{labels}}},"annotations":{{{annotations}}},"finalizers":["f"]}}}}"#
        );
        let Labelled { metadata } = serde_json::from_str(&text).expect("metadata");
        assert_eq!(metadata.labels.map(|all| all.len()), Some(MAX_LABELS));
        assert_eq!(metadata.annotations.map(|all| all.len()), Some(MAX_ANNOTATIONS));
        assert_eq!(metadata.finalizers, Some(vec!["f".to_owned()]));
    }
}
