//! The input: a config, decoded with locations, checked, and canonical.
//!
//! YAML or JSON; unknown fields are errors; independent errors are reported together.
//! Canonical means: keys sorted, numbers as JSON numbers, defaults filled in, so a file and the same config after a
//! round trip through a Kubernetes API server are equal. Nothing here renders or reads files.

pub mod names;
mod parse;
#[cfg(feature = "schema")]
pub mod schema;
mod verify;

use std::collections::BTreeMap;

use crate::value::{Map, Value};

pub use parse::{MAX_CONFIG_BYTES, MAX_CONFIG_DEPTH, MAX_CONFIG_NODES, MAX_USERDATA_KEY, parse};
pub use verify::{MAX_PUBLIC_KEY, MAX_VERIFICATION_KEYS};

/// A checked config.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Config {
    /// A component as Flux objects.
    Release(ReleaseConfig),
    /// Many releases as Flux objects.
    Bootstrap(BootstrapConfig),
    /// The user's own chart templates.
    Blueprint(BlueprintConfig),
}

/// The fields of Chart.yaml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartInfo {
    /// The name, valid for Helm.
    pub name: String,
    /// A one-line description; may be empty.
    pub description: String,
    /// The version, valid for Helm.
    pub version: String,
    /// The version of what the chart installs; may be empty.
    pub app_version: String,
}

/// `type: release`
#[derive(Debug, Clone, PartialEq)]
pub struct ReleaseConfig {
    /// The fields of Chart.yaml.
    pub chart: ChartInfo,
    /// The component's name, valid in Kubernetes object names.
    pub component: String,
    /// The resources, by name.
    pub resources: BTreeMap<String, Resource>,
    /// The resource that is installed.
    pub entrypoint: Entrypoint,
    /// The namespace of the component; empty: that of the release.
    pub target_namespace: String,
    /// The component's Helm values, a map.
    pub values: Map,
}

/// `type: bootstrap`
#[derive(Debug, Clone, PartialEq)]
pub struct BootstrapConfig {
    /// The fields of Chart.yaml.
    pub chart: ChartInfo,
    /// The releases, by key; keys are valid in Kubernetes object names.
    pub releases: BTreeMap<String, Resource>,
    /// The `userdata` of each release, a map.
    pub userdata: Map,
    /// The public keys in the chart.
    pub verification_keys: Option<VerificationKeys>,
}

/// Public keys that a chart installs as a Secret, for Flux to verify other charts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationKeys {
    /// The Secret's name.
    pub secret_name: String,
    /// Public keys in PEM by file name, which ends in `.pub`. Flux accepts a chart that one of them has signed.
    pub keys: BTreeMap<String, String>,
}

/// `type: blueprint`
#[derive(Debug, Clone, PartialEq)]
pub struct BlueprintConfig {
    /// The fields of Chart.yaml.
    pub chart: ChartInfo,
    /// The folder of templates, relative to the config file.
    pub path: String,
    /// The templates' `input`.
    pub input: Value,
}

/// A chart in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// `host/path`, without `oci://`.
    pub repository: String,
    /// Plain HTTP.
    pub insecure: bool,
    /// A tag, `@sha256:…` (releases), or a version range (bootstrap).
    pub tag: String,
    /// Helm values as text, for Flux to template.
    pub values_template: Option<String>,
    /// The Secret to pull with.
    pub pull_secret_name: Option<String>,
    /// The Secret with cosign public keys, one of which must have signed the chart.
    pub verify_secret_name: Option<String>,
}

/// Which resource is installed, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entrypoint {
    /// A key of `resources`.
    pub resource_name: String,
    /// `helm`
    pub kind: String,
}

/// Flux's provider for signatures: the only one that charts are signed with here.
const VERIFY_PROVIDER: &str = "cosign";

impl Config {
    /// The fields of Chart.yaml.
    pub fn chart(&self) -> &ChartInfo {
        match self {
            Self::Release(release) => &release.chart,
            Self::Bootstrap(bootstrap) => &bootstrap.chart,
            Self::Blueprint(blueprint) => &blueprint.chart,
        }
    }

    /// The name of its type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Release(_) => "release",
            Self::Bootstrap(_) => "bootstrap",
            Self::Blueprint(_) => "blueprint",
        }
    }

    /// A blueprint's `input`.
    pub fn input(&self) -> Value {
        match self {
            Self::Release(release) => release.input(),
            Self::Bootstrap(bootstrap) => bootstrap.input(),
            Self::Blueprint(blueprint) => blueprint.input.clone(),
        }
    }
}

