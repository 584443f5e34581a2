//! Many charts to one target: made on all processors, sent over a few shared connections.
//!
//! Charts are taken in their order, and dropped when they are sent. One that fails stops no other.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::{self, StreamExt as _};
use tokio::sync::mpsc;

use super::client::{Client, Subject};
use super::policy::{Failure, PushOptions, Pushed};
use super::push::Push;
use super::transport::Transport;
use super::{ClientOptions, Destination, Progress};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::package::Packer;
use crate::package::artifact::Artifact;
use crate::world::World;

/// How many charts may be ready and not yet taken; as many again may be taken and not yet sent.
const AHEAD: usize = 8;

/// A chart, and where it goes.
#[derive(Debug)]
pub struct Ready {
    /// The chart.
    pub artifact: Artifact,
    /// Where it goes.
    pub destination: Destination,
    /// What the user should know.
    pub warnings: Vec<Diagnostic>,
}

/// What is to be done, and how.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// How many charts there are.
    pub count: usize,
    /// Makes one of them, by its number; called on several threads.
    pub make: &'a (dyn Fn(usize, &mut Packer) -> Result<Ready> + Sync),
    /// How many threads make charts.
    pub threads: usize,
    /// How many requests are on their way at once.
    pub connections: usize,
    /// The policy.
    pub options: &'a PushOptions,
}

/// What became of one chart.
#[derive(Debug)]
pub enum Finished {
    /// It could not be made, or not be sent beside another one.
    Unmade(Diagnostics),
    /// It was sent, or its target said no.
    Sent(Box<Ready>, std::result::Result<Pushed, Failure>),
}

type Made = (usize, Result<Ready>);

/// Publishes a batch; `finished` hears of each chart once, in any order. Blocks until all are done.
///
/// # Errors
/// Only when nothing at all can be done; what fails for one chart is told to `finished`.
pub fn publish(
    batch: Batch<'_>,
    client: &ClientOptions,
    world: &dyn World,
    progress: &dyn Progress,
    finished: &mut dyn FnMut(usize, Finished),
) -> Result<()> {
    let runtime = super::runtime().map_err(Failure::from)?;
    let (sender, receiver) = mpsc::channel(AHEAD);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..batch.threads.clamp(1, batch.count.max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || make_all(&batch, next, &sender));
        }
        drop(sender);
        let transport = Rc::new(Transport::new(
            client,
            world,
            progress,
            Some(batch.connections.max(1)),
        ));
        let send = Send {
            transport,
            client,
            options: batch.options,
            world,
            progress,
        };
        runtime.block_on(async {
            let send = &send;
            let results = in_order(receiver)
                .map(|(number, made)| async move { (number, send.one(made).await) })
                .buffer_unordered(batch.connections.max(1));
            let mut results = std::pin::pin!(results);
            while let Some((number, result)) = results.next().await {
                finished(number, result);
            }
        });
    });
    runtime.shutdown_background();
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
            // Nobody listens any more.
            return;
        }
    }
}

/// The charts in their order, so that of two with one destination the same one is always refused.
fn in_order(receiver: mpsc::Receiver<Made>) -> impl futures_util::Stream<Item = Made> {
    struct State {
        receiver: mpsc::Receiver<Made>,
        early: BTreeMap<usize, Result<Ready>>,
        next: usize,
        taken: BTreeSet<String>,
    }
    let state = State {
        receiver,
        early: BTreeMap::new(),
        next: 0,
        taken: BTreeSet::new(),
    };
    stream::unfold(state, |mut state| async move {
        while !state.early.contains_key(&state.next) {
            let (number, made) = state.receiver.recv().await?;
            state.early.insert(number, made);
            // All there are: those who make them are then woken once for many.
            while let Ok((number, made)) = state.receiver.try_recv() {
                state.early.insert(number, made);
            }
        }
        let number = state.next;
        let made = state.early.remove(&number)?;
        state.next += 1;
        let made = made.and_then(|ready| {
            let name = ready.destination.to_string();
            if state.taken.insert(name.clone()) {
                return Ok(ready);
            }
            let message = format!("{name} is the destination of another chart of this run, too");
            Err(Diagnostic::error(Class::Config, message)
                .note("nothing was sent for this one")
                .into())
        });
        Some(((number, made), state))
    })
}

/// How charts are sent.
struct Send<'a> {
    transport: Rc<Transport<'a>>,
    client: &'a ClientOptions,
    options: &'a PushOptions,
    world: &'a dyn World,
    progress: &'a dyn Progress,
}

impl Send<'_> {
    async fn one(&self, made: Result<Ready>) -> Finished {
        let ready = match made {
            Ok(ready) => Box::new(ready),
            Err(problem) => return Finished::Unmade(problem),
        };
        let result = match &ready.destination {
            Destination::Registry(reference) => {
                let subject = Subject::Write(&reference.repository, None);
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
            local => super::push(
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
