//! Pushing compared with a bare HTTP client that sends the same requests on kept connections, in turn in the same run,
//! to a registry that keeps everything in memory: `cargo bench --bench registry`.
//!
//! The bare client is a socket and a reader: it knows every response in advance, only checks the status and hashes
//! nothing. Its time is the registry's.
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

use nix::sys::resource::{UsageWho, getrusage};
use solar_render::chart::Chart;
use solar_render::oci::{self, Batch, Cancellation, ClientOptions, Finished, PushOptions, Ready, Silent};
use solar_render::package::artifact::{Artifact, BlobContent};
use solar_render::package::{Packer, Stamp};
use solar_render::report::Outcome;
use solar_render::world::System;
use testbed::{Registry, Setup, Tool};

/// The number of pushes of one chart, after as many for warming up.
const RUNS: usize = 200;
const WARM: usize = 20;
/// The number of charts of a publish, of its runs, and of connections.
const CHARTS: usize = 400;
const ROUNDS: usize = 12;
const CONNECTIONS: usize = 8;
/// The Accept header for tags, as our client sends it, since the registry parses it.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";

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

/// In this process, each to a repository of its own. The bare client has a connection already, or makes one as ours
/// does.
fn one_chart(registry: &Registry) {
    let [mut kept, mut fresh, mut ours] = [Vec::new(), Vec::new(), Vec::new()];
    let mut connection = Bare::connect(registry.host());
    for run in 0..RUNS + WARM {
        let [first, second, third] = ["kept", "fresh", "ours"].map(|who| artifact(who, &format!("{run}")));
        let times = [
            timed(|| connection.push("one", &first)),
            timed(|| Bare::connect(registry.host()).push("one", &second)),
            timed(|| push(&third, registry.host())),
        ];
        if run >= WARM {
            for (list, time) in [&mut kept, &mut fresh, &mut ours].into_iter().zip(times) {
                list.push(time);
            }
        }
    }
    let ours = median(ours);
    for (what, bare) in [("has a connection", kept), ("makes a connection", fresh)] {
        let bare = median(bare);
        row(
            &format!("push one small chart (median of {RUNS}); the bare client {what}"),
            &millis(bare),
            &millis(ours),
            ours.as_secs_f64() / bare.as_secs_f64(),
        );
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Over eight connections, each round to other repositories, with alternating order: the registry gets slower as it
/// fills.
fn many_charts(registry: &Registry) {
    let (mut bare, mut ours, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bare_work, mut our_work) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        for turn in 0..2 {
            if (turn + round) % 2 == 0 {
                let charts = made('b', round);
                let (start, work) = (Instant::now(), processor_time(registry));
                push_bare(&charts, &format!("bare{round}"), registry.host());
                bare.push(start.elapsed());
                bare_work.push(processor_time(registry).saturating_sub(work));
                continue;
            }
            let charts = made('o', round);
            let target = format!("oci://{}/ours{round}", registry.host());
            let (start, work) = (Instant::now(), processor_time(registry));
            publish(&charts, &target, Outcome::Created);
            ours.push(start.elapsed());
            our_work.push(processor_time(registry).saturating_sub(work));
            let start = Instant::now();
            publish(&charts, &target, Outcome::Unchanged);
            again.push(start.elapsed());
        }
    }
    let rate = |time: Duration| CHARTS as f64 / time.as_secs_f64();
    let shown = |time| format!("{:.0} charts/s", rate(time));
    for (what, of) in [
        ("best", best as fn(Vec<Duration>) -> Duration),
        ("median", median),
    ] {
        let (bare, ours) = (of(bare.clone()), of(ours.clone()));
        row(
            &format!("publish 400 tiny charts, 8 connections ({what} of {ROUNDS})"),
            &shown(bare),
            &shown(ours),
            rate(ours) / rate(bare),
        );
    }
    // If client and registry share two processors, this determines the rate, and other load affects it less.
    let (bare, ours) = (median(bare_work), median(our_work));
    row(
        &format!("the same, processor time of client and registry (median of {ROUNDS})"),
        &millis(bare),
        &millis(ours),
        bare.as_secs_f64() / ours.as_secs_f64(),
    );
    println!(
        "| publish them again: one HEAD each | | {} | |",
        shown(best(again))
    );
}

fn processor_time(registry: &Registry) -> Duration {
    let own = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let micros = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
    let own = micros(own.user_time()) + micros(own.system_time());
    registry.processor_time() + Duration::from_micros(own.unsigned_abs())
}

fn made(who: char, round: usize) -> Vec<Artifact> {
    (0..CHARTS)
        .map(|number| artifact(&format!("c{number}"), &format!("{who}{round}")))
        .collect()
}

/// A thread for each connection.
fn push_bare(charts: &[Artifact], base: &str, host: &str) {
    std::thread::scope(|scope| {
        for part in charts.chunks(CHARTS / CONNECTIONS) {
            scope.spawn(move || {
                let mut connection = Bare::connect(host);
                part.iter().for_each(|chart| connection.push(base, chart));
            });
        }
    });
}

/// Whole processes: Helm and crane are also started for each chart. crane gets an image layout.
fn processes(registry: &Registry) {
    let folder = tempfile::tempdir().unwrap();
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for run in 0..12 {
        let archive = folder.path().join(format!("p-1.0.{run}.tgz"));
        let chart = artifact("p", &run.to_string());
        let BlobContent::Memory(bytes) = &chart.layer().unwrap().content else {
            unreachable!()
        };
        std::fs::write(&archive, bytes).unwrap();
        let layout = folder.path().join(run.to_string());
        let target = format!("oci-layout:{}", layout.display()).parse().unwrap();
        let destination = oci::resolve(&target, &chart, false).unwrap();
        oci::push(
            &chart,
            &destination,
            &PushOptions::default(),
            &client(),
            &System,
            &Silent,
        )
        .unwrap();
        let place = |who: &str| format!("{}/{who}", registry.host());
        let mut ours = std::process::Command::new(env!("CARGO_BIN_EXE_solar-render"));
        let mut helm = Tool::Helm.command(folder.path());
        for (command, who) in [(&mut ours, "ours"), (&mut helm, "helm")] {
            command
                .arg("push")
                .arg(&archive)
                .arg(format!("oci://{}", place(who)));
            command.arg("--plain-http");
        }
        let mut crane = Tool::Crane.command(folder.path());
        crane.args(["push", "--insecure"]).arg(layout.join("p"));
        crane.arg(format!("{}/p:1.0.{run}", place("crane")));
        for (command, times) in [ours, helm, crane].iter_mut().zip(&mut times) {
            let start = Instant::now();
            let output = command.output().unwrap();
            times.push(start.elapsed());
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
    let [ours, helm, crane] = times.map(median);
    for (peer, theirs) in [("helm 4.3.1", helm), ("crane", crane)] {
        row(
            &format!("push one small chart, whole process; the peer is {peer}"),
            &millis(theirs),
            &millis(ours),
            ours.as_secs_f64() / theirs.as_secs_f64(),
        );
    }
}

fn row(work: &str, bare: &str, ours: &str, ratio: f64) {
    println!("| {work} | {bare} | {ours} | {ratio:.2} |");
}

fn best(times: Vec<Duration>) -> Duration {
    times.into_iter().min().unwrap()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// A unique chart of 1 KB.
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
    let mut client = ClientOptions::default();
    client.plain_http = true;
    client
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
        cancellation: &Cancellation::default(),
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
            let BlobContent::Memory(bytes) = &blob.content else {
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

    /// Sends a request; returns the Location of the response.
    fn send(&mut self, method: &str, path: &str, kind: &str, body: &[u8], expected: u16) -> String {
        let accept = if method == "HEAD" && path.contains("/manifests/") {
            MANIFESTS
        } else {
            "*/*"
        };
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: solar-bench/0.1.0\r\nAccept: {accept}\r\n",
            self.host,
        );
        if method != "HEAD" {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
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
