//! Jobs with one container that reports a result: what every controller that runs one shares.
//!
//! - [`tracker`][]: running Jobs: the watches of Jobs and pods, and the slots
//! - [`conditions`][]: the state of a Job-backed resource, and its conditions
//! - [`index`][]: the Jobs and pods that the watches have delivered
//! - [`observe`][]: the state of a Job and its result, as a pure function
//! - [`snapshot`][]: the fields of a Job and of its pods that are kept
//! - [`partial`][]: what is decoded of Jobs, pods and ConfigMaps
//! - [`pod`][]: a pod that runs one container, and passes Pod Security "restricted"
//! - [`registry_access`][]: credentials and CA certificates, and which failures last
//! - [`allowed_hosts`][]: which registry hosts they may use
//! - [`slots`][]: how many Jobs run at once, and who is next

pub mod allowed_hosts;
pub mod conditions;
pub mod index;
pub mod observe;
pub mod partial;
pub mod pod;
pub mod registry_access;
pub mod slots;
pub mod snapshot;
pub mod tracker;

use std::collections::{BTreeMap, BTreeSet};

use allowed_hosts::AllowedHosts;

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
    /// The ServiceAccount of the pods, in the Job's namespace: a cloud's workload identity for its registry.
    pub service_account: Option<String>,
    /// The audience of a token of that account, which a credential helper in the image exchanges.
    pub token_audience: Option<String>,
    /// How long a Job may be active, all its pods together, in seconds.
    pub deadline_seconds: u32,
    /// The exit codes of permanent failures, which are not retried; empty for renderers with other codes.
    pub permanent_exit_codes: BTreeSet<i32>,
    /// The container's resource requests.
    pub requests: BTreeMap<String, String>,
    /// The container's resource limits.
    pub limits: BTreeMap<String, String>,
    /// The namespace of cluster tasks' Jobs and Secrets.
    pub job_namespace: String,
    /// The registry hosts that Jobs may use, by their namespace.
    pub allowed_hosts: AllowedHosts,
}
