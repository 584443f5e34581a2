//! One reconcile of one task: dereference → validate → decide → apply → status.
//!
//! Each step is a file; only `dereference`, `apply` and `status`' last line see a client. A reconcile
//! is idempotent and may end anywhere: the next one goes on from what is there.

mod apply;
mod arguments;
mod config_secret;
mod context;
pub mod decide;
mod dereference;
mod events;
mod job;
mod ownership;
mod refusal;
mod requests;
mod secret;
mod status;
mod subject;
pub mod task_store;
mod validate;

use std::time::Duration;

pub use context::{Context, Settings};
pub(crate) use status::stall;

use crate::api::TaskStatus;
use crate::conditions::{find, kinds};
use crate::runtime::key::TaskKey;
use decide::decide;

/// What a reconcile has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// When to reconcile again, if nothing happens.
    pub requeue: Option<Duration>,
}

/// Why a reconcile could not be finished; it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused, or did not answer.
    #[error("{doing}: {}", api_message(cause))]
    Api {
        /// What was being done.
        doing: &'static str,
        /// Why it was not.
        cause: Box<kube::Error>,
    },
    /// The object can't be written as JSON.
    #[error("writing an object as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The task is there and can't be decoded: another version of the CRD, or none that we know.
    #[error("the task can't be read: {0}")]
    Unreadable(serde_json::Error),
    /// Somebody else has changed the task in between: not an error, reconcile again.
    #[error("resourceVersion conflict")]
    Changed,
    /// It took too long.
    #[error("no end after {0:?}")]
    Timeout(Duration),
    /// A fault of ours.
    #[error("internal error: {0}")]
    Panic(String),
}

impl Error {
    fn api(doing: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |cause| Self::Api {
            doing,
            cause: Box::new(cause),
        }
    }
}

/// The API server's message, without the rest of its answer; else what went wrong on the way to it.
pub(crate) fn api_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => {
            format!("{} ({})", status.message, status.code)
        }
        other => with_causes(other),
    }
}

/// An error's text with those of its causes that it doesn't repeat: "client error (Connect)" alone helps nobody.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        let more = one.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = one.source();
    }
    text
}

/// One line for each change of what the column shows, with the message.
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
pub async fn reconcile(context: &Context, key: &TaskKey) -> Result<Action, Error> {
    let found = match dereference::dereference(context, key).await {
        Ok(Some(found)) => found,
        Ok(None) => {
            context.forget(key);
            return Ok(Action { requeue: None });
        }
        Err(Error::Unreadable(error)) => {
            context.release(key);
            status::unreadable(context, key, &error).await?;
            return Ok(Action { requeue: None });
        }
        Err(error) => return Err(error),
    };
    let subject = found.subject(&context.settings.job);
    let Some(subject) = subject else {
        return Ok(Action { requeue: None });
    };
    let blocked = validate::validate(&subject, &found, &context.settings);
    let decision = decide(
        &found.task,
        found.job.as_ref(),
        found.push_version(),
        context.now(),
    );
    tracing::debug!(?decision, ?blocked, "decided");
    let applied = apply::apply(context, &subject, &found, decision, blocked).await?;
    let next = status::next(&found.task, &applied, context.now());
    let changed = status::patch(context, &found, &next).await?;
    if changed {
        log_transition(&found.task.known(), &next);
        events::publish(context, &found, &next, &applied).await;
    }
    apply::after_status(context, &subject, &found, &applied, &next).await?;
    Ok(Action {
        requeue: applied.requeue,
    })
}
