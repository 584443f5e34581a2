//! What renderers and kubelets say of an end, and what the status makes of it, with the real Job controller in between.

use futures_util::future::join_all;
use serde_json::{Value, json};
use solar_operator::api::TaskStatus;

use crate::harness::{Bench, DIGEST, failure, message_of, reason_of, run, status_of, terminated_at};

/// How many pods of a Job may fail before it does.
const PODS: usize = 4;

/// Every pod ends so.
async fn fails(bench: &Bench, name: &str, end: &Value) -> TaskStatus {
    bench.make(name, json!({})).await;
    for _ in 0..PODS {
        bench.finish_as(&format!("render-{name}"), end).await;
    }
    bench.until_state(name, "JobFailed").await
}

/// The attempts' class, how each pod ends, the reason, the end of the message. By clocks that are behind the API
/// server's, which also keeps the Job controller from waiting before it makes the next pod.
fn transient_ends() -> [(&'static str, Value, &'static str, &'static str); 7] {
    let clock = "2026-01-01T00:00:00Z";
    let error = |code, message: &str| terminated_at(clock, code, "Error", message);
    let result = |code, class| error(code, &failure(class));
    let oom = terminated_at(clock, 137, "OOMKilled", "");
    let evicted = json!({"status": {
        "phase": "Failed", "reason": "Evicted", "message": "ephemeral storage exceeded",
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": clock}],
    }});
    let (network, io) = (result(5, "network"), result(5, "io"));
    let (internal, cancelled) = (result(70, "internal"), result(143, "cancelled"));
    [
        ("network", network, "RegistryUnavailable", "what network said"),
        ("io", io, "InputOutput", "what io said"),
        ("internal", internal, "RendererCrashed", "what internal said"),
        ("OOMKilled", oom, "RendererCrashed", "exit code 137, OOMKilled"),
        ("cancelled", cancelled, "Cancelled", "what cancelled said"),
        ("Evicted", evicted, "Evicted", "ephemeral storage exceeded"),
        (
            "Error",
            error(139, ""),
            "BackoffLimitExceeded",
            "exit code 139, Error",
        ),
    ]
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_may_pass_is_tried_by_four_pods_and_named_when_it_does_not() {
    run(async {
        let bench = Bench::start("reasons", &[]).await;
        let table = transient_ends();
        let ends = table.iter().map(|(class, end, _, _)| {
            let name = class.to_lowercase();
            let bench = &bench;
            async move { fails(bench, &name, end).await }
        });
        for (status, (class, _, reason, message)) in join_all(ends).await.iter().zip(&table) {
            assert_eq!(
                reason_of(status, "JobFailed"),
                Some(*reason),
                "{class}: {status:#?}"
            );
            assert!(
                message_of(status, "Ready").ends_with(message),
                "{class}: {status:#?}"
            );
            let classes: Vec<&str> = status.attempts.iter().map(|one| one.class.as_str()).collect();
            assert_eq!(classes, [*class; PODS], "{status:#?}");
        }
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_does_not_pass_ends_a_task_at_once() {
    run(async {
        let bench = Bench::start("at-once", &[]).await;
        let table = [
            ("config", 1, "ConfigInvalid"),
            ("usage", 2, "ConfigInvalid"),
            ("conflict", 3, "Conflict"),
            ("auth", 4, "AuthFailed"),
            ("refused", 4, "RegistryRefused"),
        ];
        for (class, code, reason) in table {
            bench.make(class, json!({})).await;
            let job = format!("render-{class}");
            bench.finish(&job, code, &failure(class)).await;
            let status = bench.until_state(class, "JobFailed").await;
            assert_eq!(reason_of(&status, "JobFailed"), Some(reason), "{class}");
            assert_eq!(status.attempts.len(), 1, "{class}");
        }
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn odd_messages_of_a_good_end_give_a_digest_only_where_they_name_one() {
    run(async {
        let bench = Bench::start("odd", &[]).await;
        let result = |field: &str| format!(r#"{{"schema":1,"outcome":"created",{field}}}"#);
        let table = [
            (format!("pushed h/r:1 as {DIGEST}\n"), true),
            (
                format!(r#"{{"schema":1,"results":[{{"outcome":"created","digest":"{DIGEST}"}}]}}"#),
                true,
            ),
            // Larger than a kubelet keeps: the JSON is cut.
            (
                format!(
                    r#"{{"schema":1,"digest":"{DIGEST}","more":"{}"}}"#,
                    "x".repeat(100_000)
                ),
                true,
            ),
            (result(r#""digest":"sha256:XYZ""#), false),
            (
                result(&format!(r#""digest":"sha512:{}""#, "a".repeat(128))),
                false,
            ),
            ("[1, 2]".to_owned(), false),
            (String::new(), false),
        ];
        for (number, (message, has_digest)) in table.iter().enumerate() {
            let name = format!("odd-{number}");
            bench.make(&name, json!({})).await;
            bench.finish(&format!("render-{name}"), 0, message).await;
            let status = bench.until_state(&name, "JobSucceeded").await;
            let ready = status_of(&status, "Ready") == Some("True");
            let expected = (has_digest.then_some(DIGEST), *has_digest);
            assert_eq!((status.digest.as_deref(), ready), expected, "{number}");
        }
    });
}
