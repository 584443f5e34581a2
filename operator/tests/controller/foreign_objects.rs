//! Objects of other clients that only resemble a task's.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use solar_operator::api::TaskStatus;

use crate::harness::{Bench, DIGEST, run, success, terminated, within};

/// The labels that the operator's watches select by.
fn labels(component: &str) -> Value {
    json!({
        "app.kubernetes.io/managed-by": "solar-operator", "app.kubernetes.io/part-of": "solar",
        "app.kubernetes.io/component": component,
    })
}

/// Whoever knew the UID of a Job could once make a pod in a namespace of their own that spoke for it.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_pod_in_another_namespace_does_not_speak_for_a_cluster_tasks_job() {
    run(async {
        // In all namespaces, as most are.
        let bench = Bench::start("forged", &["--label-selector=bench=forged"]).await;
        bench.make_namespace("forger").await;
        let api = bench.cluster_tasks();
        bench.make_cluster_task("forged-shop", json!({})).await;
        let job = bench.until_job("crender-forged-shop", None).await;
        let pods: Api<Pod> = Api::namespaced(bench.client.clone(), "forger");
        // The finalizer keeps it from the garbage collector.
        let pod = json!({
            "metadata": {
                "name": "forged", "labels": labels("clusterrendertask"), "finalizers": ["example.org/holds"],
                "ownerReferences": [{
                    "apiVersion": "batch/v1", "kind": "Job", "name": job.name_any(), "uid": job.uid(), "controller": true,
                }],
            },
            "spec": {"restartPolicy": "Never", "containers": [{"name": "renderer", "image": "x"}]},
        });
        let pod = serde_json::from_value(pod).unwrap();
        pods.create(&PostParams::default(), &pod).await.unwrap();
        let lie = format!("sha256:{}", "f".repeat(64));
        let params = PatchParams::default();
        let mut end = terminated(0, "Completed", &lie);
        // The newest of the good ends would speak.
        end["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] =
            "2099-01-01T00:00:00Z".into();
        let end = Patch::Merge(end);
        pods.patch_status("forged", &params, &end).await.unwrap();
        // Its own pod ends after that: what is watched is seen in order.
        bench.finish("crender-forged-shop", 0, &success()).await;
        let done = |status: &TaskStatus| status.state.as_deref() == Some("JobSucceeded");
        let status = bench.until_in(&api, "forged-shop", "succeeded", done).await;
        assert_eq!(status.digest.as_deref(), Some(DIGEST));
        assert_eq!(status.attempts.len(), 1, "{:?}", status.attempts);
        let free = json!({"metadata": {"finalizers": null}});
        pods.patch("forged", &params, &Patch::Merge(&free)).await.unwrap();
    });
}

/// Every Job that named a finished task as its owner once held a slot for as long as it was there.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_job_that_only_says_that_a_task_owns_it_takes_no_slot() {
    run(async {
        let bench = Bench::start("claims", &["--max-concurrent-jobs=1"]).await;
        bench.make("done", json!({})).await;
        bench.finish("render-done", 0, &success()).await;
        bench.until_state("done", "JobSucceeded").await;
        bench.until_gone::<Job>("render-done").await;
        let uid = bench.tasks().get("done").await.unwrap().uid();
        let stray = json!({
            "metadata": {"name": "stray", "labels": labels("rendertask"), "ownerReferences": [{
                "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": "RenderTask", "name": "done", "uid": uid,
                "controller": true,
            }]},
            "spec": {"suspend": true, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}],
            }}},
        });
        bench.make_object::<Job>(stray).await;
        let suspended = |job: Option<&Job>| {
            let status = job.and_then(|job| job.status.as_ref());
            status.is_some_and(|status| status.conditions.is_some())
        };
        let waiting = kube::runtime::wait::await_condition(bench.api::<Job>(), "stray", suspended);
        within("the Job controller", waiting).await.unwrap();
        bench.make("shop", json!({})).await;
        bench.until_state("shop", "JobScheduled").await;
        let jobs = bench.api::<Job>();
        jobs.delete("stray", &DeleteParams::background()).await.unwrap();
    });
}
