//! The engine as a library: one chart loaded once and rendered with different values, in one process:
//! `CHART=/path/to/kube-prometheus-stack cargo bench --bench library`.
//!
//! It prints the time of loading and the first rendering, the time of a later rendering, the growth of the process's
//! memory over all renderings, and the same on two threads that share the chart.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark that can't go on should stop; it prints, and reads its variables"
)]

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use solar_render::engine::{ParsedChart, RenderRequest};
use solar_render::value::Value;

/// The total number of renderings.
const RENDERINGS: usize = 1_000;

fn main() {
    // `cargo test --benches` runs this with --test; there is nothing to check then.
    if std::env::args().any(|word| word == "--test") {
        return;
    }
    let Some(path) = std::env::var_os("CHART").map(PathBuf::from) else {
        println!("CHART names no chart: nothing to measure");
        return;
    };
    let (chart, first) = timed(|| {
        let chart = load(&path);
        render(&chart, 0);
        chart
    });
    println!("| what | time |\n|---|---|");
    println!("| load and render once | {:.1} ms |", millis(first));
    let before = resident();
    let mut alone = Duration::ZERO;
    for threads in [1, 2] {
        let (bytes, took) = timed(|| renderings(&chart, threads));
        if threads == 1 {
            alone = took;
        }
        println!(
            "| {RENDERINGS} renderings on {threads} thread(s), {:.1} MB of text | {:.2} ms each, {:.2} times one thread |",
            megabytes(bytes),
            millis(took) / rendering_count(),
            alone.as_secs_f64() / took.as_secs_f64()
        );
    }
    println!(
        "| resident memory before and after them | {before:.1} MiB, {:.1} MiB |",
        resident()
    );
}

fn load(path: &Path) -> ParsedChart {
    ParsedChart::load(path).unwrap_or_else(|_| panic!("{} does not load", path.display()))
}

/// Runs all renderings on this number of threads; returns the size of the output.
fn renderings(chart: &ParsedChart, threads: usize) -> usize {
    thread::scope(|scope| {
        let run = |first: usize| {
            move || {
                (first..RENDERINGS)
                    .step_by(threads)
                    .map(|number| render(chart, number))
                    .sum::<usize>()
            }
        };
        let running: Vec<_> = (0..threads).map(|first| scope.spawn(run(first))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// One rendering with its own values, like those of a cluster in a fleet.
fn render(chart: &ParsedChart, number: usize) -> usize {
    let mut request = RenderRequest::new("monitoring");
    request.values.insert(
        "fullnameOverride".to_owned(),
        Value::String(format!("cluster-{number}")),
    );
    request
        .values
        .insert("clusterNumber".to_owned(), Value::String(number.to_string()));
    let Ok(rendered) = chart.render(&request) else {
        panic!("the chart does not render");
    };
    rendered.texts.iter().map(|(_, text)| text.len()).sum()
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let made = run();
    (made, start.elapsed())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[allow(clippy::cast_precision_loss, reason = "a count of renderings")]
fn rendering_count() -> f64 {
    RENDERINGS as f64
}

#[allow(clippy::cast_precision_loss, reason = "printed with one digit")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// The resident memory of this process, in MiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib / 1024.0
}
