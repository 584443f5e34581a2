//! What is decoded of an object's metadata: what is read, and nothing that can be deep or large.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::api::ObjectMeta;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use sha2::{Digest as _, Sha256};

use super::{GROUP, RUN_ANNOTATION};

/// The longest value of an annotation that is kept as it is, in bytes; of a longer one the hash is kept, so that a
/// change still shows.
const MAX_ANNOTATION: usize = 256;
/// The same for the annotation that the operator writes itself: it quotes another one, escaped.
const MAX_RUN_ANNOTATION: usize = 4096;

/// What is kept of any object's metadata.
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
}

/// An object's metadata without labels, finalizers, managed fields and others' annotations.
pub fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
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
        ..ObjectMeta::default()
    })
}

/// The annotations of this group.
fn own_annotations<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    struct Own;

    impl<'de> Visitor<'de> for Own {
        type Value = Option<BTreeMap<String, String>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("annotations")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut kept = BTreeMap::new();
            while let Some(key) = map.next_key::<String>()? {
                if is_own(&key) {
                    let value = bounded(&key, map.next_value()?);
                    kept.insert(key, value);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok((!kept.is_empty()).then_some(kept))
        }
    }

    deserializer.deserialize_any(Own)
}

fn is_own(key: &str) -> bool {
    key.strip_prefix(GROUP).is_some_and(|rest| rest.starts_with('/'))
}

fn bounded(key: &str, value: String) -> String {
    let limit = if key == RUN_ANNOTATION {
        MAX_RUN_ANNOTATION
    } else {
        MAX_ANNOTATION
    };
    if value.len() <= limit {
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
        let long = "x".repeat(MAX_ANNOTATION + 1);
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
}
