//! Targets with Releases, while the operator is killed at random, the API server is restarted, and the registry is away.
//!
//! `SOLAR_FAULTS_TARGETS` and `SOLAR_FAULTS_KILLS` make it larger than CI has time for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::eventually;

use super::fleet::pipeline::{Estate, bootstrap_tags, charts, is_ready, release};
use super::fleet::{Fleet, Kubelet, Refusal};
use super::{LIMIT, POLL, Random, SEED};

const TARGETS: usize = 12;
const RELEASES: usize = 5;
const TENANTS: usize = 4;
const KILLS: usize = 10;
/// Between two kills, at most: long enough for an operator to read all there is, and to begin with something.
const PAUSE: Duration = Duration::from_millis(1500);
/// How long a pod takes, at most.
const SPREAD: Duration = Duration::from_secs(1);
/// How long the API server is away.
const OUTAGE: Duration = Duration::from_secs(2);
const OPERATOR: &str = "operator";
/// One operator, which doesn't wait for the lease of the one that was killed.
const SETTINGS: [&str; 4] = [
    "--pipeline",
    "--leader-elect=false",
    "--max-concurrent-jobs=100",
    "--metrics-bind-address=127.0.0.1:0",
];

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn targets_end_right_and_nothing_leaks_whatever_goes_away_meanwhile() {
    let estate = Estate {
        targets: size("SOLAR_FAULTS_TARGETS", TARGETS),
        releases: RELEASES,
        tenants: TENANTS,
    };
    let namespaces = estate.namespaces();
    let namespaces: Vec<&str> = namespaces.iter().map(String::as_str).collect();
    let values = "pipeline.enabled=true,networkPolicy.enabled=false";
    let fleet = Fleet::start(false, &namespaces, values);
    let kubelet = Kubelet::start(fleet.cluster.kubeconfig(), SPREAD);
    let begin = Instant::now();
    fleet.start_operator(OPERATOR, &SETTINGS);
    fleet.apply_all(&estate.platform());
    fleet.apply_all(&estate.catalog());
    fleet.apply_all(&estate.profiles());
    fleet.apply_all(&estate.targets("charts"));

    let kills = size("SOLAR_FAULTS_KILLS", KILLS);
    kill_again_and_again(&fleet, &kubelet, &estate, kills);
    let killed = begin.elapsed();

    let targets = until_all_are_ready(&fleet, &estate);
    let ready = begin.elapsed();
    let charts = check_charts(&fleet, &kubelet, &targets);
    let charts_each = RELEASES + 1;
    for (kind, count) in [
        ("RenderTask", charts_each * estate.targets),
        // Targets of one namespace share the charts that are the same for them.
        ("RenderArtifact", charts),
        ("RenderBinding", charts_each * estate.targets),
        ("ReleaseBinding", RELEASES * estate.targets),
    ] {
        until_left(&fleet, kind, count);
    }
    no_jobs_are_left(&fleet);
    let clean = begin.elapsed();

    fleet.delete_all_of("Target", &estate);
    for kind in [
        "Target",
        "RenderTask",
        "RenderBinding",
        "RenderArtifact",
        "ReleaseBinding",
    ] {
        until_left(&fleet, kind, 0);
    }
    no_jobs_are_left(&fleet);
    assert_eq!(kubelet.charts(), BTreeSet::new(), "tags that nobody uses");
    let twice = kubelet.pushed_twice_with_other_content();
    assert!(twice.is_empty(), "other content under a used tag: {twice:?}");
    let log = fs::read_to_string(fleet.cluster.log(OPERATOR)).unwrap();
    assert!(!log.contains("panicked"), "the operator panicked");
    eprintln!(
        "{} Targets, {kills} kills until {killed:?}, all ready after {ready:?}, clean after {clean:?}, gone after {:?}",
        estate.targets,
        begin.elapsed()
    );
}

