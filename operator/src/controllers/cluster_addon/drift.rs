//! Drift: the objects of a chart that is applied are compared with the cluster's, and those that differ are applied again.
//!
//! When a cluster was last compared is only remembered here: a status that changes every ten minutes would be a write for
//! each cluster without any news.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use sha2::{Digest as _, Sha256};
use solar_server_side_apply::{CONCURRENCY, ObjectKey, PreparedObject, comparable};

use super::apply::{self, entries};
use super::inventory;
use super::pass::{End, Pass};
use super::rollout::{self, Work};
use super::stage_run::{self, ReadyStage};
use super::stages::{self, StageKind};
use super::workload::{Workload, WorkloadError};
use crate::api::cluster_addons::{ClusterStackSpec, DriftDetection, ResourceStatus};
use crate::runtime::Error;

/// When the objects of each addon, by its UID, were last compared.
#[derive(Debug, Default)]
pub(super) struct DriftChecks(Mutex<BTreeMap<String, Timestamp>>);

impl DriftChecks {
    /// When it was last compared. One that this process hasn't compared yet counts as compared when it was applied; if
    /// that is long ago, at a time that spreads the checks of all clusters over the interval.
    fn last(
        &self,
        uid: &str,
        applied: Option<Timestamp>,
        (now, interval): (Timestamp, Duration),
    ) -> Timestamp {
        let mut checks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = |at: &Timestamp| now.duration_since(*at).unsigned_abs() < interval;
        *checks.entry(uid.to_owned()).or_insert_with(|| {
            applied.filter(recent).unwrap_or_else(|| {
                let early = interval.saturating_sub(spread(uid, interval));
                let early = SignedDuration::try_from(early).unwrap_or_default();
                now.checked_sub(early).unwrap_or(now)
            })
        })
    }

    /// It is compared with the cluster at this time.
    pub(super) fn record(&self, uid: &str, now: Timestamp) {
        let mut checks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        checks.insert(uid.to_owned(), now);
    }

    /// It is gone.
    pub(super) fn forget(&self, uid: &str) {
        let mut checks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        checks.remove(uid);
    }
}

/// A part of the interval that differs between addons.
fn spread(uid: &str, interval: Duration) -> Duration {
    let number = Sha256::digest(uid.as_bytes()).first().copied().unwrap_or(0);
    interval.mul_f64(f64::from(number) / 256.0)
}

/// How long the objects needn't be compared; `None`: they are compared now. What could not be applied is not waited for.
pub(super) fn remaining(pass: &Pass<'_>, stack: &ClusterStackSpec) -> Option<Duration> {
    if pass.known.resources.iter().any(|one| !one.synced) {
        return None;
    }
    let interval = pass.shared.settings.drift_interval;
    if stack.drift_detection == DriftDetection::Off {
        return Some(interval);
    }
    let applied = pass.known.last_applied.as_ref().and_then(|last| last.at.as_ref());
    let now = pass.cx.now();
    let applied = applied.map(|Time(at)| *at);
    let last = pass
        .shared
        .drift_checks
        .last(pass.uid(), applied, (now, interval));
    let age = now.duration_since(last).unsigned_abs();
    interval.checked_sub(age).filter(|left| !left.is_zero())
}

