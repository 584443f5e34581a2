//! What a task owns, as pure functions of the task and the operator's settings.
//!
//! - [`config_secret`]: the renderer's config
//! - [`job`]: the Job that runs the renderer
//!
//! No client, no clock: the same input gives the same object.

mod arguments;
mod job;
mod pod;
mod secret;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;

use crate::api::{Scope, Task, api_version};
use crate::names;

pub(crate) use job::CA_KEY;
pub use job::job;
pub use pod::CONTAINER;
pub use secret::{CONFIG_KEY, config_secret};

/// What the operator's own settings put into a Job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSettings {
    /// The image of the container.
    pub image: String,
    /// The command, when it is not the image's own.
    pub command: Vec<String>,
    /// Arguments before those that the task gives.
    pub args: Vec<String>,
    /// The ConfigMap with CA certificates, in the Job's namespace.
    pub ca_configmap: Option<String>,
    /// The Secrets to pull the image with, in the Job's namespace.
    pub image_pull_secrets: Vec<String>,
    /// How long a Job may be active, all its pods together, in seconds.
    pub deadline_seconds: u32,
    /// The exit codes after which no other pod is tried; empty for renderers with other codes.
    pub permanent_exit_codes: BTreeSet<i32>,
    /// What the container asks for, by resource.
    pub requests: BTreeMap<String, String>,
    /// What the container may use, by resource.
    pub limits: BTreeMap<String, String>,
    /// Where cluster tasks' Jobs and Secrets are.
    pub job_namespace: String,
}

/// A task with the names that everything it owns goes by.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Which of the two kinds.
    pub scope: Scope,
    /// The task.
    pub task: &'a Task,
    /// The task's name.
    pub name: &'a str,
    /// The task's UID.
    pub uid: &'a str,
    /// Where its Job and Secrets are.
    pub namespace: &'a str,
}

impl<'a> Subject<'a> {
    /// `None` for an object that no API server has seen: it has no name, UID or namespace.
    pub fn new(scope: Scope, task: &'a Task, settings: &'a JobSettings) -> Option<Self> {
        let namespace = match scope {
            Scope::Namespaced => task.metadata.namespace.as_deref()?,
            Scope::Cluster => settings.job_namespace.as_str(),
        };
        Some(Self {
            scope,
            task,
            name: task.metadata.name.as_deref()?,
            uid: task.metadata.uid.as_deref()?,
            namespace,
        })
    }

    /// The name of the Job and of the config Secret.
    pub fn job_name(&self) -> String {
        names::job_name(self.scope, self.name)
    }

    /// The metadata of what it owns.
    fn metadata(&self) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.job_name()),
            namespace: Some(self.namespace.to_owned()),
            labels: Some(names::labels(self.scope, self.name)),
            owner_references: Some(vec![OwnerReference {
                api_version: api_version(),
                kind: self.scope.kind().to_owned(),
                name: self.name.to_owned(),
                uid: self.uid.to_owned(),
                controller: Some(true),
                block_owner_deletion: Some(true),
            }]),
            ..Default::default()
        }
    }
}
