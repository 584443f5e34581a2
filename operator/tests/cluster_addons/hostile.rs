//! Templates and kubeconfigs that mean harm, and clusters that don't answer.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use serde_json::json;

use crate::bed::{BED, Space, applied, condition, push, wait};

fn config(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn each_step_that_is_missing_is_named_until_it_is_there() {
    let space = Space::new("steps");
    let chart = push("steps", "1.0.0", &[("templates/a.yaml", &config("a"))]);
    space.stack("cni", &chart, &json!({}));
    space.cluster_without_start("edge", &json!({"stack": "cni"}));
    space.until("edge", "ClusterReady", "False", "ControlPlaneNotReady");
    space.initialize("edge");
    space.until("edge", "ClusterReady", "False", "KubeconfigMissing");
    let admin = std::fs::read_to_string(BED.workload.kubeconfig()).unwrap();
    // Nobody listens there.
    let closed = admin.replace(BED.workload.url(), "https://127.0.0.1:1");
    space.kubeconfig("edge", closed.as_bytes());
    space.until("edge", "ClusterReady", "False", "ClusterUnreachable");
    space.kubeconfig("edge", admin.as_bytes());
    let addon = space.until_ready("edge");
    assert_eq!(condition(&addon, "Stalled"), None);
}

/// An exec plugin would run with the operator's rights.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_kubeconfig_that_reaches_out_is_refused_and_not_shown() {
    let space = Space::new("reach");
    let chart = push("reach", "1.0.0", &[("templates/a.yaml", &config("a"))]);
    space.stack("cni", &chart, &json!({}));
    space.cluster("edge", &json!({"stack": "cni"}));
    space.until_ready("edge");
    let mark = BED.fleet.cluster.home().join("executed");
    let admin: serde_json::Value =
        serde_json::from_slice(&std::fs::read(BED.workload.kubeconfig()).unwrap()).unwrap();
    let mut hostile = admin.clone();
    hostile["users"][0]["user"] = json!({"token": "t0p-secret", "exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [mark], "interactiveMode": "Never",
    }});
    space.kubeconfig("edge", hostile.to_string().as_bytes());
    space.kubectl(&[
        "annotate",
        "clusteraddon",
        "cluster-addon-edge",
        "reconcile.fluxcd.io/requestedAt=1",
    ]);
    let addon = space.until("edge", "ClusterReady", "False", "KubeconfigRefused");
    let message = condition(&addon, "ClusterReady").unwrap()["message"].to_string();
    assert!(
        message.contains("exec plugin") && !message.contains("t0p"),
        "{message}"
    );
    assert!(!mark.exists());
    let log = std::fs::read_to_string(BED.fleet.cluster.log("operator")).unwrap();
    assert!(!log.contains("t0p-secret"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_hostile_template_fails_alone_and_says_where() {
    let space = Space::new("bombs");
    let chart = push("bombs", "1.0.0", &[("templates/a.yaml", &config("a"))]);
    let doubling = format!(
        "<% set a = 'xxxxxxxxxxxxxxxx' %>\n{}a: << a | length >>",
        "<% set a = a ~ a %>".repeat(40)
    );
    let table = [
        ("memory", doubling.as_str(), "more memory"),
        (
            "undefined",
            "a: 1\nb: << cluster.spec.nothing.here >>",
            "valuesTemplate.jinja:2",
        ),
        (
            "steps",
            "<% for a in range(9000) %><% for b in range(9000) %><% endfor %><% endfor %>",
            "too long",
        ),
        ("files", "a: << env('HOME') >>", "env"),
        ("list", "- a", "spec.valuesTemplate"),
    ];
    for (name, template, _) in table {
        space.stack(name, &chart, &json!({"valuesTemplate": template}));
        space.cluster(name, &json!({"stack": name}));
    }
    space.stack(
        "fine",
        &chart,
        &json!({"valuesTemplate": "a: << kubernetesVersion >>"}),
    );
    space.cluster("fine", &json!({"stack": "fine"}));
    space.until_ready("fine");
    for (name, _, expected) in table {
        let addon = space.until(name, "ValuesTemplated", "False", "TemplateFailed");
        let message = condition(&addon, "ValuesTemplated").unwrap()["message"]
            .as_str()
            .unwrap();
        assert!(message.contains(expected), "{name}: {message}");
        assert_eq!(condition(&addon, "Ready").unwrap()["status"], "False", "{name}");
        assert_eq!(condition(&addon, "Stalled").unwrap()["status"], "True", "{name}");
        assert!(condition(&addon, "ChartApplied").is_none(), "{name}");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn clusters_that_do_not_answer_hold_up_neither_others_nor_their_own_deletion() {
    let space = Space::new("silent");
    // The kernel accepts connections, and nobody ever answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}", silent.local_addr().unwrap());
    let admin = std::fs::read_to_string(BED.workload.kubeconfig()).unwrap();
    let silent_file = admin.replace(BED.workload.url(), &address);
    let chart = push("silent", "1.0.0", &[("templates/a.yaml", &config("a"))]);
    space.stack("cni", &chart, &json!({"updatePolicy": {"maxUnavailable": 1}}));
    for number in 0..10 {
        let name = format!("silent-{number}");
        space.cluster(&name, &json!({"stack": "cni"}));
        space.kubeconfig(&name, silent_file.as_bytes());
    }
    space.cluster("edge", &json!({"stack": "cni"}));
    space.until_ready("edge");
    space.until("silent-0", "ClusterReady", "False", "ClusterUnreachable");
    // A rollout doesn't wait for them, either.
    let next = push("silent", "1.1.0", &[("templates/a.yaml", &config("b"))]);
    space.stack("cni", &next, &json!({"updatePolicy": {"maxUnavailable": 1}}));
    space.until_version("edge", "1.1.0");
    assert!(applied("silent", "configmap", "a").is_none() && applied("silent", "configmap", "b").is_some());
    // Applied once, and then silent: given up after the operator's time limit.
    space.kubeconfig("edge", silent_file.as_bytes());
    space.kubectl(&["delete", "clusterstack", "cni"]);
    space.until_no_addon("edge");
    space.until_no_addon("silent-0");
    let note = space.until_event("Abandoned");
    assert!(note.contains("1 objects are left"), "{note}");
}

/// A download once left a lock behind, and the chart was never fetched again.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_that_is_missing_is_fetched_once_it_is_there() {
    let space = Space::new("late");
    let known = push("late-known", "1.0.0", &[("templates/a.yaml", &config("a"))]);
    let missing = crate::bed::Chart {
        repository: known.repository.replace("late-known", "late"),
        version: "1.0.0".to_owned(),
    };
    space.stack("cni", &missing, &json!({}));
    space.cluster("edge", &json!({"stack": "cni"}));
    let reason = |wanted: &str| {
        wait(
            wanted,
            || {
                let stack = space.get("clusterstack", "cni")?;
                (condition(&stack, "ChartDownloaded")?["reason"] == wanted).then_some(())
            },
            || format!("{:#}", space.get("clusterstack", "cni").unwrap()),
        )
    };
    reason("DownloadFailed");
    push("late", "1.0.0", &[("templates/a.yaml", &config("a"))]);
    reason("Succeeded");
    space.until_ready("edge");
}

/// Forwards connections to the workload cluster's API server; while it is closed, they stay open and nothing comes back.
struct Gate {
    address: String,
    is_closed: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        let target = BED.workload.url().trim_start_matches("https://").to_owned();
        let is_closed = Arc::new((Mutex::new(false), Condvar::new()));
        let gate = Arc::clone(&is_closed);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&target) else {
                    continue;
                };
                let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || std::io::copy(&mut from, &mut to));
                let gate = Arc::clone(&gate);
                thread::spawn(move || answer(server, client, &gate));
            }
        });
        Self { address, is_closed }
    }

    fn close(&self, is_closed: bool) {
        *self.is_closed.0.lock().unwrap() = is_closed;
        self.is_closed.1.notify_all();
    }
}

