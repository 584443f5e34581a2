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
use crate::jobs::partial::PartialJob;
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

/// A task and its Job in a fake API server, which notes what is asked for.
struct World {
    requests: Arc<Mutex<Vec<String>>>,
    task: Arc<Mutex<Value>>,
    context: Arc<Context>,
}

impl World {
    fn new() -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let mut task = serde_json::to_value(task()).expect("JSON");
        task["metadata"]["resourceVersion"] = "1".into();
        let task = Arc::new(Mutex::new(task));
        let (seen, stored) = (Arc::clone(&requests), Arc::clone(&task));
        let client = api(move |method, path, body| {
            let kinds = ["rendertasks", "jobs", "secrets", "events"];
            let kind = kinds.into_iter().find(|kind| path.contains(kind)).unwrap_or(path);
            seen.lock()
                .expect("the requests")
                .push(format!("{method} {kind}"));
            let mut stored = stored.lock().expect("the task");
            match (method, kind) {
                ("PATCH", "rendertasks") => {
                    if body["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"] {
                        return Some(refusal(409, "Conflict"));
                    }
                    for (field, value) in body["status"].as_object().expect("a status") {
                        stored["status"][field] = value.clone();
                    }
                    bump(&mut stored);
                    Some((200, stored.clone()))
                }
                (_, "rendertasks") => Some((200, stored.clone())),
                ("GET", _) => Some(refusal(404, "NotFound")),
                _ => {
                    let mut made = body;
                    made["metadata"]["uid"] = format!("{kind}-1").into();
                    Some((201, made))
                }
            }
        });
        let context = context(client, &[]);
        let world = Self {
            requests,
            task,
            context,
        };
        world.deliver();
        let object: Object<TaskView> = serde_json::from_value(world.task()).expect("a task");
        world.context.cx.select_for_test(&key("shop"), &object);
        world
    }

    fn task(&self) -> Value {
        self.task.lock().expect("the task").clone()
    }

    /// The watch delivers the task.
    fn deliver(&self) {
        let object = serde_json::from_value(self.task()).expect("a task");
        self.context.cx.store::<RenderTasks>().put_for_test(object);
    }

    /// The watch delivers the Job.
    fn deliver_job(&self, status: Value) {
        self.context.jobs.index().apply_job(&job(status));
    }

    /// Reconciles the task, and returns what was asked for.
    async fn reconcile(&self) -> (Result<Action, Error>, Vec<String>) {
        self.requests.lock().expect("the requests").clear();
        let result = RenderTasks::new(&self.context)
            .reconcile(&self.context.cx, &key("shop"))
            .await;
        let requests = self.requests.lock().expect("the requests").clone();
        (result, requests)
    }
}

/// Another version of the task.
fn bump(task: &mut Value) {
    let version = task["metadata"]["resourceVersion"]
        .as_str()
        .and_then(|text| text.parse::<u32>().ok());
    task["metadata"]["resourceVersion"] = (version.expect("a version") + 1).to_string().into();
}

fn job(status: Value) -> PartialJob {
    serde_json::from_value(serde_json::json!({
        "metadata": {"name": "render-shop", "namespace": "tenant", "uid": "jobs-1", "ownerReferences": [{
            "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": "RenderTask", "name": "shop",
            "uid": "uid-1", "controller": true,
        }]},
        "status": status,
    }))
    .expect("a Job")
}

/// Each of the five reconciles of a task once read it.
#[test]
fn a_task_whose_job_runs_is_not_read() {
    run(async {
        let world = World::new();
        let (started, requests) = world.reconcile().await;
        started.expect("started");
        assert_eq!(requests[0], "GET rendertasks");
        assert!(requests.contains(&"POST jobs".to_owned()), "{requests:?}");
        world.deliver_job(serde_json::json!({"active": 1}));
        // The store may still have the version before the write.
        for active in [1, 2] {
            world.deliver_job(serde_json::json!({"active": active}));
            let (recorded, requests) = world.reconcile().await;
            recorded.expect("recorded");
            assert_eq!(requests, ["PATCH rendertasks"]);
            let message = world.task()["status"]["conditions"].to_string();
            assert!(message.contains(&format!("{active} active")), "{message}");
            world.deliver();
        }
    });
}

#[test]
fn a_task_that_somebody_else_has_changed_is_read_again() {
    run(async {
        let world = World::new();
        world.reconcile().await.0.expect("started");
        world.deliver_job(serde_json::json!({"active": 1}));
        // The watch is behind.
        bump(&mut world.task.lock().expect("the task"));
        let (refused, requests) = world.reconcile().await;
        assert!(matches!(refused, Err(Error::Changed)), "{refused:?}");
        assert_eq!(requests, ["PATCH rendertasks"]);
        let (recorded, requests) = world.reconcile().await;
        recorded.expect("recorded");
        assert_eq!(requests, ["GET rendertasks", "PATCH rendertasks"]);
        // The watch has delivered it.
        bump(&mut world.task.lock().expect("the task"));
        world.deliver();
        let (_, requests) = world.reconcile().await;
        assert_eq!(requests, ["GET rendertasks"]);
    });
}

#[test]
fn a_task_is_read_before_another_job_is_created() {
    run(async {
        let world = World::new();
        world.reconcile().await.0.expect("started");
        world.deliver_job(serde_json::json!({"active": 1}));
        world.context.jobs.index().forget("tenant", "render-shop");
        let (_, requests) = world.reconcile().await;
        assert_eq!(requests[0], "GET rendertasks");
        assert!(requests.contains(&"POST jobs".to_owned()), "{requests:?}");
    });
}

/// The deletion of its Job once made it be read again.
#[test]
fn a_task_that_has_succeeded_is_not_read() {
    run(async {
        let world = World::new();
        world.reconcile().await.0.expect("started");
        let ended =
            serde_json::json!({"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]});
        world.deliver_job(ended.clone());
        let pod = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "p", "namespace": "tenant", "uid": "pod-1",
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "render-shop",
                    "uid": "jobs-1", "controller": true}]},
            "status": {"phase": "Succeeded", "containerStatuses": [{"name": "renderer", "state": {"terminated": {
                "exitCode": 0, "message": format!("sha256:{}", "a".repeat(64))}}}]},
        }));
        world.context.jobs.index().apply_pod(&pod.expect("a pod"));
        let (recorded, requests) = world.reconcile().await;
        recorded.expect("recorded");
        assert!(requests.contains(&"DELETE jobs".to_owned()), "{requests:?}");
        world.context.jobs.index().delete_job(&job(ended));
        // The watch is behind: the task is read.
        let (_, requests) = world.reconcile().await;
        assert_eq!(requests, ["GET rendertasks"]);
        world.deliver();
        let (done, requests) = world.reconcile().await;
        assert_eq!(done.expect("done"), Action::done());
        assert_eq!(requests, Vec::<String>::new());
    });
}