impl ChartInfo {
    /// A blueprint's `chart`.
    pub fn to_value(&self) -> Value {
        let Self {
            name,
            description,
            version,
            app_version,
        } = self;
        let fields = [
            ("name", name.as_str()),
            ("description", description),
            ("version", version),
            ("appVersion", app_version),
        ];
        Value::Map(
            fields
                .into_iter()
                .map(|(key, text)| (key, Value::from(text)))
                .collect(),
        )
    }
}

impl ReleaseConfig {
    /// `defaults` is written to values.yaml; the rest is only for the templates.
    fn input(&self) -> Value {
        let Self {
            chart: _,
            component,
            resources,
            entrypoint,
            target_namespace,
            values,
        } = self;
        let Entrypoint { resource_name, kind } = entrypoint;
        let defaults = Map::from_iter([
            (
                "component",
                Value::Map(Map::from_iter([("name", Value::from(component.as_str()))])),
            ),
            ("resources", resources_value(resources)),
            (
                "entrypoint",
                Value::Map(Map::from_iter([
                    ("resourceName", Value::from(resource_name.as_str())),
                    ("type", Value::from(kind.as_str())),
                ])),
            ),
        ]);
        Value::Map(Map::from_iter([
            ("defaults", Value::Map(defaults)),
            ("targetNamespace", Value::from(target_namespace.as_str())),
            ("verifies", verifies(resources)),
            ("values", Value::Map(values.clone())),
        ]))
    }
}

impl BootstrapConfig {
    fn input(&self) -> Value {
        let Self {
            chart: _,
            releases,
            userdata,
            verification_keys,
        } = self;
        let defaults = Map::from_iter([
            ("releases", resources_value(releases)),
            ("userdata", Value::Map(userdata.clone())),
        ]);
        Value::Map(Map::from_iter([
            ("defaults", Value::Map(defaults)),
            ("nulls", Value::Map(null_skeleton(userdata).unwrap_or_default())),
            ("verifies", verifies(releases)),
            (
                "verificationKeys",
                verification_keys
                    .as_ref()
                    .map_or(Value::Null, VerificationKeys::to_value),
            ),
        ]))
    }
}

impl VerificationKeys {
    fn to_value(&self) -> Value {
        let Self { secret_name, keys } = self;
        let keys = keys
            .iter()
            .map(|(file, key)| (file.as_str(), Value::from(key.as_str())));
        Value::Map(Map::from_iter([
            ("secretName", Value::from(secret_name.as_str())),
            ("keys", Value::Map(keys.collect())),
        ]))
    }
}

/// Whether any resource is verified: a chart without verification renders as before this field existed.
fn verifies(resources: &BTreeMap<String, Resource>) -> Value {
    let mut all = resources.values();
    Value::Bool(all.any(|resource| resource.verify_secret_name.is_some()))
}

impl Resource {
    fn to_value(&self) -> Value {
        let Self {
            repository,
            insecure,
            tag,
            values_template,
            pull_secret_name,
            verify_secret_name,
        } = self;
        let mut fields = Map::from_iter([
            ("repository", Value::from(repository.as_str())),
            ("tag", Value::from(tag.as_str())),
        ]);
        if *insecure {
            fields.insert("insecure", Value::Bool(true));
        }
        if let Some(text) = values_template {
            let helm = Map::from_iter([("valuesTemplate", Value::from(text.as_str()))]);
            fields.insert("helm", Value::Map(helm));
        }
        if let Some(name) = pull_secret_name {
            fields.insert("pullSecretName", Value::from(name.as_str()));
        }
        if let Some(name) = verify_secret_name {
            let secret = Map::from_iter([("name", Value::from(name.as_str()))]);
            let verify = Map::from_iter([
                ("provider", Value::from(VERIFY_PROVIDER)),
                ("secretRef", Value::Map(secret)),
            ]);
            fields.insert("verify", Value::Map(verify));
        }
        Value::Map(fields)
    }
}

fn resources_value(resources: &BTreeMap<String, Resource>) -> Value {
    Value::Map(
        resources
            .iter()
            .map(|(name, resource)| (name.as_str(), resource.to_value()))
            .collect(),
    )
}

/// The nulls in `map`, with the maps on their paths. Helm drops null keys of a chart's values.yaml (verified with
/// 4.3.1), so the bootstrap's template restores them.
fn null_skeleton(map: &Map) -> Option<Map> {
    let kept: Map = map
        .iter()
        .filter_map(|(key, value)| match value {
            Value::Null => Some((key.as_str(), Value::Null)),
            Value::Map(inner) => null_skeleton(inner).map(|inner| (key.as_str(), Value::Map(inner))),
            _ => None,
        })
        .collect();
    (!kept.is_empty()).then_some(kept)
}
