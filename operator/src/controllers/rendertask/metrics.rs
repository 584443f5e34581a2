//! Metrics of ended tasks.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use crate::api::Scope;
use crate::runtime::Metrics;
use crate::runtime::metrics::TwoLabels;

/// The values of the label `outcome`: the renderer's outcomes, and the reasons of failures.
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

/// Counters of ended tasks; clones share them.
#[derive(Debug, Clone)]
pub struct TaskMetrics {
    ended: Family<TwoLabels, Counter>,
}

impl TaskMetrics {
    /// Counters of this process, from 0: they are kept over all its terms as leader.
    pub fn new(metrics: &Metrics) -> Self {
        let ended = Family::default();
        for scope in Scope::ALL {
            for outcome in OUTCOMES {
                drop(ended.get_or_create(&labels(scope, outcome)));
            }
        }
        let scraped = ended.clone();
        metrics.extend("tasks", move |registry| {
            registry.register("tasks_ended", "Ended tasks by outcome or reason", scraped.clone());
        });
        Self { ended }
    }

    /// Counts an ended task.
    pub(super) fn ended(&self, scope: Scope, outcome: &str) {
        self.ended.get_or_create(&labels(scope, outcome)).inc();
    }
}

fn labels(scope: Scope, outcome: &str) -> TwoLabels {
    [("kind", scope.kind().to_owned()), ("outcome", outcome.to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_counted_from_zero() {
        let metrics = Metrics::default();
        let tasks = TaskMetrics::new(&metrics);
        let line = "solar_operator_tasks_ended_total{kind=\"RenderTask\",outcome=\"AuthFailed\"}";
        assert!(metrics.text().contains(&format!("{line} 0")), "before the first");
        tasks.ended(Scope::Namespaced, "AuthFailed");
        assert!(
            metrics.text().contains(&format!("{line} 1")),
            "{}",
            metrics.text()
        );
    }
}