/// Compares the objects with the cluster's, and applies those that differ. What the chart renders by now depends on what
/// the cluster serves: objects that are new are applied, those that are gone are deleted.
pub(super) async fn check(
    pass: &mut Pass<'_>,
    workload: &mut Workload,
    work: &Work<'_>,
) -> Result<End, Error> {
    tracing::debug!("comparing the objects with the cluster's");
    // Until this one has succeeded, the next reconcile compares again.
    pass.shared.drift_checks.record(pass.uid(), Timestamp::UNIX_EPOCH);
    let own = pass.spec.stages.clone();
    let planned = stages::plan(&work.rendered.objects, &own, false);
    let ready = stage_run::prepare(pass, workload, work, planned, true);
    let desired = stage_run::desired(&ready, work, workload);
    let keys: Vec<ObjectKey> = desired.iter().map(|one| one.key.clone()).collect();
    pass.next.inventory = inventory::before(&pass.known.inventory, &keys);
    // A crash from here on loses no object.
    pass.write().await?;
    let kept = ready
        .iter()
        .filter(|stage| stage.is_kept() && stage.planned.kind == StageKind::Objects);
    let kept: Vec<&ReadyStage<'_>> = kept.collect();
    let objects: Vec<PreparedObject> = kept.iter().flat_map(|stage| stage.sent()).collect();
    let compared = match compare_all(workload, &objects).await {
        Ok(compared) => compared,
        Err(error) => return Ok(rollout::failed_request(&error)),
    };
    let outcomes = apply::apply(workload, &compared.to_apply).await;
    let mut resources: BTreeMap<ObjectKey, ResourceStatus> = BTreeMap::new();
    let known = pass.known.resources.iter();
    resources.extend(known.map(|one| (rollout::key_of(one), one.clone())));
    let same = objects
        .iter()
        .map(|one| (one.key.clone(), apply::resource(&one.key, None)));
    resources.extend(same);
    for outcome in &outcomes.resources {
        resources.insert(rollout::key_of(outcome), outcome.clone());
    }
    for (key, reason) in kept.iter().flat_map(|stage| &stage.unknown) {
        resources.insert(key.clone(), apply::resource(key, Some(reason.clone())));
    }
    let unknown = kept
        .iter()
        .flat_map(|stage| stage.unknown.iter().map(|(key, _)| key));
    let order = keys.iter().chain(unknown);
    pass.next.resources = rollout::listed(resources, order);
    if let Some(end) = rollout::failed(outcomes.unreachable.as_deref(), &pass.next.resources) {
        return Ok(end);
    }
    if !compared.differing.is_empty() {
        let names: Vec<String> = compared.differing.iter().map(ToString::to_string).collect();
        pass.notice(
            "DriftCorrected",
            format!("changed back: {}", rollout::named(&names)),
        );
    }
    if let Some(end) = rollout::prune(pass, workload, &keys, work.owner).await {
        return Ok(end);
    }
    pass.next.inventory = entries(&desired);
    pass.shared.drift_checks.record(pass.uid(), pass.cx.now());
    let interval = pass.shared.settings.drift_interval;
    Ok(End::Ready(rollout::message(pass), interval))
}

/// The result of a comparison.
#[derive(Debug, Default)]
struct Compared {
    /// In their order: what differs, and what could not be compared.
    to_apply: Vec<PreparedObject>,
    /// What is not in the cluster as the chart has it.
    differing: BTreeSet<ObjectKey>,
}

/// Compares objects with the cluster's, by applying them without effect.
async fn compare_all(workload: &Workload, objects: &[PreparedObject]) -> Result<Compared, WorkloadError> {
    let mut requests = Vec::new();
    for one in objects {
        requests.push(compare(workload, one).boxed());
    }
    let mut results = stream::iter(requests).buffered(CONCURRENCY);
    let mut compared = Compared::default();
    while let Some((one, result)) = results.next().await {
        match result {
            Ok(false) => continue,
            Ok(true) => {
                compared.differing.insert(one.key.clone());
            }
            Err(error @ WorkloadError::Unreachable(_)) => return Err(error),
            // Its kind has gone, or a webhook refuses dry runs: applying it mends that, or says why.
            Err(error) => tracing::debug!(%error, object = %one.key, "an object can't be compared"),
        }
        compared.to_apply.push(one.clone());
    }
    Ok(compared)
}

/// Whether the cluster has another object.
async fn compare<'o>(
    workload: &Workload,
    one: &'o PreparedObject,
) -> (&'o PreparedObject, Result<bool, WorkloadError>) {
    let differs = async {
        let Some(live) = workload.get(&one.object, &one.key).await? else {
            return Ok(true);
        };
        let would = workload.apply(&one.object, &one.key, true).await?;
        let value = |object| serde_json::to_value(object).unwrap_or_default();
        Ok(comparable(value(live)) != comparable(value(would)))
    };
    (one, differs.await)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a restart all clusters were once compared at the same moment.
    #[test]
    fn checks_are_an_interval_apart_and_spread_after_a_restart() {
        let checks = DriftChecks::default();
        let at = |second: i64| Timestamp::from_second(second).expect("a time");
        let interval = Duration::from_secs(600);
        let since = |uid: &str, applied: Option<i64>, now: i64| {
            let last = checks.last(uid, applied.map(at), (at(now), interval));
            now - last.as_second()
        };
        assert_eq!(since("fresh", Some(9_900), 10_000), 100);
        assert_eq!(since("fresh", Some(9_900), 10_050), 150);
        let ages: BTreeSet<i64> = (0..50)
            .map(|number| since(&format!("old-{number}"), Some(1), 10_000))
            .collect();
        assert!(
            ages.len() > 20 && ages.iter().all(|age| (0..=600).contains(age)),
            "{ages:?}"
        );
        checks.record("fresh", at(10_500));
        assert_eq!(since("fresh", Some(9_900), 10_500), 0);
        checks.forget("fresh");
        assert_eq!(since("fresh", Some(10_490), 10_500), 10);
    }
}
