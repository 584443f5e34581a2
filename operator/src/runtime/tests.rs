//! A small artificial kind, and the runtime's promises shown with it: wake-ups, backoff, pools, callbacks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch as channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::controllers::Controllers;
use super::cx::{Cx, Identity};
use super::error::Error;
use super::health::Health;
use super::key::{Key, KindId, ObjectName};
use super::kind::{Action, Dependent, Kind, ObjectState, Policy, Pool, Wake, Watched};
use super::leader::{Elector, LeaderSettings};
use super::metrics::Metrics;
use super::primary::{Primary, Role};
use super::queue::{Backoff, Queue};
use super::run::{End, RunSettings, Signals, lead};
use super::views::{MetadataOnly, Object, bounded};
use super::watch::{ObjectEvent, Selection};
use super::work::Work;
use crate::tests::{api, refusal, run};

/// Lamps, of which a room has many.
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

fn object<V: super::views::View>(
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

/// What a test sees and decides of reconciles.
#[derive(Clone)]
struct Script {
    log: Arc<Mutex<Vec<String>>>,
    /// A reconcile takes one of these and ends when there is one.
    gate: Arc<Semaphore>,
    outcome: Outcome,
}

impl Script {
    fn new(outcome: impl Fn(&Key) -> Result<Action, Error> + Send + Sync + 'static) -> Self {
        Self {
            log: Arc::default(),
            gate: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            outcome: Arc::new(outcome),
        }
    }

    fn gated(self) -> Self {
        Self {
            gate: Arc::new(Semaphore::new(0)),
            ..self
        }
    }

    fn note(&self, line: String) {
        self.log.lock().expect("the log").push(line);
    }

    fn taken(&self) -> Vec<String> {
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
struct Lamps(Script);
/// Rooms wait for others: they have a worker of their own.
struct Rooms(Script);
/// Read by others alone.
struct Switches;

impl Watched for Lamps {
    const ID: KindId = LAMPS;
    type View = Lamp;
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
    const STATES: &'static [&'static str] = &["On", "Off"];

    fn state(lamp: &Object<Lamp>) -> Option<ObjectState<'_>> {
        let on = lamp.view()?.status.as_ref().is_some_and(|status| status.on);
        Some(ObjectState {
            name: if on { "On" } else { "Off" },
            waiting: !on,
        })
    }

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

fn cx(client: Client) -> Cx {
    Cx::new(client, Identity::default(), Metrics::default(), Health::default())
}

fn no_api() -> Client {
    api(|_, _, _| Some(refusal(500, "InternalError")))
}

fn done(_: &Key) -> Result<Action, Error> {
    Ok(Action::done())
}

fn applied<V>(object: Object<V>) -> ObjectEvent<'static, V> {
    ObjectEvent::Applied {
        object,
        listed: false,
    }
}

/// Controllers with their workers, two for each pool that doesn't say; watches are played by the test.
struct Bench {
    cx: Cx,
    lamps: Primary<Lamps>,
    rooms: Primary<Rooms>,
    stop: channel::Sender<bool>,
    workers: JoinSet<()>,
}

impl Bench {
    fn start(client: Client, lamps: &Script, rooms: &Script) -> Self {
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

    /// Until nothing is left to do now.
    async fn settle(&self) {
        // The clock is paused: it advances only when all tasks wait.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn rooms_of(lamp: &Object<Lamp>) -> Vec<ObjectName> {
    let room = lamp.view().map(|lamp| lamp.spec.room.as_str());
    let room = room.filter(|room| !room.is_empty());
    room.map(|room| name(lamp.namespace(), room))
        .into_iter()
        .collect()
}

#[test]
fn a_change_wakes_its_object_and_those_that_it_refers_to_before_and_after() {
    run(async {
        let script = Script::new(done);
        let mut bench = Bench::start(no_api(), &script, &script);
        for room in ["hall", "attic", "cellar"] {
            bench
                .rooms
                .handle(applied(object("a", room, 1, &Value::Null, &Value::Null)));
        }
        bench.settle().await;
        script.taken();
        bench.lamps.handle(applied(lamp("a", "one", "hall", 1)));
        bench.settle().await;
        assert_eq!(woken(&script), ["Lamp a/one", "Room a/hall"]);
        bench.lamps.handle(applied(lamp("a", "one", "attic", 2)));
        bench.settle().await;
        assert_eq!(
            woken(&script),
            ["Lamp a/one", "Room a/attic", "Room a/hall"],
            "the old one too"
        );
        bench
            .rooms
            .handle(applied(object("a", "attic", 2, &Value::Null, &Value::Null)));
        bench.settle().await;
        assert_eq!(woken(&script), ["Lamp a/one", "Room a/attic"], "by the index");
        bench
            .lamps
            .handle(ObjectEvent::Deleted(lamp("a", "one", "attic", 2)));
        bench.settle().await;
        assert_eq!(woken(&script), ["Lamp a/one", "Room a/attic"], "gone");
        assert!(bench.cx.store::<Lamps>().is_empty());
        // A room that there is none of is nobody's to reconcile.
        bench.lamps.handle(applied(lamp("a", "two", "garden", 1)));
        bench.settle().await;
        assert_eq!(woken(&script), ["Lamp a/two"]);
    });
}

/// What was reconciled, by name.
fn woken(script: &Script) -> Vec<String> {
    let mut log = script.taken();
    log.retain(|line| !line.ends_with("done"));
    log.sort();
    log
}

#[test]
fn a_change_of_its_own_status_starts_nothing_but_wakes_others() {
    run(async {
        let (lamps, rooms) = (Script::new(done), Script::new(done));
        let mut bench = Bench::start(no_api(), &lamps, &rooms);
        bench
            .rooms
            .handle(applied(object("a", "hall", 1, &Value::Null, &Value::Null)));
        bench.lamps.handle(applied(lamp("a", "one", "hall", 1)));
        bench.settle().await;
        lamps.taken();
        rooms.taken();
        let on = object("a", "one", 1, &json!({"room": "hall"}), &json!({"on": true}));
        bench.lamps.handle(applied(on.clone()));
        bench.settle().await;
        assert_eq!(lamps.taken(), ["status of a/one"]);
        assert_eq!(woken(&rooms), ["Room a/hall"]);
        // What is not kept changes for nobody.
        bench.lamps.handle(applied(on));
        bench.settle().await;
        assert_eq!((lamps.taken().len(), rooms.taken().len()), (1, 0));
    });
}

#[test]
fn a_new_list_wakes_the_oldest_first_and_what_is_gone() {
    run(async {
        let script = Script::new(done);
        let mut bench = Bench::start(no_api(), &script, &script);
        bench.lamps.handle(applied(lamp("a", "gone", "", 1)));
        bench.settle().await;
        script.taken();
        let made = |text: &str, second: i64| {
            let mut lamp = lamp("a", text, "", 1);
            let time = jiff::Timestamp::from_second(second).expect("a time");
            let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time);
            lamp.metadata.creation_timestamp = Some(time);
            lamp
        };
        for (text, second) in [("new", 9), ("old", 1), ("middle", 5)] {
            let object = made(text, second);
            bench.lamps.handle(ObjectEvent::Applied { object, listed: true });
        }
        bench.settle().await;
        assert_eq!(script.taken(), Vec::<String>::new(), "the list is not complete");
        let uids = ["a/new", "a/old", "a/middle"].map(str::to_owned).into();
        let namespace = None;
        bench.lamps.handle(ObjectEvent::Listed {
            uids: &uids,
            namespace,
        });
        bench.settle().await;
        let mut log = script.taken();
        log.retain(|line| !line.ends_with("done"));
        assert_eq!(log, ["Lamp a/old", "Lamp a/middle", "Lamp a/new", "Lamp a/gone"]);
        assert_eq!(bench.cx.store::<Lamps>().len(), 3);
    });
}

#[test]
fn a_wake_up_during_a_reconcile_starts_another_one_afterwards() {
    run(async {
        let script = Script::new(done).gated();
        let mut bench = Bench::start(no_api(), &script, &script);
        bench.lamps.handle(applied(lamp("a", "one", "", 1)));
        bench.settle().await;
        bench.lamps.handle(applied(lamp("a", "one", "", 2)));
        bench.lamps.handle(applied(lamp("a", "one", "", 3)));
        bench.settle().await;
        assert_eq!(script.taken(), ["Lamp a/one"], "not two at a time");
        script.gate.add_permits(10);
        bench.settle().await;
        assert_eq!(
            script.taken(),
            ["Lamp a/one done", "Lamp a/one", "Lamp a/one done"]
        );
    });
}

#[test]
fn a_pool_that_waits_holds_no_other_pool_up() {
    run(async {
        let (lamps, rooms) = (Script::new(done), Script::new(done).gated());
        let mut bench = Bench::start(no_api(), &lamps, &rooms);
        for room in ["hall", "attic"] {
            bench
                .rooms
                .handle(applied(object("a", room, 1, &Value::Null, &Value::Null)));
        }
        bench.lamps.handle(applied(lamp("a", "one", "", 1)));
        bench.settle().await;
        assert_eq!(rooms.taken(), ["Room a/hall"], "it has one worker");
        assert_eq!(lamps.taken(), ["Lamp a/one", "Lamp a/one done"]);
    });
}

/// The statuses that are written to a fake API server, which knows one lamp.
fn recording(queue: Arc<OnceLock<Queue>>) -> (Client, Arc<Mutex<Vec<Value>>>) {
    let written = Arc::new(Mutex::new(Vec::new()));
    let writes = Arc::clone(&written);
    let client = api(move |method, path, body| {
        assert!(
            path.starts_with("/apis/test.example/v1/namespaces/a/lamps/one"),
            "{path}"
        );
        if method == "PATCH" {
            // Between its end and this another reconcile once succeeded, and Stalled stayed.
            let active = queue.get().expect("a queue").counts().1;
            assert_eq!(active, 1, "it is being reconciled");
            writes.lock().expect("the writes").push(body);
        }
        let other = json!({
            "type": "Other", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        Some((
            200,
            json!({
                "metadata": {"name": "one", "namespace": "a", "resourceVersion": "7"},
                "status": {"conditions": [other]},
            }),
        ))
    });
    (client, written)
}

#[test]
fn errors_back_off_to_a_limit_and_too_many_are_reported_in_the_status() {
    run(async {
        let queue = Arc::new(OnceLock::new());
        let (client, written) = recording(Arc::clone(&queue));
        let script = Script::new(|_| Err(Error::Panic("broken".into())));
        let mut bench = Bench::start(client, &script, &script);
        let _ = queue.set(bench.cx.queue(LAMPS).expect("a queue"));
        let start = Instant::now();
        bench.lamps.handle(applied(lamp("a", "one", "", 1)));
        bench.settle().await;
        let mut times = vec![start.elapsed().as_secs()];
        let mut reconciles = 1;
        script.taken();
        while reconciles < 5 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let started = script.taken().iter().filter(|line| *line == "Lamp a/one").count();
            if started > 0 {
                reconciles += started;
                times.push(start.elapsed().as_millis() as u64 / 1000);
            }
        }
        // 1 s, 2 s, 4 s, 4 s; jitter takes up to half of each.
        for (time, (min, max)) in times.iter().zip([(0, 0), (0, 1), (1, 3), (3, 7), (5, 11)]) {
            assert!((min..=max).contains(time), "{times:?}");
        }
        let written = written.lock().expect("the writes");
        assert_eq!(written.len(), 3, "from the third error in a row on");
        let patch = &written[0];
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        let conditions = patch["status"]["conditions"].as_array().expect("conditions");
        let statuses: BTreeMap<&str, &str> = conditions
            .iter()
            .filter_map(|one| Some((one["type"].as_str()?, one["status"].as_str()?)))
            .collect();
        assert_eq!(
            statuses,
            [("Other", "True"), ("Ready", "False"), ("Stalled", "True")].into()
        );
        assert_eq!(conditions[1]["message"], "internal error: broken");
    });
}

#[test]
fn a_panic_or_an_answer_that_never_comes_is_an_error_of_that_object_alone() {
    run(async {
        let script = Script::new(|key| match key.name.as_str() {
            "panics" => panic!("on purpose"),
            _ => Ok(Action::requeue(Duration::from_secs(600))),
        });
        let mut bench = Bench::start(no_api(), &script, &script);
        for text in ["panics", "fine"] {
            bench.lamps.handle(applied(lamp("a", text, "", 1)));
        }
        bench.settle().await;
        let log = script.taken();
        assert!(log.contains(&"failed a/panics".to_owned()), "{log:?}");
        assert!(log.contains(&"Lamp a/fine done".to_owned()), "{log:?}");
        let hanging = Script::new(done).gated();
        let mut bench = Bench::start(no_api(), &hanging, &hanging);
        bench.lamps.handle(applied(lamp("a", "one", "", 1)));
        tokio::time::sleep(Duration::from_secs(61)).await;
        assert!(
            hanging.taken().contains(&"failed a/one".to_owned()),
            "it was ended"
        );
    });
}

#[test]
fn workers_finish_what_they_have_begun_when_told_to_stop() {
    run(async {
        let script = Script::new(done).gated();
        let mut bench = Bench::start(no_api(), &script, &script);
        for text in ["one", "two", "three"] {
            bench.lamps.handle(applied(lamp("a", text, "", 1)));
        }
        bench.settle().await;
        bench.stop.send(true).expect("workers");
        script.gate.add_permits(10);
        let ended = timeout(Duration::from_secs(5), async {
            while bench.workers.join_next().await.is_some() {}
        });
        assert!(ended.await.is_ok());
        let finished = script
            .taken()
            .iter()
            .filter(|line| line.ends_with("done"))
            .count();
        assert_eq!(finished, 2, "those that two workers had begun");
    });
}

/// An API server with one lamp, whose list is followed by a watch that shows nothing, and with a lease, which somebody
/// else has as soon as it is stolen.
fn with_lease(stolen: Arc<AtomicBool>) -> Client {
    let (lists, lease) = (AtomicUsize::new(0), Mutex::new(Value::Null));
    api(move |method, path, body| {
        if path.ends_with("/lamps") {
            let first = lists.fetch_add(1, Ordering::SeqCst) == 0;
            let lamp = json!({"metadata": {"name": "one", "namespace": "a", "uid": "a/one"}, "spec": {}});
            let list = json!({"metadata": {"resourceVersion": "1"}, "items": [lamp]});
            return first.then_some((200, list));
        }
        let mut lease = lease.lock().expect("the lease");
        if stolen.load(Ordering::SeqCst) {
            lease["spec"]["holderIdentity"] = "other".into();
            lease["spec"]["leaseDurationSeconds"] = 3600.into();
        }
        match method {
            "GET" if lease.is_null() => return Some(refusal(404, "NotFound")),
            "GET" => {}
            _ => *lease = body,
        }
        Some((200, lease.clone()))
    })
}

#[test]
fn work_stops_at_once_when_the_lease_is_lost() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    runtime.expect("a runtime").block_on(async {
        let (script, stolen) = (Script::new(done).gated(), Arc::new(AtomicBool::new(false)));
        let client = with_lease(Arc::clone(&stolen));
        let cx = cx(client.clone());
        let controllers = Controllers::new(&cx).kind(Lamps(script.clone()));
        let settings = settings();
        let leader = settings.leader.clone().expect("leader election");
        let mut elector = Elector::new(client, leader, cx.metrics().clone());
        elector.campaign(|| {}).await;
        let mut signals = Signals::new().expect("signals");
        let leading = lead(&controllers, &settings, &mut signals, Some(&mut elector));
        let steal = async {
            while cx.queue(LAMPS).expect("a queue").counts().1 == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert_eq!(
                cx.health().not_ready(Instant::now()),
                None,
                "all there is was seen"
            );
            stolen.store(true, Ordering::SeqCst);
        };
        let (end, ()) = tokio::join!(leading, steal);
        assert_eq!(end.expect("an end"), End::LeaseLost);
        script.gate.add_permits(10);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(
            script.taken(),
            ["promoted", "Lamp a/one", "demoted"],
            "the reconcile was dropped"
        );
    });
}

fn settings() -> RunSettings {
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
        metrics_address: None,
        health_address: None,
        identity: Identity::default(),
    }
}

#[test]
fn a_selector_leaves_out_what_is_reconciled_and_not_what_is_read() {
    run(async {
        let script = Script::new(done);
        let bench = Bench::start(no_api(), &script, &script);
        let kind = || Arc::new(Lamps(script.clone()));
        let mut selected = Primary::new(bench.cx.clone(), kind(), Role::Select);
        let mut filler = Primary::new(bench.cx.clone(), kind(), Role::Fill);
        filler.handle(applied(lamp("a", "left-out", "hall", 1)));
        selected.handle(applied(lamp("a", "one", "hall", 1)));
        // The reconcile may have come before there was anything to read: then it comes again.
        bench.settle().await;
        assert_eq!(woken(&script), ["Lamp a/one"]);
        filler.handle(applied(lamp("a", "one", "hall", 1)));
        bench.settle().await;
        assert_eq!(woken(&script), ["Lamp a/one"]);
        assert_eq!(bench.cx.store::<Lamps>().by("room", &name("a", "hall")).len(), 2);
        filler.handle(ObjectEvent::Deleted(lamp("a", "left-out", "hall", 1)));
        selected.handle(ObjectEvent::Deleted(lamp("a", "one", "hall", 1)));
        bench.settle().await;
        assert_eq!(woken(&script), ["Lamp a/one"]);
        assert!(!bench.cx.reconciles(&LAMPS.key(name("a", "one"))));
    });
}

#[test]
fn a_list_that_contradicts_itself_is_refused() {
    run(async {
        let script = Script::new(done);
        let controllers = Controllers::new(&cx(no_api()))
            .kind(Lamps(script.clone()))
            .stored::<Lamps>()
            .dependent(Switches)
            .index::<Rooms>("lamp", |_| Vec::new());
        assert_eq!(
            controllers.mistakes(),
            ["Room is not watched", "Lamp is watched twice"]
        );
    });
}

#[test]
fn objects_are_counted_by_state() {
    run(async {
        let script = Script::new(done);
        let cx = cx(no_api());
        let controllers = Controllers::new(&cx).kind(Lamps(script));
        let store = cx.store::<Lamps>();
        let on = object("a", "two", 1, &json!({}), &json!({"on": true}));
        for lamp in [lamp("a", "one", "", 1), on, lamp("a", "three", "", 1)] {
            store.apply(lamp);
        }
        let census = controllers.all()[&LAMPS].census(&cx);
        assert_eq!(
            census.states,
            [("Off".to_owned(), 2), ("On".to_owned(), 1)].into()
        );
    });
}
