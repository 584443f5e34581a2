//! Runs the operator: from settings to shutdown.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use kube::Client;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch as channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout};

use super::controllers::{Census, Controllers};
use super::cx::{Cx, Identity};
use super::health::Health;
use super::http;
use super::key::KindId;
use super::kind::Policy;
use super::leader::{Elector, LeaderSettings};
use super::metrics::{Metrics, number};
use super::metrics_access::MetricsAccess;
use super::server_tls::ServerTls;
use super::watch::Selection;
use super::work::Work;

/// How long running reconciles may take to finish after SIGTERM.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// How often gauges are updated.
const GAUGE_INTERVAL: Duration = Duration::from_secs(1);
/// How long the API server may take to validate the selectors.
const SELECTION_LIMIT: Duration = Duration::from_secs(30);
const DRAIN_INTERVAL: Duration = Duration::from_millis(20);

/// The settings of the process.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// Which objects are reconciled.
    pub selection: Selection,
    /// Leader election; without it, this process is always the leader.
    pub leader: Option<LeaderSettings>,
    /// The retry policy after errors.
    pub policy: Policy,
    /// The number of workers of a pool that doesn't set its own.
    pub concurrency: usize,
    /// Where `/metrics` is served.
    pub metrics_address: Option<SocketAddr>,
    /// The folder with the certificate and the key that `/metrics` is served with; without one it is plain HTTP.
    pub metrics_cert_dir: Option<PathBuf>,
    /// Whether only users whom the cluster allows it may read `/metrics`.
    pub metrics_authorization: bool,
    /// Where `/healthz` and `/readyz` are served.
    pub health_address: Option<SocketAddr>,
    /// The identity of this process.
    pub identity: Identity,
}

/// Errors that end the process.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A port can't be bound.
    #[error("can't listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The certificate of `/metrics` can't be used.
    #[error("--metrics-cert-dir: {0}")]
    Certificate(#[source] std::io::Error),
    /// Signal handlers can't be installed.
    #[error("can't wait for signals: {0}")]
    Signals(#[source] std::io::Error),
    /// A selector that the API server refuses.
    #[error("the tasks can't be selected: {0}")]
    Selection(String),
    /// The list of controllers is inconsistent.
    #[error("internal error: the list of controllers: {0}")]
    Controllers(String),
    /// A background task that must not return has returned.
    #[error("a watch has ended: {0}")]
    Ended(String),
}

/// Runs until SIGTERM or SIGINT. `list` creates the controllers anew for each term as leader.
pub async fn run(
    client: Client,
    metrics: Metrics,
    settings: RunSettings,
    list: impl Fn(&Cx) -> Controllers,
) -> Result<(), RunError> {
    let health = Health::default();
    let make = || {
        let (client, identity) = (client.clone(), settings.identity.clone());
        list(&Cx::new(client, identity, metrics.clone(), health.clone()))
    };
    metrics.started(Timestamp::now());
    let mut controllers = make();
    let mistakes = controllers.mistakes();
    if !mistakes.is_empty() {
        return Err(RunError::Controllers(mistakes.join("; ")));
    }
    let mut servers = servers(&client, &settings, &metrics, &health).await?;
    let mut signals = Signals::new()?;
    tokio::select! {
        checked = check_selection(&controllers, &settings.selection) => checked?,
        () = signals.wait() => return Ok(()),
    }
    let mut elector = settings
        .leader
        .clone()
        .map(|leader| Elector::new(client.clone(), leader, metrics.clone()));
    let ended = loop {
        if let Some(elector) = &mut elector {
            let all = controllers.all().clone();
            elector.on_new_leader(move |leader| {
                all.values()
                    .for_each(|controller| controller.on_new_leader(leader));
            });
            let on_other_leader = || health.set_ready(true);
            tokio::select! {
                () = signals.wait() => break Ok(()),
                () = elector.campaign(on_other_leader) => {}
            }
        } else {
            metrics.leader.set(1);
        }
        // A leader is ready once its first lists are complete.
        health.stopped();
        let term = lead(&controllers, &settings, &mut signals, elector.as_mut()).await;
        health.stopped();
        metrics.reset_gauges();
        match term {
            Ok(End::LeaseLost) => controllers = make(),
            ended => {
                if let Some(elector) = &mut elector {
                    elector.release().await;
                }
                break ended.map(|_| ());
            }
        }
    };
    servers.abort_all();
    ended.map(|()| tracing::info!("shut down"))
}

/// Lets the API server validate the selectors: one that it refuses now it would always refuse. If it doesn't answer,
/// the watches retry.
async fn check_selection(controllers: &Controllers, selection: &Selection) -> Result<(), RunError> {
    let kinds = controllers.kinds();
    let answers = kinds.map(|kind| selection.check(controllers.cx(), kind));
    let answers = timeout(SELECTION_LIMIT, join_all(answers)).await;
    let refused = answers.into_iter().flatten().find_map(|answer| match answer {
        Err(kube::Error::Api(status)) if status.code == 400 => Some(status.message),
        _ => None,
    });
    refused.map_or(Ok(()), |message| Err(RunError::Selection(message)))
}

/// Why the work stopped.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// SIGTERM.
    Shutdown,
    /// Another process became leader.
    LeaseLost,
}

