//! Tests for each row of the tables of conditions and of results.

use super::*;

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn job() -> JobSnapshot {
    JobSnapshot {
        namespace: "tenant".into(),
        name: "render-shop".into(),
        uid: "job-1".into(),
        created: Some(at(100)),
        deleting: false,
        active: 1,
        succeeded: 0,
        failed: 0,
        started: Some(at(100)),
        end: None,
        refusal: None,
        suspended: false,
    }
}

fn ended_job(complete: bool, reason: &str) -> JobSnapshot {
    let end = JobEnd {
        complete,
        reason: reason.into(),
        message: format!("the Job's own words: {reason}"),
        at: Some(at(200)),
    };
    JobSnapshot {
        active: 0,
        end: Some(end),
        ..job()
    }
}

fn pod(number: i64, exit_code: Option<i32>, reason: &str, message: &str) -> PodSnapshot {
    PodSnapshot {
        created: None,
        namespace: "tenant".into(),
        name: format!("render-shop-{number}"),
        uid: format!("pod-{number}"),
        job_uid: "job-1".into(),
        end: Some(PodEnd {
            started: Some(at(100 + number)),
            finished: Some(at(110 + number)),
            exit_code,
            reason: reason.into(),
            message: message.into(),
        }),
        waiting: None,
        ran: true,
        deleting: false,
    }
}

