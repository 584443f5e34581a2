//! Charts that are removed, as far as that is possible, and stacks that must not remove anything.

use serde_json::json;

use crate::bed::{BED, Space, applied, condition, push, until_gone, wait};

fn config(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

/// A CRD and an object of it that nobody releases.
fn stuck(group: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: widgets.{group}}}\nspec:\n  group: {group}\n  names: {{kind: Widget, plural: widgets}}\n  scope: Namespaced\n  versions:\n  - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}\n---\napiVersion: {group}/v1\nkind: Widget\nmetadata: {{name: held, finalizers: [test.example/hold]}}\n"
    )
}

/// What waited for an object that doesn't go was once given up with it: CRDs stayed in the cluster.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_object_that_does_not_go_keeps_no_others() {
    let space = Space::new("held");
    let chart = push(
        "held",
        "1.0.0",
        &[
            ("templates/a.yaml", &config("a")),
            ("templates/b.yaml", &stuck("held.example")),
        ],
    );
    space.stack("cni", &chart, &json!({}));
    space.cluster("edge", &json!({"stack": "cni"}));
    space.until_ready("edge");
    space.kubectl(&["delete", "clusterstack", "cni"]);
    space.until_no_addon("edge");
    until_gone("held", "configmap", "a");
    let crd = applied("held", "crd", "widgets.held.example").unwrap();
    assert!(
        crd["metadata"]["deletionTimestamp"].is_string(),
        "it is deleted after the last object"
    );
    let note = space.until_event("Abandoned");
    assert!(note.contains("2 objects are left"), "{note}");
    let patch = r#"{"metadata":{"finalizers":null}}"#;
    BED.workload.kubectl(&[
        "-n",
        "held",
        "patch",
        "widgets.held.example",
        "held",
        "--type=merge",
        "-p",
        patch,
    ]);
    until_gone("held", "crd", "widgets.held.example");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_suspended_stack_changes_nothing_until_it_is_resumed() {
    let space = Space::new("asleep");
    let chart = push(
        "asleep",
        "1.0.0",
        &[("templates/a.yaml", &config("{{ .Values.name }}"))],
    );
    let spec = |name: &str, suspend: bool| json!({"values": {"name": name}, "suspend": suspend});
    space.stack("cni", &chart, &spec("a", false));
    space.cluster("edge", &json!({"stack": "cni"}));
    space.until_ready("edge");
    space.stack("cni", &chart, &spec("b", true));
    space.until("edge", "Suspended", "True", "Suspended");
    // Deselected: the chart was once removed.
    space.kubectl(&["label", "clusters.cluster.x-k8s.io", "edge", "stack-"]);
    space.kubectl(&[
        "annotate",
        "clusteraddon",
        "cluster-addon-edge",
        "reconcile.fluxcd.io/requestedAt=1",
    ]);
    space.cluster("other", &json!({"stack": "cni"}));
    assert!(space.addon("edge").unwrap()["metadata"]["deletionTimestamp"].is_null());
    assert!(applied("asleep", "configmap", "a").is_some());
    space.kubectl(&["label", "clusters.cluster.x-k8s.io", "edge", "stack=cni"]);
    space.stack("cni", &chart, &spec("b", false));
    let changed = || applied("asleep", "configmap", "b").map(|_| ());
    wait("the next values", changed, || {
        format!("{:#}", space.addon("edge").unwrap_or_default()["status"])
    });
    let addon = space.until_ready("edge");
    assert_eq!(condition(&addon, "Suspended"), None);
    until_gone("asleep", "configmap", "a");
}

