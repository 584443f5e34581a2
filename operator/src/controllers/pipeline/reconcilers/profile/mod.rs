//! Profiles: a ReleaseBinding for each Target that matches, created, kept and deleted.
//!
//! A reconcile reads the Targets that a label finds, and the Profile's own bindings: what else is there costs nothing.

pub(super) mod wakes;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{ObjectMeta, Patch, PatchParams};
use serde_json::json;

use super::{Profiles, ReleaseBindings, Targets};
use crate::api::api_version;
use crate::api::pipeline::{
    ObjectKey, Profile, ProfileSpec, ProfileStatus, ReleaseBinding, ReleaseBindingSpec, ReleaseSpec,
    Spec as _,
};
use crate::controllers::pipeline::conditions::{self, ProfileState, Reference};
use crate::controllers::pipeline::grants::CrossReference;
use crate::controllers::pipeline::profile_bindings::{BindingChanges, changes, desired, matches};
use crate::controllers::pipeline::stored;
use crate::names::MANAGER;
use crate::runtime::conditions::{merge, suspended};
use crate::runtime::key::{Key, ObjectName};
use crate::runtime::views::MetadataOnly;
use crate::runtime::{Action, Cx, Error, Kind, Watched as _, owned};

/// How many bindings of a Profile are written at the same time.
const PARALLEL_WRITES: usize = 8;

impl Kind for Profiles {
    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let Some(profile) = stored::primary::<ProfileSpec>(cx, key) else {
            return Ok(Action::done());
        };
        // What it owns is collected when it is gone.
        if profile.is_deleted() {
            return Ok(Action::done());
        }
        if profile.spec.suspend {
            return stored::report(cx, key, &profile, |known, generation| ProfileStatus {
                conditions: suspended(&known.conditions, generation, cx.now()),
                ..known.clone()
            })
            .await;
        }
        let (changes, existing) = decide(cx, &profile);
        apply(cx, key, &profile, &existing, &changes).await?;
        report(cx, key, &profile, &changes).await
    }
}

/// What has to be done, and the bindings that are there.
fn decide(cx: &Cx, profile: &Profile) -> (BindingChanges, Vec<ReleaseBinding>) {
    let desired = desired(profile, &matched(cx, profile));
    let store = cx.store::<ReleaseBindings>();
    let own = store.by(
        wakes::PROFILE,
        &ObjectName::new(profile.namespace(), profile.name()),
    );
    let mut existing: BTreeMap<ObjectName, _> = own.into_iter().map(|own| (own.name(), own)).collect();
    for name in desired.keys() {
        let name = ObjectName::new(profile.namespace(), name);
        if !existing.contains_key(&name)
            && let Some(other) = store.get(&name)
        {
            existing.insert(name, other);
        }
    }
    let existing: Vec<_> = existing
        .values()
        .filter_map(|binding| stored::whole(binding))
        .collect();
    (changes(profile, desired, &existing), existing)
}

/// The Targets that a Profile matches.
fn matched(cx: &Cx, profile: &Profile) -> Vec<ObjectKey> {
    let (selector, store) = (&profile.spec.target_selector, cx.store::<Targets>());
    let reference = CrossReference::ProfileToTarget;
    let namespaces = stored::granting_namespaces(cx.stores(), reference, profile.namespace());
    let candidates = namespaces
        .iter()
        .flat_map(|namespace| wakes::candidates(&store, selector, namespace));
    let matched = candidates.filter(|target| target.view().is_some() && matches(profile, &target.metadata));
    let names = matched.map(|target| target.name());
    names
        .map(|name| ObjectKey::new(&name.namespace, &name.name))
        .collect()
}

async fn apply(
    cx: &Cx,
    key: &Key,
    profile: &Profile,
    existing: &[ReleaseBinding],
    changes: &BindingChanges,
) -> Result<(), Error> {
    let uid = profile.metadata.uid.as_deref().unwrap_or("");
    let creates = changes
        .create
        .iter()
        .map(|(name, spec)| create(cx, key, uid, name, spec));
    let updates = changes
        .update
        .iter()
        .map(|(name, spec)| update(cx, key, name, spec));
    let deletes = changes.delete.iter().map(|name| {
        let binding = existing.iter().find(|binding| binding.name() == name);
        let uid = binding.and_then(|binding| binding.metadata.uid.as_deref());
        delete(cx, key, name, uid.unwrap_or(""))
    });
    each(creates.collect()).await?;
    each(updates.collect()).await?;
    each(deletes.collect()).await
}

/// Some at a time, until one fails.
async fn each(writes: Vec<impl Future<Output = Result<(), Error>>>) -> Result<(), Error> {
    let writes = stream::iter(writes).buffer_unordered(PARALLEL_WRITES);
    writes.try_for_each(async |()| Ok(())).await
}

async fn create(cx: &Cx, key: &Key, uid: &str, name: &str, spec: &ReleaseBindingSpec) -> Result<(), Error> {
    let binding = ReleaseBinding {
        api_version: Some(api_version()),
        kind: Some(ReleaseBindingSpec::KIND.to_owned()),
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(key.namespace.clone()),
            owner_references: Some(vec![owned::owner_reference(key, uid)]),
            ..ObjectMeta::default()
        },
        spec: spec.clone(),
        status: None,
    };
    match owned::create(cx, &key.namespace, &binding).await {
        // The watch has not shown it yet; when it does, this is reconciled again, unless it is as it should be.
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        created => created
            .map(|_| ())
            .map_err(Error::api("creating a ReleaseBinding")),
    }
}

async fn update(cx: &Cx, key: &Key, name: &str, spec: &ReleaseBindingSpec) -> Result<(), Error> {
    let binding = ReleaseBindings::ID.key(ObjectName::new(&key.namespace, name));
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"spec": spec}));
    let api = cx.api::<MetadataOnly>(&binding);
    let patched = api.patch(name, &params, &patch).await;
    patched
        .map(|_| ())
        .map_err(Error::api("changing a ReleaseBinding"))
}

async fn delete(cx: &Cx, key: &Key, name: &str, uid: &str) -> Result<(), Error> {
    let deleted = owned::delete::<ReleaseBinding>(cx, &key.namespace, name, uid).await;
    deleted
        .map(|_| ())
        .map_err(Error::api("deleting a ReleaseBinding"))
}

async fn report(cx: &Cx, key: &Key, profile: &Profile, changes: &BindingChanges) -> Result<Action, Error> {
    let release = ObjectKey::new(profile.namespace(), &profile.spec.release_ref.name);
    let release = if stored::exists::<ReleaseSpec>(cx, &release) {
        Reference::Resolved(release)
    } else {
        Reference::NotFound {
            kind: ReleaseSpec::KIND,
            key: release,
        }
    };
    let findings = conditions::profile(&ProfileState {
        release,
        matched: changes.matched,
        stuck: &changes.stuck,
        taken: &changes.taken,
    });
    stored::report(cx, key, profile, |known, generation| ProfileStatus {
        observed_generation: generation,
        conditions: merge(&known.conditions, &findings, generation, cx.now()),
        matched_targets: i64::try_from(changes.matched).ok(),
    })
    .await
}
