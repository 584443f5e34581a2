//! What every reconcile shares.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use kube::core::DynamicResourceScope;
use kube::{Api, Client, Resource};

use crate::api::{Scope, Task};
use crate::controllers::rendertask::task_store::TaskStore;
use crate::jobs::JobSettings;
use crate::jobs::index::JobIndex;
use crate::jobs::slots::JobSlots;
use crate::names;
use crate::runtime::key::TaskKey;
use crate::runtime::log_rate::LogRate;
use crate::runtime::metrics::Metrics;
use crate::runtime::queue::Queue;
use crate::views::TaskMetadata;

/// The settings of the operator that a reconcile needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What goes into Jobs.
    pub job: JobSettings,
    /// Push Secrets of cluster tasks must say what host they are for.
    pub require_registry_host: bool,
    /// How many Jobs run at once.
    pub max_concurrent_jobs: usize,
    /// Who reports: the pod's name.
    pub instance: String,
    /// The API server's URL, for logs.
    pub server: String,
}

/// What every reconcile shares.
pub struct Context {
    /// The API.
    pub client: Client,
    /// The settings of the operator.
    pub settings: Settings,
    /// The work queue.
    pub queue: Queue,
    /// Counts and durations.
    pub metrics: Metrics,
    selected: Mutex<TaskStore>,
    index: Mutex<JobIndex>,
    slots: Mutex<JobSlots>,
    watch_log: Mutex<LogRate>,
}

impl Context {
    /// With nothing known yet.
    pub fn new(client: Client, settings: Settings, queue: Queue, metrics: Metrics) -> Self {
        let slots = JobSlots::new(settings.max_concurrent_jobs);
        Self {
            client,
            settings,
            queue,
            metrics,
            selected: Mutex::new(TaskStore::default()),
            index: Mutex::new(JobIndex::default()),
            slots: Mutex::new(slots),
            watch_log: Mutex::new(LogRate::default()),
        }
    }

    /// The wall clock: conditions and attempts carry its times.
    pub fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// The tasks that are reconciled. Never held across an await.
    pub fn selected(&self) -> MutexGuard<'_, TaskStore> {
        self.selected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The Jobs and pods that were seen. Never held across an await.
    pub fn index(&self) -> MutexGuard<'_, JobIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often failed watches are logged. Never held across an await.
    pub fn watch_log(&self) -> MutexGuard<'_, LogRate> {
        self.watch_log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slots. Never held across an await.
    pub fn slots(&self) -> MutexGuard<'_, JobSlots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task runs nothing: the next in line gets its slot, and is woken.
    pub fn release(&self, key: &TaskKey) {
        let woken = self.slots().release(key);
        woken.into_iter().for_each(|next| self.queue.add_urgent(next));
    }

    /// A reconcile of the task has failed: the next in line gets the slot that it has no Job in, and is woken.
    pub fn give_back(&self, key: &TaskKey) {
        let woken = self.slots().give_back(key);
        woken.into_iter().for_each(|next| self.queue.add_urgent(next));
    }

    /// The task is gone, or none of ours any more.
    pub fn forget(&self, key: &TaskKey) {
        self.release(key);
        self.queue.forget(key);
        let (namespace, name) = self.job_location(key);
        self.index().forget(namespace, &name);
    }

    /// The namespace and the name of a task's Job.
    pub fn job_location<'a>(&'a self, key: &'a TaskKey) -> (&'a str, String) {
        let namespace = match key.scope {
            Scope::Namespaced => &key.namespace,
            Scope::Cluster => &self.settings.job.job_namespace,
        };
        (namespace, names::job_name(key.scope, &key.name))
    }

    /// The API of one task.
    pub fn task_api(&self, key: &TaskKey) -> Api<Task> {
        self.api(key)
    }

    /// The same for its metadata alone.
    pub fn head_api(&self, key: &TaskKey) -> Api<TaskMetadata> {
        self.api(key)
    }

    fn api<K: Resource<DynamicType = Scope, Scope = DynamicResourceScope>>(&self, key: &TaskKey) -> Api<K> {
        let client = self.client.clone();
        match key.scope {
            Scope::Namespaced => Api::namespaced_with(client, &key.namespace, &key.scope),
            Scope::Cluster => Api::all_with(client, &key.scope),
        }
    }
}
