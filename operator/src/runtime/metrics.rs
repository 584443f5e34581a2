//! Metrics in the Prometheus text format.
//!
//! A controller's module registers its own metrics ([`Metrics::extend`]). All series exist from the start: `increase()`
//! misses the first increment of a series that did not exist before.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::controllers::Census;
use super::key::KindId;
use super::process;

/// The prefix of all metric names.
const PREFIX: &str = "solar_operator";
/// The HTTP codes of errors of the API server; `none` means that it did not answer.
const ERROR_CODES: [&str; 14] = [
    "400", "401", "403", "404", "409", "410", "413", "422", "429", "500", "502", "503", "504", "none",
];

/// A label and its value.
pub type Labels = [(&'static str, String); 1];
/// Two labels.
pub type TwoLabels = [(&'static str, String); 2];
type Seconds = Gauge<f64, AtomicU64>;
type Extension = Arc<dyn Fn(&mut Registry) + Send + Sync>;

/// All metrics of the runtime; clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    reconciles: Family<Labels, Counter>,
    errors: Family<Labels, Counter>,
    durations: Histogram,
    status_modified: Counter,
    status_patches: Family<Labels, Counter>,
    objects: Family<TwoLabels, Gauge>,
    oldest_waiting: Family<Labels, Seconds>,
    watch_errors: Family<Labels, Counter>,
    watch_synced: Family<Labels, Seconds>,
    watches_failing: Family<Labels, Gauge>,
    api_errors: Family<Labels, Counter>,
    /// Keys in the queues.
    pub(super) queued: Gauge,
    /// Keys being reconciled.
    pub(super) active: Gauge,
    /// Keys that are scheduled for later.
    pub(super) scheduled: Gauge,
    /// 1 on the leader.
    pub leader: Gauge,
    /// How often this process became leader or lost leadership.
    pub transitions: Counter,
    start: Seconds,
    watched: Arc<Mutex<BTreeSet<KindId>>>,
    extensions: Extensions,
}

#[derive(Clone, Default)]
struct Extensions(Arc<Mutex<Vec<(&'static str, Extension)>>>);

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Extensions")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self {
            reconciles: Family::default(),
            errors: Family::default(),
            durations: Histogram::new(exponential_buckets(0.001, 2.0, 15)),
            status_modified: Counter::default(),
            status_patches: Family::default(),
            objects: Family::default(),
            oldest_waiting: Family::default(),
            watch_errors: Family::default(),
            watch_synced: Family::default(),
            watches_failing: Family::default(),
            api_errors: Family::default(),
            queued: Gauge::default(),
            active: Gauge::default(),
            scheduled: Gauge::default(),
            leader: Gauge::default(),
            transitions: Counter::default(),
            start: Gauge::default(),
            watched: Arc::default(),
            extensions: Extensions::default(),
        };
        for code in ERROR_CODES {
            drop(metrics.api_errors.get_or_create(&[("code", code.to_owned())]));
        }
        metrics
    }
}

impl Metrics {
    /// Adds the series of a reconciled kind, whose objects have these states.
    pub(super) fn add_kind(&self, kind: KindId, states: &[&str]) {
        self.add_watched(kind);
        drop(self.reconciles.get_or_create(&label(kind)));
        drop(self.errors.get_or_create(&label(kind)));
        drop(self.status_patches.get_or_create(&label(kind)));
        if !states.is_empty() {
            drop(self.oldest_waiting.get_or_create(&label(kind)));
        }
        for state in states {
            drop(self.objects.get_or_create(&state_label(kind, state)));
        }
    }

    /// Adds the series of a watched kind.
    pub(super) fn add_watched(&self, kind: KindId) {
        drop(self.watch_errors.get_or_create(&label(kind)));
        drop(self.watch_synced.get_or_create(&label(kind)));
        drop(self.watches_failing.get_or_create(&label(kind)));
        self.watched().insert(kind);
    }

    /// Adds metrics of a controller: `register` is called for each scrape. A later one of the same name replaces the
    /// earlier one.
    pub fn extend(&self, name: &'static str, register: impl Fn(&mut Registry) + Send + Sync + 'static) {
        let mut extensions = self.extensions();
        extensions.retain(|(old, _)| *old != name);
        extensions.push((name, Arc::new(register)));
    }

    /// Counts a finished reconcile.
    pub fn reconciled(&self, kind: KindId, took: Duration, succeeded: bool) {
        self.reconciles.get_or_create(&label(kind)).inc();
        if !succeeded {
            self.errors.get_or_create(&label(kind)).inc();
        }
        self.durations.observe(took.as_secs_f64());
    }

    /// Counts a change of an object's status alone, which starts no reconcile.
    pub(super) fn status_modified(&self, _kind: KindId) {
        self.status_modified.inc();
    }

    /// Counts a write of a status.
    pub(super) fn status_patched(&self, kind: KindId) {
        self.status_patches.get_or_create(&label(kind)).inc();
    }

    /// Counts a failed watch or list.
    pub(super) fn watch_failed(&self, kind: KindId) {
        self.watch_errors.get_or_create(&label(kind)).inc();
    }

    /// Records when a watch or a list last delivered an event.
    pub(super) fn watch_synced(&self, kind: KindId, at: Timestamp) {
        self.watch_synced.get_or_create(&label(kind)).set(seconds(at));
    }

    /// Sets the kinds whose watches are failing.
    pub(super) fn set_failing(&self, failing: &[KindId]) {
        for kind in self.watched().iter() {
            let fails = i64::from(failing.contains(kind));
            self.watches_failing.get_or_create(&label(*kind)).set(fails);
        }
    }

    /// Sets how many objects of a kind are in each state.
    pub(super) fn set_census(&self, kind: KindId, census: &Census, now: Timestamp) {
        for (state, count) in &census.states {
            let gauge = self.objects.get_or_create(&state_label(kind, state));
            gauge.set(number(*count));
        }
        let age = |since: Timestamp| now.duration_since(since).as_secs_f64().max(0.0);
        if !census.states.is_empty() {
            let oldest = self.oldest_waiting.get_or_create(&label(kind));
            oldest.set(census.oldest_waiting.map_or(0.0, age));
        }
    }

    /// Counts a request that the API server answered with an error, or did not answer (`None`).
    pub fn api_error(&self, code: Option<u16>) {
        let code = code.map_or("none".to_owned(), |code| code.to_string());
        self.api_errors.get_or_create(&[("code", code)]).inc();
    }

    /// The number of reconciles of these kinds.
    pub fn reconcile_count(&self, kinds: &[KindId]) -> u64 {
        let count = |kind: &KindId| self.reconciles.get_or_create(&label(*kind)).get();
        kinds.iter().map(count).sum()
    }

    /// Resets the gauges, when this process is not the leader any more.
    pub(super) fn reset_gauges(&self) {
        for gauge in [&self.queued, &self.active, &self.scheduled] {
            gauge.set(0);
        }
    }

    /// Sets when the process was started.
    pub(super) fn started(&self, at: Timestamp) {
        self.start.set(seconds(at));
    }

    /// The response to a scrape.
    pub fn text(&self) -> String {
        let mut registry = Registry::with_prefix(PREFIX);
        self.register(&mut registry);
        self.register_observed(&mut registry);
        for (_, register) in self.extensions().iter() {
            register(&mut registry);
        }
        let mut text = String::new();
        // Writing to a String can't fail.
        let _ = encode_registry(&mut text, &registry);
        let mut process = Registry::default();
        process::register(&mut process);
        let _ = encode_registry(&mut text, &process);
        let _ = encode_eof(&mut text);
        text
    }

    fn register(&self, registry: &mut Registry) {
        let Self {
            reconciles,
            errors,
            durations,
            status_modified,
            status_patches,
            objects: _,
            oldest_waiting: _,
            watch_errors: _,
            watch_synced: _,
            watches_failing: _,
            api_errors: _,
            queued,
            active,
            scheduled,
            leader,
            transitions,
            start,
            watched: _,
            extensions: _,
        } = self.clone();
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version of this program", version);
        registry.register("reconciles", "Reconciles by kind", reconciles);
        registry.register("reconcile_errors", "Reconciles that failed, by kind", errors);
        registry.register(
            "reconcile_duration_seconds",
            "How long reconciles take",
            durations,
        );
        registry.register(
            "own_status_changes",
            "Changes of status alone, which start no work",
            status_modified,
        );
        registry.register("status_patches", "Writes of status, by kind", status_patches);
        registry.register("queue_ready", "Items ready in the work queue", queued);
        registry.register("queue_active", "Items being reconciled", active);
        registry.register("queue_scheduled", "Items delayed in the work queue", scheduled);
        registry.register("leader", "1 on the leader", leader);
        registry.register(
            "leader_transitions",
            "How often this process became leader or lost leadership",
            transitions,
        );
        registry.register("start_time_seconds", "When the process was started", start);
    }

    /// Registers the metrics of watches, objects and the API server.
    fn register_observed(&self, registry: &mut Registry) {
        registry.register("objects", "Objects by kind and state", self.objects.clone());
        registry.register(
            "oldest_waiting_seconds",
            "Age of the oldest object that is queued or blocked, by kind",
            self.oldest_waiting.clone(),
        );
        registry.register(
            "watch_errors",
            "Watches and lists that failed, by kind",
            self.watch_errors.clone(),
        );
        registry.register(
            "watch_last_sync_timestamp_seconds",
            "When a watch or a list last showed something, by kind",
            self.watch_synced.clone(),
        );
        registry.register(
            "watches_failing",
            "1 while a watch of the kind fails",
            self.watches_failing.clone(),
        );
        registry.register(
            "api_errors",
            "Requests that the API server refused, by code; none: it did not answer",
            self.api_errors.clone(),
        );
    }

    fn watched(&self) -> MutexGuard<'_, BTreeSet<KindId>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn extensions(&self) -> MutexGuard<'_, Vec<(&'static str, Extension)>> {
        self.extensions.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A count as the value of a gauge.
pub fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn label(kind: KindId) -> Labels {
    [("kind", kind.kind.to_owned())]
}

fn state_label(kind: KindId, state: &str) -> TwoLabels {
    [("kind", kind.kind.to_owned()), ("state", state.to_owned())]
}

fn seconds(time: Timestamp) -> f64 {
    time.as_millisecond() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::test_kinds::LAMPS;

    fn shows(metrics: &Metrics, lines: &[&str]) {
        let text = metrics.text();
        for line in lines {
            let line = format!("{line}\n");
            assert!(text.contains(&line), "{line} in {text}");
        }
    }

    #[test]
    fn every_series_exists_from_the_start() {
        let metrics = Metrics::default();
        metrics.add_kind(LAMPS, &["On", "Off"]);
        shows(
            &metrics,
            &[
                "solar_operator_reconciles_total{kind=\"Lamp\"} 0",
                "solar_operator_reconcile_errors_total{kind=\"Lamp\"} 0",
                "solar_operator_status_patches_total{kind=\"Lamp\"} 0",
                "solar_operator_objects{kind=\"Lamp\",state=\"Off\"} 0",
                "solar_operator_oldest_waiting_seconds{kind=\"Lamp\"} 0.0",
                "solar_operator_watch_errors_total{kind=\"Lamp\"} 0",
                "solar_operator_watches_failing{kind=\"Lamp\"} 0",
                "solar_operator_api_errors_total{code=\"503\"} 0",
                "solar_operator_api_errors_total{code=\"none\"} 0",
                concat!(
                    "solar_operator_build_info{version=\"",
                    env!("CARGO_PKG_VERSION"),
                    "\"} 1"
                ),
            ],
        );
        let text = metrics.text();
        for name in [
            "process_cpu_seconds_total ",
            "process_resident_memory_bytes ",
            "process_open_fds ",
        ] {
            assert!(text.contains(&format!("\n{name}")), "{name} in {text}");
        }
        assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
    }

    #[test]
    fn a_scrape_shows_what_happened() {
        let metrics = Metrics::default();
        let at = |second| Timestamp::from_second(second).expect("a time");
        metrics.add_kind(LAMPS, &["On", "Off"]);
        metrics.reconciled(LAMPS, Duration::from_millis(5), false);
        metrics.leader.set(1);
        metrics.api_error(Some(503));
        metrics.api_error(None);
        metrics.watch_synced(LAMPS, at(7));
        metrics.set_failing(&[LAMPS]);
        let census = Census {
            states: [("Off".to_owned(), 3)].into(),
            oldest_waiting: Some(at(10)),
        };
        metrics.set_census(LAMPS, &census, at(70));
        metrics.queued.set(9);
        metrics.reset_gauges();
        let count = Counter::<u64>::default();
        count.inc();
        metrics.extend("lamps", move |registry| {
            registry.register("bulbs", "Bulbs", count.clone())
        });
        shows(
            &metrics,
            &[
                "solar_operator_reconciles_total{kind=\"Lamp\"} 1",
                "solar_operator_reconcile_errors_total{kind=\"Lamp\"} 1",
                "solar_operator_reconcile_duration_seconds_count 1",
                "solar_operator_leader 1",
                "solar_operator_api_errors_total{code=\"503\"} 1",
                "solar_operator_api_errors_total{code=\"none\"} 1",
                "solar_operator_watch_last_sync_timestamp_seconds{kind=\"Lamp\"} 7.0",
                "solar_operator_watches_failing{kind=\"Lamp\"} 1",
                "solar_operator_objects{kind=\"Lamp\",state=\"Off\"} 3",
                "solar_operator_oldest_waiting_seconds{kind=\"Lamp\"} 60.0",
                "solar_operator_queue_ready 0",
                "solar_operator_bulbs_total 1",
            ],
        );
        assert_eq!(metrics.reconcile_count(&[LAMPS]), 1);
    }
}
