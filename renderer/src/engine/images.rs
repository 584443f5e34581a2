//! The container images that objects use.
//!
//! In: rendered objects. Out: [`ImageReference`]s without duplicates, in order, with the fields that name them.
//!
//! # Where images are searched
//!
//! - Exactly, in the pod specs of Kubernetes' own workloads (Pod, PodTemplate, Deployment,
//!   StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job, CronJob): `image` of
//!   `containers`, `initContainers` and `ephemeralContainers`, and `image.reference` of `volumes`.
//! - By heuristics, in the objects of other API groups (custom resources): every string in a field `image` or
//!   `imageName` that could be a reference; in lists of containers also a plain name, and `image.reference` of
//!   `volumes`. [`Use::is_exact`] distinguishes the two.
//! - Not in other objects: a ConfigMap's data and a CRD's schema name no images.
//! - The items of lists (`kind: List`) are searched too.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::value::{Map, Value};

/// The maximum depth at which objects are searched.
const MAX_DEPTH: usize = 100;

/// An image, and the fields that use it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageReference {
    /// The reference as written: `registry/repository:tag`.
    pub name: String,
    /// Every field that names it.
    pub uses: Vec<Use>,
}

/// A field that names an image.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Use {
    /// The template, as in `# Source:`.
    pub source: String,
    /// The object's `apiVersion`.
    pub api_version: String,
    /// The object's `kind`.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// The object's namespace; empty if it is not set.
    pub namespace: String,
    /// `spec.template.spec.containers[0].image`
    pub field: String,
    /// Whether the field is known to hold an image.
    pub is_exact: bool,
}

/// The images of objects, which are given with the templates they come from.
pub fn images<'o>(objects: impl IntoIterator<Item = (&'o str, &'o Value)>) -> Vec<ImageReference> {
    let mut found: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for (source, object) in objects {
        look(source, object, 0, &mut found);
    }
    found
        .into_iter()
        .map(|(name, uses)| ImageReference { name, uses })
        .collect()
}

fn look(source: &str, object: &Value, depth: usize, found: &mut BTreeMap<String, Vec<Use>>) {
    let Value::Map(object) = object else { return };
    let kind = text(object, "kind");
    if let (true, Some(Value::List(items)), true) =
        (kind.ends_with("List"), object.get("items"), depth < MAX_DEPTH)
    {
        for item in items {
            look(
                source,
                &typed(item, kind, text(object, "apiVersion")),
                depth + 1,
                found,
            );
        }
        return;
    }
    let mut images = Vec::new();
    match pod_spec(kind) {
        Some(path) if is_built_in(text(object, "apiVersion")) => {
            if let Some(Value::Map(spec)) = below(object, path) {
                in_pod(spec, &path.join("."), &mut images);
            }
        }
        _ if is_built_in(text(object, "apiVersion")) => {}
        _ => anywhere(&Value::Map(object.clone()), "", &[], &mut images),
    }
    let is_exact = is_built_in(text(object, "apiVersion"));
    let metadata = match object.get("metadata") {
        Some(Value::Map(metadata)) => metadata.clone(),
        _ => Map::default(),
    };
    for (image, field) in images {
        found.entry(image).or_default().push(Use {
            source: source.to_owned(),
            api_version: text(object, "apiVersion").to_owned(),
            kind: kind.to_owned(),
            name: text(&metadata, "name").to_owned(),
            namespace: text(&metadata, "namespace").to_owned(),
            field,
            is_exact,
        });
    }
}

/// An item of a typed list, which may omit its kind.
fn typed<'v>(item: &'v Value, list: &str, api_version: &str) -> Cow<'v, Value> {
    match (item, list.strip_suffix("List")) {
        (Value::Map(map), Some(kind)) if !kind.is_empty() && !map.contains_key("kind") => {
            let mut map = map.clone();
            map.insert("apiVersion", api_version.into());
            map.insert("kind", kind.into());
            Cow::Owned(Value::Map(map))
        }
        _ => Cow::Borrowed(item),
    }
}

