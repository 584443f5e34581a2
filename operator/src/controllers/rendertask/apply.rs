//! Carries out the decision: the only step that creates or deletes objects.
//!
//! The order makes a crash harmless: a Secret is created before its Job; after a success the Secret is deleted, then
//! the status is written, then the Job is deleted. A Job that still exists after that is found by the next reconcile,
//! and so is a Secret, by the reference in the status.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::api::PostParams;

use super::Context;
use super::config_secret::config_secret;
use super::dereference::Found;
use super::job::job;
use super::refusal::Blocked;
use super::secret::{delete_secret, make_secret, own_secret};
use super::subject::Subject;
use super::validate::name_conflict;
use crate::api::{OwnedReference, Run, Scope, TaskStatus};
use crate::runtime::owned::is_owned_by;
use crate::runtime::{Error, owned};

use crate::controllers::rendertask::decide::Decision;
use crate::jobs::conditions::{Reason, State, kinds};
use crate::jobs::index::FoundJob;
use crate::jobs::observe::{Observation, Previous, ended, observe};
use crate::jobs::partial::{JOBS, PartialJob};
use crate::jobs::slots::ReachedLimit;
use crate::jobs::snapshot::{JobSnapshot, PodSnapshot};
use crate::runtime::conditions::find;
use crate::runtime::views::PartialMetadata;

/// When a task that waits for a slot is requeued; it is woken earlier when it gets one.
const QUEUED_INTERVAL: Duration = Duration::from_secs(600);

/// The maximum backoff of a blocked task.
const BLOCKED_INTERVAL: Duration = Duration::from_secs(300);
/// When a task is requeued whose Job no watch has delivered.
const UNWATCHED_INTERVAL: Duration = Duration::from_secs(10);
/// How old a Job is before its reconcile checks that the Secrets of its pods exist.
const START_TIMEOUT: SignedDuration = SignedDuration::from_secs(20);

/// The result of a step, and what the status reports of it.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) done: Done,
    /// Whether a Job was created.
    pub(super) created_job: bool,
    /// The creation that the API server refused.
    pub(super) refused: Option<Refused>,
    pub(super) requeue: Option<Duration>,
}

/// The object whose creation was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Secret,
    Job,
}

/// What the status will report.
#[derive(Debug)]
pub(super) enum Done {
    /// No change.
    Nothing,
    /// No Job yet, and the reason.
    Blocked { run: Run, blocked: Blocked },
    /// The state of the Job.
    Observed {
        run: Run,
        observation: Box<Observation>,
        job: OwnedReference,
        secret: Option<OwnedReference>,
    },
    /// The Secret was deleted.
    CleanedUp {
        /// Whether the Job is deleted next.
        job: bool,
    },
    /// The task has failed without another Job.
    Failed {
        run: Run,
        reason: Reason,
        message: String,
    },
    /// The Job was complete, and no digest will arrive. The Secret was deleted.
    FinalizedWithoutDigest,
}

impl Applied {
    fn new(done: Done) -> Self {
        Self {
            done,
            created_job: false,
            refused: None,
            requeue: None,
        }
    }

    fn blocked(run: Run, blocked: Blocked) -> Self {
        Self {
            requeue: blocked.requeue,
            ..Self::new(Done::Blocked { run, blocked })
        }
    }

    /// Applies backoff to a blocked task: the delay is the time that it has been blocked, up to a limit.
    fn with_backoff(mut self, status: &TaskStatus, now: Timestamp) -> Self {
        let since = find(&status.conditions, kinds::JOB_SCHEDULED).filter(|one| one.status == "False");
        let age = since.map(|one| now.duration_since(one.last_transition_time.0).unsigned_abs());
        if let (Done::Blocked { .. }, Some(requeue), Some(age)) = (&self.done, self.requeue, age) {
            self.requeue = Some(requeue.max(age.min(BLOCKED_INTERVAL)));
        }
        self
    }
}