fn answer(mut server: TcpStream, mut client: TcpStream, (lock, opened): &(Mutex<bool>, Condvar)) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = server.read(&mut buffer) {
        drop(
            opened
                .wait_while(lock.lock().unwrap(), |is_closed| *is_closed)
                .unwrap(),
        );
        if client.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_cluster_that_stops_answering_in_the_middle_is_unreachable_and_continues_later() {
    let space = Space::new("halfway");
    let gate = Gate::start();
    let admin = std::fs::read_to_string(BED.workload.kubeconfig()).unwrap();
    let through = admin.replace(BED.workload.url(), &gate.address);
    let template = config("{{ .Values.cluster }}-{{ .Values.round }}");
    let chart = push("halfway", "1.0.0", &[("templates/a.yaml", &template)]);
    let spec = |round: u32| {
        json!({"updatePolicy": {"maxUnavailable": 1}, "values": {"round": round},
            "valuesTemplate": "cluster: << cluster.metadata.name >>"})
    };
    space.stack("cni", &chart, &spec(1));
    for name in ["half", "whole"] {
        space.cluster(name, &json!({"stack": "cni"}));
    }
    space.kubeconfig("half", through.as_bytes());
    for name in ["half", "whole"] {
        space.until_ready(name);
    }
    gate.close(true);
    space.stack("cni", &chart, &spec(2));
    let there = |name: &'static str| {
        let found = move || applied("halfway", "configmap", name).map(|_| ());
        wait(name, found, || {
            format!("{:#}", space.addon("half").unwrap_or_default()["status"])
        });
    };
    there("whole-2");
    space.until("half", "ClusterReady", "False", "ClusterUnreachable");
    assert!(applied("halfway", "configmap", "half-1").is_some());
    gate.close(false);
    there("half-2");
    space.until_ready("half");
}
