//! The status of a stack. Pure but for [`write`].

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::addon_name;
use super::conditions::{CHART_DOWNLOADED, reasons};
use super::select::Plan;
use super::stack::FullStack;
use crate::api::cluster_addons::{ClusterCounts, ClusterStackStatus};
use crate::runtime::conditions::{self, Finding, READY, STALLED, SUSPENDED, find, update};
use crate::runtime::events::{self, Notice};
use crate::runtime::views::Object;
use crate::runtime::{Action, Cx, Error, Key, ObjectState, status};

/// The condition that clusters are selected, and which are not the stack's.
const CLUSTERS_SELECTED: &str = "ClustersSelected";
/// The delay before a failed download is requeued.
const FAILED_INTERVAL: Duration = Duration::from_secs(30);

pub(super) const NEW: &str = "New";
pub(super) const READY_STATE: &str = "Ready";
pub(super) const PROGRESSING: &str = "Progressing";
pub(super) const STALLED_STATE: &str = "Stalled";

/// The state for metrics.
pub(super) fn state_of(conditions: &[Condition]) -> ObjectState<'static> {
    let name = if conditions.is_empty() {
        NEW
    } else if conditions::is(conditions, SUSPENDED, "True") {
        SUSPENDED
    } else if conditions::is(conditions, STALLED, "True") {
        STALLED_STATE
    } else if conditions::is(conditions, READY, "True") {
        READY_STATE
    } else {
        PROGRESSING
    };
    ObjectState {
        name,
        waiting: matches!(name, NEW | PROGRESSING),
    }
}

/// The conditions without those that are only there while they are true.
pub(super) fn without(conditions: &[Condition]) -> Vec<Condition> {
    let kept = conditions
        .iter()
        .filter(|one| ![STALLED, SUSPENDED].contains(&one.type_.as_str()));
    kept.cloned().collect()
}

/// Why there is no chart.
pub(super) struct NoChart {
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) is_stalled: bool,
    pub(super) requeue: Duration,
}

impl NoChart {
    pub(super) fn failed(message: String, is_stalled: bool) -> Self {
        Self {
            reason: reasons::DOWNLOAD_FAILED,
            message,
            is_stalled,
            requeue: FAILED_INTERVAL,
        }
    }

    pub(super) fn status(
        &self,
        known: &ClusterStackStatus,
        generation: Option<i64>,
        now: Timestamp,
    ) -> ClusterStackStatus {
        let finding = |kind, status| Finding {
            kind,
            status,
            reason: self.reason,
            message: self.message.clone(),
        };
        let mut findings = vec![finding(CHART_DOWNLOADED, "False"), finding(READY, "False")];
        if self.is_stalled {
            findings.push(finding(STALLED, "True"));
        }
        ClusterStackStatus {
            observed_generation: generation,
            conditions: update(&without(&known.conditions), &findings, generation, now),
            ..known.clone()
        }
    }
}

/// The conditions of a plan.
pub(super) fn findings_of(plan: &Plan) -> Vec<Finding<&'static str>> {
    let finding = |kind, status, reason, message: String| Finding {
        kind,
        status,
        reason,
        message,
    };
    let ClusterCounts {
        selected,
        up_to_date,
        ready,
        conflicting,
    } = plan.counts;
    let conflicts = plan
        .conflicting
        .iter()
        .map(|(cluster, stack)| format!("{cluster} belongs to the older stack {stack}"));
    let taken = plan.taken.iter().map(|cluster| {
        let name = addon_name(cluster);
        format!("{cluster}: the ClusterAddon {name} is not owned by the cluster")
    });
    let problems: Vec<String> = conflicts.chain(taken).collect();
    let selection = if problems.is_empty() {
        finding(
            CLUSTERS_SELECTED,
            "True",
            reasons::SUCCEEDED,
            format!("{selected} clusters are selected"),
        )
    } else {
        let reason = if conflicting > 0 {
            "Conflict"
        } else {
            "NameConflict"
        };
        finding(CLUSTERS_SELECTED, "False", reason, problems.join("; "))
    };
    let counts = format!("{ready} of {selected} clusters are ready, {up_to_date} are up to date");
    let ready = if ready == selected && plan.taken.is_empty() {
        finding(READY, "True", reasons::SUCCEEDED, counts)
    } else if plan.waiting.is_empty() {
        finding(READY, "False", "Progressing", counts)
    } else {
        let message = format!("{counts}; waiting for updatePolicy: {}", plan.waiting.join(", "));
        finding(READY, "False", reasons::WAITING_FOR_TURN, message)
    };
    let downloaded = finding(CHART_DOWNLOADED, "True", reasons::SUCCEEDED, String::new());
    vec![downloaded, selection, ready]
}

/// Writes the status, and publishes an event for each condition that has changed.
pub(super) async fn write(
    cx: &Cx,
    key: &Key,
    object: &Object<FullStack>,
    known: &ClusterStackStatus,
    next: &ClusterStackStatus,
    requeue: Option<Duration>,
) -> Result<Action, Error> {
    let version = object.metadata.resource_version.as_deref();
    let written = status::patch(cx, key, version, known, next).await?;
    if let Some(metadata) = written {
        let reason = |status: &ClusterStackStatus, kind: &str| {
            find(&status.conditions, kind).map(|one| (one.status.clone(), one.reason.clone()))
        };
        let mut notices = Vec::new();
        for kind in [CHART_DOWNLOADED, CLUSTERS_SELECTED] {
            let (before, after) = (reason(known, kind), reason(next, kind));
            let Some((status, _)) = after.as_ref().filter(|_| before != after) else {
                continue;
            };
            let message = find(&next.conditions, kind).map_or("", |one| one.message.as_str());
            notices.push(notice(kind, status == "False", message));
        }
        events::publish(cx, key, &metadata, notices).await;
    }
    Ok(requeue.map_or_else(Action::done, Action::requeue))
}

fn notice(kind: &'static str, is_false: bool, message: &str) -> Notice {
    let (reason, note) = match (kind, is_false) {
        (CHART_DOWNLOADED, false) => ("ChartResolved", "the chart is resolved and downloaded"),
        (CHART_DOWNLOADED, true) => ("ChartNotDownloaded", message),
        (_, false) => ("ClustersSelected", message),
        (_, true) => ("ClustersConflicting", message),
    };
    Notice {
        warning: is_false && kind == CLUSTERS_SELECTED,
        reason,
        action: "RollOut",
        note: note.to_owned(),
    }
}
