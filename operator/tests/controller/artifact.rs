//! Artifacts: volumes, Jobs from attempt to attempt, and what becomes of them when the spec changes.

use std::process::Command;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use solar_operator::api::artifact::{ARTIFACTS, ArtifactStatus, ImportPhase};
use solar_operator::controllers::artifact::ArtifactView;
use solar_operator::runtime::conditions::find;
use solar_operator::runtime::views::Object;

use testbed::workspace_program;

use crate::harness::{Bench, CLUSTER, DIGEST, LIMIT, failure, run, within};

/// The renderer's result of an import.
fn imported() -> String {
    format!(
        r#"{{"schema":1,"outcome":"created","reference":"h.example/models/tiny:latest","digest":"{DIGEST}","size":1,"content":{{"files":2,"size":77}},"revision":"abc"}}"#
    )
}

fn object(bench: &Bench, name: &str, spec: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": "Artifact",
        "metadata": {"name": name, "namespace": bench.namespace, "labels": {"bench": bench.namespace}},
        "spec": {
            "source": {"huggingFace": {"repository": "acme/tiny"}}, "format": "ModelPack",
            "target": {"registry": "h.example", "repository": "models/tiny"},
        },
    });
    for (field, value) in spec.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object
}

fn apply(bench: &Bench, name: &str, spec: &Value) {
    CLUSTER.apply(&object(bench, name, spec).to_string());
}

fn api(bench: &Bench) -> Api<Object<ArtifactView>> {
    Api::namespaced_with(bench.client.clone(), &bench.namespace, &ARTIFACTS)
}

fn status(artifact: &Object<ArtifactView>) -> ArtifactStatus {
    artifact
        .view()
        .and_then(|view| view.status.clone())
        .unwrap_or_default()
}

async fn until(
    bench: &Bench,
    name: &str,
    what: &str,
    met: impl Fn(&ArtifactStatus) -> bool,
) -> ArtifactStatus {
    let is_met = |artifact: Option<&Object<ArtifactView>>| artifact.is_some_and(|one| met(&status(one)));
    match tokio::time::timeout(LIMIT, await_condition(api(bench), name, is_met)).await {
        Ok(artifact) => status(&artifact.unwrap().unwrap()),
        Err(_) => panic!(
            "never {what}: {:#?}\n{}",
            api(bench).get(name).await,
            bench.log(0)
        ),
    }
}

async fn until_phase(bench: &Bench, name: &str, phase: ImportPhase) -> ArtifactStatus {
    until(bench, name, phase.as_str(), |status| status.phase == Some(phase)).await
}

fn ready(status: &ArtifactStatus) -> (&str, &str) {
    let ready = find(&status.conditions, "Ready").unwrap();
    (ready.reason.as_str(), ready.status.as_str())
}

async fn until_ready(bench: &Bench, name: &str, reason: &str) -> ArtifactStatus {
    let is = |status: &ArtifactStatus| {
        find(&status.conditions, "Ready").is_some_and(|ready| ready.reason == reason)
    };
    until(bench, name, reason, is).await
}

/// Ends the Job's pod and, as a kubelet does, its Job.
async fn finish(bench: &Bench, job: &str, code: i32, message: &str) {
    bench.finish(job, code, message).await;
}

