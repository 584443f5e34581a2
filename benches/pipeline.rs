//! The pipeline at scale on a real API server and controller-manager, pods' ends faked: reconciles, API requests, memory,
//! and throughput. `cargo bench -p solar-operator --bench pipeline [-- SCENARIO…]`
//!
//! Each scenario has a control plane of its own, which shares the machine: rates are mostly the API server's, counts
//! are not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints, and stops when something is wrong"
)]

#[path = "../operator/tests/fleet/mod.rs"]
mod fleet;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fleet::measure::{peak_mebibytes, processor_seconds, scrape, sum};
use fleet::pipeline::{Estate, is_ready};
use fleet::{Fleet, Kubelet, Order, own_requests};
use serde_json::{Value, json};
use testbed::Port;

/// How long a scenario may take; a hang is a failure.
const LIMIT: Duration = Duration::from_secs(1800);
const POLL: Duration = Duration::from_secs(1);
/// What the operator may use at its peak.
const MEMORY_LIMIT_MIB: f64 = 96.0;
/// How many requests that change something the pipeline's controllers may send for a Release of a Target.
const WRITES_LIMIT: f64 = 6.0;
/// How many requests a RenderTask may cost.
const REQUESTS_LIMIT: f64 = 14.0;
/// The kinds whose objects the pipeline's controllers write.
const PIPELINE: [&str; 9] = [
    "targets",
    "releases",
    "profiles",
    "registries",
    "componentversions",
    "releasebindings",
    "registrybindings",
    "renderartifacts",
    "renderbindings",
];
/// The scenarios: the name, whether it runs when none is named, and what it is.
const SCENARIOS: [(&str, bool, Scenario); 6] = [
    // As many as `targets` has, to compare with.
    ("tasks", true, Scenario::Tasks(2100)),
    ("target", true, Scenario::Rendered(estate(1, 200, 1))),
    ("targets", true, Scenario::Rendered(estate(100, 20, 10))),
    ("profile", true, Scenario::Bound(estate(1000, 1, 10))),
    // As `targets`, in a minute: to compare counts.
    ("small", false, Scenario::Rendered(estate(20, 5, 2))),
    // More than 10,000 objects.
    ("large", false, Scenario::Rendered(estate(160, 20, 10))),
];

/// What is measured.
#[derive(Clone, Copy)]
enum Scenario {
    /// So many RenderTasks alone.
    Tasks(u32),
    /// Targets that render their Releases.
    Rendered(Estate),
    /// Targets that render nothing: their Registry is missing.
    Bound(Estate),
}

