//! Moving from SolAr: the checks before an installation, and an export of what its own API server returns that is
//! applied to one with our CRDs.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests stop at once when something isn't as it should be"
)]

mod fleet;

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use fleet::{Fleet, Kubelet, install_chart};
use serde_json::{Value, json};
use solar_render::diag::Class;
use solar_render::source::Source;
use solar_render::yaml::{self, Limits};
use testbed::{Cluster, ClusterSetup, Request, Response, Server, run};

const OPERATOR: &str = env!("CARGO_BIN_EXE_solar-operator");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const GROUP: &str = "solar.opendefense.cloud";
/// How many objects the old API server returns at a time: fewer than it is asked for.
const PAGE: usize = 2;

fn operator(kubeconfig: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(OPERATOR);
    command
        .env_clear()
        .args(arguments)
        .arg("--kubeconfig")
        .arg(kubeconfig);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn export(kubeconfig: &Path, arguments: &[&str]) -> (String, String) {
    let output = operator(kubeconfig, &[&["export"], arguments].concat());
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    (text(&output.stdout), stderr)
}

/// The objects of SolAr's API server, from files, with the metadata that it fills in.
fn upstream_objects() -> Vec<Value> {
    let mut objects = Vec::new();
    for file in ["moving", "upstream"] {
        let path = format!("{ROOT}/testdata/operator/pipeline/{file}.yaml");
        let source = Source::new(file, read_to_string(path).unwrap());
        let documents = yaml::parse_all(&source, Class::Config, &Limits::default()).unwrap();
        for (index, document) in documents.into_iter().enumerate() {
            let mut object: Value = serde_json::from_str(&document.into_value().to_json()).unwrap();
            let filled = json!({
                "uid": format!("0c9b7f1e-0000-4000-8000-{index:012}"), "resourceVersion": "4711", "generation": 2,
                "creationTimestamp": null, "finalizers": [format!("{GROUP}/upstream")],
                "managedFields": [{"manager": "solar", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
            });
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.extend(filled.as_object().unwrap().clone());
            objects.push(object);
        }
    }
    // As etcd lists them.
    objects.sort_by_key(|object| {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap().to_owned();
        format!("{}/{}", text("/metadata/namespace"), text("/metadata/name"))
    });
    objects
}

/// SolAr's API server: the kinds of the group, and their objects in small pages.
fn upstream(objects: Vec<Value>) -> Server {
    Server::start(move |request: &Request| {
        let prefix = format!("/apis/{GROUP}/v1alpha1");
        let below = request.path().strip_prefix(&prefix).unwrap_or("/unknown");
        let parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).collect();
        let answer = match parts.as_slice() {
            [] => kinds(&objects),
            [plural] => page(&objects, plural, &request.target),
            ["namespaces", namespace, plural] => {
                let mut objects = objects.clone();
                objects.retain(|object| object["metadata"]["namespace"] == *namespace);
                page(&objects, plural, &request.target)
            }
            other => panic!("{other:?}"),
        };
        let body = answer.to_string();
        Response::status(200)
            .header("Content-Type", "application/json")
            .body(body)
            .into()
    })
}

fn plural(kind: &str) -> String {
    match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies").to_lowercase(),
        None => format!("{kind}s").to_lowercase(),
    }
}

fn kinds(objects: &[Value]) -> Value {
    let mut kinds: Vec<&str> = objects
        .iter()
        .map(|object| object["kind"].as_str().unwrap())
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let resource = |kind: &&str| json!({"name": plural(kind), "singularName": "", "kind": kind, "namespaced": true, "verbs": ["list"]});
    let resources: Vec<Value> = kinds.iter().map(resource).collect();
    json!({"kind": "APIResourceList", "groupVersion": format!("{GROUP}/v1alpha1"), "resources": resources})
}

fn page(objects: &[Value], plural_name: &str, target: &str) -> Value {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    assert!(query.contains("limit="), "{target}");
    let start = query.split('&').find_map(|pair| pair.strip_prefix("continue="));
    let start: usize = start.map_or(0, |token| token.parse().unwrap());
    let of_kind: Vec<&Value> = objects
        .iter()
        .filter(|object| plural(object["kind"].as_str().unwrap()) == plural_name)
        .collect();
    let end = of_kind.len().min(start + PAGE);
    let token = if end < of_kind.len() {
        end.to_string()
    } else {
        String::new()
    };
    json!({"kind": "List", "metadata": {"resourceVersion": "1", "continue": token}, "items": &of_kind[start..end]})
}

fn kubeconfig_of(server: &Server, folder: &Path) -> PathBuf {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "solar", "users": [{"name": "u", "user": {}}],
        "clusters": [{"name": "solar", "cluster": {"server": format!("http://{}", server.host())}}],
        "contexts": [{"name": "solar", "context": {"cluster": "solar", "user": "u"}}],
    });
    let path = folder.join("solar.kubeconfig");
    std::fs::write(&path, config.to_string()).unwrap();
    path
}

