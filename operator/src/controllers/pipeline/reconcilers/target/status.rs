//! The status of a Target: conditions, its Releases one by one, its last good bootstrap chart; and events.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::pace::Pace;
use crate::api::pipeline::{Target, TargetStatus};
use crate::controllers::pipeline::conditions::{self, Reason, TargetState, types};
use crate::controllers::pipeline::stored;
use crate::controllers::pipeline::target_plan::TargetPlan;
use crate::controllers::pipeline::target_status::reported;
use crate::controllers::pipeline::task_state::TaskState;
use crate::runtime::conditions::{ConditionReason as _, READY, find, merge, suspended};
use crate::runtime::events::{self, Notice};
use crate::runtime::{Action, Cx, Error, Key, status};

/// How old a Target is before its first status says that it has no ReleaseBindings: Profiles bind it meanwhile.
const FIRST_BINDINGS: Duration = Duration::from_secs(5);

/// Writes the status, when it has changed and needn't wait. Returns how long it must wait.
pub(super) async fn report(
    cx: &Cx,
    key: &Key,
    target: &Target,
    plan: &TargetPlan,
    pace: &Pace,
) -> Result<Option<Duration>, Error> {
    let known = target.status.clone().unwrap_or_default();
    let next = next(&known, plan, target.metadata.generation, cx.now());
    let wait = wait_for_bindings(target, &next, cx.now());
    if wait.is_some() {
        return Ok(wait);
    }
    let is_progress = is_progress(&known, &next);
    let wait = pace.wait_for_progress(key);
    if wait.is_some() && is_progress && known != next {
        return Ok(wait);
    }
    let version = target.metadata.resource_version.as_deref();
    let written = status::patch(cx, key, version, &known, &next).await?;
    if written.is_some() {
        pace.reported(key, is_progress);
        let notices: Vec<Notice> = notice(&known, &next).into_iter().collect();
        events::publish(cx, key, &target.metadata, notices).await;
    }
    Ok(None)
}

/// How long a new Target without ReleaseBindings must wait for its first status.
fn wait_for_bindings(target: &Target, next: &TargetStatus, now: Timestamp) -> Option<Duration> {
    let created = target.metadata.creation_timestamp.as_ref()?;
    let is_unbound = |ready: &Condition| ready.reason == Reason::NoReleaseBindings.name();
    let is_waiting = target.status.is_none() && find(&next.conditions, READY).is_some_and(is_unbound);
    let age = now
        .duration_since(created.0)
        .max(SignedDuration::ZERO)
        .unsigned_abs();
    let left = FIRST_BINDINGS.saturating_sub(age);
    (is_waiting && !left.is_zero()).then_some(left)
}

/// Writes that a Target is suspended; the rest of its status stays.
pub(super) async fn suspend(cx: &Cx, key: &Key, target: &Target) -> Result<Action, Error> {
    stored::report(cx, key, target, |known, generation| TargetStatus {
        conditions: suspended(&known.conditions, generation, cx.now()),
        ..known.clone()
    })
    .await
}

/// Whether two statuses of a Target that waits for nobody only differ in how far its charts are: in the states of its
/// Releases and of the bootstrap chart, of which none has failed, and in what is said of them. The number of the
/// bootstrap chart needn't be written either: its RenderTask has it.
fn is_progress(known: &TargetStatus, next: &TargetStatus) -> bool {
    let is_pending = |condition: &Condition| condition.reason == Reason::Pending.name();
    find(&next.conditions, READY).is_some_and(is_pending) && outline(known) == outline(next)
}

/// A status without what only says how far the charts are.
fn outline(status: &TargetStatus) -> TargetStatus {
    let charts = [types::RELEASES_RENDERED, types::BOOTSTRAP_READY];
    let on_their_way = [Reason::Pending, Reason::AllRendered].map(Reason::name);
    let conditions = status
        .conditions
        .iter()
        .filter(|one| !(charts.contains(&one.type_.as_str()) && on_their_way.contains(&one.reason.as_str())));
    let conditions = conditions.cloned().map(|condition| Condition {
        message: match condition.reason.as_str() {
            reason if reason == Reason::Pending.name() || reason == Reason::NoConflicts.name() => {
                String::new()
            }
            _ => condition.message,
        },
        ..condition
    });
    TargetStatus {
        conditions: conditions.collect(),
        releases: Vec::new(),
        bootstrap_version: None,
        bootstrap_input: None,
        ..status.clone()
    }
}

