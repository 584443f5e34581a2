//! Profiles: a ReleaseBinding for each Target that matches, created, kept and deleted.

use kube::api::{ObjectMeta, Patch, PatchParams};
use serde_json::json;

use super::{Profiles, ReleaseBindings, Targets};
use crate::api::api_version;
use crate::api::pipeline::{
    ObjectKey, Profile, ProfileSpec, ProfileStatus, ReferenceGrantSpec, ReleaseBinding, ReleaseBindingSpec,
    ReleaseSpec, Spec as _,
};
use crate::controllers::pipeline::conditions::{self, ProfileState, Reference};
use crate::controllers::pipeline::profile_bindings::{BindingChanges, changes};
use crate::controllers::pipeline::stored::{self, Stored};
use crate::names::MANAGER;
use crate::runtime::conditions::merge;
use crate::runtime::key::Key;
use crate::runtime::views::MetadataOnly;
use crate::runtime::{Action, Cx, Error, Kind, Watched as _, owned};

impl Kind for Profiles {
    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let Some(profile) = stored::primary::<ProfileSpec>(cx, key) else {
            return Ok(Action::done());
        };
        // What it owns is collected when it is gone.
        if profile.is_deleted() {
            return Ok(Action::done());
        }
        let existing = stored::in_namespace::<ReleaseBindingSpec>(cx, profile.namespace());
        let changes = decide(cx, &profile, &existing);
        apply(cx, key, &profile, &existing, &changes).await?;
        report(cx, key, &profile, &changes).await
    }
}

fn decide(cx: &Cx, profile: &Profile, existing: &[ReleaseBinding]) -> BindingChanges {
    let targets = cx.store::<Targets>().all();
    let targets: Vec<_> = targets
        .iter()
        .filter_map(|target| stored::whole(target))
        .collect();
    let grants = cx.store::<Stored<ReferenceGrantSpec>>().all();
    let grants: Vec<_> = grants.iter().filter_map(|grant| stored::whole(grant)).collect();
    changes(profile, &targets, existing, &grants)
}

async fn apply(
    cx: &Cx,
    key: &Key,
    profile: &Profile,
    existing: &[ReleaseBinding],
    changes: &BindingChanges,
) -> Result<(), Error> {
    let uid = profile.metadata.uid.as_deref().unwrap_or("");
    for (name, spec) in &changes.create {
        let binding = ReleaseBinding {
            api_version: Some(api_version()),
            kind: Some(ReleaseBindingSpec::KIND.to_owned()),
            metadata: ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(key.namespace.clone()),
                owner_references: Some(vec![owned::owner_reference(key, uid)]),
                ..ObjectMeta::default()
            },
            spec: spec.clone(),
            status: None,
        };
        match owned::create(cx, &key.namespace, &binding).await {
            // The watch has not shown it yet; when it does, this is reconciled again.
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            created => {
                created.map_err(Error::api("creating a ReleaseBinding"))?;
            }
        }
    }
    for (name, spec) in &changes.update {
        let binding = ReleaseBindings::ID.key(crate::runtime::key::ObjectName::new(&key.namespace, name));
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({"spec": spec}));
        let api = cx.api::<MetadataOnly>(&binding);
        let patched = api.patch(name, &params, &patch).await;
        patched.map_err(Error::api("changing a ReleaseBinding"))?;
    }
    for name in &changes.delete {
        let binding = existing.iter().find(|binding| binding.name() == name);
        let uid = binding.and_then(|binding| binding.metadata.uid.as_deref());
        let deleted = owned::delete::<ReleaseBinding>(cx, &key.namespace, name, uid.unwrap_or("")).await;
        deleted.map_err(Error::api("deleting a ReleaseBinding"))?;
    }
    Ok(())
}

async fn report(cx: &Cx, key: &Key, profile: &Profile, changes: &BindingChanges) -> Result<Action, Error> {
    let release = ObjectKey::new(profile.namespace(), &profile.spec.release_ref.name);
    let release = match stored::get::<ReleaseSpec>(cx, &release) {
        Some(_) => Reference::Resolved(release),
        None => Reference::NotFound {
            kind: ReleaseSpec::KIND,
            key: release,
        },
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
