//! Small artificial kinds for the runtime's tests, and their controllers with workers but without watches.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch as channel};
use tokio::task::JoinSet;

use super::controllers::Controllers;
use super::cx::{Cx, Identity};
use super::error::Error;
use super::health::Health;
use super::key::{Key, KindId, ObjectName};
use super::kind::{Action, Dependent, Kind, ObjectState, Policy, Pool, Wake, Watched};
use super::leader::LeaderSettings;
use super::metrics::Metrics;
use super::primary::{Primary, Role};
use super::queue::Backoff;
use super::run::RunSettings;
use super::views::{MetadataOnly, Object, bounded};
use super::watch::{ObjectEvent, Selection};
use super::work::Work;
use crate::tests::{api, refusal};

/// Lamps; a room has many of them.
pub(crate) const LAMPS: KindId = kind("Lamp", "lamps");
/// Rooms.
pub(crate) const ROOMS: KindId = kind("Room", "rooms");

const fn kind(kind: &'static str, plural: &'static str) -> KindId {
    KindId {
        kind,
        group: "test.example",
        version: "v1",
        plural,
        namespaced: true,
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Lamp {
    pub(crate) spec: LampSpec,
    pub(crate) status: Option<LampStatus>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct LampSpec {
    #[serde(deserialize_with = "bounded")]
    pub(crate) room: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct LampStatus {
    on: bool,
}

/// A lamp of a room; its UID is its name.
pub(crate) fn lamp(namespace: &str, name: &str, room: &str, generation: i64) -> Object<Lamp> {
    object(namespace, name, generation, &json!({"room": room}), &Value::Null)
}

pub(super) fn object<V: super::views::View>(
    namespace: &str,
    name: &str,
    generation: i64,
    spec: &Value,
    status: &Value,
) -> Object<V> {
    serde_json::from_value(json!({
        "metadata": {
            "namespace": namespace, "name": name, "uid": format!("{namespace}/{name}"), "generation": generation,
            "resourceVersion": "7",
        },
        "spec": spec,
        "status": status,
    }))
    .expect("an object")
}

pub(crate) fn name(namespace: &str, name: &str) -> ObjectName {
    ObjectName::new(namespace, name)
}

type Outcome = Arc<dyn Fn(&Key) -> Result<Action, Error> + Send + Sync>;

/// Records reconciles for a test, and controls them.
#[derive(Clone)]
pub(super) struct Script {
    log: Arc<Mutex<Vec<String>>>,
    /// A reconcile waits for a permit of this and consumes it.
    pub(super) gate: Arc<Semaphore>,
    outcome: Outcome,
}

impl Script {
    pub(super) fn new(outcome: impl Fn(&Key) -> Result<Action, Error> + Send + Sync + 'static) -> Self {
        Self {
            log: Arc::default(),
            gate: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            outcome: Arc::new(outcome),
        }
    }

    pub(super) fn gated(self) -> Self {
        Self {
            gate: Arc::new(Semaphore::new(0)),
            ..self
        }
    }

    fn note(&self, line: String) {
        self.log.lock().expect("the log").push(line);
    }

    pub(super) fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().expect("the log"))
    }

    async fn reconcile(&self, key: &Key) -> Result<Action, Error> {
        self.note(format!("{} {key}", key.kind.kind));
        let permit = self.gate.acquire().await.expect("a gate");
        permit.forget();
        self.note(format!("{} {key} done", key.kind.kind));
        (self.outcome)(key)
    }
}

/// Reconciled in the shared pool.
pub(super) struct Lamps(pub(super) Script);
/// Rooms have a pool of their own, with one worker.
pub(super) struct Rooms(pub(super) Script);
/// Only read by other kinds.
pub(super) struct Switches;

impl Watched for Lamps {
    const ID: KindId = LAMPS;
    const STATES: &'static [&'static str] = &["On", "Off"];
    type View = Lamp;

    fn state(lamp: &Object<Lamp>) -> Option<ObjectState<'_>> {
        let on = lamp.view()?.status.as_ref().is_some_and(|status| status.on);
        Some(ObjectState {
            name: if on { "On" } else { "Off" },
            waiting: !on,
        })
    }
}

impl Watched for Rooms {
    const ID: KindId = ROOMS;
    type View = MetadataOnly;
}

impl Watched for Switches {
    const ID: KindId = kind("Switch", "switches");
    type View = MetadataOnly;
}

