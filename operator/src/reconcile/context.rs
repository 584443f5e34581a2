//! What every look shares.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use kube::core::DynamicResourceScope;
use kube::{Api, Client, Resource};

use crate::api::{Scope, Task};
use crate::build::JobSettings;
use crate::index::Index;
use crate::key::TaskKey;
use crate::lean::TaskHead;
use crate::log_rate::LogRate;
use crate::metrics::Metrics;
use crate::names;
use crate::queue::Queue;
use crate::selected::Selected;
use crate::slots::Slots;

/// What the operator was told at its start that a look needs.
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

/// What every look shares.
pub struct Context {
    /// The API.
    pub client: Client,
    /// What the operator was told.
    pub settings: Settings,
    /// Who is to be looked at.
    pub queue: Queue,
    /// Counts and durations.
    pub metrics: Metrics,
    selected: Mutex<Selected>,
    index: Mutex<Index>,
    slots: Mutex<Slots>,
    watch_log: Mutex<LogRate>,
}

impl Context {
    /// With nothing known yet.
    pub fn new(client: Client, settings: Settings, queue: Queue, metrics: Metrics) -> Self {
        let slots = Slots::new(settings.max_concurrent_jobs);
        Self {
            client,
            settings,
            queue,
            metrics,
            selected: Mutex::new(Selected::default()),
            index: Mutex::new(Index::default()),
            slots: Mutex::new(slots),
            watch_log: Mutex::new(LogRate::default()),
        }
    }

    /// The wall clock: conditions and attempts carry its times.
    pub fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// The tasks that are looked at. Never held across an await.
    pub fn selected(&self) -> MutexGuard<'_, Selected> {
        self.selected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The Jobs and pods that were seen. Never held across an await.
    pub fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often failed watches are logged. Never held across an await.
    pub fn watch_log(&self) -> MutexGuard<'_, LogRate> {
        self.watch_log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slots. Never held across an await.
    pub fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task runs nothing: who waits gets its slot, and is told.
    pub fn release(&self, key: &TaskKey) {
        let told = self.slots().release(key);
        told.into_iter().for_each(|next| self.queue.hurry(next));
    }

    /// A look at the task has failed: who waits gets the slot that it has no Job in, and is told.
    pub fn give_back(&self, key: &TaskKey) {
        let told = self.slots().give_back(key);
        told.into_iter().for_each(|next| self.queue.hurry(next));
    }

    /// The task is gone, or none of ours any more.
    pub fn forget(&self, key: &TaskKey) {
        self.release(key);
        self.queue.forget(key);
        let (namespace, name) = self.job_place(key);
        self.index().forget(namespace, &name);
    }

    /// The namespace and the name of a task's Job.
    pub fn job_place<'a>(&'a self, key: &'a TaskKey) -> (&'a str, String) {
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
    pub fn head_api(&self, key: &TaskKey) -> Api<TaskHead> {
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
