//! Workers: they take tasks from the queue, look at them, and say when to look again.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use solar_render::world::{System, World as _};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use crate::key::TaskKey;
use crate::reconcile::{Action, Context, Error, reconcile, stall};

/// How long one look may take: an API server that never answers must not hold a worker for ever.
const LOOK_LIMIT: Duration = Duration::from_secs(60);
/// How soon a task is looked at again that somebody else has changed meanwhile.
const CHANGED_DELAY: Duration = Duration::from_millis(200);

/// One worker, until it is to stop; it then finishes what it has begun.
pub(super) async fn worker(context: Arc<Context>, max_retries: u32, mut stops: watch::Receiver<bool>) {
    loop {
        let key = tokio::select! {
            biased;
            _ = stops.wait_for(|stops| *stops) => return,
            key = context.queue.next() => key,
        };
        let id = System.entropy();
        let span =
            tracing::info_span!("reconcile", kind = key.scope.kind(), task = %key, id = format!("{id:016x}"));
        one(&context, &key, max_retries).instrument(span).await;
    }
}

async fn one(context: &Context, key: &TaskKey, max_retries: u32) {
    if context.queue.asks_whose(key) && glance(context, key).await {
        return;
    }
    let start = Instant::now();
    let looked = look(context, key).await;
    let good = matches!(looked, Ok(_) | Err(Error::Changed));
    context.metrics.reconciled(key.scope, start.elapsed(), good);
    match looked {
        Ok(Action { requeue }) => {
            tracing::debug!(?requeue, took = ?start.elapsed(), "looked");
            context.queue.done(key, requeue);
        }
        Err(Error::Changed) => context.queue.done(key, Some(CHANGED_DELAY)),
        Err(error) => {
            let (failures, delay) = context.queue.failed(key, System.entropy());
            tracing::warn!(%error, failures, ?delay, "tried again");
            if failures >= max_retries
                && let Err(error) = stall(context, key, &error.to_string()).await
            {
                tracing::warn!(%error, "that it stalls could not be said");
            }
        }
    }
}

/// Finds out whose a cluster task is, and puts it in its owner's line. False when it can't.
async fn glance(context: &Context, key: &TaskKey) -> bool {
    let task = timeout(LOOK_LIMIT, context.task_api(key).get_opt(&key.name)).await;
    let Ok(Ok(Some(task))) = task else {
        return false;
    };
    context.queue.learn(key, task.spec.owner_namespace);
    context.queue.add(key.clone());
    context.queue.done(key, None);
    true
}

/// One look; a panic in it is this task's misfortune alone.
async fn look(context: &Context, key: &TaskKey) -> Result<Action, Error> {
    let looking = AssertUnwindSafe(reconcile(context, key)).catch_unwind();
    match timeout(LOOK_LIMIT, looking).await {
        Ok(Ok(looked)) => looked,
        Ok(Err(panic)) => Err(Error::Panic(said(panic.as_ref()))),
        Err(_) => Err(Error::Timeout(LOOK_LIMIT)),
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic").to_owned()
}
