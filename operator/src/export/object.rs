//! One object, as an API server returns it, made into what can be applied to another: a pure function.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::kinds::ExportKind;
use crate::api::pipeline::{
    KeyPair, ObjectKey, ProfileSpec, ReleaseBindingSpec, RenderBindingSpec, SigningKeys, Spec as _,
    TargetSpec,
};
use crate::api::{
    ARTIFACT_LABEL, GROUP, REQUESTED_AT_ANNOTATION, RETRY_ANNOTATION, RUN_ANNOTATION, Scope, api_version,
};
use crate::controllers::pipeline::signing::NUMBER_ANNOTATION;
use crate::controllers::pipeline::task_owner;
use crate::names::fitted;

/// Annotations that are of this one object: what was applied last, and requests that were served.
const OWN_ANNOTATIONS: [&str; 4] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    RETRY_ANNOTATION,
    REQUESTED_AT_ANNOTATION,
    RUN_ANNOTATION,
];
/// Fields that hold data of users, in which a null is a value.
const DATA: [&str; 2] = ["values", "userdata"];

/// What becomes of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Exported {
    /// It is exported.
    Object(ExportedObject),
    /// It is not, and should not be: why.
    LeftOut(String),
    /// It can't be: why.
    Unreadable(String),
}

/// An object without what is of its API server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExportedObject {
    /// It.
    pub value: Value,
    /// What of it is not there.
    pub notes: Vec<String>,
    /// The Secrets of its key pairs.
    pub key_pairs: Vec<ObjectKey>,
}

#[derive(Deserialize)]
struct Stored {
    metadata: Metadata,
    #[serde(default)]
    spec: Option<Box<RawValue>>,
    #[serde(default)]
    status: Option<Value>,
}

impl Stored {
    /// The key pairs that sign a Target's charts. Another API server's status may have any form.
    fn signing(&self, kind: &ExportKind) -> SigningKeys {
        let status = self.status.as_ref().filter(|_| kind.id.kind == TargetSpec::KIND);
        let signing = status.and_then(|status| status.get("signing"));
        let signing = signing.and_then(|signing| SigningKeys::deserialize(signing).ok());
        signing.unwrap_or_default()
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    deletion_timestamp: Option<String>,
}

impl Metadata {
    /// As people name an object of a kind.
    fn named(&self, kind: &str) -> String {
        let name = self.name.as_deref().unwrap_or("");
        match self.namespace.as_deref() {
            Some(namespace) if !namespace.is_empty() => format!("{kind} {namespace}/{name}"),
            _ => format!("{kind} {name}"),
        }
    }

    /// The owner of our group, if it is of one of these kinds.
    fn owner(&self, kinds: &[&str]) -> Option<&OwnerReference> {
        let owners = self.owner_references.as_deref().unwrap_or_default();
        owners.iter().find(|owner| {
            let group = owner.api_version.split('/').next().unwrap_or("");
            group == GROUP && kinds.contains(&owner.kind.as_str())
        })
    }

