//! Many clusters, partial failures, and charts of others.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::bed::{BED, Space, applied, condition, push, push_path, wait};

/// All are the same API server, with a ConfigMap for each of them.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_hundred_clusters_get_their_chart_and_the_next_version() {
    let space = Space::new("many");
    let template = |key: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {{{{ .Values.name }}}}}}\ndata: {{{key}: x}}\n"
        )
    };
    let spec = json!({"valuesTemplate": "name: << cluster.metadata.name >>", "updatePolicy": {"maxUnavailable": 20}});
    let chart = push("many", "1.0.0", &[("templates/a.yaml", &template("one"))]);
    space.stack("cni", &chart, &spec);
    let names: Vec<String> = (0..100).map(|number| format!("edge-{number:03}")).collect();
    space.clusters(&names, "cni");
    let all_at = |version: &str| {
        let what = format!("all clusters at {version}");
        wait(
            &what,
            || {
                let stack = space.get("clusterstack", "cni")?;
                let counts = &stack["status"]["clusters"];
                let is_new = stack["status"]["chart"]["version"] == version;
                (is_new && counts["ready"] == 100 && counts["upToDate"] == 100).then_some(())
            },
            || format!("{:#}", space.get("clusterstack", "cni").unwrap()),
        )
    };
    all_at("1.0.0");
    let next = push("many", "1.1.0", &[("templates/a.yaml", &template("two"))]);
    space.stack("cni", &next, &spec);
    all_at("1.1.0");
    for name in [&names[0], &names[99]] {
        assert_eq!(
            applied("many", "configmap", name).unwrap()["data"],
            json!({"two": "x"})
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn objects_that_fail_are_named_and_the_others_are_applied() {
    let space = Space::new("partial");
    let objects = |limit: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: good}}\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: bad}}\nspec: {{ports: [{{port: {limit}}}]}}\n---\napiVersion: nobody.example/v1\nkind: Nothing\nmetadata: {{name: x}}\n"
        )
    };
    let chart = push("partial", "1.0.0", &[("templates/a.yaml", &objects("70000"))]);
    space.stack("cni", &chart, &json!({}));
    space.cluster("edge", &json!({"stack": "cni"}));
    let addon = space.until("edge", "ChartApplied", "False", "FailedToApplyObjects");
    let resources = addon["status"]["resources"].as_array().unwrap().iter();
    let found: Vec<(bool, &str)> = resources
        .map(|one| (one["synced"].as_bool().unwrap(), one["name"].as_str().unwrap()))
        .collect();
    assert_eq!(found, [(true, "good"), (false, "bad"), (false, "x")]);
    let message = condition(&addon, "ChartApplied").unwrap()["message"]
        .as_str()
        .unwrap();
    assert!(
        message.starts_with("2 of 3 objects failed: Service partial/bad"),
        "{message}"
    );
    assert!(
        message.contains("no kind Nothing of nobody.example/v1"),
        "{message}"
    );
    // What has failed is not forgotten: it goes with the rest.
    space.kubectl(&["delete", "clusterstack", "cni"]);
    space.until_no_addon("edge");
    assert!(applied("partial", "configmap", "good").is_none());
}

/// Charts that no one here wrote, where a folder of them is named: on, and off again with nothing left.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn charts_of_others_go_on_and_off_again() {
    let Some(charts) = std::env::var_os("SOLAR_ADDON_CHARTS").filter(|list| !list.is_empty()) else {
        return;
    };
    let space = Space::new("others");
    for (number, path) in std::env::split_paths(&charts).enumerate() {
        others(&space, number, &path);
    }
}

/// Kubernetes' finalizer of a CRD that was made seconds ago may fail ("storage is (re)initializing") and then waits for the
/// API server's next resync, minutes later; a change of the CRD wakes it.
fn wake_finalizers() {
    let crds = BED.workload.kubectl(&["get", "crds", "-o", "json"]);
    let crds: serde_json::Value = serde_json::from_str(&crds).unwrap();
    let crds = crds["items"].as_array().unwrap().iter();
    for crd in crds.filter(|crd| crd["metadata"]["deletionTimestamp"].is_string()) {
        let version = format!(
            "test.example/wake=v{}",
            crd["metadata"]["resourceVersion"].as_str().unwrap()
        );
        let name = crd["metadata"]["name"].as_str().unwrap();
        let arguments = ["annotate", "--overwrite", "crd", name, &version];
        // It may be gone by now.
        let _ = BED.workload.kubectl_command(&arguments).output();
    }
}

fn others(space: &Space, number: usize, path: &Path) {
    let yaml = fs::read_to_string(path.join("Chart.yaml")).unwrap();
    let field = |name: &str| {
        let line = yaml
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}:")))
            .unwrap();
        line.trim().trim_matches(['"', '\'']).to_owned()
    };
    let (name, version) = (field("name"), field("version"));
    let chart = push_path(&name, &version, path);
    let cluster = format!("other-{number}");
    let start = std::time::Instant::now();
    space.cluster(&cluster, &json!({"stack": cluster}));
    space.stack(&cluster, &chart, &json!({}));
    // Hooks are Jobs, and there is no node that runs them.
    let ends = [
        "Succeeded",
        "StageRunning",
        "FailedToApplyObjects",
        "RenderFailed",
    ];
    let settled = wait(
        &name,
        || {
            let addon = space.addon(&cluster)?;
            let reason = condition(&addon, "Ready")?["reason"].as_str()?.to_owned();
            ends.contains(&reason.as_str()).then_some(addon)
        },
        || format!("{:#}", space.addon(&cluster).unwrap_or_default()["status"]),
    );
    let resources = settled["status"]["resources"].as_array().map_or(0, Vec::len);
    let ready = condition(&settled, "Ready").unwrap();
    eprintln!(
        "{name} {version}: {resources} objects, {} {} after {:?}",
        ready["reason"],
        ready["message"],
        start.elapsed()
    );
    assert!(["Succeeded", "StageRunning"].contains(&ready["reason"].as_str().unwrap()));
    let inventory = settled["status"]["inventory"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let start = std::time::Instant::now();
    space.kubectl(&["delete", "clusterstack", &cluster]);
    space.until_no_addon(&cluster);
    let left = || -> Vec<String> {
        let there = inventory.iter().filter(|one| {
            let text = |field: &str| one[field].as_str().unwrap_or("").to_owned();
            let kind = format!("{}.{}", text("kind"), text("group"));
            let live = applied(&text("namespace"), kind.trim_end_matches('.'), &text("name"));
            // What says that it is kept stays.
            live.is_some_and(|live| live["metadata"]["annotations"]["helm.sh/resource-policy"] != "keep")
        });
        there.map(ToString::to_string).collect()
    };
    // The bed's operator gives up early; what is being deleted goes by itself.
    wait(
        "nothing left",
        || {
            wake_finalizers();
            left().is_empty().then_some(())
        },
        || left().join("\n"),
    );
    eprintln!("{name}: removed after {:?}", start.elapsed());
}
