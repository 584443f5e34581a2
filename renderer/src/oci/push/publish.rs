//! Pushes many charts to one target: built on all processors, sent over a few shared connections.
//!
//! Charts are sent in their order, and dropped when they are sent. A failed one does not stop the others. Of several
//! with the same destination only the first is sent. When the batch is cancelled, no more are started, and those in
//! flight get a moment to finish.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use tokio::sync::mpsc;

use crate::diag::{Diagnostic, Diagnostics, Result};
use crate::oci::client::cancellation::Cancellation;
use crate::oci::client::transport::Transport;
use crate::oci::client::{AccessScope, Client};
use crate::oci::failure::Failure;
use crate::oci::push::Push;
use crate::oci::push::policy::{PushOptions, Pushed};
use crate::oci::{ClientOptions, Destination, Progress};
use crate::package::Packer;
use crate::package::artifact::Artifact;
use crate::reference::Digest;
use crate::world::World;

/// How many charts may be queued; as many again may be dequeued and not yet sent.
const AHEAD: usize = 8;
/// How long charts in flight may still take when the batch is cancelled: supervisors usually kill a process ten seconds
/// after SIGTERM.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// A chart, and its destination.
#[derive(Debug)]
pub struct Ready {
    /// The chart.
    pub artifact: Artifact,
    /// Where it goes.
    pub destination: Destination,
    /// The warnings for the user.
    pub warnings: Vec<Diagnostic>,
}

/// A batch of charts, and how to push it.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// How many charts there are.
    pub count: usize,
    /// Builds one of them, by its index; called on several threads.
    pub make: &'a (dyn Fn(usize, &mut Packer) -> Result<Ready> + Sync),
    /// The number of threads that build charts.
    pub threads: usize,
    /// The maximum number of concurrent requests.
    pub connections: usize,
    /// The push options.
    pub options: &'a PushOptions,
    /// Cancels the batch.
    pub cancellation: &'a Cancellation,
}

/// The result for one chart.
#[derive(Debug)]
#[non_exhaustive]
pub enum Finished {
    /// It could not be built.
    Unmade(Diagnostics),
    /// It was pushed, or the push failed.
    Sent(Box<Ready>, std::result::Result<Pushed, Failure>),
    /// It was not sent: another chart of the batch has the same destination.
    Taken {
        /// The chart.
        ready: Box<Ready>,
        /// The index of the other one.
        by: usize,
        /// Whether both have the same digest.
        same: bool,
    },
    /// The batch was cancelled before it was done.
    Stopped {
        /// The chart, if parts of it may have been sent.
        going: Option<Box<Going>>,
    },
}

/// The description of a chart before it is sent.
#[derive(Debug)]
pub struct Going {
    /// The chart's name.
    pub name: String,
    /// The chart's version, as in Chart.yaml.
    pub version: String,
    /// The manifest's digest.
    pub digest: Digest,
    /// The manifest's size in bytes.
    pub size: u64,
    /// Where it goes.
    pub destination: String,
}

impl From<&Ready> for Going {
    fn from(
        Ready {
            artifact,
            destination,
            ..
        }: &Ready,
    ) -> Self {
        Self {
            name: artifact.name.clone(),
            version: artifact.version.clone(),
            digest: artifact.digest.clone(),
            size: artifact.size(),
            destination: destination.to_string(),
        }
    }
}

type Made = (usize, Result<Ready>);

/// The next chart: to be sent, or finished already.
type Turn = std::result::Result<Box<Ready>, Finished>;

/// The state of a chart.
enum Stage {
    Waiting,
    Begun(Option<Box<Going>>),
    Finished,
}

/// Publishes a batch; `finished` is called once for each chart, in any order. Blocks until all are done.
///
/// # Errors
/// Only if nothing can be done at all; the failure of one chart is passed to `finished`.
pub fn publish(
    batch: Batch<'_>,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
    finished: &mut dyn FnMut(usize, Finished),
) -> Result<()> {
    let runtime = crate::oci::runtime().map_err(Failure::from)?;
    let (sender, receiver) = mpsc::channel(AHEAD);
    let next = AtomicUsize::new(0);
    let stages: Vec<Cell<Stage>> = (0..batch.count).map(|_| Cell::new(Stage::Waiting)).collect();
    std::thread::scope(|scope| {
        for _ in 0..batch.threads.clamp(1, batch.count.max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || make_all(&batch, next, &sender));
        }
        drop(sender);
        let connections = Some(batch.connections.max(1));
        let send = Send {
            transport: Rc::new(Transport::new(client, world, progress, connections)),
            client,
            options: batch.options,
            world,
            progress,
        };
        runtime.block_on(send.all(&batch, receiver, &stages, finished));
    });
    runtime.shutdown_background();
    for (number, stage) in stages.into_iter().map(Cell::into_inner).enumerate() {
        match stage {
            Stage::Waiting => finished(number, Finished::Stopped { going: None }),
            Stage::Begun(going) => finished(number, Finished::Stopped { going }),
            Stage::Finished => {}
        }
    }
    Ok(())
}

