//! Tenants whose objects are as deep and as large as an API server takes them.

use k8s_openapi::api::batch::v1::Job;
use serde_json::{Value, json};
use solar_operator::api::Scope;

use crate::harness::{Bench, message_of, reason_of, run, success};

/// What the operator may use at its peak, half of what the chart's limit gives it; beside the pages of the program, of
/// which a development build has 40 MiB.
const MEMORY_LIMIT_KIB: u64 = 64 * 1024;
/// Jobs that bear the operator's labels, and how large each is, in bytes.
const JOBS: usize = 80;
const JOB_SIZE: usize = 1_000_000;
/// Tasks with as much in annotations as an API server takes, a little less than 256 KiB.
const ANNOTATED: usize = 40;
const ANNOTATION_SIZE: usize = 255_000;
/// Tasks whose values are a list of this many short items.
const LISTS: usize = 10;
const LIST_LENGTH: usize = 300_000;

/// A task with these values, as text.
async fn make_with_values(bench: &Bench, name: &str, values: &str) {
    let task = bench.task(name, &json!({})).to_string();
    let replaced = task.replacen(r#""values":{"replicas":2}"#, &format!(r#""values":{values}"#), 1);
    assert_ne!(replaced, task);
    bench.post(Scope::Namespaced, replaced).await.unwrap();
}

/// A map in a map, so many levels in all.
fn nested(depth: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth))
}

/// One of them once stopped the watches of tasks for everybody, and no restart helped.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn however_deep_a_task_is_others_are_reconciled() {
    run(async {
        let mut bench = Bench::start("deep", &[]).await;
        make_with_values(&bench, "fits", &nested(90)).await;
        for depth in [119, 120, 1000] {
            make_with_values(&bench, &format!("deep-{depth}"), &nested(depth)).await;
        }
        bench.make("before", json!({})).await;
        bench.until_state("before", "JobScheduled").await;
        bench.until_state("fits", "JobScheduled").await;
        for depth in [119, 120, 1000] {
            let name = format!("deep-{depth}");
            let status = bench.until_state(&name, "JobFailed").await;
            assert_eq!(reason_of(&status, "JobFailed"), Some("ConfigInvalid"));
            assert!(message_of(&status, "Ready").contains("deep"), "{status:?}");
        }
        bench.end(0, false);
        bench.operate(&[]);
        bench.make("after", json!({})).await;
        bench.until_state("after", "JobScheduled").await;
        for name in ["before", "after"] {
            bench.finish(&format!("render-{name}"), 0, &success()).await;
            bench.until_state(name, "JobSucceeded").await;
        }
    });
}

/// A Job that says that it is the operator's, and isn't.
fn large_job(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {
            "app.kubernetes.io/managed-by": "solar-operator", "app.kubernetes.io/part-of": "solar",
            "app.kubernetes.io/component": "rendertask",
        }},
        "spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "x", "args": ["x".repeat(JOB_SIZE)]},
        ]}}},
    })
}

/// 80 such Jobs once took 177 MiB, and the operator was killed for it.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn memory_is_bounded_however_large_tenants_objects_are() {
    run(async {
        let mut bench = Bench::new("large").await;
        for number in 0..JOBS {
            bench
                .make_object::<Job>(large_job(&format!("large-{number}")))
                .await;
        }
        for number in 0..ANNOTATED {
            let mut task = bench.task(&format!("annotated-{number}"), &json!({}));
            let annotations = json!({"solar.opendefense.cloud/retry": "x".repeat(ANNOTATION_SIZE)});
            task["metadata"]["annotations"] = annotations;
            bench.post(Scope::Namespaced, task.to_string()).await.unwrap();
        }
        for number in 0..LISTS {
            let values = format!(r#"{{"a":[{}1]}}"#, "1,".repeat(LIST_LENGTH));
            make_with_values(&bench, &format!("list-{number}"), &values).await;
        }
        bench.operate(&["--max-concurrent-jobs=1000"]);
        for number in 0..LISTS {
            bench.until_state(&format!("list-{number}"), "JobScheduled").await;
        }
        for number in 0..ANNOTATED {
            bench
                .until_state(&format!("annotated-{number}"), "JobScheduled")
                .await;
        }
        let peak = bench.peak_memory_kib(0);
        eprintln!("peak memory: {peak} KiB");
        assert!(peak < MEMORY_LIMIT_KIB, "{peak} KiB");
    });
}
