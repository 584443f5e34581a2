//! RenderBindings: whether their artifact exists. One whose Target was deleted is deleted too, so that it keeps no tag.

use std::time::Duration;

use jiff::SignedDuration;

use super::RenderBindings;
use crate::api::pipeline::{
    ConditionsStatus, ObjectKey, RenderArtifactSpec, RenderBinding, RenderBindingSpec, Spec as _, Target,
    TargetSpec,
};
use crate::controllers::pipeline::conditions::{self, Reference};
use crate::controllers::pipeline::stored;
use crate::runtime::conditions::merge;
use crate::runtime::key::Key;
use crate::runtime::{Action, Cx, Error, Kind, owned};

/// How long after its binding an artifact may be created before it is reported as missing.
const ARTIFACT_TIMEOUT: Duration = Duration::from_secs(10);

impl Kind for RenderBindings {
    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let Some(binding) = stored::primary::<RenderBindingSpec>(cx, key) else {
            return Ok(Action::done());
        };
        if is_orphan(cx, &binding).await? {
            let uid = binding.metadata.uid.as_deref().unwrap_or("");
            let deleted = owned::delete::<RenderBinding>(cx, &key.namespace, &key.name, uid).await;
            deleted.map_err(Error::api("deleting a RenderBinding"))?;
            return Ok(Action::done());
        }
        let artifact = ObjectKey::new(binding.namespace(), &binding.spec.render_artifact_ref.name);
        let end = match stored::get::<RenderArtifactSpec>(cx, &artifact) {
            Some(_) => Reference::Resolved(artifact),
            None => Reference::NotFound {
                kind: RenderArtifactSpec::KIND,
                key: artifact,
            },
        };
        let made = binding.metadata.creation_timestamp.as_ref();
        let age = made.map_or(SignedDuration::ZERO, |made| cx.now().duration_since(made.0));
        let left = ARTIFACT_TIMEOUT.saturating_sub(age.max(SignedDuration::ZERO).unsigned_abs());
        // The artifact is created after its binding, whose status is the CRD's default until it is written.
        let status = binding.status.as_ref();
        let is_new = status.is_none_or(|status| status.observed_generation.is_none());
        if is_new && !left.is_zero() && !matches!(end, Reference::Resolved(_)) {
            return Ok(Action::requeue(left));
        }
        let findings = conditions::render_binding(&end);
        stored::report(cx, key, &binding, |known, generation| ConditionsStatus {
            observed_generation: generation,
            conditions: merge(&known.conditions, &findings, generation, cx.now()),
        })
        .await
    }
}

/// Whether the binding's Target was deleted. A store may be behind, so the API server is queried.
async fn is_orphan(cx: &Cx, binding: &RenderBinding) -> Result<bool, Error> {
    let RenderBindingSpec {
        owner_kind,
        owner_name,
        owner_namespace,
        ..
    } = &binding.spec;
    if owner_kind != TargetSpec::KIND {
        return Ok(false);
    }
    let target = ObjectKey::new(owner_namespace, owner_name);
    if stored::get::<TargetSpec>(cx, &target).is_some() {
        return Ok(false);
    }
    let target = owned::metadata::<Target>(cx, owner_namespace, owner_name).await;
    Ok(target
        .map_err(Error::api("reading the Target's metadata"))?
        .is_none())
}