fn make_all(batch: &Batch<'_>, next: &AtomicUsize, sender: &mpsc::Sender<Made>) {
    let mut packer = Packer::new(1);
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= batch.count {
            return;
        }
        let made = (batch.make)(number, &mut packer);
        if sender.blocking_send((number, made)).is_err() {
            // The receiver was dropped.
            return;
        }
    }
}

/// The charts in their order, so that of two with the same destination always the same one is sent.
fn in_order(receiver: mpsc::Receiver<Made>) -> impl futures_util::Stream<Item = (usize, Turn)> {
    struct State {
        receiver: mpsc::Receiver<Made>,
        early: BTreeMap<usize, Result<Ready>>,
        next: usize,
        taken: BTreeMap<String, (usize, Digest)>,
    }
    let state = State {
        receiver,
        early: BTreeMap::new(),
        next: 0,
        taken: BTreeMap::new(),
    };
    stream::unfold(state, |mut state| async move {
        while !state.early.contains_key(&state.next) {
            let (number, made) = state.receiver.recv().await?;
            state.early.insert(number, made);
            // Receives all that are available, so that the builders are woken once for many.
            while let Ok((number, made)) = state.receiver.try_recv() {
                state.early.insert(number, made);
            }
        }
        let number = state.next;
        let made = state.early.remove(&number)?;
        state.next += 1;
        let turn = made.map(Box::new).map_err(Finished::Unmade).and_then(|ready| {
            let digest = &ready.artifact.digest;
            match state.taken.entry(ready.destination.to_string()) {
                Entry::Vacant(free) => {
                    free.insert((number, digest.clone()));
                    Ok(ready)
                }
                Entry::Occupied(taken) => {
                    let (by, other) = taken.get();
                    let (by, same) = (*by, other == digest);
                    Err(Finished::Taken { ready, by, same })
                }
            }
        });
        Some(((number, turn), state))
    })
}

/// Sends charts.
struct Send<'a> {
    transport: Rc<Transport<'a>>,
    client: &'a ClientOptions,
    options: &'a PushOptions,
    world: &'a dyn World,
    progress: &'a dyn Progress,
}

impl Send<'_> {
    /// Sends charts until there are no more, or the batch is cancelled.
    async fn all(
        &self,
        batch: &Batch<'_>,
        receiver: mpsc::Receiver<Made>,
        stages: &[Cell<Stage>],
        finished: &mut dyn FnMut(usize, Finished),
    ) {
        let set = |number: usize, stage| {
            if let Some(cell) = stages.get(number) {
                cell.set(stage);
            }
        };
        let results = in_order(receiver)
            .take_until(batch.cancellation.cancelled())
            .map(|(number, turn)| async move {
                let going = turn.as_ref().ok().map(|ready| Box::new(Going::from(&**ready)));
                set(number, Stage::Begun(going));
                (number, self.one(turn).await)
            })
            .buffer_unordered(batch.connections.max(1));
        let mut results = std::pin::pin!(results);
        let too_late = async {
            batch.cancellation.cancelled().await;
            tokio::time::sleep(CANCEL_GRACE).await;
        };
        let mut too_late = std::pin::pin!(too_late);
        loop {
            tokio::select! {
                biased;
                next = results.next() => match next {
                    Some((number, result)) => {
                        set(number, Stage::Finished);
                        finished(number, result);
                    }
                    None => return,
                },
                () = &mut too_late => return,
            }
        }
    }

    async fn one(&self, turn: Turn) -> Finished {
        let ready = match turn {
            Ok(ready) => ready,
            Err(end) => return end,
        };
        let result = match &ready.destination {
            Destination::Registry(reference) => {
                let subject = AccessScope::Write(&reference.repository, None);
                let transport = Rc::clone(&self.transport);
                match Client::over(transport, subject, self.client, self.world, self.progress) {
                    Ok(client) => {
                        let push = Push {
                            client,
                            artifact: &ready.artifact,
                            reference,
                            options: self.options,
                            progress: self.progress,
                            supply: None,
                        };
                        push.run().await
                    }
                    Err(error) => Err(error.into()),
                }
            }
            local => crate::oci::push(
                &ready.artifact,
                local,
                self.options,
                self.client,
                self.world,
                self.progress,
            ),
        };
        Finished::Sent(ready, result)
    }
}
