//! Releases: whether their component version exists and may be used, and their unique name on a Target.

use super::Releases;
use super::referenced::keep_release;
use crate::api::pipeline::{
    ComponentVersion, ComponentVersionSpec, Release, ReleaseSpec, ReleaseStatus, Spec as _,
};
use crate::controllers::pipeline::conditions::{self, Reference};
use crate::controllers::pipeline::grants::CrossReference;
use crate::controllers::pipeline::resolver::effective_unique_name;
use crate::controllers::pipeline::stored;
use crate::runtime::conditions::merge;
use crate::runtime::key::Key;
use crate::runtime::{Action, Cx, Error, Kind};

impl Kind for Releases {
    async fn reconcile(&self, cx: &Cx, key: &Key) -> Result<Action, Error> {
        let Some(release) = stored::primary::<ReleaseSpec>(cx, key) else {
            return Ok(Action::done());
        };
        let Some((release, held_by)) = keep_release(cx, key, release).await? else {
            return Ok(Action::done());
        };
        let (reference, version) = dereference(cx, &release);
        let findings = conditions::release(&reference, &held_by);
        let unique_name =
            version.map(|version| effective_unique_name(&release.spec, &version.spec).to_owned());
        stored::report(cx, key, &release, |known, generation| ReleaseStatus {
            observed_generation: generation,
            conditions: merge(&known.conditions, &findings, generation, cx.now()),
            effective_unique_name: unique_name.clone(),
            render_task_ref: known.render_task_ref.clone(),
        })
        .await
    }
}

/// The component version, if it may be used. Without a grant, its existence is not disclosed.
fn dereference(cx: &Cx, release: &Release) -> (Reference, Option<ComponentVersion>) {
    let target = release.spec.component_version_ref.resolved(release.namespace());
    let (from, to) = (release.namespace(), target.namespace.as_str());
    let reference = CrossReference::ReleaseToComponentVersion;
    if !stored::is_granted(cx, reference, from, to) {
        let missing = reference.missing(from, to, stored::cross_namespace(cx.stores()));
        return (Reference::NotGranted { missing }, None);
    }
    match stored::get::<ComponentVersionSpec>(cx, &target) {
        Some(version) => (Reference::Resolved(target), Some(version)),
        None => {
            let kind = ComponentVersionSpec::KIND;
            (Reference::NotFound { kind, key: target }, None)
        }
    }
}
