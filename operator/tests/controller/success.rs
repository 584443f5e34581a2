//! Tasks whose Job ends well.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use solar_operator::api::{Scope, Task};

use crate::harness::{Bench, DIGEST, message_of, reason_of, run, status_of, success};

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_task_runs_from_creation_to_its_digest_and_leaves_no_objects() {
    run(async {
        let bench = Bench::start("success", &[]).await;
        bench.make("shop", json!({})).await;
        let status = bench.until_state("shop", "JobScheduled").await;
        assert_eq!(status_of(&status, "Ready"), Some("Unknown"));
        let secret = bench.secret("render-shop").await.expect("the config Secret");
        assert_eq!(secret.data.expect("data").len(), 1);
        let pod = bench.finish("render-shop", 0, &success()).await;
        let status = bench.until_state("shop", "JobSucceeded").await;
        assert_eq!(status.digest.as_deref(), Some(DIGEST));
        assert_eq!(
            status.chart_url.as_deref(),
            Some("oci://h.example/charts/tenant/shop:1.0.0")
        );
        assert_eq!(status.outcome.map(|outcome| outcome.as_str()), Some("created"));
        assert_eq!(status.attempts.len(), 1);
        assert_eq!(Some(&status.attempts[0].pod_uid), pod.uid().as_ref());
        assert_eq!(status_of(&status, "Ready"), Some("True"));
        assert_eq!(status_of(&status, "JobScheduled"), Some("False"));
        assert_eq!(reason_of(&status, "JobFailed"), None);
        bench.until_gone::<Job>("render-shop").await;
        bench.until_gone::<Secret>("render-shop").await;
        bench.until_event("success", "shop", "JobCreated").await;
        bench.until_event("success", "shop", "JobSucceeded").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_failed_pod_is_no_failed_task_and_a_success_after_it_leaves_no_failure() {
    run(async {
        let bench = Bench::start("second-try", &[]).await;
        bench.make("shop", json!({})).await;
        bench
            .finish("render-shop", 5, &crate::harness::failure("network"))
            .await;
        let one = |status: &solar_operator::api::TaskStatus| status.attempts.len() == 1;
        let status = bench.until("shop", "recorded the attempt", one).await;
        assert_eq!(status.attempts[0].class, "network");
        assert_eq!(status.state.as_deref(), Some("JobScheduled"));
        assert_eq!(
            (reason_of(&status, "JobFailed"), reason_of(&status, "Stalled")),
            (None, None)
        );
        assert!(
            bench.secret("render-shop").await.is_some(),
            "the next pod needs it"
        );
        bench.finish("render-shop", 0, &success()).await;
        let status = bench.until_state("shop", "JobSucceeded").await;
        assert_eq!(
            (status.attempts.len(), reason_of(&status, "JobFailed")),
            (2, None)
        );
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_job_that_is_collected_as_soon_as_it_ends_is_no_loss() {
    run(async {
        let bench = Bench::start("ttl-zero", &[]).await;
        bench.make("shop", json!({"failedJobTTL": 0})).await;
        bench.finish("render-shop", 0, &success()).await;
        let status = bench.until_state("shop", "JobSucceeded").await;
        assert_eq!(status.digest.as_deref(), Some(DIGEST));
        assert_eq!(status.run.map(|run| run.lost_jobs), Some(0));
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_happened_while_the_operator_was_away_is_recorded() {
    run(async {
        let mut bench = Bench::start("away", &[]).await;
        bench.make("shop", json!({})).await;
        let first = bench.until_state("shop", "JobScheduled").await;
        bench.end(0, false);
        bench.finish("render-shop", 0, &success()).await;
        bench.operate(&[]);
        let status = bench.until_state("shop", "JobSucceeded").await;
        assert_eq!(status.job_ref, first.job_ref, "the same Job");
        bench.until_gone::<Job>("render-shop").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_a_crash_between_two_writes_leaves_is_found() {
    run(async {
        let mut bench = Bench::start("crash", &[]).await;
        bench.make("shop", json!({})).await;
        let status = bench.until_state("shop", "JobScheduled").await;
        bench.end(0, false);
        // As if the Job and the Secret had been made, and the status not been written.
        let clear = json!({"status": null});
        let params = PatchParams::default();
        bench
            .tasks()
            .patch_status("shop", &params, &Patch::Merge(&clear))
            .await
            .unwrap();
        bench.operate(&[]);
        let again = bench.until_state("shop", "JobScheduled").await;
        assert_eq!(
            (&again.job_ref, &again.config_secret_ref),
            (&status.job_ref, &status.config_secret_ref)
        );
        bench.end(1, false);
        // As if the success had been written, and nothing been cleaned up.
        let done = json!({"status": {"conditions": [
            {"type": "JobSucceeded", "status": "True", "reason": "JobSucceeded", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Ready", "status": "True", "reason": "JobSucceeded", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ], "configSecretRef": null, "digest": DIGEST}});
        bench
            .tasks()
            .patch_status("shop", &params, &Patch::Merge(&done))
            .await
            .unwrap();
        bench.operate(&[]);
        bench.until_gone::<Job>("render-shop").await;
        bench.until_gone::<Secret>("render-shop").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_success_without_a_digest_differs_from_one_with() {
    run(async {
        let bench = Bench::start("no-digest", &[]).await;
        bench.make("shop", json!({})).await;
        bench.finish("render-shop", 0, "").await;
        let status = bench.until_reason("shop", "Ready", "DigestUnavailable").await;
        assert_eq!(status_of(&status, "Ready"), Some("Unknown"), "it may still come");
        let settled = |status: &solar_operator::api::TaskStatus| status_of(status, "Ready") == Some("False");
        let status = bench.until("shop", "settled", settled).await;
        assert_eq!(status_of(&status, "JobSucceeded"), Some("True"));
        bench.until_gone::<Job>("render-shop").await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_complete_job_that_is_deleted_before_its_digest_is_seen_is_not_run_again() {
    run(async {
        let bench = Bench::start("no-job", &[]).await;
        bench.make("shop", json!({"failedJobTTL": 3})).await;
        bench.finish("render-shop", 0, "").await;
        bench.until_reason("shop", "Ready", "DigestUnavailable").await;
        bench.delete_job("render-shop").await;
        bench.until_gone::<Job>("render-shop").await;
        let settled = |status: &solar_operator::api::TaskStatus| status_of(status, "Ready") == Some("False");
        let status = bench.until("shop", "settled", settled).await;
        assert_eq!(status_of(&status, "JobSucceeded"), Some("True"));
        bench.until_gone::<Secret>("render-shop").await;
        assert_eq!(bench.count_jobs().await, 0);
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_spec_is_immutable_and_has_its_defaults() {
    run(async {
        let bench = Bench::new("schema").await;
        bench.make("shop", json!({})).await;
        let task = bench.tasks().get("shop").await.unwrap();
        assert_eq!(
            (task.spec.failed_job_ttl, task.spec.if_exists.as_str()),
            (3600, "fail")
        );
        for change in [
            json!({"tag": "2"}),
            json!({"release": {"values": {"replicas": 3}}}),
            json!({"plainHTTP": true}),
        ] {
            let patch = json!({"spec": change});
            let refused = bench
                .tasks()
                .patch("shop", &PatchParams::default(), &Patch::Merge(&patch))
                .await;
            let message = refused.expect_err("a refusal").to_string();
            assert!(message.contains("spec is immutable"), "{message}");
        }
        for (field, value) in [
            ("ownerName", json!("")),
            ("failedJobTTL", json!(-1)),
            ("ifExists", json!("maybe")),
            ("type", json!("profile")),
        ] {
            let task = bench.task("bad", &json!({field: value})).to_string();
            let made = bench.post(Scope::Namespaced, task).await;
            assert!(made.is_err(), "{field}");
        }
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_is_no_name_or_reference_is_refused_by_the_schema() {
    run(async {
        let bench = Bench::new("references").await;
        for (name, url, repository) in [
            ("scheme", "oci://h.example:5000/charts/", "/a/b-c.d__e/"),
            ("v6", "[2001:db8::1]:5000", "shop"),
            ("upper", "H.example", "shop"),
        ] {
            bench
                .make(name, json!({"baseURL": url, "repository": repository}))
                .await;
        }
        for (field, value, said) in [
            ("type", json!("bootstrap"), "needs the block bootstrap"),
            ("tag", json!("$(REGISTRY_PASSWORD)"), "spec.tag"),
            ("tag", json!("a/b"), "spec.tag"),
            ("tag", json!("x".repeat(129)), "spec.tag"),
            ("repository", json!("a/$(REGISTRY_PASSWORD)"), "spec.repository"),
            ("repository", json!("a//b"), "spec.repository"),
            ("repository", json!("a?b"), "spec.repository"),
            ("baseURL", json!("h.example/$(REGISTRY_USERNAME)"), "spec.baseURL"),
            ("baseURL", json!("h.example@evil.example/x"), "spec.baseURL"),
            ("baseURL", json!("https://h.example"), "spec.baseURL"),
            ("pushSecretRef", json!({"name": "a/b"}), "pushSecretRef.name"),
            ("pushSecretRef", json!({"name": "x?y#z"}), "pushSecretRef.name"),
            ("pushSecretRef", json!({"name": ".."}), "pushSecretRef.name"),
            ("pushSecretRef", json!({"name": "a..b"}), "pushSecretRef.name"),
        ] {
            let task = bench.task("bad", &json!({field: value})).to_string();
            let made = bench.post(Scope::Namespaced, task).await;
            let message = made.expect_err("a refusal").to_string();
            assert!(message.contains(said), "{message}");
        }
    });
}

/// Renamed keys and nulls once got past the rule: the status went on to tell of the spec before.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn no_change_of_the_spec_is_too_small_to_be_refused() {
    run(async {
        let bench = Bench::new("immutable").await;
        let mut task = bench.task("shop", &json!({}));
        task["spec"]["release"]["values"] = json!({"replicas": 2, "nothing": null, "map": {"x": null}});
        task["spec"]["release"]["input"]["resources"]["chart"]["pullSecretName"] = "pull".into();
        task["spec"]["bootstrap"] = json!({
            "chart": {"name": "all", "version": "1.0.0"}, "input": {"userdata": {"region": "eu"}},
        });
        let resource = ApiResource::erase::<Task>(&Scope::Namespaced);
        let tasks: Api<DynamicObject> =
            Api::namespaced_with(bench.client.clone(), &bench.namespace, &resource);
        let params = PostParams::default();
        let task = serde_json::from_value(task).unwrap();
        let stored = tasks.create(&params, &task).await.unwrap();
        let values = stored.data.pointer("/spec/release/values").unwrap();
        assert_eq!(
            *values,
            json!({"replicas": 2, "nothing": null, "map": {"x": null}})
        );
        let chart = json!({"repository": "h.example/c/shop", "tag": "1.0.0", "helm": null});
        for (path, value) in [
            (
                "release/values",
                json!({"copies": 2, "nothing": null, "map": {"x": null}}),
            ),
            (
                "release/values",
                json!({"replicas": 2, "other": null, "map": {"x": null}}),
            ),
            (
                "release/values",
                json!({"replicas": 2, "nothing": null, "map": {"y": null}}),
            ),
            (
                "release/values",
                json!({"replicas": 2, "nothing": null, "map": null}),
            ),
            ("release/values", Value::Null),
            ("bootstrap/input/userdata", json!({"zone": "eu"})),
            ("bootstrap", Value::Null),
            ("release/input/resources/chart", chart),
        ] {
            let mut changed = stored.clone();
            *changed.data.pointer_mut(&format!("/spec/{path}")).unwrap() = value.clone();
            let refused = tasks.replace("shop", &params, &changed).await;
            let message = refused.expect_err(&format!("{path}: {value}")).to_string();
            assert!(message.contains("spec is immutable"), "{path}: {message}");
        }
        // What isn't there and what is null are the same.
        let mut same = stored.clone();
        same.data["spec"]["pushSecretRef"] = Value::Null;
        same.data["spec"]["release"]["targetNamespace"] = Value::Null;
        let after = tasks.replace("shop", &params, &same).await.unwrap();
        assert_eq!(after.metadata.generation, stored.metadata.generation);
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_change_of_the_tasks_own_status_starts_no_work() {
    run(async {
        let bench = Bench::start("own-status", &[]).await;
        bench.make("shop", json!({})).await;
        bench.finish("render-shop", 0, &success()).await;
        bench.until_state("shop", "JobSucceeded").await;
        bench.until_gone::<Job>("render-shop").await;
        let looks = |bench: &Bench| bench.log(0).matches("reconciled requeue").count();
        // The last reconcile is triggered by the Job's deletion.
        let mut before = looks(&bench);
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let now = looks(&bench);
            if now == before {
                break;
            }
            before = now;
        }
        let touch = json!({"status": {"observedGeneration": 7}});
        bench
            .tasks()
            .patch_status("shop", &PatchParams::default(), &Patch::Merge(&touch))
            .await
            .unwrap();
        bench.make("other", json!({})).await;
        let status = bench.until_state("other", "JobScheduled").await;
        assert_eq!(message_of(&status, "Ready"), message_of(&status, "JobScheduled"));
        let shops = bench
            .log(0)
            .lines()
            .filter(|line| line.contains("own-status/shop") && line.contains("reconciled"))
            .count();
        assert_eq!(shops, before, "the watch was in order: other came after");
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_printed_task_is_taken_and_gives_the_renderer_the_same_config() {
    run(async {
        let bench = Bench::start("printed", &[]).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yaml");
        let text = "type: release\nrelease:\n  chart: {name: shop, version: 1.0.0}\n  input:\n    component: {name: shop}\n    \
            resources: {chart: {repository: h.example/c/shop, tag: '1.0'}}\n    entrypoint: {resourceName: chart, type: helm}\n  \
            values: {yes: 'no', n: 1.0, e: 1e3, nothing: null, big: 9007199254740993, list: [a, '0777', 0o17, {x: .5}]}\n";
        std::fs::write(&file, text).unwrap();
        let output = std::process::Command::new(crate::harness::OPERATOR)
            .arg("task")
            .arg(&file)
            .args([
                "--base-url=h.example/charts",
                "--repository=shop",
                "--tag=1.0.0",
                "--name=shop",
                "--namespace=printed",
            ])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let printed = String::from_utf8(output.stdout).unwrap();
        bench.apply(&printed.replacen(
            "\"metadata\":\n",
            "\"metadata\":\n  \"labels\": {\"bench\": \"printed\"}\n",
            1,
        ));
        bench.until_state("shop", "JobScheduled").await;
        let secret = bench.secret("render-shop").await.expect("the config Secret");
        let config = String::from_utf8(secret.data.expect("data")["config.json"].0.clone()).unwrap();
        let parse = |name: &str, text: &str| {
            solar_render::config::parse(&solar_render::source::Source::new(name, text))
        };
        assert_eq!(
            parse("config.json", &config).expect("a config"),
            parse("config.yaml", text).expect("a config")
        );
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_longest_name_works_and_so_does_one_that_begins_alike() {
    run(async {
        let bench = Bench::start("long", &[]).await;
        let beginning = format!("{}.{}", "a".repeat(40), "b-".repeat(100));
        let names = ["1", "2"].map(|end| format!("{beginning}{end}"));
        let mut jobs = Vec::new();
        for name in &names {
            bench.make(name, json!({})).await;
            let status = bench.until_state(name, "JobScheduled").await;
            let job = status.job_ref.expect("a Job").name;
            assert!(job.len() <= 63, "{job}");
            bench.finish(&job, 0, &success()).await;
            bench.until_state(name, "JobSucceeded").await;
            jobs.push(job);
        }
        assert_ne!(jobs[0], jobs[1]);
    });
}
