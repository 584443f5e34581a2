//! The pipeline's kinds in the runtime's stores.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;

use kube::api::ObjectMeta;
use serde::Deserialize;

use super::grants::{CrossNamespace, CrossReference};
use crate::api::pipeline::{
    GrantFrom, ObjectKey, ReferenceGrant, ReferenceGrantSpec, ReportedConditions, Spec,
};
use crate::api::{GROUP, VERSION, pipeline};
use crate::runtime::conditions::{READY, STALLED, SUSPENDED, find, is};
use crate::runtime::key::{Key, KindId, ObjectName};
use crate::runtime::views::Object;
use crate::runtime::{Action, Controllers, Cx, Error, ObjectState, Stores, Watched, status};

/// The state of an object without a condition Ready.
const NEW: &str = "New";
/// Of one whose Ready is Unknown: it gets there by itself.
const PENDING: &str = "Pending";
/// Of one that waits for somebody.
const NOT_READY: &str = "NotReady";

/// A kind of the pipeline, to be watched.
pub struct Stored<S>(PhantomData<fn() -> S>);

/// The kept parts of an object, in addition to its metadata.
#[derive(Debug, Clone, Deserialize)]
#[serde(bound = "")]
pub struct SpecAndStatus<S: Spec> {
    /// The spec.
    pub spec: S,
    /// The status.
    #[serde(default = "none")]
    pub status: Option<S::Status>,
}

/// An object in a store.
pub type StoredObject<S> = Arc<Object<SpecAndStatus<S>>>;

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
    const STATES: &'static [&'static str] = &[NEW, READY, PENDING, NOT_READY, STALLED, SUSPENDED];
    type View = SpecAndStatus<S>;

    fn state(object: &Object<SpecAndStatus<S>>) -> Option<ObjectState<'_>> {
        let status = object.view().and_then(|view| view.status.as_ref());
        let conditions = status.map_or(&[][..], ReportedConditions::conditions);
        let ready = find(conditions, READY).map(|ready| ready.status.as_str());
        let name = match ready {
            _ if is(conditions, SUSPENDED, "True") => SUSPENDED,
            _ if is(conditions, STALLED, "True") => STALLED,
            Some("True") => READY,
            Some("False") => NOT_READY,
            Some(_) => PENDING,
            None => NEW,
        };
        Some(ObjectState { name, waiting: false })
    }

    /// Its status is nobody else's: what others read is in the spec, which the generation counts, and in the metadata.
    fn concerns_others(before: &Object<SpecAndStatus<S>>, after: &Object<SpecAndStatus<S>>) -> bool {
        let version = &before.metadata.resource_version;
        let after = ObjectMeta {
            resource_version: version.clone(),
            ..after.metadata.clone()
        };
        before.metadata != after
    }
}

impl<S: Spec> PartialEq for SpecAndStatus<S> {
    /// Values and userdata are compared as text.
    fn eq(&self, other: &Self) -> bool {
        let text = |spec: &S| serde_json::to_string(spec).ok();
        self.status == other.status && text(&self.spec) == text(&other.spec)
    }
}

/// The whole object; `None` if it doesn't match its kind's schema.
pub fn whole<S: Spec>(stored: &Object<SpecAndStatus<S>>) -> Option<pipeline::Object<S>> {
    let SpecAndStatus { spec, status } = stored.view()?.clone();
    Some(pipeline::Object {
        api_version: None,
        kind: None,
        metadata: stored.metadata.clone(),
        spec,
        status,
    })
}

/// The object with this key from the store.
pub fn get<S: Spec>(cx: &Cx, key: &ObjectKey) -> Option<pipeline::Object<S>> {
    let name = ObjectName::new(&key.namespace, &key.name);
    whole(&*cx.store::<Stored<S>>().get(&name)?)
}

/// The reconciled object from the store.
pub fn primary<S: Spec>(cx: &Cx, key: &Key) -> Option<pipeline::Object<S>> {
    get(cx, &ObjectKey::new(&key.namespace, &key.name))
}

/// Writes the status that `next` computes from the known one and the object's generation, if the two differ. A status
/// that the API server has made, by the CRD's default, has no generation: it is only written when something else
/// differs.
pub async fn report<S: Spec>(
    cx: &Cx,
    key: &Key,
    object: &pipeline::Object<S>,
    next: impl Fn(&S::Status, Option<i64>) -> S::Status,
) -> Result<Action, Error> {
    let known = object.status.clone().unwrap_or_default();
    if S::READY_FROM_CREATION.is_some() && next(&known, None) == known {
        return Ok(Action::done());
    }
    let next = next(&known, object.metadata.generation);
    let version = object.metadata.resource_version.as_deref();
    status::patch(cx, key, version, &known, &next).await?;
    Ok(Action::done())
}

