//! What is decoded of Jobs, pods and ConfigMaps.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::JobStatus;
use k8s_openapi::api::core::v1::PodStatus;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::runtime::key::KindId;
use crate::runtime::views::Object;

/// Jobs.
pub const JOBS: KindId = KindId {
    kind: "Job",
    group: "batch",
    version: "v1",
    plural: "jobs",
    namespaced: true,
};
/// Pods.
pub const PODS: KindId = core("Pod", "pods");
/// ConfigMaps.
pub const CONFIG_MAPS: KindId = core("ConfigMap", "configmaps");

/// A Job without its template.
pub type PartialJob = Object<JobParts>;
/// A pod without its spec.
pub type PartialPod = Object<PodParts>;
/// A ConfigMap's keys.
pub type PartialConfigMap = Object<ConfigMapKeys>;

/// The decoded fields of a Job.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct JobParts {
    /// Its spec, in part.
    pub spec: JobSpecParts,
    /// Its whole status.
    pub status: Option<JobStatus>,
}

/// The decoded fields of a Job's spec.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct JobSpecParts {
    /// Whether the Job controller creates no pods.
    pub suspend: Option<bool>,
}

/// The decoded fields of a pod.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PodParts {
    /// Its whole status.
    pub status: Option<PodStatus>,
}

/// A ConfigMap's keys.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapKeys {
    data: Option<BTreeMap<String, IgnoredAny>>,
    binary_data: Option<BTreeMap<String, IgnoredAny>>,
}

impl ConfigMapKeys {
    /// Whether it has the key, as text or as binary data.
    pub fn has(&self, key: &str) -> bool {
        let has = |map: &Option<BTreeMap<_, _>>| map.as_ref().is_some_and(|map| map.contains_key(key));
        has(&self.data) || has(&self.binary_data)
    }
}

const fn core(kind: &'static str, plural: &'static str) -> KindId {
    KindId {
        kind,
        group: "",
        version: "v1",
        plural,
        namespaced: true,
    }
}
