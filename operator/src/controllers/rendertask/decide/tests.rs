//! Decisions in every state that a crash may leave.

use super::*;
use crate::api::{OwnedReference, RETRY_ANNOTATION};
use crate::jobs::conditions::State;
use crate::jobs::snapshot::{JobEnd, JobSnapshot};
use crate::runtime::conditions::merge;
use crate::tests::task;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn job(uid: &str) -> FoundJob {
    let view = JobSnapshot {
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
fn a_new_task_starts_and_answers_a_retry_requested_at_creation() {
    assert_eq!(
        decide(&task(), None, None, at(1)),
        Decision::Start(Run {
            generation: Some(1),
            ..Run::default()
        })
    );
    let mut asked = task();
    ask(&mut asked, "1");
    let expected = Run {
        generation: Some(1),
        retry: Some("1".into()),
        push_secret_version: Some("5".into()),
        ..Run::default()
    };
    assert_eq!(decide(&asked, None, Some("5"), at(1)), Decision::Start(expected));
}

#[test]
fn an_existing_job_is_recorded() {
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
    assert_eq!(decide(&done, None, None, at(200)), Decision::Requeue(None));
    ask(&mut done, "again");
    assert_eq!(
        decide(&done, None, None, at(200)),
        Decision::Requeue(None),
        "a success is final"
    );
}

#[test]
fn a_success_without_its_digest_is_not_final_yet() {
    let waiting = ended_task(&State::AwaitingDigest);
    assert!(matches!(
        decide(&waiting, Some(&job("job-1")), None, at(101)),
        Decision::Record(_)
    ));
    assert_eq!(
        decide(&waiting, None, None, at(101)),
        Decision::FinalizeWithoutDigest,
        "and no loss"
    );
    let without = ended_task(&State::WithoutDigest);
    assert_eq!(
        decide(&without, Some(&job("job-1")), None, at(200)),
        Decision::CleanUp { job: true }
    );
}

#[test]
fn a_failure_is_kept_when_its_job_is_deleted() {
    let task = failed(Reason::Conflict);
    assert_eq!(
        decide(&task, None, None, at(200)),
        Decision::Requeue(Some(Duration::from_secs(3500)))
    );
}

#[test]
fn a_failed_tasks_secret_is_deleted_once_after_its_ttl() {
    let mut task = failed(Reason::Conflict);
    assert_eq!(
        decide(&task, None, None, at(3700)),
        Decision::CleanUp { job: false }
    );
    status(&mut task).config_secret_ref = None;
    assert_eq!(decide(&task, None, None, at(9999)), Decision::Requeue(None));
}

#[test]
fn each_new_value_of_the_annotation_is_one_retry() {
    let mut task = failed(Reason::Conflict);
    ask(&mut task, "1");
    let run = Run {
        generation: Some(1),
        retry: Some("1".into()),
        ..Run::default()
    };
    assert_eq!(
        decide(&task, Some(&job("job-1")), None, at(200)),
        Decision::DeleteOldJob
    );
    assert_eq!(decide(&task, None, None, at(200)), Decision::Start(run.clone()));
    // The Job was created for this run before a crash.
    assert_eq!(
        decide(&task, Some(&job("job-2")), None, at(200)),
        Decision::Record(run.clone())
    );
    status(&mut task).run = Some(run);
    assert!(matches!(decide(&task, None, None, at(200)), Decision::Requeue(_)));
    ask(&mut task, "2");
    assert!(
        matches!(decide(&task, None, None, at(9999)), Decision::Start(_)),
        "even after the TTL"
    );
}

#[test]
fn a_retry_waits_for_the_deletion_of_the_old_job() {
    let mut task = failed(Reason::Conflict);
    ask(&mut task, "1");
    let mut old = job("job-1");
    old.view.deleting = true;
    assert!(matches!(
        decide(&task, Some(&old), None, at(200)),
        Decision::Requeue(Some(_))
    ));
    old.gone = true;
    assert!(matches!(
        decide(&task, Some(&old), None, at(200)),
        Decision::Start(_)
    ));
}

#[test]
fn a_task_with_refused_credentials_is_retried_once_when_they_change() {
    let mut task = failed(Reason::AuthFailed);
    let look = |task: &Task, version| decide(task, None, version, at(200));
    assert_eq!(
        look(&task, Some("7")),
        Decision::Requeue(Some(ROTATION_INTERVAL)),
        "the same"
    );
    assert_eq!(
        look(&task, None),
        Decision::Requeue(Some(ROTATION_INTERVAL)),
        "not there"
    );
    let Decision::Start(run) = look(&task, Some("8")) else {
        panic!("{:?}", look(&task, Some("8")));
    };
    assert!(run.after_rotation);
    status(&mut task).run = Some(run);
    assert!(matches!(look(&task, Some("9")), Decision::Requeue(_)), "once");
    let conflict = failed(Reason::Conflict);
    assert!(
        matches!(look(&conflict, Some("8")), Decision::Requeue(_)),
        "another failure"
    );
    let task = failed(Reason::AuthFailed);
    let late = decide(&task, None, Some("8"), at(3701));
    assert_eq!(late, Decision::CleanUp { job: false }, "within failedJobTTL");
}

#[test]
fn a_lost_job_is_created_again_twice() {
    let lost = |lost_jobs| decide(&running(lost_jobs), None, None, at(200));
    assert!(matches!(lost(0), Decision::Start(Run { lost_jobs: 1, .. })));
    assert!(matches!(lost(1), Decision::Start(Run { lost_jobs: 2, .. })));
    assert!(matches!(lost(2), Decision::Fail(Run { lost_jobs: 3, .. })));
}

/// A retry that was requested while the last Job ran once counted as answered when that Job was lost.
#[test]
fn failing_after_lost_jobs_answers_no_retry() {
    let mut task = running(2);
    task.metadata
        .annotations
        .get_or_insert_default()
        .insert(RETRY_ANNOTATION.to_owned(), "1".to_owned());
    let Decision::Fail(run) = decide(&task, None, None, at(200)) else {
        panic!("it was lost three times");
    };
    assert_eq!(run.retry, None);
}

/// A push Secret that was rotated after a crash once started no run, because its earlier version was unknown.
#[test]
fn a_job_that_the_status_does_not_know_has_its_run_in_an_annotation() {
    let run = Run {
        generation: Some(1),
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
    // The status takes precedence over the Job's annotation, which users can edit.
    made.view.uid = "job-1".into();
    let known = decide(&running(0), Some(&made), None, at(200));
    assert_eq!(known, Decision::Record(Run::default()));
}

#[test]
fn a_job_answers_retries_requested_before_its_creation() {
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
fn the_end_of_an_earlier_run_is_not_recorded_for_this_one() {
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
fn a_rotation_is_checked_even_when_the_config_secret_is_gone() {
    let mut task = failed(Reason::AuthFailed);
    status(&mut task).config_secret_ref = None;
    assert_eq!(
        decide(&task, None, Some("7"), at(200)),
        Decision::Requeue(Some(ROTATION_INTERVAL))
    );
    assert_eq!(decide(&task, None, Some("7"), at(3701)), Decision::Requeue(None));
}

#[test]
fn a_lost_job_is_counted_after_a_crash_of_the_operator() {
    let decision = decide(&running(0), Some(&job("job-2")), None, at(200));
    assert!(matches!(decision, Decision::Record(Run { lost_jobs: 1, .. })));
}

#[test]
fn a_finished_and_collected_job_is_not_lost() {
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
    // Its status says so.
    assert!(matches!(
        decide(&running(0), Some(&dying), None, at(200)),
        Decision::Record(_)
    ));
    dying.view.uid = "job-0".into();
    assert!(matches!(
        decide(&running(0), Some(&dying), None, at(200)),
        Decision::Requeue(Some(_))
    ));
}

#[test]
fn the_push_secret_is_read_only_when_a_decision_depends_on_it() {
    let with = |mut task: Task| {
        task.spec.push_secret_ref = Some(crate::api::LocalReference { name: "push".into() });
        task
    };
    assert!(!reads_push_secret(&task(), None));
    assert!(reads_push_secret(&with(task()), None));
    assert!(!reads_push_secret(&with(task()), Some(&job("job-1"))));
    assert!(reads_push_secret(&with(failed(Reason::AuthFailed)), None));
    assert!(!reads_push_secret(&with(failed(Reason::Conflict)), None));
    let mut asked = with(failed(Reason::Conflict));
    ask(&mut asked, "1");
    assert!(reads_push_secret(&asked, None));
    let done = ended_task(&State::Succeeded { message: "m".into() });
    assert!(!reads_push_secret(&with(done), None));
}
