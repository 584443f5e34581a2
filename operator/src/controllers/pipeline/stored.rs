//! The pipeline's kinds as the runtime's stores hold them.

use std::marker::PhantomData;
use std::sync::Arc;

use kube::api::ObjectMeta;
use serde::Deserialize;

use super::grants::CrossReference;
use crate::api::pipeline::{ObjectKey, ReferenceGrantSpec, Spec};
use crate::api::{GROUP, VERSION, pipeline};
use crate::runtime::key::{Key, KindId, ObjectName};
use crate::runtime::views::Object;
use crate::runtime::{Action, Cx, Error, Watched, status};

/// A kind of the pipeline, to be watched.
pub struct Stored<S>(PhantomData<fn() -> S>);

/// What is kept of an object beside its metadata.
#[derive(Debug, Clone, Deserialize)]
#[serde(bound = "")]
pub struct Parts<S: Spec> {
    /// What is asked for.
    pub spec: S,
    /// What was reported.
    #[serde(default = "none")]
    pub status: Option<S::Status>,
}

/// An object as a store has it.
pub type StoredObject<S> = Arc<Object<Parts<S>>>;

impl<S> Stored<S> {
    /// The kind.
    pub fn kind() -> Self {
        Self(PhantomData)
    }
}

impl<S: Spec> Watched for Stored<S> {
    const ID: KindId = KindId {
        kind: S::KIND,
        group: GROUP,
        version: VERSION,
        plural: S::PLURAL,
        namespaced: true,
    };
    const LABELS: bool = true;
    type View = Parts<S>;

    /// Its status is nobody else's: what others read is in the spec, which the generation counts, and in the metadata.
    fn concerns_others(before: &Object<Parts<S>>, after: &Object<Parts<S>>) -> bool {
        let version = &before.metadata.resource_version;
        let after = ObjectMeta {
            resource_version: version.clone(),
            ..after.metadata.clone()
        };
        before.metadata != after
    }
}

impl<S: Spec> PartialEq for Parts<S> {
    /// Values and userdata are texts, and are compared as such.
    fn eq(&self, other: &Self) -> bool {
        let text = |spec: &S| serde_json::to_string(spec).ok();
        self.status == other.status && text(&self.spec) == text(&other.spec)
    }
}

/// The whole object; `None` for one that has another form than its kind.
pub fn whole<S: Spec>(stored: &Object<Parts<S>>) -> Option<pipeline::Object<S>> {
    let Parts { spec, status } = stored.view()?.clone();
    Some(pipeline::Object {
        api_version: None,
        kind: None,
        metadata: stored.metadata.clone(),
        spec,
        status,
    })
}

/// The object of a key, as the store has it.
pub fn get<S: Spec>(cx: &Cx, key: &ObjectKey) -> Option<pipeline::Object<S>> {
    let name = ObjectName::new(&key.namespace, &key.name);
    whole(&*cx.store::<Stored<S>>().get(&name)?)
}

/// The object that is reconciled.
pub fn primary<S: Spec>(cx: &Cx, key: &Key) -> Option<pipeline::Object<S>> {
    get(cx, &ObjectKey::new(&key.namespace, &key.name))
}

/// Writes the status that `next` makes from the known one and the object's generation, when the two differ.
pub async fn report<S: Spec>(
    cx: &Cx,
    key: &Key,
    object: &pipeline::Object<S>,
    next: impl FnOnce(&S::Status, Option<i64>) -> S::Status,
) -> Result<Action, Error> {
    let known = object.status.clone().unwrap_or_default();
    let next = next(&known, object.metadata.generation);
    let version = object.metadata.resource_version.as_deref();
    status::patch(cx, key, version, &known, &next).await?;
    Ok(Action::done())
}

/// The objects of a namespace.
pub fn in_namespace<S: Spec>(cx: &Cx, namespace: &str) -> Vec<pipeline::Object<S>> {
    let stored = cx.store::<Stored<S>>().in_namespace(namespace);
    stored.iter().filter_map(|stored| whole(stored)).collect()
}

/// Whether an object of the namespace `from` may refer to one of the namespace `to`.
pub fn is_granted(cx: &Cx, reference: CrossReference, from: &str, to: &str) -> bool {
    from == to || reference.is_granted(from, to, &grants(cx, to))
}

/// The grants of a namespace.
pub fn grants(cx: &Cx, namespace: &str) -> Vec<pipeline::Object<ReferenceGrantSpec>> {
    in_namespace(cx, namespace)
}

fn none<T>() -> Option<T> {
    None
}