/// The path of a workload's pod spec.
fn pod_spec(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "Pod" => &["spec"],
        "PodTemplate" => &["template", "spec"],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController" | "Job" => {
            &["spec", "template", "spec"]
        }
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => return None,
    })
}

/// Kubernetes' own groups: without a dot, or below `k8s.io` (where CRDs are, too).
fn is_built_in(api_version: &str) -> bool {
    match api_version.split_once('/') {
        None => true,
        Some((group, _)) => {
            !group.contains('.')
                || matches!(
                    group,
                    "admissionregistration.k8s.io"
                        | "apiextensions.k8s.io"
                        | "apiregistration.k8s.io"
                        | "authentication.k8s.io"
                        | "authorization.k8s.io"
                        | "certificates.k8s.io"
                        | "coordination.k8s.io"
                        | "discovery.k8s.io"
                        | "events.k8s.io"
                        | "flowcontrol.apiserver.k8s.io"
                        | "networking.k8s.io"
                        | "node.k8s.io"
                        | "rbac.authorization.k8s.io"
                        | "resource.k8s.io"
                        | "scheduling.k8s.io"
                        | "storage.k8s.io"
                )
        }
    }
}

fn in_pod(spec: &Map, path: &str, out: &mut Vec<(String, String)>) {
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for (at, one) in items(spec, list) {
            add(text(one, "image"), format!("{path}.{list}[{at}].image"), out);
        }
    }
    for (at, volume) in items(spec, "volumes") {
        if let Some(Value::Map(image)) = volume.get("image") {
            add(
                text(image, "reference"),
                format!("{path}.volumes[{at}].image.reference"),
                out,
            );
        }
    }
}

/// `keys` is the path to the value; a list's items have the keys of their list.
fn anywhere(value: &Value, path: &str, keys: &[&str], out: &mut Vec<(String, String)>) {
    if keys.len() > MAX_DEPTH {
        return;
    }
    match value {
        Value::Map(map) => {
            for (key, inner) in map {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                match inner {
                    Value::String(text) if is_image(text, key, keys) => add(text, path, out),
                    _ => anywhere(inner, &path, &[keys, &[key.as_str()]].concat(), out),
                }
            }
        }
        Value::List(list) => {
            for (at, inner) in list.iter().enumerate() {
                // A list in a list counts as a level, like a map in it.
                let keys = if matches!(inner, Value::List(_)) {
                    [keys, &[""]].concat()
                } else {
                    keys.to_vec()
                };
                anywhere(inner, &format!("{path}[{at}]"), &keys, out);
            }
        }
        _ => {}
    }
}

/// Whether a custom resource's string names an image: by its field and its format.
fn is_image(text: &str, key: &str, keys: &[&str]) -> bool {
    match (keys, key) {
        ([.., "containers" | "initContainers" | "ephemeralContainers"], "image")
        | ([.., "volumes", "image"], "reference") => is_reference(text),
        (_, "image" | "imageName") => is_reference(text) && text.contains(['/', ':', '@']),
        _ => false,
    }
}

/// Whether it only has the characters of references.
fn is_reference(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@+".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(fits)
        && !text.contains("://")
}

fn add(image: &str, field: String, out: &mut Vec<(String, String)>) {
    if !image.is_empty() {
        out.push((image.to_owned(), field));
    }
}

fn below<'v>(object: &'v Map, path: &[&str]) -> Option<&'v Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(object.get(first)?, |value, key| match value {
            Value::Map(map) => map.get(key),
            _ => None,
        })
}

fn items<'v>(map: &'v Map, key: &str) -> Vec<(usize, &'v Map)> {
    let Some(Value::List(list)) = map.get(key) else {
        return Vec::new();
    };
    let maps = list.iter().enumerate().filter_map(|(at, item)| match item {
        Value::Map(item) => Some((at, item)),
        _ => None,
    });
    maps.collect()
}