fn next(known: &TargetStatus, plan: &TargetPlan, generation: Option<i64>, now: Timestamp) -> TargetStatus {
    let bootstrap = plan.bootstrap.as_ref();
    let findings = conditions::target(&TargetState {
        registry: plan.registry.clone(),
        releases: &plan.releases,
        signing: plan.signing.as_ref(),
        bootstrap: bootstrap.map(|bootstrap| bootstrap.progress.clone()),
    });
    let mut next = TargetStatus {
        observed_generation: generation,
        conditions: merge(&known.conditions, &findings, generation, now),
        releases: reported(&plan.releases),
        ..known.clone()
    };
    // They stay when signing is switched off: clusters know them.
    if let Some(signing) = &plan.signing {
        next.signing = Some(signing.keys.clone());
    }
    let Some(bootstrap) = bootstrap else {
        return next;
    };
    if let Some((number, input)) = &bootstrap.version {
        next.bootstrap_version = Some(*number);
        next.bootstrap_input = Some(input.clone());
    }
    // The last good one is kept until this one is ready.
    if let Ok(progress) = &bootstrap.progress
        && let TaskState::Rendered { chart_url, digest } = &progress.state
    {
        next.bootstrap_chart_url = Some(chart_url.clone());
        next.bootstrap_digest.clone_from(digest);
    }
    next
}

