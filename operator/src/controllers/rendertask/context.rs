//! What every reconcile of tasks shares.

use std::sync::Arc;

use jiff::Timestamp;
use kube::{Api, Client};

use super::metrics::TaskMetrics;
use crate::api::{Scope, Task};
use crate::jobs::JobSettings;
use crate::jobs::slots::JobLimits;
use crate::jobs::tracker::JobTracker;
use crate::runtime::{Cx, Key};

/// The settings of the operator that a reconcile needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What goes into Jobs.
    pub job: JobSettings,
    /// Push Secrets of cluster tasks must say what host they are for.
    pub require_registry_host: bool,
    /// How many Jobs run at once.
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
    /// How tasks end.
    pub(super) metrics: TaskMetrics,
}

impl Context {
    /// Of both kinds of tasks.
    pub fn new(cx: &Cx, settings: Settings, jobs: Arc<JobTracker>, metrics: TaskMetrics) -> Arc<Self> {
        Arc::new(Self {
            cx: cx.clone(),
            settings,
            jobs,
            metrics,
        })
    }

    pub(super) fn client(&self) -> Client {
        self.cx.client().clone()
    }

    /// The wall clock: conditions and attempts carry its times.
    pub(super) fn now(&self) -> Timestamp {
        self.cx.now()
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
