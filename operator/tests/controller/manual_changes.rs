//! What people do by hand to a task's Job and Secret, and what they ask for.

use futures_util::TryStreamExt as _;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{Config, watcher};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use solar_operator::api::{Task, TaskStatus};

use crate::harness::{Bench, failure, message_of, reason_of, run, status_of, success, within};

/// The SHA-256 that a Job asks of its config.
async fn expected_config(bench: &Bench, job: &str) -> String {
    let job = bench.until_job(job, None).await;
    let container = job.spec.unwrap().template.spec.unwrap().containers.remove(0);
    let mut env = container.env.unwrap().into_iter();
    let found = env.find(|one| one.name == "SOLAR_CONFIG_SHA256");
    found.and_then(|one| one.value).unwrap()
}

/// The SHA-256 of what a config Secret holds.
async fn held_config(bench: &Bench, name: &str) -> String {
    let secret = bench.secret(name).await.expect("the Secret");
    let digest = Sha256::digest(&secret.data.unwrap()["config.json"].0);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A kubelet that keeps immutable Secrets by name once gave the old content to the new task's pods.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_task_that_is_made_again_gets_a_secret_and_a_job_of_its_own_content() {
    run(async {
        let bench = Bench::start("again", &[]).await;
        bench.make("shop", json!({})).await;
        let old = bench.until_state("shop", "JobScheduled").await;
        let before = expected_config(&bench, "render-shop").await;
        assert_eq!(held_config(&bench, "render-shop").await, before);
        bench
            .tasks()
            .delete("shop", &DeleteParams::background())
            .await
            .unwrap();
        bench.until_gone_task("shop").await;
        let release = json!({
            "chart": {"name": "shop", "version": "1.0.0"},
            "input": {
                "component": {"name": "shop"},
                "resources": {"chart": {"repository": "h.example/c/shop", "tag": "1.0.0"}},
                "entrypoint": {"resourceName": "chart", "type": "helm"},
            },
            "values": {"replicas": 3},
        });
        bench.make("shop", json!({"release": release})).await;
        let other_job = |status: &TaskStatus| {
            let uid = |status: &TaskStatus| status.job_ref.as_ref().map(|job| job.uid.clone());
            status.job_ref.is_some() && uid(status) != uid(&old)
        };
        bench.until("shop", "has a Job of its own", other_job).await;
        let after = expected_config(&bench, "render-shop").await;
        assert_ne!(after, before);
        assert_eq!(held_config(&bench, "render-shop").await, after);
        assert_eq!(bench.secret("render-shop").await.unwrap().immutable, None);
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_edited_config_secret_is_replaced_by_a_retry_and_a_deleted_one_while_pods_wait_for_it() {
    run(async {
        let bench = Bench::start("edited", &[]).await;
        bench.make("shop", json!({})).await;
        bench.until_state("shop", "JobScheduled").await;
        let secrets = bench.api::<Secret>();
        let edit = json!({"stringData": {"config.json": "{}"}});
        let params = PatchParams::default();
        let expected = expected_config(&bench, "render-shop").await;
        secrets
            .patch("render-shop", &params, &Patch::Merge(&edit))
            .await
            .unwrap();
        assert_ne!(
            held_config(&bench, "render-shop").await,
            expected,
            "the renderer refuses it"
        );
        bench.finish("render-shop", 1, &failure("config")).await;
        let failed = bench.until_state("shop", "JobFailed").await;
        bench.ask("shop", "again").await;
        bench
            .until_job("render-shop", failed.job_ref.map(|job| job.uid).as_deref())
            .await;
        bench.until_state("shop", "JobScheduled").await;
        assert_eq!(held_config(&bench, "render-shop").await, expected);
        let before = bench.secret("render-shop").await.expect("the Secret");
        secrets
            .delete("render-shop", &DeleteParams::default())
            .await
            .unwrap();
        let back = |secret: Option<&Secret>| secret.is_some_and(|secret| secret.uid() != before.uid());
        let waiting = kube::runtime::wait::await_condition(secrets, "render-shop", back);
        let after = within("the Secret", waiting).await.unwrap().expect("a Secret");
        assert_eq!(after.data, before.data);
        let known = |status: &TaskStatus| {
            status
                .config_secret_ref
                .as_ref()
                .map(|secret| secret.uid.as_str())
                == after.uid().as_deref()
        };
        bench.until("shop", "knows the new Secret", known).await;
        // The new Secret is the one that is deleted at the end.
        bench.finish("render-shop", 0, &success()).await;
        bench.until_gone::<Secret>("render-shop").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_suspended_job_is_reported_and_continues() {
    run(async {
        let bench = Bench::start("suspended", &[]).await;
        bench.make("shop", json!({})).await;
        bench.pod("render-shop").await;
        let jobs = bench.api::<Job>();
        let params = PatchParams::default();
        let suspend = |yes: bool| Patch::Merge(json!({"spec": {"suspend": yes}}));
        jobs.patch("render-shop", &params, &suspend(true)).await.unwrap();
        let has_message = |status: &TaskStatus| message_of(status, "Ready").ends_with("the Job is suspended");
        bench.until("shop", "said so", has_message).await;
        jobs.patch("render-shop", &params, &suspend(false)).await.unwrap();
        bench.finish("render-shop", 0, &success()).await;
        let status = bench.until_state("shop", "JobSucceeded").await;
        assert_eq!(status.run.map(|run| run.lost_jobs), Some(0));
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_job_without_its_labels_is_followed_to_its_end() {
    run(async {
        let bench = Bench::start("unlabelled", &[]).await;
        bench.make("shop", json!({})).await;
        bench.pod("render-shop").await;
        let bare = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": null}}});
        let jobs = bench.api::<Job>();
        jobs.patch("render-shop", &PatchParams::default(), &Patch::Merge(&bare))
            .await
            .unwrap();
        bench.finish("render-shop", 0, &success()).await;
        let status = bench.until_state("shop", "JobSucceeded").await;
        assert_eq!(status.run.map(|run| run.lost_jobs), Some(0));
        bench.until_gone::<Job>("render-shop").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_retry_that_is_asked_for_while_a_job_runs_comes_after_its_failure_and_only_then() {
    run(async {
        let bench = Bench::start("asked-early", &[]).await;
        bench.make("shop", json!({})).await;
        let first = bench.until_job("render-shop", None).await;
        bench.until_state("shop", "JobScheduled").await;
        bench.ask("shop", "early").await;
        bench.finish("render-shop", 1, &failure("config")).await;
        let second = bench.until_job("render-shop", first.uid().as_deref()).await;
        bench.finish("render-shop", 1, &failure("config")).await;
        let answered = |status: &TaskStatus| {
            status.attempts.len() == 2 && reason_of(status, "JobFailed") == Some("ConfigInvalid")
        };
        let status = bench.until("shop", "failed again", answered).await;
        assert_eq!(status.run.and_then(|run| run.retry).as_deref(), Some("early"));
        // Neither removing the annotation nor setting the same value again starts another run.
        let none = json!({"metadata": {"annotations": {"solar.opendefense.cloud/retry": null}}});
        bench
            .tasks()
            .patch("shop", &PatchParams::default(), &Patch::Merge(&none))
            .await
            .unwrap();
        bench.ask("shop", "early").await;
        bench.make("other", json!({})).await;
        bench.until_state("other", "JobScheduled").await;
        let job = bench.api::<Job>().get("render-shop").await.unwrap();
        assert_eq!(job.uid(), second.uid());
    });
}

/// The end of the Job before, which is remembered until it is recorded, was once recorded again.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_retry_that_waits_in_line_is_run_when_its_turn_comes() {
    run(async {
        let bench = Bench::start("line", &["--max-concurrent-jobs=1"]).await;
        bench.make("shop", json!({})).await;
        let first = bench.until_job("render-shop", None).await.uid();
        bench.finish("render-shop", 1, &failure("config")).await;
        bench.until_state("shop", "JobFailed").await;
        bench.make("other", json!({})).await;
        bench.until_state("other", "JobScheduled").await;
        bench.ask("shop", "1").await;
        bench.until_state("shop", "Queued").await;
        bench.finish("render-other", 0, &success()).await;
        bench.until_job("render-shop", first.as_deref()).await;
        bench.finish("render-shop", 0, &success()).await;
        let status = bench.until_state("shop", "JobSucceeded").await;
        assert_eq!(status.attempts.len(), 2, "{:?}", status.attempts);
    });
}

/// A push Secret that was rotated after such a crash once started no run.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_push_secret_that_changes_after_a_crash_before_the_first_status_is_noticed() {
    run(async {
        let mut bench = Bench::start("crash-rotation", &[]).await;
        let secret =
            json!({"metadata": {"name": "push"}, "stringData": {"username": "u", "password": "first"}});
        bench.make_object::<Secret>(secret).await;
        bench
            .make("shop", json!({"pushSecretRef": {"name": "push"}}))
            .await;
        bench.until_state("shop", "JobScheduled").await;
        let first = bench.until_job("render-shop", None).await.uid();
        bench.end(0, false);
        // As if the Job had been made, and the status not been written.
        let params = PatchParams::default();
        let clear = Patch::Merge(json!({"status": null}));
        bench.tasks().patch_status("shop", &params, &clear).await.unwrap();
        bench.finish("render-shop", 4, &failure("auth")).await;
        bench.operate(&[]);
        let status = bench.until_reason("shop", "JobFailed", "AuthFailed").await;
        assert!(status.run.is_some_and(|run| run.push_secret_version.is_some()));
        bench.end(1, true);
        let new = Patch::Merge(json!({"stringData": {"password": "second"}}));
        bench.api::<Secret>().patch("push", &params, &new).await.unwrap();
        bench.operate(&[]);
        bench.until_job("render-shop", first.as_deref()).await;
        bench.finish("render-shop", 0, &success()).await;
        bench.until_state("shop", "JobSucceeded").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn at_no_moment_has_a_task_both_succeeded_and_failed() {
    run(async {
        let bench = Bench::start("moments", &[]).await;
        let stream = watcher(bench.tasks(), Config::default()).applied_objects();
        bench.make("shop", json!({})).await;
        let story = async {
            let first = bench.until_job("render-shop", None).await.uid();
            bench.finish("render-shop", 5, &failure("network")).await;
            let one = |status: &TaskStatus| status.attempts.len() == 1;
            bench.until("shop", "recorded the attempt", one).await;
            bench.finish("render-shop", 3, &failure("conflict")).await;
            bench.until_state("shop", "JobFailed").await;
            bench.ask("shop", "1").await;
            bench.until_job("render-shop", first.as_deref()).await;
            bench.finish("render-shop", 0, &success()).await;
        };
        let seen = async {
            let mut stream = std::pin::pin!(stream);
            let mut states: Vec<String> = Vec::new();
            while let Some(task) = stream.try_next().await.unwrap() {
                let status = task.known();
                check(&task, &status);
                let state = status.state.clone().unwrap_or_default();
                if states.last() != Some(&state) {
                    states.push(state);
                }
                if status_of(&status, "Ready") == Some("True") {
                    break;
                }
            }
            states
        };
        let ((), states) = within("the end", async { tokio::join!(story, seen) }).await;
        let failed = states.iter().position(|state| state == "JobFailed");
        assert!(
            failed.is_some_and(|at| at > 0 && at + 1 < states.len()),
            "{states:?}"
        );
        assert_eq!(
            states.last().map(String::as_str),
            Some("JobSucceeded"),
            "{states:?}"
        );
    });
}

fn check(task: &Task, status: &TaskStatus) {
    let is = |kind| status_of(status, kind) == Some("True");
    let (scheduled, succeeded, failed) = (is("JobScheduled"), is("JobSucceeded"), is("JobFailed"));
    let how_many = [scheduled, succeeded, failed].iter().filter(|one| **one).count();
    assert!(how_many <= 1, "{status:#?}");
    assert_eq!(failed, is("Stalled"), "{status:#?}");
    assert!(!is("Ready") || succeeded, "{status:#?}");
    if !status.conditions.is_empty() {
        assert_eq!(
            status.observed_generation, task.metadata.generation,
            "{status:#?}"
        );
    }
}

/// Who may edit Jobs once kept the slots of everybody for ever.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_job_that_is_suspended_or_held_by_a_finalizer_holds_no_slot() {
    run(async {
        let bench = Bench::start("slots", &["--max-concurrent-jobs=1"]).await;
        let jobs = bench.api::<Job>();
        let params = PatchParams::default();
        bench.make("suspended", json!({})).await;
        bench.until_state("suspended", "JobScheduled").await;
        bench.make("held", json!({})).await;
        bench.until_state("held", "Queued").await;
        let suspend = Patch::Merge(json!({"spec": {"suspend": true}}));
        jobs.patch("render-suspended", &params, &suspend).await.unwrap();
        bench.until_state("held", "JobScheduled").await;
        bench.make("last", json!({})).await;
        bench.until_state("last", "Queued").await;
        let hold = Patch::Merge(json!({"metadata": {"finalizers": ["example.org/holds"]}}));
        jobs.patch("render-held", &params, &hold).await.unwrap();
        jobs.delete("render-held", &DeleteParams::background())
            .await
            .unwrap();
        bench.until_state("last", "JobScheduled").await;
        let has_message =
            |status: &TaskStatus| message_of(status, "Ready").ends_with("the Job is being deleted");
        bench.until("held", "said so", has_message).await;
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        jobs.patch("render-held", &params, &free).await.unwrap();
    });
}
