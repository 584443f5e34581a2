//! The list of all controllers; each group has a folder.

pub mod artifact;
pub mod cluster_addon;
pub mod pipeline;
pub mod rendertask;

use std::sync::Arc;

use crate::jobs::tracker::{JobTracker, Jobs, Pods};
use crate::runtime::{Controllers, Cx};
use artifact::{ArtifactSettings, Artifacts};
use cluster_addon::ClusterAddonSettings;
use pipeline::reconcilers::{self, PipelineSettings, RenderArtifacts};
use rendertask::{ClusterRenderTasks, Context, RenderTasks, Settings, TaskMetrics};

/// All controllers, created anew when this process becomes leader; optional ones only if they are enabled.
pub fn all(
    cx: &Cx,
    settings: &Settings,
    pipeline: Option<PipelineSettings>,
    artifacts: Option<&ArtifactSettings>,
    cluster_addons: Option<&ClusterAddonSettings>,
    tasks: &TaskMetrics,
) -> Controllers {
    let owners = [
        RenderTasks::JOBS,
        ClusterRenderTasks::JOBS,
        RenderArtifacts::JOBS,
        Artifacts::JOBS,
    ];
    let namespace = &settings.job.job_namespace;
    let jobs = JobTracker::new(cx, &owners, namespace, settings.job_limits);
    let context = Context::new(cx, settings.clone(), jobs.clone(), tasks.clone());
    let controllers = Controllers::new(cx)
        .kind(RenderTasks::new(&context))
        .kind(ClusterRenderTasks::new(&context))
        .dependent(Jobs(jobs.clone()))
        .dependent(Pods(Arc::clone(&jobs)));
    let controllers = match artifacts {
        Some(own) => controllers.kind(Artifacts::new(&jobs, &settings.job, own.clone())),
        None => controllers,
    };
    let controllers = match cluster_addons {
        Some(own) => cluster_addon::add(controllers, own.clone()),
        None => controllers,
    };
    match pipeline {
        Some(pipeline) => {
            cx.stores().share(pipeline.cross_namespace);
            let artifacts = RenderArtifacts::new(&jobs, &settings.job);
            reconcilers::add(controllers, pipeline, artifacts)
        }
        None => controllers,
    }
}
