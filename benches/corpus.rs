//! `template` compared with Helm on real charts, whole processes in the same run:
//! `CHART_CORPUS=DIR cargo bench --bench corpus`.
//!
//! DIR holds `cases.json` (a list of `{repo, chart, case, args, rc, unstable}`) and
//! `charts/REPO/CHART`; `unstable` has the lines that differ from run to run: keys and passwords.
//! Every case that Helm renders is run by both in turn; measured are the processor time (user and system, by
//! `getrusage`) and the wall-clock time, each the best of [`RUNS`] runs, because other load only adds time; and the
//! peak memory, of another run with `/usr/bin/time`. After the cases: growing charts, and the exponents of their cost.
//! SOLAR_RENDER is the binary to measure, if not the one that cargo builds for this program.
//! UMBRELLA_CHART is the REPO/CHART of which umbrella charts are made. EVERY=5 runs only every fifth case; PLOTS=DIR
//! also writes plots.
//!
//! The first run warms up both: their files are then in the page cache.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark that can't go on should stop; it prints, and reads its variables"
)]

#[path = "plots/mod.rs"]
mod plots;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use testbed::Tool;

use self::plots::{Plot, Series};

/// The number of runs of each command, of which the best is used.
const RUNS: usize = 3;
/// The numbers of copies in the umbrella charts.
const UMBRELLAS: [usize; 5] = [1, 8, 32, 64, 128];

#[derive(Clone, Copy)]
struct Cost {
    cpu: Duration,
    /// The wall-clock time.
    wall: Duration,
    /// The peak memory, in MiB.
    peak: f64,
}

struct Row {
    name: String,
    unstable: bool,
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
    plot(&rows);
    if let Some(chart) = std::env::var_os("UMBRELLA_CHART") {
        let chart = corpus.join("charts").join(chart);
        growth(
            ("growth-umbrella", "copies in an umbrella"),
            &UMBRELLAS,
            home.path(),
            |folder, copies| {
                umbrella(&chart, folder, copies);
            },
        );
    } else {
        println!("\nUMBRELLA_CHART names no chart below charts/: no umbrella is measured");
    }
    growth(
        ("growth-files", "files"),
        &[100, 1_000, 10_000],
        home.path(),
        many_files,
    );
    let depths = [9, 90, 900];
    growth(
        ("growth-include", "depth of include"),
        &depths,
        home.path(),
        nested_includes,
    );
    growth(("growth-tpl", "depth of tpl"), &depths, home.path(), nested_tpls);
}

fn cases(corpus: &Path, home: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(corpus.join("cases.json")).unwrap();
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let rendered = cases.iter().filter(|case| case["rc"] == 0).step_by(every());
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
            let [ours, helm] = both(&folder, home, &args, RUNS);
            let name = format!("{}/{} {}", field("repo"), field("chart"), field("case"));
            Row {
                name,
                unstable: case["unstable"].as_array().is_some_and(|lines| !lines.is_empty()),
                ours,
                helm,
            }
        })
        .collect()
}

/// The interval between the cases that are run.
fn every() -> usize {
    let every = std::env::var("EVERY").ok();
    every.map_or(1, |every| every.parse().unwrap())
}

/// That of SOLAR_RENDER, for example the image's; else the one that was built with this program.
fn own_binary() -> PathBuf {
    let own = std::env::var_os("SOLAR_RENDER").map(PathBuf::from);
    let own = own.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_solar-render")));
    own.canonicalize().unwrap()
}

/// The costs of both for a chart, run in turn.
fn both(folder: &Path, home: &Path, args: &[String], runs: usize) -> [Cost; 2] {
    let mut ours = Command::new(own_binary());
    let mut helm = Tool::Helm.command(home);
    for command in [&mut ours, &mut helm] {
        command
            .args(["template", "rel", ".", "--namespace", "ns"])
            .args(args);
    }
    let mut best = [Cost {
        cpu: Duration::MAX,
        wall: Duration::MAX,
        peak: 0.0,
    }; 2];
    for _ in 0..runs {
        for (command, best) in [&mut ours, &mut helm].into_iter().zip(&mut best) {
            let (cpu, wall) = times_of(command, folder);
            best.cpu = best.cpu.min(cpu);
            best.wall = best.wall.min(wall);
        }
    }
    for (command, best) in [&ours, &helm].into_iter().zip(&mut best) {
        best.peak = peak(command, folder);
    }
    best
}

