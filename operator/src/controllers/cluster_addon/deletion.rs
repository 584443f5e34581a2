//! Objects of a cluster are deleted, in an order in which their controllers can still do their part.

use std::collections::BTreeSet;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use jiff::Timestamp;
use kube::api::DynamicObject;
use solar_server_side_apply::{CONCURRENCY, CRD, ObjectKey};

use super::workload::{Workload, WorkloadError};
use crate::api::ADDON_ANNOTATION;

/// The annotation that keeps an object in the cluster.
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";
const CRD_GROUP: &str = "apiextensions.k8s.io";
const PHASES: u8 = 4;

/// The state of an object that was to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deletion {
    /// It was not there.
    Absent,
    /// It is gone.
    Deleted,
    /// It is being deleted, since then.
    Requested(Option<Timestamp>),
    /// It stays: it says so itself, or somebody else has made it again.
    Kept,
}

/// Whose objects are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeleteOf<'a> {
    /// Those of the addon with this name.
    Addon(&'a str),
    /// All: a stack says that they have to go.
    Anybody,
}

/// What became of objects that were to be deleted.
#[derive(Debug, Default)]
pub(super) struct Removal {
    /// Those that are gone, and those that stay.
    pub(super) done: BTreeSet<ObjectKey>,
    /// Those that were deleted just now.
    pub(super) deleted: Vec<ObjectKey>,
    /// Those that are being deleted.
    pub(super) left: Vec<ObjectKey>,
    /// The first request that has failed.
    pub(super) failed: Option<(ObjectKey, WorkloadError)>,
    /// Later objects were not deleted yet, since they have to wait for those that are left.
    pub(super) is_blocked: bool,
}

/// Deletes objects phase by phase. A phase follows when nothing is left of the one before that `must_wait`, which is
/// given the time since when an object is being deleted. What fails doesn't stop the others of its phase.
pub(super) async fn delete_in_order(
    workload: &Workload,
    keys: &[ObjectKey],
    whose: DeleteOf<'_>,
    must_wait: impl Fn(Option<Timestamp>) -> bool,
) -> Removal {
    let mut removal = Removal::default();
    for phase in 0..PHASES {
        let mut requests = Vec::new();
        for key in keys.iter().filter(|key| deletion_phase(key) == phase) {
            requests.push(async move { (key, delete(workload, key, whose).await) }.boxed());
        }
        if removal.is_blocked && !requests.is_empty() {
            return removal;
        }
        let mut waits = false;
        let mut results = stream::iter(requests).buffered(CONCURRENCY);
        while let Some((key, result)) = results.next().await {
            waits |= removal.add(key, result, &must_wait);
            if removal.is_unreachable() {
                return removal;
            }
        }
        removal.is_blocked |= waits;
    }
    // Nothing waits for the last ones.
    removal.is_blocked = false;
    removal
}

impl Removal {
    /// Returns whether later phases have to wait for it.
    fn add(
        &mut self,
        key: &ObjectKey,
        result: Result<Deletion, WorkloadError>,
        must_wait: impl Fn(Option<Timestamp>) -> bool,
    ) -> bool {
        match result {
            Ok(Deletion::Absent | Deletion::Kept) => {
                self.done.insert(key.clone());
                false
            }
            Ok(Deletion::Deleted) => {
                self.done.insert(key.clone());
                self.deleted.push(key.clone());
                false
            }
            Ok(Deletion::Requested(since)) => {
                self.left.push(key.clone());
                must_wait(since)
            }
            Err(error) => {
                self.failed.get_or_insert_with(|| (key.clone(), error));
                must_wait(None)
            }
        }
    }

    fn is_unreachable(&self) -> bool {
        self.failed
            .as_ref()
            .is_some_and(|(_, error)| error.is_unreachable())
    }
}

/// Deletes an object.
pub(super) async fn delete(
    workload: &Workload,
    key: &ObjectKey,
    whose: DeleteOf<'_>,
) -> Result<Deletion, WorkloadError> {
    let Some(live) = workload.get_key(key).await? else {
        return Ok(Deletion::Absent);
    };
    if !is_to_be_deleted(&live, whose) {
        return Ok(Deletion::Kept);
    }
    let since = |live: &DynamicObject| live.metadata.deletion_timestamp.as_ref().map(|time| time.0);
    if since(&live).is_some() {
        return Ok(Deletion::Requested(since(&live)));
    }
    workload.delete(key, live.metadata.uid.clone()).await?;
    // Most are gone at once.
    Ok(match workload.get_key(key).await? {
        Some(left) if left.metadata.uid == live.metadata.uid => Deletion::Requested(since(&left)),
        _ => Deletion::Deleted,
    })
}

