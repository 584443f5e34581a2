//! The volume that files are imported to. A pure function of the Artifact; it has an annotation with what it was made
//! from, so that a change of the storage is seen.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::ObjectMeta;

use super::dereference::Found;
use super::names::workspace_name;
use crate::api::artifact::WorkspaceStorage;
use crate::names::{IMPORT_COMPONENT, component_labels};
use crate::runtime::owned::owner_reference;

/// The annotation with the storage that a volume was made from.
pub(super) const STORAGE_ANNOTATION: &str = "solar.opendefense.cloud/storage";

/// The storage as text.
pub(super) fn storage_text(storage: &WorkspaceStorage) -> String {
    let WorkspaceStorage {
        size,
        storage_class_name,
        access_mode,
    } = storage;
    let class = storage_class_name.as_deref().unwrap_or("");
    format!("{size} {} {class}", access_mode.as_str())
        .trim_end()
        .to_owned()
}

/// The claim for the volume.
pub(super) fn claim(found: &Found) -> PersistentVolumeClaim {
    let storage = &found.spec.storage;
    let annotation = (STORAGE_ANNOTATION.to_owned(), storage_text(storage));
    let request = ("storage".to_owned(), Quantity(storage.size.clone()));
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(workspace_name(&found.key.name)),
            namespace: Some(found.key.namespace.clone()),
            labels: Some(component_labels(IMPORT_COMPONENT, &found.key.name)),
            annotations: Some(BTreeMap::from([annotation])),
            owner_references: Some(vec![owner_reference(&found.key, found.uid())]),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec![storage.access_mode.as_str().to_owned()]),
            storage_class_name: storage.storage_class_name.clone(),
            resources: Some(VolumeResourceRequirements {
                requests: Some(BTreeMap::from([request])),
                ..VolumeResourceRequirements::default()
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    }
}
