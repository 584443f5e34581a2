//! A management cluster of an older Cluster API, which serves only v1beta1; and API servers that restart in the middle.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testbed::{Cluster, ClusterSetup, cluster_api_crds, eventually, run};

use crate::bed::{BED, LIMIT, condition, push};
use crate::fleet::Fleet;

/// Cluster API's CRDs with v1beta1 alone.
fn older_crds() -> String {
    let crds = run(BED
        .workload
        .kubectl_command(&["create", "--dry-run=client", "-o", "json", "-f", "-"])
        .stdin(file_of(&cluster_api_crds())));
    let mut items: Vec<Value> = Vec::new();
    for document in serde_json::Deserializer::from_str(&crds).into_iter::<Value>() {
        let document = document.unwrap();
        match document["items"].as_array() {
            Some(list) => items.extend(list.iter().cloned()),
            None => items.push(document),
        }
    }
    for crd in &mut items {
        let versions = crd["spec"]["versions"].as_array_mut().unwrap();
        versions.retain(|version| version["name"] == "v1beta1");
        versions[0]["storage"] = true.into();
        versions[0]["served"] = true.into();
        if let Some(spec) = crd["spec"].as_object_mut() {
            spec.remove("conversion");
        }
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn file_of(text: &str) -> fs::File {
    use std::io::{Seek as _, Write as _};
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.rewind().unwrap();
    file
}

fn get(cluster: &Cluster, arguments: &[&str]) -> Option<Value> {
    let rest = ["-n", "older", "-o", "json", "--ignore-not-found"];
    let mut command = cluster.kubectl_command(&[&["get"], arguments, &rest[..]].concat());
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).ok()
}

fn until<T>(what: &str, found: impl FnMut() -> Option<T>) -> T {
    eventually(what, LIMIT, found)
}

fn ready_reason(management: &Cluster) -> Option<String> {
    let addon = get(management, &["clusteraddon", "cluster-addon-edge"])?;
    Some(condition(&addon, "Ready")?["reason"].as_str()?.to_owned())
}

fn stack(management: &Cluster, chart: &crate::bed::Chart, name: &str) {
    let stack = json!({
        "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": "cni", "namespace": "older"},
        "spec": {
            "classNames": ["small"], "releaseName": "shop", "namespace": "older",
            "chart": {"repository": chart.repository, "version": chart.version, "insecure": true},
            "values": {"name": name},
            "valuesTemplate": "class: << cluster.spec.topology.class >>\nreplicas: << controlPlane.spec.replicas >>\n",
        },
    });
    management.apply(&stack.to_string());
}

/// A cluster of the class `small` in v1beta1, with its control plane.
fn cluster(management: &Cluster, workload: &Cluster) {
    let plane = json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane",
        "metadata": {"name": "edge", "namespace": "older"},
        "spec": {"replicas": 3, "version": "v1.33.0", "kubeadmConfigSpec": {},
            "machineTemplate": {"infrastructureRef": {"kind": "X", "name": "x"}}}});
    management.apply(&plane.to_string());
    let edge = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
        "metadata": {"name": "edge", "namespace": "older"},
        "spec": {"topology": {"class": "small", "version": "v1.33.0"}, "controlPlaneRef": {
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane", "name": "edge"}}});
    management.apply(&edge.to_string());
    let kubeconfig = STANDARD.encode(fs::read(workload.kubeconfig()).unwrap());
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
        "metadata": {"name": "edge-kubeconfig", "namespace": "older"}, "data": {"value": kubeconfig}});
    management.apply(&secret.to_string());
    let ready = r#"{"status":{"controlPlaneReady":true}}"#;
    let patch = ["--subresource=status", "--type=merge", "-p", ready];
    management.kubectl(
        &[
            &["-n", "older", "patch", "clusters.cluster.x-k8s.io", "edge"],
            &patch[..],
        ]
        .concat(),
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_older_cluster_api_will_do_and_both_api_servers_may_restart_in_the_middle() {
    let fleet = Fleet::start(
        false,
        &["older"],
        "clusterAddons.enabled=true,networkPolicy.enabled=false",
    );
    let management = &fleet.cluster;
    management.apply(&older_crds());
    management.kubectl(&[
        "wait",
        "--for=condition=Established",
        "crd",
        "--all",
        "--timeout=60s",
    ]);
    let workload = Cluster::start(&ClusterSetup::default());
    let cache = format!("--chart-cache={}", management.home().join("charts").display());
    let flags = [
        "--cluster-addons",
        "--log-level=debug",
        "--metrics-bind-address=127.0.0.1:0",
        "--leader-elect=false",
    ];
    fleet.start_operator("operator", &[&flags[..], &[&cache]].concat());
    let many = "{{ range until 150 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ $.Values.name }}-{{ . }}\"}\ndata: {class: {{ $.Values.class | quote }}, replicas: {{ $.Values.replicas | quote }}}\n{{ end }}";
    let chart = push("older", "1.0.0", &[("templates/a.yaml", many)]);
    stack(management, &chart, "one");
    cluster(management, &workload);
    until("ready", || {
        (ready_reason(management)? == "Succeeded").then_some(())
    });
    let first = get(&workload, &["configmap", "one-0"]).unwrap();
    assert_eq!(first["data"], json!({"class": "small", "replicas": "3"}));

    // The workload cluster goes away while the next values are applied, and the management cluster after it.
    stack(management, &chart, "two");
    until("the first of the next objects", || {
        get(&workload, &["configmap", "two-0"])
    });
    workload.stop_apiserver();
    until("unreachable", || {
        (ready_reason(management)? == "ClusterUnreachable").then_some(())
    });
    management.stop_apiserver();
    workload.start_apiserver();
    management.start_apiserver();
    until("ready again", || {
        let addon = get(management, &["clusteraddon", "cluster-addon-edge"])?;
        let is_new = addon["status"]["inventory"]
            .as_array()?
            .iter()
            .all(|one| one["name"].as_str().unwrap().starts_with("two-"));
        (is_new && condition(&addon, "Ready")?["status"] == "True").then_some(())
    });
    let names = || -> Vec<String> {
        let list = get(&workload, &["configmaps"]).unwrap();
        let names = list["items"].as_array().unwrap().iter();
        names
            .map(|one| one["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let of = |prefix: &str| names().iter().filter(|name| name.starts_with(prefix)).count();
    assert_eq!((of("one-"), of("two-")), (0, 150));

    // Removed, with the management cluster away in between.
    management.kubectl(&["-n", "older", "delete", "clusterstack", "cni"]);
    management.stop_apiserver();
    management.start_apiserver();
    until("removed", || {
        get(management, &["clusteraddon", "cluster-addon-edge"])
            .is_none()
            .then_some(())
    });
    until("nothing left", || (of("two-") == 0).then_some(()));
}
