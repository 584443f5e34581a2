//! ClusterRenderTasks: everything of theirs is in the operator's namespace.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use kube::core::PartialObjectMeta;
use serde_json::json;

use crate::harness::{Bench, DIGEST, message_of, run, success};

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_cluster_task_runs_where_no_tenant_can_read() {
    run(async {
        let bench = Bench::start("platform", &["--require-registry-host"]).await;
        bench.make_namespace("platform-tenant").await;
        let push = json!({"metadata": {"name": "push"}, "stringData": {"username": "u"}});
        bench.make_object::<Secret>(push).await;
        let spec = json!({"pushSecretRef": {"name": "push"}, "ownerNamespace": "platform-tenant"});
        bench.make_cluster_task("platform-shop", spec).await;
        let api = bench.cluster_tasks();
        let is = |wanted: &'static str| {
            move |status: &solar_operator::api::TaskStatus| status.state.as_deref() == Some(wanted)
        };
        let status = bench
            .until_in(&api, "platform-shop", "mismatched", is("RegistryHostMismatch"))
            .await;
        assert!(message_of(&status, "Ready").contains("annotate it"));
        api.delete("platform-shop", &DeleteParams::default())
            .await
            .unwrap();
        let annotation =
            json!({"metadata": {"annotations": {"solar.opendefense.cloud/registry-host": "h.example"}}});
        let params = kube::api::PatchParams::default();
        bench
            .api::<Secret>()
            .patch("push", &params, &kube::api::Patch::Merge(&annotation))
            .await
            .unwrap();
        let spec = json!({"pushSecretRef": {"name": "push"}, "ownerNamespace": "platform-tenant"});
        bench.make_cluster_task("platform-second", spec).await;
        bench
            .until_in(&api, "platform-second", "scheduled", is("JobScheduled"))
            .await;
        let elsewhere: Api<PartialObjectMeta<Secret>> =
            Api::namespaced(bench.client.clone(), "platform-tenant");
        assert!(
            elsewhere
                .list(&Default::default())
                .await
                .unwrap()
                .items
                .is_empty()
        );
        bench.finish("crender-platform-second", 0, &success()).await;
        let status = bench
            .until_in(&api, "platform-second", "succeeded", is("JobSucceeded"))
            .await;
        assert_eq!(status.digest.as_deref(), Some(DIGEST));
        bench.until_gone::<Job>("crender-platform-second").await;
        bench
            .until_event("default", "platform-second", "JobSucceeded")
            .await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_a_deleted_cluster_task_owned_is_collected() {
    run(async {
        let bench = Bench::start("collected", &[]).await;
        bench.make_cluster_task("collected-shop", json!({})).await;
        bench.until_job("crender-collected-shop", None).await;
        bench
            .cluster_tasks()
            .delete("collected-shop", &DeleteParams::default())
            .await
            .unwrap();
        bench.until_gone::<Job>("crender-collected-shop").await;
        bench.until_gone::<Secret>("crender-collected-shop").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_job_namespace_that_is_missing_or_deleted_is_reported() {
    run(async {
        let bench = Bench::start("missing", &["--job-namespace=missing-jobs"]).await;
        let api = bench.cluster_tasks();
        let is = |wanted: &'static str| {
            move |status: &solar_operator::api::TaskStatus| status.state.as_deref() == Some(wanted)
        };
        bench
            .make_cluster_task("missing-one", json!({"pushSecretRef": {"name": "push"}}))
            .await;
        bench.make_cluster_task("missing-two", json!({})).await;
        for name in ["missing-one", "missing-two"] {
            bench
                .until_in(&api, name, "not found", is("NamespaceNotFound"))
                .await;
        }
        bench.make_namespace("missing-jobs").await;
        let held: Api<ConfigMap> = Api::namespaced(bench.client.clone(), "missing-jobs");
        let map = json!({"metadata": {"name": "holds", "finalizers": ["example.org/holds"]}});
        held.create(&PostParams::default(), &serde_json::from_value(map).unwrap())
            .await
            .unwrap();
        let namespaces: Api<Namespace> = Api::all(bench.client.clone());
        namespaces
            .delete("missing-jobs", &DeleteParams::default())
            .await
            .unwrap();
        bench
            .make_cluster_task("missing-three", json!({"pushSecretRef": {"name": "push"}}))
            .await;
        bench
            .until_in(&api, "missing-three", "terminating", is("NamespaceTerminating"))
            .await;
    });
}