pub(super) async fn apply(
    context: &Context,
    subject: &Subject<'_>,
    found: &Found,
    decision: Decision,
    blocked: Option<Blocked>,
) -> Result<Applied, Error> {
    match decision {
        Decision::Requeue(requeue) => Ok(Applied {
            requeue,
            ..Applied::new(Done::Nothing)
        }),
        Decision::Fail(run) => {
            context.jobs.release(&found.key);
            // The next reconcile decides when its Secret is deleted.
            Ok(Applied {
                requeue: Some(Duration::ZERO),
                ..Applied::new(Done::Failed {
                    reason: Reason::JobLost,
                    message: format!(
                        "{} Jobs of this task were deleted before they finished",
                        run.lost_jobs
                    ),
                    run,
                })
            })
        }
        Decision::CleanUp { job } => {
            context.jobs.release(&found.key);
            delete_secret(context, subject, &found.task.known()).await?;
            Ok(Applied::new(Done::CleanedUp { job }))
        }
        Decision::FinalizeWithoutDigest => {
            context.jobs.release(&found.key);
            delete_secret(context, subject, &found.task.known()).await?;
            Ok(Applied::new(Done::FinalizedWithoutDigest))
        }
        Decision::DeleteOldJob => {
            if let Some(job) = &found.job {
                delete_job(context, &job.view).await?;
            }
            Ok(Applied {
                requeue: Some(Duration::from_secs(1)),
                ..Applied::new(Done::Nothing)
            })
        }
        Decision::Record(run) => match &found.job {
            Some(job) => record(context, subject, found, job, run).await,
            None => Ok(Applied::new(Done::Nothing)),
        },
        Decision::Start(run) => start_or_release(context, subject, found, run, blocked).await,
    }
}

/// Creates the Job, or releases its slot to the next waiting task.
async fn start_or_release(
    context: &Context,
    subject: &Subject<'_>,
    found: &Found,
    run: Run,
    blocked: Option<Blocked>,
) -> Result<Applied, Error> {
    if found.job.as_ref().is_some_and(|job| job.gone) {
        // The next reconcile must not take the last run's result for this one's.
        context
            .jobs
            .index()
            .forget(subject.namespace, &subject.job_name());
    }
    let started = start(context, subject, found, run, blocked).await;
    let started = started.map(|one| one.with_backoff(&found.task.known(), context.now()));
    let runs = matches!(&started, Ok(applied) if matches!(applied.done, Done::Observed { .. }));
    let waits = matches!(&started, Ok(applied)
        if matches!(&applied.done, Done::Blocked { blocked, .. } if blocked.reason == Reason::Queued));
    if !runs && !waits {
        context.jobs.release(&found.key);
    }
    started
}

/// The actions after the status was written.
pub(super) async fn after_status(
    context: &Context,
    subject: &Subject<'_>,
    found: &Found,
    applied: &Applied,
    next: &TaskStatus,
) -> Result<(), Error> {
    let goes = match &applied.done {
        Done::Observed { observation, .. } => succeeded(observation),
        Done::CleanedUp { job } => *job,
        _ => false,
    };
    let Some(job) = &found.job else {
        return Ok(());
    };
    if goes && !job.gone && !job.view.deleting {
        delete_job(context, &job.view).await?;
    }
    if job.gone && ended(&next.conditions).is_some() {
        // The status has its end now.
        context.jobs.index().forget(subject.namespace, &job.view.name);
    }
    Ok(())
}

fn succeeded(observation: &Observation) -> bool {
    matches!(
        observation.state,
        Some(State::Succeeded { .. } | State::WithoutDigest)
    )
}

async fn record(
    context: &Context,
    subject: &Subject<'_>,
    found: &Found,
    job: &FoundJob,
    run: Run,
) -> Result<Applied, Error> {
    let status = found.task.known();
    let previous = Previous {
        conditions: &status.conditions,
        attempts: &status.attempts,
        digest: status.digest.as_deref(),
        outcome: status.outcome,
    };
    let observation = observe(Some(&job.view), &found.pods, previous, context.now());
    if job.view.runs() {
        context.jobs.slots().occupy(&found.key, group(found));
    } else {
        context.jobs.release(&found.key);
    }
    let mut secret = status.config_secret_ref.clone();
    let mut requeue = observation.requeue;
    if succeeded(&observation) {
        delete_secret(context, subject, &status).await?;
        secret = None;
    } else {
        let needed = needs_secret(context, job, &found.pods);
        if needed || secret.is_none() {
            secret = own_secret(context, subject).await?;
        }
        let of_this_spec = run
            .generation
            .is_none_or(|made| Some(made) == found.task.metadata.generation);
        if needed && secret.is_none() && of_this_spec {
            // If that is refused, the pods report what they wait for, and the next reconcile retries.
            secret = make_secret(context, subject).await?.ok();
        }
    }
    if !job.watched && job.view.end.is_none() {
        requeue = requeue
            .map(|after| after.min(UNWATCHED_INTERVAL))
            .or(Some(UNWATCHED_INTERVAL));
    }
    if matches!(observation.state, Some(State::Failed { .. })) {
        // The next reconcile decides when its Secret is deleted.
        requeue = Some(Duration::ZERO);
    }
    Ok(Applied {
        requeue,
        ..Applied::new(Done::Observed {
            run,
            observation: Box::new(observation),
            job: reference(&job.view),
            secret,
        })
    })
}

