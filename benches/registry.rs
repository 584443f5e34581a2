//! Pushing against a bare HTTP client that makes the same requests on kept connections, in turn in the
//! same run, to a registry that keeps everything in memory: `cargo bench --bench registry`.
//!
//! The bare client is a socket and a reader: it knows every answer beforehand, checks only the status and
//! hashes nothing. What it needs is what the registry needs.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a benchmark that can't go on should stop; it prints"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use solar_render::chart::Chart;
use solar_render::oci::{self, Batch, ClientOptions, Finished, PushOptions, Ready, Silent};
use solar_render::package::artifact::{Artifact, Content};
use solar_render::package::{Packer, Stamp};
use solar_render::report::Outcome;
use solar_render::world::System;
use testbed::{Registry, Setup, Tool};

/// Pushes of one chart, and as many before that don't count.
const RUNS: usize = 200;
const WARM: usize = 20;
/// Charts of one publish, runs of it, and connections.
const CHARTS: usize = 400;
const ROUNDS: usize = 7;
const CONNECTIONS: usize = 8;

fn main() {
    // `cargo test --benches` runs this with --test; there is nothing to check then.
    if std::env::args().any(|word| word == "--test") {
        return;
    }
    let registry = Registry::with(&Setup {
        in_memory: true,
        ..Setup::default()
    });
    println!("| work | bare client | ours | ours / bare |");
    println!("|---|---|---|---|");
    one_chart(&registry);
    many_charts(&registry);
    processes(&registry);
}

/// In this process, each to a place of its own.
fn one_chart(registry: &Registry) {
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    let mut connection = Bare::connect(registry.host());
    for run in 0..RUNS + WARM {
        let [first, second] = ["bare", "ours"].map(|who| artifact(who, &format!("{run}")));
        let start = Instant::now();
        connection.push("one", &first);
        let between = Instant::now();
        push(&second, registry.host());
        if run >= WARM {
            bare.push(between - start);
            ours.push(between.elapsed());
        }
    }
    let (bare, ours) = (median(bare), median(ours));
    row(
        "push one small chart (median of 200)",
        &millis(bare),
        &millis(ours),
        ours.as_secs_f64() / bare.as_secs_f64(),
    );
}

/// Over eight connections, each round to other repositories.
fn many_charts(registry: &Registry) {
    let (mut bare, mut ours, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let charts: Vec<Artifact> = (0..CHARTS)
            .map(|number| artifact(&format!("c{number}"), &format!("b{round}")))
            .collect();
        let start = Instant::now();
        std::thread::scope(|scope| {
            for part in charts.chunks(CHARTS / CONNECTIONS) {
                scope.spawn(move || {
                    let mut connection = Bare::connect(registry.host());
                    part.iter()
                        .for_each(|chart| connection.push(&format!("bare{round}"), chart));
                });
            }
        });
        bare.push(start.elapsed());
        let target = format!("oci://{}/ours{round}", registry.host());
        let charts: Vec<Artifact> = (0..CHARTS)
            .map(|number| artifact(&format!("c{number}"), &format!("o{round}")))
            .collect();
        let start = Instant::now();
        publish(&charts, &target, Outcome::Created);
        ours.push(start.elapsed());
        let start = Instant::now();
        publish(&charts, &target, Outcome::Unchanged);
        again.push(start.elapsed());
    }
    let rate = |time: Duration| CHARTS as f64 / time.as_secs_f64();
    let (best, best_of_ours) = (bare.into_iter().min().unwrap(), ours.into_iter().min().unwrap());
    row(
        "publish 400 tiny charts, 8 connections (best of 7)",
        &format!("{:.0} charts/s", rate(best)),
        &format!("{:.0} charts/s", rate(best_of_ours)),
        rate(best_of_ours) / rate(best),
    );
    let again = again.into_iter().min().unwrap();
    println!(
        "| publish them again: one HEAD each | | {:.0} charts/s | |",
        rate(again)
    );
}

/// Whole processes: Helm and crane's kin start anew for each chart, too.
fn processes(registry: &Registry) {
    let folder = tempfile::tempdir().unwrap();
    let (mut helm, mut ours) = (Vec::new(), Vec::new());
    for run in 0..12 {
        let archive = folder.path().join(format!("p-1.0.{run}.tgz"));
        let chart = artifact("p", &run.to_string());
        let Content::Memory(bytes) = &chart.layer().unwrap().content else {
            unreachable!()
        };
        std::fs::write(&archive, bytes).unwrap();
        for (who, times) in [("helm", &mut helm), ("ours", &mut ours)] {
            let mut command = match who {
                "helm" => Tool::Helm.command(folder.path()),
                _ => std::process::Command::new(env!("CARGO_BIN_EXE_solar-render")),
            };
            command
                .arg("push")
                .arg(&archive)
                .arg(format!("oci://{}/{who}", registry.host()))
                .arg("--plain-http");
            let start = Instant::now();
            assert!(command.output().unwrap().status.success());
            times.push(start.elapsed());
        }
    }
    let (helm, ours) = (median(helm), median(ours));
    row(
        "push one small chart, whole process; the peer is helm 4.3.1",
        &millis(helm),
        &millis(ours),
        ours.as_secs_f64() / helm.as_secs_f64(),
    );
}