/// Sets or removes the annotation.
async fn retry(bench: &Bench, value: &Value) {
    let patch = json!({"metadata": {"annotations": {"solar.opendefense.cloud/retry": value}}});
    let params = PatchParams::default();
    api(bench)
        .patch_metadata("tiny", &params, &Patch::Merge(&patch))
        .await
        .unwrap();
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_import_runs_to_its_digest_loses_its_volume_and_stays_after_its_job() {
    run(async {
        let bench = Bench::start("art-success", &["--artifacts"]).await;
        apply(&bench, "tiny", &json!({"ttlSecondsAfterFinished": 3600}));
        let pending = until_ready(&bench, "tiny", "JobPending").await;
        assert_eq!(
            (pending.phase, pending.observed_generation),
            (Some(ImportPhase::Pending), None)
        );
        let job = bench.until_job("tiny-g1-1", None).await;
        assert_eq!(job.spec.unwrap().backoff_limit, Some(0));
        let claim = bench
            .api::<PersistentVolumeClaim>()
            .get("tiny-workspace")
            .await
            .unwrap();
        assert_eq!(claim.owner_references()[0].kind, "Artifact");
        finish(&bench, "tiny-g1-1", 0, &imported()).await;
        let done = until_phase(&bench, "tiny", ImportPhase::Succeeded).await;
        assert_eq!(ready(&done), ("Succeeded", "True"));
        assert_eq!(
            (done.digest.as_deref(), done.observed_generation),
            (Some(DIGEST), Some(1))
        );
        assert_eq!((done.size, done.revision.as_deref()), (Some(77), Some("abc")));
        assert_eq!(done.reference.as_deref(), Some("h.example/models/tiny:latest"));
        bench.until_gone::<PersistentVolumeClaim>("tiny-workspace").await;
        bench.until_event(&bench.namespace, "tiny", "Pushed").await;
        // As its TTL does.
        bench.delete_job("tiny-g1-1").await;
        let kept = until_ready(&bench, "tiny", "Completed").await;
        assert_eq!(
            (kept.phase, kept.digest.as_deref()),
            (Some(ImportPhase::Succeeded), Some(DIGEST))
        );
    });
}

/// An edited spec never ran again.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_edited_spec_deletes_the_older_job_first_and_imports_again() {
    run(async {
        let bench = Bench::start("art-edit", &["--artifacts"]).await;
        apply(&bench, "tiny", &json!({}));
        let first = bench.until_job("tiny-g1-1", None).await;
        let pod = bench.pod("tiny-g1-1").await.name_any();
        let pods = bench.api::<Pod>();
        // It terminates for as long as this is there.
        let hold = async |finalizers: Value| {
            let patch = json!({"metadata": {"finalizers": finalizers}});
            let params = PatchParams::default();
            pods.patch(&pod, &params, &Patch::Merge(&patch)).await.unwrap();
        };
        hold(json!(["h.example/hold"])).await;
        apply(&bench, "tiny", &json!({"storage": {"size": "20Gi"}}));
        let terminates = |pod: Option<&Pod>| pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some());
        let terminating = await_condition(pods.clone(), &pod, terminates);
        within("its deletion", terminating).await.unwrap();
        let job = bench.api::<Job>().get_opt("tiny-g1-1").await.unwrap();
        let job = job.expect("a Job stays until its pods are gone");
        assert!(job.metadata.deletion_timestamp.is_some());
        hold(Value::Null).await;
        bench.until_gone::<Job>("tiny-g1-1").await;
        let second = bench.until_job("tiny-g2-1", first.uid().as_deref()).await;
        assert!(second.creation_timestamp() >= first.creation_timestamp());
        let claim = bench
            .api::<PersistentVolumeClaim>()
            .get("tiny-workspace")
            .await
            .unwrap();
        let requests = claim.spec.unwrap().resources.unwrap().requests.unwrap();
        assert_eq!(requests["storage"].0, "20Gi", "a volume of the new size");
        finish(&bench, "tiny-g2-1", 0, &imported()).await;
        let done = until_phase(&bench, "tiny", ImportPhase::Succeeded).await;
        assert_eq!(done.observed_generation, Some(2));
        // After a success, too: phase and digest are reset, and the generation of the last result stays until the next.
        apply(&bench, "tiny", &json!({"storage": {"size": "30Gi"}}));
        let again = until(&bench, "tiny", "reset", |status| status.digest.is_none()).await;
        assert_eq!(
            (again.phase, again.observed_generation),
            (Some(ImportPhase::Pending), Some(2))
        );
        bench.until_gone::<Job>("tiny-g2-1").await;
        bench.until_job("tiny-g3-1", None).await;
    });
}

