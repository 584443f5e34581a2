//! From settings to a running operator, and to its end.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use kube::Client;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch as channel};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};

use super::leader::{Elector, LeaderSettings};
use super::watch::{self, Selection};
use super::{http, work};
use crate::api::Scope;
use crate::controllers::rendertask::{Context, Settings};
use crate::runtime::metrics::Metrics;
use crate::runtime::queue::{Backoff, Queue};

/// How long reconciles that have begun may take to end after SIGTERM.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// How often gauges are set and the queue is asked whether it is empty.
const GAUGE_INTERVAL: Duration = Duration::from_secs(1);
/// How long the API server may take to say whether it takes the selectors.
const SELECTION_LIMIT: Duration = Duration::from_secs(30);
const DRAIN_INTERVAL: Duration = Duration::from_millis(20);

/// The settings of the process.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// What reconciles need.
    pub settings: Settings,
    /// Which tasks.
    pub selection: Selection,
    /// Leader election; without it, this process is the leader.
    pub leader: Option<LeaderSettings>,
    /// The backoff after errors.
    pub backoff: Backoff,
    /// After how many errors in a row a task is Stalled.
    pub max_retries: u32,
    /// Maximum concurrent reconciles.
    pub concurrency: usize,
    /// Where `/metrics` is served.
    pub metrics_address: Option<SocketAddr>,
    /// Where `/healthz` and `/readyz` are served.
    pub health_address: Option<SocketAddr>,
}

/// Why the process can't run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A port.
    #[error("can't listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// Signals.
    #[error("can't wait for signals: {0}")]
    Signals(#[source] std::io::Error),
    /// A selector that no watch will ever take.
    #[error("the tasks can't be selected: {0}")]
    Selection(String),
    /// A task that must never end has ended.
    #[error("a watch has ended: {0}")]
    Ended(String),
}

/// Runs until SIGTERM or SIGINT.
pub async fn run(client: Client, settings: RunSettings) -> Result<(), RunError> {
    let metrics = Metrics::default();
    metrics.started(seconds(jiff::Timestamp::now()));
    let ready = Arc::new(AtomicBool::new(false));
    let mut servers = servers(&settings, &metrics, &ready).await?;
    let mut signals = Signals::new()?;
    tokio::select! {
        checked = check_selection(&client, &settings.selection) => checked?,
        () = signals.wait() => return Ok(()),
    }
    let ended = match settings.leader.clone() {
        None => {
            metrics.leader.set(1);
            lead(&client, &settings, &metrics, &ready, &mut signals, None).await
        }
        Some(leader) => {
            let mut elector = Elector::new(client.clone(), leader, metrics.clone());
            loop {
                let on_other_leader = || ready.store(true, Ordering::Relaxed);
                tokio::select! {
                    () = signals.wait() => break Ok(()),
                    () = elector.campaign(on_other_leader) => {}
                }
                // A leader is ready when it has seen what there is.
                ready.store(false, Ordering::Relaxed);
                let end = lead(
                    &client,
                    &settings,
                    &metrics,
                    &ready,
                    &mut signals,
                    Some(&mut elector),
                )
                .await;
                metrics.reset_gauges();
                match end {
                    Ok(End::LeaseLost) => {}
                    Ok(End::Shutdown) => {
                        elector.release().await;
                        break Ok(());
                    }
                    Err(fault) => {
                        elector.release().await;
                        break Err(fault);
                    }
                }
            }
            .map(|()| End::Shutdown)
        }
    };
    servers.abort_all();
    ended.map(|_| tracing::info!("shut down"))
}

/// Selectors are the API server's to read. What it refuses would be refused for ever; without an answer the
/// watches will ask again.
async fn check_selection(client: &Client, selection: &Selection) -> Result<(), RunError> {
    let answers = Scope::ALL.map(|scope| selection.ask(client.clone(), scope));
    let answers = timeout(SELECTION_LIMIT, join_all(answers)).await;
    let refused = answers.into_iter().flatten().find_map(|answer| match answer {
        Err(kube::Error::Api(status)) if status.code == 400 => Some(status.message),
        _ => None,
    });
    refused.map_or(Ok(()), |message| Err(RunError::Selection(message)))
}

/// How the work ended.
enum End {
    /// SIGTERM.
    Shutdown,
    /// Somebody else leads.
    LeaseLost,
}

/// Reconciles while this process is the leader.
async fn lead(
    client: &Client,
    settings: &RunSettings,
    metrics: &Metrics,
    ready: &AtomicBool,
    signals: &mut Signals,
    elector: Option<&mut Elector>,
) -> Result<End, RunError> {
    let queue = Queue::new(settings.backoff);
    let context = Context::new(client.clone(), settings.settings.clone(), queue, metrics.clone());
    let context = Arc::new(context);
    let (stop, stops) = channel::channel(false);
    // Dropping the set drops all work where it stands.
    let mut work = JoinSet::new();
    let keep = async {
        match elector {
            Some(elector) => elector.keep().await,
            None => std::future::pending().await,
        }
    };
    let mut keep = std::pin::pin!(keep);
    let begin = begin(&context, settings, ready, &mut work, &stops);
    tokio::select! {
        () = begin => {}
        () = &mut keep => return Ok(End::LeaseLost),
        () = signals.wait() => return Ok(End::Shutdown),
    }
    tokio::select! {
        () = &mut keep => Ok(End::LeaseLost),
        () = signals.wait() => {
            tokio::select! {
                () = drain(&context, &stop) => {},
                () = &mut keep => {},
            }
            Ok(End::Shutdown)
        }
        ended = work.join_next() => Err(RunError::Ended(match ended {
            Some(Err(error)) => error.to_string(),
            _ => "for no reason".to_owned(),
        })),
    }
}