/// The processor time and the wall-clock time of a command.
fn times_of(command: &mut Command, folder: &Path) -> (Duration, Duration) {
    let spent = || {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
        let [user, system] = [usage.user_time(), usage.system_time()];
        let micros = |seconds: i64, micros: i64| u64::try_from(seconds * 1_000_000 + micros).unwrap();
        Duration::from_micros(
            micros(user.tv_sec(), user.tv_usec()) + micros(system.tv_sec(), system.tv_usec()),
        )
    };
    command
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let (before, start) = (spent(), Instant::now());
    let status = command.status().unwrap();
    let wall = start.elapsed();
    assert!(status.success(), "{command:?}");
    (spent() - before, wall)
}

/// The peak of a command's memory in MiB, by `/usr/bin/time`: the system counts the parent's memory as part of the
/// process, and `/usr/bin/time` has little.
fn peak(command: &Command, folder: &Path) -> f64 {
    let mut timed = Command::new("/usr/bin/time");
    timed
        .args(["-f", "%M"])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            timed.env(key, value);
        }
    }
    let output = timed.output().unwrap();
    assert!(output.status.success(), "{command:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    let kib: f64 = text.lines().last().unwrap().trim().parse().unwrap();
    kib / 1024.0
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn summary(rows: &[Row]) {
    println!("| case | {COLUMNS} |");
    println!("|---|---|---|---|---|---|---|---|---|");
    total("all", rows, |_| true);
    total("without generated keys and passwords", rows, |row| !row.unstable);
    total("with them", rows, |row| row.unstable);
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
        line(&row.name, &row.ours, &row.helm);
    }
    let slower = rows.iter().filter(|row| times(row) < 1.0).count();
    println!("\n{slower} cases are slower here than in Helm");
    sorted.sort_by(|a, b| memory(b).total_cmp(&memory(a)));
    let middle = sorted.get(sorted.len() / 2).copied();
    println!("\nMemory, in parts of Helm's: the median case, and the largest parts");
    for row in middle.into_iter().chain(sorted.iter().take(5).copied()) {
        println!("{:.2} {}", memory(row), row.name);
    }
}

/// The total cost of cases.
fn total(what: &str, rows: &[Row], counts: impl Fn(&Row) -> bool) {
    let rows: Vec<&Row> = rows.iter().filter(|row| counts(row)).collect();
    let sum = |of: fn(&Row) -> Cost| {
        let sum = |time: fn(Cost) -> Duration| rows.iter().map(|row| time(of(row))).sum();
        let largest = rows.iter().map(|row| of(row).peak).fold(0.0, f64::max);
        Cost {
            cpu: sum(|cost| cost.cpu),
            wall: sum(|cost| cost.wall),
            peak: largest,
        }
    };
    line(
        &format!("{} {what}", rows.len()),
        &sum(|row| row.ours),
        &sum(|row| row.helm),
    );
}

/// The columns after the case; the peak of several is the largest.
const COLUMNS: &str = "helm, cpu | helm, wall | helm, peak | ours, cpu | ours, wall | ours, peak | times as fast, cpu | times as fast, wall";

fn line(name: &dyn std::fmt::Display, ours: &Cost, helm: &Cost) {
    let columns = |cost: &Cost| {
        let (cpu, wall) = (millis(cost.cpu), millis(cost.wall));
        format!("{cpu:.1} ms | {wall:.1} ms | {:.1} MiB", cost.peak)
    };
    println!(
        "| {name} | {} | {} | {:.1} | {:.1} |",
        columns(helm),
        columns(ours),
        helm.cpu.as_secs_f64() / ours.cpu.as_secs_f64(),
        helm.wall.as_secs_f64() / ours.wall.as_secs_f64()
    );
}

fn memory(row: &Row) -> f64 {
    row.ours.peak / row.helm.peak
}

fn times(row: &Row) -> f64 {
    millis(row.helm.cpu) / millis(row.ours.cpu)
}

