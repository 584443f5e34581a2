//! Whose an object is: the task's by UID, or somebody else's, however it is named or labelled.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, ObjectMeta, Preconditions, PropagationPolicy};

use crate::jobs::index::controller;

/// Whether an object belongs to the task of this UID.
pub(super) fn is_owned_by(metadata: &ObjectMeta, uid: &str) -> bool {
    let owners: &[OwnerReference] = metadata.owner_references.as_deref().unwrap_or_default();
    controller(owners).is_some_and(|owner| owner.uid == uid)
}

/// Deletes the object of this UID and no namesake; what it owns goes after it.
pub(super) fn deletion(uid: &str) -> DeleteParams {
    DeleteParams {
        propagation_policy: Some(PropagationPolicy::Background),
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        }),
        ..Default::default()
    }
}

/// Whether the object of that UID is gone: there is none of the name, or it is another one.
pub(super) fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409))
}