/// Starts the watches, and the workers once all that exists is known.
async fn begin(
    context: &Arc<Context>,
    settings: &RunSettings,
    ready: &AtomicBool,
    work: &mut JoinSet<()>,
    stops: &channel::Receiver<bool>,
) {
    let selection = &settings.selection;
    let (synced, mut synced_watches) = mpsc::unbounded_channel();
    let mut watched: Vec<_> = selection
        .namespaces()
        .into_iter()
        .map(|namespace| (Scope::Namespaced, namespace))
        .collect();
    watched.push((Scope::Cluster, None));
    watched.retain(|(scope, _)| selection.fields_of(*scope).is_some());
    let expected = watched.len();
    for (scope, namespace) in watched {
        work.spawn(watch::tasks(
            Arc::clone(context),
            scope,
            namespace,
            selection.clone(),
            synced.clone(),
        ));
    }
    for _ in 0..expected {
        synced_watches.recv().await;
    }
    // Whose a Job is is only known when the tasks are known.
    let dependents = selection.dependent_namespaces(&settings.settings.job.job_namespace);
    for namespace in &dependents {
        work.spawn(watch::jobs(
            Arc::clone(context),
            namespace.clone(),
            synced.clone(),
        ));
        work.spawn(watch::pods(
            Arc::clone(context),
            namespace.clone(),
            synced.clone(),
        ));
    }
    for _ in 0..dependents.len() * 2 {
        synced_watches.recv().await;
    }
    for _ in 0..settings.concurrency {
        work.spawn(work::worker(
            Arc::clone(context),
            settings.max_retries,
            stops.clone(),
        ));
    }
    work.spawn(gauges(Arc::clone(context)));
    ready.store(true, Ordering::Relaxed);
    tracing::info!(concurrency = settings.concurrency, "controllers started");
}

/// Lets reconciles that have begun come to an end.
async fn drain(context: &Context, stop: &channel::Sender<bool>) {
    tracing::info!("received SIGTERM, draining");
    let _ = stop.send(true);
    let idle = async {
        while context.queue.counts().1 > 0 {
            sleep(DRAIN_INTERVAL).await;
        }
    };
    if timeout(DRAIN_LIMIT, idle).await.is_err() {
        tracing::warn!("some reconciles did not end in time");
    }
}

async fn gauges(context: Arc<Context>) {
    let mut ticks = interval(GAUGE_INTERVAL);
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    loop {
        ticks.tick().await;
        let (ready, active, scheduled) = context.queue.counts();
        let (taken, waited_for) = context.slots().counts();
        let metrics = &context.metrics;
        metrics.queued.set(number(ready));
        metrics.active.set(number(active));
        metrics.scheduled.set(number(scheduled));
        metrics.slots_taken.set(number(taken));
        metrics.slots_waited_for.set(number(waited_for));
        let (jobs, pods) = context.index().counts();
        metrics.jobs_known.set(number(jobs));
        metrics.pods_known.set(number(pods));
    }
}

async fn servers(
    settings: &RunSettings,
    metrics: &Metrics,
    ready: &Arc<AtomicBool>,
) -> Result<JoinSet<()>, RunError> {
    let mut servers = JoinSet::new();
    let pages = |metrics, health| http::Pages {
        ready: Arc::clone(ready),
        metrics,
        health,
    };
    let mut wanted = Vec::new();
    match (settings.metrics_address, settings.health_address) {
        (Some(one), Some(other)) if one == other && one.port() != 0 => {
            wanted.push((one, "health and metrics", pages(Some(metrics.clone()), true)));
        }
        (one, other) => {
            wanted.extend(one.map(|address| (address, "metrics", pages(Some(metrics.clone()), false))));
            wanted.extend(other.map(|address| (address, "health", pages(None, true))));
        }
    }
    for (address, what, pages) in wanted {
        let listener = match TcpListener::bind(address).await {
            // A machine without IPv6.
            Err(_) if address.ip() == Ipv6Addr::UNSPECIFIED => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
            }
            bound => bound,
        };
        let listener = listener.map_err(|source| RunError::Listen { address, source })?;
        let bound = http::address(&listener).unwrap_or(address);
        tracing::info!(what, address = %bound, "serving");
        servers.spawn(http::serve(listener, pages));
    }
    Ok(servers)
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self, RunError> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(RunError::Signals)?,
            interrupt: signal(SignalKind::interrupt()).map_err(RunError::Signals)?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {},
            _ = self.interrupt.recv() => {},
        }
    }
}

fn seconds(time: jiff::Timestamp) -> f64 {
    time.as_millisecond() as f64 / 1000.0
}
