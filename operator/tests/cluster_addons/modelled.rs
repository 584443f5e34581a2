//! A chart with what charts of operators have: on, to its next release, and off again.

use std::path::Path;

use serde_json::{Value, json};

use crate::bed::{BED, Space, applied, condition, push_path, until_gone, wait};

const CHART: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../testdata/operator/charts/workshop"
);

fn there(kind: &str, name: &str) -> Option<Value> {
    applied("workshop", kind, name)
}

/// What is left of a custom object's controller: its finalizer.
fn release_part(name: &str) {
    let patch = r#"{"metadata":{"finalizers":null}}"#;
    BED.workload.kubectl(&[
        "patch",
        "parts.workshop.example",
        name,
        "--type=merge",
        "-p",
        patch,
    ]);
}

fn write_ca_bundle() {
    let patch = r#"[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"YQ=="}]"#;
    BED.workload.kubectl(&[
        "patch",
        "validatingwebhookconfiguration",
        "workshop",
        "--type=json",
        "-p",
        patch,
    ]);
}

fn rules(name: &str) -> usize {
    there("clusterrole", name).map_or(0, |role| role["rules"].as_array().map_or(0, Vec::len))
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_of_an_operator_goes_on_to_its_next_release_and_off_again() {
    let space = Space::for_operator("workshop", "workshop");
    BED.start_operator_with("workshop", "workshop", &["--addon-deletion-timeout=120s"]);
    let chart = push_path("workshop", "1.0.0", Path::new(CHART));
    space.stack("cni", &chart, &json!({}));
    space.cluster_for_operator("edge", "cni");
    let addon = space.until_ready("edge");
    let stages: Vec<&str> = addon["status"]["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        stages,
        ["crds", "pre-install", "chart"],
        "a hook may be of a kind in crds"
    );
    // The time of templates once stood still in 1980, and certificates had expired before they were used.
    let secret = there("secret", "workshop-tls").unwrap();
    assert_ne!(secret["data"]["made"], "MTk4MC0wMS0wMQ==");
    others_write_and_nothing_is_changed_back(&space);
    assert_eq!(there("secret", "workshop-tls").unwrap()["data"], secret["data"]);

    let scaler = there("hpa", "scaler").unwrap()["metadata"]["uid"].clone();
    space.stack("cni", &chart, &json!({"values": {"generation": 2}}));
    let addon = space.until("edge", "ChartApplied", "False", "Deleting");
    let message = condition(&addon, "ChartApplied").unwrap()["message"]
        .as_str()
        .unwrap();
    assert!(message.contains("Part.workshop.example old-part"), "{message}");
    assert!(
        there("deployment", "controller").is_some(),
        "the controller stays until its objects are gone"
    );
    release_part("old-part");
    space.until_ready("edge");
    until_gone("workshop", "deployment", "controller");
    let upgraded = there("hpa", "scaler").unwrap();
    assert_eq!(
        upgraded["metadata"]["uid"], scaler,
        "another version of its API is no removal"
    );
    assert!(there("configmap", "twin").is_none() && there("secret", "twin").is_some());
    assert!(there("parts.workshop.example", "kept-part").is_some());

    space.kubectl(&["delete", "clusterstack", "cni"]);
    space.until_no_addon("edge");
    for (kind, name) in [
        ("crd", "gadgets.workshop.example"),
        ("crd", "parts.workshop.example"),
        ("clusterrole", "workshop-admin"),
        ("clusterrole", "workshop-parts"),
        ("validatingwebhookconfiguration", "workshop"),
        ("apiservice", "v1beta1.metrics.workshop.example"),
        ("service", "workshop"),
        ("secret", "workshop-tls"),
    ] {
        assert!(there(kind, name).is_none(), "{kind} {name} is left");
    }
    BED.fleet.cluster.kill("workshop");
}

/// An aggregated role, a webhook and a conversion have fields that the chart's author leaves to others.
fn others_write_and_nothing_is_changed_back(space: &Space) {
    let filled = || (rules("workshop-admin") == 1).then_some(());
    wait("the rules of the aggregated role", filled, String::new);
    write_ca_bundle();
    let version = |kind: &str, name: &str| there(kind, name).unwrap()["metadata"]["resourceVersion"].clone();
    let objects = [
        ("clusterrole", "workshop-admin"),
        ("validatingwebhookconfiguration", "workshop"),
        ("crd", "gadgets.workshop.example"),
    ];
    let before = objects.map(|(kind, name)| version(kind, name));
    space.request("edge", "1");
    space.until_handled("edge", "1");
    assert_eq!(objects.map(|(kind, name)| version(kind, name)), before);
    let events = space.kubectl(&["get", "events.events.k8s.io", "-o", "json"]);
    assert!(!events.contains("DriftCorrected"), "{events}");
}
