//! Leader election on a Lease.
//!
//! [`Elector::campaign`] returns when this process is the leader, [`Elector::keep`] when it lost leadership. The caller
//! then drops its work.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};

use super::lease::{Candidate, Step, holder, record, released, step};
use crate::names::MANAGER;
use crate::runtime::metrics::Metrics;

/// The settings of leader election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderSettings {
    /// The Lease's namespace.
    pub namespace: String,
    /// The Lease's name.
    pub name: String,
    /// The identity of this candidate.
    pub identity: String,
    /// Lease duration: other replicas take over after this long without a renewal.
    pub lease_duration: Duration,
    /// Renew deadline: the leader steps down after this long without a renewal.
    pub renew_deadline: Duration,
    /// Retry period: how often the lease is requested or renewed.
    pub retry_period: Duration,
}

/// One candidate.
pub(super) struct Elector {
    leases: Api<Lease>,
    settings: LeaderSettings,
    metrics: Metrics,
    /// The last seen version of the record, and since when by this machine's clock.
    seen: Option<(TaskVersion, Instant)>,
    leader: Option<String>,
    /// When the request began that acquired or renewed the lease: the API server's time of it is later.
    renewed: Instant,
    /// Called with each new leader's identity.
    on_new_leader: NewLeader,
}

type NewLeader = Box<dyn Fn(&str) + Send>;

type TaskVersion = (Option<String>, Option<Timestamp>);

impl Elector {
    pub(super) fn new(client: Client, settings: LeaderSettings, metrics: Metrics) -> Self {
        Self {
            leases: Api::namespaced(client, &settings.namespace),
            settings,
            metrics,
            seen: None,
            leader: None,
            renewed: Instant::now(),
            on_new_leader: Box::new(|_| {}),
        }
    }

    /// From now on, calls this with the identity of each new leader, this process included.
    pub(super) fn on_new_leader(&mut self, callback: impl Fn(&str) + Send + 'static) {
        self.on_new_leader = Box::new(callback);
    }

    /// Returns when this process is the leader. `on_other_leader` is called whenever the API server reports another
    /// leader.
    pub(super) async fn campaign(&mut self, on_other_leader: impl Fn()) {
        loop {
            let before = Instant::now();
            let tried = timeout(self.settings.renew_deadline, self.try_once()).await;
            match tried {
                Ok(Ok(true)) => {
                    self.renewed = before;
                    self.promoted();
                    return;
                }
                Ok(Ok(false)) => on_other_leader(),
                Ok(Err(error)) => tracing::warn!(%error, "failed to acquire the lease"),
                Err(_) => tracing::warn!("failed to acquire the lease: no answer"),
            }
            sleep(self.settings.retry_period).await;
        }
    }

