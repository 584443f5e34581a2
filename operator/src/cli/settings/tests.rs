//! What the flags become, and which are refused.

use super::*;
use crate::cli::args::Cli;
use clap::Parser as _;

fn check(arguments: &[&str]) -> Result<OperatorSettings, Diagnostics> {
    let all = ["solar-operator"].iter().chain(arguments);
    let around = Environment {
        namespace: "solar-system".into(),
        identity: "me".into(),
    };
    settings(&Cli::try_parse_from(all).expect("arguments").run, &around)
}

#[test]
fn the_defaults_are_right() {
    let settings = check(&[]).expect("settings");
    assert_eq!(settings.tasks.job.deadline_seconds, 900);
    assert_eq!(settings.tasks.job.permanent_exit_codes, [1, 2, 3, 4].into());
    assert_eq!(settings.tasks.job.job_namespace, "solar-system");
    assert_eq!(
        (settings.run.concurrency, settings.run.policy.max_retries),
        (4, 10)
    );
    assert_eq!(settings.run.policy.backoff.max, Duration::from_secs(60));
    assert!(settings.run.leader.is_none());
    assert_eq!(
        settings.run.metrics_address.map(|address| address.port()),
        Some(8080)
    );
}

#[test]
fn hosts_are_allowed_by_namespace() {
    let settings = check(&[
        "--allowed-hosts=team=h.example:5000,*=",
        "--allowed-hosts=team=other.example",
    ]);
    let allowed = settings.expect("settings").tasks.job.allowed_hosts;
    assert_eq!(allowed.refusal("team", "h.example:5000"), None);
    assert_eq!(allowed.refusal("team", "other.example"), None);
    assert!(allowed.refusal("another", "h.example:5000").is_some());
    for wrong in [
        "",
        ",",
        "team",
        "Team=h.example",
        "team=h.example/path",
        "team=a b",
        "=h",
    ] {
        let problems = check(&[&format!("--allowed-hosts={wrong}")]).expect_err(wrong);
        assert!(problems.to_string().contains("allowed-hosts"), "{problems}");
    }
}

#[test]
fn solars_flags_work_as_they_are() {
    let settings = check(&[
        "--renderer-image=h/solar-renderer:1",
        "--renderer-command=/solar-renderer",
        "--renderer-args=--one,-v",
        "--renderer-ca-configmap=roots",
        "--renderer-image-pull-secrets=a,b",
        "--leader-elect",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=:8081",
    ])
    .expect("settings");
    let job = &settings.tasks.job;
    assert_eq!(
        (&job.command, &job.args),
        (
            &vec!["/solar-renderer".to_owned()],
            &vec!["--one".to_owned(), "-v".to_owned()]
        )
    );
    assert_eq!(job.image_pull_secrets, ["a", "b"]);
    assert_eq!(settings.run.metrics_address, None);
    let leader = settings.run.leader.expect("leader election");
    assert_eq!(
        (leader.namespace.as_str(), leader.lease_duration.as_secs()),
        ("solar-system", 15)
    );
}

#[test]
fn metrics_for_some_alone_need_tls_and_a_port_of_their_own() {
    let cert = "--metrics-cert-dir=/certs";
    let same = "--health-probe-bind-address=:8080";
    let cases = [
        (vec![cert], None),
        (vec![cert, "--metrics-authorization"], None),
        (vec![same], None),
        (
            vec![cert, "--metrics-bind-address=0", "--health-probe-bind-address=0"],
            None,
        ),
        (
            vec!["--metrics-authorization"],
            Some("tokens would be sent without TLS"),
        ),
        (vec![cert, same], Some("probes ask without TLS")),
    ];
    for (flags, expected) in cases {
        match (check(&flags), expected) {
            (Ok(_), None) => {}
            (Err(problems), Some(part)) => assert!(problems.to_string().contains(part), "{problems}"),
            (_, expected) => panic!("{flags:?}: {expected:?}"),
        }
    }
}

#[test]
fn every_mistake_is_reported_at_once() {
    let problems = check(&[
        "--concurrency=0",
        "--max-concurrent-jobs=-3",
        "--max-concurrent-jobs-per-namespace=some",
        "--error-min-requeue=2m",
        "--lease-duration=5s",
        "--metrics-bind-address=somewhere",
        "--renderer-limits=memory=much",
        "--permanent-exit-codes=0",
        "--job-namespace=Not_A_Name",
        "--watch-namespaces=a,b.c",
    ])
    .expect_err("mistakes")
    .to_string();
    for part in [
        "--concurrency",
        "--max-concurrent-jobs",
        "--max-concurrent-jobs-per-namespace",
        "--error-min-requeue 120s is more than",
        "--lease-duration 5s is too short for --renew-deadline 10s",
        "--metrics-bind-address",
        "--renderer-limits",
        "--permanent-exit-codes",
        "--job-namespace",
        "--watch-namespaces",
    ] {
        assert!(problems.contains(part), "{part} in {problems}");
    }
}

#[test]
fn a_namespace_has_no_limit_of_its_own_unless_one_is_set() {
    let limits = |flags: &[&str]| check(flags).expect("settings").tasks.job_limits;
    assert_eq!(limits(&[]), JobLimits { all: 20, group: None });
    let flags = ["--max-concurrent-jobs=9", "--max-concurrent-jobs-per-namespace=3"];
    assert_eq!(
        limits(&flags),
        JobLimits {
            all: 9,
            group: Some(3)
        }
    );
}

#[test]
fn an_empty_list_of_exit_codes_is_for_other_renderers() {
    let settings = check(&["--permanent-exit-codes="]).expect("settings");
    assert!(settings.tasks.job.permanent_exit_codes.is_empty());
}

/// The operator once started, and the API server rejected every pod.
#[test]
fn requests_above_limits_are_refused() {
    let problems = check(&["--renderer-limits=memory=16Mi,cpu=1"]).expect_err("a mistake");
    assert!(
        problems
            .to_string()
            .contains("--renderer-requests memory=32Mi is more than --renderer-limits memory=16Mi"),
        "{problems}"
    );
    for fits in [
        "--renderer-limits=memory=32Mi,cpu=0.01",
        "--renderer-limits=",
        "--renderer-requests=",
    ] {
        assert!(check(&[fits]).is_ok(), "{fits}");
    }
}

#[test]
fn a_namespace_that_is_named_twice_is_watched_once() {
    let settings = check(&["--watch-namespaces=b,a,b"]).expect("settings");
    assert_eq!(settings.run.selection.namespaces, ["b", "a"]);
}

#[test]
fn durations_are_gos() {
    let table = [
        ("15s", 15_000),
        ("1m30s", 90_000),
        ("500ms", 500),
        ("1.5s", 1500),
        ("20", 20_000),
        ("2h", 7_200_000),
    ];
    for (text, expected) in table {
        assert_eq!(
            parse_duration(text).map(|duration| duration.as_millis()),
            Some(expected),
            "{text}"
        );
    }
    for text in ["", "s", "1x", "-1s", "1s1", "1..2s", "é"] {
        assert_eq!(parse_duration(text), None, "{text}");
    }
}