/// `suspend` once killed a running import, and any edit of a finished one wiped its result and imported again.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn edits_that_an_import_does_not_depend_on_leave_it_alone() {
    run(async {
        let bench = Bench::start("art-suspend", &["--artifacts"]).await;
        apply(&bench, "tiny", &json!({}));
        let first = bench.until_job("tiny-g1-1", None).await;
        until_ready(&bench, "tiny", "JobPending").await;
        apply(&bench, "tiny", &json!({"suspend": true}));
        let of_generation = |generation: i64| {
            move |status: &ArtifactStatus| {
                let ready = find(&status.conditions, "Ready");
                ready.is_some_and(|ready| ready.observed_generation == Some(generation))
            }
        };
        let status = until(&bench, "tiny", "reconciled", of_generation(2)).await;
        assert_eq!(ready(&status), ("JobPending", "Unknown"));
        let job = bench.api::<Job>().get("tiny-g1-1").await.unwrap();
        assert_eq!(
            (job.uid(), &job.metadata.deletion_timestamp),
            (first.uid(), &None)
        );
        finish(&bench, "tiny-g1-1", 0, &imported()).await;
        let done = until_phase(&bench, "tiny", ImportPhase::Succeeded).await;
        assert_eq!(done.observed_generation, Some(2));
        // Of a result, too.
        for (generation, edit) in [
            (3, json!({"ttlSecondsAfterFinished": 7})),
            (4, json!({"suspend": true})),
        ] {
            apply(&bench, "tiny", &edit);
            let kept = |status: &ArtifactStatus| status.observed_generation == Some(generation);
            let status = until(&bench, "tiny", "reconciled", kept).await;
            assert_eq!(
                (status.phase, status.digest.as_deref()),
                (Some(ImportPhase::Succeeded), Some(DIGEST)),
                "{edit}"
            );
            assert_eq!(status.completion_time, done.completion_time);
        }
        assert_eq!(bench.count_jobs().await, 1);
    });
}

/// Any failed pod was final, and the volume stayed for ever after a failure.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_passes_is_retried_and_what_lasts_is_final_and_leaves_no_volume() {
    run(async {
        let bench = Bench::start("art-fail", &["--artifacts"]).await;
        apply(&bench, "tiny", &json!({}));
        finish(&bench, "tiny-g1-1", 5, &failure("network")).await;
        let second = |status: &ArtifactStatus| status.run.as_ref().is_some_and(|run| run.attempt == 2);
        let waiting = until(&bench, "tiny", "has a second attempt", second).await;
        assert_eq!(waiting.attempts.len(), 1);
        assert!(find(&waiting.conditions, "Stalled").is_none());
        finish(&bench, "tiny-g1-2", 4, &failure("auth")).await;
        let failed = until_phase(&bench, "tiny", ImportPhase::Failed).await;
        assert_eq!(ready(&failed), ("JobFailed", "False"));
        assert!(find(&failed.conditions, "Stalled").is_some());
        assert!(
            find(&failed.conditions, "Ready")
                .unwrap()
                .message
                .contains("what auth said")
        );
        assert_eq!((failed.attempts.len(), failed.digest), (2, None));
        bench.until_gone::<PersistentVolumeClaim>("tiny-workspace").await;
        // The annotation asks for another run, and its removal for none.
        retry(&bench, &json!("1")).await;
        finish(&bench, "tiny-g1-3", 4, &failure("auth")).await;
        let third = |status: &ArtifactStatus| {
            let attempt = status.run.as_ref().map(|run| run.attempt);
            (status.phase, attempt) == (Some(ImportPhase::Failed), Some(3))
        };
        until(&bench, "tiny", "failed again", third).await;
        retry(&bench, &Value::Null).await;
        apply(&bench, "tiny", &json!({"ttlSecondsAfterFinished": 7}));
        let reconciled = |status: &ArtifactStatus| status.observed_generation == Some(2);
        let status = until(&bench, "tiny", "reconciled", reconciled).await;
        assert!(third(&status), "{status:?}");
        retry(&bench, &json!("2")).await;
        finish(&bench, "tiny-g2-4", 0, &imported()).await;
        let done = until_phase(&bench, "tiny", ImportPhase::Succeeded).await;
        assert!(find(&done.conditions, "Stalled").is_none());
    });
}

