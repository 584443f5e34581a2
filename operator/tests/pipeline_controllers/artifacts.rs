//! RenderArtifacts: what keeps a tag, the Job that deletes it, and how that ends. Pods' ends are written as a kubelet
//! would.

use serde_json::{Value, json};
use testbed::eventually;

use crate::{CLUSTER, LIMIT, Space, log};

const REPOSITORY: &str = "bootstrap-edge";

/// A namespace with an artifact, whose Registry is in the other one.
fn space(name: &str) -> Space {
    let space = Space::new(name);
    let registry = json!({"hostname": "h.example", "solarSecretRef": {"name": "push"}, "plainHTTP": true});
    space.apply(&space.other, "Registry", "charts", json!({}), registry);
    make_secret(&space.other, "push", "p");
    space
}

fn make_secret(namespace: &str, name: &str, password: &str) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
        "stringData": {"username": "u", "password": password}});
    CLUSTER.apply(&secret.to_string());
}

impl Space {
    fn artifact(&self, name: &str, spec: &Value) {
        let mut whole = json!({
            "baseURL": "h.example", "repository": format!("{}/{REPOSITORY}", self.own), "tag": "v0.0.1",
            "renderTaskRef": "t", "registryRef": {"name": "charts", "namespace": self.other},
        });
        for (key, value) in spec.as_object().unwrap() {
            whole[key] = value.clone();
        }
        self.apply(&self.own, "RenderArtifact", name, json!({}), whole);
    }

    /// As the binder makes it: with the label that the clean-up asks by.
    fn bind(&self, name: &str, artifact: &str, owner_kind: &str, registry: &Value) {
        let spec = json!({"renderArtifactRef": {"name": artifact}, "ownerKind": owner_kind, "ownerName": "edge",
            "ownerNamespace": self.own, "registryRef": registry});
        let labels = json!({"solar.opendefense.cloud/render-artifact": artifact});
        self.apply(&self.own, "RenderBinding", name, labels, spec);
    }

    fn registry(&self) -> Value {
        json!({"name": "charts", "namespace": self.other})
    }

    /// The Job of the other namespace that is not the given one.
    fn job(&self, not: &str) -> Value {
        eventually("a Job", LIMIT, || {
            let jobs = CLUSTER.kubectl(&["-n", &self.other, "get", "jobs", "-o", "json"]);
            let jobs: Value = serde_json::from_str(&jobs).unwrap();
            let mut jobs = jobs["items"].as_array().unwrap().iter();
            jobs.find(|job| job["metadata"]["uid"] != not).cloned()
        })
    }

    fn count_jobs(&self) -> usize {
        let names = CLUSTER.kubectl(&["-n", &self.other, "get", "jobs", "-o", "name"]);
        names.lines().count()
    }

    /// Ends the Job's pod.
    fn finish(&self, job: &Value, exit_code: i32, message: &Value) {
        let uid = job["metadata"]["uid"].as_str().unwrap();
        let label = format!("batch.kubernetes.io/controller-uid={uid}");
        let pod = eventually("a pod", LIMIT, || {
            let pods = CLUSTER.kubectl(&["-n", &self.other, "get", "pods", "-l", &label, "-o", "name"]);
            pods.lines().next().map(str::to_owned)
        });
        let phase = if exit_code == 0 { "Succeeded" } else { "Failed" };
        let status = json!({"status": {"phase": phase, "containerStatuses": [{
            "name": "renderer", "image": "x", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": exit_code, "message": message.to_string(), "reason": "x"}},
        }]}});
        let status = status.to_string();
        CLUSTER.kubectl(&[
            "-n",
            &self.other,
            "patch",
            &pod,
            "--subresource=status",
            "--type=merge",
            "-p",
            &status,
        ]);
    }

    fn until_cleanup(&self, artifact: &str, reason: &str) -> String {
        let path = r#"{.status.conditions[?(@.type=="OCICleanup")].reason}"#;
        self.until(artifact, path, reason);
        self.message(artifact)
    }
}

