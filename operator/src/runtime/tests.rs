//! The runtime's guarantees, tested with artificial kinds: wake-ups, backoff, pools, callbacks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::controllers::Controllers;
use super::error::Error;
use super::kind::Action;
use super::leader::Elector;
use super::primary::{Primary, Role};
use super::queue::Queue;
use super::run::{End, Signals, lead};
use super::test_kinds::{
    Bench, LAMPS, Lamps, Rooms, Script, Switches, applied, cx, done, lamp, name, no_api, object, settings,
};
use super::watch::ObjectEvent;
use crate::tests::{api, refusal, run};

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
        // A room that doesn't exist is not reconciled.
        bench.lamps.handle(applied(lamp("a", "two", "garden", 1)));
        bench.settle().await;
        assert_eq!(woken(&script), ["Lamp a/two"]);
    });
}

/// The reconciled objects, by name.
fn woken(script: &Script) -> Vec<String> {
    let mut log = script.taken();
    log.retain(|line| !line.ends_with("done"));
    log.sort();
    log
}

#[test]
fn a_change_of_its_own_status_starts_no_reconcile_but_wakes_others() {
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
        // A change of a field that is not kept wakes nothing.
        bench.lamps.handle(applied(on));
        bench.settle().await;
        assert_eq!((lamps.taken().len(), rooms.taken().len()), (1, 0));
    });
}

#[test]
fn a_new_list_wakes_the_oldest_first_and_deleted_objects() {
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
fn a_busy_pool_does_not_delay_another() {
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

/// A fake API server with one lamp, and the statuses that are written to it.
fn recording(queue: Arc<OnceLock<Queue>>) -> (Client, Arc<Mutex<Vec<Value>>>) {
    let written = Arc::new(Mutex::new(Vec::new()));
    let writes = Arc::clone(&written);
    let client = api(move |method, path, body| {
        assert!(
            path.starts_with("/apis/test.example/v1/namespaces/a/lamps/one"),
            "{path}"
        );
        if method == "PATCH" {
            // Another reconcile once succeeded between the failed one and this write, and Stalled stayed.
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
fn a_panic_or_a_hanging_request_is_an_error_of_that_object_alone() {
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
            "it was cancelled"
        );
    });
}

#[test]
fn workers_finish_running_reconciles_after_sigterm() {
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

/// An API server with one lamp, whose watch delivers no events, and with a lease, which another process holds once
/// `stolen` is set.
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

#[test]
fn a_selector_excludes_objects_from_reconciles_but_not_from_stores() {
    run(async {
        let script = Script::new(done);
        let bench = Bench::start(no_api(), &script, &script);
        let kind = || Arc::new(Lamps(script.clone()));
        let mut selected = Primary::new(bench.cx.clone(), kind(), Role::Select);
        let mut filler = Primary::new(bench.cx.clone(), kind(), Role::Fill);
        filler.handle(applied(lamp("a", "left-out", "hall", 1)));
        selected.handle(applied(lamp("a", "one", "hall", 1)));
        // The first reconcile may have run before the store was filled; it is then repeated.
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
fn an_inconsistent_list_of_controllers_is_refused() {
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
