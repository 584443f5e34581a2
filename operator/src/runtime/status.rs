//! Writing the status of any kind: one patch with the changes, and the condition Stalled.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{ObjectMeta, Patch, PatchParams};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::conditions::{RECONCILE_FAILED, not_ready, update};
use super::cx::Cx;
use super::error::Error;
use super::key::Key;
use super::views::MetadataOnly;
use crate::names::MANAGER;

/// Writes the status if it differs from the known one. `version` is the object's resourceVersion: a write of another
/// client since then, such as a newer leader, is never overwritten but reported as [`Error::Changed`]. Returns the
/// object's metadata after the write; `None`: there was nothing to write.
pub async fn patch(
    cx: &Cx,
    key: &Key,
    version: Option<&str>,
    known: &impl Serialize,
    next: &impl Serialize,
) -> Result<Option<ObjectMeta>, Error> {
    let (known, next) = (serde_json::to_value(known)?, serde_json::to_value(next)?);
    let Some(changes) = difference(&known, &next) else {
        return Ok(None);
    };
    write(cx, key, version, &changes).await.map(Some)
}

/// Writes changes of the status, as a JSON merge patch. Returns the object's metadata after it.
pub async fn write(cx: &Cx, key: &Key, version: Option<&str>, changes: &Value) -> Result<ObjectMeta, Error> {
    let body = json!({
        "apiVersion": key.kind.api_version(),
        "kind": key.kind.kind,
        "metadata": {"resourceVersion": version},
        "status": changes,
    });
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..Default::default()
    };
    let api = cx.api::<MetadataOnly>(key);
    match api.patch_status(&key.name, &params, &Patch::Merge(&body)).await {
        Ok(written) => {
            cx.metrics().status_patched(key.kind);
            Ok(written.metadata)
        }
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Err(Error::Changed),
        Err(error) => Err(Error::api("writing the status")(error)),
    }
}

/// The conditions of a status.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct WithConditions {
    status: Option<Conditions>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Conditions {
    conditions: Vec<Condition>,
}

/// Sets Ready=False and Stalled=True with the error; other conditions are kept.
pub(super) async fn mark_stalled(cx: &Cx, key: &Key, error: &Error) -> Result<(), Error> {
    let object = cx.api::<WithConditions>(key).get_opt(&key.name).await;
    let Some(object) = object.map_err(Error::api("reading the object"))? else {
        return Ok(());
    };
    let known = object.view().and_then(|view| view.status.clone());
    let known = known.unwrap_or_default().conditions;
    let findings = not_ready(RECONCILE_FAILED, &error.to_string());
    let next = update(&known, &findings, object.metadata.generation, cx.now());
    let version = object.metadata.resource_version.as_deref();
    let status = |conditions: &[Condition]| json!({"conditions": conditions});
    patch(cx, key, version, &status(&known), &status(&next))
        .await
        .map(|_| ())
}

/// The JSON merge patch (RFC 7386) from one object to the other; `None` when they are equal.
fn difference(from: &Value, to: &Value) -> Option<Value> {
    if from == to {
        return None;
    }
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return Some(to.clone());
    };
    let mut changes = Map::new();
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        changes.insert(key.clone(), Value::Null);
    }
    for (key, new) in to {
        let change = match from.get(key) {
            Some(old) => difference(old, new),
            None => Some(new.clone()),
        };
        if let Some(change) = change {
            changes.insert(key.clone(), change);
        }
    }
    Some(Value::Object(changes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_holds_the_changes_and_null_for_removed_fields() {
        let from = json!({"a": 1, "b": {"c": 1, "d": 2}, "e": [1]});
        let to = json!({"b": {"c": 1, "d": 3}, "e": [1, 2], "f": "x"});
        assert_eq!(
            difference(&from, &to),
            Some(json!({"a": null, "b": {"d": 3}, "e": [1, 2], "f": "x"}))
        );
        assert_eq!(difference(&from, &from), None);
    }
}