fn deleted() -> Value {
    json!({"schema": 1, "outcome": "deleted", "reference": "h.example/x:v0.0.1"})
}

fn failure(class: &str) -> Value {
    json!({"schema": 1, "error": {"class": class, "transient": false, "message": format!("what {class} said")}})
}

fn arguments(job: &Value) -> String {
    job.pointer("/spec/template/spec/containers/0/args")
        .unwrap()
        .to_string()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_last_binding_takes_the_tag_with_it() {
    let space = space("unbound");
    space.grant("RenderArtifact", "Registry");
    space.bind("one", "art", "Test", &space.registry());
    space.bind("two", "art", "Test", &space.registry());
    space.artifact("art", &json!({}));
    space.until_reason("ra/art", "Ready");
    space.until(
        "ra/art",
        "{.status.chartURL}",
        "oci://h.example/unbound/bootstrap-edge:v0.0.1",
    );
    space.until_reason("rbin/one", "Ready");
    space.delete(&space.own, "rbin/one");
    // Deleted by hand: it stays for the other one.
    space.delete(&space.own, "ra/art");
    space.until_reason("ra/art", "InUse");
    assert!(
        space.message("ra/art").contains("two"),
        "{}",
        space.message("ra/art")
    );
    assert_eq!(space.count_jobs(), 0);
    space.delete(&space.own, "rbin/two");
    let job = space.job("");
    let expected = r#"["delete","oci://h.example/unbound/bootstrap-edge:v0.0.1","--max-compared-tags=100","--plain-http=true"]"#;
    assert_eq!(arguments(&job), expected);
    space.finish(&job, 0, &deleted());
    space.until_gone(&space.own, "ra/art");
    eventually("no Job", LIMIT, || (space.count_jobs() == 0).then_some(()));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_artifact_without_a_binding_is_deleted_and_its_tasks_before_the_tag() {
    let space = space("unneeded");
    space.grant("RenderArtifact", "Registry");
    let task = json!({
        "type": "release", "repository": "unneeded/bootstrap-edge", "tag": "v0.0.1", "baseURL": "h.example",
        "release": {"chart": {"name": "shop", "version": "1.0.0"}, "input": {"component": {"name": "shop"},
            "resources": {"chart": {"repository": "h.example/c", "tag": "1"}},
            "entrypoint": {"resourceName": "chart", "type": "helm"}}},
        "ownerKind": "Target", "ownerName": "edge", "ownerNamespace": space.own,
    });
    let labels = json!({"solar.opendefense.cloud/render-artifact": "art"});
    // With the label of the artifact, but for another tag.
    let mut other = task.clone();
    other["tag"] = "v0.0.2".into();
    other["pushSecretRef"] = json!({"name": "missing"});
    space.apply(&space.other, "RenderTask", "other", labels.clone(), other);
    space.apply(&space.other, "RenderTask", "t", labels, task);
    let pushing = space.job("");
    assert!(arguments(&pushing).contains("--url="), "{pushing}");
    space.artifact("art", &json!({}));
    space.until_gone(&space.other, "rt/t");
    let job = space.job(pushing["metadata"]["uid"].as_str().unwrap());
    assert!(arguments(&job).contains("delete"), "{job}");
    space.finish(
        &job,
        0,
        &json!({"schema": 1, "outcome": "absent", "reference": "h.example/x:v0.0.1"}),
    );
    space.until_gone(&space.own, "ra/art");
    CLUSTER.kubectl(&["-n", &space.other, "get", "rt/other"]);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_failed_clean_up_says_why_and_is_tried_again() {
    let space = space("refused");
    space.grant("RenderArtifact", "Registry");
    space.artifact("art", &json!({}));
    let first = space.job("");
    space.finish(&first, 4, &failure("auth"));
    assert_eq!(
        space.until_cleanup("ra/art", "AuthFailed"),
        "AuthFailed: what auth said"
    );
    // Other credentials are taken at once, or when it is their time.
    make_secret(&space.other, "push", "mended");
    let uid = |job: &Value| job["metadata"]["uid"].as_str().unwrap().to_owned();
    let second = space.job(&uid(&first));
    space.finish(&second, 4, &failure("refused"));
    assert_eq!(
        space.until_cleanup("ra/art", "DeleteFailed"),
        "RegistryRefused: what refused said"
    );
    CLUSTER.kubectl(&[
        "-n",
        &space.own,
        "annotate",
        "ra/art",
        "solar.opendefense.cloud/retry=1",
    ]);
    let third = space.job(&uid(&second));
    space.finish(&third, 0, &deleted());
    space.until_gone(&space.own, "ra/art");
    let events = CLUSTER.kubectl(&[
        "-n",
        &space.own,
        "get",
        "events",
        "-o",
        "jsonpath={.items[*].reason}",
    ]);
    assert!(
        events.contains("AuthFailed") && events.contains("DeleteFailed"),
        "{events}"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn credentials_are_lent_for_the_own_host_and_namespace_through_a_grant() {
    let space = space("borrowed");
    space.artifact("other", &json!({"repository": "somebody/bootstrap-edge"}));
    space.artifact("host", &json!({"baseURL": "evil.example"}));
    for artifact in ["ra/other", "ra/host"] {
        let message = space.until_cleanup(artifact, "AuthFailed");
        assert!(message.contains("ReferenceGrant"), "{message}");
    }
    // The grant that Targets push by lends nothing to artifacts.
    space.grant("Target", "Registry");
    space.grant("RenderArtifact", "Registry");
    let path = r#"{.status.conditions[?(@.type=="Ready")].message}"#;
    let way_out = "; or set the annotation solar.opendefense.cloud/keep-tag to true, and the tag is left in the registry";
    let other = "Registry borrowed-other/charts is in another namespace, and namespace borrowed may only use its credentials for charts below h.example/borrowed";
    space.until("ra/other", path, &format!("{other}{way_out}"));
    let host = "Registry borrowed-other/charts is for host h.example, and the chart is at evil.example";
    space.until("ra/host", path, &format!("{host}{way_out}"));
    // A Target that was made again once waited for it for ever.
    let keep = "solar.opendefense.cloud/keep-tag=true";
    CLUSTER.kubectl(&["-n", &space.own, "annotate", "ra/host", keep]);
    space.until_gone(&space.own, "ra/host");
    assert_eq!(space.count_jobs(), 0, "{}", log());
    // Artifacts that can't be cleaned up don't block a namespace's deletion, when the Registry's is deleted too.
    CLUSTER.kubectl(&["delete", "namespace", &space.own, &space.other, "--wait=false"]);
    for namespace in [&space.own, &space.other] {
        let gone = ["wait", "namespace", namespace, "--for=delete", "--timeout=120s"];
        let output = CLUSTER.kubectl_command(&gone).output().unwrap();
        assert!(output.status.success(), "{namespace}: {}", log());
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn credentials_are_those_of_a_registry_that_a_binding_names() {
    let space = space("pinned");
    let (one, two) = (json!({"name": "one"}), json!({"name": "two"}));
    space.bind("b-1", "art", "Test", &one);
    space.bind("b-2", "art", "Test", &two);
    space.artifact("art", &json!({"registryRef": {"name": "one"}}));
    space.until_reason("ra/art", "Ready");
    space.delete(&space.own, "rbin/b-1");
    space.until("ra/art", "{.spec.registryRef.name}", "two");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_binding_is_deleted_with_its_target() {
    let space = space("orphan");
    let registry = json!({"renderRegistryRef": {"name": "charts"}});
    space.apply(&space.own, "Target", "edge", json!({}), registry);
    space.bind("one", "art", "Target", &space.registry());
    space.until_reason("rbin/one", "NotFound");
    space.delete(&space.own, "tgt/edge");
    space.until_gone(&space.own, "rbin/one");
}
