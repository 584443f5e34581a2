//! Leader election on a Lease.
//!
//! [`Elector::campaign`] comes back with the lead, [`Elector::keep`] when it is lost. What that
//! means for the work is the caller's business: it drops it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};

use super::lease::{Asker, Step, holder, record, released, step};
use crate::metrics::Metrics;
use crate::names::MANAGER;

/// How leader election is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderSettings {
    /// The Lease's namespace.
    pub namespace: String,
    /// The Lease's name.
    pub name: String,
    /// Who this one is.
    pub identity: String,
    /// After how long without a renewal others take over.
    pub lease_duration: Duration,
    /// After how long without a renewal the leader gives up.
    pub renew_deadline: Duration,
    /// How often it is tried.
    pub retry_period: Duration,
}

/// One candidate.
pub(super) struct Elector {
    leases: Api<Lease>,
    settings: LeaderSettings,
    metrics: Metrics,
    /// The record as last seen, since when, by this machine's clock.
    seen: Option<(Seen, Instant)>,
    leader: Option<String>,
    /// When the try began that got or renewed the lease: the API server's time of it is later.
    renewed: Instant,
}

type Seen = (Option<String>, Option<Timestamp>);

impl Elector {
    pub(super) fn new(client: Client, settings: LeaderSettings, metrics: Metrics) -> Self {
        Self {
            leases: Api::namespaced(client, &settings.namespace),
            settings,
            metrics,
            seen: None,
            leader: None,
            renewed: Instant::now(),
        }
    }

    /// Until this one leads. `heard` is called whenever the API server has answered that another one does.
    pub(super) async fn campaign(&mut self, heard: impl Fn()) {
        loop {
            let before = Instant::now();
            let tried = timeout(self.settings.renew_deadline, self.try_once()).await;
            match tried {
                Ok(Ok(true)) => {
                    self.renewed = before;
                    self.promoted();
                    return;
                }
                Ok(Ok(false)) => heard(),
                Ok(Err(error)) => tracing::warn!(%error, "the lease could not be had"),
                Err(_) => tracing::warn!("the lease could not be had: no answer"),
            }
            sleep(self.settings.retry_period).await;
        }
    }

    /// Until the lead is lost.
    pub(super) async fn keep(&mut self) {
        let deadline = self.settings.renew_deadline;
        loop {
            let left = deadline.saturating_sub(self.renewed.elapsed());
            sleep(self.settings.retry_period.min(left)).await;
            let left = deadline.saturating_sub(self.renewed.elapsed());
            if left.is_zero() {
                break;
            }
            let before = Instant::now();
            match timeout(left, self.try_once()).await {
                Ok(Ok(true)) => self.renewed = before,
                Ok(Ok(false)) => break,
                Ok(Err(error)) => tracing::warn!(%error, "the lease could not be renewed"),
                Err(_) => tracing::warn!("the lease could not be renewed: no answer"),
            }
        }
        self.demoted();
    }

    /// Gives the lead up, so that another one needn't wait for the lease to run out.
    pub(super) async fn release(&mut self) {
        let given_up = timeout(self.settings.retry_period, async {
            let lease = self.leases.get(&self.settings.name).await?;
            let Some(free) = released(&lease, &self.settings.identity, Timestamp::now()) else {
                return Ok(());
            };
            self.leases
                .replace(&self.settings.name, &post(), &free)
                .await
                .map(|_| ())
        });
        match given_up.await {
            Ok(Ok(())) => tracing::info!("gave the lease up"),
            Ok(Err(error)) => tracing::warn!(%error, "the lease could not be given up"),
            Err(_) => tracing::warn!("the lease could not be given up: no answer"),
        }
        self.demoted();
    }

    /// Whether this one leads after a try.
    async fn try_once(&mut self) -> Result<bool, kube::Error> {
        let name = self.settings.name.clone();
        let (lease, exists) = match self.leases.get_opt(&name).await? {
            Some(lease) => (lease, true),
            None => (self.fresh(), false),
        };
        let unchanged = self.note(&lease);
        let asker = Asker {
            identity: &self.settings.identity,
            duration: self.settings.lease_duration,
        };
        let next = match step(&lease, asker, unchanged, Timestamp::now()) {
            Step::Wait => {
                self.led_by(holder(&lease));
                return Ok(false);
            }
            Step::Write(next) => next,
        };
        let written = if exists {
            self.leases.replace(&name, &post(), &next).await
        } else {
            self.leases.create(&post(), &next).await
        };
        match written {
            Ok(lease) => {
                self.note(&lease);
                self.led_by(holder(&lease));
                Ok(true)
            }
            // Somebody else was faster; for a leader that means that it leads no more.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// How long the record hasn't changed.
    fn note(&mut self, lease: &Lease) -> Duration {
        let (holder, renewed) = record(lease).unwrap_or_default();
        let now = (holder.map(str::to_owned), renewed);
        match &self.seen {
            Some((seen, since)) if *seen == now => since.elapsed(),
            _ => {
                self.seen = Some((now, Instant::now()));
                Duration::ZERO
            }
        }
    }

    fn fresh(&self) -> Lease {
        Lease {
            metadata: ObjectMeta {
                name: Some(self.settings.name.clone()),
                namespace: Some(self.settings.namespace.clone()),
                ..Default::default()
            },
            spec: None,
        }
    }

    /// Called with each new leader, be it this one or another.
    fn led_by(&mut self, leader: Option<&str>) {
        if self.leader.as_deref() != leader {
            tracing::info!(leader = leader.unwrap_or("nobody"), "the leader has changed");
            self.leader = leader.map(str::to_owned);
        }
    }

    fn promoted(&self) {
        tracing::info!(identity = self.settings.identity, "leads");
        self.metrics.leader.set(1);
        self.metrics.transitions.inc();
    }

    /// The lead may be lost while it is about to be given up: it is told once.
    fn demoted(&mut self) {
        if self.metrics.leader.get() == 0 {
            return;
        }
        tracing::info!(identity = self.settings.identity, "leads no more");
        self.metrics.leader.set(0);
        self.metrics.transitions.inc();
        self.leader = None;
    }
}

fn post() -> PostParams {
    PostParams {
        field_manager: Some(MANAGER.to_owned()),
        dry_run: false,
    }
}
