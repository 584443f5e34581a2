//! Tasks of both kinds: charts that are pushed and signed, and what stands in their way.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use testbed::{Registry, Tool, eventually, run};

use super::bed::{Bed, LIMIT, NAMESPACE, Order, PASSWORD, ROOT, USERNAME, bed, condition, registry_setup};

/// How long the registry is away.
const OUTAGE: Duration = Duration::from_secs(30);

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_cluster_task_becomes_the_chart_that_a_laptop_would_push() {
    let bed = bed();
    let order = Order::release("frontend", bed, "first/shop-frontend");
    bed.order(order);
    let task = bed.wait(order, "Ready", "True", "JobSucceeded");
    let digest = bed.solar_render(&["digest", "testdata/release.yaml"]);
    assert_eq!(task["status"]["digest"], digest.trim());
    assert_eq!(task["status"]["outcome"], "created");
    let reference = format!("oci://{}/charts/first/shop-frontend:1.4.2", bed.registry.host());
    assert_eq!(task["status"]["chartURL"], reference.as_str());

    let pushed = bed.solar_render(&["template", "app", &reference, "--plain-http"]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    bed.solar_render(&["testdata/release.yaml", "--skip-push", "--output-dir", out]);
    let chart = fs::read_dir(folder.path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let chart = if chart.is_dir() && chart.join("Chart.yaml").is_file() {
        chart
    } else {
        folder.path().to_owned()
    };
    assert_eq!(
        pushed,
        bed.solar_render(&["template", "app", chart.to_str().unwrap()])
    );
    assert!(pushed.contains("kind: HelmRelease"));

    for kind in ["jobs", "secrets"] {
        let name = "crender-frontend";
        eventually(&format!("no {kind} of the task"), LIMIT, || {
            let names = bed.kubectl(&["-n", NAMESPACE, "get", kind, "-o", "name"]);
            (!names.lines().any(|line| line.ends_with(name))).then_some(())
        });
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tenants_task_runs_in_its_namespace_with_docker_credentials() {
    let bed = bed();
    let host = bed.registry.host();
    let text = serde_json::json!({"auths": {host: {"username": USERNAME, "password": PASSWORD}}}).to_string();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let from = format!("--from-file=.dockerconfigjson={}", file.path().display());
    let kind = "--type=kubernetes.io/dockerconfigjson";
    bed.kubectl(&[
        "-n", "tenant", "create", "secret", "generic", "docker", kind, &from,
    ]);
    let order = Order {
        namespace: Some("tenant"),
        secret: "docker",
        ..Order::release("frontend", bed, "tenant/shop-frontend")
    };
    bed.order(order);
    let task = bed.wait(order, "Ready", "True", "JobSucceeded");
    let digest = bed.solar_render(&["digest", "testdata/release.yaml"]);
    assert_eq!(task["status"]["digest"], digest.trim());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_wrong_password_has_its_reason_and_a_retry_with_the_right_one_succeeds() {
    let bed = bed();
    let order = Order {
        secret: "wrong",
        ..Order::release("wrong-password", bed, "auth/shop-frontend")
    };
    bed.order(order);
    let task = bed.wait(order, "JobFailed", "True", "AuthFailed");
    assert_eq!(condition(&task, "Stalled")["status"], "True");
    assert_eq!(condition(&task, "Ready")["reason"], "AuthFailed");
    // No second pod tried the same password.
    assert_eq!(task["status"]["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(task["status"]["attempts"][0]["exitCode"], 4);
    assert!(!task.to_string().contains("guess"));

    bed.make_secret(NAMESPACE, "wrong", PASSWORD);
    let again = "solar.opendefense.cloud/retry=1";
    bed.kubectl(&["annotate", "clusterrendertask", order.name, again]);
    let task = bed.wait(order, "Ready", "True", "JobSucceeded");
    assert_ne!(condition(&task, "JobFailed")["status"], "True");
    let attempts = task["status"]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2, "{}", bed.story(order));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn another_chart_at_the_tag_is_a_conflict_and_stays() {
    let bed = bed();
    let order = Order::release("conflict", bed, "conflict/shop-frontend");
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.yaml");
    let text = fs::read_to_string(Path::new(ROOT).join(order.config)).unwrap();
    fs::write(&other, text.replace("replicas: 3", "replicas: 4")).unwrap();
    let reference = format!(
        "oci://{}/charts/conflict/shop-frontend:1.4.2",
        bed.registry.host()
    );
    let other = other.to_str().unwrap();
    bed.solar_render(&[other, "--url", &reference, "--plain-http"]);

    bed.order(order);
    let task = bed.wait(order, "JobFailed", "True", "Conflict");
    assert_eq!(task["status"]["attempts"][0]["exitCode"], 3);
    let there = bed.solar_render(&["template", "app", &reference, "--plain-http"]);
    assert!(there.contains("replicas: 4"));
}

/// A Secret with a key pair that cosign made, and the public key's file.
pub(super) fn make_key(bed: &Bed, folder: &Path, name: &str) -> PathBuf {
    const PASSWORD: &str = "p@ss $(word)";
    run(Tool::Cosign
        .command(folder)
        .arg("generate-key-pair")
        .env("COSIGN_PASSWORD", PASSWORD));
    let password = folder.join("cosign.password");
    fs::write(&password, PASSWORD).unwrap();
    let files = ["cosign.key", "cosign.pub", "cosign.password"].map(|file| {
        let path = folder.join(file);
        format!("--from-file={file}={}", path.display())
    });
    let make = ["-n", NAMESPACE, "create", "secret", "generic", name];
    bed.kubectl(&[&make[..], &files.each_ref().map(String::as_str)].concat());
    folder.join("cosign.pub")
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_is_signed_by_its_job_for_us_and_for_cosign() {
    let bed = bed();
    let folder = tempfile::tempdir().unwrap();
    let public = make_key(bed, folder.path(), "edge-cosign");
    let digest = bed.solar_render(&["digest", "testdata/release.yaml"]);
    let order = Order {
        sign_key: Some("edge-cosign"),
        expected_digest: Some(digest.trim()),
        ..Order::release("signed", bed, "signed/shop-frontend")
    };
    bed.order(order);
    let task = bed.wait(order, "Ready", "True", "JobSucceeded");
    let message = condition(&task, "Ready")["message"].as_str().unwrap();
    assert_eq!(message, format!("created, signed: {}", digest.trim()));
    let reference = format!("{}/charts/signed/shop-frontend:1.4.2", bed.registry.host());
    let key = public.to_str().unwrap();
    bed.solar_render(&[
        "verify",
        &format!("oci://{reference}"),
        "--plain-http",
        "--key",
        key,
    ]);
    let mut verify = bed.node.command(&Tool::Cosign.path());
    verify.env("HOME", folder.path());
    verify.args([
        "verify",
        "--allow-http-registry",
        "--insecure-ignore-tlog",
        "--key",
        key,
    ]);
    verify.args(["--registry-username", USERNAME, "--registry-password", PASSWORD]);
    let verified = run(verify.arg(&reference));
    assert!(verified.contains(digest.trim()), "{verified}");
    assert!(
        !bed.story(order).contains("BEGIN"),
        "no key in status, events or log"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_with_another_digest_than_expected_is_refused_and_not_pushed() {
    let bed = bed();
    let other = format!("sha256:{}", "0".repeat(64));
    let order = Order {
        expected_digest: Some(&other),
        ..Order::release("unexpected", bed, "unexpected/shop-frontend")
    };
    bed.order(order);
    let task = bed.wait(order, "JobFailed", "True", "Conflict");
    assert_eq!(task["status"]["attempts"][0]["class"], "digest");
    let mut tags = bed.node.command(&bed.renderer);
    let repository = format!("oci://{}/charts/unexpected/shop-frontend", bed.registry.host());
    tags.args(["tags", &repository, "--plain-http"]);
    tags.env("REGISTRY_USERNAME", USERNAME)
        .env("REGISTRY_PASSWORD", PASSWORD);
    let output = tags.output().unwrap();
    assert!(output.stdout.is_empty() && !output.status.success(), "{output:?}");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_registry_that_is_away_for_a_while_is_waited_for() {
    let bed = bed();
    let mut registry = Registry::with(&registry_setup(&bed.node));
    let host = registry.host().to_owned();
    let order = Order {
        registry: &host,
        ..Order::release("outage", bed, "outage/shop-frontend")
    };
    registry.stop();
    bed.order(order);
    bed.wait(order, "JobScheduled", "True", "JobScheduled");
    thread::sleep(OUTAGE);
    let task = bed.task(order);
    assert_ne!(
        condition(&task, "JobFailed")["status"],
        "True",
        "{}",
        bed.story(order)
    );
    registry.start_again();
    let task = bed.wait(order, "Ready", "True", "JobSucceeded");
    assert_eq!(task["status"]["outcome"], "created");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_image_that_there_is_none_of_is_named_while_the_task_waits() {
    let bed = bed();
    let order = Order {
        label: "broken=",
        ..Order::release("no-image", bed, "no-image/shop-frontend")
    };
    bed.make_secret("broken-system", "push", PASSWORD);
    bed.order(order);
    eventually("the pod's trouble in the condition", LIMIT, || {
        let task = bed.task(order);
        let scheduled = condition(&task, "JobScheduled");
        let message = scheduled["message"].as_str().unwrap_or("");
        let named = ["ErrImagePull", "ImagePullBackOff"]
            .iter()
            .any(|reason| message.contains(reason));
        (scheduled["status"] == "True" && named).then_some(())
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tenant_can_read_neither_the_platforms_secrets_nor_its_jobs() {
    let bed = bed();
    let cluster = bed.node.cluster();
    let account = cluster.service_account("tenant", "developer");
    let role = ["--clusterrole=edit", "--serviceaccount=tenant:developer"];
    bed.kubectl(&[&["-n", "tenant", "create", "rolebinding", "developer"], &role[..]].concat());
    for (arguments, allowed) in [
        (["-n", NAMESPACE, "get", "secret", "push"], false),
        (["-n", NAMESPACE, "get", "secrets", "-o=name"], false),
        (["-n", NAMESPACE, "get", "jobs", "-o=name"], false),
        (["-n", NAMESPACE, "get", "pods", "-o=name"], false),
        (
            ["get", "clusterrendertasks", "-o", "name", "--ignore-not-found"],
            false,
        ),
        (["-n", "tenant", "get", "rendertasks", "-o=name"], true),
    ] {
        let mut command = cluster.kubectl_command(&arguments);
        let output = command.env("KUBECONFIG", &account).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), allowed, "{arguments:?}: {stderr}");
        assert!(allowed || stderr.contains("Forbidden"), "{arguments:?}: {stderr}");
    }
}
