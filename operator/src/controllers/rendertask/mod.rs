//! One reconcile of one task: dereference → validate → decide → apply → status.
//!
//! Each step is a file; only `dereference`, `apply` and the last line of `status` use a client. A reconcile is
//! idempotent and may be interrupted anywhere: the next one continues from the state of the cluster.

mod apply;
mod arguments;
mod config_secret;
mod context;
mod decide;
mod dereference;
mod events;
mod job;
mod kept;
mod kind;
mod metrics;
mod refusal;
mod secret;
mod status;
mod subject;
mod validate;
mod view;

#[cfg(test)]
mod tests;

pub use context::{Context, Settings};
pub(crate) use job::{SIGN_KEY, SIGN_KEY_PASSWORD};
pub use kind::{ClusterRenderTasks, RenderTasks, Tasks};
pub use metrics::TaskMetrics;
pub use view::{
    TaskConditionView, TaskLabels, TaskMetadataView, TaskRunView, TaskSpecView, TaskStatusView, TaskView,
};

use crate::api::TaskStatus;
use crate::jobs::conditions::kinds;
use crate::jobs::observe::ended;
use crate::runtime::conditions::find;
use crate::runtime::{Action, Error, Key};
use apply::Done;
use decide::{Decision, decide};
use dereference::Found;

/// Logs each change of the printer column, with the message.
fn log_transition(before: &TaskStatus, after: &TaskStatus) {
    if before.state != after.state {
        let message = find(&after.conditions, kinds::READY).map_or("", |one| one.message.as_str());
        tracing::info!(
            state = after.state,
            before = before.state,
            message,
            "state changed"
        );
    }
}

/// Reconciles one task, of either kind.
async fn reconcile(context: &Context, key: &Key) -> Result<Action, Error> {
    if kept::has_succeeded(context, key) {
        return Ok(Action::done());
    }
    if let Some(task) = kept::running(context, key) {
        let found = dereference::objects(context, key, task).await?;
        // Every other decision is made from what the API server has now.
        if let decision @ Decision::Record(_) = decision(context, &found) {
            return carry_out(context, key, found, decision).await;
        }
    }
    let found = match dereference::dereference(context, key).await {
        Ok(Some(found)) => found,
        Ok(None) => {
            context.jobs.forget(key);
            return Ok(Action::done());
        }
        Err(Error::Unreadable(error)) => {
            context.jobs.release(key);
            status::unreadable(context, key, &error).await?;
            return Ok(Action::done());
        }
        Err(error) => return Err(error),
    };
    let decision = decision(context, &found);
    carry_out(context, key, found, decision).await
}

fn decision(context: &Context, found: &Found) -> Decision {
    let (job, push_version) = (found.job.as_ref(), found.push_version());
    decide(&found.task, job, push_version, context.now())
}

async fn carry_out(context: &Context, key: &Key, found: Found, decision: Decision) -> Result<Action, Error> {
    let subject = found.subject(&context.settings.job);
    let Some(subject) = subject else {
        return Ok(Action::done());
    };
    let blocked = validate::validate(&subject, &found, &context.settings);
    tracing::debug!(?decision, ?blocked, "decided");
    let applied = apply::apply(context, &subject, &found, decision, blocked).await?;
    let next = status::next(&found.task, &applied, context.now());
    let written = status::patch(context, &found, &next).await?;
    if written.is_some() {
        log_transition(&found.task.known(), &next);
        events::publish(context, &found, &next, &applied).await;
    }
    apply::after_status(context, &subject, &found, &applied, &next).await?;
    if matches!(applied.done, Done::Observed { .. }) && ended(&next.conditions).is_none() {
        let version = written.and_then(|metadata| metadata.resource_version);
        context.kept.keep(key, found.task, version, &next)?;
    }
    Ok(Action {
        requeue: applied.requeue,
    })
}