/// Pods that don't start may wait for a Secret that was deleted.
fn needs_secret(context: &Context, job: &FoundJob, pods: &[PodSnapshot]) -> bool {
    let age = job
        .view
        .created
        .map(|created| context.now().duration_since(created));
    let waits = job.view.end.is_none() && !job.view.deleting && !pods.iter().any(|pod| pod.ran);
    waits && age.is_some_and(|age| age >= START_TIMEOUT)
}

/// What a task waits for that has got no slot.
fn queued(context: &Context, group: &str) -> Blocked {
    let message = match context.jobs.slots().reached_limit(group) {
        ReachedLimit::All(limit) => format!("{limit} Jobs run, and no more may at once"),
        ReachedLimit::Group(limit) => {
            format!("{limit} Jobs run for namespace {group}, and no more may at once")
        }
    };
    Blocked {
        reason: Reason::Queued,
        message,
        requeue: Some(QUEUED_INTERVAL),
    }
}

async fn start(
    context: &Context,
    subject: &Subject<'_>,
    found: &Found,
    run: Run,
    blocked: Option<Blocked>,
) -> Result<Applied, Error> {
    if let Some(blocked) = blocked {
        return not_started(context, subject, run, blocked).await;
    }
    let created = found
        .task
        .metadata
        .creation_timestamp
        .as_ref()
        .map_or_else(|| context.now(), |time| time.0);
    if !context.jobs.slots().request(&found.key, group(found), created) {
        return Ok(Applied::blocked(run, queued(context, group(found))));
    }
    if ended(&found.task.known().conditions).is_some() {
        // The Secret of the previous run may have been edited.
        delete_secret(context, subject, &found.task.known()).await?;
    }
    let secret = match make_secret(context, subject).await? {
        Ok(secret) => secret,
        Err(blocked) => {
            return Ok(Applied {
                refused: is_refusal(&blocked).then_some(Refused::Secret),
                ..Applied::blocked(run, blocked)
            });
        }
    };
    let (view, created_job) = match make_job(context, subject, &run).await? {
        Ok(made) => made,
        Err(blocked) => {
            return Ok(Applied {
                refused: is_refusal(&blocked).then_some(Refused::Job),
                ..Applied::blocked(run, blocked)
            });
        }
    };
    // Whatever else fails now, the slot has a Job.
    context.jobs.slots().occupy(&found.key, group(found));
    let status = found.task.known();
    let previous = Previous {
        attempts: &status.attempts,
        ..Previous::default()
    };
    let observation = observe(Some(&view), &[], previous, context.now());
    Ok(Applied {
        created_job,
        requeue: observation.requeue,
        ..Applied::new(Done::Observed {
            run,
            observation: Box::new(observation),
            job: reference(&view),
            secret: Some(secret),
        })
    })
}

/// Reports why no Job can be created: permanently, or until a user fixes it.
async fn not_started(
    context: &Context,
    subject: &Subject<'_>,
    run: Run,
    blocked: Blocked,
) -> Result<Applied, Error> {
    if blocked.reason == Reason::ConfigInvalid {
        return Ok(Applied::new(Done::Failed {
            run,
            reason: blocked.reason,
            message: blocked.message,
        }));
    }
    let blocked = nearest_cause(context, subject, blocked).await?;
    Ok(Applied::blocked(run, blocked))
}

