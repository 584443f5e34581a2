//! One reconcile of a task, against a fake API server: for responses that a real one can't be made to send on demand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use serde_json::Value;
use tokio::time::Instant;

use super::*;
use crate::api::{Scope, TaskStatus};
use crate::jobs::slots::JobLimits;
use crate::jobs::tracker::JobTracker;
use crate::runtime::views::Object;
use crate::runtime::{Controllers, Cx, Health, Identity, Kind, Metrics, ObjectName};
use crate::tests::{api, refusal, run, settings, task};

fn key(name: &str) -> Key {
    Scope::Namespaced.id().key(ObjectName::new("tenant", name))
}

const LIMITS: JobLimits = JobLimits { all: 1, group: None };

/// A context with one slot; these tasks exist, and wait in this order.
fn context(client: Client, names: &[&str]) -> Arc<Context> {
    let metrics = Metrics::default();
    let tasks = TaskMetrics::new(&metrics);
    let cx = Cx::new(client, Identity::default(), metrics, Health::default());
    let settings = Settings {
        job: settings(),
        require_registry_host: false,
        job_limits: LIMITS,
    };
    let jobs = JobTracker::new(&cx, &[RenderTasks::JOBS], "solar-system", LIMITS);
    for name in names {
        let object: Object<TaskView> = serde_json::from_value(serde_json::json!({
            "metadata": {"name": name, "namespace": "tenant", "uid": format!("uid-{name}")},
        }))
        .expect("a task");
        cx.select_for_test(&key(name), &object);
        jobs.slots().request(&key(name), "tenant", Timestamp::UNIX_EPOCH);
    }
    let context = Context::new(&cx, settings, jobs, tasks);
    // The list of controllers creates the queue.
    drop(Controllers::new(&cx).kind(RenderTasks::new(&context)));
    context
}

/// The other tasks once waited for its backoff, up to a minute each time.
#[test]
fn a_task_whose_reconcile_fails_with_a_slot_does_not_delay_others() {
    run(async {
        let client = api(|_, _, _| Some(refusal(500, "InternalError")));
        let context = context(client, &["a", "b"]);
        assert_eq!(context.jobs.slots().counts(), (1, 1));
        let kind = RenderTasks::new(&context);
        assert!(kind.reconcile(&context.cx, &key("a")).await.is_err());
        kind.failed(&key("a"));
        assert_eq!(context.jobs.slots().counts(), (1, 0), "the slot is the other's");
        let queue = context.cx.queue(Scope::Namespaced.id()).expect("a queue");
        let start = Instant::now();
        assert_eq!(queue.next().await, key("b"));
        assert_eq!(start.elapsed(), Duration::ZERO, "which is woken at once");
    });
}

#[test]
fn a_task_that_stalls_reports_the_error() {
    run(async {
        let reads = AtomicUsize::new(0);
        let written = Arc::new(Mutex::new(Value::Null));
        let writes = Arc::clone(&written);
        let client = api(move |method, _, body| {
            if method == "GET" && reads.fetch_add(1, Ordering::Relaxed) == 0 {
                return Some(refusal(500, "InternalError"));
            }
            if method == "PATCH" {
                *writes.lock().expect("the status") = body;
            }
            Some((200, serde_json::to_value(task()).expect("JSON")))
        });
        let context = context(client, &["shop"]);
        let kind = RenderTasks::new(&context);
        let error = kind
            .reconcile(&context.cx, &key("shop"))
            .await
            .expect_err("an error");
        kind.stalled(&context.cx, &key("shop"), &error)
            .await
            .expect("written");
        let written = written.lock().expect("the status")["status"].clone();
        let status: TaskStatus = serde_json::from_value(written).expect("a status");
        let stalled = find(&status.conditions, kinds::STALLED).expect("Stalled");
        assert_eq!(stalled.status, "True");
        assert!(stalled.message.contains("reading the task"), "{stalled:?}");
    });
}

/// Such a task was once requeued forever and nothing was reported.
#[test]
fn a_task_that_cannot_be_decoded_is_reported_as_failed() {
    run(async {
        let written = Arc::new(Mutex::new(Vec::new()));
        let writes = Arc::clone(&written);
        let client = api(move |method, _, body| {
            if method == "PATCH" {
                writes.lock().expect("the writes").push(body);
            }
            let mut task = serde_json::to_value(task()).expect("JSON");
            task["metadata"]["resourceVersion"] = "7".into();
            task["spec"]["tag"] = 5.into();
            Some((200, task))
        });
        let context = context(client, &["shop"]);
        let kind = RenderTasks::new(&context);
        let action = kind
            .reconcile(&context.cx, &key("shop"))
            .await
            .expect("an action");
        assert_eq!(action, Action::done(), "it is not requeued");
        let written = written.lock().expect("the writes");
        let [patch] = written.as_slice() else {
            panic!("one patch, not {written:?}");
        };
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        let status: TaskStatus = serde_json::from_value(patch["status"].clone()).expect("a status");
        let failed = find(&status.conditions, kinds::JOB_FAILED).expect("JobFailed");
        assert_eq!(
            (failed.status.as_str(), failed.reason.as_str()),
            ("True", "ConfigInvalid")
        );
        assert!(failed.message.contains("expected a string"), "{failed:?}");
    });
}