fn row(work: &str, bare: &str, ours: &str, ratio: f64) {
    println!("| {work} | {bare} | {ours} | {ratio:.2} |");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// A chart of 1 KB that is like no other.
fn artifact(name: &str, salt: &str) -> Artifact {
    let metadata = format!(
        "apiVersion: v2\nname: {name}\nversion: 1.0.{}\ndescription: {salt}\n",
        salt.trim_start_matches(char::is_alphabetic)
    );
    let files = vec![
        ("Chart.yaml".to_owned(), metadata.into_bytes()),
        (
            "templates/x.yaml".to_owned(),
            format!("a: {salt}\n").repeat(40).into_bytes(),
        ),
    ];
    let chart = Arc::new(Chart::from_files(files).unwrap());
    Packer::new(1).pack(chart, Stamp::default()).unwrap()
}

fn client() -> ClientOptions {
    ClientOptions {
        plain_http: true,
        ..ClientOptions::default()
    }
}

fn push(artifact: &Artifact, host: &str) {
    let target = format!("oci://{host}/ours").parse().unwrap();
    let destination = oci::resolve(&target, artifact, false).unwrap();
    let options = PushOptions::default();
    let pushed = oci::push(artifact, &destination, &options, &client(), &System, &Silent).unwrap();
    assert_eq!(pushed.outcome, Outcome::Created);
}

fn publish(charts: &[Artifact], target: &str, expected: Outcome) {
    let target = target.parse().unwrap();
    let make = |number: usize, _: &mut Packer| {
        let artifact = charts[number].clone();
        let destination = oci::resolve(&target, &artifact, false)?;
        Ok(Ready {
            artifact,
            destination,
            warnings: Vec::new(),
        })
    };
    let batch = Batch {
        count: charts.len(),
        make: &make,
        threads: 1,
        connections: CONNECTIONS,
        options: &PushOptions::default(),
    };
    oci::publish(
        batch,
        &client(),
        &System,
        &Silent,
        &mut |_, finished| match finished {
            Finished::Sent(_, Ok(pushed)) => assert_eq!(pushed.outcome, expected),
            other => panic!("{other:?}"),
        },
    )
    .unwrap();
}

/// One kept connection.
struct Bare {
    host: String,
    stream: TcpStream,
    input: BufReader<TcpStream>,
}

impl Bare {
    fn connect(host: &str) -> Self {
        let stream = TcpStream::connect(host).unwrap();
        stream.set_nodelay(true).unwrap();
        let input = BufReader::new(stream.try_clone().unwrap());
        Self {
            host: host.to_owned(),
            stream,
            input,
        }
    }

    /// The requests of a push: HEAD, for each blob HEAD, POST and PUT, then PUT and HEAD.
    fn push(&mut self, base: &str, artifact: &Artifact) {
        let repository = format!("/v2/{base}/{}", artifact.name);
        let manifest = format!("{repository}/manifests/{}", artifact.version);
        self.send("HEAD", &manifest, "", &[], 404);
        for blob in &artifact.blobs {
            let Content::Memory(bytes) = &blob.content else {
                unreachable!()
            };
            self.send(
                "HEAD",
                &format!("{repository}/blobs/{}", blob.digest),
                "",
                &[],
                404,
            );
            let location = self.send("POST", &format!("{repository}/blobs/uploads/"), "", &[], 202);
            let location = location
                .split_once(&self.host)
                .map_or(location.as_str(), |(_, path)| path)
                .to_owned();
            let put = format!("{location}&digest={}", blob.digest);
            self.send("PUT", &put, "application/octet-stream", bytes, 201);
        }
        self.send("PUT", &manifest, Artifact::MANIFEST_TYPE, &artifact.manifest, 201);
        self.send("HEAD", &manifest, "", &[], 200);
    }

    /// The Location of the answer.
    fn send(&mut self, method: &str, path: &str, kind: &str, body: &[u8], expected: u16) -> String {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nAccept: {}\r\n",
            self.host,
            body.len(),
            Artifact::MANIFEST_TYPE
        );
        if !kind.is_empty() {
            request.push_str(&format!("Content-Type: {kind}\r\n"));
        }
        request.push_str("\r\n");
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(body);
        self.stream.write_all(&bytes).unwrap();
        let (mut location, mut length, mut line) = (String::new(), 0, String::new());
        self.input.read_line(&mut line).unwrap();
        assert!(line.contains(&expected.to_string()), "{method} {path}: {line}");
        loop {
            line.clear();
            self.input.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            match name.to_ascii_lowercase().as_str() {
                "location" => location = value.to_owned(),
                "content-length" => length = value.parse().unwrap(),
                _ => {}
            }
        }
        if method != "HEAD" && length > 0 {
            let mut rest = vec![0; length];
            self.input.read_exact(&mut rest).unwrap();
        }
        location
    }
}
