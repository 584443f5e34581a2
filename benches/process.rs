//! Whole processes compared with Helm, on the same machine in the same run, for the table of the README: `cargo bench
//! --bench process`.
//!
//! Each command runs in turn with its peer, so that other load affects both; it prints the median of wall-clock times,
//! and the largest peak memory by `/usr/bin/time`. The folder named by `KUBE_PROMETHEUS_STACK` (an unpacked chart) adds
//! that chart's row; otherwise a generated chart of the same size replaces it. SolAr's renderer is not available as a
//! package: its figures are quoted, and marked so.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark that can't go on should stop; it prints, and reads its one variable"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testbed::{Registry, Tool};

/// The number of runs of each command; the first ones warm the caches and don't count.
const RUNS: usize = 31;
const WARM: usize = 3;

/// The cost of a command.
struct ProcessCost {
    median: Duration,
    /// KiB
    peak: u64,
}

fn main() {
    // `cargo test --benches` runs this with --test; there is nothing to check then.
    if std::env::args().any(|word| word == "--test") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/release.yaml");
    println!("| work | peer | peer, wall | peer, peak | ours, wall | ours, peak | times as fast |");
    println!("|---|---|---|---|---|---|---|");
    let render = || ours(&["render", &text(&config), "--skip-push"]);
    let [cost] = measure([&render]);
    row(
        "render one release, no push",
        "SolAr's renderer ¹",
        (22.0, 39.0),
        &cost,
    );
    let version = || ours(&["--version"]);
    let helm_version = || Tool::Helm.command(folder.path()).with(&["version"]);
    let [cost, helm] = measure([&version, &helm_version]);
    row("start (`version`)", "helm 4.3.1", helm.figures(), &cost);
    let chart = large_chart(folder.path());
    let (size, helm_size, archive) = packages(folder.path(), &chart);
    lint(folder.path(), &chart);
    packages(folder.path(), &incompressible_chart(folder.path()));
    pushes(folder.path(), &archive, &config);
    println!(
        "\nThe package has {size} bytes, Helm's {helm_size}: {:+.2} %.",
        percent(size, helm_size)
    );
    println!("¹ ² 22 ms and 39 MiB, 45 ms and 42 MiB: measured before on such a machine, not in this run.");
}

/// Packages a chart. Returns the sizes of the archive and of Helm's, and the path of the archive.
fn packages(folder: &Path, chart: &Path) -> (u64, u64, PathBuf) {
    let name = chart.file_name().unwrap().display();
    let [ours_out, helm_out] = ["ours", "helm"].map(|who| folder.join(format!("{name}-{who}")));
    let package = || ours(&["package", &text(chart), "-d", &text(&ours_out)]);
    let helm_package = || {
        Tool::Helm
            .command(folder)
            .with(&["package", &text(chart), "-d", &text(&helm_out)])
    };
    let [cost, helm] = measure([&package, &helm_package]);
    row(&format!("package {name}"), "helm 4.3.1", helm.figures(), &cost);
    let (path, size) = archive(&ours_out);
    (size, archive(&helm_out).1, path)
}

fn lint(folder: &Path, chart: &Path) {
    let lint = || ours(&["lint", &text(chart)]);
    let helm_lint = || Tool::Helm.command(folder).with(&["lint", &text(chart)]);
    let [cost, helm] = measure([&lint, &helm_lint]);
    let work = format!("lint {}", chart.file_name().unwrap().display());
    row(&work, "helm 4.3.1", helm.figures(), &cost);
}

/// 50 MB that don't compress.
fn incompressible_chart(folder: &Path) -> PathBuf {
    const FILES: u64 = 10;
    const WORDS: usize = 5_000_000 / 8;
    let chart = folder.join("incompressible");
    std::fs::create_dir_all(&chart).unwrap();
    let metadata = "apiVersion: v2\nname: incompressible\nversion: 1.0.0\n";
    std::fs::write(chart.join("Chart.yaml"), metadata).unwrap();
    let mut state = 1_u64;
    for file in 0..FILES {
        let mut bytes = Vec::with_capacity(WORDS * 8);
        for _ in 0..WORDS {
            // Xorshift: its high bits are random enough for a compressor.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.extend_from_slice(&state.to_le_bytes());
        }
        std::fs::write(chart.join(format!("{file}.bin")), bytes).unwrap();
    }
    chart
}

