//! Many Targets with Releases, as objects: a catalog binds its Releases by Profiles to Targets in tenants' namespaces, and
//! their charts go to the platform's Registry.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::{Fleet, NAMESPACE, PARALLEL, condition, resource};

const GROUP: &str = "solar.opendefense.cloud";
/// Where Releases and Profiles are.
pub const CATALOG: &str = "catalog";

/// How many of each.
#[derive(Debug, Clone, Copy)]
pub struct Estate {
    /// Targets, in turn in the namespaces of the tenants.
    pub targets: usize,
    /// Releases, each with a ComponentVersion and a Profile that binds it to all Targets.
    pub releases: usize,
    /// Namespaces of tenants.
    pub tenants: usize,
}

impl Estate {
    /// The namespaces that have to be there.
    pub fn namespaces(&self) -> Vec<String> {
        let tenants = (0..self.tenants).map(tenant);
        tenants.chain([CATALOG.to_owned()]).collect()
    }

    /// The Registry with its push Secret, and the grants.
    pub fn platform(&self) -> Vec<Value> {
        let mut objects = vec![
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "push", "namespace": NAMESPACE}}),
            object(
                NAMESPACE,
                "Registry",
                "charts",
                &json!({"hostname": "charts.example", "solarSecretRef": {"name": "push"}}),
            ),
        ];
        let tenants: Vec<String> = (0..self.tenants).map(tenant).collect();
        for tenant in &tenants {
            let from = [("Profile", CATALOG), ("ReleaseBinding", CATALOG)];
            objects.push(grant(tenant, "catalog", &from, "Target"));
            let from = [("Target", tenant.as_str()), ("RenderArtifact", tenant)];
            objects.push(grant(NAMESPACE, tenant, &from, "Registry"));
        }
        objects
    }

    /// The ComponentVersions and the Releases.
    pub fn catalog(&self) -> Vec<Value> {
        let releases = (0..self.releases).map(release);
        let objects = releases.flat_map(|name| {
            let version = json!({
                "componentRef": {"name": name}, "tag": "1", "entrypoint": {"resourceName": "chart", "type": "helm"},
                "resources": {"chart": {"repository": format!("h.example/{name}"), "tag": "1"}},
            });
            [
                object(CATALOG, "ComponentVersion", &name, &version),
                object(CATALOG, "Release", &name, &values_of(&name, 1)),
            ]
        });
        objects.collect()
    }

    /// The Profiles, which select all Targets.
    pub fn profiles(&self) -> Vec<Value> {
        let releases = (0..self.releases).map(release);
        let profiles = releases.map(|name| {
            let spec =
                json!({"releaseRef": {"name": name}, "targetSelector": {"matchLabels": {"env": "prod"}}});
            object(CATALOG, "Profile", &name, &spec)
        });
        profiles.collect()
    }

    /// The Targets, which render with a Registry of this name.
    pub fn targets(&self, registry: &str) -> Vec<Value> {
        let targets = (0..self.targets).map(|index| {
            let spec = json!({"renderRegistryRef": {"name": registry, "namespace": NAMESPACE}});
            let namespace = tenant(index % self.tenants);
            let mut target = object(&namespace, "Target", &format!("edge-{index}"), &spec);
            target["metadata"]["labels"] = json!({"env": "prod"});
            target
        });
        targets.collect()
    }

    /// One of the Releases with other values.
    pub fn changed_release(&self, index: usize, values: usize) -> Value {
        let name = release(index);
        object(CATALOG, "Release", &name, &values_of(&name, values))
    }
}

impl Fleet {
    /// Applies objects, several at a time.
    pub fn apply_all(&self, objects: &[Value]) {
        let params = PatchParams::apply("fleet").force();
        let applied = stream::iter(objects).map(|object| {
            let (kind, metadata) = (object["kind"].as_str().unwrap(), &object["metadata"]);
            let (name, namespace) = (&metadata["name"], metadata["namespace"].as_str().unwrap());
            let api = self.api_of(kind, Some(namespace));
            let params = &params;
            async move {
                let patch = Patch::Apply(object);
                let applied = api.patch(name.as_str().unwrap(), params, &patch).await;
                applied.map(|_| ())
            }
        });
        let applied = applied.buffer_unordered(PARALLEL).try_for_each(async |()| Ok(()));
        self.runtime.block_on(applied).unwrap();
    }

    /// All objects of a kind.
    pub fn all_of(&self, kind: &str) -> Vec<Value> {
        let api = self.api_of(kind, None);
        let list = self.runtime.block_on(api.list(&ListParams::default())).unwrap();
        let objects = list.items.iter();
        objects
            .map(|object| serde_json::to_value(object).unwrap())
            .collect()
    }

    /// Deletes all objects of a kind in the tenants' namespaces.
    pub fn delete_all_of(&self, kind: &str, estate: &Estate) {
        for index in 0..estate.tenants {
            let api = self.api_of(kind, Some(&tenant(index)));
            let (params, all) = (DeleteParams::default(), ListParams::default());
            let deleted = api.delete_collection(&params, &all);
            self.runtime.block_on(deleted).unwrap();
        }
    }

    fn api_of(&self, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = match kind {
            "Secret" => kube::core::ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&()),
            kind => resource(kind),
        };
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}

/// Whether a Target has rendered so many Releases and its bootstrap chart, and waits for nothing.
pub fn is_ready(target: &Value, releases: usize) -> bool {
    let reported = charts(target);
    condition(target, "Ready") == "True"
        && target["status"]["observedGeneration"] == target["metadata"]["generation"]
        && reported.len() == releases + 1
}

/// The URLs of the charts of a Target's Releases, by the Release's name, and of its bootstrap chart by `bootstrap`.
pub fn charts(target: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let status = &target["status"];
    let releases = status["releases"].as_array().into_iter().flatten();
    let releases = releases.filter(|release| release["state"] == "Rendered");
    let releases = releases.filter_map(|one| Some((text(&one["release"])?, text(&one["chartURL"])?)));
    let bootstrap = text(&status["bootstrapChartURL"]).map(|url| ("bootstrap".to_owned(), url));
    releases.chain(bootstrap).collect()
}

/// The tags that the RenderTask of a bootstrap chart was given for its releases, sorted.
pub fn bootstrap_tags(task: &Value) -> BTreeSet<String> {
    let releases = task["spec"]["bootstrap"]["input"]["releases"].as_object();
    let tags = releases.into_iter().flatten();
    tags.filter_map(|(_, release)| release["tag"].as_str().map(str::to_owned))
        .collect()
}

fn tenant(index: usize) -> String {
    format!("tenant-{index}")
}

/// The name of a Release.
pub fn release(index: usize) -> String {
    format!("release-{index}")
}

fn values_of(name: &str, values: usize) -> Value {
    json!({"componentVersionRef": {"name": name}, "values": {"replicas": values}})
}

fn grant(namespace: &str, name: &str, from: &[(&str, &str)], to: &str) -> Value {
    let from = from.iter();
    let from = from.map(|(kind, namespace)| json!({"group": GROUP, "kind": kind, "namespace": namespace}));
    let from: Vec<Value> = from.collect();
    let spec = json!({"from": from, "to": [{"group": GROUP, "kind": to}]});
    object(namespace, "ReferenceGrant", name, &spec)
}

fn object(namespace: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind,
        "metadata": {"name": name, "namespace": namespace}, "spec": spec,
    })
}
