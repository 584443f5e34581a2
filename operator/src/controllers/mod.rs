//! The controllers: a folder for each, and here the list of all of them.

pub mod pipeline;
pub mod rendertask;

use crate::jobs::tracker::{JobTracker, Jobs, Pods};
use crate::runtime::{Controllers, Cx};
use rendertask::{ClusterRenderTasks, Context, RenderTasks, Settings, TaskMetrics};

/// All controllers, as they begin when this process becomes leader.
pub fn all(cx: &Cx, settings: &Settings, tasks: &TaskMetrics) -> Controllers {
    let owners = [RenderTasks::JOBS, ClusterRenderTasks::JOBS];
    let namespace = &settings.job.job_namespace;
    let jobs = JobTracker::new(cx, &owners, namespace, settings.max_concurrent_jobs);
    let context = Context::new(cx, settings.clone(), jobs.clone(), tasks.clone());
    Controllers::new(cx)
        .kind(RenderTasks::new(&context))
        .kind(ClusterRenderTasks::new(&context))
        .dependent(Jobs(jobs.clone()))
        .dependent(Pods(jobs))
}