/// An upgrade of the operator no longer saw the Jobs in flight.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_job_of_another_version_of_the_operator_is_seen() {
    run(async {
        let mut bench = Bench::start("art-upgrade", &["--artifacts"]).await;
        apply(&bench, "tiny", &json!({}));
        bench.until_job("tiny-g1-1", None).await;
        until_ready(&bench, "tiny", "JobPending").await;
        bench.end(0, false);
        let older = json!({"metadata": {"labels": {"app.kubernetes.io/version": "0.0.1"}}});
        let params = PatchParams::default();
        let jobs = bench.api::<Job>();
        jobs.patch("tiny-g1-1", &params, &Patch::Merge(&older))
            .await
            .unwrap();
        bench.operate(&["--artifacts"]);
        finish(&bench, "tiny-g1-1", 0, &imported()).await;
        let done = until_phase(&bench, "tiny", ImportPhase::Succeeded).await;
        assert_eq!(done.digest.as_deref(), Some(DIGEST));
        assert_eq!(bench.count_jobs().await, 1);
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_is_missing_or_suspended_makes_no_job_and_a_lost_job_is_another_attempt() {
    run(async {
        let bench = Bench::start("art-blocked", &["--artifacts", "--keep-workspace"]).await;
        let target = json!({"registry": "h.example", "repository": "models/tiny",
            "credentialsSecretRef": {"name": "push"}});
        apply(&bench, "tiny", &json!({"target": target, "suspend": true}));
        let says = |words: &'static str| {
            move |status: &ArtifactStatus| {
                let ready = find(&status.conditions, "Ready");
                ready.is_some_and(|ready| ready.reason == "JobNotCreated" && ready.message.contains(words))
            }
        };
        until(&bench, "tiny", "suspended", says("suspended")).await;
        apply(&bench, "tiny", &json!({"target": target, "suspend": false}));
        until(&bench, "tiny", "named the Secret", says("no Secret push")).await;
        assert_eq!(bench.count_jobs().await, 0);
        let secret = json!({"metadata": {"name": "push"}, "stringData": {"username": "u", "password": "p"}});
        let _: Secret = bench.make_object(secret).await;
        let poke = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}});
        let params = PatchParams::default();
        api(&bench)
            .patch_metadata("tiny", &params, &Patch::Merge(&poke))
            .await
            .unwrap();
        bench.until_job("tiny-g1-1", None).await;
        until_ready(&bench, "tiny", "JobPending").await;
        bench.delete_job("tiny-g1-1").await;
        let lost = |status: &ArtifactStatus| status.run.as_ref().is_some_and(|run| run.attempt == 2);
        until(&bench, "tiny", "has a second attempt", lost).await;
        finish(&bench, "tiny-g1-2", 3, &failure("conflict")).await;
        until_phase(&bench, "tiny", ImportPhase::Failed).await;
        let claims = bench.api::<PersistentVolumeClaim>();
        assert!(
            claims.get_opt("tiny-workspace").await.unwrap().is_some(),
            "--keep-workspace"
        );
        // What it made goes with it.
        api(&bench)
            .delete("tiny", &DeleteParams::default())
            .await
            .unwrap();
        bench.until_gone::<PersistentVolumeClaim>("tiny-workspace").await;
        bench.until_gone::<Job>("tiny-g1-2").await;
    });
}

