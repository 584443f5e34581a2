//! The list of all controllers; each group has a folder.

pub mod pipeline;
pub mod rendertask;

use std::sync::Arc;

use crate::jobs::tracker::{JobTracker, Jobs, Pods};
use crate::runtime::{Controllers, Cx};
use pipeline::controllers::{self as pipeline_controllers, PipelineSettings, RenderArtifacts};
use rendertask::{ClusterRenderTasks, Context, RenderTasks, Settings, TaskMetrics};

/// All controllers, created anew when this process becomes leader; the pipeline's only if it is enabled.
pub fn all(
    cx: &Cx,
    settings: &Settings,
    pipeline: Option<PipelineSettings>,
    tasks: &TaskMetrics,
) -> Controllers {
    let owners = [RenderTasks::JOBS, ClusterRenderTasks::JOBS, RenderArtifacts::JOBS];
    let namespace = &settings.job.job_namespace;
    let jobs = JobTracker::new(cx, &owners, namespace, settings.job_limits);
    let context = Context::new(cx, settings.clone(), jobs.clone(), tasks.clone());
    let controllers = Controllers::new(cx)
        .kind(RenderTasks::new(&context))
        .kind(ClusterRenderTasks::new(&context))
        .dependent(Jobs(jobs.clone()))
        .dependent(Pods(Arc::clone(&jobs)));
    match pipeline {
        Some(pipeline) => {
            cx.stores().share(pipeline.cross_namespace);
            let artifacts = RenderArtifacts::new(&jobs, &settings.job);
            pipeline_controllers::add(controllers, pipeline, artifacts)
        }
        None => controllers,
    }
}