    /// A note for each owner of another group: their references are left out. `name` is the object's.
    fn foreign_owners(&self, name: &str) -> Vec<String> {
        let owners = self.owner_references.iter().flatten();
        let owners = owners.filter(|owner| !owner.api_version.starts_with(&format!("{GROUP}/")));
        let notes = owners.map(|owner| {
            let (kind, owner) = (&owner.kind, &owner.name);
            format!("{name}: its owner reference to {kind} {owner} is left out: UIDs are of one cluster")
        });
        notes.collect()
    }
}

/// An object from its JSON, or why it is none.
fn stored(text: &str) -> Result<Stored, String> {
    let stored: Stored = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match stored.metadata.name.as_deref() {
        None | Some("") => Err("it has no metadata.name".to_owned()),
        Some(_) => Ok(stored),
    }
}

/// What becomes of an object, from its JSON.
pub(super) fn exported(kind: &ExportKind, text: &str) -> Exported {
    let stored = match stored(text) {
        Ok(stored) => stored,
        Err(why) => {
            return Exported::Unreadable(format!("an object of kind {} can't be read: {why}", kind.id.kind));
        }
    };
    let signing = stored.signing(kind);
    let Stored { metadata, spec, .. } = stored;
    let name = metadata.named(kind.id.kind);
    if metadata.deletion_timestamp.is_some() {
        return Exported::LeftOut(format!("{name} is left out: it is being deleted"));
    }
    // Deeper than this can be read, it can't be rendered either.
    let spec: Value = match serde_json::from_str(spec.as_deref().map_or("null", RawValue::get)) {
        Ok(spec) => spec,
        Err(error) => return Exported::Unreadable(format!("{name} can't be read: {error}")),
    };
    if let Some(owner) = made_again_by(kind, &metadata, &spec) {
        return Exported::LeftOut(format!("{name} is left out: {owner} makes it again"));
    }
    let spec = without_nulls(spec);
    let mut notes = Vec::new();
    let spec = match (kind.normal)(&spec.to_string()) {
        Ok(normal) => {
            let mut unknown = Vec::new();
            unknown_fields(&spec, &normal, "spec", &mut unknown);
            notes.extend(
                unknown
                    .iter()
                    .map(|field| format!("{name}: {field} is left out: the kind has no such field here")),
            );
            normal
        }
        // As it is: the API server says what is wrong with it when it is applied.
        Err(error) => {
            notes.push(format!(
                "{name} is exported as it is, and may be refused: {error}"
            ));
            spec
        }
    };
    let spec = without_empty_data(spec);
    notes.extend(metadata.foreign_owners(&name));
    let mut metadata = metadata;
    label(kind, &mut metadata, &spec);
    number(&mut metadata, &signing);
    let value = json!({
        "apiVersion": api_version(),
        "kind": kind.id.kind,
        "metadata": kept(metadata),
        "spec": spec,
    });
    Exported::Object(ExportedObject {
        value,
        notes,
        key_pairs: signing.in_use().map(KeyPair::secret).collect(),
    })
}

/// What makes an object: the bindings of a Profile and the tasks of a Target are made anew, under the UID of the new
/// owner, and would be double otherwise.
fn made_again_by(kind: &ExportKind, metadata: &Metadata, spec: &Value) -> Option<String> {
    if kind.id.kind == ReleaseBindingSpec::KIND {
        let owner = metadata.owner(&[ProfileSpec::KIND])?;
        let namespace = metadata.namespace.as_deref().unwrap_or("");
        return Some(format!("{} {namespace}/{}", owner.kind, owner.name));
    }
    if Scope::ALL.iter().all(|scope| scope.kind() != kind.id.kind) {
        return None;
    }
    let text = |field: &str| spec.get(field).and_then(Value::as_str).unwrap_or("");
    (text("ownerKind") == TargetSpec::KIND).then(|| {
        let (kind, namespace, name) = (text("ownerKind"), text("ownerNamespace"), text("ownerName"));
        format!("{kind} {namespace}/{name}")
    })
}

/// The labels by which this operator finds the RenderBindings of an artifact and of a Target: SolAr's have others, and an
/// artifact without a binding is deleted, with its tag.
fn label(kind: &ExportKind, metadata: &mut Metadata, spec: &Value) {
    if kind.id.kind != RenderBindingSpec::KIND {
        return;
    }
    let text = |path: &str| spec.pointer(path).and_then(Value::as_str).unwrap_or("");
    let mut labels = BTreeMap::from([(ARTIFACT_LABEL.to_owned(), fitted(text("/renderArtifactRef/name")))]);
    if text("/ownerKind") == TargetSpec::KIND {
        labels.extend(task_owner::labels(
            &ObjectKey::new(text("/ownerNamespace"), text("/ownerName")),
            "",
        ));
        labels.remove(task_owner::OWNER_UID_LABEL);
    }
    metadata.labels.get_or_insert_default().extend(labels);
}

/// The number of the key pair that clusters trust: during a rotation, that of the one before. Without it the operator of
/// another cluster would make a pair that they refuse.
fn number(metadata: &mut Metadata, signing: &SigningKeys) {
    let Some(pair) = signing.of_bootstrap() else {
        return;
    };
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.insert(NUMBER_ANNOTATION.to_owned(), pair.number.to_string());
}

/// What of the metadata is the user's: neither what the API server fills in, nor finalizers and owners, which are of
/// controllers and of UIDs.
fn kept(metadata: Metadata) -> Value {
    let Metadata {
        name,
        namespace,
        labels,
        annotations,
        owner_references: _,
        deletion_timestamp: _,
    } = metadata;
    let mut kept = Map::new();
    kept.insert("name".into(), name.into());
    if let Some(namespace) = namespace.filter(|namespace| !namespace.is_empty()) {
        kept.insert("namespace".into(), namespace.into());
    }
    let mut annotations = annotations.unwrap_or_default();
    annotations.retain(|key, _| !OWN_ANNOTATIONS.contains(&key.as_str()));
    for (field, map) in [
        ("labels", labels.unwrap_or_default()),
        ("annotations", annotations),
    ] {
        if !map.is_empty() {
            kept.insert(field.into(), json!(map));
        }
    }
    kept.into()
}

/// Without fields that are null, but for those of users' data: Go writes an absent map or list as null, a CRD's API server
/// leaves it out.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.into_iter().filter(|(_, inner)| !inner.is_null());
            let fields = fields.map(|(key, inner)| {
                let inner = if DATA.contains(&key.as_str()) {
                    inner
                } else {
                    without_nulls(inner)
                };
                (key, inner)
            });
            Value::Object(fields.collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}

/// Without data that is an empty map: that is the CRD's default, and SolAr has none.
fn without_empty_data(mut spec: Value) -> Value {
    if let Some(fields) = spec.as_object_mut() {
        let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        fields.retain(|key, value| !(DATA.contains(&key.as_str()) && is_empty(value)));
    }
    spec
}

/// Fields of `before` that are not in `after`, and say something.
fn unknown_fields(before: &Value, after: &Value, path: &str, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, inner) in before {
                let path = format!("{path}.{key}");
                match after.get(key) {
                    Some(after) => unknown_fields(inner, after, &path, found),
                    None if is_empty(inner) => {}
                    None => found.push(path),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                unknown_fields(before, after, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}
