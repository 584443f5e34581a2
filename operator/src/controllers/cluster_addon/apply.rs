//! Objects of a chart in a cluster: applied, compared, deleted.

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
const CONCURRENCY: usize = 8;
/// How long CRDs may take to be established.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);
/// How often that is asked.
const POLL: Duration = Duration::from_millis(300);
/// How long the message of an object in the status may be, in bytes.
const MAX_MESSAGE: usize = 256;
/// The annotation that keeps an object in the cluster.
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";
const CRD: &str = "CustomResourceDefinition";
const CRD_GROUP: &str = "apiextensions.k8s.io";

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
    PreparedObject {
        key: ObjectKey::of(&object, &namespace),
        object,
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
    /// The objects that failed.
    pub(super) fn failed(&self) -> impl Iterator<Item = &ResourceStatus> {
        self.resources.iter().filter(|one| !one.synced)
    }

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

/// The objects that are not in the cluster as the chart has them, by applying them without effect.
pub(super) async fn drifted(
    workload: &Workload,
    objects: &[PreparedObject],
) -> Result<Vec<PreparedObject>, WorkloadError> {
    let mut requests = Vec::new();
    for one in objects {
        requests.push(compare(workload, one).boxed());
    }
    let mut results = stream::iter(requests).buffered(CONCURRENCY);
    let mut drifted = Vec::new();
    while let Some(result) = results.next().await {
        match result {
            Ok(one) => drifted.extend(one.cloned()),
            Err(error @ WorkloadError::Unreachable(_)) => return Err(error),
            // Applying it says why.
            Err(error) => tracing::debug!(%error, "comparing an object"),
        }
    }
    Ok(drifted)
}

/// The object, if the cluster has another one.
async fn compare<'o>(
    workload: &Workload,
    one: &'o PreparedObject,
) -> Result<Option<&'o PreparedObject>, WorkloadError> {
    let Some(live) = workload.get(&one.object, &one.key).await? else {
        return Ok(Some(one));
    };
    let would = workload.apply(&one.object, &one.key, true).await?;
    Ok((comparable(live) != comparable(would)).then_some(one))
}

/// An object without what every write changes.
fn comparable(object: DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
    }
    if let Some(object) = value.as_object_mut() {
        object.remove("status");
    }
    value
}

/// What became of an object that was to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deletion {
    /// It is gone, or was never there.
    Gone,
    /// It is being deleted.
    Requested,
    /// It stays: it says so itself, or somebody else has made it again.
    Kept,
}

/// Deletes an object that was applied.
pub(super) async fn delete(
    workload: &Workload,
    key: &ObjectKey,
    owner: &str,
) -> Result<Deletion, WorkloadError> {
    let Some(live) = workload.get_key(key).await? else {
        return Ok(Deletion::Gone);
    };
    if !is_to_be_deleted(&live, owner) {
        return Ok(Deletion::Kept);
    }
    if live.metadata.deletion_timestamp.is_none() {
        workload.delete(key, live.metadata.uid.clone()).await?;
        // Most are gone at once.
        if workload.get_key(key).await?.is_none() {
            return Ok(Deletion::Gone);
        }
    }
    Ok(Deletion::Requested)
}

/// Managed fields would not do: an object of which nothing but the name is applied has none.
fn is_to_be_deleted(live: &DynamicObject, owner: &str) -> bool {
    let annotation = |name: &str| live.metadata.annotations.as_ref()?.get(name).map(String::as_str);
    let is_kept =
        annotation(RESOURCE_POLICY).is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"));
    !is_kept && annotation(ADDON_ANNOTATION) == Some(owner)
}

/// When an object is deleted: those of custom kinds first, while their controllers run, and what contains others last.
pub(super) fn deletion_phase(key: &ObjectKey) -> u8 {
    let is_custom = key.group.contains('.') && !key.group.ends_with(".k8s.io");
    match (key.group.as_str(), key.kind.as_str()) {
        (CRD_GROUP, CRD) => 2,
        ("", "Namespace") => 3,
        _ if is_custom => 0,
        _ => 1,
    }
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

    #[test]
    fn only_what_was_applied_and_is_not_kept_is_deleted() {
        let live = |annotations: Value| -> DynamicObject {
            let metadata = json!({"name": "a", "annotations": annotations});
            serde_json::from_value(json!({"apiVersion": "v1", "kind": "X", "metadata": metadata}))
                .expect("an object")
        };
        let own = json!({"solar.opendefense.cloud/cluster-addon": "ns/a"});
        let mut kept = own.clone();
        kept["helm.sh/resource-policy"] = "keep".into();
        assert!(is_to_be_deleted(&live(own.clone()), "ns/a"));
        assert!(!is_to_be_deleted(&live(own), "ns/b"));
        assert!(!is_to_be_deleted(&live(kept), "ns/a"));
        assert!(!is_to_be_deleted(&live(json!({})), "ns/a"));
    }

    #[test]
    fn drift_is_not_what_every_write_changes() {
        let object = |version: &str, replicas: u32, status: u32| -> DynamicObject {
            serde_json::from_value(json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "a", "resourceVersion": version, "generation": replicas,
                    "managedFields": [{"time": "2026-01-01T00:00:00Z", "manager": version}]},
                "spec": {"replicas": replicas}, "status": {"readyReplicas": status}}))
            .expect("an object")
        };
        assert_eq!(comparable(object("1", 1, 0)), comparable(object("2", 1, 1)));
        assert_ne!(comparable(object("1", 1, 0)), comparable(object("1", 2, 0)));
    }

    #[test]
    fn custom_objects_go_before_their_controllers_and_crds_last() {
        let key = |group: &str, kind: &str| ObjectKey {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: String::new(),
            name: "a".to_owned(),
        };
        let phases = [
            key("cert-manager.io", "Issuer"),
            key("apps", "Deployment"),
            key("rbac.authorization.k8s.io", "ClusterRole"),
            key(CRD_GROUP, CRD),
            key("", "Namespace"),
        ]
        .map(|key| deletion_phase(&key));
        assert_eq!(phases, [0, 1, 1, 2, 3]);
    }
}
