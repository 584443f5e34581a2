//! What others change in a cluster, what is done about it, and that nothing is written otherwise.

use std::fs;

use serde_json::{Value, json};

use crate::bed::{BED, Space, applied, condition, push, wait};

fn config(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

fn version_of(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// The time of the last check was once a write for each cluster every ten minutes.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn comparing_without_news_writes_nothing() {
    let space = Space::for_operator("idle", "idle");
    BED.start_operator_with("idle", "idle", &["--addon-drift-interval=1s"]);
    let chart = push("idle", "1.0.0", &[("templates/a.yaml", &config("a"))]);
    space.stack(
        "cni",
        &chart,
        &json!({"valuesTemplate": "a: << cluster.metadata.name >>"}),
    );
    space.cluster_for_operator("edge", "cni");
    space.until_ready("edge");
    let checks = || {
        let log = fs::read_to_string(BED.fleet.cluster.log("idle")).unwrap();
        log.matches("comparing the objects with the cluster's").count()
    };
    let until_checked = |count: usize| {
        let end = checks() + count;
        wait("checks", || (checks() >= end).then_some(()), String::new);
    };
    until_checked(1);
    let state = || {
        let events = space.kubectl(&["get", "events.events.k8s.io", "-o", "name"]);
        (
            version_of(&space.addon("edge").unwrap()),
            version_of(&space.get("clusterstack", "cni").unwrap()),
            version_of(&applied("idle", "configmap", "a").unwrap()),
            events.lines().count(),
        )
    };
    let before = state();
    until_checked(3);
    // Changes of the Cluster that are no news, either.
    for number in 0..3 {
        let label = format!("unrelated={number}");
        space.kubectl(&[
            "label",
            "--overwrite",
            "clusters.cluster.x-k8s.io",
            "edge",
            &label,
        ]);
    }
    until_checked(3);
    assert_eq!(state(), before);
    BED.fleet.cluster.kill("idle");
}

/// A check that was requested, and failed, once ended ready with the next reconcile.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_could_not_be_changed_back_stays_a_failure_until_it_is() {
    let space = Space::new("going");
    let chart = push("going", "1.0.0", &[("templates/a.yaml", &config("a"))]);
    space.stack("cni", &chart, &json!({"driftDetection": "off"}));
    space.cluster("edge", &json!({"stack": "cni"}));
    space.until_ready("edge");
    let patch = |finalizers: &str| {
        let body = format!(r#"{{"metadata":{{"finalizers":{finalizers}}}}}"#);
        BED.workload.kubectl(&[
            "-n",
            "going",
            "patch",
            "configmap",
            "a",
            "--type=merge",
            "-p",
            &body,
        ]);
    };
    // The API server takes what is applied to an object that is being deleted, and it goes nevertheless.
    patch(r#"["test.example/hold"]"#);
    BED.workload
        .kubectl(&["-n", "going", "delete", "configmap", "a", "--wait=false"]);
    space.request("edge", "1");
    let addon = space.until("edge", "ChartApplied", "False", "FailedToApplyObjects");
    assert_eq!(addon["status"]["resources"][0]["synced"], false);
    let message = condition(&addon, "ChartApplied").unwrap()["message"]
        .as_str()
        .unwrap();
    assert!(
        message.contains("ConfigMap going/a: the cluster's object is being deleted"),
        "{message}"
    );
    space.kubectl(&["label", "clusters.cluster.x-k8s.io", "edge", "unrelated=1"]);
    patch("[]");
    let addon = space.until_ready("edge");
    assert_eq!(addon["status"]["resources"][0]["synced"], true);
    assert!(applied("going", "configmap", "a").is_some());
}

/// How often a cluster is checked for an API that it serves by now.
const MAX_CHECKS: u32 = 100;

/// An API that appears later adds objects to the chart, which were once applied and never deleted.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn objects_that_come_with_an_api_of_the_cluster_are_in_the_inventory() {
    let space = Space::new("later");
    let crd = |group: &str| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("monitors.{group}")},
            "spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Monitor", "plural": "monitors"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
    };
    let monitor = "{{ if .Capabilities.APIVersions.Has \"later.example/v1/Monitor\" }}\napiVersion: later.example/v1\nkind: Monitor\nmetadata: {name: a}\n{{ end }}";
    let chart = push(
        "later",
        "1.0.0",
        &[
            ("templates/a.yaml", &config("a")),
            ("templates/monitor.yaml", monitor),
        ],
    );
    space.stack("cni", &chart, &json!({}));
    space.cluster("edge", &json!({"stack": "cni"}));
    space.until_ready("edge");
    BED.workload.apply(&crd("later.example").to_string());
    BED.workload.kubectl(&[
        "wait",
        "--for=condition=Established",
        "crd/monitors.later.example",
    ]);
    // An established CRD is in the API server's discovery a little later.
    let mut checks = (1..=MAX_CHECKS).map(|number| {
        space.request("edge", &number.to_string());
        space.until_handled("edge", &number.to_string())
    });
    let addon = checks.find(|addon| addon["status"]["inventory"].as_array().unwrap().len() == 2);
    let addon = addon.unwrap();
    assert_eq!(addon["status"]["resources"].as_array().unwrap().len(), 2);
    assert!(applied("later", "monitors.later.example", "a").is_some());
    space.kubectl(&["delete", "clusterstack", "cni"]);
    space.until_no_addon("edge");
    assert!(applied("later", "monitors.later.example", "a").is_none());
    BED.workload.kubectl(&["delete", "crd", "monitors.later.example"]);
}

