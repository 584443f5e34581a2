//! The pipeline's kinds on a real API server: objects as SolAr's own returns them are taken, and what is immutable or
//! out of bounds is refused.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests stop at once when something isn't as it should be"
)]

use std::fs::read_to_string;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};
use testbed::{Cluster, ClusterSetup};

const OPERATOR: &str = env!("CARGO_BIN_EXE_solar-operator");
const REFUSED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../testdata/operator/pipeline/refused.json"
);
const UPSTREAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../testdata/operator/pipeline/upstream.yaml"
);

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| {
    let crds = Command::new(OPERATOR).arg("crds").output().unwrap();
    let cluster = Cluster::start(&ClusterSetup {
        crds: &String::from_utf8(crds.stdout).unwrap(),
        ..Default::default()
    });
    cluster.apply(&read_to_string(UPSTREAM).unwrap());
    cluster
});

fn get(kind: &str, name: &str) -> Value {
    serde_json::from_str(&CLUSTER.kubectl(&["get", kind, name, "-o", "json"])).unwrap()
}

/// The API server's error for an object; empty if it accepts it.
fn refusal(object: &Value) -> String {
    let arguments = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    let mut kubectl = CLUSTER.kubectl_command(&arguments);
    let mut child = kubectl
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(object.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        String::new()
    } else {
        String::from_utf8(output.stderr).unwrap()
    }
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

/// No operator runs: kinds of which nothing has to be found out are ready by a default, which costs nobody a request.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_only_holds_data_is_ready_from_its_creation_on_and_nothing_else_is() {
    let chart = json!({"chart": {"repository": "h.example/shop", "tag": "1"}});
    let version = json!({"componentRef": {"name": "shop"}, "tag": "1", "resources": chart,
        "entrypoint": {"resourceName": "chart", "type": "helm"}});
    let binding = json!({"renderArtifactRef": {"name": "a"}, "ownerKind": "Target", "ownerName": "edge",
        "ownerNamespace": "default"});
    let target = json!({"renderRegistryRef": {"name": "charts"}});
    let table = [
        ("ComponentVersion", version, "True"),
        ("Registry", json!({"hostname": "h.example"}), "True"),
        ("RenderBinding", binding, "True"),
        ("Target", target, ""),
    ];
    for (kind, spec, expected) in table {
        assert_eq!(refusal(&object(kind, "created", &spec)), "", "{kind}");
        let path = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
        let found = CLUSTER.kubectl(&["get", kind, "created", "-o", path]);
        assert_eq!(found, expected, "{kind}");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn objects_of_solar_go_through_with_all_their_fields() {
    let release = get("rel", "shop");
    assert_eq!(
        release["spec"]["values"],
        json!({"replicas": 2, "nested": {"list": [1, "a", null], "nothing": null}})
    );
    assert_eq!(
        release["spec"]["antiAffinity"],
        json!({"matchLabels": {"tier": "db"}})
    );
    assert_eq!(
        (&release["spec"]["priority"], &release["spec"]["failedJobTTL"]),
        (&json!(5), &json!(60))
    );
    assert_eq!(get("reg", "charts")["spec"]["scanInterval"], "24h0m0s");
    assert_eq!(
        get("tgt", "edge")["spec"]["userdata"],
        json!({"region": "eu", "nothing": null})
    );
    assert_eq!(get("prf", "all")["spec"]["targetSelector"], json!({}));
    assert_eq!(
        get("cv", "shop-1")["spec"]["resources"]["chart"]["helm"]["valuesTemplate"],
        "a: {{ .b }}"
    );
    for (short, name) in [
        ("comp", "shop"),
        ("rlb", "shop-edge"),
        ("rb", "charts-edge"),
        ("ra", "render-art-0a1b2c3d"),
        ("rbin", "render-bind-0a1b2c3d"),
        ("rg", "tenant"),
    ] {
        let printed = CLUSTER.kubectl(&["get", short, name]);
        assert!(
            printed.contains("READY") && printed.contains("REASON") && printed.contains("AGE"),
            "{printed}"
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_is_immutable_stays_and_the_rest_may_change() {
    let version = json!({"name": "shop-1"});
    let release = |unique: Option<&str>, priority: i32| {
        let mut spec = json!({"componentVersionRef": version, "priority": priority});
        if let Some(name) = unique {
            spec["uniqueName"] = name.into();
        }
        object("Release", "named", &spec)
    };
    assert_eq!(refusal(&release(None, 0)), "");
    assert_eq!(refusal(&release(Some("one"), 0)), "", "it may be set later");
    assert_eq!(refusal(&release(Some("one"), 1)), "");
    for (other, what) in [(Some("two"), "changed"), (None, "taken away")] {
        let said = refusal(&release(other, 1));
        assert!(said.contains("uniqueName is immutable"), "{what}: {said}");
    }

    let artifact = |name: &str, tag: &str, registry: &str| {
        let spec = json!({
            "baseURL": "h.example", "repository": "a/b", "tag": tag, "renderTaskRef": "t", "registryRef": {"name": registry},
        });
        object("RenderArtifact", name, &spec)
    };
    assert_eq!(refusal(&artifact("pinned", "1", "a")), "");
    assert_eq!(refusal(&artifact("pinned", "1", "b")), "", "it is pinned again");
    assert!(refusal(&artifact("pinned", "2", "b")).contains("immutable"));

    let binding = |owner: &str, registry: &str| {
        let spec = json!({
            "renderArtifactRef": {"name": "pinned"}, "ownerKind": "Target", "ownerName": owner,
            "ownerNamespace": "default", "registryRef": {"name": registry},
        });
        object("RenderBinding", "bound", &spec)
    };
    assert_eq!(refusal(&binding("edge", "a")), "");
    assert_eq!(refusal(&binding("edge", "b")), "");
    assert!(refusal(&binding("other", "b")).contains("immutable"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_is_out_of_bounds_is_refused_by_its_field() {
    let table: Vec<Value> = serde_json::from_str(&read_to_string(REFUSED).unwrap()).unwrap();
    assert!(table.len() > 10);
    for row in &table {
        let (kind, expected) = (row["kind"].as_str().unwrap(), row["says"].as_str().unwrap());
        let message = refusal(&object(kind, "refused", &row["spec"]));
        assert!(message.contains(expected), "{row}: {message:?}");
    }
}
