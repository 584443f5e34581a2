//! Applied, upgraded, changed back, removed.

use serde_json::json;

use crate::bed::{BED, Space, applied, condition, push, until_gone, wait};

const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.life.example}
spec:
  group: life.example
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
const CONFIG: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data:
  cluster: {{ .Values.cluster }}
  zone: {{ .Values.zone }}
  color: {{ .Values.color }}
  version: {{ .Capabilities.KubeVersion.Version }}
";
const REST: &str = "
apiVersion: life.example/v1
kind: Widget
metadata: {name: one}
spec: {size: 1}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: life-reader}
rules: []
---
apiVersion: v1
kind: ConfigMap
metadata: {name: elsewhere, namespace: default}
";
const OLD: &str = "
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: scaler}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: twin}
---
apiVersion: v1
kind: Secret
metadata: {name: twin}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}
";
const NEW: &str = "
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaler}
spec: {maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}}
---
apiVersion: v1
kind: Secret
metadata: {name: twin}
";
const TEMPLATE: &str = "cluster: << cluster.metadata.name >>\nzone: << infraCluster.spec.zone >>\n";

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_is_applied_upgraded_and_removed_with_nothing_left() {
    let space = Space::new("life");
    let files = |rest: &'static str| {
        [
            ("crds/widgets.yaml", CRD),
            ("values.yaml", "color: red"),
            ("templates/config.yaml", CONFIG),
            ("templates/rest.yaml", REST),
            ("templates/more.yaml", rest),
        ]
    };
    let first = push("life", "1.0.0", &files(OLD));
    space.stack("cni", &first, &json!({"valuesTemplate": TEMPLATE}));
    space.cluster("edge", &json!({"stack": "cni"}));
    space.cluster("other", &json!({}));
    let addon = space.until_version("edge", "1.0.0");
    assert!(space.addon("other").is_none(), "no stack selects it");
    for kind in [
        "ClusterReady",
        "ChartDownloaded",
        "ValuesTemplated",
        "ChartApplied",
        "StagesCompleted",
    ] {
        assert_eq!(condition(&addon, kind).unwrap()["status"], "True", "{kind}");
    }
    let resources = addon["status"]["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 9);
    assert!(resources.iter().all(|one| one["synced"] == true));
    assert_eq!(addon["status"]["inventory"].as_array().unwrap().len(), 9);
    assert_eq!(addon["metadata"]["ownerReferences"][0]["kind"], "Cluster");
    let config = applied("life", "configmap", "config").unwrap();
    assert_eq!(config["data"]["cluster"], "edge");
    assert_eq!(config["data"]["zone"], "zone-of-edge");
    assert_eq!(config["data"]["color"], "red");
    assert!(applied("life", "widgets.life.example", "one").is_some());
    assert!(applied("default", "configmap", "elsewhere").is_some());
    let scaler = applied("life", "hpa", "scaler").unwrap();
    BED.workload
        .kubectl(&["-n", "life", "create", "configmap", "users"]);

    let second = push("life", "1.1.0", &files(NEW));
    space.stack(
        "cni",
        &second,
        &json!({"valuesTemplate": TEMPLATE, "values": {"color": "blue"}}),
    );
    space.until_version("edge", "1.1.0");
    assert_eq!(
        applied("life", "configmap", "config").unwrap()["data"]["color"],
        "blue"
    );
    // Another version of its API is the same object; one of another kind of the same name stays.
    let upgraded = applied("life", "hpa", "scaler").unwrap();
    assert_eq!(upgraded["metadata"]["uid"], scaler["metadata"]["uid"]);
    assert_eq!(upgraded["spec"]["maxReplicas"], 4);
    assert!(applied("life", "configmap", "twin").is_none());
    assert!(applied("life", "secret", "twin").is_some());
    assert!(
        applied("life", "configmap", "kept").is_some() && applied("life", "configmap", "users").is_some()
    );
    space.until_event("Pruned");

    space.kubectl(&["delete", "clusterstack", "cni"]);
    space.until_no_addon("edge");
    for (namespace, kind, name) in [
        ("life", "configmap", "config"),
        ("life", "secret", "twin"),
        ("life", "hpa", "scaler"),
        ("default", "configmap", "elsewhere"),
        ("default", "clusterrole", "life-reader"),
        ("default", "crd", "widgets.life.example"),
    ] {
        until_gone(namespace, kind, name);
    }
    assert!(
        applied("life", "configmap", "kept").is_some() && applied("life", "configmap", "users").is_some()
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_others_change_is_changed_back_and_nothing_else_is_written() {
    let space = Space::new("drift");
    let chart = push(
        "drift",
        "1.0.0",
        &[(
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
        )],
    );
    space.stack("cni", &chart, &json!({}));
    space.cluster("edge", &json!({"stack": "cni"}));
    let addon = space.until_ready("edge");
    let before = applied("drift", "configmap", "a").unwrap()["metadata"]["resourceVersion"].clone();
    // A change of the Cluster that concerns neither chart nor values does nothing.
    space.kubectl(&["label", "clusters.cluster.x-k8s.io", "edge", "unrelated=1"]);
    space.kubectl(&[
        "annotate",
        "clusteraddon",
        "cluster-addon-edge",
        "reconcile.fluxcd.io/requestedAt=1",
    ]);
    let checked = |value: &str| {
        wait(
            "a drift check",
            || {
                let addon = space.addon("edge")?;
                (addon["status"]["lastHandledReconcileAt"] == value).then_some(addon)
            },
            String::new,
        )
    };
    let same = checked("1");
    assert_eq!(same["status"]["lastApplied"], addon["status"]["lastApplied"]);
    assert_eq!(
        applied("drift", "configmap", "a").unwrap()["metadata"]["resourceVersion"],
        before
    );
    // Changed, with a field of somebody else's, and deleted.
    BED.workload.kubectl(&[
        "-n",
        "drift",
        "patch",
        "configmap",
        "a",
        "--type=merge",
        "-p",
        r#"{"data":{"k":"w","own":"1"}}"#,
    ]);
    BED.workload.kubectl(&["-n", "drift", "delete", "configmap", "b"]);
    space.kubectl(&[
        "annotate",
        "--overwrite",
        "clusteraddon",
        "cluster-addon-edge",
        "reconcile.fluxcd.io/requestedAt=2",
    ]);
    checked("2");
    let data = applied("drift", "configmap", "a").unwrap()["data"].clone();
    assert_eq!(data, json!({"k": "v", "own": "1"}));
    assert!(applied("drift", "configmap", "b").is_some());
    let note = space.until_event("DriftCorrected");
    assert!(
        note.contains("ConfigMap drift/a") && note.contains("ConfigMap drift/b"),
        "{note}"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_deselected_cluster_loses_the_chart_and_a_deleted_one_does_not() {
    let space = Space::new("leave");
    let chart = push(
        "leave",
        "1.0.0",
        &[(
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.name }}}\n",
        )],
    );
    let spec = json!({"valuesTemplate": "name: << cluster.metadata.name >>"});
    space.stack("cni", &chart, &spec);
    for name in ["one", "two"] {
        space.cluster(name, &json!({"stack": "cni"}));
    }
    for name in ["one", "two"] {
        space.until_ready(name);
        assert!(applied("leave", "configmap", name).is_some());
    }
    space.kubectl(&["label", "clusters.cluster.x-k8s.io", "one", "stack-"]);
    space.until_no_addon("one");
    until_gone("leave", "configmap", "one");
    space.kubectl(&["delete", "clusters.cluster.x-k8s.io", "two"]);
    space.until_no_addon("two");
    assert!(
        applied("leave", "configmap", "two").is_some(),
        "the cluster goes away itself"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn of_two_stacks_the_older_one_keeps_the_cluster_until_it_is_deleted() {
    let space = Space::new("rivals");
    let file = |color: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {color}}}\n");
    let red = push("red", "1.0.0", &[("templates/a.yaml", &file("red"))]);
    let blue = push("blue", "1.0.0", &[("templates/a.yaml", &file("blue"))]);
    space.stack("old", &red, &json!({"clusterSelector": {}}));
    // Ages have seconds, and of equally old ones the first by name wins.
    let created = space.get("clusterstack", "old").unwrap()["metadata"]["creationTimestamp"].clone();
    let created: jiff::Timestamp = created.as_str().unwrap().parse().unwrap();
    let later = || (jiff::Timestamp::now().as_second() > created.as_second()).then_some(());
    wait("another second", later, String::new);
    space.stack("new", &blue, &json!({"clusterSelector": {}}));
    space.cluster("edge", &json!({}));
    space.until_ready("edge");
    let message = wait(
        "a conflict",
        || {
            let stack = space.get("clusterstack", "new")?;
            let selected = condition(&stack, "ClustersSelected")?;
            (selected["reason"] == "Conflict").then(|| selected["message"].to_string())
        },
        || format!("{:#}", space.get("clusterstack", "new").unwrap()),
    );
    assert!(
        message.contains("edge belongs to the older stack old"),
        "{message}"
    );
    assert!(
        applied("rivals", "configmap", "red").is_some() && applied("rivals", "configmap", "blue").is_none()
    );
    space.kubectl(&["delete", "clusterstack", "old"]);
    let taken = || applied("rivals", "configmap", "blue").map(|_| ());
    wait("the younger one's chart", taken, || {
        format!("{:#}", space.addon("edge").unwrap_or_default())
    });
    until_gone("rivals", "configmap", "red");
}