/// Kills the operator so often, at random; between the kills the registry, the API server, and the values of a Release
/// change.
fn kill_again_and_again(fleet: &Fleet, kubelet: &Kubelet, estate: &Estate, kills: usize) {
    let mut random = Random(SEED);
    for kill in 0..kills {
        // What else goes away, and comes back, between the kills.
        if kill == kills / 10 {
            // It goes away in the middle of pushes: what it has taken, nobody has reported.
            kubelet.refuse("/release-release-1:", Refusal::LostAfterPush);
        }
        if kill == kills / 5 {
            kubelet.refuse("", Refusal::Unavailable);
        }
        if kill == kills * 2 / 5 {
            kubelet.accept("");
            kubelet.accept("/release-release-1:");
            fleet.cluster.stop_apiserver();
            thread::sleep(OUTAGE);
            fleet.cluster.start_apiserver();
        }
        if kill == kills * 3 / 5 {
            fleet.apply_all(&[estate.changed_release(0, 2)]);
        }
        thread::sleep(PAUSE * u32::try_from(random.below(1000)).unwrap() / 1000);
        fleet.cluster.kill(OPERATOR);
        fleet.start_operator(OPERATOR, &SETTINGS);
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "how large it is, where somebody has the time"
)]
fn size(variable: &str, default: usize) -> usize {
    let set = std::env::var(variable).ok();
    set.map_or(default, |text| text.parse().unwrap())
}

/// All Targets, once each has the charts of the Releases as they are now.
fn until_all_are_ready(fleet: &Fleet, estate: &Estate) -> Vec<Value> {
    let changed = format!("/{}", release(0));
    let is_current = |target: &Value| {
        let charts = charts(target);
        let changed = charts.iter().find(|(name, _)| name.ends_with(&changed));
        is_ready(target, RELEASES) && changed.is_some_and(|(_, url)| url.contains(":v0.0.2-"))
    };
    let mut progress = Instant::now();
    let mut left = usize::MAX;
    loop {
        let targets = fleet.all_of("Target");
        let waiting: Vec<&Value> = targets.iter().filter(|target| !is_current(target)).collect();
        if waiting.is_empty() && targets.len() == estate.targets {
            return targets;
        }
        if waiting.len() < left {
            (left, progress) = (waiting.len(), Instant::now());
        }
        assert!(
            progress.elapsed() < LIMIT,
            "{left} of {} are not ready, such as {:#}",
            targets.len(),
            waiting[0]
        );
        thread::sleep(POLL);
    }
}

/// The registry has the charts that the Targets name, and each bootstrap chart was made from those. Gives back how many
/// there are.
fn check_charts(fleet: &Fleet, kubelet: &Kubelet, targets: &[Value]) -> usize {
    let named: BTreeSet<String> = targets
        .iter()
        .flat_map(|target| charts(target).into_values())
        .collect();
    until(|| {
        let there = kubelet.charts();
        let missing: Vec<_> = named.difference(&there).collect();
        let unused: Vec<_> = there.difference(&named).collect();
        if missing.is_empty() && unused.is_empty() {
            return Ok(());
        }
        Err(format!(
            "missing in the registry: {missing:?}; not used: {unused:?}"
        ))
    });
    let tasks = fleet.all_of("RenderTask");
    let tasks: BTreeMap<String, &Value> = tasks
        .iter()
        .map(|task| {
            let text = |field: &str| task["spec"][field].as_str().unwrap();
            let url = format!("oci://charts.example/{}:{}", text("repository"), text("tag"));
            (url, task)
        })
        .collect();
    for target in targets {
        let mut charts = charts(target);
        let bootstrap = charts.remove("bootstrap").unwrap();
        let tags = charts
            .values()
            .map(|url| url.rsplit_once(':').unwrap().1.to_owned());
        assert_eq!(bootstrap_tags(tasks[&bootstrap]), tags.collect(), "{bootstrap}");
    }
    named.len()
}

fn until_left(fleet: &Fleet, kind: &str, count: usize) {
    until(|| {
        let objects = fleet.all_of(kind);
        if objects.len() == count {
            return Ok(());
        }
        let names = objects.iter().map(|object| &object["metadata"]["name"]);
        let names: Vec<&Value> = names.collect();
        Err(format!("{} and not {count} {kind}s: {names:?}", names.len()))
    });
}

/// Until it is so; else what is wrong.
fn until(mut check: impl FnMut() -> Result<(), String>) {
    let end = Instant::now() + LIMIT;
    while let Err(wrong) = check() {
        assert!(Instant::now() < end, "{wrong}");
        thread::sleep(POLL);
    }
}

fn no_jobs_are_left(fleet: &Fleet) {
    for plural in ["jobs", "secrets", "pods"] {
        eventually(&format!("no {plural} are left"), LIMIT, || {
            (fleet.left(plural) == 0).then_some(())
        });
    }
}