/// All cases, sorted: how many times as fast, and the peak of memory.
fn plot(rows: &[Row]) {
    let sorted = |name: &str, of: fn(&Row) -> f64| {
        let mut values: Vec<f64> = rows.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let points = values.into_iter().enumerate();
        Series {
            name: name.to_owned(),
            points: points.map(|(at, value)| (count(at), value)).collect(),
        }
    };
    Plot {
        file: "times-as-fast",
        title: "template: times as fast as Helm 4.3.1, all cases sorted",
        x: "case",
        y: "times as fast",
        log_x: false,
    }
    .write(&[
        sorted("processor time", times),
        sorted("by the clock", |row| {
            millis(row.helm.wall) / millis(row.ours.wall)
        }),
    ]);
    Plot {
        file: "peak-memory",
        title: "template: peak memory, all cases sorted",
        x: "case",
        y: "MiB",
        log_x: false,
    }
    .write(&[
        sorted("ours", |row| row.ours.peak),
        sorted("helm", |row| row.helm.peak),
    ]);
}

#[allow(clippy::cast_precision_loss, reason = "small numbers")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Charts of growing size, and the exponent of their cost, each relative to the previous size.
fn growth((file, what): (&str, &str), sizes: &[usize], home: &Path, make: impl Fn(&Path, usize)) {
    println!("\n| {what} | {COLUMNS} |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut costs: Vec<[Cost; 2]> = Vec::new();
    for &size in sizes {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), size);
        let [ours, helm] = both(folder.path(), home, &[], RUNS);
        line(&size, &ours, &helm);
        costs.push([ours, helm]);
    }
    let mut series = Vec::new();
    for (index, name) in ["ours", "helm"].into_iter().enumerate() {
        let exponents = sizes.windows(2).zip(costs.windows(2)).map(|(sizes, costs)| {
            let [before, after] = [0, 1].map(|at| costs[at][index].cpu.as_secs_f64());
            let [small, large] = [0, 1].map(|at| count(sizes[at]));
            format!("{:.2}", (after / before).ln() / (large / small).ln())
        });
        let exponents: Vec<String> = exponents.collect();
        println!("Exponents of {name}: {}", exponents.join(", "));
        let points = sizes.iter().zip(&costs);
        series.push(Series {
            name: format!("{name}, last exponent {}", exponents.last().unwrap()),
            points: points
                .map(|(size, cost)| (count(*size), millis(cost[index].cpu)))
                .collect(),
        });
    }
    Plot {
        file,
        title: &format!("Processor time by {what}"),
        x: what,
        y: "milliseconds",
        log_x: true,
    }
    .write(&series);
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

const CHART: &str = "apiVersion: v2\nname: grown\nversion: 1.0.0\n";

/// A chart with many files, half of them templates.
fn many_files(folder: &Path, count: usize) {
    write(folder, "Chart.yaml", CHART);
    for number in 0..count / 2 {
        let text = format!(
            "kind: ConfigMap\napiVersion: v1\nmetadata: {{name: {{{{ .Release.Name }}}}-{number}}}\n"
        );
        write(
            folder,
            &format!("templates/{}/t{number}.yaml", number % 10),
            &text,
        );
        write(folder, &format!("files/{}/f{number}.txt", number % 10), "text\n");
    }
}

/// Templates that include each other.
fn nested_includes(folder: &Path, depth: usize) {
    write(folder, "Chart.yaml", CHART);
    let mut text = format!("{{{{ define \"t{depth}\" }}}}x{{{{ end }}}}\n");
    for number in 0..depth {
        let next = number + 1;
        text.push_str(&format!(
            "{{{{ define \"t{number}\" }}}}{{{{ include \"t{next}\" . }}}}{{{{ end }}}}\n"
        ));
    }
    write(folder, "templates/_all.tpl", &text);
    let call = "kind: X\nlist: {{ range 200 }}{{ include \"t0\" $ }}{{ end }}\n";
    write(folder, "templates/x.yaml", call);
}

/// A text that passes itself to `tpl`.
fn nested_tpls(folder: &Path, depth: usize) {
    write(folder, "Chart.yaml", CHART);
    let text = "text: '{{ if .n }}{{ tpl .text (dict \"text\" .text \"n\" (sub .n 1) \"Template\" .Template) }}{{ end }}x'\n";
    write(folder, "values.yaml", text);
    let call = format!(
        "kind: X\nlist: {{{{ range 10 }}}}{{{{ tpl $.Values.text (dict \"text\" $.Values.text \"n\" {depth} \"Template\" $.Template) }}}}{{{{ end }}}}\n"
    );
    write(folder, "templates/x.yaml", &call);
}

/// An umbrella chart with copies of one chart, each with an alias.
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
