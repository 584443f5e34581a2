//! What every reconcile of tasks shares.

use std::sync::Arc;

use jiff::Timestamp;
use kube::{Api, Client};

use super::kept::KeptTasks;
use super::kind::{ClusterRenderTasks, RenderTasks};
use super::metrics::TaskMetrics;
use super::view::TaskView;
use crate::api::{Scope, Task};
use crate::jobs::JobSettings;
use crate::jobs::slots::JobLimits;
use crate::jobs::tracker::JobTracker;
use crate::runtime::views::Object;
use crate::runtime::{Cx, Key};

/// The settings of the operator that a reconcile needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The settings of Jobs.
    pub job: JobSettings,
    /// Whether push Secrets of cluster tasks must be annotated with a host.
    pub require_registry_host: bool,
    /// The limit of concurrent Jobs.
    pub job_limits: JobLimits,
}

/// What every reconcile of tasks shares.
pub struct Context {
    /// What all controllers share.
    pub(super) cx: Cx,
    /// The settings of the operator.
    pub(super) settings: Settings,
    /// Jobs, pods and slots.
    pub(super) jobs: Arc<JobTracker>,
    /// Counts ended tasks.
    pub(super) metrics: TaskMetrics,
    /// The tasks whose Jobs run.
    pub(super) kept: KeptTasks,
}

impl Context {
    /// The context of both kinds of tasks.
    pub fn new(cx: &Cx, settings: Settings, jobs: Arc<JobTracker>, metrics: TaskMetrics) -> Arc<Self> {
        Arc::new(Self {
            cx: cx.clone(),
            settings,
            jobs,
            metrics,
            kept: KeptTasks::default(),
        })
    }

    pub(super) fn client(&self) -> Client {
        self.cx.client().clone()
    }

    /// The wall clock, for the timestamps of conditions and attempts.
    pub(super) fn now(&self) -> Timestamp {
        self.cx.now()
    }

    /// A task from the store, which may be behind.
    pub(super) fn stored(&self, key: &Key) -> Option<Arc<Object<TaskView>>> {
        let name = key.object_name();
        match Scope::of(key.kind) {
            Scope::Namespaced => self.cx.store::<RenderTasks>().get(&name),
            Scope::Cluster => self.cx.store::<ClusterRenderTasks>().get(&name),
        }
    }

    /// The API of one task.
    pub(super) fn task_api(&self, key: &Key) -> Api<Task> {
        let scope = Scope::of(key.kind);
        match scope {
            Scope::Namespaced => Api::namespaced_with(self.client(), &key.namespace, &scope),
            Scope::Cluster => Api::all_with(self.client(), &scope),
        }
    }
}
