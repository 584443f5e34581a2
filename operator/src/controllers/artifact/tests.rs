//! Decisions and statuses in tables.

mod objects;

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::apply::Applied;
use super::blocked::used_secrets;
use super::decide::{Decision, MAX_ATTEMPTS, decide, next_attempt};
use super::dereference::{Found, JobState};
use super::job::job;
use super::status::next;
use super::workspace::claim;
use super::{ArtifactSettings, conditions, kit};
use crate::api::OwnedReference;
use crate::api::artifact::{ARTIFACTS, ArtifactStatus, ImportPhase, ImportRun};
use crate::jobs::conditions::{Reason, State};
use crate::jobs::index::FoundJob;
use crate::jobs::observe::{Observation, Reported};
use crate::jobs::partial::PartialJob;
use crate::runtime::ObjectName;
use crate::runtime::conditions::{READY, STALLED, find, merge};
use crate::tests::settings;

fn own() -> ArtifactSettings {
    ArtifactSettings {
        deadline_seconds: 3600,
        keep_workspace: false,
        kit_image: None,
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn found(spec: &Value) -> Found {
    let mut whole = json!({
        "source": {"huggingFace": {"repository": "acme/tiny"}}, "format": "ModelPack",
        "target": {"registry": "h.example", "repository": "models/tiny"},
    });
    for (field, value) in spec.as_object().expect("fields") {
        whole[field] = value.clone();
    }
    Found {
        key: ARTIFACTS.key(ObjectName::new("tenant", "tiny")),
        metadata: serde_json::from_value(json!({
            "name": "tiny", "namespace": "tenant", "uid": "uid-1", "generation": 2, "resourceVersion": "7",
        }))
        .expect("metadata"),
        spec: serde_json::from_value(whole).expect("a spec"),
        status: ArtifactStatus::default(),
        job: JobState::Missing,
        pods: Vec::new(),
    }
}

fn run(generation: i64, attempt: i32) -> ImportRun {
    ImportRun {
        generation,
        input: Some(found(&json!({})).input()),
        attempt,
        first_attempt: 1,
        ..ImportRun::default()
    }
}

fn without_volume(run: ImportRun) -> ImportRun {
    ImportRun {
        workspace_deleted: true,
        ..run
    }
}

fn running() -> JobState {
    let object = json!({"metadata": {"name": "tiny-g2-1", "namespace": "tenant", "uid": "job-1"}});
    let job: PartialJob = serde_json::from_value(object).expect("a Job");
    JobState::Found(Box::new(FoundJob::new(&job, true)))
}

fn reference(name: &str) -> OwnedReference {
    OwnedReference {
        namespace: "tenant".into(),
        name: name.into(),
        uid: "u".into(),
    }
}

fn status(phase: ImportPhase, run: ImportRun) -> ArtifactStatus {
    let has_ended = matches!(phase, ImportPhase::Succeeded | ImportPhase::Failed);
    ArtifactStatus {
        observed_generation: has_ended.then_some(2),
        phase: Some(phase),
        run: Some(run),
        ..ArtifactStatus::default()
    }
}

#[test]
fn a_new_artifact_and_an_edited_one_begin() {
    let mut found = found(&json!({}));
    assert_eq!(decide(&found, at(0), &own()), Decision::Begin(run(2, 1)));
    for phase in [
        ImportPhase::Pending,
        ImportPhase::Running,
        ImportPhase::Succeeded,
        ImportPhase::Failed,
    ] {
        let other = ImportRun {
            input: Some("another".into()),
            ..run(1, 3)
        };
        found.status = status(phase, other);
        found.job = running();
        assert_eq!(
            decide(&found, at(0), &own()),
            Decision::Begin(run(2, 1)),
            "{phase:?}"
        );
    }
}

/// Any edit once killed a running import, and wiped the result of a finished one: `suspend`, too.
#[test]
fn an_edit_that_the_import_does_not_depend_on_leaves_it_alone() {
    let mut found = found(&json!({"suspend": true, "ttlSecondsAfterFinished": 1}));
    found.status = status(ImportPhase::Running, run(1, 3));
    found.job = running();
    assert_eq!(decide(&found, at(0), &own()), Decision::Observe);
    found.job = JobState::Missing;
    assert_eq!(decide(&found, at(0), &own()), Decision::Suspended);
    found.spec.suspend = false;
    assert_eq!(decide(&found, at(0), &own()), Decision::Start);
    assert_eq!(found.job_name(), "tiny-g1-3");
    for (phase, ready) in [
        (ImportPhase::Succeeded, conditions::ready("Completed", "done")),
        (ImportPhase::Failed, conditions::failed("it failed")),
    ] {
        found.status = ArtifactStatus {
            observed_generation: Some(1),
            digest: Some("sha256:x".into()),
            conditions: merge(&[], &ready, Some(1), at(0)),
            ..status(phase, without_volume(run(1, 3)))
        };
        assert_eq!(decide(&found, at(0), &own()), Decision::Advance, "{phase:?}");
        let advanced = next(&found, Applied::Advanced, &permanent(), at(9)).status;
        let ready = find(&advanced.conditions, READY).expect("Ready");
        assert_eq!(
            (advanced.observed_generation, ready.observed_generation),
            (Some(2), Some(2))
        );
        assert_eq!(
            ArtifactStatus {
                observed_generation: Some(1),
                conditions: found.status.conditions.clone(),
                ..advanced.clone()
            },
            found.status,
            "nothing else changes"
        );
        found.status = advanced;
        assert_eq!(
            decide(&found, at(0), &own()),
            Decision::Nothing(None),
            "{phase:?}"
        );
    }
}

/// A field that a later version adds must not change it: every import would run again.
#[test]
fn the_hash_of_an_import_is_of_what_it_depends_on() {
    let plain = found(&json!({}));
    assert_eq!(
        plain.input(),
        "f35d8b02d441201e3da0fbbc48f10b401bff83d1152edcfff50bb3c0884f6fb5"
    );
    for same in [json!({"suspend": true}), json!({"ttlSecondsAfterFinished": 1})] {
        assert_eq!(found(&same).input(), plain.input(), "{same}");
    }
    for other in [
        json!({"source": {"huggingFace": {"repository": "acme/tiny", "revision": "v1"}}}),
        json!({"format": "Raw"}),
        json!({"target": {"registry": "h.example", "repository": "models/tiny", "tag": "1"}}),
        json!({"storage": {"size": "20Gi"}}),
    ] {
        assert_ne!(found(&other).input(), plain.input(), "{other}");
    }
}

#[test]
fn the_job_of_the_current_attempt_decides() {
    let pending = || status(ImportPhase::Pending, run(2, 1));
    let mut found = found(&json!({}));
    found.status = pending();
    assert_eq!(decide(&found, at(0), &own()), Decision::Start);
    found.status.run = Some(ImportRun {
        not_before: Some(Time(at(30))),
        ..run(2, 2)
    });
    assert_eq!(
        decide(&found, at(10), &own()),
        Decision::Nothing(Some(Duration::from_secs(20)))
    );
    assert_eq!(decide(&found, at(30), &own()), Decision::Start);
    found.spec.suspend = true;
    assert_eq!(decide(&found, at(30), &own()), Decision::Suspended);
    found.job = running();
    assert_eq!(
        decide(&found, at(30), &own()),
        Decision::Observe,
        "one that runs goes on"
    );
    found.job = JobState::Foreign;
    assert_eq!(decide(&found, at(30), &own()), Decision::Conflict);
    found.job = JobState::Missing;
    found.status.job_ref = Some(reference("tiny-g2-2"));
    assert_eq!(decide(&found, at(30), &own()), Decision::Lost);
    found.status.job_ref = Some(reference("tiny-g2-1"));
    assert_eq!(
        decide(&found, at(30), &own()),
        Decision::Suspended,
        "that of another attempt"
    );
}

#[test]
fn an_ended_import_loses_its_volume_and_stays() {
    let mut found = found(&json!({}));
    for phase in [ImportPhase::Succeeded, ImportPhase::Failed] {
        // The status may not name it: the write after the Job's creation may have failed.
        found.status = status(phase, run(2, 1));
        assert_eq!(
            decide(&found, at(0), &own()),
            Decision::DeleteWorkspace,
            "{phase:?}"
        );
        let kept = ArtifactSettings {
            keep_workspace: true,
            ..own()
        };
        assert_eq!(decide(&found, at(0), &kept), Decision::Nothing(None), "{phase:?}");
        found.status.workspace_ref = Some(reference("tiny-workspace"));
        found.status = next(&found, Applied::WorkspaceDeleted, &permanent(), at(1)).status;
        assert_eq!(found.status.workspace_ref, None);
        assert_eq!(
            decide(&found, at(0), &own()),
            Decision::Nothing(None),
            "{phase:?}"
        );
    }
    found.status = status(ImportPhase::Succeeded, without_volume(run(2, 1)));
    let findings = conditions::ready(conditions::reasons::SUCCEEDED, "done");
    found.status.conditions = merge(&[], &findings, Some(2), at(0));
    assert_eq!(
        decide(&found, at(0), &own()),
        Decision::Complete,
        "the Job is gone"
    );
    found.job = running();
    assert_eq!(decide(&found, at(0), &own()), Decision::Nothing(None));
}

#[test]
fn a_failed_import_is_retried_by_the_annotation() {
    let mut found = found(&json!({}));
    let annotation = ("solar.opendefense.cloud/retry".to_owned(), "now".to_owned());
    found.metadata.annotations = Some([annotation].into());
    found.status = status(ImportPhase::Failed, run(2, 4));
    let Decision::Begin(begun) = decide(&found, at(0), &own()) else {
        panic!("it begins");
    };
    assert_eq!(
        (begun.attempt, begun.first_attempt, begun.retry.as_deref()),
        (5, 5, Some("now"))
    );
    found.status = status(ImportPhase::Failed, without_volume(begun));
    assert_eq!(decide(&found, at(0), &own()), Decision::Nothing(None), "once");
    // Its removal once repeated the import.
    found.metadata.annotations = None;
    assert_eq!(decide(&found, at(0), &own()), Decision::Nothing(None), "removed");
}

#[test]
fn attempts_are_made_with_backoff_and_end() {
    let mut current = run(2, 1);
    let mut delays = Vec::new();
    while let Some(following) = next_attempt(&current, at(0)) {
        delays.push(following.not_before.as_ref().map_or(0, |time| time.0.as_second()));
        current = following;
    }
    assert_eq!(delays, [10, 20, 40]);
    assert_eq!(current.attempt, MAX_ATTEMPTS);
    let later = ImportRun {
        first_attempt: 4,
        ..current
    };
    assert!(
        next_attempt(&later, at(0)).is_some(),
        "a retry has attempts of its own"
    );
}

fn observation(state: State) -> Applied {
    Applied::Observed {
        observation: Box::new(Observation {
            state: Some(state),
            digest: Some(format!("sha256:{}", "a".repeat(64))),
            outcome: None,
            reported: Reported {
                reference: Some("h.example/models/tiny:latest".into()),
                content_size: Some(5),
                revision: Some("c".into()),
            },
            attempts: Vec::new(),
            started: Some(at(1)),
            completed: Some(at(2)),
            requeue: None,
        }),
        has_run: true,
        exit_code: None,
    }
}

fn permanent() -> BTreeSet<i32> {
    [1, 2, 3, 4].into()
}

/// Phase, reason of Ready, its status, and whether it is Stalled.
fn shown(status: &ArtifactStatus) -> (Option<ImportPhase>, &str, &str, bool) {
    let ready = find(&status.conditions, READY).expect("Ready");
    (
        status.phase,
        ready.reason.as_str(),
        ready.status.as_str(),
        find(&status.conditions, STALLED).is_some(),
    )
}

#[test]
fn a_success_has_the_containers_own_digest_and_only_it_advances_the_generation() {
    let mut found = found(&json!({}));
    found.status = status(ImportPhase::Running, run(2, 1));
    let waiting = next(
        &found,
        observation(State::Scheduled { message: "m".into() }),
        &permanent(),
        at(3),
    );
    assert_eq!(
        shown(&waiting.status),
        (Some(ImportPhase::Running), "JobRunning", "Unknown", false)
    );
    assert_eq!(
        (waiting.status.observed_generation, waiting.status.digest),
        (None, None)
    );
    let done = next(
        &found,
        observation(State::Succeeded {
            message: "created".into(),
        }),
        &permanent(),
        at(3),
    );
    assert_eq!(
        shown(&done.status),
        (Some(ImportPhase::Succeeded), "Succeeded", "True", false)
    );
    assert_eq!(done.status.observed_generation, Some(2));
    assert!(done.status.digest.is_some());
    assert_eq!(
        (done.status.size, done.status.revision.as_deref()),
        (Some(5), Some("c"))
    );
    found.status = done.status;
    let kept = next(&found, Applied::Completed, &permanent(), at(9));
    assert_eq!(
        shown(&kept.status),
        (Some(ImportPhase::Succeeded), "Completed", "True", false)
    );
    assert_eq!(kept.status.digest, found.status.digest);
}

/// After a failed write its volume once stayed, and a Job that vanished was started again without being counted.
#[test]
fn a_job_that_the_status_does_not_name_is_named_once_it_is_seen() {
    let mut found = found(&json!({}));
    found.status = status(ImportPhase::Pending, run(2, 1));
    found.job = running();
    let scheduled = observation(State::Scheduled { message: "m".into() });
    found.status = next(&found, scheduled, &permanent(), at(3)).status;
    let job = found.status.job_ref.as_ref().expect("a reference");
    assert_eq!(
        (job.namespace.as_str(), job.name.as_str(), job.uid.as_str()),
        ("tenant", "tiny-g2-1", "job-1")
    );
    found.job = JobState::Missing;
    assert_eq!(decide(&found, at(4), &own()), Decision::Lost);
}

#[test]
fn a_new_run_resets_phase_and_digest_and_keeps_the_generation_of_the_last_result() {
    let mut found = found(&json!({}));
    found.status = ArtifactStatus {
        observed_generation: Some(1),
        digest: Some("sha256:x".into()),
        size: Some(1),
        job_ref: Some(reference("tiny-g1-1")),
        ..status(ImportPhase::Succeeded, run(1, 1))
    };
    let begun = next(&found, Applied::Begun(run(2, 1)), &permanent(), at(3)).status;
    assert_eq!(
        shown(&begun),
        (Some(ImportPhase::Pending), "JobNotCreated", "Unknown", false)
    );
    assert_eq!(
        (begun.observed_generation, begun.digest, begun.size, begun.job_ref),
        (Some(1), None, None, None)
    );
}

/// Any failed pod was once final.
#[test]
fn failures_are_retried_unless_they_last() {
    let failed = |reason| State::Failed {
        reason,
        message: "what it said".into(),
    };
    let with_code = |state, code| match observation(state) {
        Applied::Observed {
            observation, has_run, ..
        } => Applied::Observed {
            observation,
            has_run,
            exit_code: Some(code),
        },
        other => other,
    };
    let table = [
        (5, Reason::RegistryUnavailable, 1, ImportPhase::Pending),
        (5, Reason::RegistryUnavailable, 3, ImportPhase::Pending),
        (5, Reason::RegistryUnavailable, 4, ImportPhase::Failed),
        (137, Reason::RendererCrashed, 1, ImportPhase::Pending),
        (4, Reason::AuthFailed, 1, ImportPhase::Failed),
        (3, Reason::Conflict, 1, ImportPhase::Failed),
    ];
    for (code, reason, attempt, expected) in table {
        let mut found = found(&json!({}));
        found.status = status(ImportPhase::Running, run(2, attempt));
        let next = next(&found, with_code(failed(reason), code), &permanent(), at(100));
        assert_eq!(next.status.phase, Some(expected), "{code} {attempt}");
        let (_, why, ready, is_stalled) = shown(&next.status);
        let ready = (why, ready, is_stalled);
        match expected {
            ImportPhase::Failed => assert_eq!(ready, ("JobFailed", "False", true), "{code} {attempt}"),
            _ => {
                assert_eq!(ready, ("JobNotCreated", "Unknown", false), "{code} {attempt}");
                assert_eq!(next.status.run.map(|run| run.attempt), Some(attempt + 1));
                assert_eq!(next.status.job_ref, None);
            }
        }
    }
    let mut found = found(&json!({}));
    found.status = status(ImportPhase::Running, run(2, 4));
    let long = State::Failed {
        reason: Reason::InputOutput,
        message: "x".repeat(5000),
    };
    let cut = next(&found, with_code(long, 5), &permanent(), at(100)).status;
    assert!(find(&cut.conditions, READY).is_some_and(|ready| ready.message.len() <= 1024));
    let lost = next(&found, Applied::Lost, &permanent(), at(100)).status;
    assert_eq!(lost.phase, Some(ImportPhase::Failed));
    found.status = status(ImportPhase::Running, run(2, 1));
    let without = next(&found, observation(State::WithoutDigest), &permanent(), at(100)).status;
    assert_eq!(without.phase, Some(ImportPhase::Failed));
}

/// Only the push Secret's annotation was once read: any Secret could be sent to any server, as headers.
#[test]
fn each_secret_is_for_the_host_that_it_is_sent_to() {
    let sha256 = "b".repeat(64);
    let web = |url: &str| json!({"http": {"url": url, "sha256": sha256, "headersSecretRef": {"name": "s"}}});
    let oci = |reference: &str| json!({"oci": {"reference": reference, "pullSecretRef": {"name": "s"}}});
    let table = [
        (web("https://evil.example/x"), "evil.example"),
        (
            web("http://h.example:8080/c/a@b.tgz?to=h.example#x"),
            "h.example:8080",
        ),
        (web("https://[::1]:8443/x"), "[::1]:8443"),
        (oci("h.example:5000/a/b:1"), "h.example:5000"),
        (oci("oci://h.example/a@sha256:b"), "h.example"),
        (
            json!({"huggingFace": {"repository": "acme/tiny", "tokenSecretRef": {"name": "s"}}}),
            "huggingface.co",
        ),
    ];
    for (source, host) in table {
        let target =
            json!({"registry": "t.example", "repository": "a", "credentialsSecretRef": {"name": "push"}});
        let found = found(&json!({"source": source, "target": target, "format": "Raw"}));
        let used = used_secrets(&found.spec);
        let used: Vec<_> = used.iter().map(|secret| (secret.name, secret.host)).collect();
        assert_eq!(used, [("push", "t.example"), ("s", host)]);
    }
    assert_eq!(used_secrets(&found(&json!({})).spec), []);
}

/// A push Secret without the annotation was once sent to any web server: its user and password as headers.
#[test]
fn only_an_annotated_secret_is_sent_as_headers() {
    let source = json!({"http": {"url": "https://h.example/x", "sha256": "b".repeat(64),
        "headersSecretRef": {"name": "s"}}});
    let target =
        json!({"registry": "t.example", "repository": "a", "credentialsSecretRef": {"name": "push"}});
    let found = found(&json!({"source": source, "target": target, "format": "Raw"}));
    let refused = |annotated: Option<&'static str>| -> Vec<Option<String>> {
        let used = used_secrets(&found.spec);
        used.iter().map(|secret| secret.refusal(annotated)).collect()
    };
    let needed = "the Secret s is sent to h.example as headers: it must have the annotation \
                  solar.opendefense.cloud/registry-host: h.example";
    assert_eq!(refused(None), [None, Some(needed.to_owned())]);
    assert_eq!(refused(Some("H.example"))[1], None);
    assert!(refused(Some("t.example"))[1].is_some());
}