/// Whether the API server refused the object; a name that another object has, or has until its deletion ends, is no
/// refusal.
fn is_refusal(blocked: &Blocked) -> bool {
    !matches!(blocked.reason, Reason::NameConflict | Reason::DoesNotExist)
}

/// In a missing or terminating namespace everything seems missing, but the namespace is the cause. A dry-run creation
/// finds out.
async fn nearest_cause(context: &Context, subject: &Subject<'_>, blocked: Blocked) -> Result<Blocked, Error> {
    if !matches!(
        blocked.reason,
        Reason::PushSecretNotFound | Reason::SignKeySecretNotFound | Reason::ConfigMapNotFound
    ) {
        return Ok(blocked);
    }
    let params = PostParams {
        dry_run: true,
        ..owned::post()
    };
    let secret = config_secret(subject)?;
    let answer =
        owned::create_as::<_, PartialMetadata>(&context.cx, subject.namespace, &secret, &params).await;
    let refusal = answer
        .err()
        .and_then(|error| Blocked::from_refusal(&error, subject.namespace));
    let of_namespace = refusal.filter(|cause| {
        matches!(
            cause.reason,
            Reason::NamespaceNotFound | Reason::NamespaceTerminating
        )
    });
    Ok(of_namespace.unwrap_or(blocked))
}

/// Creates the Job, or finds the one that was created before a crash.
async fn make_job(
    context: &Context,
    subject: &Subject<'_>,
    run: &Run,
) -> Result<Result<(JobSnapshot, bool), Blocked>, Error> {
    let job = job(subject, &context.settings.job, run)?;
    let params = owned::post();
    match owned::create_as::<_, PartialJob>(&context.cx, subject.namespace, &job, &params).await {
        Ok(made) => Ok(Ok((JobSnapshot::from(&made), true))),
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let jobs: Api<PartialJob> = Api::namespaced_with(context.client(), subject.namespace, &JOBS);
            let there = jobs.get_opt(&subject.job_name()).await;
            let there = there.map_err(Error::api("reading the Job"))?;
            // It was deleted meanwhile: the next reconcile creates it.
            let there = there.ok_or(Error::Changed)?;
            if !is_owned_by(&there.metadata, subject.uid) {
                return Ok(Err(name_conflict(subject, "Job")));
            }
            if there.metadata.deletion_timestamp.is_some() {
                return Err(Error::Changed);
            }
            Ok(Ok((JobSnapshot::from(&there), false)))
        }
        Err(error) => match Blocked::from_refusal(&error, subject.namespace) {
            Some(blocked) => Ok(Err(blocked)),
            None => Err(Error::api("creating the Job")(error)),
        },
    }
}

async fn delete_job(context: &Context, job: &JobSnapshot) -> Result<(), Error> {
    let deleted = owned::delete::<Job>(&context.cx, &job.namespace, &job.name, &job.uid).await;
    deleted.map(|_| ()).map_err(Error::api("deleting the Job"))
}

/// The group of a task for fair slots: its tenant.
fn group(found: &Found) -> &str {
    match Scope::of(found.key.kind) {
        Scope::Namespaced => &found.key.namespace,
        Scope::Cluster => &found.task.spec.owner_namespace,
    }
}

fn reference(job: &JobSnapshot) -> OwnedReference {
    OwnedReference {
        namespace: job.namespace.clone(),
        name: job.name.clone(),
        uid: job.uid.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::conditions::merge;

    /// 1,500 blocked tasks once took a quarter of an API server's core, permanently.
    #[test]
    fn blocked_tasks_are_requeued_with_backoff() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let state = State::NotScheduled {
            reason: Reason::PushSecretNotFound,
            message: String::new(),
        };
        let status = TaskStatus {
            conditions: merge(&[], &state.findings(), Some(1), at(0)),
            ..TaskStatus::default()
        };
        for (age, expected) in [(0, 30), (29, 30), (60, 60), (10_000, 300)] {
            let blocked = Blocked::new(Reason::PushSecretNotFound, "");
            let applied = Applied::blocked(Run::default(), blocked).with_backoff(&status, at(age));
            assert_eq!(applied.requeue, Some(Duration::from_secs(expected)), "{age}");
        }
    }
}