/// A damaged file was once a failed rendering, for ten minutes.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_damaged_chart_is_downloaded_again_at_once() {
    let space = Space::for_operator("damaged", "damaged");
    BED.start_operator("damaged", "damaged");
    let chart = push("damaged", "1.0.0", &[("templates/a.yaml", &config("a"))]);
    space.stack("cni", &chart, &json!({}));
    space.cluster_for_operator("edge", "cni");
    space.until_ready("edge");
    let files = fs::read_dir(BED.cache("damaged")).unwrap();
    for file in files {
        fs::write(file.unwrap().path(), "damaged").unwrap();
    }
    space.request("edge", "1");
    let handled = || {
        let addon = space.addon("edge")?;
        let ready = condition(&addon, "Ready")?;
        assert_ne!(ready["reason"], "RenderFailed", "{ready}");
        let is_handled = addon["status"]["lastHandledReconcileAt"] == "1";
        (is_handled && ready["status"] == "True").then_some(())
    };
    wait("the request", handled, || {
        format!("{:#}", space.addon("edge").unwrap_or_default()["status"])
    });
    BED.fleet.cluster.kill("damaged");
}

/// Objects whose kind has gone were once passed over until the next check.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_deleted_crd_comes_back_with_its_objects() {
    let space = Space::new("wiped");
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.wiped.example}\nspec:\n  group: wiped.example\n  names: {kind: Widget, plural: widgets}\n  scope: Namespaced\n  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n";
    let widget = "apiVersion: wiped.example/v1\nkind: Widget\nmetadata: {name: a}\n";
    let chart = push(
        "wiped",
        "1.0.0",
        &[("templates/crd.yaml", crd), ("templates/widget.yaml", widget)],
    );
    space.stack("cni", &chart, &json!({}));
    space.cluster("edge", &json!({"stack": "cni"}));
    space.until_ready("edge");
    BED.workload.kubectl(&["delete", "crd", "widgets.wiped.example"]);
    space.request("edge", "1");
    space.until_handled("edge", "1");
    // The API server may need a moment to serve a CRD of the same name again.
    let there = || applied("wiped", "widgets.wiped.example", "a").map(|_| ());
    wait("the widget", there, || {
        format!("{:#}", space.addon("edge").unwrap_or_default()["status"])
    });
}
