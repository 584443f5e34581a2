//! What server-side apply would change in a cluster: each object is applied without effect, and the result is compared
//! with what the cluster has.

use std::collections::BTreeSet;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use serde_json::Value;
use solar_server_side_apply::{CONCURRENCY, CRD, PreparedObject, comparable};

use super::client::ClusterClient;
use super::error::ApiError;

/// What would become of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DryRun {
    /// It would be created.
    Created,
    /// It would be created, and the API server can't say more yet: why.
    Unchecked(&'static str),
    /// It would be changed: what the cluster has, and what it would have.
    Changed(Value, Value),
    /// It is the same.
    Unchanged,
    /// The API server would refuse it.
    Refused(ApiError),
}

/// What is new with the objects: the API server can't check what needs it.
#[derive(Debug, Default)]
pub(crate) struct ComesWith {
    /// Group and kind of CRDs.
    kinds: BTreeSet<(String, String)>,
    namespaces: BTreeSet<String>,
}

/// Why an object of a kind that isn't served is not checked.
pub(crate) const NEW_KIND: &str = "the cluster does not have its CRD yet";
/// Why an object is not checked that is in a namespace that doesn't exist.
pub(crate) const NEW_NAMESPACE: &str = "the cluster does not have its namespace yet";

impl ComesWith {
    /// With these objects, and with the namespace that is created before.
    pub(crate) fn of<'o>(objects: impl IntoIterator<Item = &'o Value>, namespace: Option<&str>) -> Self {
        let mut found = Self::default();
        found.namespaces.extend(namespace.map(str::to_owned));
        for object in objects {
            let text = |pointer: &str| {
                object
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or("")
                    .to_owned()
            };
            match text("/kind").as_str() {
                "Namespace" => drop(found.namespaces.insert(text("/metadata/name"))),
                CRD => drop(
                    found
                        .kinds
                        .insert((text("/spec/group"), text("/spec/names/kind"))),
                ),
                _ => {}
            }
        }
        found
    }

    fn brings_kind_of(&self, one: &PreparedObject) -> bool {
        self.kinds
            .contains(&(one.key.group.clone(), one.key.kind.clone()))
    }

    fn brings_namespace_of(&self, one: &PreparedObject) -> bool {
        self.namespaces.contains(&one.key.namespace)
    }
}

/// What would become of each object, in their order.
///
/// # Errors
/// The cluster has stopped answering.
pub(crate) async fn dry_run(
    cluster: &ClusterClient,
    objects: &[PreparedObject],
    comes_with: &ComesWith,
) -> Result<Vec<DryRun>, ApiError> {
    let mut requests = Vec::new();
    for one in objects {
        requests.push(of_object(cluster, one, comes_with).boxed_local());
    }
    let mut results = stream::iter(requests).buffered(CONCURRENCY);
    let mut all = Vec::with_capacity(objects.len());
    while let Some(result) = results.next().await {
        all.push(result?);
    }
    Ok(all)
}

async fn of_object(
    cluster: &ClusterClient,
    one: &PreparedObject,
    comes_with: &ComesWith,
) -> Result<DryRun, ApiError> {
    if cluster.is_namespaced(&one.object).is_err() && comes_with.brings_kind_of(one) {
        return Ok(DryRun::Unchecked(NEW_KIND));
    }
    let compared = async {
        let live = cluster.live(&one.object, &one.key).await?;
        let would = cluster.patch(one).await?;
        Ok(match live {
            None => DryRun::Created,
            Some(live) => of_both(comparable(live), comparable(would)),
        })
    };
    match compared.await {
        Err(error @ ApiError::Unreachable(_)) => Err(error),
        Err(error) if is_about_namespace(&error, one) && comes_with.brings_namespace_of(one) => {
            Ok(DryRun::Unchecked(NEW_NAMESPACE))
        }
        Err(error) => Ok(DryRun::Refused(error)),
        Ok(found) => Ok(found),
    }
}

fn of_both(live: Value, would: Value) -> DryRun {
    match live == would {
        true => DryRun::Unchanged,
        false => DryRun::Changed(live, would),
    }
}

/// Whether an object's namespace doesn't exist.
pub(crate) fn is_about_namespace(error: &ApiError, one: &PreparedObject) -> bool {
    let expected = format!("namespaces \"{}\" not found", one.key.namespace);
    error.is_not_found() && error.to_string() == expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use solar_server_side_apply::ObjectKey;

    fn prepared(version: &str, kind: &str, namespace: &str) -> PreparedObject {
        let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}});
        PreparedObject {
            key: ObjectKey::of(&object, namespace),
            object,
        }
    }

    #[test]
    fn what_comes_with_the_chart_is_known() {
        let all = [
            json!({"kind": "Namespace", "metadata": {"name": "apps"}}),
            json!({"kind": CRD, "spec": {"group": "example.com", "names": {"kind": "Widget"}}}),
        ];
        let found = ComesWith::of(&all, Some("release"));
        let widget = prepared("example.com/v1", "Widget", "apps");
        assert!(found.brings_kind_of(&widget) && found.brings_namespace_of(&widget));
        assert!(!found.brings_kind_of(&prepared("other.com/v1", "Widget", "apps")));
        assert!(found.brings_namespace_of(&prepared("v1", "Secret", "release")));
        assert!(!found.brings_namespace_of(&prepared("v1", "Secret", "elsewhere")));
    }

    #[test]
    fn a_missing_namespace_is_told_from_other_refusals() {
        let one = prepared("v1", "Secret", "apps");
        let error = |code: u16, message: &str| ApiError::Refused {
            code,
            reason: String::new(),
            message: message.to_owned(),
            fields: Vec::new(),
        };
        assert!(is_about_namespace(
            &error(404, "namespaces \"apps\" not found"),
            &one
        ));
        assert!(!is_about_namespace(
            &error(404, "namespaces \"other\" not found"),
            &one
        ));
        assert!(!is_about_namespace(
            &error(403, "namespaces \"apps\" not found"),
            &one
        ));
    }
}
