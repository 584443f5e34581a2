//! `/metrics` over TLS for those alone whom the cluster allows it, on a real API server with the chart's own rights.
#![allow(
    clippy::unwrap_used,
    reason = "tests stop at once when something isn't as it should be"
)]

#[path = "fleet/install_chart.rs"]
mod install_chart;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use testbed::{Authority, Cluster, ClusterSetup, run};

const SYSTEM: &str = "solar-system";
const SETS: [&str; 2] = ["metrics.authorization=true", "metrics.tlsSecretName=metrics"];

/// The status that a scrape is answered with, and the answer.
fn scrape(authority: &Authority, address: &str, token: Option<&str>) -> (String, String) {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--noproxy", "*", "--max-time", "60"]);
    curl.args(["--write-out", "\n%{http_code}", "--cacert"])
        .arg(&authority.ca);
    if let Some(token) = token {
        curl.args(["--header", &format!("Authorization: Bearer {token}")]);
    }
    let out = run(curl.arg(format!("https://{address}/metrics")));
    let (answer, status) = out.rsplit_once('\n').unwrap();
    (status.to_owned(), answer.to_owned())
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_cluster_decides_who_reads_metrics() {
    let cluster = Cluster::start(&ClusterSetup::default());
    cluster.kubectl(&["create", "namespace", SYSTEM]);
    let sets = SETS.iter().flat_map(|set| ["--set", set]);
    cluster.apply(&run(install_chart::template("solar-operator", SYSTEM).args(sets)));
    let kubeconfig = cluster.service_account(SYSTEM, "solar-operator");
    let token = |name: &str| {
        cluster.kubectl(&["-n", "default", "create", "serviceaccount", name]);
        let token = cluster.kubectl(&["-n", "default", "create", "token", name]);
        token.trim().to_owned()
    };
    let [scraper, other] = ["scraper", "other"].map(token);
    let reader = "--clusterrole=solar-operator-metrics-reader";
    let subject = "--serviceaccount=default:scraper";
    cluster.kubectl(&["create", "clusterrolebinding", "scraper", reader, subject]);

    let authority = Authority::new();
    let folder = cluster.home().join("metrics");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(&authority.server.cert, folder.join("tls.crt")).unwrap();
    std::fs::copy(&authority.server.key, folder.join("tls.key")).unwrap();
    let mut operator = Command::new(env!("CARGO_BIN_EXE_solar-operator"));
    operator.env_clear().env("KUBECONFIG", kubeconfig).args([
        "--metrics-bind-address=127.0.0.1:0",
        "--health-probe-bind-address=0",
        "--metrics-authorization",
        "--leader-elect=false",
    ]);
    operator.arg("--metrics-cert-dir").arg(&folder);
    let mut operator = operator.stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(operator.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let line = log
        .find(|line| line.contains("serving what=\"metrics\""))
        .unwrap();
    let address = line.rsplit("address=").next().unwrap().trim();
    // It must not wait for somebody to read its log.
    let log = std::thread::spawn(move || log.collect::<Vec<String>>().join("\n"));

    let cases = [
        (None, "401"),
        (Some("nobody's"), "401"),
        (Some(other.as_str()), "403"),
        (Some(scraper.as_str()), "200"),
        // Remembered.
        (Some(other.as_str()), "403"),
        (Some(scraper.as_str()), "200"),
    ];
    let found = cases.map(|(token, _)| scrape(&authority, address, token));
    operator.kill().unwrap();
    operator.wait().unwrap();
    let log = log.join().unwrap();
    for ((token, expected), (status, answer)) in cases.iter().zip(&found) {
        assert_eq!(status, expected, "{token:?}: {answer}\n{log}");
        assert_eq!(status == "200", answer.contains("solar_operator_"), "{answer}");
    }
    for secret in [&scraper, &other] {
        assert!(!log.contains(secret.as_str()), "{log}");
    }
}
