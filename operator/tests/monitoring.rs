//! The chart's alerts and dashboard, against the metrics that the operator serves. No cluster is needed: all series are
//! there from the start.
#![allow(
    clippy::unwrap_used,
    reason = "tests stop at once when something isn't as it should be"
)]

#[path = "fleet/install_chart.rs"]
mod install_chart;

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use testbed::run;

/// With what the names of metrics begin.
const PREFIXES: [&str; 2] = ["solar_operator_", "process_"];

/// An operator, killed when dropped.
struct Operator(Child);

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `/metrics` answers before any API server has.
fn metrics() -> String {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let nobody = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    std::fs::write(&kubeconfig, nobody.to_string()).unwrap();
    let mut operator = Command::new(env!("CARGO_BIN_EXE_solar-operator"));
    operator.env_clear().env("KUBECONFIG", &kubeconfig).args([
        "--pipeline",
        "--metrics-bind-address=127.0.0.1:0",
        "--health-probe-bind-address=0",
    ]);
    let mut operator = Operator(operator.stderr(Stdio::piped()).spawn().unwrap());
    let log = BufReader::new(operator.0.stderr.take().unwrap());
    let line = log
        .lines()
        .map(Result::unwrap)
        .find(|line| line.contains("serving what=\"metrics\""));
    let line = line.unwrap();
    let address = line.rsplit("address=").next().unwrap().trim().to_owned();
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn template(set: &str) -> String {
    run(install_chart::template("solar-operator", "solar-system").args(["--set", set]))
}

/// The names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let is_part = |one: char| one.is_ascii_alphanumeric() || one == '_';
    let words = text.split(|one: char| !is_part(one));
    words
        .filter(|word| {
            PREFIXES
                .iter()
                .any(|prefix| word.len() > prefix.len() && word.starts_with(prefix))
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn alerts_and_dashboard_name_metrics_that_the_operator_serves() {
    let sets = [
        "monitoring.prometheusRule.enabled=true",
        "monitoring.dashboard.enabled=true",
    ];
    let metrics = metrics();
    for set in sets {
        let names = named(&template(set));
        assert!(names.len() >= 8, "{set}: {names:?}");
        for name in names {
            let is_served = [" ", "{"].map(|end| metrics.contains(&format!("\n{name}{end}")));
            assert!(is_served.contains(&true), "{set}: {name} in {metrics}");
        }
    }
    // What the alerts select by.
    for series in [
        "solar_operator_objects{kind=\"Target\",state=\"Stalled\"} 0",
        "solar_operator_objects{kind=\"RenderArtifact\",state=\"Stalled\"} 0",
        "solar_operator_tasks_ended_total{kind=\"RenderTask\",outcome=\"AuthFailed\"} 0",
        "solar_operator_watches_failing{kind=\"Release\"} 0",
        "solar_operator_api_errors_total{code=\"none\"} ",
    ] {
        assert!(metrics.contains(&format!("\n{series}")), "{series} in {metrics}");
    }
}

#[test]
fn nothing_of_it_is_installed_unless_it_is_asked_for() {
    let kinds = ["ServiceMonitor", "PrometheusRule", "ConfigMap", "Service"];
    let found = |text: &str| {
        let lines: BTreeSet<&str> = text.lines().collect();
        kinds.map(|kind| lines.contains(format!("kind: {kind}").as_str()))
    };
    let on = |part: &str| found(&template(&format!("monitoring.{part}.enabled=true")));
    assert_eq!(found(&template("replicas=1")), [false; 4]);
    assert_eq!(on("serviceMonitor"), [true, false, false, true]);
    // Its alerts select by the Service's name.
    assert_eq!(on("prometheusRule"), [false, true, false, true]);
    assert_eq!(on("dashboard"), [false, false, true, false]);
}