/// Whether there is an object of a key.
pub fn exists<S: Spec>(cx: &Cx, key: &ObjectKey) -> bool {
    let name = ObjectName::new(&key.namespace, &key.name);
    let stored = cx.store::<Stored<S>>().get(&name);
    stored.is_some_and(|stored| stored.view().is_some())
}

/// Whether an object of the namespace `from` may refer to one of the namespace `to`.
pub fn is_granted(cx: &Cx, reference: CrossReference, from: &str, to: &str) -> bool {
    is_granted_in(cx.stores(), reference, from, to)
}

/// The same, of some stores.
pub fn is_granted_in(stores: &Stores, reference: CrossReference, from: &str, to: &str) -> bool {
    from == to || reference.is_granted(from, to, &grants(stores, reference, from, to))
}

/// The grants in the namespace `to` for what refers to it so from the namespace `from`.
pub fn grants(stores: &Stores, reference: CrossReference, from: &str, to: &str) -> Vec<ReferenceGrant> {
    let (referrer, _) = reference.kinds();
    let key = ObjectName::new(to, &referrer_in(referrer, from));
    effective(stores, &stores.of::<Stored<ReferenceGrantSpec>>().by(GRANT, &key))
}

/// The namespaces that let what is in a namespace refer to them so, and that namespace itself.
pub fn granting_namespaces(stores: &Stores, reference: CrossReference, from: &str) -> BTreeSet<String> {
    let (referrer, _) = reference.kinds();
    let found = stores
        .of::<Stored<ReferenceGrantSpec>>()
        .by(GRANTEE, &ObjectName::new(from, referrer));
    let all = effective(stores, &found).into_iter();
    let granted = all.filter(|grant| reference.is_granted(from, grant.namespace(), [grant]));
    let mut namespaces: BTreeSet<String> = granted.map(|grant| grant.namespace().to_owned()).collect();
    namespaces.insert(from.to_owned());
    namespaces
}

/// The namespaces that may refer to what is in a namespace so, and that namespace itself.
pub fn granted_namespaces(stores: &Stores, reference: CrossReference, to: &str) -> BTreeSet<String> {
    let (referrer, _) = reference.kinds();
    let found = stores.of::<Stored<ReferenceGrantSpec>>().in_namespace(to);
    let mut namespaces = BTreeSet::from([to.to_owned()]);
    for grant in effective(stores, &found) {
        let from = grant.spec.from.iter().filter(|from| from.kind == referrer);
        let granted = from.filter(|from| reference.is_granted(&from.namespace, to, [&grant]));
        namespaces.extend(granted.map(|from| from.namespace.clone()));
    }
    namespaces
}

/// Of some grants, those that count.
fn effective(stores: &Stores, grants: &[StoredObject<ReferenceGrantSpec>]) -> Vec<ReferenceGrant> {
    cross_namespace(stores).effective(whole_all(grants))
}

/// Whether objects may refer to those of other namespaces.
pub fn cross_namespace(stores: &Stores) -> CrossNamespace {
    stores.shared().unwrap_or_default()
}

/// The index of grants by their own namespace and what they let refer to it.
const GRANT: &str = "grant";
/// The index of grants by the namespace and the kind that they let refer to theirs.
const GRANTEE: &str = "grantee";

/// Adds the store of grants, and its indexes.
pub fn add_grants(controllers: Controllers) -> Controllers {
    type Grant = Object<SpecAndStatus<ReferenceGrantSpec>>;
    fn referrers(grant: &Grant) -> impl Iterator<Item = &GrantFrom> {
        grant.view().into_iter().flat_map(|view| &view.spec.from)
    }
    controllers
        .stored::<Stored<ReferenceGrantSpec>>()
        .index::<Stored<ReferenceGrantSpec>>(GRANT, |grant| {
            let names = referrers(grant).map(|from| referrer_in(&from.kind, &from.namespace));
            names
                .map(|name| ObjectName::new(grant.namespace(), &name))
                .collect()
        })
        .index::<Stored<ReferenceGrantSpec>>(GRANTEE, |grant| {
            let names = referrers(grant).map(|from| ObjectName::new(&from.namespace, &from.kind));
            names.collect()
        })
}

fn referrer_in(kind: &str, namespace: &str) -> String {
    format!("{kind}/{namespace}")
}

fn whole_all<S: Spec>(stored: &[StoredObject<S>]) -> Vec<pipeline::Object<S>> {
    stored.iter().filter_map(|stored| whole(stored)).collect()
}

fn none<T>() -> Option<T> {
    None
}
