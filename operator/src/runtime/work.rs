//! Workers: they take keys from the queue of their pool and reconcile them.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use solar_render::world::{System, World as _};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use super::controllers::Controller;
use super::cx::Cx;
use super::error::Error;
use super::key::{Key, KindId};
use super::kind::{Action, Policy};
use super::queue::Queue;

/// How long reporting an error may take: an API server that never answers must not block a worker forever.
const STALLED_TIMEOUT: Duration = Duration::from_secs(60);
/// The delay before an object is reconciled again after a resourceVersion conflict.
const CHANGED_DELAY: Duration = Duration::from_millis(200);

/// What workers share.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) cx: Cx,
    pub(super) controllers: Arc<BTreeMap<KindId, Arc<dyn Controller>>>,
    pub(super) policy: Policy,
}

impl Work {
    /// Runs one worker until it is stopped; it then finishes its current reconcile.
    pub(super) async fn worker(self, queue: Queue, mut stops: watch::Receiver<bool>) {
        loop {
            let key = tokio::select! {
                biased;
                _ = stops.wait_for(|stops| *stops) => return,
                key = queue.next() => key,
            };
            let id = System.entropy();
            let (kind, object) = (key.kind.kind, &key);
            let span = tracing::info_span!("reconcile", kind, %object, id = format!("{id:016x}"));
            self.one(&queue, &key).instrument(span).await;
        }
    }

    async fn one(&self, queue: &Queue, key: &Key) {
        let Some(controller) = self.controllers.get(&key.kind) else {
            queue.done(key, None);
            return;
        };
        let start = Instant::now();
        let outcome = self.reconcile(controller.as_ref(), key).await;
        let good = matches!(outcome, Ok(_) | Err(Error::Changed));
        self.cx.metrics().reconciled(key.kind, start.elapsed(), good);
        if !self.cx.reconciles(key) {
            queue.forget(key);
        }
        match outcome {
            Ok(Action { requeue }) => {
                tracing::debug!(?requeue, took = ?start.elapsed(), "reconciled");
                queue.done(key, requeue);
            }
            Err(Error::Changed) => queue.done(key, Some(CHANGED_DELAY)),
            Err(error) => {
                let policy = controller.policy(self.policy);
                let failures = queue.count_failure(key);
                if failures >= policy.max_retries {
                    self.set_stalled(controller.as_ref(), key, &error).await;
                }
                controller.failed(key);
                let delay = queue.failed(key, policy.backoff, System.entropy());
                tracing::warn!(%error, failures, ?delay, "reconcile failed, requeuing");
            }
        }
    }

    /// One reconcile; a panic in it is an error of this object alone.
    async fn reconcile(&self, controller: &dyn Controller, key: &Key) -> Result<Action, Error> {
        let reconciling = AssertUnwindSafe(controller.reconcile(&self.cx, key)).catch_unwind();
        let limit = controller.timeout();
        match timeout(limit, reconciling).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panic)) => Err(Error::Panic(panic_message(panic.as_ref()))),
            Err(_) => Err(Error::Timeout(limit)),
        }
    }

    /// Runs while no other worker can reconcile the object: a successful reconcile must write last.
    async fn set_stalled(&self, controller: &dyn Controller, key: &Key, error: &Error) {
        let stalling = AssertUnwindSafe(controller.stalled(&self.cx, key, error)).catch_unwind();
        match timeout(STALLED_TIMEOUT, stalling).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!(%error, "failed to set the Stalled condition"),
            Ok(Err(_)) => tracing::warn!("failed to set the Stalled condition: internal error"),
            Err(_) => tracing::warn!("failed to set the Stalled condition: no answer"),
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic").to_owned()
}
