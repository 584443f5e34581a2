//! What templates and conditions see: the Cluster, its control plane and its infrastructure, as they are in the management
//! cluster.

use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery;
use serde_json::{Map, Value};

use super::cluster::{ClusterApiVersion, ClusterView, ObjectRefView};
use crate::key::KindId;
use crate::runtime::views::{MetadataOnly, Object};
use crate::runtime::{Cx, Error, Key};

/// The Cluster as a whole.
pub(super) async fn cluster(
    cx: &Cx,
    version: ClusterApiVersion,
    cluster: &Object<ClusterView>,
) -> Result<Value, Error> {
    let KindId {
        kind,
        group,
        version,
        plural,
        ..
    } = version.kind();
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    let name = cluster.name();
    let found = read(cx, &resource, &name.namespace, &name.name).await?;
    Ok(found.unwrap_or_default())
}

/// Whether the API server still has the Cluster that the watch has delivered, and it isn't being deleted.
pub(super) async fn is_alive(
    cx: &Cx,
    version: ClusterApiVersion,
    cluster: &Object<ClusterView>,
) -> Result<bool, Error> {
    let name = cluster.name();
    let key = Key {
        kind: version.kind(),
        namespace: name.namespace,
        name: name.name,
    };
    let found = cx.api::<MetadataOnly>(&key).get_opt(&key.name).await;
    let found = found.map_err(Error::api("reading the Cluster"))?;
    Ok(
        found
            .is_some_and(|found| found.uid() == cluster.uid() && found.metadata.deletion_timestamp.is_none()),
    )
}

/// Everything that a template of values sees.
pub(super) async fn of_template(
    cx: &Cx,
    cluster: &Object<ClusterView>,
    whole: Value,
    kubernetes_version: &str,
) -> Result<Map<String, Value>, Error> {
    let view = cluster.view();
    let control_plane = referred(cx, cluster, view.and_then(ClusterView::control_plane)).await?;
    let infrastructure = referred(cx, cluster, view.and_then(ClusterView::infrastructure)).await?;
    let scope = [
        ("cluster", whole),
        ("controlPlane", control_plane),
        ("infraCluster", infrastructure),
        ("kubernetesVersion", kubernetes_version.into()),
    ];
    Ok(scope
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect())
}

/// An object that a Cluster refers to, in the Cluster's own namespace; null if it doesn't exist.
async fn referred(
    cx: &Cx,
    cluster: &Object<ClusterView>,
    reference: Option<&ObjectRefView>,
) -> Result<Value, Error> {
    let Some(reference) = reference else {
        return Ok(Value::Null);
    };
    let resource = match reference.version() {
        Some(version) => {
            let id = GroupVersionKind::gvk(reference.group(), version, &reference.kind);
            let found = discovery::pinned_kind(cx.client(), &id).await;
            found.map(|(resource, _)| Some(resource))
        }
        None => {
            let group = discovery::group(cx.client(), reference.group()).await;
            // Not only in the version that the group prefers: providers share the group.
            group.map(|group| {
                let resources = group.resources_by_stability().into_iter();
                let mut of_kind = resources.filter(|(resource, _)| resource.kind == reference.kind);
                of_kind.next().map(|(resource, _)| resource)
            })
        }
    };
    let resource = match resource {
        Ok(Some(resource)) => resource,
        // The kind isn't served.
        Ok(None) | Err(kube::Error::Discovery(_)) => return Ok(Value::Null),
        Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(Value::Null),
        Err(error) => return Err(Error::api("asking for a kind of Cluster API")(error)),
    };
    let found = read(cx, &resource, cluster.namespace(), &reference.name).await?;
    Ok(found.unwrap_or_default())
}

async fn read(cx: &Cx, resource: &ApiResource, namespace: &str, name: &str) -> Result<Option<Value>, Error> {
    let api: Api<DynamicObject> = Api::namespaced_with(cx.client().clone(), namespace, resource);
    let found = api
        .get_opt(name)
        .await
        .map_err(Error::api("reading an object of Cluster API"))?;
    let Some(mut found) = found else {
        return Ok(None);
    };
    found.metadata.managed_fields = None;
    Ok(Some(serde_json::to_value(found)?))
}
