//! `template` against Helm on real charts, whole processes in the same run:
//! `CHART_CORPUS=DIR cargo bench --bench corpus`.
//!
//! DIR holds `cases.json` (a list of `{repo, chart, case, args, rc}`) and `charts/REPO/CHART`.
//! Every case that Helm renders is run by both in turn; what counts is the processor time of
//! the process (user and system, by `getrusage`), the best of [`RUNS`] runs, because other
//! load only ever adds. Behind the cases: an umbrella of many copies of one chart, by
//! number of copies, with the exponent of its growth.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark that can't go on should stop; it prints, and reads its variables"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use testbed::Tool;

/// Runs of each command; the best counts.
const RUNS: usize = 3;
/// Copies in the umbrella charts.
const UMBRELLAS: [usize; 4] = [1, 8, 32, 64];

struct Cost {
    cpu: Duration,
    wall: Duration,
}

struct Row {
    name: String,
    ours: Cost,
    helm: Cost,
}

fn main() {
    // `cargo test --benches` runs this with --test; there is nothing to check then.
    if std::env::args().any(|word| word == "--test") {
        return;
    }
    let Some(corpus) = std::env::var_os("CHART_CORPUS").map(PathBuf::from) else {
        println!("CHART_CORPUS names no folder of charts: nothing to measure");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let rows = cases(&corpus, home.path());
    summary(&rows);
    umbrellas(&corpus, home.path());
}

fn cases(corpus: &Path, home: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(corpus.join("cases.json")).unwrap();
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let rendered = cases.iter().filter(|case| case["rc"] == 0);
    rendered
        .map(|case| {
            let field = |name: &str| case[name].as_str().unwrap().to_owned();
            let folder = corpus.join("charts").join(field("repo")).join(field("chart"));
            let args: Vec<String> = case["args"]
                .as_array()
                .unwrap()
                .iter()
                .map(|word| word.as_str().unwrap().to_owned())
                .collect();
            let [ours, helm] = both(&folder, home, &args);
            let name = format!("{}/{} {}", field("repo"), field("chart"), field("case"));
            Row { name, ours, helm }
        })
        .collect()
}

/// What each needs for a chart, run in turn.
fn both(folder: &Path, home: &Path, args: &[String]) -> [Cost; 2] {
    let words = |command: &mut Command| {
        command
            .args(["template", "rel", ".", "--namespace", "ns"])
            .args(args)
            .current_dir(folder);
    };
    let mut ours = Command::new(env!("CARGO_BIN_EXE_solar-render"));
    ours.env_clear();
    words(&mut ours);
    let mut helm = Tool::Helm.command(home);
    words(&mut helm);
    let mut best: [Option<Cost>; 2] = [None, None];
    for _ in 0..RUNS {
        for (command, best) in [&mut ours, &mut helm].into_iter().zip(&mut best) {
            let cost = run(command);
            if best.as_ref().is_none_or(|best| cost.cpu < best.cpu) {
                *best = Some(cost);
            }
        }
    }
    best.map(Option::unwrap)
}

fn run(command: &mut Command) -> Cost {
    let spent = || {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
        let [user, system] = [usage.user_time(), usage.system_time()];
        let micros = |seconds: i64, micros: i64| u64::try_from(seconds * 1_000_000 + micros).unwrap();
        Duration::from_micros(
            micros(user.tv_sec(), user.tv_usec()) + micros(system.tv_sec(), system.tv_usec()),
        )
    };
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (before, start) = (spent(), Instant::now());
    let status = command.status().unwrap();
    let wall = start.elapsed();
    assert!(status.success(), "{command:?}");
    Cost {
        cpu: spent() - before,
        wall,
    }
}

/// The peak of a command's memory in MiB, as `/usr/bin/time` sees it.
fn peak(folder: &Path, home: &Path, ours: bool) -> f64 {
    let mut timed = Command::new("/usr/bin/time");
    timed.args(["-f", "%M"]);
    if ours {
        timed.arg(env!("CARGO_BIN_EXE_solar-render")).env_clear();
    } else {
        let helm = Tool::Helm.command(home);
        timed.arg(helm.get_program()).args(helm.get_args());
        for (key, value) in helm.get_envs() {
            if let Some(value) = value {
                timed.env(key, value);
            }
        }
    }
    timed.args(["template", "rel", ".", "--namespace", "ns"]);
    let output = timed.current_dir(folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let kib: f64 = text.lines().last().unwrap().trim().parse().unwrap();
    kib / 1024.0
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn summary(rows: &[Row]) {
    let sum = |cost: fn(&Row) -> Duration| millis(rows.iter().map(cost).sum());
    let (ours, helm) = (sum(|row| row.ours.cpu), sum(|row| row.helm.cpu));
    println!("| case | helm, cpu | ours, cpu | times as fast |");
    println!("|---|---|---|---|");
    println!(
        "| all {} cases | {helm:.0} ms | {ours:.0} ms | {:.1} |",
        rows.len(),
        helm / ours
    );
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by(|a, b| times(a).total_cmp(&times(b)));
    let named = |row: &&Row| {
        [
            "kube-prometheus-stack default",
            "argo-cd default",
            "sentry default",
        ]
        .iter()
        .any(|name| row.name.ends_with(name))
    };
    let slowest = sorted.iter().take(5).copied();
    let middle = sorted.get(sorted.len() / 2).copied();
    for row in slowest.chain(middle).chain(rows.iter().filter(named)) {
        println!(
            "| {} | {:.1} ms | {:.1} ms | {:.1} |",
            row.name,
            millis(row.helm.cpu),
            millis(row.ours.cpu),
            times(row)
        );
    }
}

fn times(row: &Row) -> f64 {
    millis(row.helm.cpu) / millis(row.ours.cpu)
}

/// An umbrella over copies of one chart, each under an alias.
fn umbrellas(corpus: &Path, home: &Path) {
    let Some(chart) = std::env::var_os("UMBRELLA_CHART").map(|path| corpus.join("charts").join(path)) else {
        println!("\nUMBRELLA_CHART names no chart below charts/: no umbrella is measured");
        return;
    };
    println!("\n| copies | helm, wall | helm, peak | ours, wall | ours, peak | times as fast |");
    println!("|---|---|---|---|---|---|");
    let mut points = Vec::new();
    for copies in UMBRELLAS {
        let folder = tempfile::tempdir().unwrap();
        umbrella(&chart, folder.path(), copies);
        let [ours, helm] = both(folder.path(), home, &[]);
        println!(
            "| {copies} | {:.0} ms | {:.0} MiB | {:.1} ms | {:.1} MiB | {:.1} |",
            millis(helm.wall),
            peak(folder.path(), home, false),
            millis(ours.wall),
            peak(folder.path(), home, true),
            millis(helm.wall) / millis(ours.wall)
        );
        points.push((copies, millis(ours.cpu)));
    }
    let exponent = |a: &(usize, f64), b: &(usize, f64)| {
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        let copies = (b.0 as f64 / a.0 as f64).ln();
        (b.1 / a.1).ln() / copies
    };
    if let [.., before, last] = points.as_slice() {
        println!(
            "\nGrowth of ours from {} to {} copies: exponent {:.2}",
            before.0,
            last.0,
            exponent(before, last)
        );
    }
}

fn umbrella(chart: &Path, folder: &Path, copies: usize) {
    let mut text = String::from("apiVersion: v2\nname: umbrella\nversion: 1.0.0\ndependencies:\n");
    let yaml = std::fs::read_to_string(chart.join("Chart.yaml")).unwrap();
    let field = |name: &str| {
        let line = yaml
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}:")));
        line.unwrap().trim().trim_matches('"').to_owned()
    };
    let (name, version) = (field("name"), field("version"));
    for copy in 0..copies {
        text.push_str(&format!(
            "  - name: {name}\n    version: {version}\n    alias: copy{copy}\n"
        ));
    }
    std::fs::write(folder.join("Chart.yaml"), text).unwrap();
    std::fs::create_dir(folder.join("charts")).unwrap();
    copy(chart, &folder.join("charts").join(name));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
