//! Objects as they are sent: with their namespace, without what an API server refuses.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::crd::scope_of_crd;
use crate::{ApiServer, CRD, ObjectKey};

/// An object as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedObject {
    /// What identifies it.
    pub key: ObjectKey,
    /// The object, with its namespace.
    pub object: Value,
}

/// Which kinds are namespaced: those of CRDs that are applied too, which the cluster may not have yet, and the cluster's.
pub struct Scopes<'a, S> {
    server: &'a S,
    own: BTreeMap<(String, String), bool>,
}

impl<'a, S: ApiServer> Scopes<'a, S> {
    /// For these objects.
    pub fn new<'o>(server: &'a S, objects: impl IntoIterator<Item = &'o Value>) -> Self {
        Self {
            server,
            own: objects.into_iter().filter_map(scope_of_crd).collect(),
        }
    }

    /// An object with its namespace: its own, else this one; a cluster-scoped one has none.
    ///
    /// # Errors
    /// The kind is neither served nor of one of the CRDs.
    pub fn prepare(&self, object: &Value, namespace: &str) -> Result<PreparedObject, S::Error> {
        let unplaced = ObjectKey::of(object, "");
        let is_namespaced = match self.own.get(&(unplaced.group, unplaced.kind)) {
            Some(is_namespaced) => *is_namespaced,
            None => self.server.is_namespaced(object)?,
        };
        Ok(placed(object, is_namespaced, namespace))
    }
}

fn placed(object: &Value, is_namespaced: bool, namespace: &str) -> PreparedObject {
    let mut object = object.clone();
    let own = object.pointer("/metadata/namespace").and_then(Value::as_str);
    let namespace = own.filter(|own| !own.is_empty()).unwrap_or(namespace).to_owned();
    let namespace = if is_namespaced { namespace } else { String::new() };
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        if namespace.is_empty() {
            metadata.remove("namespace");
        } else {
            metadata.insert("namespace".to_owned(), namespace.clone().into());
        }
        // The API server refuses it in an apply.
        metadata.remove("managedFields");
    }
    leave_aggregated_rules(&mut object);
    PreparedObject {
        key: ObjectKey::of(&object, &namespace),
        object,
    }
}

/// The rules of an aggregated ClusterRole are the cluster's own controller's: applying `rules: []` would take all rights
/// away until that fills them in again.
fn leave_aggregated_rules(object: &mut Value) {
    let is_aggregated = object["kind"] == "ClusterRole" && object["aggregationRule"].is_object();
    if let Some(object) = object.as_object_mut().filter(|_| is_aggregated) {
        object.remove("rules");
    }
}

/// What is applied first of objects that are otherwise in their order: namespaces, then CRDs.
pub fn install_phase(kind: &str) -> u8 {
    match kind {
        "Namespace" => 0,
        CRD => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Every namespaced object once went to kube-system.
    #[test]
    fn objects_are_in_their_own_namespace_or_the_given_one() {
        let with = |namespace: Option<&str>| {
            let mut object = json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}});
            if let Some(namespace) = namespace {
                object["metadata"]["namespace"] = namespace.into();
            }
            object
        };
        let table = [
            (None, true, "release"),
            (Some("own"), true, "own"),
            (Some(""), true, "release"),
            (Some("own"), false, ""),
            (None, false, ""),
        ];
        for (own, is_namespaced, expected) in table {
            let found = placed(&with(own), is_namespaced, "release");
            assert_eq!(found.key.namespace, expected, "{own:?}");
            let text = found.object["metadata"]["namespace"].as_str().unwrap_or("");
            assert_eq!(text, expected, "{own:?}");
        }
    }

    /// The rules were once emptied every ten minutes.
    #[test]
    fn rules_of_an_aggregated_role_are_not_applied() {
        let role = |aggregation: Value| {
            let object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": "a"}, "rules": [], "aggregationRule": aggregation});
            placed(&object, false, "release").object
        };
        assert!(role(json!({"clusterRoleSelectors": []})).get("rules").is_none());
        assert!(role(Value::Null).get("rules").is_some());
    }
}