/// Reconciles while this process is the leader.
pub(super) async fn lead(
    controllers: &Controllers,
    settings: &RunSettings,
    signals: &mut Signals,
    elector: Option<&mut Elector>,
) -> Result<End, RunError> {
    let all = controllers.all();
    all.values().for_each(|controller| controller.on_promotion());
    let end = work(controllers, settings, signals, elector).await;
    all.values().for_each(|controller| controller.on_demotion());
    end
}

/// When this returns, all work has been dropped.
async fn work(
    controllers: &Controllers,
    settings: &RunSettings,
    signals: &mut Signals,
    elector: Option<&mut Elector>,
) -> Result<End, RunError> {
    let (stop, stops) = channel::channel(false);
    // Dropping the set drops all work.
    let mut work = JoinSet::new();
    let keep = async {
        match elector {
            Some(elector) => elector.keep().await,
            None => std::future::pending().await,
        }
    };
    let mut keep = std::pin::pin!(keep);
    let begin = begin(controllers, settings, &mut work, &stops);
    tokio::select! {
        () = begin => {}
        () = &mut keep => return Ok(End::LeaseLost),
        () = signals.wait() => return Ok(End::Shutdown),
    }
    tokio::select! {
        () = &mut keep => Ok(End::LeaseLost),
        () = signals.wait() => {
            tokio::select! {
                () = drain(controllers.cx(), &stop) => {},
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

/// Starts the watches, and the workers once the first lists are complete.
async fn begin(
    controllers: &Controllers,
    settings: &RunSettings,
    work: &mut JoinSet<()>,
    stops: &channel::Receiver<bool>,
) {
    let (cx, (synced, mut synced_watches)) = (controllers.cx(), mpsc::unbounded_channel());
    // A dependent's owner is only found once the primaries are listed.
    for watches in controllers.watching(&settings.selection, &synced) {
        let expected = watches.len();
        watches.into_iter().for_each(|watch| drop(work.spawn(watch)));
        for _ in 0..expected {
            synced_watches.recv().await;
        }
    }
    let shared = Work {
        cx: cx.clone(),
        controllers: Arc::new(controllers.all().clone()),
        policy: settings.policy,
    };
    let pools = cx.pools();
    for (pool, queue) in &pools {
        for _ in 0..pool.workers.unwrap_or(settings.concurrency) {
            work.spawn(shared.clone().worker(queue.clone(), stops.clone()));
        }
    }
    work.spawn(gauges(shared));
    cx.health().watch_workers(pools.into_values().collect());
    cx.health().set_ready(true);
    tracing::info!(concurrency = settings.concurrency, "controllers started");
}

/// Waits for running reconciles to finish.
async fn drain(cx: &Cx, stop: &channel::Sender<bool>) {
    tracing::info!("received SIGTERM, draining");
    let _ = stop.send(true);
    let queues = cx.pools();
    let idle = async {
        while queues.values().any(|queue| queue.counts().1 > 0) {
            sleep(DRAIN_INTERVAL).await;
        }
    };
    if timeout(DRAIN_LIMIT, idle).await.is_err() {
        tracing::warn!("some reconciles did not finish in time");
    }
}

async fn gauges(work: Work) {
    let (cx, mut ticks) = (&work.cx, interval(GAUGE_INTERVAL));
    let queues = cx.pools();
    let mut counted: BTreeMap<KindId, (u64, Census)> = BTreeMap::new();
    loop {
        ticks.tick().await;
        let metrics = cx.metrics();
        let counts = queues.values().map(super::queue::Queue::counts);
        let (ready, active, scheduled) = counts.fold((0, 0, 0), |sum, count| {
            (sum.0 + count.0, sum.1 + count.1, sum.2 + count.2)
        });
        metrics.queued.set(number(ready));
        metrics.active.set(number(active));
        metrics.scheduled.set(number(scheduled));
        metrics.set_failing(&cx.health().failing(Instant::now()));
        for (kind, controller) in work.controllers.iter() {
            let version = controller.store_version(cx);
            if counted.get(kind).is_none_or(|(old, _)| *old != version) {
                counted.insert(*kind, (version, controller.census(cx)));
            }
            if let Some((_, census)) = counted.get(kind) {
                metrics.set_census(*kind, census, cx.now());
            }
        }
    }
}

async fn servers(
    client: &Client,
    settings: &RunSettings,
    metrics: &Metrics,
    health: &Health,
) -> Result<JoinSet<()>, RunError> {
    let mut servers = JoinSet::new();
    let tls = settings.metrics_cert_dir.clone().map(ServerTls::load);
    let tls = tls.transpose().map_err(RunError::Certificate)?;
    let access = settings
        .metrics_authorization
        .then(|| MetricsAccess::new(client.clone()));
    let of_health = http::Pages {
        state: health.clone(),
        metrics: None,
        health: true,
        access: None,
        tls: None,
    };
    let of_metrics = http::Pages {
        metrics: Some(metrics.clone()),
        health: false,
        access,
        tls,
        ..of_health.clone()
    };
    let mut listeners = Vec::new();
    match (settings.metrics_address, settings.health_address) {
        (Some(one), Some(other)) if one == other && one.port() != 0 => {
            let both = http::Pages {
                health: true,
                ..of_metrics
            };
            listeners.push((one, "health and metrics", both));
        }
        (one, other) => {
            listeners.extend(one.map(|address| (address, "metrics", of_metrics)));
            listeners.extend(other.map(|address| (address, "health", of_health)));
        }
    }
    for (address, what, pages) in listeners {
        let listener = match TcpListener::bind(address).await {
            // The machine has no IPv6.
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
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, RunError> {
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
