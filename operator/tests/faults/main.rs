//! The operator is killed again and again, at random, while tasks run; the API server goes away and comes back. The same
//! in the middle of the pipeline, where the registry goes away too, is in `pipeline`.
#![allow(
    clippy::unwrap_used,
    reason = "tests stop at once when something isn't as it should be"
)]

#[path = "../fleet/mod.rs"]
mod fleet;
mod pipeline;

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use fleet::{Fleet, Kubelet, Order, condition, digest_of, own_requests};
use serde_json::Value;
use testbed::eventually;

const TASKS: usize = 300;
const KILLS: usize = 100;
/// Between two kills, at most.
const PAUSE: Duration = Duration::from_millis(600);
/// How long a pod takes, at most.
const SPREAD: Duration = Duration::from_secs(2);
/// The longest time without any progress, which is long on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);
/// Between two lists of all tasks.
const POLL: Duration = Duration::from_millis(500);
const REPLICAS: [&str; 2] = ["operator-a", "operator-b"];
const SEED: u64 = 0x5eed_0f50_1a20;
/// Every so many kills, the leader is the victim, and stays away until the other one leads.
const KILLS_A_HANDOVER: usize = 10;
/// A short lease, so that a kill costs little time, and no queue for Jobs. It is long enough to be renewed on a
/// machine that does much else.
const SETTINGS: [&str; 5] = [
    "--max-concurrent-jobs=100",
    "--lease-duration=3s",
    "--renew-deadline=2s",
    "--retry-period=200ms",
    "--metrics-bind-address=127.0.0.1:0",
];

/// xorshift64: the same moments and victims in each run, as far as the machine allows.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn orders() -> Vec<Order> {
    let order = |index: usize| Order {
        // A third of each: two namespaces, and no namespace.
        namespace: [Some("one"), Some("two"), None][index % 3].map(str::to_owned),
        name: format!("task-{index}"),
    };
    (0..TASKS).map(order).collect()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn every_task_ends_once_however_often_the_operator_is_killed() {
    let fleet = Fleet::start(true, &["one", "two"], "");
    let kubelet = Kubelet::start(fleet.cluster.kubeconfig(), SPREAD);
    for replica in REPLICAS {
        fleet.start_operator(replica, &SETTINGS);
    }
    let orders = orders();
    let mut random = Random(SEED);
    // Some new tasks before each kill, so that there is something to break.
    for (kill, some) in orders.chunks(TASKS / KILLS).enumerate() {
        fleet.order(some);
        thread::sleep(PAUSE * u32::try_from(random.below(1000)).unwrap() / 1000);
        let random = REPLICAS[usize::try_from(random.below(2)).unwrap()];
        let hands_over = kill % KILLS_A_HANDOVER == 0;
        let victim = if hands_over { leader(&fleet, None) } else { random };
        fleet.cluster.kill(victim);
        if hands_over {
            leader(&fleet, Some(victim));
        }
        fleet.start_operator(victim, &SETTINGS);
    }

    let tasks = wait_for_all(&fleet);
    assert_eq!(tasks.len(), TASKS);
    let digests: BTreeMap<&str, &str> = tasks
        .iter()
        .map(|task| {
            (
                task["metadata"]["name"].as_str().unwrap(),
                task["status"]["digest"].as_str().unwrap_or(""),
            )
        })
        .collect();
    for order in &orders {
        assert_eq!(digests[order.name.as_str()], digest_of(&order.url()), "{order:?}");
    }
    let pushed = kubelet.pushed();
    assert_eq!(pushed.len(), TASKS);
    let again: Vec<_> = pushed.iter().filter(|(_, times)| **times != 1).collect();
    assert!(again.is_empty(), "pushed more than once: {again:?}");
    for plural in ["jobs", "secrets", "pods"] {
        eventually(&format!("no {plural} are left"), LIMIT, || {
            (fleet.left(plural) == 0).then_some(())
        });
    }
    check_requests(&fleet.cluster.requests());
    let lease = [
        "-n",
        fleet::NAMESPACE,
        "get",
        "lease",
        "-o",
        "jsonpath={.items[0].spec.leaseTransitions}",
    ];
    let handed_over: usize = fleet.cluster.kubectl(&lease).parse().unwrap();
    assert!(
        handed_over >= KILLS / KILLS_A_HANDOVER,
        "the lead has changed hands {handed_over} times only"
    );
    for replica in REPLICAS {
        let log = fs::read_to_string(fleet.cluster.log(replica)).unwrap();
        assert!(!log.contains("panicked"), "{replica} panicked");
    }
}

