//! Tasks that get no Job yet, and say why.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ResourceQuota, Secret};
use kube::Api;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use solar_operator::api::TaskStatus;

use crate::harness::{Bench, failure, message_of, reason_of, run, status_of, success, terminated_at, within};

fn job(name: &str, owner: Value) -> Value {
    json!({
        "metadata": {"name": name, "ownerReferences": owner},
        "spec": {"suspend": true, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}],
        }}},
    })
}

/// A quota that leaves none of something, in force.
async fn none_of(bench: &Bench, what: &str) {
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {what: "0"}}});
    bench.make_object::<ResourceQuota>(quota).await;
    let counted = |quota: Option<&ResourceQuota>| {
        quota
            .and_then(|quota| quota.status.as_ref())
            .is_some_and(|status| status.hard.is_some())
    };
    let waiting = kube::runtime::wait::await_condition(bench.api::<ResourceQuota>(), "q", counted);
    within("the quota", waiting).await.unwrap();
}

/// A Secret of the Job's name that is the task's own.
async fn own_secret(bench: &Bench, task: &str, metadata: Value) -> Secret {
    let uid = bench.tasks().get(task).await.unwrap().uid();
    let mut secret = json!({"metadata": metadata});
    secret["metadata"]["name"] = format!("render-{task}").into();
    secret["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": "RenderTask", "name": task, "uid": uid,
        "controller": true,
    }]);
    bench.make_object::<Secret>(secret).await
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_foreign_job_or_secret_is_neither_used_nor_deleted() {
    run(async {
        let bench = Bench::start("conflict", &[]).await;
        let theirs = bench.make_object::<Job>(job("render-shop", json!([]))).await;
        let secret = json!({"metadata": {"name": "render-other"}, "stringData": {"config.json": "theirs"}});
        bench.make_object::<Secret>(secret).await;
        bench.make("shop", json!({})).await;
        bench.make("other", json!({})).await;
        for name in ["shop", "other"] {
            let status = bench.until_state(name, "NameConflict").await;
            assert_eq!(status_of(&status, "Ready"), Some("False"));
            bench.until_event("conflict", name, "NameConflict").await;
        }
        let there = bench.api::<Job>().get("render-shop").await.unwrap();
        assert_eq!(there.uid(), theirs.uid());
        assert!(
            bench
                .secret("render-other")
                .await
                .is_some_and(|secret| secret.owner_references().is_empty())
        );
        // Once the foreign object is deleted, the task continues.
        bench.delete_job("render-shop").await;
        bench.until_state("shop", "JobScheduled").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_job_of_a_deleted_namesake_is_not_adopted() {
    run(async {
        let bench = Bench::start("namesake", &[]).await;
        // Its pods would never end, and its owner no longer exists: the garbage collector deletes it.
        let owner = json!([{
            "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": "RenderTask", "name": "shop",
            "uid": "00000000-0000-0000-0000-000000000000", "controller": true,
        }]);
        bench.make("shop-before", json!({})).await;
        bench.until_state("shop-before", "JobScheduled").await;
        let old = bench.make_object::<Job>(job("render-shop", owner)).await;
        bench.make("shop", json!({})).await;
        let status = bench.until_state("shop", "JobScheduled").await;
        assert_ne!(status.job_ref.map(|job| job.uid), old.uid());
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_missing_push_secret_is_reported_and_waited_for() {
    run(async {
        let bench = Bench::start("push-secret", &[]).await;
        bench
            .make("shop", json!({"pushSecretRef": {"name": "push"}}))
            .await;
        let status = bench.until_state("shop", "PushSecretNotFound").await;
        assert!(message_of(&status, "Ready").contains("no Secret push in namespace push-secret"));
        assert!(bench.secret("render-shop").await.is_none(), "nothing is made yet");
        let annotated = |host: &str| json!({"metadata": {"name": "push", "annotations": {"solar.opendefense.cloud/registry-host": host}}});
        bench.make_object::<Secret>(annotated("elsewhere.example")).await;
        bench.ask("shop", "wake").await;
        let status = bench.until_state("shop", "RegistryHostMismatch").await;
        assert!(message_of(&status, "Ready").contains("elsewhere.example"));
        let secrets = bench.api::<Secret>();
        let right = Patch::Merge(annotated("h.example"));
        secrets
            .patch("push", &PatchParams::default(), &right)
            .await
            .unwrap();
        bench.ask("shop", "wake again").await;
        bench.until_state("shop", "JobScheduled").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_missing_key_to_sign_with_is_reported_and_waited_for() {
    run(async {
        let bench = Bench::start("sign-key", &[]).await;
        let signs = json!({"signKeySecretRef": {"name": "edge-cosign"}});
        bench.make("shop", signs).await;
        let status = bench.until_state("shop", "SignKeySecretNotFound").await;
        assert!(message_of(&status, "Ready").contains("no Secret edge-cosign in namespace sign-key"));
        assert!(bench.secret("render-shop").await.is_none(), "nothing is made yet");
        let key = json!({"metadata": {"name": "edge-cosign"}, "stringData": {"cosign.key": "k", "cosign.password": "p"}});
        bench.make_object::<Secret>(key).await;
        bench.ask("shop", "wake").await;
        bench.until_state("shop", "JobScheduled").await;
        let job = bench.api::<Job>().get("render-shop").await.unwrap();
        let pod = job.spec.unwrap().template.spec.unwrap();
        let args = pod.containers[0].args.clone().unwrap();
        let sign_by = "--sign-by=/etc/renderer-sign-key/cosign.key".to_owned();
        assert!(args.contains(&sign_by), "{args:?}");
        assert!(
            !serde_json::to_string(&pod.volumes)
                .unwrap()
                .contains("cosign.pub")
        );
        // What the renderer reports of the signature is in the message.
        let signed = success().replacen(r#""size":1"#, r#""size":1,"signature":"signed""#, 1);
        bench.finish("render-shop", 0, &signed).await;
        let status = bench.until_state("shop", "JobSucceeded").await;
        assert!(
            message_of(&status, "Ready").starts_with("created, signed: sha256:"),
            "{status:?}"
        );
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_missing_ca_configmap_is_reported_and_waited_for() {
    run(async {
        let bench = Bench::start("ca", &["--renderer-ca-configmap=roots"]).await;
        bench.make("shop", json!({})).await;
        let status = bench.until_state("shop", "ConfigMapNotFound").await;
        assert!(message_of(&status, "Ready").contains("roots with the key trust-bundle.pem"));
        let map = json!({"metadata": {"name": "roots"}, "data": {"trust-bundle.pem": "x"}});
        bench.make_object::<ConfigMap>(map).await;
        bench.ask("shop", "wake").await;
        bench.until_state("shop", "JobScheduled").await;
        // A retry would wait for it silently, if it were not read again.
        bench.finish("render-shop", 1, &failure("config")).await;
        bench.until_state("shop", "JobFailed").await;
        let maps = bench.api::<ConfigMap>();
        maps.delete("roots", &DeleteParams::default()).await.unwrap();
        bench.ask("shop", "again").await;
        bench.until_state("shop", "ConfigMapNotFound").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_quota_on_jobs_is_reported() {
    run(async {
        let bench = Bench::start("job-quota", &[]).await;
        none_of(&bench, "count/jobs.batch").await;
        bench.make("shop", json!({})).await;
        let status = bench.until_state("shop", "Forbidden").await;
        assert!(
            message_of(&status, "Ready").contains("exceeded quota"),
            "{status:?}"
        );
        bench.until_event("job-quota", "shop", "CreateJobFailed").await;
        bench
            .api::<ResourceQuota>()
            .delete("q", &DeleteParams::default())
            .await
            .unwrap();
        bench.until_gone::<ResourceQuota>("q").await;
        bench.ask("shop", "wake").await;
        bench.until_state("shop", "JobScheduled").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_quota_on_pods_is_reported_by_the_scheduled_job() {
    run(async {
        let bench = Bench::start("pod-quota", &[]).await;
        none_of(&bench, "pods").await;
        bench.make("shop", json!({})).await;
        let has_message = |status: &TaskStatus| message_of(status, "JobScheduled").contains("exceeded quota");
        let status = bench.until("shop", "named the quota", has_message).await;
        assert_eq!(status_of(&status, "JobScheduled"), Some("True"));
    });
}

/// Once a pod had been there, no refusal was ever named.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_quota_that_comes_between_two_pods_is_reported_too() {
    run(async {
        let bench = Bench::start("late-quota", &[]).await;
        bench.make("shop", json!({})).await;
        bench.pod("render-shop").await;
        none_of(&bench, "pods").await;
        // By a clock that is behind, so that the Job controller doesn't wait before it makes the next pod.
        let end = terminated_at("2026-01-01T00:00:00Z", 5, "Error", &failure("network"));
        bench.finish_as("render-shop", &end).await;
        let has_message = |status: &TaskStatus| message_of(status, "JobScheduled").contains("exceeded quota");
        let status = bench.until("shop", "named the quota", has_message).await;
        assert_eq!(status.attempts.len(), 1);
    });
}

/// It was once called a foreign one.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_secret_of_its_own_that_is_still_being_deleted_is_waited_for() {
    run(async {
        let mut bench = Bench::new("going").await;
        bench.make("shop", json!({})).await;
        own_secret(&bench, "shop", json!({"finalizers": ["example.org/holds"]})).await;
        let secrets = bench.api::<Secret>();
        secrets
            .delete("render-shop", &DeleteParams::default())
            .await
            .unwrap();
        bench.operate(&[]);
        let has_message =
            |status: &TaskStatus| message_of(status, "JobScheduled").contains("is still being deleted");
        let status = bench.until("shop", "said so", has_message).await;
        assert_eq!(
            (reason_of(&status, "JobScheduled"), status_of(&status, "Ready")),
            (Some("DoesNotExist"), Some("Unknown"))
        );
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        secrets
            .patch("render-shop", &PatchParams::default(), &free)
            .await
            .unwrap();
        bench.until_state("shop", "JobScheduled").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_secret_that_was_made_from_another_spec_is_made_again() {
    run(async {
        let mut bench = Bench::new("outdated").await;
        bench.make("shop", json!({})).await;
        let annotations = json!({"annotations": {"solar.opendefense.cloud/generation": "7"}});
        let old = own_secret(&bench, "shop", annotations).await;
        bench.operate(&[]);
        bench.until_state("shop", "JobScheduled").await;
        let new = bench.secret("render-shop").await.expect("the config Secret");
        assert_ne!(new.uid(), old.uid());
        assert!(new.data.is_some_and(|data| data.contains_key("config.json")));
    });
}

/// As after a crash between creating a Secret and writing the status.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_secret_that_is_newer_than_the_status_is_deleted_at_the_end() {
    run(async {
        let mut bench = Bench::start("younger", &[]).await;
        bench.make("shop", json!({})).await;
        let status = bench.until_state("shop", "JobScheduled").await;
        bench.end(0, false);
        let secrets = bench.api::<Secret>();
        secrets
            .delete("render-shop", &DeleteParams::default())
            .await
            .unwrap();
        let younger = own_secret(&bench, "shop", json!({})).await;
        assert_ne!(status.config_secret_ref.map(|secret| secret.uid), younger.uid());
        bench.finish("render-shop", 0, &success()).await;
        bench.operate(&[]);
        bench.until_state("shop", "JobSucceeded").await;
        bench.until_gone::<Secret>("render-shop").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn more_jobs_than_allowed_wait_in_line_by_age() {
    run(async {
        let bench = Bench::start("queue", &["--max-concurrent-jobs=1"]).await;
        bench.make("first", json!({})).await;
        bench.until_state("first", "JobScheduled").await;
        // The times of creation have whole seconds; names decide within one.
        for name in ["second", "third"] {
            bench.make(name, json!({})).await;
            let status = bench.until_state(name, "Queued").await;
            assert_eq!(status_of(&status, "Ready"), Some("Unknown"));
        }
        assert_eq!(bench.count_jobs().await, 1);
        bench.finish("render-first", 0, &success()).await;
        bench.until_state("second", "JobScheduled").await;
        let third = bench.tasks().get("third").await.unwrap().known();
        assert_eq!(third.state.as_deref(), Some("Queued"));
        // A deleted task leaves the queue to the next.
        bench
            .tasks()
            .delete("second", &DeleteParams::default())
            .await
            .unwrap();
        bench.until_state("third", "JobScheduled").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_namespace_with_as_many_jobs_as_it_may_have_waits_while_others_go_on() {
    run(async {
        let limits = ["--max-concurrent-jobs=3", "--max-concurrent-jobs-per-namespace=1"];
        let bench = Bench::start("quota-of-jobs", &limits).await;
        bench.make("first", json!({})).await;
        bench.until_state("first", "JobScheduled").await;
        bench.make("second", json!({})).await;
        let status = bench.until_state("second", "Queued").await;
        let message = message_of(&status, "JobScheduled");
        assert_eq!(
            message,
            "1 Jobs run for namespace quota-of-jobs, and no more may at once"
        );
        bench.finish("render-first", 0, &success()).await;
        bench.until_state("second", "JobScheduled").await;
    });
}

/// The platform says which hosts a tenant's Jobs may talk to; the Secret for another is the tenant's own.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_registry_host_that_the_platform_does_not_allow_is_refused_and_others_are_not() {
    run(async {
        let hosts = ["--allowed-hosts=allowed-hosts=one.example,allowed-hosts=two.example:5000"];
        let bench = Bench::start("allowed-hosts", &hosts).await;
        for (name, base_url) in [
            ("other", "oci://evil.example/charts"),
            ("port", "two.example/charts"),
            ("user", "one.example:5000"),
        ] {
            bench.make(name, json!({"baseURL": base_url})).await;
            let status = bench
                .until_reason(name, "JobScheduled", "RegistryHostNotAllowed")
                .await;
            let message = message_of(&status, "JobScheduled");
            assert!(
                message.ends_with("the platform allows one.example, two.example:5000"),
                "{message}"
            );
        }
        assert_eq!(bench.count_jobs().await, 0);
        for (name, base_url) in [("one", "oci://ONE.example/charts"), ("two", "two.example:5000")] {
            bench.make(name, json!({"baseURL": base_url})).await;
            bench.until_state(name, "JobScheduled").await;
        }
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_namespace_that_is_being_deleted_is_reported() {
    run(async {
        let bench = Bench::new("terminating").await;
        let holds = json!({"metadata": {"name": "holds", "finalizers": ["example.org/holds"]}});
        bench.make_object::<ConfigMap>(holds).await;
        bench
            .make("shop", json!({"pushSecretRef": {"name": "push"}}))
            .await;
        // A finalizer keeps the task itself too, or it would already be deleted.
        let hold = json!({"metadata": {"finalizers": ["example.org/holds"]}});
        bench
            .tasks()
            .patch("shop", &PatchParams::default(), &Patch::Merge(&hold))
            .await
            .unwrap();
        let namespaces: Api<Namespace> = Api::all(bench.client.clone());
        namespaces
            .delete("terminating", &DeleteParams::default())
            .await
            .unwrap();
        let mut bench = bench;
        bench.operate(&[]);
        bench.logged(0, "controllers started").await;
        let going = |task: Option<&solar_operator::api::Task>| {
            task.is_some_and(|task| task.metadata.deletion_timestamp.is_some())
        };
        let waiting = kube::runtime::wait::await_condition(bench.tasks(), "shop", going);
        within("the deletion", waiting).await.unwrap();
        let free = json!({"metadata": {"finalizers": null}});
        bench
            .tasks()
            .patch("shop", &PatchParams::default(), &Patch::Merge(&free))
            .await
            .unwrap();
        let maps = bench.api::<ConfigMap>();
        maps.patch("holds", &PatchParams::default(), &Patch::Merge(&free))
            .await
            .unwrap();
        let gone = |task: Option<&solar_operator::api::Task>| task.is_none();
        let waiting = kube::runtime::wait::await_condition(bench.tasks(), "shop", gone);
        within("the end", waiting).await.unwrap();
        assert!(
            !bench.log(0).contains("reconcile failed"),
            "a task that goes is no error: {}",
            bench.log(0)
        );
    });
}