fn result(class: &str) -> String {
    format!(r#"{{"schema":1,"error":{{"class":"{class}","transient":false,"message":"what {class} said"}}}}"#)
}

fn success() -> String {
    format!(r#"{{"schema":1,"outcome":"created","reference":"h/r:1","digest":"{DIGEST}","size":1}}"#)
}

fn look(job: &JobSnapshot, pods: &[PodSnapshot]) -> Observation {
    observe(Some(job), pods, Previous::default(), at(201))
}

fn failure(observation: &Observation) -> (Reason, &str) {
    match &observation.state {
        Some(State::Failed { reason, message }) => (*reason, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_complete_job_reports_what_the_pod_reported() {
    let seen = look(
        &ended_job(true, "Complete"),
        &[pod(1, Some(0), "Completed", &success())],
    );
    assert_eq!(seen.digest.as_deref(), Some(DIGEST));
    assert_eq!(seen.outcome, Some(Outcome::Created));
    assert_eq!(seen.completed, Some(at(200)));
    assert!(matches!(&seen.state, Some(State::Succeeded { message }) if message.contains(DIGEST)));
    assert_eq!(seen.attempts[0].class, "created");
    assert_eq!(seen.attempts[0].message, "", "the status says it already");
}

#[test]
fn the_result_is_of_the_pod_that_exited_with_0_not_of_the_newest() {
    let pods = [
        pod(1, Some(0), "Completed", &success()),
        pod(
            2,
            Some(5),
            "Error",
            &format!("another digest sha256:{}", "b".repeat(64)),
        ),
    ];
    let seen = look(&ended_job(true, "Complete"), &pods);
    assert_eq!(seen.digest.as_deref(), Some(DIGEST));
}

#[test]
fn a_failed_pod_with_retries_left_is_no_failure() {
    let seen = look(
        &JobSnapshot { failed: 1, ..job() },
        &[pod(1, Some(5), "Error", &result("network"))],
    );
    match &seen.state {
        Some(State::Scheduled { message }) => assert_eq!(message, "pods: 1 active, 0 succeeded, 1 failed"),
        other => panic!("{other:?}"),
    }
    assert_eq!(seen.attempts.len(), 1, "but it is recorded");
    assert_eq!(seen.attempts[0].class, "network");
    assert_eq!(seen.attempts[0].message, "what network said");
}

#[test]
fn each_class_has_its_reason() {
    let table = [
        ("config", Reason::ConfigInvalid),
        ("template", Reason::ConfigInvalid),
        ("chart", Reason::ConfigInvalid),
        ("values", Reason::ConfigInvalid),
        ("usage", Reason::ConfigInvalid),
        ("conflict", Reason::Conflict),
        ("digest", Reason::Conflict),
        ("auth", Reason::AuthFailed),
        ("refused", Reason::RegistryRefused),
        ("protocol", Reason::RegistryRefused),
        ("registry", Reason::RegistryUnavailable),
        ("network", Reason::RegistryUnavailable),
        ("io", Reason::InputOutput),
        ("internal", Reason::RendererCrashed),
        ("cancelled", Reason::Cancelled),
    ];
    for (class, expected) in table {
        let seen = look(
            &ended_job(false, "PodFailurePolicy"),
            &[pod(1, Some(9), "Error", &result(class))],
        );
        assert_eq!(
            failure(&seen),
            (expected, format!("what {class} said").as_str()),
            "{class}"
        );
    }
}

#[test]
fn without_a_result_the_reason_is_the_jobs_and_the_message_the_kubelets() {
    // The Job's reason, the pod's exit code and reason, the expected reason and message.
    let table = [
        (
            "BackoffLimitExceeded",
            Some(1),
            "Error",
            Reason::BackoffLimitExceeded,
        ),
        (
            "BackoffLimitExceeded",
            Some(137),
            "OOMKilled",
            Reason::RendererCrashed,
        ),
        ("BackoffLimitExceeded", None, "Evicted", Reason::Evicted),
        ("PodFailurePolicy", Some(1), "Error", Reason::ConfigInvalid),
        ("PodFailurePolicy", Some(2), "Error", Reason::ConfigInvalid),
        ("PodFailurePolicy", Some(3), "Error", Reason::Conflict),
        ("PodFailurePolicy", Some(4), "Error", Reason::RegistryRefused),
        (
            "PodFailurePolicy",
            Some(77),
            "Error",
            Reason::BackoffLimitExceeded,
        ),
    ];
    for (job_reason, code, pod_reason, expected) in table {
        let seen = look(
            &ended_job(false, job_reason),
            &[pod(1, code, pod_reason, "some words")],
        );
        assert_eq!(
            failure(&seen),
            (expected, "some words"),
            "{job_reason} {code:?} {pod_reason}"
        );
    }
    let seen = look(
        &ended_job(false, "BackoffLimitExceeded"),
        &[pod(1, Some(137), "OOMKilled", "")],
    );
    assert_eq!(
        failure(&seen).1,
        "pod render-shop-1 ended: exit code 137, OOMKilled"
    );
    let seen = look(&ended_job(false, "BackoffLimitExceeded"), &[]);
    assert_eq!(failure(&seen).1, "the Job's own words: BackoffLimitExceeded");
}

#[test]
fn a_jobs_failure_has_the_message_of_its_newest_finished_pod() {
    let pods = [
        pod(3, Some(5), "Error", &result("registry")),
        pod(1, Some(4), "Error", &result("auth")),
    ];
    assert_eq!(
        failure(&look(&ended_job(false, "BackoffLimitExceeded"), &pods)).0,
        Reason::RegistryUnavailable
    );
}

/// The node's clock was once used to decide whether a pod belongs to this Job: one that was behind hid why the Job had
/// failed.
#[test]
fn a_nodes_clock_may_be_behind() {
    let mut early = pod(1, Some(4), "Error", &result("auth"));
    let end = early.end.as_mut().expect("an end");
    (end.started, end.finished) = (Some(at(40)), Some(at(41)));
    let seen = look(&ended_job(false, "PodFailurePolicy"), &[early]);
    assert_eq!(failure(&seen), (Reason::AuthFailed, "what auth said"));
    // Deleted pods of an earlier run with the same name are ignored.
    let previous = Previous {
        attempts: &seen.attempts,
        ..Default::default()
    };
    let later = observe(
        Some(&ended_job(false, "BackoffLimitExceeded")),
        &[],
        previous,
        at(201),
    );
    assert_eq!(failure(&later).0, Reason::BackoffLimitExceeded);
}

/// A Job's end that was seen before its pods' once hid permanently why it had failed.
#[test]
fn the_pods_of_a_failed_job_are_awaited() {
    let job = JobSnapshot {
        failed: 1,
        ..ended_job(false, "PodFailurePolicy")
    };
    let early = observe(Some(&job), &[], Previous::default(), at(209));
    assert_eq!((&early.state, early.requeue), (&None, Some(POD_INTERVAL)));
    let known = observe(
        Some(&job),
        &[pod(1, Some(4), "Error", &result("auth"))],
        Previous::default(),
        at(209),
    );
    assert_eq!(failure(&known).0, Reason::AuthFailed);
    let late = observe(Some(&job), &[], Previous::default(), at(210));
    assert_eq!(failure(&late).0, Reason::BackoffLimitExceeded);
    let deadline = JobSnapshot {
        end: ended_job(false, "DeadlineExceeded").end,
        ..job
    };
    assert_eq!(
        failure(&look(&deadline, &[])).0,
        Reason::DeadlineExceeded,
        "pods have nothing to add"
    );
}

#[test]
fn an_exceeded_deadline_names_what_the_pod_waited_for() {
    let waited = PodSnapshot {
        waiting: Some("ImagePullBackOff: no such image".into()),
        ran: false,
        ..pod(
            1,
            Some(137),
            "ContainerStatusUnknown",
            "the container could not be located",
        )
    };
    let seen = look(&ended_job(false, "DeadlineExceeded"), &[waited]);
    let (reason, message) = failure(&seen);
    assert_eq!(reason, Reason::DeadlineExceeded);
    let expected = "the Job's own words: DeadlineExceeded; waited: ImagePullBackOff: no such image";
    assert_eq!(message, expected);
}

#[test]
fn a_waiting_pod_reports_what_it_waits_for() {
    let waiting = PodSnapshot {
        end: None,
        waiting: Some("ImagePullBackOff: no such image".into()),
        ran: false,
        ..pod(1, None, "", "")
    };
    let seen = look(&job(), &[waiting]);
    assert!(
        matches!(&seen.state, Some(State::Scheduled { message })
            if message.ends_with("render-shop-1 waits: ImagePullBackOff: no such image")),
        "{seen:?}"
    );
    let refused = JobSnapshot {
        active: 0,
        refusal: Some("exceeded quota".into()),
        ..job()
    };
    let seen = look(&refused, &[]);
    assert!(
        matches!(&seen.state, Some(State::Scheduled { message }) if message.ends_with("no pod can be made: exceeded quota")),
        "{seen:?}"
    );
    assert_eq!(seen.requeue, Some(NO_POD_INTERVAL), "no pod will wake us");
    let suspended = JobSnapshot {
        suspended: true,
        ..refused
    };
    let seen = look(&suspended, &[]);
    assert!(
        matches!(&seen.state, Some(State::Scheduled { message }) if message.ends_with("failed; the Job is suspended")),
        "{seen:?}"
    );
}

#[test]
fn a_digest_is_awaited_for_a_minute() {
    let job = ended_job(true, "Complete");
    let early = observe(Some(&job), &[], Previous::default(), at(259));
    assert_eq!(
        (early.state, early.requeue),
        (Some(State::AwaitingDigest), Some(DIGEST_INTERVAL))
    );
    let late = observe(Some(&job), &[], Previous::default(), at(260));
    assert_eq!((late.state, late.requeue), (Some(State::WithoutDigest), None));
}

#[test]
fn a_digest_seen_before_the_pod_was_deleted_counts() {
    let previous = Previous {
        digest: Some(DIGEST),
        outcome: Some(Outcome::Created),
        ..Default::default()
    };
    let seen = observe(Some(&ended_job(true, "Complete")), &[], previous, at(201));
    assert!(matches!(seen.state, Some(State::Succeeded { .. })));
    assert_eq!(seen.digest.as_deref(), Some(DIGEST));
}

#[test]
fn a_failure_has_no_digest_even_if_a_pod_named_one() {
    let previous = Previous {
        digest: Some(DIGEST),
        outcome: Some(Outcome::Created),
        ..Default::default()
    };
    let seen = observe(
        Some(&ended_job(false, "DeadlineExceeded")),
        &[],
        previous,
        at(201),
    );
    assert_eq!((seen.digest, seen.outcome), (None, None));
}

#[test]
fn an_end_outlives_its_job() {
    let done = State::Succeeded { message: "m".into() };
    let conditions = conditions::merge(&[], &done.findings(), None, at(1));
    let previous = Previous {
        conditions: &conditions,
        digest: Some(DIGEST),
        ..Default::default()
    };
    let seen = observe(None, &[], previous, at(1_000_000));
    assert_eq!((seen.state, seen.digest.as_deref()), (None, Some(DIGEST)));
    let never = observe(None, &[], Previous::default(), at(1));
    assert!(matches!(
        never.state,
        Some(State::NotScheduled {
            reason: Reason::DoesNotExist,
            ..
        })
    ));
}

#[test]
fn pods_of_another_job_of_the_same_name_do_not_count() {
    let stranger = PodSnapshot {
        job_uid: "job-0".into(),
        ..pod(1, Some(0), "Completed", &success())
    };
    let elsewhere = PodSnapshot {
        namespace: "another-tenant".into(),
        ..pod(1, Some(0), "Completed", &success())
    };
    let seen = look(&ended_job(true, "Complete"), &[stranger, elsewhere]);
    assert_eq!((seen.digest, seen.attempts.len()), (None, 0));
}

#[test]
fn the_last_ten_attempts_are_kept_each_once() {
    let mut known = Vec::new();
    for number in 1..=12 {
        let pods = [pod(number, Some(5), "Error", "x")];
        let previous = Previous {
            attempts: &known,
            ..Default::default()
        };
        let seen = observe(Some(&job()), &pods, previous, at(200));
        let again = Previous {
            attempts: &seen.attempts,
            ..Default::default()
        };
        assert_eq!(
            observe(Some(&job()), &pods, again, at(200)).attempts,
            seen.attempts
        );
        known = seen.attempts;
    }
    assert_eq!(known.len(), MAX_ATTEMPTS);
    assert_eq!(
        (known[0].pod_uid.as_str(), known[9].pod_uid.as_str()),
        ("pod-3", "pod-12")
    );
}