/// An event for each new reason of Ready, and for each new chart.
fn notice(known: &TargetStatus, next: &TargetStatus) -> Option<Notice> {
    let ready = find(&next.conditions, READY)?;
    let before = find(&known.conditions, READY);
    let is_same = before.is_some_and(|before| before.status == ready.status && before.reason == ready.reason);
    if is_same && known.bootstrap_chart_url == next.bootstrap_chart_url {
        return None;
    }
    tracing::info!(
        ready = ready.status,
        reason = ready.reason,
        version = next.bootstrap_version,
        message = ready.message,
        "state changed"
    );
    let (warning, reason) = match ready.status.as_str() {
        "True" => (false, "BootstrapReady"),
        "False" => (true, "NotReady"),
        _ => return None,
    };
    Some(Notice {
        warning,
        reason,
        action: "Render",
        note: format!("{}: {}", ready.reason, ready.message),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::pipeline::ObjectKey;
    use crate::controllers::pipeline::conditions::{Bootstrap, Reference};
    use crate::controllers::pipeline::release_task::PlanError;
    use crate::controllers::pipeline::target_plan::PlannedBootstrap;
    use crate::controllers::pipeline::target_status::Progress;
    use crate::controllers::pipeline::target_status::tests::{bound, pushed, task};
    use crate::controllers::pipeline::test_objects::object;
    use serde_json::json;

    fn plan(number: i64, progress: Result<TaskState, PlanError>) -> TargetPlan {
        let key = ObjectKey::new("system", "render-tgt-edge");
        TargetPlan {
            registry: Reference::Resolved(ObjectKey::new("system", "charts")),
            releases: vec![bound("a", task("a", pushed()))],
            create: Vec::new(),
            signing: None,
            bootstrap: Some(PlannedBootstrap {
                version: Some((number, format!("input-{number}"))),
                progress: progress.map(|state| Bootstrap { task: key, state }),
            }),
        }
    }

    fn after(known: &TargetStatus, plan: &TargetPlan) -> TargetStatus {
        next(known, plan, Some(1), Timestamp::UNIX_EPOCH)
    }

    fn rendered(url: &str) -> TaskState {
        TaskState::Rendered {
            chart_url: url.into(),
            digest: None,
        }
    }

    #[test]
    fn the_last_good_bootstrap_is_kept_until_the_next_one_is_ready() {
        let pending = TaskState::Pending { message: "m".into() };
        let first = after(&TargetStatus::default(), &plan(1, Ok(rendered("one"))));
        assert_eq!(first.bootstrap_chart_url.as_deref(), Some("one"));
        let second = after(&first, &plan(2, Ok(pending.clone())));
        assert_eq!(second.bootstrap_version, Some(2));
        assert_eq!(second.bootstrap_input.as_deref(), Some("input-2"));
        assert_eq!(second.bootstrap_chart_url.as_deref(), Some("one"));
        let third = after(&second, &plan(2, Ok(rendered("two"))));
        assert_eq!(third.bootstrap_chart_url.as_deref(), Some("two"));
        // There is no bootstrap chart in the plan while Releases are missing.
        let without = TargetPlan {
            bootstrap: None,
            ..plan(2, Ok(pending))
        };
        let kept = after(&third, &without);
        assert_eq!(
            (kept.bootstrap_version, &kept.bootstrap_chart_url),
            (Some(2), &third.bootstrap_chart_url)
        );
        assert!(find(&kept.conditions, "BootstrapReady").is_none());
    }

    fn pending(text: &str) -> TaskState {
        TaskState::Pending { message: text.into() }
    }

    /// The first status of a Target whose Releases are so far.
    fn of(progress: Vec<Progress>) -> TargetStatus {
        let releases = progress.into_iter().enumerate();
        let releases = releases.map(|(index, one)| bound(&index.to_string(), one));
        let plan = TargetPlan {
            releases: releases.collect(),
            bootstrap: None,
            ..plan(1, Ok(pushed()))
        };
        after(&TargetStatus::default(), &plan)
    }

    /// The same, by the states of their tasks.
    fn in_states(states: &[TaskState]) -> TargetStatus {
        of(states.iter().map(|state| task("a", state.clone())).collect())
    }

    /// Every step of each of its tasks was once written.
    #[test]
    fn the_progress_of_releases_and_of_the_bootstrap_chart_may_wait() {
        let queued = pending("Queued");
        let waiting = in_states(&[queued.clone(), queued.clone()]);
        let rendered = in_states(&[pushed(), pushed()]);
        let bootstrap = |state: &TaskState| after(&rendered, &plan(1, Ok(state.clone())));
        let table = [
            (&waiting, in_states(&[queued.clone(), pending("JobScheduled")])),
            (&waiting, in_states(&[pushed(), queued.clone()])),
            (&waiting, in_states(std::slice::from_ref(&queued))),
            (&waiting, in_states(&vec![queued.clone(); 3])),
            (&bootstrap(&queued), bootstrap(&pending("JobScheduled"))),
            // The bootstrap chart begins, and begins anew.
            (&waiting, after(&rendered, &plan(1, Ok(queued.clone())))),
            (
                &bootstrap(&queued),
                after(&rendered, &plan(2, Ok(queued.clone()))),
            ),
        ];
        for (known, next) in table {
            assert_ne!(*known, next);
            assert!(is_progress(known, &next), "{next:#?}");
        }
    }

    #[test]
    fn anything_else_is_written_at_once() {
        let failed = || TaskState::Failed {
            reason: "AuthFailed".into(),
            message: "m".into(),
        };
        let filtered = Progress::Filtered { message: "f".into() };
        let missing = Progress::Missing { message: "m".into() };
        let queued = || pending("Queued");
        let waiting = in_states(&[queued(), queued()]);
        let one_failed = in_states(&[failed(), queued()]);
        let rendered = in_states(&[pushed(), pushed()]);
        let bootstrap = |number| after(&rendered, &plan(number, Ok(queued())));
        let newer = TargetStatus {
            observed_generation: Some(2),
            ..waiting.clone()
        };
        let table = [
            ("the first status", TargetStatus::default(), waiting.clone()),
            ("another spec", waiting.clone(), newer),
            ("a failure", waiting.clone(), one_failed.clone()),
            (
                "another failure",
                one_failed.clone(),
                in_states(&[failed(), failed()]),
            ),
            ("no failure", one_failed, waiting.clone()),
            (
                "a filtered Release",
                waiting.clone(),
                of(vec![task("a", queued()), filtered]),
            ),
            (
                "a missing one",
                waiting.clone(),
                of(vec![task("a", queued()), missing]),
            ),
            (
                "a change",
                after(&bootstrap(1), &plan(1, Ok(pushed()))),
                bootstrap(2),
            ),
            ("the end", bootstrap(1), after(&rendered, &plan(1, Ok(pushed())))),
        ];
        for (what, known, next) in table {
            assert!(!is_progress(&known, &next), "{what}");
        }
    }

    #[test]
    fn a_new_target_has_time_to_be_bound_before_it_reports_that_it_is_not() {
        let mut target: Target = object(json!({
            "metadata": {"name": "edge", "namespace": "tenant", "creationTimestamp": "1970-01-01T00:01:00Z"},
            "spec": {"renderRegistryRef": {"name": "charts"}},
        }));
        let wait = |target: &Target, next: &TargetStatus, second| {
            let now = Timestamp::from_second(second).expect("a time");
            wait_for_bindings(target, next, now).map(|wait| wait.as_secs())
        };
        let unbound = of(Vec::new());
        for (second, left) in [(60, Some(5)), (64, Some(1)), (65, None), (1, Some(5))] {
            assert_eq!(wait(&target, &unbound, second), left, "{second}");
        }
        assert_eq!(wait(&target, &in_states(&[pending("Queued")]), 60), None);
        target.status = Some(TargetStatus::default());
        assert_eq!(wait(&target, &unbound, 60), None, "it was bound before");
    }

    #[test]
    fn a_new_reason_or_chart_is_an_event_and_nothing_else() {
        let pending = TaskState::Pending { message: "m".into() };
        let before = TargetStatus::default();
        let waiting = after(&before, &plan(1, Ok(pending)));
        assert_eq!(notice(&before, &waiting), None);
        let ready = after(&waiting, &plan(1, Ok(rendered("one"))));
        let reason = |known: &TargetStatus, next: &TargetStatus| {
            notice(known, next).map(|one| (one.reason, one.warning))
        };
        assert_eq!(reason(&waiting, &ready), Some(("BootstrapReady", false)));
        assert_eq!(reason(&ready, &ready), None);
        assert_eq!(
            reason(&ready, &after(&ready, &plan(2, Ok(rendered("two"))))),
            Some(("BootstrapReady", false))
        );
        let error = PlanError::PathTooLong {
            repository: String::new(),
        };
        assert_eq!(
            reason(&ready, &after(&ready, &plan(2, Err(error)))),
            Some(("NotReady", true))
        );
    }
}