/// The export of SolAr's API server.
fn exported_from_solar() -> String {
    let server = upstream(upstream_objects());
    let folder = tempfile::tempdir().unwrap();
    let old = kubeconfig_of(&server, folder.path());
    let (exported, notes) = export(&old, &[]);
    assert_eq!(exported, export(&old, &[]).0, "it is deterministic");
    for note in [
        "ReleaseBinding shop/frontend-5f3a is left out: Profile shop/frontend makes it again",
        "RenderTask shop/render-tgt-edge-3 is left out: Target shop/edge makes it again",
        "Secret shop/push: not exported; Registry shop/charts refers to it",
    ] {
        assert!(notes.contains(note), "{note} in {notes}");
    }
    for gone in [
        "uid",
        "managedFields",
        "finalizers",
        "ownerReferences",
        "status:",
        "creationTimestamp",
        "Secret\n",
    ] {
        assert!(!exported.contains(gone), "{gone} in {exported}");
    }
    let (one, _) = export(&old, &["--namespace", "shop"]);
    assert!(
        one.contains("namespace: shop") && !one.contains("namespace: default\n"),
        "{one}"
    );
    exported
}

/// All of it: exported from SolAr's API server, applied to one with our CRDs, exported again, and reconciled.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_solars_api_server_returns_is_exported_applied_and_reconciled() {
    let exported = exported_from_solar();
    let fleet = Fleet::start(
        false,
        &["shop"],
        "pipeline.enabled=true,networkPolicy.enabled=false",
    );
    fleet
        .cluster
        .kubectl(&["-n", "shop", "create", "secret", "generic", "push"]);
    fleet.cluster.apply(&exported);
    let new = fleet.cluster.kubeconfig();
    let (again, _) = export(new, &[]);
    assert!(again == exported, "{exported}\n---- and from our CRDs:\n{again}");

    let kubelet = Kubelet::start(new, Duration::ZERO);
    kubelet.occupy("oci://charts.example/shop/bootstrap-edge:v0.0.3");
    fleet.start_operator("operator", &["--pipeline", "--metrics-bind-address=0"]);
    let until = |path: &str| {
        let condition = format!("--for=jsonpath={path}");
        fleet
            .cluster
            .kubectl(&["-n", "shop", "wait", "tgt/edge", &condition, "--timeout=120s"]);
    };
    // The number goes on from what SolAr has pushed, so that Flux takes it for the newest.
    until("{.status.bootstrapChartURL}=oci://charts.example/shop/bootstrap-edge:v0.0.4");
    until(r#"{.status.conditions[?(@.type=="Ready")].status}=True"#);
    let path = "jsonpath={range .status.releases[*]}{.uniqueName}={.state} {end}";
    let states = fleet
        .cluster
        .kubectl(&["-n", "shop", "get", "tgt", "edge", "-o", path]);
    assert_eq!(states, "backend=Rendered frontend=Rendered ");
    let bindings = fleet.cluster.kubectl(&["-n", "shop", "get", "rlb", "-o", "name"]);
    assert_eq!(bindings.lines().count(), 2, "{bindings}");
    assert!(
        kubelet.holds("oci://charts.example/shop/bootstrap-edge:v0.0.3"),
        "SolAr's chart stays"
    );
}