/// Pushes to a local registry: each run to a repository of its own, so that everything is sent.
fn pushes(folder: &Path, archive: &Path, config: &Path) {
    let registry = Registry::start();
    let count = std::cell::Cell::new(0_u32);
    let target = || {
        count.set(count.get() + 1);
        format!("oci://{}/run{}", registry.host(), count.get())
    };
    let render = || ours(&["render", &text(config), "--plain-http", "--url", &target()]);
    let [cost] = measure([&render]);
    row(
        "render, package, push one release",
        "SolAr's renderer ²",
        (45.0, 42.0),
        &cost,
    );
    let push = || ours(&["push", &text(archive), &target(), "--plain-http"]);
    let helm_push = || {
        Tool::Helm
            .command(folder)
            .with(&["push", &text(archive), &target(), "--plain-http"])
    };
    let [cost, helm] = measure([&push, &helm_push]);
    row(
        "push that package to a local registry",
        "helm 4.3.1",
        helm.figures(),
        &cost,
    );
}

trait With {
    fn with(self, words: &[&str]) -> Command;
}

impl With for Command {
    fn with(mut self, words: &[&str]) -> Command {
        self.args(words);
        self
    }
}

fn ours(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_solar-render"));
    command.args(words).env_clear();
    command
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Runs the commands in turn.
fn measure<const N: usize>(commands: [&dyn Fn() -> Command; N]) -> [ProcessCost; N] {
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::new());
    for run in 0..RUNS + WARM {
        for (command, times) in commands.iter().zip(&mut times) {
            let mut command = command();
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let start = Instant::now();
            let status = command.status().unwrap();
            let wall = start.elapsed();
            assert!(status.success(), "{command:?}");
            if run >= WARM {
                times.push(wall);
            }
        }
    }
    let mut times = times.into_iter();
    commands.map(|command| {
        let mut times = times.next().unwrap_or_default();
        times.sort();
        ProcessCost {
            median: times[times.len() / 2],
            peak: (0..5).map(|_| peak(&command())).max().unwrap_or(0),
        }
    })
}

/// The peak memory of a command, in KiB, by `/usr/bin/time`.
fn peak(command: &Command) -> u64 {
    let mut timed = Command::new("/usr/bin/time");
    timed
        .args(["-f", "%M"])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear();
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            timed.env(key, value);
        }
    }
    let output = timed.output().unwrap();
    String::from_utf8_lossy(&output.stderr)
        .lines()
        .last()
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

#[allow(clippy::cast_precision_loss, reason = "shown with one digit")]
impl ProcessCost {
    /// Milliseconds and MiB.
    fn figures(&self) -> (f64, f64) {
        (self.median.as_secs_f64() * 1000.0, self.peak as f64 / 1024.0)
    }
}

fn row(work: &str, peer: &str, (wall, peak): (f64, f64), cost: &ProcessCost) {
    let (ours_wall, ours_peak) = cost.figures();
    println!(
        "| {work} | {peer} | {wall:.1} ms | {peak:.0} MiB | {ours_wall:.1} ms | {ours_peak:.1} MiB | {:.1} |",
        wall / ours_wall
    );
}

#[allow(clippy::cast_precision_loss, reason = "shown with two digits")]
fn percent(size: u64, other: u64) -> f64 {
    (size as f64 / other as f64 - 1.0) * 100.0
}

fn archive(folder: &Path) -> (PathBuf, u64) {
    let entry = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    (entry.path(), entry.metadata().unwrap().len())
}

/// The chart to package: the given one, or one of 7.6 MB in 300 files.
fn large_chart(folder: &Path) -> PathBuf {
    if let Some(path) = std::env::var_os("KUBE_PROMETHEUS_STACK") {
        return PathBuf::from(path);
    }
    let chart = folder.join("made-up-stack");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: made-up-stack\nversion: 1.0.0\n",
    )
    .unwrap();
    let mut state = 1_u32;
    for file in 0..300 {
        let mut text = String::new();
        while text.len() < 25_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let id = state >> 8;
            text.push_str(&format!(
                "# {id}\n- record: rule:{}\n  expr: sum(rate(x_{}[5m]))\n",
                id % 517,
                id % 91
            ));
        }
        std::fs::write(chart.join(format!("templates/{file}.txt")), text).unwrap();
    }
    chart
}
