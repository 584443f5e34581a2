//! Objects of a chart in a cluster: as they are sent, and applied.

use serde_json::{Value, json};
use solar_server_side_apply::{self as server_side_apply, ObjectKey, PreparedObject};

use super::inventory;
use super::objects::ChartObject;
use super::workload::{Workload, WorkloadError};
use crate::api::ADDON_ANNOTATION;
use crate::api::cluster_addons::ResourceStatus;
use crate::runtime::conditions::cut;

/// How long the message of an object in the status may be, in bytes.
const MAX_MESSAGE: usize = 256;

/// The namespaces of an addon's objects.
pub(super) struct Scopes<'a> {
    scopes: server_side_apply::Scopes<'a, Workload>,
    /// The addon, for the annotation of its objects.
    owner: &'a str,
}

impl<'a> Scopes<'a> {
    /// Of a chart's objects.
    pub(super) fn new<'o>(
        workload: &'a Workload,
        owner: &'a str,
        objects: impl IntoIterator<Item = &'o ChartObject>,
    ) -> Self {
        let objects = objects.into_iter().map(|one| &one.object);
        Self {
            scopes: server_side_apply::Scopes::new(workload, objects),
            owner,
        }
    }

    /// An object with its namespace: that of the release, unless it has another one or none.
    pub(super) fn prepare(&self, object: &Value, namespace: &str) -> Result<PreparedObject, WorkloadError> {
        let prepared = self.scopes.prepare(object, namespace)?;
        Ok(marked(prepared, self.owner))
    }
}

/// With the annotation that says whose it is.
fn marked(mut prepared: PreparedObject, owner: &str) -> PreparedObject {
    let metadata = prepared.object.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if !annotations.is_object() {
            *annotations = json!({});
        }
        annotations[ADDON_ANNOTATION] = owner.into();
    }
    prepared
}

/// What became of each object.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    pub(super) resources: Vec<ResourceStatus>,
    /// The cluster has stopped answering: what is not in `resources` was not tried.
    pub(super) unreachable: Option<String>,
}

impl Outcomes {
    fn add(&mut self, key: &ObjectKey, result: Result<(), WorkloadError>) {
        self.resources
            .push(resource(key, result.err().map(|error| error.to_string())));
    }
}

/// An object's line in the status.
pub(super) fn resource(key: &ObjectKey, problem: Option<String>) -> ResourceStatus {
    let ObjectKey {
        group,
        kind,
        namespace,
        name,
    } = key.clone();
    ResourceStatus {
        group,
        kind,
        namespace,
        name,
        synced: problem.is_none(),
        message: cut(&problem.unwrap_or_default(), MAX_MESSAGE),
    }
}

/// Applies objects in their order: those of one kind together, CRDs until they are established.
pub(super) async fn apply(workload: &mut Workload, objects: &[PreparedObject]) -> Outcomes {
    let mut outcomes = Outcomes::default();
    let applied = server_side_apply::apply(workload, objects, |one, result| outcomes.add(&one.key, result));
    if let Err(error) = applied.await {
        outcomes.unreachable = Some(error.to_string());
    }
    outcomes
}

/// The inventory's entries of applied objects.
pub(super) fn entries(objects: &[PreparedObject]) -> Vec<crate::api::cluster_addons::InventoryEntry> {
    let entries = objects
        .iter()
        .map(|one| inventory::entry(&one.key, &inventory::hash(&one.object)));
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_says_whose_it_is() {
        let marked = |annotations: Value| {
            let metadata = json!({"name": "a", "annotations": annotations});
            let object = json!({"apiVersion": "v1", "kind": "X", "metadata": metadata});
            let key = ObjectKey::of(&object, "");
            let marked = marked(PreparedObject { key, object }, "ns/a");
            marked.object["metadata"]["annotations"].clone()
        };
        for (own, other) in [
            (Value::Null, json!({})),
            (json!("no map"), json!({})),
            (json!({"b": "c"}), json!({"b": "c"})),
        ] {
            let mut expected = other;
            expected[ADDON_ANNOTATION] = "ns/a".into();
            assert_eq!(marked(own), expected);
        }
    }
}