const fn estate(targets: usize, releases: usize, tenants: usize) -> Estate {
    Estate {
        targets,
        releases,
        tenants,
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only asks whether it runs; it takes minutes.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let is_named = |name: &str| arguments.iter().any(|argument| argument == name);
    let is_any_named = SCENARIOS.iter().any(|(name, ..)| is_named(name));
    for (name, is_default, scenario) in SCENARIOS {
        if is_named(name) || (!is_any_named && is_default) {
            match scenario {
                Scenario::Tasks(count) => tasks(count),
                Scenario::Rendered(estate) => rendered(&estate),
                Scenario::Bound(estate) => one_profile(&estate),
            }
        }
    }
}

fn tasks(all: u32) {
    let title = format!("{all} RenderTasks without Targets");
    let bench = Bench::start(&title, &["tasks".to_owned()]);
    let orders: Vec<Order> = (0..all)
        .map(|index| Order {
            namespace: Some("tasks".to_owned()),
            name: format!("task-{index}"),
        })
        .collect();
    bench.fleet.order(&orders);
    bench.until("all tasks", || {
        sum(&scrape(&bench.metrics), "solar_operator_tasks_ended_total") >= f64::from(all)
    });
    bench.report(all as usize, 0);
}

fn one_profile(estate: &Estate) {
    let title = format!("One Profile over {} Targets", estate.targets);
    let bench = Bench::start(&title, &estate.namespaces());
    bench.prepare(estate, "missing");
    let matched = || {
        let profiles = bench.fleet.all_of("Profile");
        profiles[0]["status"]["matchedTargets"] == estate.targets
            && bench.fleet.all_of("ReleaseBinding").len() == estate.targets
    };
    bench.until("all bindings", matched);
    bench.until_idle();
    bench.report(0, estate.targets);
    // What one more change costs.
    let before = bench.reconciles();
    let mut target = estate.targets("missing").remove(0);
    target["spec"]["userdata"] = json!({"zone": "a"});
    bench.fleet.apply_all(&[target.clone()]);
    bench.until_idle();
    println!(
        "reconciles after the userdata of one Target changed: {}",
        difference(&before, &bench.reconciles())
    );
    let before = bench.reconciles();
    target["metadata"]["labels"] = json!({"env": "test"});
    bench.fleet.apply_all(&[target]);
    bench.until_idle();
    println!(
        "reconciles after its label changed: {}",
        difference(&before, &bench.reconciles())
    );
}

fn rendered(estate: &Estate) {
    let title = format!(
        "{} Targets with {} Releases each",
        estate.targets, estate.releases
    );
    let bench = Bench::start(&title, &estate.namespaces());
    bench.prepare(estate, "charts");
    let releases = estate.targets * estate.releases;
    bench.until("all Targets", || {
        let targets = bench.fleet.all_of("Target");
        targets.iter().all(|target| is_ready(target, estate.releases))
    });
    bench.until_idle();
    bench.report(releases + estate.targets, releases);
    // What one more change costs: a Release of all Targets.
    let before = bench.reconciles();
    bench.fleet.apply_all(&[estate.changed_release(0, 2)]);
    bench.until_idle();
    println!(
        "reconciles after a Release of all Targets changed: {}",
        difference(&before, &bench.reconciles())
    );
}

/// A control plane with an operator and faked pods.
struct Bench {
    title: String,
    fleet: Fleet,
    _kubelet: Kubelet,
    metrics: String,
    _port: Port,
    begin: Instant,
    took: std::cell::Cell<Duration>,
}

impl Bench {
    fn start(title: &str, namespaces: &[String]) -> Self {
        let namespaces: Vec<&str> = namespaces.iter().map(String::as_str).collect();
        let values = "pipeline.enabled=true,networkPolicy.enabled=false";
        let fleet = Fleet::start(true, &namespaces, values);
        let port = Port::free();
        let metrics = format!("127.0.0.1:{}", port.number());
        let bind = format!("--metrics-bind-address={metrics}");
        fleet.start_operator("operator", &["--pipeline", "--max-concurrent-jobs=64", &bind]);
        let kubelet = Kubelet::start(fleet.cluster.kubeconfig(), Duration::ZERO);
        Self {
            title: title.to_owned(),
            fleet,
            _kubelet: kubelet,
            metrics,
            _port: port,
            begin: Instant::now(),
            took: std::cell::Cell::default(),
        }
    }

    fn prepare(&self, estate: &Estate, registry: &str) {
        self.fleet.apply_all(&estate.platform());
        self.fleet.apply_all(&estate.catalog());
        self.fleet.apply_all(&estate.profiles());
        self.fleet.apply_all(&estate.targets(registry));
    }

    fn until(&self, what: &str, is_done: impl Fn() -> bool) {
        while !is_done() {
            assert!(self.begin.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
            std::thread::sleep(POLL);
        }
        self.took.set(self.begin.elapsed());
    }

    /// Until Jobs are gone, and no reconcile has ended for a while.
    fn until_idle(&self) {
        let took = self.took.get();
        let mut before = self.reconciles();
        loop {
            std::thread::sleep(POLL * 3);
            let now = self.reconciles();
            if now == before && self.fleet.left("jobs") == 0 {
                break;
            }
            before = now;
            assert!(self.begin.elapsed() < LIMIT, "never idle");
        }
        self.took.set(took);
    }

    /// How many reconciles there were, by kind.
    fn reconciles(&self) -> BTreeMap<String, u64> {
        let text = scrape(&self.metrics);
        let lines = text
            .lines()
            .filter(|line| line.starts_with("solar_operator_reconciles_total"));
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        for line in lines {
            let kind = line
                .split("kind=\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next());
            let count: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
            *all.entry(kind.unwrap_or("all").to_owned()).or_default() += count as u64;
        }
        all
    }

    fn report(&self, tasks: usize, releases: usize) {
        let (text, process) = (scrape(&self.metrics), self.fleet.cluster.process_id("operator"));
        let seconds = self.took.get().as_secs_f64();
        println!("\n| {} | |\n|---|---|", self.title);
        println!("| ready after | {seconds:.0} s |");
        if tasks > 0 {
            println!("| tasks a second | {:.1} |", tasks as f64 / seconds);
        }
        let units = if releases > 0 { releases } else { tasks } as f64;
        let reconciles = self.reconciles();
        let all: u64 = reconciles.values().sum();
        let kinds = reconciles.iter().filter(|(_, count)| **count > 0);
        let kinds: Vec<String> = kinds.map(|(kind, count)| format!("{kind} {count}")).collect();
        println!(
            "| reconciles of each | {:.1} ({}) |",
            all as f64 / units,
            kinds.join(", ")
        );
        println!(
            "| failed reconciles | {} |",
            sum(&text, "solar_operator_reconcile_errors_total")
        );
        let requests = self.fleet.cluster.requests();
        let counted = Requests::of(&own_requests(&requests));
        if releases > 0 {
            let writes = counted.pipeline_writes as f64 / units;
            println!("| writes of the pipeline for each (at most {WRITES_LIMIT}) | {writes:.2} |");
        }
        if tasks > 0 {
            let requests = counted.of_tasks as f64 / tasks as f64;
            println!("| requests for a task (at most {REQUESTS_LIMIT}) | {requests:.2} |");
        }
        let (processor, peak) = (processor_seconds(process), peak_mebibytes(process));
        println!(
            "| the operator's processor time for each | {:.1} ms |",
            processor * 1000.0 / units
        );
        println!("| objects | {} |", self.objects());
        println!("| peak memory (at most {MEMORY_LIMIT_MIB} MiB) | {peak:.1} MiB |\n");
        for (what, count) in &counted.each {
            println!("{count:6} {what}");
        }
        assert!(peak <= MEMORY_LIMIT_MIB, "more than {MEMORY_LIMIT_MIB} MiB");
    }

    /// How many objects the operator watches.
    fn objects(&self) -> usize {
        let kinds = [
            "RenderTask",
            "Target",
            "Release",
            "ComponentVersion",
            "Profile",
            "ReleaseBinding",
            "RenderArtifact",
            "RenderBinding",
            "Registry",
            "ReferenceGrant",
        ];
        kinds.iter().map(|kind| self.fleet.all_of(kind).len()).sum()
    }
}

/// What the operator has asked for.
#[derive(Default)]
struct Requests {
    /// By verb and resource.
    each: BTreeMap<String, usize>,
    /// For the pipeline's own kinds, RenderTasks made and deleted included.
    pipeline_writes: usize,
    /// For RenderTasks that are there: their status, Jobs, Secrets, events.
    of_tasks: usize,
}

impl Requests {
    fn of(requests: &[&Value]) -> Self {
        let mut counted = Self::default();
        for event in requests {
            let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
            let object = &event["objectRef"];
            let (verb, resource) = (text(&event["verb"]), text(&object["resource"]));
            let subresource = text(&object["subresource"]);
            if resource == "leases" || verb == "list" || verb == "watch" || resource.is_empty() {
                continue;
            }
            *counted
                .each
                .entry(format!("{verb} {resource} {subresource}"))
                .or_default() += 1;
            // What is refused, such as to make what is there, changes nothing.
            let is_done = event["responseStatus"]["code"]
                .as_u64()
                .is_some_and(|code| code < 300);
            let is_write = verb != "get" && is_done;
            let makes_task = resource == "rendertasks" && (verb == "create" || verb == "delete");
            if PIPELINE.contains(&resource.as_str()) || makes_task {
                counted.pipeline_writes += usize::from(is_write);
            } else {
                counted.of_tasks += 1;
            }
        }
        counted
    }
}

fn difference(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> String {
    let more = after.iter().filter_map(|(kind, count)| {
        let more = count - before.get(kind).copied().unwrap_or(0);
        (more > 0).then(|| format!("{kind} {more}"))
    });
    let more: Vec<String> = more.collect();
    if more.is_empty() {
        "none".to_owned()
    } else {
        more.join(", ")
    }
}
