//! Workers: they take keys from the queue and reconcile them.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use solar_render::world::{System, World as _};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use crate::controllers::rendertask::{Action, Context, Error, reconcile, stall};
use crate::runtime::key::TaskKey;

/// How long one reconcile may take: an API server that never answers must not hold a worker for ever.
const RECONCILE_TIMEOUT: Duration = Duration::from_secs(60);
/// The delay before a task is reconciled again after somebody else changed it meanwhile.
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
    if context.queue.group_is_unknown(key) && resolve_group(context, key).await {
        return;
    }
    let start = Instant::now();
    let outcome = reconcile_once(context, key).await;
    let good = matches!(outcome, Ok(_) | Err(Error::Changed));
    context.metrics.reconciled(key.scope, start.elapsed(), good);
    match outcome {
        Ok(Action { requeue }) => {
            tracing::debug!(?requeue, took = ?start.elapsed(), "reconciled");
            context.queue.done(key, requeue);
        }
        Err(Error::Changed) => context.queue.done(key, Some(CHANGED_DELAY)),
        Err(error) => {
            let failures = context.queue.count_failure(key);
            if failures >= max_retries {
                set_stalled(context, key, &error).await;
            }
            context.give_back(key);
            let delay = context.queue.failed(key, System.entropy());
            tracing::warn!(%error, failures, ?delay, "reconcile failed, requeuing");
        }
    }
}

/// While nobody else can reconcile the task: one that succeeds must write last.
async fn set_stalled(context: &Context, key: &TaskKey, error: &Error) {
    let written = timeout(RECONCILE_TIMEOUT, stall(context, key, &error.to_string())).await;
    match written {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "failed to set the Stalled condition"),
        Err(_) => tracing::warn!("failed to set the Stalled condition: no answer"),
    }
}

/// Finds out whose a cluster task is, and puts it in its owner's line. False when it can't.
async fn resolve_group(context: &Context, key: &TaskKey) -> bool {
    let task = timeout(RECONCILE_TIMEOUT, context.task_api(key).get_opt(&key.name)).await;
    let Ok(Ok(Some(task))) = task else {
        return false;
    };
    context.queue.set_group(key, task.spec.owner_namespace);
    context.queue.add(key.clone());
    context.queue.done(key, None);
    true
}

