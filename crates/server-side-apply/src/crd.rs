//! CRDs: what they serve, and whether they are established.

use serde_json::{Value, json};

/// The kind of CRDs.
pub const CRD: &str = "CustomResourceDefinition";

/// Group and kind that a CRD is of, and whether they are namespaced.
pub(crate) fn scope_of_crd(object: &Value) -> Option<((String, String), bool)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    if text("/kind") != Some(CRD) {
        return None;
    }
    let (group, kind) = (text("/spec/group")?, text("/spec/names/kind")?);
    let is_namespaced = text("/spec/scope") != Some("Cluster");
    Some(((group.to_owned(), kind.to_owned()), is_namespaced))
}

/// An object of each version that a CRD serves, without its content.
pub(crate) fn served_by(crd: &Value) -> Vec<Value> {
    let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions.into_iter().flatten().filter(|one| one["served"] == true);
    let objects = served.filter_map(|one| one["name"].as_str()).map(|version| {
        json!({
            "apiVersion": format!("{}/{version}", text("/spec/group")), "kind": text("/spec/names/kind"),
        })
    });
    objects.collect()
}

/// Whether the API server has begun to serve a CRD's kinds.
pub fn is_established(crd: &Value) -> bool {
    let conditions = crd.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == "Established" && one["status"] == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crd_says_what_it_serves_and_where() {
        let crd = json!({"kind": "CustomResourceDefinition", "spec": {
            "group": "example.com", "scope": "Cluster", "names": {"kind": "Widget"},
            "versions": [{"name": "v1", "served": true}, {"name": "v1alpha1", "served": false}],
        }});
        let expected = (("example.com".to_owned(), "Widget".to_owned()), false);
        assert_eq!(scope_of_crd(&crd), Some(expected));
        assert_eq!(
            served_by(&crd),
            [json!({"apiVersion": "example.com/v1", "kind": "Widget"})]
        );
        assert_eq!(scope_of_crd(&json!({"kind": "ConfigMap"})), None);
    }

    #[test]
    fn a_crd_is_established_when_it_says_so() {
        let crd =
            |status: &str| json!({"status": {"conditions": [{"type": "Established", "status": status}]}});
        assert!(is_established(&crd("True")));
        assert!(!is_established(&crd("False")));
        assert!(!is_established(&json!({})));
    }
}
