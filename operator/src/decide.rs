//! What is to be done about a task: a pure function of the task, its Job, its push Secret, and the
//! time.
//!
//! It is idempotent: whatever was done before a crash is seen in the next look, by UIDs, and
//! nothing is done twice that may not be.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt as _;

use crate::api::{RUN_ANNOTATION, Run, Task, TaskStatus};
use crate::conditions::{self, Reason, kinds};
use crate::observe::{Ended, JobView, ended};

/// How many vanished Jobs end a task.
pub const MAX_LOST_JOBS: u32 = 3;
/// How often the push Secret of a task that failed with AuthFailed is looked at.
pub const ROTATION_INTERVAL: Duration = Duration::from_secs(300);
/// How soon to look again at what is being deleted; its end wakes the task before.
const DELETION_INTERVAL: Duration = Duration::from_secs(10);

/// The task's own Job, as far as it is there.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundJob {
    /// What it looks like; after its deletion, how it last did.
    pub view: JobView,
    /// It has been deleted, and its end was seen.
    pub gone: bool,
    /// A watch shows it, and so will its end; else it was looked up.
    pub watched: bool,
    /// The run that it was made for, as it says itself.
    pub run: Option<Run>,
}

impl FoundJob {
    /// A Job that is there.
    pub fn new(job: &Job, watched: bool) -> Self {
        let run = job.annotations().get(RUN_ANNOTATION);
        Self {
            view: JobView::from(job),
            gone: false,
            watched,
            // Of a Job that somebody has edited, or an older operator has made, it is not known.
            run: run.and_then(|text| serde_json::from_str(text).ok()),
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing but to look again, maybe.
    Rest(Option<Duration>),
    /// Its end is recorded: what is left of it goes.
    CleanUp {
        /// The Job is still there.
        job: bool,
    },
    /// Its Job is there: what became of it is recorded.
    Record(Run),
    /// It is to run again: the Job of the last run goes first.
    Discard,
    /// A Job is made.
    Start(Run),
    /// Its Jobs vanish: it has failed.
    GiveUp(Run),
    /// Its Job was complete and is gone before a digest showed: none will.
    Settle,
}

/// Whether a decision needs to know the push Secret.
pub fn looks_at_push_secret(task: &Task, job: Option<&FoundJob>) -> bool {
    if task.spec.push_secret_ref.is_none() {
        return false;
    }
    let status = task.status.as_ref();
    let conditions = status.map_or(&[][..], |status| &status.conditions);
    match ended(conditions) {
        None => job.is_none(),
        Some(Ended::Succeeded) => false,
        Some(Ended::Failed(reason)) => {
            let run = status.and_then(|status| status.run.as_ref());
            let asked = task.retry() != run.and_then(|run| run.retry.as_deref());
            asked || reason == Reason::AuthFailed.as_str()
        }
    }
}

/// Decides. `push_version` is the push Secret's resourceVersion, where it is there and was looked at.
pub fn decide(task: &Task, job: Option<&FoundJob>, push_version: Option<&str>, now: Timestamp) -> Decision {
    let status = task.known();
    match ended(&status.conditions) {
        Some(Ended::Succeeded) => after_success(&status, job),
        Some(Ended::Failed(reason)) => {
            let rotates = reason == Reason::AuthFailed.as_str();
            match next_run(task, &status, rotates, push_version, now) {
                Some(run) => again(&status, job, run),
                None => after_failure(task, &status, rotates, now),
            }
        }
        None => unfinished(task, &status, job, push_version),
    }
}

fn after_success(status: &TaskStatus, job: Option<&FoundJob>) -> Decision {
    let job = job.is_some_and(|job| !job.gone && !job.view.deleting);
    if job || status.config_secret_ref.is_some() {
        Decision::CleanUp { job }
    } else {
        Decision::Rest(None)
    }
}

/// The run that a failed task gets because somebody asked, or because its credentials have changed.
fn next_run(
    task: &Task,
    status: &TaskStatus,
    rotates: bool,
    push_version: Option<&str>,
    now: Timestamp,
) -> Option<Run> {
    let run = status.run.clone().unwrap_or_default();
    let next = |after_rotation| Run {
        retry: task.retry().map(str::to_owned),
        push_secret_version: push_version.map(str::to_owned),
        after_rotation,
        lost_jobs: 0,
    };
    if task.retry().is_some() && task.retry() != run.retry.as_deref() {
        return Some(next(false));
    }
    // What it was when the Job was made is unknown after some crashes: then nothing has changed.
    let known = run.push_secret_version.as_deref();
    let changed = push_version.is_some() && known.is_some() && push_version != known;
    let may = rotates && !run.after_rotation && expiry(task, status) > now;
    (may && changed).then(|| next(true))
}

fn again(status: &TaskStatus, job: Option<&FoundJob>, run: Run) -> Decision {
    let Some(job) = job.filter(|job| !job.gone) else {
        return Decision::Start(run);
    };
    let of_last_run = status.job_ref.as_ref().is_none_or(|old| old.uid == job.view.uid);
    match (of_last_run, job.view.deleting) {
        (_, true) => Decision::Rest(Some(DELETION_INTERVAL)),
        (true, false) => Decision::Discard,
        // It was made for a newer run, and then the operator went away.
        (false, false) => Decision::Record(job.run.clone().unwrap_or(run)),
    }
}

fn after_failure(task: &Task, status: &TaskStatus, rotates: bool, now: Timestamp) -> Decision {
    let kept = status.config_secret_ref.is_some();
    let left = expiry(task, status).duration_since(now);
    if left <= SignedDuration::ZERO {
        return if kept {
            Decision::CleanUp { job: false }
        } else {
            Decision::Rest(None)
        };
    }
    let left = left.unsigned_abs();
    let used = status.run.as_ref().is_some_and(|run| run.after_rotation);
    Decision::Rest(if rotates && !used {
        Some(left.min(ROTATION_INTERVAL))
    } else {
        kept.then_some(left)
    })
}

/// When a failed task's Secret goes.
fn expiry(task: &Task, status: &TaskStatus) -> Timestamp {
    let ended = status
        .completion_time
        .as_ref()
        .map_or(Timestamp::MIN, |time| time.0);
    let ttl = SignedDuration::from_secs(task.spec.failed_job_ttl.into());
    ended.saturating_add(ttl).unwrap_or(Timestamp::MAX)
}

fn unfinished(
    task: &Task,
    status: &TaskStatus,
    job: Option<&FoundJob>,
    push_version: Option<&str>,
) -> Decision {
    let mut run = status.run.clone().unwrap_or_default();
    let known = status.job_ref.as_ref().map(|job| job.uid.as_str());
    // A Job that ended before it went counts as if it were there, but for one of an earlier run.
    let counts = |job: &&FoundJob| {
        let earlier = known.is_some_and(|uid| uid != job.view.uid);
        !job.gone || (job.view.end.is_some() && !earlier)
    };
    let Some(job) = job.filter(counts) else {
        run.push_secret_version = push_version.map(str::to_owned);
        // The next Job answers whatever was asked for before it is made.
        run.retry = task.retry().map(str::to_owned);
        if known.is_none() {
            return Decision::Start(run);
        }
        if conditions::is(&status.conditions, kinds::JOB_SUCCEEDED, "True") {
            return Decision::Settle;
        }
        run.lost_jobs = run.lost_jobs.saturating_add(1);
        return if run.lost_jobs >= MAX_LOST_JOBS {
            Decision::GiveUp(run)
        } else {
            Decision::Start(run)
        };
    };
    if job.view.deleting && job.view.end.is_none() {
        return Decision::Rest(Some(DELETION_INTERVAL));
    }
    if known == Some(job.view.uid.as_str()) {
        return Decision::Record(run);
    }
    // It was made, and then the operator went away before it could say so.
    Decision::Record(job.run.clone().unwrap_or_else(|| {
        // One that is known was lost before.
        run.lost_jobs = run.lost_jobs.saturating_add(u32::from(known.is_some()));
        run.retry = task.retry().map(str::to_owned);
        run
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{OwnedReference, RETRY_ANNOTATION};
    use crate::conditions::{State, merge};
    use crate::observe::JobEnd;
    use crate::tests::task;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn job(uid: &str) -> FoundJob {
        let view = JobView {
            namespace: "tenant".into(),
            name: "render-shop".into(),
            uid: uid.into(),
            created: Some(at(10)),
            deleting: false,
            active: 1,
            succeeded: 0,
            failed: 0,
            started: Some(at(10)),
            end: None,
            refusal: None,
            suspended: false,
        };
        FoundJob {
            view,
            gone: false,
            watched: true,
            run: None,
        }
    }

    fn reference(uid: &str) -> Option<OwnedReference> {
        Some(OwnedReference {
            namespace: "tenant".into(),
            name: "render-shop".into(),
            uid: uid.into(),
        })
    }

    /// A task that ended at second 100 and keeps its Secret.
    fn ended_task(state: &State) -> Task {
        let mut task = task();
        task.status = Some(TaskStatus {
            conditions: merge(&[], &state.findings(), Some(1), at(100)),
            job_ref: reference("job-1"),
            config_secret_ref: reference("secret-1"),
            completion_time: Some(Time(at(100))),
            run: Some(Run {
                push_secret_version: Some("7".into()),
                ..Run::default()
            }),
            ..TaskStatus::default()
        });
        task
    }

    fn failed(reason: Reason) -> Task {
        ended_task(&State::Failed {
            reason,
            message: "m".into(),
        })
    }

    fn running(lost_jobs: u32) -> Task {
        let mut task = ended_task(&State::Scheduled { message: "m".into() });
        let status = task.status.as_mut().expect("a status");
        status.run = Some(Run {
            lost_jobs,
            ..Run::default()
        });
        task
    }

    fn ask(task: &mut Task, value: &str) {
        task.metadata.annotations = Some([(RETRY_ANNOTATION.into(), value.into())].into());
    }

    fn status(task: &mut Task) -> &mut TaskStatus {
        task.status.as_mut().expect("a status")
    }

    #[test]
    fn a_new_task_starts_and_answers_the_retry_it_came_with() {
        assert_eq!(
            decide(&task(), None, None, at(1)),
            Decision::Start(Run::default())
        );
        let mut asked = task();
        ask(&mut asked, "1");
        let expected = Run {
            retry: Some("1".into()),
            push_secret_version: Some("5".into()),
            ..Run::default()
        };
        assert_eq!(decide(&asked, None, Some("5"), at(1)), Decision::Start(expected));
    }

    #[test]
    fn a_job_that_is_there_is_recorded() {
        assert_eq!(
            decide(&task(), Some(&job("job-1")), None, at(1)),
            Decision::Record(Run::default())
        );
    }

    #[test]
    fn a_success_is_cleaned_up_once() {
        let mut done = ended_task(&State::Succeeded { message: "m".into() });
        assert_eq!(
            decide(&done, Some(&job("job-1")), None, at(200)),
            Decision::CleanUp { job: true }
        );
        assert_eq!(
            decide(&done, None, None, at(200)),
            Decision::CleanUp { job: false }
        );
        status(&mut done).config_secret_ref = None;
        assert_eq!(
            decide(&done, Some(&job("job-1")), None, at(200)),
            Decision::CleanUp { job: true }
        );
        assert_eq!(decide(&done, None, None, at(200)), Decision::Rest(None));
        ask(&mut done, "again");
        assert_eq!(
            decide(&done, None, None, at(200)),
            Decision::Rest(None),
            "a success is final"
        );
    }

    #[test]
    fn a_digest_that_may_still_show_is_no_end() {
        let waiting = ended_task(&State::AwaitingDigest);
        assert!(matches!(
            decide(&waiting, Some(&job("job-1")), None, at(101)),
            Decision::Record(_)
        ));
        assert_eq!(
            decide(&waiting, None, None, at(101)),
            Decision::Settle,
            "and no loss"
        );
        let without = ended_task(&State::WithoutDigest);
        assert_eq!(
            decide(&without, Some(&job("job-1")), None, at(200)),
            Decision::CleanUp { job: true }
        );
    }

    #[test]
    fn a_failure_stays_when_its_job_is_gone() {
        let task = failed(Reason::Conflict);
        assert_eq!(
            decide(&task, None, None, at(200)),
            Decision::Rest(Some(Duration::from_secs(3500)))
        );
    }

    #[test]
    fn a_failed_tasks_secret_goes_once_when_its_time_has_come() {
        let mut task = failed(Reason::Conflict);
        assert_eq!(
            decide(&task, None, None, at(3700)),
            Decision::CleanUp { job: false }
        );
        status(&mut task).config_secret_ref = None;
        assert_eq!(decide(&task, None, None, at(9999)), Decision::Rest(None));
    }

    #[test]
    fn each_new_value_of_the_annotation_is_one_retry() {
        let mut task = failed(Reason::Conflict);
        ask(&mut task, "1");
        let run = Run {
            retry: Some("1".into()),
            ..Run::default()
        };
        assert_eq!(
            decide(&task, Some(&job("job-1")), None, at(200)),
            Decision::Discard
        );
        assert_eq!(decide(&task, None, None, at(200)), Decision::Start(run.clone()));
        // Made for this run already, by somebody who went away.
        assert_eq!(
            decide(&task, Some(&job("job-2")), None, at(200)),
            Decision::Record(run.clone())
        );
        status(&mut task).run = Some(run);
        assert!(matches!(decide(&task, None, None, at(200)), Decision::Rest(_)));
        ask(&mut task, "2");
        assert!(
            matches!(decide(&task, None, None, at(9999)), Decision::Start(_)),
            "even after the TTL"
        );
    }

    #[test]
    fn a_retry_waits_for_the_old_job_to_go() {
        let mut task = failed(Reason::Conflict);
        ask(&mut task, "1");
        let mut old = job("job-1");
        old.view.deleting = true;
        assert!(matches!(
            decide(&task, Some(&old), None, at(200)),
            Decision::Rest(Some(_))
        ));
        old.gone = true;
        assert!(matches!(
            decide(&task, Some(&old), None, at(200)),
            Decision::Start(_)
        ));
    }

    #[test]
    fn refused_credentials_are_tried_again_once_when_they_change() {
        let mut task = failed(Reason::AuthFailed);
        let look = |task: &Task, version| decide(task, None, version, at(200));
        assert_eq!(
            look(&task, Some("7")),
            Decision::Rest(Some(ROTATION_INTERVAL)),
            "the same"
        );
        assert_eq!(
            look(&task, None),
            Decision::Rest(Some(ROTATION_INTERVAL)),
            "not there"
        );
        let Decision::Start(run) = look(&task, Some("8")) else {
            panic!("{:?}", look(&task, Some("8")));
        };
        assert!(run.after_rotation);
        status(&mut task).run = Some(run);
        assert!(matches!(look(&task, Some("9")), Decision::Rest(_)), "once");
        let conflict = failed(Reason::Conflict);
        assert!(
            matches!(look(&conflict, Some("8")), Decision::Rest(_)),
            "another failure"
        );
        let task = failed(Reason::AuthFailed);
        let late = decide(&task, None, Some("8"), at(3701));
        assert_eq!(late, Decision::CleanUp { job: false }, "within failedJobTTL");
    }

    #[test]
    fn a_lost_job_is_made_again_twice() {
        let lost = |lost_jobs| decide(&running(lost_jobs), None, None, at(200));
        assert!(matches!(lost(0), Decision::Start(Run { lost_jobs: 1, .. })));
        assert!(matches!(lost(1), Decision::Start(Run { lost_jobs: 2, .. })));
        assert!(matches!(lost(2), Decision::GiveUp(Run { lost_jobs: 3, .. })));
    }

    /// A push Secret that was rotated after a crash once started no run: nobody knew what it had been before.
    #[test]
    fn a_job_that_no_status_tells_of_tells_its_run_itself() {
        let run = Run {
            retry: Some("1".into()),
            push_secret_version: Some("5".into()),
            after_rotation: true,
            lost_jobs: 1,
        };
        let mut made = job("job-2");
        made.run = Some(run.clone());
        let recorded = Decision::Record(run);
        assert_eq!(decide(&task(), Some(&made), Some("6"), at(1)), recorded);
        assert_eq!(decide(&running(0), Some(&made), None, at(200)), recorded);
        let mut asked = failed(Reason::Conflict);
        ask(&mut asked, "2");
        assert_eq!(decide(&asked, Some(&made), None, at(200)), recorded);
        // What a status tells of is true of it, whatever somebody writes on the Job.
        made.view.uid = "job-1".into();
        let known = decide(&running(0), Some(&made), None, at(200));
        assert_eq!(known, Decision::Record(Run::default()));
    }

    #[test]
    fn a_job_answers_what_was_asked_before_it_is_made() {
        let mut waiting = task();
        waiting.status = Some(TaskStatus {
            run: Some(Run {
                retry: Some("1".into()),
                ..Run::default()
            }),
            ..TaskStatus::default()
        });
        ask(&mut waiting, "2");
        let decision = decide(&waiting, None, None, at(1));
        assert!(matches!(decision, Decision::Start(Run { retry: Some(value), .. }) if value == "2"));
    }

    #[test]
    fn an_earlier_runs_end_is_not_this_ones() {
        let mut old = job("job-0");
        old.gone = true;
        old.view.end = Some(JobEnd {
            complete: false,
            reason: String::new(),
            message: String::new(),
            at: Some(at(150)),
        });
        let lost = decide(&running(0), Some(&old), None, at(200));
        assert!(matches!(lost, Decision::Start(Run { lost_jobs: 1, .. })));
    }

    #[test]
    fn a_rotation_is_looked_for_even_when_the_config_secret_is_gone() {
        let mut task = failed(Reason::AuthFailed);
        status(&mut task).config_secret_ref = None;
        assert_eq!(
            decide(&task, None, Some("7"), at(200)),
            Decision::Rest(Some(ROTATION_INTERVAL))
        );
        assert_eq!(decide(&task, None, Some("7"), at(3701)), Decision::Rest(None));
    }

    #[test]
    fn a_loss_is_counted_when_the_operator_went_away_in_between() {
        let decision = decide(&running(0), Some(&job("job-2")), None, at(200));
        assert!(matches!(decision, Decision::Record(Run { lost_jobs: 1, .. })));
    }

    #[test]
    fn a_job_that_ended_and_was_collected_is_no_loss() {
        let mut gone = job("job-1");
        gone.gone = true;
        assert!(
            matches!(
                decide(&running(0), Some(&gone), None, at(200)),
                Decision::Start(_)
            ),
            "no end"
        );
        gone.view.end = Some(JobEnd {
            complete: true,
            reason: String::new(),
            message: String::new(),
            at: Some(at(150)),
        });
        assert!(matches!(
            decide(&running(0), Some(&gone), None, at(200)),
            Decision::Record(_)
        ));
    }

    #[test]
    fn a_job_that_is_being_deleted_is_waited_for() {
        let mut dying = job("job-1");
        dying.view.deleting = true;
        assert!(matches!(
            decide(&running(0), Some(&dying), None, at(200)),
            Decision::Rest(Some(_))
        ));
    }

    #[test]
    fn the_push_secret_is_looked_at_only_where_it_counts() {
        let with = |mut task: Task| {
            task.spec.push_secret_ref = Some(crate::api::LocalReference { name: "push".into() });
            task
        };
        assert!(!looks_at_push_secret(&task(), None));
        assert!(looks_at_push_secret(&with(task()), None));
        assert!(!looks_at_push_secret(&with(task()), Some(&job("job-1"))));
        assert!(looks_at_push_secret(&with(failed(Reason::AuthFailed)), None));
        assert!(!looks_at_push_secret(&with(failed(Reason::Conflict)), None));
        let mut asked = with(failed(Reason::Conflict));
        ask(&mut asked, "1");
        assert!(looks_at_push_secret(&asked, None));
        let done = ended_task(&State::Succeeded { message: "m".into() });
        assert!(!looks_at_push_secret(&with(done), None));
    }
}
