//! Targets that are deleted while a Job pushes: it has pushed, and is killed before it has reported the digest.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testbed::{Registry, Tool, eventually, run, workspace_program};

use super::fleet::Refusal;
use super::{BED, GROUP, SYSTEM, Space, apply, message};

const LIMIT: Duration = Duration::from_secs(120);

impl Space {
    /// A Target with one Release, and the RenderTask whose label has been set, once its Job has pushed to a URL with
    /// this part and goes on.
    fn until_pushing(&self, part: &str, label: &str) -> Value {
        BED.1.refuse(part, Refusal::Linger);
        self.release(&self.own, "shop", &json!({}));
        self.target(&json!({}), &json!({}));
        let selector = format!("{GROUP}/owner-namespace={},{label}", self.own);
        let tasks = ["-n", SYSTEM, "get", "rt", "-l", &selector, "-o", "json"];
        let task = eventually("its task", LIMIT, || {
            let tasks: Value = serde_json::from_str(&BED.0.cluster.kubectl(&tasks)).unwrap();
            tasks["items"].as_array()?.first().cloned()
        });
        let name = task["metadata"]["name"].as_str().unwrap();
        let scheduled = "--for=jsonpath={.status.state}=JobScheduled";
        let wait = ["-n", SYSTEM, "wait", "rt", name, scheduled, "--timeout=120s"];
        BED.0.cluster.kubectl(&wait);
        eventually("it is pushed", LIMIT, || BED.1.holds(&url(&task)).then_some(()));
        task
    }

    /// Lets the operator delete tags, and waits until it has.
    fn until_deleted(&self, task: &Value) {
        let name = format!("{}-artifacts", self.own);
        self.grant(SYSTEM, &name, ("RenderArtifact", &self.own), "Registry");
        eventually("it is deleted", LIMIT, || {
            (!BED.1.holds(&url(task))).then_some(())
        });
        eventually("no artifacts", LIMIT, || {
            let left = self.kubectl(&["get", "ra,rbin", "-o", "name"]);
            left.is_empty().then_some(())
        });
    }
}

fn url(task: &Value) -> String {
    let text = |field: &str| task["spec"][field].as_str().unwrap();
    format!("oci://charts.example/{}:{}", text("repository"), text("tag"))
}

/// Its chart once stayed in the registry for ever.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_that_was_being_pushed_when_its_target_went_is_deleted_too() {
    let space = Space::new("pushing");
    let part = "/pushing/pushing/";
    let task = space.until_pushing(part, &format!("!{GROUP}/bootstrap-input"));
    space.kubectl(&["delete", "tgt", "edge", "--timeout=120s"]);
    space.until_deleted(&task);
    BED.1.accept(part);
}

/// Under the number of a bootstrap chart there may be somebody else's content, and only the digest tells: while nobody
/// knew that of a Job that was killed, its chart once stayed in the registry for ever.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_bootstrap_chart_that_was_being_pushed_is_deleted_if_it_is_what_its_config_renders_to() {
    let space = Space::new("booting");
    let part = "/booting/bootstrap-edge";
    let task = space.until_pushing(part, &format!("{GROUP}/bootstrap-input"));
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.json");
    let block = json!({"type": "bootstrap", "bootstrap": task["spec"]["bootstrap"]});
    fs::write(&config, block.to_string()).unwrap();
    let renderer = workspace_program("solar-render", "solar-render");
    let digest = run(Command::new(renderer).arg("digest").arg(&config));

    space.kubectl(&["delete", "tgt", "edge", "--timeout=120s"]);
    // Without a grant for the Registry the tag, and what names it, are still there.
    let digests = eventually("its artifact", LIMIT, || {
        let artifacts = space.kubectl(&["get", "ra", "-o", "json"]);
        let artifacts: Value = serde_json::from_str(&artifacts).unwrap();
        let tag = &task["spec"]["repository"];
        let all = artifacts["items"].as_array()?.iter();
        let of_tag: Vec<&Value> = all.filter(|one| one["spec"]["repository"] == *tag).collect();
        let annotation = |one: &&Value| one["metadata"]["annotations"][format!("{GROUP}/digest")].clone();
        let digests: Vec<Value> = of_tag.iter().map(annotation).collect();
        (!digests.is_empty()).then_some(digests)
    });
    assert_eq!(digests, [digest.trim()]);
    space.until_deleted(&task);
    BED.1.accept(part);
}

/// The registry takes the chart, and is away before the Job knows: the Job fails, and is not dropped before the Release
/// has changed. Its tag once stayed in the registry for ever.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_whose_job_failed_after_the_push_is_deleted_in_the_registry_when_its_task_is_dropped() {
    let registry = Registry::start();
    let host = registry.host();
    let space = Space::new("lost");
    let spec = json!({"hostname": host, "plainHTTP": true, "solarSecretRef": {"name": "push"}});
    apply(&BED.0, SYSTEM, "Registry", "lost", &json!({}), &spec);
    space.grant(
        SYSTEM,
        "lost-artifacts",
        ("RenderArtifact", &space.own),
        "Registry",
    );
    BED.1.refuse(host, Refusal::LostAfterPush);
    space.release(&space.own, "shop", &json!({}));
    let spec = json!({"renderRegistryRef": {"name": "lost", "namespace": SYSTEM}});
    apply(&BED.0, &space.own, "Target", "edge", &json!({}), &spec);
    let target = space.until_reason("Ready", "ReleaseFailed");
    let reason = message(&target, "Ready");
    assert!(reason.contains("RegistryUnavailable"), "{reason}");
    let tags = || {
        let repository = format!("{host}/lost/lost/release-shop");
        let mut list = Tool::Crane.command(registry.home());
        run(list.args(["ls", "--insecure", &repository]))
    };
    let pushed = tags();
    assert_eq!(pushed.lines().count(), 1, "{pushed}");

    BED.1.accept(host);
    space.release(&space.own, "shop", &json!({"values": {"replicas": 2}}));
    space.until_reason("Ready", "Ready");
    eventually("the tag of the dropped task is deleted", LIMIT, || {
        let tags = tags();
        (tags.lines().count() == 1 && tags != pushed).then_some(())
    });
    let artifacts = space.kubectl(&["get", "ra", "-o", "name"]);
    assert_eq!(artifacts.lines().count(), 2, "{artifacts}");
}
