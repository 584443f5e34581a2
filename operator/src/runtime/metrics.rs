//! Counts and durations, as Prometheus reads them.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::api::Scope;

/// How tasks end: what the renderer reports, and why they fail.
const OUTCOMES: [&str; 16] = [
    "created",
    "unchanged",
    "replaced",
    "skipped",
    "ConfigInvalid",
    "Conflict",
    "AuthFailed",
    "RegistryRefused",
    "RegistryUnavailable",
    "InputOutput",
    "RendererCrashed",
    "Cancelled",
    "DeadlineExceeded",
    "BackoffLimitExceeded",
    "Evicted",
    "JobLost",
];

type Labels = [(&'static str, String); 1];
type Pair = [(&'static str, String); 2];

/// All of them; clones count into the same.
#[derive(Debug, Clone)]
pub struct Metrics {
    reconciles: Family<Labels, Counter>,
    errors: Family<Labels, Counter>,
    durations: Histogram,
    jobs: Family<Pair, Counter>,
    own_changes: Counter,
    /// Watches and lists that failed.
    pub watch_errors: Counter,
    /// Patches of a status.
    pub status_patches: Counter,
    /// Keys in the queue.
    pub queued: Gauge,
    /// Keys being reconciled.
    pub active: Gauge,
    /// Keys that are due later.
    pub scheduled: Gauge,
    /// JobSlots that are taken.
    pub slots_taken: Gauge,
    /// Tasks that wait for one.
    pub slots_waited_for: Gauge,
    /// Jobs that are known.
    pub jobs_known: Gauge,
    /// Pods that are known.
    pub pods_known: Gauge,
    /// 1 on the leader.
    pub leader: Gauge,
    /// How often leadership was gained, and lost.
    pub transitions: Counter,
    start: Gauge<f64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self {
            reconciles: Family::default(),
            errors: Family::default(),
            durations: Histogram::new(exponential_buckets(0.001, 2.0, 15)),
            jobs: Family::default(),
            own_changes: Counter::default(),
            watch_errors: Counter::default(),
            status_patches: Counter::default(),
            queued: Gauge::default(),
            active: Gauge::default(),
            scheduled: Gauge::default(),
            slots_taken: Gauge::default(),
            slots_waited_for: Gauge::default(),
            jobs_known: Gauge::default(),
            pods_known: Gauge::default(),
            leader: Gauge::default(),
            transitions: Counter::default(),
            start: Gauge::default(),
        };
        metrics.start_at_zero();
        metrics
    }
}

impl Metrics {
    /// `increase()` misses the first count of a series that was not there before.
    fn start_at_zero(&self) {
        for scope in Scope::ALL {
            let kind = [("kind", scope.kind().to_owned())];
            drop(self.reconciles.get_or_create(&kind));
            drop(self.errors.get_or_create(&kind));
            for outcome in OUTCOMES {
                let labels = [("kind", scope.kind().to_owned()), ("outcome", outcome.to_owned())];
                drop(self.jobs.get_or_create(&labels));
            }
        }
    }

    /// One reconcile has ended.
    pub fn reconciled(&self, scope: Scope, took: Duration, succeeded: bool) {
        let kind = [("kind", scope.kind().to_owned())];
        self.reconciles.get_or_create(&kind).inc();
        if !succeeded {
            self.errors.get_or_create(&kind).inc();
        }
        self.durations.observe(took.as_secs_f64());
    }

    /// A task has ended.
    pub fn ended(&self, scope: Scope, outcome: &str) {
        let labels = [("kind", scope.kind().to_owned()), ("outcome", outcome.to_owned())];
        self.jobs.get_or_create(&labels).inc();
    }

    /// A task's own status has changed, which starts no work.
    pub fn own_change(&self) {
        self.own_changes.inc();
    }

    /// How many reconciles there were, of both kinds.
    pub fn reconcile_count(&self) -> u64 {
        let count = |scope: Scope| {
            self.reconciles
                .get_or_create(&[("kind", scope.kind().to_owned())])
                .get()
        };
        Scope::ALL.into_iter().map(count).sum()
    }

    /// Nothing is reconciled any more: another one is the leader.
    pub fn reset_gauges(&self) {
        let now = [
            &self.queued,
            &self.active,
            &self.scheduled,
            &self.slots_taken,
            &self.slots_waited_for,
            &self.jobs_known,
            &self.pods_known,
        ];
        for gauge in now {
            gauge.set(0);
        }
    }

    /// When the process was started, in seconds since 1970.
    pub fn started(&self, at: f64) {
        self.start.set(at);
    }

    /// The text that a scrape gets.
    pub fn text(&self) -> String {
        let mut registry = Registry::with_prefix("solar_operator");
        let Self {
            reconciles,
            errors,
            durations,
            jobs,
            own_changes,
            watch_errors,
            status_patches,
            queued,
            active,
            scheduled,
            slots_taken,
            slots_waited_for,
            jobs_known,
            pods_known,
            leader,
            transitions,
            start,
        } = self.clone();
        registry.register("reconciles", "Reconciles of tasks", reconciles);
        registry.register("reconcile_errors", "Reconciles of tasks that failed", errors);
        registry.register(
            "reconcile_duration_seconds",
            "How long reconciles take",
            durations,
        );
        registry.register("tasks_ended", "Ended tasks by outcome or reason", jobs);
        registry.register(
            "own_status_changes",
            "Changes of tasks' status, which start no work",
            own_changes,
        );
        registry.register("watch_errors", "Watches and lists that failed", watch_errors);
        registry.register("status_patches", "Writes of tasks' status", status_patches);
        registry.register("queue_ready", "Items ready in the work queue", queued);
        registry.register("queue_active", "Items being reconciled", active);
        registry.register("queue_scheduled", "Items delayed in the work queue", scheduled);
        registry.register("jobs_running", "Concurrency slots in use", slots_taken);
        registry.register(
            "jobs_queued",
            "Tasks that wait for a concurrency slot",
            slots_waited_for,
        );
        registry.register("jobs_known", "Jobs in memory", jobs_known);
        registry.register("pods_known", "Pods in memory", pods_known);
        registry.register("leader", "1 on the leader", leader);
        registry.register(
            "leader_transitions",
            "How often this process became leader or lost leadership",
            transitions,
        );
        registry.register("start_time_seconds", "When the process was started", start);
        let mut text = String::new();
        // Writing to a String can't fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrape_shows_what_happened() {
        let metrics = Metrics::default();
        for line in [
            "solar_operator_reconciles_total{kind=\"RenderTask\"} 0",
            "solar_operator_reconcile_errors_total{kind=\"RenderTask\"} 0",
            "solar_operator_tasks_ended_total{kind=\"RenderTask\",outcome=\"AuthFailed\"} 0",
        ] {
            assert!(metrics.text().contains(line), "{line}: before the first");
        }
        metrics.reconciled(Scope::Cluster, Duration::from_millis(5), false);
        metrics.ended(Scope::Cluster, "created");
        metrics.leader.set(1);
        let text = metrics.text();
        for line in [
            "solar_operator_reconciles_total{kind=\"ClusterRenderTask\"} 1",
            "solar_operator_reconcile_errors_total{kind=\"ClusterRenderTask\"} 1",
            "solar_operator_tasks_ended_total{kind=\"ClusterRenderTask\",outcome=\"created\"} 1",
            "solar_operator_leader 1",
            "solar_operator_reconcile_duration_seconds_count 1",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert_eq!(metrics.reconcile_count(), 1);
        metrics.jobs_known.set(7);
        metrics.reset_gauges();
        assert!(metrics.text().contains("solar_operator_jobs_known 0"));
    }
}
