//! The operator as a process: leader election, health, metrics, bad settings.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use serde_json::{Value, json};

use crate::harness::{Bench, CLUSTER, OPERATOR, run, success, within};

const ELECTION: [&str; 4] = [
    "--leader-elect",
    "--lease-duration=6s",
    "--renew-deadline=4s",
    "--retry-period=300ms",
];

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

async fn address(bench: &Bench, number: usize, what: &str) -> String {
    let line = bench.logged(number, &format!("serving what=\"{what}\"")).await;
    line.rsplit("address=").next().unwrap().trim().to_owned()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn one_leads_and_the_next_takes_over_when_it_dies() {
    run(async {
        let mut bench = Bench::start("lead", &ELECTION).await;
        bench.logged(0, "controllers started").await;
        bench.operate(&ELECTION);
        bench.logged(1, "new leader").await;
        bench.make("shop", json!({})).await;
        bench.until_state("shop", "JobScheduled").await;
        assert!(
            !bench.log(1).contains("controllers started"),
            "one works at a time"
        );
        bench.end(0, false);
        bench.logged(1, "controllers started").await;
        bench.finish("render-shop", 0, &success()).await;
        bench.until_state("shop", "JobSucceeded").await;
    });
}

/// The lease is longer than anything here waits: the next one leads in time only when it was given up.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn who_receives_sigterm_releases_the_lease() {
    let election = [
        "--leader-elect",
        "--lease-duration=1h",
        "--renew-deadline=30m",
        "--retry-period=5s",
    ];
    run(async {
        let mut bench = Bench::start("released", &election).await;
        bench.logged(0, "controllers started").await;
        bench.operate(&election);
        bench.logged(1, "new leader").await;
        let ended = bench.end(0, true);
        assert!(ended.success());
        assert!(bench.log(0).contains("released the lease"));
        bench.logged(1, "controllers started").await;
        let lease = bench.api::<Lease>().get("solar-operator").await.unwrap();
        assert_eq!(lease.spec.and_then(|spec| spec.lease_transitions), Some(2));
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn who_loses_the_lease_stops_at_once() {
    run(async {
        let bench = Bench::start("usurped", &ELECTION).await;
        bench.logged(0, "controllers started").await;
        let theft = json!({"spec": {"holderIdentity": "somebody-else", "leaseDurationSeconds": 3600}});
        let params = kube::api::PatchParams::default();
        let leases = bench.api::<Lease>();
        leases
            .patch("solar-operator", &params, &kube::api::Patch::Merge(&theft))
            .await
            .unwrap();
        bench.logged(0, "lost leadership").await;
        bench.make("shop", json!({})).await;
        // Three more tries for the lease later nothing has been made.
        let tries = tokio::time::sleep(Duration::from_secs(2));
        within("some tries", tries).await;
        assert_eq!(bench.count_jobs().await, 0);
    });
}

/// Two installations in one cluster: the one that watched all Jobs once treated the other's as orphans.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_task_that_the_selector_leaves_out_is_left_alone_whatever_its_job_does() {
    run(async {
        let mut bench = Bench::start("ours", &[]).await;
        bench.make_namespace("theirs").await;
        // The same tasks by Jobs' labels; by its own selector, none of them.
        bench.operate(&[
            "--job-namespace=theirs",
            "--watch-namespaces=",
            "--label-selector=bench=nobody",
        ]);
        bench.logged(1, "controllers started").await;
        let api = bench.cluster_tasks();
        bench.make_cluster_task("ours-shop", json!({})).await;
        bench
            .finish("crender-ours-shop", 5, &crate::harness::failure("network"))
            .await;
        bench.finish("crender-ours-shop", 0, &success()).await;
        let done = |status: &solar_operator::api::TaskStatus| status.state.as_deref() == Some("JobSucceeded");
        let status = bench.until_in(&api, "ours-shop", "succeeded", done).await;
        assert_eq!(status.run.map(|run| run.lost_jobs), Some(0));
        assert!(!bench.log(1).contains("ours-shop"), "{}", bench.log(1));
    });
}

/// The namespace's field once kept the operator from ever beginning: cluster-scoped kinds have none.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_selector_of_fields_may_name_a_namespace() {
    run(async {
        let mut bench = Bench::new("fields").await;
        bench.operate(&[
            "--label-selector=bench=fields",
            "--watch-namespaces=",
            "--field-selector=metadata.namespace=fields,metadata.name!=left-out",
        ]);
        bench.make("left-out", json!({})).await;
        bench.make("shop", json!({})).await;
        bench.until_state("shop", "JobScheduled").await;
        assert_eq!(bench.count_jobs().await, 1);
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn selectors_that_no_api_server_takes_end_the_operator_with_a_message() {
    run(async {
        let mut bench = Bench::new("selectors").await;
        for flag in ["--label-selector=a in (b", "--field-selector=spec.type=release"] {
            let number = bench.operate(&[flag]);
            let line = bench.logged(number, "error: the tasks can't be selected").await;
            assert!(
                line.contains("unable to parse") || line.contains("not supported"),
                "{line}"
            );
            bench.logged(number, "= help: kubectl get rendertasks").await;
            assert_eq!(bench.wait(number).await.code(), Some(2));
        }
    });
}

/// A leader once said so before it had seen any task.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_leader_is_ready_when_it_has_seen_what_there_is() {
    run(async {
        let mut bench = Bench::new("unready").await;
        // Nobody may list pods: the leader never comes to its work.
        let user = bench.user_without_pods("unready");
        bench.operate_as(&user, &ELECTION);
        bench.logged(0, "became leader").await;
        bench.logged(0, "watch failed kind=\"Pod\"").await;
        let health = address(&bench, 0, "health").await;
        assert!(get(&health, "/healthz").starts_with("HTTP/1.1 200"));
        assert!(get(&health, "/readyz").starts_with("HTTP/1.1 503"));
        // Another one waits for its turn, and is ready for that.
        bench.operate_as(&user, &ELECTION);
        bench.logged(1, "new leader").await;
        let health = address(&bench, 1, "health").await;
        assert!(get(&health, "/readyz").starts_with("HTTP/1.1 200"));
    });
}

/// A way to the API server that can be cut.
struct Wire {
    address: SocketAddr,
    cut: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Wire {
    fn to(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Self {
            address: listener.local_addr().unwrap(),
            cut: Arc::default(),
            streams: Arc::default(),
        };
        let (cut, streams) = (Arc::clone(&wire.cut), Arc::clone(&wire.streams));
        std::thread::spawn(move || {
            for near in listener.incoming() {
                // Whoever connects now is refused with the listener.
                if cut.load(Ordering::SeqCst) {
                    return;
                }
                let (near, far) = (near.unwrap(), TcpStream::connect(upstream).unwrap());
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || {
                        // It ends with the connection.
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                streams.lock().unwrap().extend([near, far]);
            }
        });
        wire
    }

    fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        for stream in self.streams.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// It once stayed ready when its watches broke later, and reconciled nothing.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_operator_whose_watches_fail_later_is_not_ready_any_more() {
    run(async {
        let mut bench = Bench::new("cut-off").await;
        let kubeconfig = std::fs::read_to_string(CLUSTER.kubeconfig()).unwrap();
        let mut kubeconfig: Value = serde_json::from_str(&kubeconfig).unwrap();
        let server = &mut kubeconfig["clusters"][0]["cluster"]["server"];
        let upstream = server
            .as_str()
            .unwrap()
            .trim_start_matches("https://")
            .parse()
            .unwrap();
        let wire = Wire::to(upstream);
        *server = format!("https://{}", wire.address).into();
        let path = bench.file("kubeconfig", &kubeconfig.to_string());
        bench.operate_as(&path, &[]);
        bench.logged(0, "controllers started").await;
        let (health, metrics) = (
            address(&bench, 0, "health").await,
            address(&bench, 0, "metrics").await,
        );
        assert!(get(&health, "/readyz").starts_with("HTTP/1.1 200"));
        wire.cut();
        let unready = async {
            loop {
                let answer = get(&health, "/readyz");
                if answer.starts_with("HTTP/1.1 503") {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let answer = within("not ready", unready).await;
        assert!(answer.contains("watches fail: "), "{answer}");
        assert!(
            get(&health, "/healthz").starts_with("HTTP/1.1 200"),
            "a restart would not help"
        );
        let text = get(&metrics, "/metrics");
        let counted = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            value.trim().parse::<f64>().unwrap()
        };
        assert!(counted("solar_operator_watch_errors_total{kind=\"RenderTask\"}") > 0.0);
        assert!(counted("solar_operator_api_errors_total{code=\"none\"}") > 0.0);
    });
}

#[test]
fn a_task_with_wrong_names_is_refused_and_all_of_them_are_reported() {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/release.yaml");
    let output = Command::new(OPERATOR)
        .args([
            "task",
            config,
            "--base-url=h.example/charts",
            "--repository=shop",
            "--tag=1.0.0+b",
        ])
        .args([
            "--name=Shop",
            "--namespace=a/b",
            "--push-secret=..",
            "--owner-namespace=a.b",
            "--owner-kind=",
        ])
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let text = String::from_utf8(output.stderr).unwrap();
    for part in [
        "error: --tag:",
        "error: --name: \"Shop\" does not fit a Kubernetes object name",
        "error: --namespace: \"a/b\"",
        "error: --push-secret: \"..\"",
        "error: --owner-namespace: \"a.b\"",
        "error: --owner-kind is empty",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// It once came out, and its Job failed with the renderer's words.
#[test]
fn a_task_for_a_reference_that_the_renderer_refuses_is_refused() {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/release.yaml");
    let task = |repository: &str, tag: &str| {
        Command::new(OPERATOR)
            .args(["task", config, "--base-url=oci://h.example/charts"])
            .args([format!("--repository={repository}"), format!("--tag={tag}")])
            .output()
            .unwrap()
    };
    let output = task("tenant/shop", "1.4.3");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let text = String::from_utf8(output.stderr).unwrap();
    for part in [
        "error: the repository's last element is \"shop\", but the chart's name is \"shop-frontend\"",
        "error: the tag is \"1.4.3\", but the chart's version is \"1.4.2\"",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let output = task("tenant/shop-frontend", "1.4.2");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn manual_pages_and_completions_are_there_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man");
    let output = Command::new(OPERATOR).arg("man").arg(&pages).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    for page in ["", "-run", "-crds", "-task", "-completion", "-man"] {
        let text = std::fs::read_to_string(pages.join(format!("solar-operator{page}.1"))).unwrap();
        assert!(text.contains(".TH solar-operator"), "{page}: {text}");
    }
    let text = std::fs::read_to_string(pages.join("solar-operator.1")).unwrap();
    assert!(text.contains("max\\-concurrent\\-jobs"), "{text}");
    let output = Command::new(OPERATOR)
        .args(["man", "/dev/null/man"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: can't write the manual pages"));
    for shell in ["bash", "zsh", "fish"] {
        let output = Command::new(OPERATOR)
            .args(["completion", shell])
            .output()
            .unwrap();
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("max-concurrent-jobs"),
            "{shell}"
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn zsh_completes_commands_and_their_flags() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("_solar-operator");
    let output = Command::new(OPERATOR)
        .args(["completion", "zsh"])
        .output()
        .unwrap();
    std::fs::write(&script, output.stdout).unwrap();
    let lines = ["solar-operator cr", "solar-operator run --registry-binding-s"];
    let expected = [
        "solar-operator crds",
        "solar-operator run --registry-binding-strict=",
    ];
    assert_eq!(testbed::zsh_completes(&script, &lines), expected);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn health_and_metrics_are_served() {
    run(async {
        let bench = Bench::start("served", &[]).await;
        let (health, metrics) = (
            address(&bench, 0, "health").await,
            address(&bench, 0, "metrics").await,
        );
        bench.logged(0, "controllers started").await;
        assert!(get(&health, "/healthz").starts_with("HTTP/1.1 200"));
        assert!(get(&health, "/readyz").starts_with("HTTP/1.1 200"));
        assert!(get(&health, "/metrics").starts_with("HTTP/1.1 404"));
        bench.make("shop", json!({})).await;
        bench.finish("render-shop", 0, &success()).await;
        bench.until_event("served", "shop", "JobSucceeded").await;
        let text = get(&metrics, "/metrics");
        let ended = "solar_operator_tasks_ended_total{kind=\"RenderTask\",outcome=\"created\"} 1";
        assert!(text.contains(ended), "{text}");
        for series in [
            "solar_operator_reconciles_total{kind=\"RenderTask\"} ",
            "solar_operator_objects{kind=\"RenderTask\",state=\"Queued\"} ",
            "solar_operator_oldest_waiting_seconds{kind=\"ClusterRenderTask\"} ",
            "solar_operator_watch_last_sync_timestamp_seconds{kind=\"Pod\"} ",
            "solar_operator_watches_failing{kind=\"Job\"} 0",
            "solar_operator_jobs_running ",
            "solar_operator_build_info{",
            "process_resident_memory_bytes ",
        ] {
            assert!(text.contains(series), "{series}: {text}");
        }
    });
}

#[test]
fn bad_settings_are_reported_together_before_anything_is_done() {
    let output = Command::new(OPERATOR)
        .args(["--concurrency=none", "--job-namespace=UPPER"])
        .env("KUBECONFIG", "/nonexistent")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    for part in [
        "error: --concurrency: \"none\"",
        "error: --job-namespace: \"UPPER\"",
        "no cluster to work for",
        "= help: set KUBECONFIG",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn settings_come_from_a_file_the_environment_and_the_command_line_in_that_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.yaml");
    std::fs::write(
        &file,
        "concurrency: of-file\njob-deadline: of-file\nmax-concurrent-jobs: of-file\n",
    )
    .unwrap();
    let output = Command::new(OPERATOR)
        .arg("--config")
        .arg(&file)
        .arg("--max-concurrent-jobs=of-line")
        .env("SOLAR_OPERATOR_JOB_DEADLINE", "of-environment")
        .env("SOLAR_OPERATOR_MAX_CONCURRENT_JOBS", "of-environment")
        .env("KUBECONFIG", "/nonexistent")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    for part in [
        "--concurrency: \"of-file\"",
        "--job-deadline: \"of-environment\"",
        "--max-concurrent-jobs: \"of-line\"",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    std::fs::write(&file, "concurency: 2\n").unwrap();
    let output = Command::new(OPERATOR)
        .arg("--config")
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("= help: did you mean `concurrency`?"), "{text}");
}
