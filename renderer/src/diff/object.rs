//! The objects of documents, and what identifies them.

use std::sync::Arc;

use super::content::fingerprint;
use super::hidden::{hide_secrets, shorten_binary};
use super::{DiffOptions, RenderedDocument, Role};
use crate::diag::Class;
use crate::value::{Map, Value};
use crate::yaml;

/// Groups that other groups have replaced: an API server has the same object in both.
const REPLACED_GROUPS: &[(&str, &str, &str)] = &[
    ("extensions", "DaemonSet", "apps"),
    ("extensions", "Deployment", "apps"),
    ("extensions", "Ingress", "networking.k8s.io"),
    ("extensions", "NetworkPolicy", "networking.k8s.io"),
    ("extensions", "PodSecurityPolicy", "policy"),
    ("extensions", "ReplicaSet", "apps"),
];

/// What identifies an object, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ObjectId {
    /// `apiVersion`
    pub api_version: String,
    /// `kind`; empty for a document that is no object.
    pub kind: String,
    /// `metadata.namespace`; empty if it is not set.
    pub namespace: String,
    /// `metadata.name`, else `metadata.generateName`.
    pub name: String,
}

impl ObjectId {
    fn of(object: &Value) -> Self {
        let Value::Map(object) = object else {
            return Self::default();
        };
        let empty = Map::default();
        let metadata = object.get("metadata").and_then(Value::as_map).unwrap_or(&empty);
        let name = Some(text(metadata, "name")).filter(|name| !name.is_empty());
        Self {
            api_version: text(object, "apiVersion"),
            kind: text(object, "kind"),
            namespace: text(metadata, "namespace"),
            name: name.unwrap_or_else(|| text(metadata, "generateName")),
        }
    }

    /// The group; that of the newer API for an object that has moved to it.
    pub(super) fn group(&self) -> &str {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        let replaced = REPLACED_GROUPS
            .iter()
            .find(|(old, kind, _)| *old == group && *kind == self.kind);
        replaced.map_or(group, |(_, _, new)| new)
    }
}

impl ObjectId {
    /// Kind, namespace and name for people. `release` is the release's namespace, which is left out.
    pub fn shown(&self, release: &str) -> String {
        let kind = if self.kind.is_empty() {
            "document"
        } else {
            &self.kind
        };
        let namespace = Some(self.namespace.as_str()).filter(|namespace| *namespace != release);
        match (namespace.unwrap_or_default(), self.name.as_str()) {
            (_, "") => kind.to_owned(),
            ("", name) => format!("{kind} {name}"),
            (namespace, name) => format!("{kind} {namespace}/{name}"),
        }
    }
}

fn text(map: &Map, key: &str) -> String {
    match map.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(value)) => value.to_string(),
        _ => String::new(),
    }
}

/// An object of Kubernetes, or a document of another form.
#[derive(Debug, Clone)]
pub(super) struct Object {
    /// The number of its document.
    pub(super) document: usize,
    /// Its position in a `List`.
    pub(super) item: Option<usize>,
    pub(super) role: Role,
    pub(super) source: Arc<str>,
    pub(super) id: ObjectId,
    /// The namespace that it is installed in.
    pub(super) namespace: String,
    /// Without what is not shown.
    pub(super) value: Value,
    pub(super) fingerprint: u64,
}

/// The objects of some documents, in order: the items of a `List`, else the document.
pub(super) fn objects(
    documents: &[RenderedDocument],
    numbers: impl Iterator<Item = usize>,
    options: &DiffOptions<'_>,
) -> Vec<Object> {
    let mut out = Vec::new();
    for number in numbers {
        let Some(document) = documents.get(number) else {
            continue;
        };
        let mut value = data(document);
        if value == Value::Null {
            continue;
        }
        let mut add = |item: Option<usize>, mut value: Value| {
            if !options.shows_secrets {
                hide_secrets(&mut value);
            }
            shorten_binary(&mut value);
            let id = ObjectId::of(&value);
            let namespace = match id.namespace.is_empty() {
                true => options.namespace.to_owned(),
                false => id.namespace.clone(),
            };
            out.push(Object {
                document: number,
                item,
                role: document.role,
                source: Arc::clone(&document.manifest.source),
                fingerprint: fingerprint(&value),
                id,
                namespace,
                value,
            });
        };
        match items(&mut value) {
            Some(items) => {
                for (position, item) in items.into_iter().enumerate() {
                    add(Some(position), item);
                }
            }
            None => add(None, value),
        }
    }
    out
}

/// A document's data. One that is not YAML is a text.
fn data(document: &RenderedDocument) -> Value {
    let text = document.manifest.source_text();
    match yaml::parse(text, Class::Template, &yaml::Limits::default()) {
        Ok(node) => node.into_value(),
        Err(_) => Value::String(text.text().to_owned()),
    }
}

/// The items of a list of objects. Those of a typed list may omit their kind.
pub(crate) fn items(value: &mut Value) -> Option<Vec<Value>> {
    let Value::Map(list) = value else { return None };
    let (kind, api_version) = (text(list, "kind"), text(list, "apiVersion"));
    let kind = kind.strip_suffix("List")?;
    let Some(Value::List(items)) = list.get_mut("items") else {
        return None;
    };
    let mut items = std::mem::take(items);
    for item in &mut items {
        if let (Value::Map(item), false) = (item, kind.is_empty()) {
            for (key, text) in [("kind", kind), ("apiVersion", api_version.as_str())] {
                if !item.contains_key(key) {
                    item.insert(key, text.into());
                }
            }
        }
    }
    Some(items)
}