/// One reconcile; a panic in it is an error of this task alone.
async fn reconcile_once(context: &Context, key: &TaskKey) -> Result<Action, Error> {
    let reconciling = AssertUnwindSafe(reconcile(context, key)).catch_unwind();
    match timeout(RECONCILE_TIMEOUT, reconciling).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panic)) => Err(Error::Panic(panic_message(panic.as_ref()))),
        Err(_) => Err(Error::Timeout(RECONCILE_TIMEOUT)),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic").to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use jiff::Timestamp;
    use kube::Client;
    use serde_json::Value;

    use super::*;
    use crate::api::{Scope, TaskStatus};
    use crate::conditions::{find, kinds};
    use crate::controllers::rendertask::Settings;
    use crate::controllers::rendertask::task_store::TaskVersion;
    use crate::runtime::metrics::Metrics;
    use crate::runtime::queue::{Backoff, Queue};
    use crate::tests::{api, refusal, run, settings, task};

    fn key(name: &str) -> TaskKey {
        TaskKey {
            scope: Scope::Namespaced,
            namespace: "tenant".into(),
            name: name.into(),
        }
    }

    fn queue() -> Queue {
        Queue::new(Backoff {
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
        })
    }

    /// One Job may run at once; these tasks are there, and in line in this order.
    fn context(client: Client, queue: &Queue, names: &[&str]) -> Context {
        let settings = Settings {
            job: settings(),
            require_registry_host: false,
            max_concurrent_jobs: 1,
            instance: "me".into(),
            server: String::new(),
        };
        let context = Context::new(client, settings, queue.clone(), Metrics::default());
        for name in names {
            let seen = TaskVersion {
                uid: None,
                generation: Some(1),
                retry: None,
                deleting: false,
            };
            context.selected().put(&key(name), seen);
            context
                .slots()
                .request(&key(name), "tenant", Timestamp::UNIX_EPOCH);
        }
        context
    }

    /// The others once waited for its backoff, up to a minute at a time.
    #[test]
    fn a_task_whose_reconcile_fails_when_its_turn_has_come_holds_nobody_up() {
        run(async {
            let queue = queue();
            let client = api(|_, _, _| Some(refusal(500, "InternalError")));
            let context = context(client, &queue, &["a", "b"]);
            assert_eq!(context.slots().counts(), (1, 1));
            queue.add(key("a"));
            let taken = queue.next().await;
            one(&context, &taken, 10).await;
            assert_eq!(context.slots().counts(), (1, 0), "the slot is the other's");
            let start = Instant::now();
            assert_eq!(queue.next().await, key("b"));
            assert_eq!(start.elapsed(), Duration::ZERO, "which is woken at once");
        });
    }

    /// Between its end and that patch another reconcile once succeeded, and Stalled stayed.
    #[test]
    fn stalled_is_set_while_nobody_else_can_reconcile_the_task() {
        run(async {
            let queue = queue();
            let (reads, observed) = (AtomicUsize::new(0), queue.clone());
            let written = Arc::new(std::sync::Mutex::new(Value::Null));
            let writes = Arc::clone(&written);
            let client = api(move |method, _, body| {
                if method == "GET" && reads.fetch_add(1, Ordering::Relaxed) == 0 {
                    return Some(refusal(500, "InternalError"));
                }
                if method == "PATCH" {
                    assert_eq!(observed.counts(), (0, 1, 0), "it is being reconciled");
                    *writes.lock().expect("the status") = body;
                }
                let task = serde_json::to_value(task()).expect("JSON");
                Some((200, task))
            });
            let context = context(client, &queue, &["shop"]);
            queue.add(key("shop"));
            let taken = queue.next().await;
            one(&context, &taken, 1).await;
            let written = written.lock().expect("the status")["status"].clone();
            let status: TaskStatus = serde_json::from_value(written).expect("a status");
            let stalled = find(&status.conditions, kinds::STALLED).expect("Stalled");
            assert_eq!(stalled.status, "True");
            assert!(stalled.message.contains("reading the task"), "{stalled:?}");
            assert_eq!(queue.counts(), (0, 0, 1), "it is requeued");
        });
    }

    /// Nothing was reported; it was requeued for ever.
    #[test]
    fn a_task_that_can_not_be_read_fails_by_its_metadata_alone() {
        run(async {
            let queue = queue();
            let written = Arc::new(std::sync::Mutex::new(Vec::new()));
            let writes = Arc::clone(&written);
            let client = api(move |method, _, body| {
                if method == "PATCH" {
                    writes.lock().expect("the writes").push(body);
                }
                let mut task = serde_json::to_value(task()).expect("JSON");
                task["metadata"]["resourceVersion"] = "7".into();
                task["spec"]["tag"] = 5.into();
                Some((200, task))
            });
            let context = context(client, &queue, &["shop"]);
            queue.add(key("shop"));
            let taken = queue.next().await;
            one(&context, &taken, 1).await;
            let written = written.lock().expect("the writes");
            let [patch] = written.as_slice() else {
                panic!("one patch, not {written:?}");
            };
            assert_eq!(patch["metadata"]["resourceVersion"], "7");
            let status: TaskStatus = serde_json::from_value(patch["status"].clone()).expect("a status");
            let failed = find(&status.conditions, kinds::JOB_FAILED).expect("JobFailed");
            assert_eq!(
                (failed.status.as_str(), failed.reason.as_str()),
                ("True", "ConfigInvalid")
            );
            assert!(failed.message.contains("expected a string"), "{failed:?}");
            assert_eq!(queue.counts(), (0, 0, 0), "it is not requeued");
        });
    }
}