/// A stack that the operator's selector no longer has looks like one that is gone.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_stack_that_another_operator_reconciles_now_removes_nothing() {
    let space = Space::for_operator("handed", "handed");
    BED.start_operator("handed", "handed");
    let chart = push("handed", "1.0.0", &[("templates/a.yaml", &config("a"))]);
    space.stack("cni", &chart, &json!({}));
    space.cluster_for_operator("edge", "cni");
    space.until_ready("edge");
    space.kubectl(&["label", "--overwrite", "clusterstack", "cni", "operator=nobody"]);
    space.request("edge", "1");
    // What is requested afterwards shows that this was reconciled.
    space.stack(
        "probe",
        &chart,
        &json!({"clusterSelector": {"matchLabels": {"stack": "probe"}}}),
    );
    space.cluster_for_operator("probe", "probe");
    space.until_ready("probe");
    let addon = space.addon("edge").unwrap();
    assert!(addon["metadata"]["deletionTimestamp"].is_null(), "{addon:#}");
    assert!(applied("handed", "configmap", "a").is_some());
    BED.fleet.cluster.kill("handed");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_stack_without_prune_leaves_everything_and_one_for_other_versions_applies_nothing() {
    let space = Space::new("leaving");
    let chart = push("leaving", "1.0.0", &[("templates/a.yaml", &config("a"))]);
    space.stack(
        "cni",
        &chart,
        &json!({"prune": false, "kubernetesVersions": ["1.2.x"]}),
    );
    space.cluster("edge", &json!({"stack": "cni"}));
    let addon = space.until("edge", "ChartApplied", "False", "KubernetesVersionNotSupported");
    assert_eq!(condition(&addon, "Stalled").unwrap()["status"], "True");
    assert!(applied("leaving", "configmap", "a").is_none());
    space.stack(
        "cni",
        &chart,
        &json!({"prune": false, "kubernetesVersions": ["1.2.x", ">=1.20.0-0"]}),
    );
    space.until_ready("edge");
    space.kubectl(&["delete", "clusterstack", "cni"]);
    space.until_no_addon("edge");
    assert!(applied("leaving", "configmap", "a").is_some());
}

fn hook(name: &str, event: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, annotations: {{helm.sh/hook: {event}}}}}\nspec: {{containers: [{{name: a, image: a}}]}}\n"
    )
}

fn chart_with_hooks(name: &str) -> crate::bed::Chart {
    push(
        name,
        "1.0.0",
        &[
            ("templates/a.yaml", &config("a")),
            ("templates/before.yaml", &hook("before", "pre-delete")),
            ("templates/after.yaml", &hook("after", "post-delete")),
        ],
    )
}

/// Helm and Flux run them; the chart's stack and values are gone by then.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn hooks_of_a_removal_run_before_and_after_it() {
    let space = Space::for_operator("parting", "parting");
    BED.start_operator_with("parting", "parting", &["--addon-deletion-timeout=300s"]);
    space.stack("cni", &chart_with_hooks("parting"), &json!({}));
    space.cluster_for_operator("edge", "cni");
    space.until_ready("edge");
    let there = |kind: &str, name: &str| applied("parting", kind, name).is_some();
    assert!(!there("pod", "before") && !there("pod", "after"));
    assert!(there("secret", "solar-operator.shop.delete-hooks"));
    space.kubectl(&["delete", "clusterstack", "cni"]);
    space.until("edge", "StagesCompleted", "False", "StageRunning");
    assert!(there("pod", "before") && there("configmap", "a"));
    BED.fleet.cluster.kill("parting");
    BED.start_operator_with("parting-again", "parting", &["--addon-deletion-timeout=300s"]);
    crate::staged::end_pod("parting", "before", "Succeeded");
    crate::staged::end_pod("parting", "after", "Succeeded");
    space.until_no_addon("edge");
    for (kind, name) in [
        ("configmap", "a"),
        ("pod", "before"),
        ("pod", "after"),
        ("secret", "solar-operator.shop.delete-hooks"),
    ] {
        until_gone("parting", kind, name);
    }
    BED.fleet.cluster.kill("parting-again");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_hook_that_fails_or_was_changed_holds_a_removal_until_its_time_limit() {
    let space = Space::new("forced");
    space.stack("failing", &chart_with_hooks("forced"), &json!({}));
    space.cluster("failing", &json!({"stack": "failing"}));
    space.until_ready("failing");
    // Whoever may write Secrets there must not make the operator apply what they like.
    let forged = "W3siZXZlbnRzIjpbInByZS1kZWxldGUiXSwiZGVsZXRlUG9saWNpZXMiOltdLCJvYmplY3QiOnsiYXBpVmVyc2lvbiI6InYxIiwia2luZCI6IkNvbmZpZ01hcCIsIm1ldGFkYXRhIjp7Im5hbWUiOiJmb3JnZWQifX19XQ==";
    let patch = format!(r#"{{"data":{{"hooks.json":"{forged}"}}}}"#);
    let secret = "solar-operator.shop.delete-hooks";
    BED.workload.kubectl(&[
        "-n",
        "forced",
        "patch",
        "secret",
        secret,
        "--type=merge",
        "-p",
        &patch,
    ]);
    space.kubectl(&["delete", "clusterstack", "failing"]);
    space.until_no_addon("failing");
    until_gone("forced", "configmap", "a");
    until_gone("forced", "secret", secret);
    assert!(applied("forced", "configmap", "forged").is_none());
    assert!(applied("forced", "pod", "before").is_none() && applied("forced", "pod", "after").is_none());
}