fn checks(output: &Output) -> Vec<(String, bool, String)> {
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["passed"], output.status.success(), "{document}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let checks = document["checks"].as_array().unwrap().iter();
    checks
        .map(|check| {
            (
                text(&check["name"]),
                check["passed"] == true,
                text(&check["message"]),
            )
        })
        .collect()
}

/// Who refuses: the checks that failed.
fn failed(output: &Output) -> Vec<String> {
    let failed = checks(output).into_iter().filter(|(_, passed, _)| !passed);
    failed.map(|(_, _, message)| message).collect()
}

/// A cluster without our CRDs, and the account of the chart's hook in it.
fn cluster_with_hook() -> (Cluster, PathBuf) {
    let cluster = Cluster::start(&ClusterSetup::default());
    cluster.kubectl(&["create", "namespace", "solar-system"]);
    let mut template = install_chart::template("solar-operator", "solar-system");
    template
        .args(["--set", "pipeline.enabled=true"])
        .args(["--show-only", "templates/preflight.yaml"]);
    cluster.apply(&run(&mut template));
    let account = cluster.service_account("solar-system", "solar-operator-preflight");
    (cluster, account)
}

/// While SolAr's API server is registered.
fn refuses_an_aggregated_api(cluster: &Cluster, preflight: impl Fn(&[&str]) -> Output) {
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("v1alpha1.{GROUP}")},
        "spec": {"group": GROUP, "version": "v1alpha1", "groupPriorityMinimum": 1000, "versionPriority": 100,
            "insecureSkipTLSVerify": true, "service": {"namespace": "solar-system", "name": "solar-apiserver"}},
    });
    cluster.apply(&service.to_string());
    let refused = preflight(&["--before-install"]);
    assert_eq!(refused.status.code(), Some(1));
    let messages = failed(&refused);
    assert!(
        messages.len() == 1 && messages[0].contains("Service solar-system/solar-apiserver"),
        "{messages:?}"
    );
    let stderr = text(&refused.stderr);
    assert!(
        stderr.contains("= help: run `solar-operator export > solar.yaml`"),
        "{stderr}"
    );
    cluster.kubectl(&["delete", "apiservice", &format!("v1alpha1.{GROUP}")]);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn preflight_refuses_an_aggregated_api_and_other_crds_with_the_rights_of_the_charts_hook() {
    let (cluster, account) = cluster_with_hook();
    let preflight = |arguments: &[&str]| {
        operator(
            &account,
            &[&["preflight", "--pipeline", "-o", "json"], arguments].concat(),
        )
    };
    assert_eq!(failed(&preflight(&["--before-install"])), Vec::<String>::new());
    let missing = preflight(&[]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(failed(&missing).len(), 13);
    refuses_an_aggregated_api(&cluster, preflight);

    cluster.apply(&run(Command::new(OPERATOR).arg("crds")));
    cluster.kubectl(&[
        "wait",
        "--for=condition=Established",
        "crd",
        "--all",
        "--timeout=60s",
    ]);
    assert_eq!(failed(&preflight(&[])), Vec::<String>::new());
    let column = r#"[{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns/0"}]"#;
    let crd = format!("targets.{GROUP}");
    cluster.kubectl(&["patch", "crd", &crd, "--type=json", "-p", column]);
    assert_eq!(
        failed(&preflight(&[])),
        [format!("CRD {crd} is of another version than this program")]
    );
    assert_eq!(failed(&preflight(&["--before-install"])), Vec::<String>::new());

    // Nobody's rights: nothing passes for lack of an answer. Kubernetes shows everybody its version.
    let nobody = cluster.user("nobody", None);
    let output = operator(&nobody, &["preflight", "-o", "json"]);
    assert_eq!(failed(&output).len(), 3, "{:?}", checks(&output));
    let gone = operator(Path::new("/nonexistent"), &["preflight", "-o", "json"]);
    assert_eq!(checks(&gone)[0].0, "Connection");
    let context = operator(&nobody, &["preflight", "--context", "other"]);
    assert_eq!(context.status.code(), Some(1));
    assert!(
        text(&context.stderr).contains("--context"),
        "{}",
        text(&context.stderr)
    );
}
