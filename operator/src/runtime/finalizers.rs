//! Finalizers: they keep an object that is being deleted until its controller has cleaned up.
//!
//! They are written with the resourceVersion that was read, so that no other controller's finalizer is lost.

use kube::api::{ObjectMeta, Patch, PatchParams};
use serde_json::json;

use super::cx::Cx;
use super::error::Error;
use super::key::Key;
use super::views::{MetadataOnly, Object};
use crate::names::MANAGER;

/// Whether an object has a finalizer.
pub fn has(metadata: &ObjectMeta, finalizer: &str) -> bool {
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|one| one == finalizer)
}

/// Adds a finalizer unless the object has it. Returns the object's resourceVersion afterwards.
pub async fn add(
    cx: &Cx,
    key: &Key,
    metadata: &ObjectMeta,
    finalizer: &str,
) -> Result<Option<String>, Error> {
    if has(metadata, finalizer) {
        return Ok(metadata.resource_version.clone());
    }
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    finalizers.push(finalizer.to_owned());
    write(cx, key, metadata, &finalizers).await
}

/// Removes a finalizer if the object has it.
pub async fn remove(cx: &Cx, key: &Key, metadata: &ObjectMeta, finalizer: &str) -> Result<(), Error> {
    if !has(metadata, finalizer) {
        return Ok(());
    }
    let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|one| one != finalizer);
    write(cx, key, metadata, &finalizers).await.map(|_| ())
}

async fn write(
    cx: &Cx,
    key: &Key,
    metadata: &ObjectMeta,
    finalizers: &[String],
) -> Result<Option<String>, Error> {
    let body = json!({"metadata": {
        "resourceVersion": metadata.resource_version,
        "finalizers": finalizers,
    }});
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let api = cx.api::<MetadataOnly>(key);
    match api.patch(&key.name, &params, &Patch::Merge(&body)).await {
        Ok(Object { metadata, .. }) => Ok(metadata.resource_version),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Err(Error::Changed),
        Err(error) => Err(Error::api("writing the finalizers")(error)),
    }
}