fn text<'m>(map: &'m Map, key: &str) -> &'m str {
    map.get(key).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Class;
    use crate::source::Source;
    use crate::yaml;

    fn found(text: &str) -> Vec<(String, Vec<String>)> {
        let source = Source::new("t", text);
        let nodes = yaml::parse_all(&source, Class::Template, &yaml::Limits::default()).unwrap();
        let objects: Vec<Value> = nodes.into_iter().map(yaml::Node::into_value).collect();
        images(objects.iter().map(|object| ("t", object)))
            .into_iter()
            .map(|image| {
                let uses = image.uses.iter().map(|one| {
                    format!(
                        "{} {}{}",
                        one.kind,
                        one.field,
                        if one.is_exact { "" } else { "?" }
                    )
                });
                (image.name.clone(), uses.collect())
            })
            .collect()
    }

    #[test]
    fn images_of_workloads_are_found_exactly() {
        let text = "
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: a, image: b/c:1}, {name: n}]
  ephemeralContainers: [{name: e, image: a}]
  volumes: [{name: v, image: {reference: x/y@sha256:aa}}, {name: w, emptyDir: {}}]
---
apiVersion: batch/v1
kind: CronJob
spec: {jobTemplate: {spec: {template: {spec: {initContainers: [{image: b/c:1}]}}}}}
---
apiVersion: v1
kind: List
items:
  - {apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{image: z}]}}}}
---
apiVersion: v1
kind: PodList
items: [{spec: {containers: [{image: z1}]}}]
---
apiVersion: v1
kind: ConfigMap
data: {image: a/b:1}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec: {image: a/b:2}
";
        let expected = [
            ("a", vec!["Pod spec.ephemeralContainers[0].image"]),
            (
                "b/c:1",
                vec![
                    "Pod spec.containers[0].image",
                    "CronJob spec.jobTemplate.spec.template.spec.initContainers[0].image",
                ],
            ),
            ("x/y@sha256:aa", vec!["Pod spec.volumes[0].image.reference"]),
            ("z", vec!["Deployment spec.template.spec.containers[0].image"]),
            ("z1", vec!["Pod spec.containers[0].image"]),
        ];
        let expected: Vec<(String, Vec<String>)> = expected
            .into_iter()
            .map(|(name, uses)| (name.to_owned(), uses.into_iter().map(str::to_owned).collect()))
            .collect();
        assert_eq!(found(text), expected);
    }

    #[test]
    fn images_of_custom_resources_are_found_by_heuristics() {
        let text = "
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
spec:
  image: quay.io/prometheus/prometheus:v3
  containers: [{name: a, image: b/c:1}]
  other: {image: {repository: x}, image2: a/b}
  link: {image: 'https://example.com/logo.png'}
  word: {image: plain}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
spec:
  template:
    spec:
      containers: [{image: nginx}]
      volumes: [{name: v, image: {reference: data}}]
---
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
spec: {imageName: 'ghcr.io/pg:17'}
";
        assert_eq!(
            found(text),
            [
                (
                    "b/c:1".to_owned(),
                    vec!["Prometheus spec.containers[0].image?".to_owned()]
                ),
                (
                    "data".to_owned(),
                    vec!["Rollout spec.template.spec.volumes[0].image.reference?".to_owned()]
                ),
                (
                    "ghcr.io/pg:17".to_owned(),
                    vec!["Cluster spec.imageName?".to_owned()]
                ),
                (
                    "nginx".to_owned(),
                    vec!["Rollout spec.template.spec.containers[0].image?".to_owned()]
                ),
                (
                    "quay.io/prometheus/prometheus:v3".to_owned(),
                    vec!["Prometheus spec.image?".to_owned()]
                ),
            ]
        );
    }
}
