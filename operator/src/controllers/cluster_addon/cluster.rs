//! Clusters of Cluster API, v1beta1 and v1beta2: what is kept of them.
//!
//! The store has what selects a cluster and what its connection depends on. A change of anything else in a cluster's
//! status is no event here; one of its spec raises its generation.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};

use crate::key::{KindId, ObjectName};
use crate::runtime::views::Object;
use crate::runtime::{Cx, Watched};

/// The group of Clusters.
pub const CLUSTER_GROUP: &str = "cluster.x-k8s.io";
/// The groups of control planes and of infrastructure. What a cluster refers to in another group is not read: a
/// reference to a Secret would show it to templates.
const REFERRED_GROUPS: [&str; 2] = ["controlplane.cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io"];

/// The version of Cluster API's contract that the API server serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterApiVersion {
    /// `v1beta1`
    V1Beta1,
    /// `v1beta2`
    V1Beta2,
}

/// What is kept of a Cluster.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterView {
    spec: ClusterSpecView,
    status: ClusterStatusView,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClusterSpecView {
    topology: TopologyView,
    control_plane_ref: Option<ObjectRefView>,
    infrastructure_ref: Option<ObjectRefView>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TopologyView {
    /// v1beta1.
    class: Option<String>,
    /// v1beta2.
    class_ref: Option<ClassRefView>,
    version: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct ClassRefView {
    name: String,
}

/// A reference of a Cluster: with an `apiVersion` in v1beta1, with an `apiGroup` in v1beta2.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ObjectRefView {
    api_version: Option<String>,
    api_group: Option<String>,
    pub(super) kind: String,
    pub(super) name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClusterStatusView {
    /// v1beta2.
    initialization: InitializationView,
    /// v1beta1.
    control_plane_ready: bool,
    /// Whether the condition ControlPlaneInitialized is true.
    #[serde(deserialize_with = "is_initialized")]
    conditions: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InitializationView {
    control_plane_initialized: bool,
}

/// Other conditions change every minute and wake nobody.
fn is_initialized<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Condition {
        r#type: String,
        status: String,
    }
    let conditions = Option::<Vec<Condition>>::deserialize(deserializer)?;
    let mut conditions = conditions.unwrap_or_default().into_iter();
    Ok(conditions.any(|one| one.r#type == "ControlPlaneInitialized" && one.status == "True"))
}

impl ClusterView {
    /// The name of its ClusterClass.
    pub(super) fn class(&self) -> Option<&str> {
        let topology = &self.spec.topology;
        let by_ref = topology.class_ref.as_ref().map(|class| class.name.as_str());
        by_ref
            .or(topology.class.as_deref())
            .filter(|name| !name.is_empty())
    }

    /// Whether its API server has been started once.
    pub(super) fn is_initialized(&self) -> bool {
        let ClusterStatusView {
            initialization,
            control_plane_ready,
            conditions,
        } = &self.status;
        initialization.control_plane_initialized || *control_plane_ready || *conditions
    }

    /// The control plane's object, where its group is one of Cluster API's.
    pub(super) fn control_plane(&self) -> Option<&ObjectRefView> {
        self.spec
            .control_plane_ref
            .as_ref()
            .filter(|one| one.is_readable())
    }

    /// The infrastructure's object, where its group is one of Cluster API's.
    pub(super) fn infrastructure(&self) -> Option<&ObjectRefView> {
        self.spec
            .infrastructure_ref
            .as_ref()
            .filter(|one| one.is_readable())
    }
}

impl ObjectRefView {
    /// Its API group.
    pub(super) fn group(&self) -> &str {
        let by_version = self
            .api_version
            .as_deref()
            .and_then(|version| version.split_once('/'));
        let by_version = by_version.map(|(group, _)| group);
        self.api_group.as_deref().or(by_version).unwrap_or("")
    }

    /// Its version, where the reference has one.
    pub(super) fn version(&self) -> Option<&str> {
        let (_, version) = self.api_version.as_deref()?.split_once('/')?;
        Some(version)
    }

    fn is_readable(&self) -> bool {
        REFERRED_GROUPS.contains(&self.group()) && !self.kind.is_empty() && crate::names::is_name(&self.name)
    }
}

/// Clusters, watched in version v1beta1 or v1beta2.
pub struct Clusters<const BETA: u8>;

impl<const BETA: u8> Watched for Clusters<BETA> {
    const ID: KindId = KindId {
        kind: "Cluster",
        group: CLUSTER_GROUP,
        version: if BETA == 1 { "v1beta1" } else { "v1beta2" },
        plural: "clusters",
        namespaced: true,
    };
    const LABELS: bool = true;
    type View = ClusterView;
}

impl ClusterApiVersion {
    /// The kind.
    pub const fn kind(self) -> KindId {
        match self {
            Self::V1Beta1 => Clusters::<1>::ID,
            Self::V1Beta2 => Clusters::<2>::ID,
        }
    }

    /// A cluster that the watch has delivered.
    pub(super) fn get(self, cx: &Cx, name: &ObjectName) -> Option<Arc<Object<ClusterView>>> {
        match self {
            Self::V1Beta1 => cx.store::<Clusters<1>>().get(name),
            Self::V1Beta2 => cx.store::<Clusters<2>>().get(name),
        }
    }

    /// The clusters of a namespace.
    pub(super) fn in_namespace(self, cx: &Cx, namespace: &str) -> Vec<Arc<Object<ClusterView>>> {
        match self {
            Self::V1Beta1 => cx.store::<Clusters<1>>().in_namespace(namespace),
            Self::V1Beta2 => cx.store::<Clusters<2>>().in_namespace(namespace),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view(value: serde_json::Value) -> ClusterView {
        serde_json::from_value(value).expect("a view")
    }

    #[test]
    fn both_versions_say_class_and_start() {
        let table = [
            (json!({}), None, false),
            (
                json!({"spec": {"topology": {"class": "small"}}, "status": {"controlPlaneReady": true}}),
                Some("small"),
                true,
            ),
            (
                json!({"spec": {"topology": {"classRef": {"name": "small"}}},
                    "status": {"initialization": {"controlPlaneInitialized": true}}}),
                Some("small"),
                true,
            ),
            (
                json!({"status": {"conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]}}),
                None,
                true,
            ),
            (
                json!({"status": {"conditions": [{"type": "ControlPlaneInitialized", "status": "False"}, {"type": "Ready", "status": "True"}]}}),
                None,
                false,
            ),
        ];
        for (value, class, initialized) in table {
            let view = view(value.clone());
            assert_eq!(
                (view.class(), view.is_initialized()),
                (class, initialized),
                "{value}"
            );
        }
    }

    /// A Cluster that names a Secret as its infrastructure would show it to its stack's template.
    #[test]
    fn only_objects_of_cluster_apis_groups_are_referred_to() {
        let table = [
            (
                json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DockerCluster", "name": "a"}),
                Some(("infrastructure.cluster.x-k8s.io", Some("v1beta1"))),
            ),
            (
                json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DockerCluster", "name": "a"}),
                Some(("infrastructure.cluster.x-k8s.io", None)),
            ),
            (json!({"apiVersion": "v1", "kind": "Secret", "name": "a"}), None),
            (
                json!({"apiGroup": "apps", "kind": "Deployment", "name": "a"}),
                None,
            ),
            (
                json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "X", "name": "../a"}),
                None,
            ),
        ];
        for (reference, expected) in table {
            let view = view(json!({"spec": {"infrastructureRef": reference}}));
            let found = view.infrastructure().map(|one| (one.group(), one.version()));
            assert_eq!(found, expected, "{reference}");
        }
    }

    #[test]
    fn other_conditions_change_nothing() {
        let with = |time: &str| {
            view(json!({"status": {"conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": time},
                {"type": "ControlPlaneInitialized", "status": "True", "message": time}]}}))
        };
        assert_eq!(with("1"), with("2"));
    }
}