impl Dependent for Switches {
    /// A switch wakes the lamp of its name.
    fn handle(&self, event: ObjectEvent<'_, MetadataOnly>) -> Vec<Wake> {
        match event {
            ObjectEvent::Applied { object, .. } => vec![Wake {
                key: object.key(LAMPS),
                urgent: true,
            }],
            _ => Vec::new(),
        }
    }
}

impl Kind for Lamps {
    async fn reconcile(&self, _: &Cx, key: &Key) -> Result<Action, Error> {
        self.0.reconcile(key).await
    }

    fn status_modified(&self, key: &Key) {
        self.0.note(format!("status of {key}"));
    }

    fn failed(&self, key: &Key) {
        self.0.note(format!("failed {key}"));
    }

    fn on_promotion(&self) {
        self.0.note("promoted".into());
    }

    fn on_demotion(&self) {
        self.0.note("demoted".into());
    }
}

impl Kind for Rooms {
    const POOL: Pool = Pool {
        name: "rooms",
        workers: Some(1),
    };

    async fn reconcile(&self, _: &Cx, key: &Key) -> Result<Action, Error> {
        self.0.reconcile(key).await
    }
}

pub(super) fn cx(client: Client) -> Cx {
    Cx::new(client, Identity::default(), Metrics::default(), Health::default())
}

pub(super) fn no_api() -> Client {
    api(|_, _, _| Some(refusal(500, "InternalError")))
}

pub(super) fn done(_: &Key) -> Result<Action, Error> {
    Ok(Action::done())
}

pub(super) fn applied<V>(object: Object<V>) -> ObjectEvent<'static, V> {
    ObjectEvent::Applied {
        object,
        listed: false,
    }
}

/// Controllers with their workers, two for each pool by default; the test plays the watches.
pub(super) struct Bench {
    pub(super) cx: Cx,
    pub(super) lamps: Primary<Lamps>,
    pub(super) rooms: Primary<Rooms>,
    pub(super) stop: channel::Sender<bool>,
    pub(super) workers: JoinSet<()>,
}

impl Bench {
    pub(super) fn start(client: Client, lamps: &Script, rooms: &Script) -> Self {
        let cx = cx(client);
        let controllers = Controllers::new(&cx)
            .kind(Lamps(lamps.clone()))
            .kind(Rooms(rooms.clone()))
            .index::<Lamps>("room", rooms_of)
            .wake::<Lamps, Rooms>(|lamp, _| rooms_of(lamp))
            .wake::<Rooms, Lamps>(|room, stores| {
                let lamps = stores.of::<Lamps>().by("room", &room.name());
                lamps.iter().map(|lamp| lamp.name()).collect()
            });
        assert_eq!(controllers.mistakes(), Vec::<String>::new());
        let work = Work {
            cx: cx.clone(),
            controllers: Arc::new(controllers.all().clone()),
            policy: settings().policy,
        };
        let (stop, stops) = channel::channel(false);
        let mut workers = JoinSet::new();
        for (pool, queue) in cx.pools() {
            for _ in 0..pool.workers.unwrap_or(2) {
                workers.spawn(work.clone().worker(queue.clone(), stops.clone()));
            }
        }
        Self {
            lamps: Primary::new(cx.clone(), Arc::new(Lamps(lamps.clone())), Role::All),
            rooms: Primary::new(cx.clone(), Arc::new(Rooms(rooms.clone())), Role::All),
            cx,
            stop,
            workers,
        }
    }

    /// Waits until no reconcile is left to do now.
    pub(super) async fn settle(&self) {
        // The clock is paused: it advances only when all tasks are idle.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

pub(super) fn rooms_of(lamp: &Object<Lamp>) -> Vec<ObjectName> {
    let room = lamp.view().map(|lamp| lamp.spec.room.as_str());
    let room = room.filter(|room| !room.is_empty());
    room.map(|room| name(lamp.namespace(), room))
        .into_iter()
        .collect()
}

pub(super) fn settings() -> RunSettings {
    RunSettings {
        selection: Selection::default(),
        leader: Some(LeaderSettings {
            namespace: "system".into(),
            name: "lease".into(),
            identity: "me".into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }),
        policy: Policy {
            backoff: Backoff {
                min: Duration::from_secs(1),
                max: Duration::from_secs(4),
            },
            max_retries: 3,
        },
        concurrency: 2,
        metrics_cert_dir: None,
        metrics_authorization: false,
        metrics_address: None,
        health_address: None,
        identity: Identity::default(),
    }
}
