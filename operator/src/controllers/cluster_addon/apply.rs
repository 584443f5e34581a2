//! Objects of a chart in a cluster: as they are sent, and applied.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::inventory::{self, ObjectKey};
use super::objects::ChartObject;
use super::workload::{Workload, WorkloadError};
use crate::api::ADDON_ANNOTATION;
use crate::api::cluster_addons::ResourceStatus;
use crate::runtime::conditions::cut;

/// How many objects of one kind are sent at a time.
pub(super) const CONCURRENCY: usize = 8;
/// How long CRDs may take to be established.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);
/// The delay between two requests for that.
const POLL: Duration = Duration::from_millis(300);
/// How long the message of an object in the status may be, in bytes.
const MAX_MESSAGE: usize = 256;
pub(super) const CRD: &str = "CustomResourceDefinition";

/// An object as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PreparedObject {
    pub(super) key: ObjectKey,
    pub(super) object: Value,
}

/// Which kinds are namespaced: those of the chart's own CRDs, which the cluster may not have yet, and the cluster's.
pub(super) struct Scopes<'a> {
    workload: &'a Workload,
    /// The addon, for the annotation of its objects.
    owner: &'a str,
    own: BTreeMap<(String, String), bool>,
}

impl<'a> Scopes<'a> {
    /// Of a chart's objects.
    pub(super) fn new<'o>(
        workload: &'a Workload,
        owner: &'a str,
        objects: impl IntoIterator<Item = &'o ChartObject>,
    ) -> Self {
        let own = objects.into_iter().filter_map(|one| scope_of_crd(&one.object));
        Self {
            workload,
            owner,
            own: own.collect(),
        }
    }

    /// An object with its namespace: that of the release, unless it has another one or none.
    pub(super) fn prepare(&self, object: &Value, namespace: &str) -> Result<PreparedObject, WorkloadError> {
        let unplaced = ObjectKey::of(object, "");
        let own = self.own.get(&(unplaced.group.clone(), unplaced.kind.clone()));
        let is_namespaced = match own {
            Some(is_namespaced) => *is_namespaced,
            None => self.workload.resource_of(object)?.1,
        };
        Ok(placed(object, is_namespaced, (namespace, self.owner)))
    }
}

fn placed(object: &Value, is_namespaced: bool, (namespace, owner): (&str, &str)) -> PreparedObject {
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
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if !annotations.is_object() {
            *annotations = json!({});
        }
        annotations[ADDON_ANNOTATION] = owner.into();
    }
    leave_aggregated_rules(&mut object);
    PreparedObject {
        key: ObjectKey::of(&object, &namespace),
        object,
    }
}

/// The rules of an aggregated ClusterRole are the cluster's own controller's: applying the chart's `rules: []` would take
/// all rights away until that fills them in again.
fn leave_aggregated_rules(object: &mut Value) {
    let is_aggregated = object["kind"] == "ClusterRole" && object["aggregationRule"].is_object();
    if let Some(object) = object.as_object_mut().filter(|_| is_aggregated) {
        object.remove("rules");
    }
}

/// Group and kind that a CRD is of, and whether they are namespaced.
fn scope_of_crd(object: &Value) -> Option<((String, String), bool)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    if text("/kind") != Some(CRD) {
        return None;
    }
    let (group, kind) = (text("/spec/group")?, text("/spec/names/kind")?);
    let is_namespaced = text("/spec/scope") != Some("Cluster");
    Some(((group.to_owned(), kind.to_owned()), is_namespaced))
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
        if let Err(WorkloadError::Unreachable(message)) = &result {
            self.unreachable.get_or_insert_with(|| message.clone());
            return;
        }
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
    for same in objects.chunk_by(|a, b| a.key.kind == b.key.kind && a.key.group == b.key.group) {
        let sent: &Workload = workload;
        let mut requests = Vec::new();
        for one in same {
            requests.push(send(sent, one).boxed());
        }
        let mut results = stream::iter(requests).buffered(CONCURRENCY);
        let mut crds = BTreeSet::new();
        while let Some((key, result)) = results.next().await {
            if result.is_ok() && key.kind == CRD {
                crds.insert(key.clone());
            }
            outcomes.add(key, result);
            if outcomes.unreachable.is_some() {
                return outcomes;
            }
        }
        drop(results);
        if !crds.is_empty()
            && let Err(error) = establish(workload, same, &crds).await
        {
            outcomes.unreachable = Some(error);
            return outcomes;
        }
    }
    outcomes
}

async fn send<'o>(
    workload: &Workload,
    one: &'o PreparedObject,
) -> (&'o ObjectKey, Result<(), WorkloadError>) {
    let applied = workload.apply(&one.object, &one.key, false).await;
    (&one.key, applied.map(|_| ()))
}

/// Waits until CRDs are established and the cluster says that it serves their kinds.
async fn establish(
    workload: &mut Workload,
    objects: &[PreparedObject],
    crds: &BTreeSet<ObjectKey>,
) -> Result<(), String> {
    let end = Instant::now() + ESTABLISHED_WITHIN;
    for crd in objects.iter().filter(|one| crds.contains(&one.key)) {
        loop {
            let live = workload.get(&crd.object, &crd.key).await;
            match live {
                Ok(Some(live)) if is_established(&live) => break,
                Err(error) if error.is_unreachable() => return Err(error.to_string()),
                // What needs it fails, and says why.
                _ if Instant::now() > end => break,
                _ => sleep(POLL).await,
            }
        }
    }
    loop {
        workload.discover().await.map_err(|error| error.to_string())?;
        let is_served = objects.iter().filter(|one| crds.contains(&one.key)).all(|one| {
            let kinds = served_by(&one.object);
            kinds.iter().all(|kind| workload.resource_of(kind).is_ok())
        });
        if is_served || Instant::now() > end {
            return Ok(());
        }
        sleep(POLL).await;
    }
}

/// An object of each version that a CRD serves, without its content.
fn served_by(crd: &Value) -> Vec<Value> {
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

fn is_established(crd: &DynamicObject) -> bool {
    let conditions = crd.data.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == "Established" && one["status"] == "True")
}

/// The inventory's entries of applied objects.
pub(super) fn entries(objects: &[PreparedObject]) -> Vec<crate::api::cluster_addons::InventoryEntry> {
    let entries = objects
        .iter()
        .map(|one| one.key.entry(&inventory::hash(&one.object)));
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every namespaced object once went to kube-system.
    #[test]
    fn objects_are_in_their_own_namespace_or_the_releases() {
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
            let found = placed(&with(own), is_namespaced, ("release", "ns/a"));
            assert_eq!(found.object["metadata"]["annotations"][ADDON_ANNOTATION], "ns/a");
            assert_eq!(found.key.namespace, expected, "{own:?}");
            let text = found.object["metadata"]["namespace"].as_str().unwrap_or("");
            assert_eq!(text, expected, "{own:?}");
        }
    }

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

    /// The rules were once emptied every ten minutes.
    #[test]
    fn rules_of_an_aggregated_role_are_not_applied() {
        let role = |aggregation: Value| {
            let object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": "a"}, "rules": [], "aggregationRule": aggregation});
            placed(&object, false, ("release", "ns/a")).object
        };
        assert!(role(json!({"clusterRoleSelectors": []})).get("rules").is_none());
        assert!(role(Value::Null).get("rules").is_some());
    }
}
