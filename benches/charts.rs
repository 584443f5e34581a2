//! What people who write charts run over all of them, compared with its peers: `CHARTS=/path/to/charts cargo bench --bench
//! charts`.
//!
//! `validate` beside `helm template | kubeconform` over every chart below `CHARTS` that Helm renders with its own values,
//! with the same schemas as files; those that generate keys in a row of their own, since that is what takes the time;
//! `test` beside helm-unittest over each chart there that has suites, `COPIES` times.
//! Each command runs in turn with its peer, so that other load affects both; the median counts.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark that can't go on should stop; it prints, and reads its variables"
)]

#[path = "../renderer/tests/cli/validate/json_schemas.rs"]
mod json_schemas;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use json_schemas::{Schemas, VERSION};
use testbed::Tool;

/// The number of runs of each command; the first one warms the caches and doesn't count.
const RUNS: usize = 5;

fn main() {
    // `cargo test --benches` runs this with --test; there is nothing to check then.
    let Some(charts) = std::env::var_os("CHARTS").filter(|_| std::env::args().all(|word| word != "--test"))
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    find(Path::new(&charts), &mut all);
    println!("| work | peer | peer, wall | ours, wall | times as fast |");
    println!("|---|---|---|---|---|");
    let schemas = folder.path().join("schemas");
    fs::create_dir(&schemas).unwrap();
    Schemas::read().write(&schemas);
    let (keys, others): (Vec<PathBuf>, Vec<PathBuf>) =
        all.iter().cloned().partition(|chart| generates_keys(chart));
    validate("without generated keys", &others, &schemas, folder.path());
    validate("with generated keys", &keys, &schemas, folder.path());
    test(&all, folder.path());
}

fn find(folder: &Path, all: &mut Vec<PathBuf>) {
    if folder.join("Chart.yaml").is_file() {
        all.push(folder.to_owned());
        return;
    }
    let below = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
    below.sort();
    below.iter().for_each(|path| find(path, all));
}

fn ours(words: &[&str], charts: &[PathBuf]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_solar-render"));
    command.args(words).args(charts).env_clear();
    command
}

/// Whether a file of the chart, or of one below it, calls a function that makes a key or a password's hash.
fn generates_keys(folder: &Path) -> bool {
    let words = [
        "genCA",
        "genSignedCert",
        "genSelfSignedCert",
        "genPrivateKey",
        "htpasswd",
        "bcrypt",
    ];
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return generates_keys(&path);
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        words.iter().any(|word| text.contains(word))
    })
}

fn validate(which: &str, all: &[PathBuf], schemas: &Path, folder: &Path) {
    let renders = |chart: &&PathBuf| {
        let mut helm = Tool::Helm.command(folder);
        helm.arg("template").arg(chart);
        helm.output().is_ok_and(|output| output.status.success())
    };
    let charts: Vec<PathBuf> = all.iter().filter(renders).cloned().collect();
    let script = format!(
        "for chart in \"$@\"; do {} template \"$chart\" | {} -strict -ignore-missing-schemas -schema-location \
         '{}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json'; done",
        Tool::Helm.path().display(),
        Tool::Kubeconform.path().display(),
        schemas.display()
    );
    let peer = || {
        let mut command = Command::new("bash");
        command
            .args(["-c", &script, "bash"])
            .args(&charts)
            .current_dir(folder);
        command
    };
    let own = || ours(&["validate", "--kube-version", VERSION.0], &charts);
    let work = format!("`validate` {} charts {which}", charts.len());
    row(&work, "helm template \\| kubeconform", measure(&[&peer, &own]));
}

/// The folders of a chart that hold suites, as patterns for `-f`.
fn suite_patterns(chart: &Path, folder: &Path, patterns: &mut BTreeSet<String>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = path.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "charts" {
            suite_patterns(chart, &path, patterns);
        } else if name.ends_with("_test.yaml") {
            let inside = folder.strip_prefix(chart).unwrap();
            patterns.insert(inside.join("*_test.yaml").display().to_string());
        }
    }
}

fn test(all: &[PathBuf], folder: &Path) {
    let copies = std::env::var("COPIES").ok().and_then(|text| text.parse().ok());
    for chart in all {
        let mut patterns = BTreeSet::new();
        suite_patterns(chart, chart, &mut patterns);
        let mut flags = vec!["test"];
        flags.extend(patterns.iter().flat_map(|pattern| ["-f", pattern]));
        let charts: Vec<PathBuf> = (0..copies.unwrap_or(4))
            .map(|number| {
                let copy = folder.join(number.to_string()).join(chart.file_name().unwrap());
                fs::create_dir_all(copy.parent().unwrap()).unwrap();
                let copied = Command::new("cp").arg("-rT").arg(chart).arg(&copy).status();
                assert!(copied.unwrap().success());
                copy
            })
            .collect();
        // Those whose suites are for another program, or need what is not here.
        if patterns.is_empty() || !ours(&flags, &charts[..1]).status().unwrap().success() {
            continue;
        }
        let peer = || {
            let mut command = Tool::HelmUnittest.command(folder);
            command.args(&flags[1..]).args(&charts);
            command
        };
        let own = || ours(&flags, &charts);
        let output = own().output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let work = format!(
            "`test {}`: {}",
            chart.file_name().unwrap().display(),
            text.lines().last().unwrap_or_default()
        );
        row(&work, "helm-unittest 1.1.2", measure(&[&peer, &own]));
    }
}

/// The medians of commands that run in turn. Their exit codes say what they found.
fn measure(commands: &[&dyn Fn() -> Command; 2]) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for run in 0..=RUNS {
        for (command, times) in commands.iter().zip(&mut times) {
            let mut command = command();
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let start = Instant::now();
            command.status().unwrap();
            if run > 0 {
                times.push(start.elapsed());
            }
        }
    }
    times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    })
}

fn row(work: &str, peer: &str, [theirs, own]: [Duration; 2]) {
    let (theirs, own) = (theirs.as_secs_f64(), own.as_secs_f64());
    println!(
        "| {work} | {peer} | {theirs:.2} s | {own:.3} s | {:.1} |",
        theirs / own
    );
}
