//! Requests whose answers are decoded no further than they are read: the API server answers a write with the whole
//! object.

use kube::Resource;
use kube::api::{GetParams, ObjectMeta, PostParams};
use kube::core::{NamespaceResourceScope, Request};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::Context;
use super::ownership::{deletion, is_gone};
use crate::names::MANAGER;
use crate::views::PartialMetadata;

/// How objects are made.
pub(super) fn post() -> PostParams {
    PostParams {
        field_manager: Some(MANAGER.to_owned()),
        dry_run: false,
    }
}

/// An object's metadata, which is all that the API server sends; `None`: there is no such object.
pub(super) async fn metadata<K>(
    context: &Context,
    namespace: &str,
    name: &str,
) -> Result<Option<ObjectMeta>, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let request = Request::new(K::url_path(&(), Some(namespace)));
    let request = request.get_metadata(name, &GetParams::default());
    match context
        .client
        .request::<PartialMetadata>(request.map_err(kube::Error::BuildRequest)?)
        .await
    {
        Ok(head) => Ok(Some(head.metadata)),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes an object, and gives back its metadata.
pub(super) async fn create<K>(
    context: &Context,
    namespace: &str,
    object: &K,
) -> Result<ObjectMeta, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Serialize,
{
    let head: PartialMetadata = create_as(context, namespace, object, &post()).await?;
    Ok(head.metadata)
}

/// Makes an object, and gives back a view of it.
pub(super) async fn create_as<K, V>(
    context: &Context,
    namespace: &str,
    object: &K,
    params: &PostParams,
) -> Result<V, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Serialize,
    V: DeserializeOwned,
{
    let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
    let request = Request::new(K::url_path(&(), Some(namespace))).create(params, body);
    context
        .client
        .request(request.map_err(kube::Error::BuildRequest)?)
        .await
}

/// Deletes the object of this UID and no namesake. Gives back whether it was there.
pub(super) async fn delete<K>(
    context: &Context,
    namespace: &str,
    name: &str,
    uid: &str,
) -> Result<bool, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let request = Request::new(K::url_path(&(), Some(namespace))).delete(name, &deletion(uid));
    let request = request.map_err(kube::Error::BuildRequest)?;
    match context.client.request::<IgnoredAny>(request).await {
        Ok(_) => Ok(true),
        Err(error) if is_gone(&error) => Ok(false),
        Err(error) => Err(error),
    }
}