/// It once was: by whoever may write Artifacts and not read Secrets, to a server of their own.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_secret_for_a_registry_is_not_sent_to_another_server_as_headers() {
    run(async {
        let bench = Bench::start("art-headers", &["--artifacts"]).await;
        let annotations = json!({"solar.opendefense.cloud/registry-host": "h.example"});
        let secret = json!({"metadata": {"name": "push", "annotations": annotations}});
        let _: Secret = bench.make_object(secret).await;
        let source = |host: &str| {
            json!({"http": {"url": format!("https://{host}/x"), "sha256": "a".repeat(64),
                "headersSecretRef": {"name": "push"}}})
        };
        apply(
            &bench,
            "tiny",
            &json!({"source": source("evil.example"), "format": "Raw"}),
        );
        let refused = |status: &ArtifactStatus| {
            let ready = find(&status.conditions, "Ready");
            ready.is_some_and(|ready| {
                ready
                    .message
                    .contains("only be used for h.example, not for evil.example")
            })
        };
        until(&bench, "tiny", "refused", refused).await;
        assert_eq!(bench.count_jobs().await, 0);
        apply(
            &bench,
            "tiny",
            &json!({"source": source("h.example"), "format": "Raw"}),
        );
        bench.until_job("tiny-g2-1", None).await;
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn objects_of_others_are_neither_used_nor_deleted() {
    run(async {
        let bench = Bench::start("art-foreign", &["--artifacts"]).await;
        let claim = json!({"metadata": {"name": "tiny-workspace"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
        let _: PersistentVolumeClaim = bench.make_object(claim).await;
        apply(&bench, "tiny", &json!({}));
        let blocked = |status: &ArtifactStatus| {
            let ready = find(&status.conditions, "Ready");
            ready.is_some_and(|ready| ready.message.contains("belongs to something else"))
        };
        until(&bench, "tiny", "blocked", blocked).await;
        assert_eq!(bench.count_jobs().await, 0);
        assert!(
            bench
                .api::<PersistentVolumeClaim>()
                .get_opt("tiny-workspace")
                .await
                .unwrap()
                .is_some()
        );
    });
}

/// The volume then stayed for ever, and a Job that vanished was started again without being counted.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_operator_that_ends_before_it_names_the_job_loses_neither_it_nor_the_volume() {
    run(async {
        let mut bench = Bench::start("art-crash", &["--artifacts"]).await;
        apply(&bench, "tiny", &json!({}));
        let kept = until_ready(&bench, "tiny", "JobPending").await;
        bench.end(0, false);
        // As if the write after the Job's creation had failed, and a later attempt had made another volume.
        let artifacts = api(&bench);
        let unnamed = async |workspace: Value| {
            let patch = json!({"status": {"jobRef": null, "workspaceRef": workspace}});
            let params = PatchParams::default();
            artifacts
                .patch_status("tiny", &params, &Patch::Merge(&patch))
                .await
                .unwrap();
        };
        unnamed(Value::Null).await;
        bench.operate(&["--artifacts"]);
        let named = |status: &ArtifactStatus| status.job_ref == kept.job_ref;
        until(&bench, "tiny", "names the Job again", named).await;
        bench.delete_job("tiny-g1-1").await;
        let second = |status: &ArtifactStatus| status.run.as_ref().is_some_and(|run| run.attempt == 2);
        until(&bench, "tiny", "counts the lost Job", second).await;
        bench.until_job("tiny-g1-2", None).await;
        until_ready(&bench, "tiny", "JobPending").await;
        bench.end(1, false);
        unnamed(json!({"namespace": bench.namespace, "name": "tiny-workspace", "uid": "older"})).await;
        bench.operate(&["--artifacts"]);
        finish(&bench, "tiny-g1-2", 0, &imported()).await;
        until_phase(&bench, "tiny", ImportPhase::Succeeded).await;
        bench.until_gone::<PersistentVolumeClaim>("tiny-workspace").await;
    });
}

/// With the rights that the install chart gives it, and no others.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_charts_rights_are_enough_and_no_secret_or_volume_is_listed() {
    run(async {
        let mut bench = Bench::new("art-rights").await;
        let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/solar-operator");
        let mut template = Command::new(workspace_program("solar-render", "solar-render"));
        template.args([
            "template",
            "art-rights",
            chart,
            "-n",
            &bench.namespace,
            "--no-hooks",
            "--set",
        ]);
        template.arg("crds.install=false,artifacts.enabled=true,networkPolicy.enabled=false,fullnameOverride=art-rights");
        CLUSTER.apply(&testbed::run(&mut template));
        let account = CLUSTER.service_account(&bench.namespace, "art-rights");
        bench.operate_as(&account, &["--artifacts"]);
        apply(&bench, "tiny", &json!({}));
        finish(&bench, "tiny-g1-1", 0, &imported()).await;
        until_phase(&bench, "tiny", ImportPhase::Succeeded).await;
        bench.until_gone::<PersistentVolumeClaim>("tiny-workspace").await;
        let user = format!("system:serviceaccount:{}:art-rights", bench.namespace);
        for (verb, resource, may) in [
            ("create", "persistentvolumeclaims", true),
            ("list", "persistentvolumeclaims", false),
            ("patch", "persistentvolumeclaims", false),
            ("list", "secrets", false),
            ("create", "artifacts.solar.opendefense.cloud", false),
            ("patch", "artifacts.solar.opendefense.cloud", false),
            ("delete", "artifacts.solar.opendefense.cloud", false),
        ] {
            let arguments = [
                "auth",
                "can-i",
                verb,
                resource,
                "--as",
                &user,
                "-n",
                &bench.namespace,
            ];
            let output = CLUSTER.kubectl_command(&arguments).output().unwrap();
            assert_eq!(output.stdout.starts_with(b"yes"), may, "{verb} {resource}");
        }
    });
}

/// Specs that the API server must refuse.
fn hostile() -> Vec<Value> {
    let hub = |field: &str, value: Value| {
        let mut source = json!({"repository": "acme/tiny"});
        source[field] = value;
        json!({"source": {"huggingFace": source}})
    };
    let target = |field: &str, value: Value| {
        let mut target = json!({"registry": "h.example", "repository": "a"});
        target[field] = value;
        json!({"target": target})
    };
    let web = |url: &str, sha256: &str| json!({"source": {"http": {"url": url, "sha256": sha256}}, "format": "Raw"});
    let sha256 = "a".repeat(64);
    vec![
        hub("repository", json!("a/b/c")),
        hub("repository", json!("--from=x")),
        hub("revision", json!("../main")),
        hub("revision", json!("main --to")),
        hub("include", json!(["a\nb"])),
        hub("include", json!(vec!["x"; 65])),
        hub("exclude", json!([""])),
        target("registry", json!("h.example/x")),
        target("registry", json!("user@h.example")),
        target("repository", json!("A")),
        target("tag", json!("-x")),
        target("ifExists", json!("always")),
        web("file:///etc/passwd", &sha256),
        web("https://user:pw@h.example/a", &sha256),
        web("https://h.example/a b", &sha256),
        web("https://h.example/a", "x"),
        json!({"source": {}}),
        json!({"source": {"huggingFace": {"repository": "a"}, "oci": {"reference": "h.example/a:1"}}}),
        json!({"source": {"oci": {"reference": "h.example"}}}),
        json!({"format": "Chart"}),
        json!({"storage": {"size": "-1"}}),
        json!({"storage": {"storageClassName": "a b"}}),
        json!({"ttlSecondsAfterFinished": -1}),
    ]
}

/// What reaches a command line has a pattern.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn hostile_specs_are_refused_by_the_api_server() {
    run(async {
        let bench = Bench::new("art-hostile").await;
        let sha256 = "a".repeat(64);
        let bad = hostile();
        let path = format!(
            "/apis/solar.opendefense.cloud/v1alpha1/namespaces/{}/artifacts",
            bench.namespace
        );
        let post = async |name: &str, spec: &Value| {
            let body = object(&bench, name, spec).to_string().into_bytes();
            let request = kube::core::Request::new(path.clone()).create(&PostParams::default(), body);
            within("an answer", bench.client.request_text(request.unwrap())).await
        };
        for (number, spec) in bad.iter().enumerate() {
            let answer = post(&format!("bad-{number}"), spec).await;
            let error = answer.expect_err(&spec.to_string()).to_string();
            assert!(error.contains("nvalid"), "{spec}: {error}");
        }
        post("good", &json!({"source": {"http": {"url": "https://h.example/a?x=$(HOME)", "sha256": sha256}}, "format": "Raw"}))
            .await
            .unwrap();
        let chart = json!({"source": {"oci": {"reference": "oci://h.example:5000/a/b@sha256:".to_owned() + &sha256}},
            "format": "Chart"});
        post("chart", &chart).await.unwrap();
    });
}