/// Managed fields would not do: an object of which nothing but the name is applied has none.
fn is_to_be_deleted(live: &DynamicObject, whose: DeleteOf<'_>) -> bool {
    let annotation = |name: &str| live.metadata.annotations.as_ref()?.get(name).map(String::as_str);
    let is_kept =
        annotation(RESOURCE_POLICY).is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"));
    let is_meant = match whose {
        DeleteOf::Addon(owner) => annotation(ADDON_ANNOTATION) == Some(owner),
        DeleteOf::Anybody => true,
    };
    !is_kept && is_meant
}

/// When an object is deleted: those of custom kinds first, while their controllers run, and what contains others last.
fn deletion_phase(key: &ObjectKey) -> u8 {
    let is_custom = key.group.contains('.') && !key.group.ends_with(".k8s.io");
    match (key.group.as_str(), key.kind.as_str()) {
        (CRD_GROUP, CRD) => 2,
        ("", "Namespace") => PHASES - 1,
        _ if is_custom => 0,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn only_what_was_applied_and_is_not_kept_is_deleted() {
        let live = |annotations: Value| -> DynamicObject {
            let metadata = json!({"name": "a", "annotations": annotations});
            serde_json::from_value(json!({"apiVersion": "v1", "kind": "X", "metadata": metadata}))
                .expect("an object")
        };
        let addon = DeleteOf::Addon;
        let own = json!({"solar.opendefense.cloud/cluster-addon": "ns/a"});
        let mut kept = own.clone();
        kept["helm.sh/resource-policy"] = "keep".into();
        assert!(is_to_be_deleted(&live(own.clone()), addon("ns/a")));
        assert!(!is_to_be_deleted(&live(own), addon("ns/b")));
        assert!(!is_to_be_deleted(&live(kept.clone()), addon("ns/a")));
        assert!(!is_to_be_deleted(&live(json!({})), addon("ns/a")));
        assert!(is_to_be_deleted(&live(json!({})), DeleteOf::Anybody));
        assert!(!is_to_be_deleted(&live(kept), DeleteOf::Anybody));
    }

    #[test]
    fn custom_objects_go_before_their_controllers_and_crds_last() {
        let key = |group: &str, kind: &str| ObjectKey {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: String::new(),
            name: "a".to_owned(),
        };
        let phases = [
            key("cert-manager.io", "Issuer"),
            key("apps", "Deployment"),
            key("rbac.authorization.k8s.io", "ClusterRole"),
            key(CRD_GROUP, CRD),
            key("", "Namespace"),
        ]
        .map(|key| deletion_phase(&key));
        assert_eq!(phases, [0, 1, 1, 2, 3]);
    }

    #[test]
    fn what_is_left_and_what_has_failed_block_the_next_phase() {
        let key = ObjectKey {
            group: String::new(),
            kind: "X".to_owned(),
            namespace: String::new(),
            name: "a".to_owned(),
        };
        let refused = || WorkloadError::Refused {
            code: 500,
            message: "no".to_owned(),
        };
        let table = [
            (Ok(Deletion::Absent), false, false),
            (Ok(Deletion::Deleted), false, false),
            (Ok(Deletion::Kept), false, false),
            (Ok(Deletion::Requested(None)), true, false),
            (Err(refused()), true, false),
            (Err(WorkloadError::Unreachable("no".to_owned())), true, true),
        ];
        for (result, waits, is_unreachable) in table {
            let mut removal = Removal::default();
            assert_eq!(removal.add(&key, result.clone(), |_| true), waits, "{result:?}");
            assert_eq!(removal.is_unreachable(), is_unreachable, "{result:?}");
            assert_eq!(removal.done.contains(&key), !waits, "{result:?}");
            assert!(!Removal::default().add(&key, result, |_| false));
        }
    }
}
