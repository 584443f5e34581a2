//! The objects of the design's page, built from what a config says.

use sha2::Digest as _;
use solar_render::value::{Map, Value};

use crate::{NAMESPACE, canonical, sort_key};

/// A chart in a registry, as a test means it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resource {
    pub(crate) repository: String,
    pub(crate) tag: String,
    pub(crate) insecure: bool,
    pub(crate) pull_secret: Option<String>,
    pub(crate) values_template: Option<String>,
    pub(crate) verify_secret: Option<String>,
}

/// A release config, as a test means it.
#[derive(Debug, Clone)]
pub(crate) struct Release {
    pub(crate) component: String,
    pub(crate) entrypoint: Resource,
    pub(crate) target_namespace: String,
    pub(crate) values: Value,
}

/// `{key: value, …}`
pub(crate) fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(Map::from_iter(entries))
}

fn text(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

fn insert(map: &mut Value, key: &str, value: Value) {
    if let Value::Map(map) = map {
        map.insert(key, value);
    }
}

/// At most `longest` bytes: else the first `kept`, without `-` and `.` at their end, and a hash.
fn short(text: &str, longest: usize, kept: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let hash = sha2::Sha256::digest(text.as_bytes());
    let hex: String = hash.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{hex}", text[..kept].trim_end_matches(['-', '.']))
}

/// The three objects of a release, or two without a values template.
pub(crate) fn release(config: &Release, helm_release: &str) -> Vec<Value> {
    let name = short(&format!("{helm_release}-{}", config.component), 53, 42);
    let label = short(&config.component, 63, 52);
    let mut objects = flux(
        &name,
        "component",
        &label,
        &config.component,
        &config.entrypoint,
        ["4m", "10m"],
    );
    let Resource { tag, .. } = &config.entrypoint;
    let reference = match tag.strip_prefix('@') {
        Some(digest) => map([("digest", text(digest))]),
        None => map([("tag", text(tag.as_str()))]),
    };
    set(&mut objects[0], "ref", reference);
    set(&mut objects[1], "values", config.values.clone());
    if !config.target_namespace.is_empty() {
        set(
            &mut objects[1],
            "targetNamespace",
            text(config.target_namespace.as_str()),
        );
        let remediation = map([("retries", Value::from(3))]);
        set(
            &mut objects[1],
            "install",
            map([
                ("remediation", remediation),
                ("createNamespace", Value::Bool(true)),
            ]),
        );
    }
    if let Some(template) = &config.entrypoint.values_template {
        let values_name = format!("{name}-values");
        let source = map([
            ("kind", text("ConfigMap")),
            ("name", text(values_name.as_str())),
            ("valuesKey", text("values.yaml")),
        ]);
        set(&mut objects[1], "valuesFrom", Value::List(vec![source]));
        let labels = map([("solar.opendefense.cloud/component", text(label.as_str()))]);
        objects.push(map([
            ("apiVersion", text("v1")),
            ("kind", text("ConfigMap")),
            (
                "metadata",
                map([
                    ("name", text(values_name)),
                    ("namespace", text(NAMESPACE)),
                    ("labels", labels),
                ]),
            ),
            ("data", map([("values.yaml", text(template.as_str()))])),
        ]));
    }
    finish(objects)
}

/// Two objects for each release of a bootstrap.
pub(crate) fn bootstrap(releases: &[(String, Resource)], userdata: &Value, helm_release: &str) -> Vec<Value> {
    let each = releases.iter().flat_map(|(key, resource)| {
        let name = short(&format!("{helm_release}-{key}"), 53, 42);
        let label = short(key, 63, 52);
        let mut objects = flux(&name, "release", &label, key, resource, ["10m", "10m"]);
        set(
            &mut objects[0],
            "ref",
            map([("semver", text(resource.tag.as_str()))]),
        );
        set(&mut objects[1], "values", map([("userdata", userdata.clone())]));
        objects
    });
    finish(each.collect())
}

/// Sets a field of an object's spec.
fn set(object: &mut Value, key: &str, value: Value) {
    let Value::Map(fields) = object else { return };
    let mut spec = fields.remove("spec").unwrap_or_else(Value::empty_map);
    insert(&mut spec, key, value);
    fields.insert("spec", spec);
}

fn finish(objects: Vec<Value>) -> Vec<Value> {
    let mut objects: Vec<Value> = objects.into_iter().map(canonical).collect();
    objects.sort_by_key(sort_key);
    objects
}

fn flux(
    name: &str,
    kind: &str,
    label: &str,
    annotation: &str,
    resource: &Resource,
    intervals: [&str; 2],
) -> Vec<Value> {
    let key = format!("solar.opendefense.cloud/{kind}");
    let metadata = map([
        ("name", text(name)),
        ("namespace", text(NAMESPACE)),
        ("labels", map([(key.as_str(), text(label))])),
        ("annotations", map([(key.as_str(), text(annotation))])),
    ]);
    let selector = map([
        (
            "mediaType",
            text("application/vnd.cncf.helm.chart.content.v1.tar+gzip"),
        ),
        ("operation", text("copy")),
    ]);
    let mut source = map([
        ("interval", text(intervals[0])),
        ("url", text(format!("oci://{}", resource.repository))),
        ("layerSelector", selector),
    ]);
    if resource.insecure {
        insert(&mut source, "insecure", Value::Bool(true));
    }
    if let Some(secret) = &resource.pull_secret {
        insert(&mut source, "secretRef", map([("name", text(secret.as_str()))]));
    }
    if let Some(secret) = &resource.verify_secret {
        let verify = map([
            ("provider", text("cosign")),
            ("secretRef", map([("name", text(secret.as_str()))])),
        ]);
        insert(&mut source, "verify", verify);
    }
    let remediation = || map([("remediation", map([("retries", Value::from(3))]))]);
    let release = map([
        ("interval", text(intervals[1])),
        (
            "chartRef",
            map([("kind", text("OCIRepository")), ("name", text(name))]),
        ),
        ("releaseName", text(name)),
        ("install", remediation()),
        ("upgrade", remediation()),
        ("test", map([("enable", Value::Bool(true))])),
        ("driftDetection", map([("mode", text("enabled"))])),
    ]);
    vec![
        map([
            ("apiVersion", text("source.toolkit.fluxcd.io/v1")),
            ("kind", text("OCIRepository")),
            ("metadata", metadata.clone()),
            ("spec", source),
        ]),
        map([
            ("apiVersion", text("helm.toolkit.fluxcd.io/v2")),
            ("kind", text("HelmRelease")),
            ("metadata", metadata),
            ("spec", release),
        ]),
    ]
}
