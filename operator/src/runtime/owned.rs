//! Owned objects: owner references, and requests that decode only what is read of the response (the API server answers
//! a write with the whole object).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use kube::api::{DeleteParams, GetParams, ObjectMeta, PostParams, Preconditions, PropagationPolicy};
use kube::core::{NamespaceResourceScope, Request};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::cx::Cx;
use super::key::{Key, KindId};
use super::views::PartialMetadata;
use crate::api::GROUP;
use crate::names::MANAGER;

/// The owner reference of an object to its controller.
pub fn owner_reference(owner: &Key, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: owner.kind.api_version(),
        kind: owner.kind.kind.to_owned(),
        name: owner.name.clone(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The controller among the owner references, if it is of our API group.
pub fn controller(owners: &[OwnerReference]) -> Option<&OwnerReference> {
    let ours = |owner: &&OwnerReference| {
        let group = owner.api_version.split('/').next().unwrap_or("");
        owner.controller == Some(true) && group == GROUP
    };
    owners.iter().find(ours)
}

/// Whether an object is owned by the object with this UID; names and labels don't matter.
pub fn is_owned_by(metadata: &ObjectMeta, uid: &str) -> bool {
    let owners: &[OwnerReference] = metadata.owner_references.as_deref().unwrap_or_default();
    controller(owners).is_some_and(|owner| owner.uid == uid)
}

/// Whether an object's controller, of any API group, has this UID.
pub fn is_controlled_by(metadata: &ObjectMeta, uid: &str) -> bool {
    let owners: &[OwnerReference] = metadata.owner_references.as_deref().unwrap_or_default();
    owners
        .iter()
        .any(|owner| owner.controller == Some(true) && owner.uid == uid)
}

/// The parameters of creations.
pub fn post() -> PostParams {
    PostParams {
        field_manager: Some(MANAGER.to_owned()),
        dry_run: false,
    }
}

/// Reads an object's metadata, which is all that the API server sends; `None`: there is no such object.
pub async fn metadata<K>(cx: &Cx, namespace: &str, name: &str) -> Result<Option<ObjectMeta>, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let request = Request::new(K::url_path(&(), Some(namespace)));
    let request = request.get_metadata(name, &GetParams::default());
    let request = request.map_err(kube::Error::BuildRequest)?;
    match cx.client().request::<PartialMetadata>(request).await {
        Ok(object) => Ok(Some(object.metadata)),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates an object and returns its metadata.
pub async fn create<K>(cx: &Cx, namespace: &str, object: &K) -> Result<ObjectMeta, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Serialize,
{
    let made: PartialMetadata = create_as(cx, namespace, object, &post()).await?;
    Ok(made.metadata)
}

/// Creates an object of a kind that has a [`KindId`], and returns its metadata.
pub async fn create_object(
    cx: &Cx,
    kind: KindId,
    namespace: &str,
    object: &impl Serialize,
) -> Result<ObjectMeta, kube::Error> {
    let made = create_at(
        cx,
        PartialMetadata::url_path(&kind, Some(namespace)),
        object,
        &post(),
    )
    .await?;
    let PartialMetadata { metadata, .. } = made;
    Ok(metadata)
}

/// Creates an object and returns a view of it.
pub async fn create_as<K, V>(
    cx: &Cx,
    namespace: &str,
    object: &K,
    params: &PostParams,
) -> Result<V, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Serialize,
    V: DeserializeOwned,
{
    create_at(cx, K::url_path(&(), Some(namespace)), object, params).await
}

async fn create_at<V: DeserializeOwned>(
    cx: &Cx,
    path: String,
    object: &impl Serialize,
    params: &PostParams,
) -> Result<V, kube::Error> {
    let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
    let request = Request::new(path).create(params, body);
    cx.client()
        .request(request.map_err(kube::Error::BuildRequest)?)
        .await
}

/// Deletes the object with this UID and no other of the same name; what it owns is deleted in the background. Returns
/// whether it existed.
pub async fn delete<K>(cx: &Cx, namespace: &str, name: &str, uid: &str) -> Result<bool, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let path = K::url_path(&(), Some(namespace));
    delete_at(cx, path, name, uid, PropagationPolicy::Background).await
}

/// As [`delete`]; the object stays until what it owns is gone.
pub async fn delete_in_foreground<K>(
    cx: &Cx,
    namespace: &str,
    name: &str,
    uid: &str,
) -> Result<bool, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let path = K::url_path(&(), Some(namespace));
    delete_at(cx, path, name, uid, PropagationPolicy::Foreground).await
}

/// Deletes the object with a key and a UID, as [`delete`] does.
pub async fn delete_object(cx: &Cx, key: &Key, uid: &str) -> Result<bool, kube::Error> {
    let path = PartialMetadata::url_path(&key.kind, Some(&key.namespace));
    delete_at(cx, path, &key.name, uid, PropagationPolicy::Background).await
}

async fn delete_at(
    cx: &Cx,
    path: String,
    name: &str,
    uid: &str,
    policy: PropagationPolicy,
) -> Result<bool, kube::Error> {
    let params = DeleteParams {
        propagation_policy: Some(policy),
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        }),
        ..Default::default()
    };
    let request = Request::new(path).delete(name, &params);
    let request = request.map_err(kube::Error::BuildRequest)?;
    match cx.client().request::<IgnoredAny>(request).await {
        Ok(_) => Ok(true),
        // No object has the name, or it has another UID.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
        Err(error) => Err(error),
    }
}
