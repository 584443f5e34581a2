//! Stages and hooks, and an operator that is killed between them.

use serde_json::{Value, json};

use crate::bed::{BED, Space, applied, condition, push, until_gone, wait};

fn config(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

fn hook(name: &str, event: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, annotations: {{helm.sh/hook: {event}}}}}\nspec: {{containers: [{{name: a, image: a}}]}}\n"
    )
}

pub(crate) fn end_pod(namespace: &str, name: &str, phase: &str) {
    let there = || applied(namespace, "pod", name).map(|_| ());
    wait(&format!("the hook {name}"), there, String::new);
    let status = format!(r#"{{"status":{{"phase":"{phase}"}}}}"#);
    BED.workload.kubectl(&[
        "-n",
        namespace,
        "patch",
        "pod",
        name,
        "--subresource=status",
        "--type=merge",
        "-p",
        &status,
    ]);
}

fn phases(addon: &Value) -> Vec<String> {
    let stages = addon["status"]["stages"].as_array().unwrap().iter();
    stages
        .map(|one| {
            format!(
                "{} {}",
                one["name"].as_str().unwrap(),
                one["phase"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn hooks_come_before_and_after_and_a_killed_operator_continues_with_the_one_that_runs() {
    let space = Space::for_operator("hooked", "hooked");
    BED.start_operator("hooked", "hooked");
    let chart = push(
        "hooked",
        "1.0.0",
        &[
            ("templates/a.yaml", &config("a")),
            ("templates/before.yaml", &hook("before", "pre-install")),
            (
                "templates/after.yaml",
                &hook("after", "\"post-install,post-upgrade\""),
            ),
            ("templates/test.yaml", &hook("test", "test")),
        ],
    );
    space.stack("cni", &chart, &json!({}));
    space.cluster_for_operator("edge", "cni");
    let addon = space.until("edge", "StagesCompleted", "False", "StageRunning");
    assert_eq!(
        phases(&addon),
        ["pre-install Running", "chart Pending", "post-install Pending"]
    );
    assert_eq!(
        condition(&addon, "ChartApplied").unwrap()["status"],
        "False",
        "the chart waits for the hook"
    );
    let before = applied("hooked", "pod", "before").unwrap();
    assert!(applied("hooked", "configmap", "a").is_none());
    BED.fleet.cluster.kill("hooked");
    BED.start_operator("hooked-again", "hooked");
    end_pod("hooked", "before", "Succeeded");
    let after = || applied("hooked", "pod", "after").map(|_| ());
    wait("the hook after the chart", after, || {
        format!("{:#}", space.addon("edge").unwrap())
    });
    assert_eq!(
        applied("hooked", "pod", "before").unwrap()["metadata"]["uid"],
        before["metadata"]["uid"]
    );
    assert!(applied("hooked", "configmap", "a").is_some());
    end_pod("hooked", "after", "Succeeded");
    let addon = space.until_ready("edge");
    assert_eq!(
        phases(&addon),
        [
            "pre-install Completed",
            "chart Completed",
            "post-install Completed"
        ]
    );
    assert!(applied("hooked", "pod", "test").is_none());
    BED.fleet.cluster.kill("hooked-again");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn stages_wait_for_conditions_are_left_out_by_them_and_delete() {
    let space = Space::new("staged");
    let sub = |name: &str| format!("{{apiVersion: v2, name: {name}, version: 1.0.0}}");
    let (db, web, old, extra) = (sub("db"), sub("web"), sub("old"), sub("extra"));
    let chart = push(
        "staged",
        "1.0.0",
        &[
            ("templates/a.yaml", &config("base")),
            ("charts/db/Chart.yaml", &db),
            ("charts/db/templates/a.yaml", &config("db")),
            ("charts/web/Chart.yaml", &web),
            ("charts/web/templates/a.yaml", &config("web")),
            ("charts/old/Chart.yaml", &old),
            ("charts/old/templates/a.yaml", &config("old")),
            ("charts/extra/Chart.yaml", &extra),
            ("charts/extra/templates/a.yaml", &config("extra")),
        ],
    );
    space.stack("cni", &chart, &json!({"stages": [
        {"name": "remove", "chartPath": "old", "action": "delete"},
        {"name": "db", "chartPath": "db", "waitFor": {"cel": ["has(object.data) && object.data.ready == 'yes'"]}},
        {"name": "extra", "chartPath": "extra", "onlyIf": {"cel": "kubernetesVersion.startsWith('v1.') && cluster.metadata.labels.extra == 'yes'"}},
        {"name": "web", "chartPath": "web"},
    ]}));
    // Somebody else's, as kube-proxy is kubeadm's: a stage that deletes says so.
    BED.workload.kubectl(&["create", "namespace", "staged"]);
    BED.workload
        .kubectl(&["-n", "staged", "create", "configmap", "old"]);
    space.cluster("edge", &json!({"stack": "cni"}));
    let addon = space.until("edge", "StagesCompleted", "False", "StageRunning");
    assert!(applied("staged", "configmap", "old").is_none());
    let message = condition(&addon, "StagesCompleted").unwrap()["message"]
        .as_str()
        .unwrap();
    assert!(
        message.contains("stage db: ConfigMap staged/db: has(object.data)"),
        "{message}"
    );
    assert_eq!(
        phases(&addon),
        [
            "chart Completed",
            "remove Completed",
            "db Running",
            "extra Skipped",
            "web Pending"
        ]
    );
    assert!(
        applied("staged", "configmap", "base").is_some() && applied("staged", "configmap", "web").is_none()
    );
    BED.workload.kubectl(&[
        "-n",
        "staged",
        "patch",
        "configmap",
        "db",
        "--type=merge",
        "-p",
        r#"{"data":{"ready":"yes"}}"#,
    ]);
    let addon = space.until_ready("edge");
    assert_eq!(
        phases(&addon),
        [
            "chart Completed",
            "remove Completed",
            "db Completed",
            "extra Skipped",
            "web Completed"
        ]
    );
    assert!(
        applied("staged", "configmap", "web").is_some() && applied("staged", "configmap", "extra").is_none()
    );
    let names = addon["status"]["inventory"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["base", "db", "web"]);
    // The condition of a stage is about the Cluster, which has changed; once, it was only asked for a new chart.
    space.kubectl(&["label", "clusters.cluster.x-k8s.io", "edge", "extra=yes"]);
    let there = || applied("staged", "configmap", "extra").map(|_| ());
    wait("the stage that is due now", there, || {
        format!("{:#}", space.addon("edge").unwrap_or_default()["status"])
    });
    space.kubectl(&["label", "clusters.cluster.x-k8s.io", "edge", "extra-"]);
    until_gone("staged", "configmap", "extra");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_stage_that_takes_too_long_has_failed_and_continues_when_its_condition_is_true() {
    let space = Space::new("overdue");
    let sub = "{apiVersion: v2, name: db, version: 1.0.0}";
    let chart = push(
        "overdue",
        "1.0.0",
        &[
            ("charts/db/Chart.yaml", sub),
            ("charts/db/templates/a.yaml", &config("db")),
        ],
    );
    // A stage may have the name of one of Helm's.
    space.stack(
        "cni",
        &chart,
        &json!({"stages": [{"name": "chart", "chartPath": "db",
            "waitFor": {"cel": ["object.data.ready == 'yes'"], "timeout": "1s"}}]}),
    );
    space.cluster("edge", &json!({"stack": "cni"}));
    let addon = space.until("edge", "StagesCompleted", "False", "StageFailed");
    assert_eq!(phases(&addon), ["chart Completed", "chart Failed"]);
    let message = condition(&addon, "Stalled").unwrap()["message"].as_str().unwrap();
    assert!(
        message.contains("not within 1s: ConfigMap overdue/db: object.data.ready"),
        "{message}"
    );
    let data = r#"{"data":{"ready":"yes"}}"#;
    BED.workload.kubectl(&[
        "-n",
        "overdue",
        "patch",
        "configmap",
        "db",
        "--type=merge",
        "-p",
        data,
    ]);
    let addon = space.until_ready("edge");
    assert_eq!(condition(&addon, "Stalled"), None);
}

/// A Job that has failed once was taken for the present one's.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_hook_of_before_is_replaced_whatever_its_policy() {
    let space = Space::new("rerun");
    let pod = hook("migrate", "\"pre-install,pre-upgrade\"").replace(
        "annotations: {",
        "annotations: {helm.sh/hook-delete-policy: hook-succeeded, ",
    );
    let chart = push(
        "rerun",
        "1.0.0",
        &[
            ("templates/hook.yaml", &pod),
            ("templates/a.yaml", &config("{{ .Values.name }}")),
        ],
    );
    space.stack("cni", &chart, &json!({"values": {"name": "a"}}));
    space.cluster("edge", &json!({"stack": "cni"}));
    end_pod("rerun", "migrate", "Failed");
    space.until("edge", "StagesCompleted", "False", "StageFailed");
    let first = applied("rerun", "pod", "migrate").unwrap()["metadata"]["uid"].clone();
    space.stack("cni", &chart, &json!({"values": {"name": "b"}}));
    let replaced = || {
        let pod = applied("rerun", "pod", "migrate")?;
        (pod["metadata"]["uid"] != first).then_some(())
    };
    wait("another pod", replaced, || {
        format!("{:#}", space.addon("edge").unwrap_or_default()["status"])
    });
    end_pod("rerun", "migrate", "Succeeded");
    space.until_ready("edge");
    assert!(applied("rerun", "configmap", "b").is_some() && applied("rerun", "configmap", "a").is_none());
    until_gone("rerun", "pod", "migrate");
}
