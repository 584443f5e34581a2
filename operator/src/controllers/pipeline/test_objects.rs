//! Fixtures that the tests of several decisions share.

use serde_json::{Value, json};

use super::pull_secrets::{BoundRegistry, PullSecrets};
use super::release_task::{PlanError, PlannedTask, ReleaseSources, release_task};
use crate::api::pipeline::{
    ComponentVersion, KeyPair, Object, ObjectKey, Registry, RegistrySpec, Release, ResourceAccess, Spec,
};

/// An object of a kind.
pub(crate) fn object<S: Spec>(json: Value) -> Object<S> {
    serde_json::from_value(json).expect("an object")
}

/// The inputs of a Release's chart: the Target `tenant/edge`, the Release `catalog/shop-release`, the Registry
/// `solar-system/charts`.
pub(crate) struct Fixture {
    pub target: ObjectKey,
    pub release: Release,
    pub version: ComponentVersion,
    pub registry: Registry,
    pub bound: Vec<(ObjectKey, RegistrySpec)>,
    pub signer: Option<KeyPair>,
    pub blueprint: String,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let pulled: Registry = object(json!({
            "metadata": {"name": "pulled", "namespace": "tenant"},
            "spec": {"hostname": "h.example", "targetPullSecretName": "pull"},
        }));
        Self {
            target: ObjectKey::new("tenant", "edge"),
            release: object(json!({
                "metadata": {"name": "shop-release", "namespace": "catalog", "generation": 3},
                "spec": {
                    "componentVersionRef": {"name": "shop-1"}, "targetNamespace": "shop",
                    "values": {"replicas": 2}, "failedJobTTL": 60,
                },
            })),
            version: object(json!({
                "metadata": {"name": "shop-1", "namespace": "catalog"},
                "spec": {
                    "componentRef": {"name": "shop"}, "tag": "1.0.0",
                    "resources": {"chart": {"repository": "h.example/c/shop", "tag": "1.0.0",
                        "helm": {"name": "shop", "valuesTemplate": "a: 1"}}},
                    "entrypoint": {"resourceName": "chart", "type": "helm"},
                },
            })),
            registry: object(json!({
                "metadata": {"name": "charts", "namespace": "solar-system"},
                "spec": {"hostname": "charts.example:5000", "plainHTTP": true, "solarSecretRef": {"name": "push"},
                    "targetPullSecretName": "flux-pull"},
            })),
            bound: vec![(ObjectKey::new("tenant", "pulled"), pulled.spec)],
            signer: None,
            blueprint: "1".into(),
        }
    }

    pub(crate) fn resource(&mut self) -> &mut ResourceAccess {
        self.version.spec.resources.get_mut("chart").expect("the chart")
    }

    pub(crate) fn release_task(&self, is_strict: bool) -> Result<PlannedTask, PlanError> {
        let bound = self.bound.iter();
        let pull_secrets =
            PullSecrets::new(bound.map(|(binding, registry)| BoundRegistry { binding, registry }));
        release_task(&ReleaseSources {
            target: &self.target,
            release: &self.release,
            version: &self.version,
            registry: &self.registry,
            pull_secrets: &pull_secrets,
            is_strict,
            signer: self.signer.as_ref(),
            blueprint: &self.blueprint,
        })
    }
}
