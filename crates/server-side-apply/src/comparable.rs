//! An object as it is compared with what the cluster has.

use serde_json::Value;

/// The metadata that every write changes.
const WRITTEN: [&str; 3] = ["managedFields", "resourceVersion", "generation"];

/// An object without what every write changes, and without its status.
pub fn comparable(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in WRITTEN {
            metadata.remove(field);
        }
    }
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_difference_is_not_what_every_write_changes() {
        let object = |version: &str, replicas: u32, status: u32| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "a", "resourceVersion": version, "generation": replicas,
                    "managedFields": [{"time": "2026-01-01T00:00:00Z", "manager": version}]},
                "spec": {"replicas": replicas}, "status": {"readyReplicas": status}})
        };
        assert_eq!(comparable(object("1", 1, 0)), comparable(object("2", 1, 1)));
        assert_ne!(comparable(object("1", 1, 0)), comparable(object("1", 2, 0)));
    }
}
