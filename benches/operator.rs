//! The operator with 5,000 tasks on a real API server and controller-manager, pods' ends faked:
//! throughput, fairness, reconciles per task, memory, processor time. `cargo bench --bench operator`
//!
//! One namespace creates 4,000 tasks, then ten others create 100 each; 64 Jobs may run at a time. Everything shares the
//! machine, so the throughput is mostly the API server's.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints, and stops when something is wrong"
)]

#[path = "../operator/tests/fleet/mod.rs"]
mod fleet;

use std::time::{Duration, Instant};

use fleet::measure::{peak_mebibytes, processor_seconds, scrape, sum};
use fleet::{Fleet, Kubelet, Order, condition};
use serde_json::Value;
use testbed::{Port, eventually};

const CROWD: usize = 4000;
const SMALL_NAMESPACES: usize = 10;
const SMALL: usize = 100;
/// The time limit of the benchmark; exceeding it is a failure.
const LIMIT: Duration = Duration::from_secs(1800);
/// The operator's limit for peak memory.
const MEMORY_LIMIT_MIB: f64 = 64.0;

fn main() {
    // `cargo test --benches` only checks that it starts; a run takes minutes.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let crowd: Vec<Order> = (0..CROWD).map(|index| order("crowd", index)).collect();
    let names: Vec<String> = (0..SMALL_NAMESPACES)
        .map(|index| format!("small-{index}"))
        .collect();
    // In turn, as if they were created at the same moment.
    let small = (0..SMALL).flat_map(|index| names.iter().map(move |name| order(name, index)));
    let small: Vec<Order> = small.collect();
    let namespaces: Vec<&str> = names.iter().map(String::as_str).chain(["crowd"]).collect();
    let fleet = Fleet::start(false, &namespaces, "");
    let port = Port::free();
    let metrics = format!("127.0.0.1:{}", port.number());
    let bind = format!("--metrics-bind-address={metrics}");
    fleet.start_operator("operator", &[&bind, "--max-concurrent-jobs=64"]);
    let _kubelet = Kubelet::start(fleet.cluster.kubeconfig(), Duration::ZERO);

    let begin = Instant::now();
    fleet.order(&crowd);
    let ordered = begin.elapsed();
    fleet.order(&small);
    let all = crowd.len() + small.len();
    eventually("all tasks have ended", LIMIT, || {
        // A scrape is cheap, but not free.
        std::thread::sleep(Duration::from_secs(1));
        (sum(&scrape(&metrics), "solar_operator_tasks_ended_total") >= all as f64).then_some(())
    });
    let took = begin.elapsed();
    // Work after the last task ended, such as clean-up, counts too.
    eventually("no Job is left", LIMIT, || {
        (fleet.left("jobs") == 0).then_some(())
    });
    let tasks = fleet.tasks();
    assert_eq!(
        tasks
            .iter()
            .filter(|task| condition(task, "Ready") == "True")
            .count(),
        all
    );

    println!("| {all} tasks of 11 namespaces | |");
    println!("|---|---|");
    println!(
        "| ended after | {:.0} s (the large namespace's orders took {:.0} s) |",
        took.as_secs_f64(),
        ordered.as_secs_f64()
    );
    println!("| tasks a second | {:.1} |", all as f64 / took.as_secs_f64());
    let (small_ended, crowd_ended) = last_ends(&tasks);
    println!(
        "| the small namespaces ended before the large one | {} s |",
        crowd_ended - small_ended
    );
    print_costs(
        &scrape(&metrics),
        fleet.cluster.process_id("operator"),
        all as f64,
    );
}

/// Prints the operator's costs, and fails if it used too much memory.
fn print_costs(metrics: &str, process: u32, all: f64) {
    println!(
        "| reconciles of a task | {:.1} |",
        sum(metrics, "solar_operator_reconciles_total") / all
    );
    println!(
        "| writes of a task's status | {:.1} |",
        sum(metrics, "solar_operator_status_patches_total") / all
    );
    println!(
        "| failed reconciles | {} |",
        sum(metrics, "solar_operator_reconcile_errors_total")
    );
    let processor = processor_seconds(process);
    println!("| processor time a task | {:.1} ms |", processor * 1000.0 / all);
    let peak = peak_mebibytes(process);
    println!("| peak memory | {peak:.1} MiB |");
    assert!(peak <= MEMORY_LIMIT_MIB, "more than {MEMORY_LIMIT_MIB} MiB");
}

fn order(namespace: &str, index: usize) -> Order {
    Order {
        namespace: Some(namespace.to_owned()),
        name: format!("{namespace}-{index}"),
    }
}

/// When the last task of the small namespaces ended, and the last of the large one, in seconds.
fn last_ends(tasks: &[Value]) -> (i64, i64) {
    let last = |crowd: bool| {
        let ours = tasks
            .iter()
            .filter(|task| (task["metadata"]["namespace"] == "crowd") == crowd);
        let times = ours.map(|task| task["status"]["completionTime"].as_str().unwrap());
        // RFC 3339 in UTC: strings compare like times.
        let text = times.max().unwrap();
        text.parse::<jiff::Timestamp>().unwrap().as_second()
    };
    (last(false), last(true))
}