    /// Renews the lease; returns when leadership is lost.
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
                Ok(Err(error)) => tracing::warn!(%error, "failed to renew the lease"),
                Err(_) => tracing::warn!("failed to renew the lease: no answer"),
            }
        }
        self.demoted();
    }

    /// Releases the lease, so that another replica needn't wait until it expires.
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
            Ok(Ok(())) => tracing::info!("released the lease"),
            Ok(Err(error)) => tracing::warn!(%error, "failed to release the lease"),
            Err(_) => tracing::warn!("failed to release the lease: no answer"),
        }
        self.demoted();
    }

    /// Tries to acquire or renew the lease once; returns whether this process is the leader.
    async fn try_once(&mut self) -> Result<bool, kube::Error> {
        let name = self.settings.name.clone();
        let (lease, exists) = match self.leases.get_opt(&name).await? {
            Some(lease) => (lease, true),
            None => (self.fresh(), false),
        };
        let unchanged = self.note(&lease);
        let asker = Candidate {
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
            // Another process wrote first; a leader has then lost leadership.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Records the lease's version; returns for how long it hasn't changed.
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

    /// Reports a new leader, this process included.
    fn led_by(&mut self, leader: Option<&str>) {
        if self.leader.as_deref() != leader {
            tracing::info!(leader = leader.unwrap_or("none"), "new leader");
            self.leader = leader.map(str::to_owned);
            leader.into_iter().for_each(|leader| (self.on_new_leader)(leader));
        }
    }

    fn promoted(&self) {
        tracing::info!(identity = self.settings.identity, "became leader");
        self.metrics.leader.set(1);
        self.metrics.transitions.inc();
    }

    /// Reports lost leadership once, also when it is lost while the lease is being released.
    fn demoted(&mut self) {
        if self.metrics.leader.get() == 0 {
            return;
        }
        tracing::info!(identity = self.settings.identity, "lost leadership");
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use super::*;
    use crate::tests::{api, refusal, run};

    const DEADLINE: Duration = Duration::from_secs(10);
    const PERIOD: Duration = Duration::from_secs(2);

    /// How the API server behaves once there is a leader.
    #[derive(Debug, Clone, Copy)]
    enum ApiServer {
        /// It answers every request with an error.
        Fails,
        /// It never answers.
        Silent,
        /// Another process holds the lease.
        Stolen,
        /// Another process writes between GET and PUT.
        Overtaken,
        /// Two requests of five fail.
        Shaky,
    }

    /// An elector that has just become leader, and its metrics.
    async fn leading(server: ApiServer) -> (Elector, Metrics) {
        let (stored, leads) = (Mutex::new(Value::Null), Arc::new(AtomicBool::new(false)));
        let (turned, requests) = (Arc::clone(&leads), AtomicUsize::new(0));
        let client = api(move |method, _, body| {
            let mut stored = stored.lock().expect("the record");
            if turned.load(Ordering::Relaxed) {
                let number = requests.fetch_add(1, Ordering::Relaxed);
                match server {
                    ApiServer::Silent => return None,
                    ApiServer::Fails => return Some(refusal(500, "InternalError")),
                    ApiServer::Shaky if number % 5 < 2 => return Some(refusal(500, "InternalError")),
                    ApiServer::Overtaken if method != "GET" => return Some(refusal(409, "Conflict")),
                    ApiServer::Stolen => {
                        stored["spec"]["holderIdentity"] = "other".into();
                        stored["spec"]["leaseDurationSeconds"] = 3600.into();
                    }
                    ApiServer::Shaky | ApiServer::Overtaken => {}
                }
            }
            match method {
                "GET" if stored.is_null() => return Some(refusal(404, "NotFound")),
                "GET" => {}
                _ => *stored = body,
            }
            Some((200, stored.clone()))
        });
        let settings = LeaderSettings {
            namespace: "solar-system".into(),
            name: "lease".into(),
            identity: "me".into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: DEADLINE,
            retry_period: PERIOD,
        };
        let metrics = Metrics::default();
        let mut elector = Elector::new(client, settings, metrics.clone());
        let (leaders, new_leader) = (Arc::new(Mutex::new(Vec::new())), "me".to_owned());
        let seen = Arc::clone(&leaders);
        elector.on_new_leader(move |leader| seen.lock().expect("the leaders").push(leader.to_owned()));
        elector.campaign(|| {}).await;
        assert_eq!(*leaders.lock().expect("the leaders"), [new_leader]);
        assert_eq!(metrics.leader.get(), 1);
        leads.store(true, Ordering::Relaxed);
        (elector, metrics)
    }

    #[test]
    fn leadership_is_lost_at_the_renew_deadline_or_when_another_process_has_the_lease() {
        for (server, after) in [
            (ApiServer::Fails, DEADLINE),
            (ApiServer::Silent, DEADLINE),
            (ApiServer::Stolen, PERIOD),
            (ApiServer::Overtaken, PERIOD),
        ] {
            run(async {
                let (mut elector, metrics) = leading(server).await;
                let start = Instant::now();
                elector.keep().await;
                // Timers have a resolution of one millisecond.
                let late = start.elapsed().saturating_sub(after);
                assert!(
                    start.elapsed() >= after && late < Duration::from_millis(50),
                    "{server:?}: {late:?}"
                );
                assert_eq!(
                    (metrics.leader.get(), metrics.transitions.get()),
                    (0, 2),
                    "{server:?}"
                );
            });
        }
    }

    #[test]
    fn errors_between_renewals_lose_no_leadership() {
        run(async {
            let (mut elector, metrics) = leading(ApiServer::Shaky).await;
            let minutes = timeout(DEADLINE * 30, elector.keep()).await;
            assert!(minutes.is_err(), "leadership was lost");
            assert_eq!((metrics.leader.get(), metrics.transitions.get()), (1, 1));
        });
    }
}
