//! Another version of the operator takes over while a Job runs.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::harness::{Bench, run, success};

/// From an earlier version, and back from a later one. Earlier ones wrote no run, neither into the status nor on the Job.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_job_of_another_version_is_followed_to_its_end() {
    run(async {
        let mut bench = Bench::start("upgrade", &[]).await;
        for (task, version) in [("upgraded", "0.0.1"), ("rolled-back", "99.0.0")] {
            let name = format!("render-{task}");
            bench.make(task, json!({})).await;
            let pod = bench.pod(&name).await;
            let recorded = bench.until_state(task, "JobScheduled").await;
            bench.end(bench.last_operator(), true);
            let params = PatchParams::default();
            let labels = json!({"app.kubernetes.io/version": version});
            let labelled = Patch::Merge(json!({"metadata": {"labels": labels, "annotations": null}}));
            let job = bench.api::<Job>().patch(&name, &params, &labelled).await.unwrap();
            bench
                .api::<Secret>()
                .patch(&name, &params, &labelled)
                .await
                .unwrap();
            bench
                .api::<Pod>()
                .patch(&pod.name_any(), &params, &labelled)
                .await
                .unwrap();
            let status = Patch::Merge(json!({"status": {"run": null}}));
            bench.tasks().patch_status(task, &params, &status).await.unwrap();

            bench.operate(&[]);
            bench.finish(&name, 0, &success()).await;
            let status = bench.until_state(task, "JobSucceeded").await;
            assert_eq!(status.attempts.len(), 1, "{version}: {:#?}", status.attempts);
            let uid = recorded.job_ref.map(|job| job.uid);
            assert_eq!(
                (job.uid(), status.job_ref.map(|job| job.uid)),
                (uid.clone(), uid),
                "{version}"
            );
            assert_eq!(status.run.map_or(0, |run| run.lost_jobs), 0, "{version}");
            bench.until_gone::<Job>(&name).await;
            bench.until_gone::<Secret>(&name).await;
        }
    });
}
