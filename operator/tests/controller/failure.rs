//! Tasks whose Job ends badly, or vanishes.

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::harness::{Bench, DIGEST, failure, message_of, reason_of, run, status_of, success};

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_failure_is_final_when_its_job_and_secret_are_gone() {
    run(async {
        let bench = Bench::start("failed", &[]).await;
        bench.make("shop", json!({"failedJobTTL": 3})).await;
        let job = bench.until_job("render-shop", None).await;
        bench.finish("render-shop", 3, &failure("conflict")).await;
        let status = bench.until_state("shop", "JobFailed").await;
        assert_eq!(reason_of(&status, "JobFailed"), Some("Conflict"));
        assert_eq!(message_of(&status, "Ready"), "what conflict said");
        assert_eq!(
            (status_of(&status, "Ready"), status_of(&status, "Stalled")),
            (Some("False"), Some("True"))
        );
        bench.until_event("failed", "shop", "JobFailed").await;
        bench.delete_job("render-shop").await;
        bench.until_gone::<Job>("render-shop").await;
        bench.until_gone::<Secret>("render-shop").await;
        let gone = |status: &solar_operator::api::TaskStatus| status.config_secret_ref.is_none();
        let after = bench.until("shop", "recorded the clean-up", gone).await;
        assert_eq!(after.job_ref.map(|job| job.uid), job.uid());
        // Another task is reconciled after it, and it is not run again.
        bench.make("other", json!({})).await;
        bench.until_state("other", "JobScheduled").await;
        assert_eq!(bench.count_jobs().await, 1);
        assert!(bench.secret("render-shop").await.is_none());
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn each_new_value_of_the_annotation_runs_a_failed_task_once_more() {
    run(async {
        let bench = Bench::start("retry", &[]).await;
        bench.make("shop", json!({})).await;
        let first = bench.until_job("render-shop", None).await.uid();
        bench.finish("render-shop", 1, &failure("config")).await;
        let status = bench.until_state("shop", "JobFailed").await;
        assert_eq!(reason_of(&status, "JobFailed"), Some("ConfigInvalid"));
        bench.ask("shop", "1").await;
        bench.until_job("render-shop", first.as_deref()).await;
        bench.until_event("retry", "shop", "RetryRequested").await;
        bench.finish("render-shop", 0, &success()).await;
        let status = bench.until_state("shop", "JobSucceeded").await;
        assert_eq!(
            (status.digest.as_deref(), reason_of(&status, "JobFailed")),
            (Some(DIGEST), None)
        );
        assert_eq!(status.attempts.len(), 2, "of both runs");
        assert_eq!(status.run.and_then(|run| run.retry).as_deref(), Some("1"));
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn refused_credentials_are_tried_once_more_when_the_secret_has_changed() {
    run(async {
        let mut bench = Bench::start("rotation", &[]).await;
        let secret = json!({"metadata": {"name": "push"}, "stringData": {"username": "u", "password": "first-s3cret"}});
        bench.make_object::<Secret>(secret).await;
        bench
            .make("shop", json!({"pushSecretRef": {"name": "push"}}))
            .await;
        let first = bench.until_job("render-shop", None).await.uid();
        bench.finish("render-shop", 4, &failure("auth")).await;
        bench.until_reason("shop", "JobFailed", "AuthFailed").await;
        bench.end(0, true);
        let new = json!({"stringData": {"password": "second-s3cret"}});
        let secrets = bench.api::<Secret>();
        secrets
            .patch("push", &PatchParams::default(), &Patch::Merge(&new))
            .await
            .unwrap();
        // A new operator reconciles at once, not in five minutes.
        bench.operate(&[]);
        bench.until_job("render-shop", first.as_deref()).await;
        bench.finish("render-shop", 4, &failure("auth")).await;
        let status = bench.until_reason("shop", "JobFailed", "AuthFailed").await;
        assert!(status.run.as_ref().is_some_and(|run| run.after_rotation));
        assert!(!format!("{}{}{status:?}", bench.log(0), bench.log(1)).contains("s3cret"));
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_job_that_vanishes_is_made_again_and_the_third_time_the_task_fails() {
    run(async {
        let bench = Bench::start("lost", &[]).await;
        bench.make("shop", json!({})).await;
        let mut last = None;
        for lost in 0..3_u32 {
            let known = |status: &solar_operator::api::TaskStatus| {
                let job = status.job_ref.as_ref().map(|job| job.uid.clone());
                job.is_some() && job != last && status.run.as_ref().is_some_and(|run| run.lost_jobs == lost)
            };
            let status = bench.until("shop", "made a Job", known).await;
            last = status.job_ref.map(|job| job.uid);
            bench.delete_job("render-shop").await;
        }
        let status = bench.until_reason("shop", "JobFailed", "JobLost").await;
        assert!(message_of(&status, "JobFailed").starts_with("3 Jobs"));
        assert_eq!(bench.count_jobs().await, 0);
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_deadline_is_reported_with_what_was_waited_for() {
    run(async {
        let bench = Bench::start("deadline", &["--job-deadline=8"]).await;
        bench.make("shop", json!({})).await;
        let pod = bench.pod("render-shop").await;
        let waiting = json!({"status": {"containerStatuses": [{
            "name": "renderer", "image": "x", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}},
        }]}});
        bench.write_pod(&pod.name_any(), &waiting).await;
        let waits = |status: &solar_operator::api::TaskStatus| {
            message_of(status, "JobScheduled").ends_with("waits: ImagePullBackOff: no such image")
        };
        bench.until("shop", "said what it waits for", waits).await;
        // A kubelet would end the container when the pod is deleted.
        bench.until_reason("shop", "JobFailed", "DeadlineExceeded").await;
        let status = bench.until_state("shop", "JobFailed").await;
        assert!(
            message_of(&status, "JobFailed").contains("ImagePullBackOff"),
            "{status:?}"
        );
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn errors_in_a_row_are_reported_and_forgotten_when_they_end() {
    run(async {
        let flags = [
            "--error-min-requeue=50ms",
            "--error-max-requeue=200ms",
            "--error-max-retries=3",
        ];
        let bench = Bench::new("stalls").await;
        // Nobody answers at that address: the API server can't ask, and says 500.
        let hook = json!({
            "metadata": {"name": "stalls"},
            "webhooks": [{
                "name": "stalls.example.org", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "stalls"}},
                "rules": [{"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["CREATE"]}],
            }],
        });
        let hooks: Api<ValidatingWebhookConfiguration> = Api::all(bench.client.clone());
        let hook = serde_json::from_value(hook).unwrap();
        hooks.create(&PostParams::default(), &hook).await.unwrap();
        let mut bench = bench;
        bench.operate(&flags);
        bench.make("shop", json!({})).await;
        let status = bench.until_reason("shop", "Stalled", "ReconcileFailed").await;
        assert!(
            message_of(&status, "Ready").starts_with("creating the Job"),
            "{status:?}"
        );
        hooks.delete("stalls", &DeleteParams::default()).await.unwrap();
        let status = bench.until_state("shop", "JobScheduled").await;
        assert_eq!(reason_of(&status, "Stalled"), None);
    });
}