/// Who leads, once it is another one than this.
fn leader(fleet: &Fleet, not: Option<&str>) -> &'static str {
    let holder = ["get", "lease", "-o", "jsonpath={.items[*].spec.holderIdentity}"];
    let mut arguments = vec!["-n", fleet::NAMESPACE];
    arguments.extend(holder);
    eventually("a leader", LIMIT, || {
        let holder = fleet.cluster.kubectl(&arguments);
        // An identity is the pod's name and something random.
        let leader = REPLICAS.into_iter().find(|replica| holder.starts_with(*replica));
        leader.filter(|leader| Some(*leader) != not)
    })
}

const OUTAGES: usize = 3;
const TASKS_AN_OUTAGE: usize = 20;
/// Longer than a leader waits for its lease's renewal.
const OUTAGE: Duration = Duration::from_secs(4);

/// Watches from before an outage are refused after it: what happened meanwhile comes by a new list.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn every_task_ends_once_however_often_the_api_server_goes_away() {
    let fleet = Fleet::start(true, &["one", "two"], "");
    let kubelet = Kubelet::start(fleet.cluster.kubeconfig(), SPREAD);
    for replica in REPLICAS {
        fleet.start_operator(replica, &SETTINGS);
    }
    let orders = orders();
    let orders = &orders[..OUTAGES * TASKS_AN_OUTAGE];
    for some in orders.chunks(TASKS_AN_OUTAGE) {
        fleet.order(some);
        fleet.cluster.stop_apiserver();
        thread::sleep(OUTAGE);
        fleet.cluster.start_apiserver();
    }
    let tasks = wait_for_all(&fleet);
    assert_eq!(tasks.len(), orders.len());
    let pushed = kubelet.pushed();
    let again: Vec<_> = pushed.iter().filter(|(_, times)| **times != 1).collect();
    assert!(again.is_empty(), "pushed more than once: {again:?}");
    for plural in ["jobs", "secrets", "pods"] {
        eventually(&format!("no {plural} are left"), LIMIT, || {
            (fleet.left(plural) == 0).then_some(())
        });
    }
    let logs = REPLICAS.map(|replica| fs::read_to_string(fleet.cluster.log(replica)).unwrap());
    assert!(logs.iter().all(|log| !log.contains("panicked")));
    assert!(
        logs.iter().any(|log| log.contains("lost leadership")),
        "no outage was noticed"
    );
}

/// Waits until every task is ready; shows some of those that aren't when none becomes so for too long.
fn wait_for_all(fleet: &Fleet) -> Vec<Value> {
    let mut progress = Instant::now();
    let mut left = usize::MAX;
    loop {
        let tasks = fleet.tasks();
        let waiting: Vec<_> = tasks
            .iter()
            .filter(|task| condition(task, "Ready") != "True")
            .collect();
        if waiting.is_empty() {
            return tasks;
        }
        if waiting.len() < left {
            left = waiting.len();
            progress = Instant::now();
        }
        let shown: Vec<String> = waiting.iter().take(3).map(|task| format!("{task:#}")).collect();
        assert!(
            progress.elapsed() < LIMIT,
            "{} are not ready, such as\n{}",
            waiting.len(),
            shown.join("\n")
        );
        thread::sleep(POLL);
    }
}

/// No Job was made twice, and nothing was asked that the operator has no right to.
fn check_requests(requests: &[Value]) {
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    for event in own_requests(requests) {
        let object = &event["objectRef"];
        if event["verb"] == "create" && object["resource"] == "jobs" {
            let times = made
                .entry(format!("{}/{}", object["namespace"], object["name"]))
                .or_default();
            // An operator that was killed during its request doesn't always have the answer.
            *times += usize::from(event["responseStatus"]["code"] == 201);
        }
    }
    assert_eq!(made.len(), TASKS);
    let twice: Vec<_> = made.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "Jobs made twice: {twice:?}");
}
