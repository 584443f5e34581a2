//! Where charts come from: tags that move, signatures, and registries with credentials.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use testbed::{Auth, Registry, Setup, run, workspace_program};

use crate::bed::{Chart, Space, applied, condition, push, push_with, wait};

const SIGNING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/signing");

fn config(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\n")
}

/// A chart by its tag once changed under the cluster.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tag_that_is_moved_changes_no_cluster() {
    let space = Space::new("moved");
    let chart = push("moved", "1.0.0", &[("templates/a.yaml", &config("moved-first"))]);
    space.stack("cni", &chart, &json!({}));
    space.cluster("edge", &json!({"stack": "cni"}));
    let first = space.until_ready("edge");
    push_with(
        "moved",
        "1.0.0",
        &[("templates/a.yaml", &config("moved-second"))],
        &["--if-exists", "replace"],
    );
    space.cluster("late", &json!({"stack": "cni"}));
    space.kubectl(&[
        "annotate",
        "clusterstack",
        "cni",
        "reconcile.fluxcd.io/requestedAt=1",
    ]);
    space.request("edge", "1");
    let late = space.until_ready("late");
    space.until_handled("edge", "1");
    assert_eq!(late["spec"]["chart"]["digest"], first["spec"]["chart"]["digest"]);
    assert!(applied("default", "configmap", "moved-second").is_none());
    // A change of the stack's chart resolves again.
    space.stack(
        "cni",
        &Chart {
            version: "1.0.1".to_owned(),
            ..push("moved", "1.0.1", &[("templates/a.yaml", &config("moved-second"))])
        },
        &json!({}),
    );
    space.until_version("edge", "1.0.1");
    assert!(applied("default", "configmap", "moved-second").is_some());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_that_its_key_has_not_signed_is_not_applied() {
    let space = Space::new("signed");
    let key = format!("{SIGNING}/cosign.key");
    let password = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(password.path(), "pw").unwrap();
    let sign = [
        "--sign-by",
        &key,
        "--key-password-file",
        password.path().to_str().unwrap(),
    ];
    let chart = push_with(
        "signed",
        "1.0.0",
        &[("templates/a.yaml", &config("signed"))],
        &sign,
    );
    for name in ["cosign", "other"] {
        let file = format!("--from-file=cosign.pub={SIGNING}/{name}.pub");
        space.kubectl(&["create", "secret", "generic", name, &file]);
    }
    let verified = |name: &str| {
        json!({"chart": {"repository": chart.repository, "version": chart.version, "insecure": true,
            "verify": {"keySecretRef": {"name": name}}}})
    };
    space.cluster("edge", &json!({"stack": "cni"}));
    let refused = |expected: &str| {
        let found = || {
            let stack = space.get("clusterstack", "cni")?;
            let downloaded = condition(&stack, "ChartDownloaded")?;
            let message = downloaded["message"].as_str()?.to_owned();
            (downloaded["reason"] == "DownloadFailed" && message.contains(expected)).then_some(())
        };
        wait(expected, found, || {
            format!(
                "{:#}",
                space.get("clusterstack", "cni").unwrap_or_default()["status"]
            )
        });
    };
    space.stack("cni", &chart, &verified("missing"));
    refused("the Secret missing with the public key doesn't exist");
    space.stack("cni", &chart, &verified("other"));
    refused("signature");
    assert!(space.addon("edge").is_none() && applied("default", "configmap", "signed").is_none());
    space.stack("cni", &chart, &verified("cosign"));
    space.until_ready("edge");
    assert!(applied("default", "configmap", "signed").is_some());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_pull_secret_has_the_credentials_of_its_registry() {
    let space = Space::new("private");
    let registry = Registry::with(&Setup {
        auth: Auth::Basic {
            username: "robot",
            password: "t0p-secret",
        },
        in_memory: true,
        ..Setup::default()
    });
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("private");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(
        chart.join("Chart.yaml"),
        "{apiVersion: v2, name: private, version: 1.0.0}",
    )
    .unwrap();
    std::fs::write(chart.join("templates/a.yaml"), config("private")).unwrap();
    let target = format!("oci://{}/charts", registry.host());
    let mut push = Command::new(workspace_program("solar-render", "solar-render"));
    push.env("REGISTRY_USERNAME", "robot")
        .env("REGISTRY_PASSWORD", "t0p-secret");
    run(push.arg("push").arg(&chart).args([&target, "--plain-http"]));
    let secret = |name: &str, kind: &str, password: &str| {
        let auth = STANDARD.encode(format!("robot:{password}"));
        let text = json!({"auths": {registry.host(): {"auth": auth}}}).to_string();
        space.apply(
            &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": kind,
            "data": {".dockerconfigjson": STANDARD.encode(text)}}),
        );
    };
    secret("wrong", "kubernetes.io/dockerconfigjson", "guess");
    secret("opaque", "Opaque", "t0p-secret");
    secret("right", "kubernetes.io/dockerconfigjson", "t0p-secret");
    space.cluster("edge", &json!({"stack": "cni"}));
    let with = |name: Option<&str>| {
        let mut spec = json!({"chart": {"repository": format!("{target}/private"), "version": "1.0.0", "insecure": true}});
        if let Some(name) = name {
            spec["chart"]["pullSecretRef"] = json!({"name": name});
        }
        let chart = Chart {
            repository: String::new(),
            version: String::new(),
        };
        space.stack("cni", &chart, &spec);
    };
    let refused = |expected: &str| {
        let found = || {
            let stack = space.get("clusterstack", "cni")?;
            let downloaded = condition(&stack, "ChartDownloaded")?;
            let message = downloaded["message"].as_str()?.to_owned();
            assert!(!message.contains("t0p"), "{message}");
            (downloaded["reason"] == "DownloadFailed" && message.contains(expected)).then_some(())
        };
        wait(expected, found, || {
            format!(
                "{:#}",
                space.get("clusterstack", "cni").unwrap_or_default()["status"]
            )
        });
    };
    with(Some("opaque"));
    refused("is not of type kubernetes.io/dockerconfigjson");
    with(Some("missing"));
    refused("the pull Secret missing doesn't exist");
    with(Some("wrong"));
    refused("401");
    // Another Secret is another attempt, at once.
    with(Some("right"));
    space.until_ready("edge");
    assert!(applied("default", "configmap", "private").is_some());
}
