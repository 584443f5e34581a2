//! Reads the objects that a Target refers to, and those that are bound to it, from the stores, without a request.

use super::super::{Artifacts, RegistryBindings, ReleaseBindings, wakes};
use super::wakes::{REPOSITORY, TARGET};
use crate::api::pipeline::{
    ComponentVersion, ComponentVersionSpec, Object, ObjectKey, Registry, RegistrySpec, Release,
    ReleaseBinding, ReleaseBindingSpec, ReleaseSpec, Spec, Target,
};
use crate::controllers::pipeline::bootstrap::{self, Numbers};
use crate::controllers::pipeline::conditions::Reference;
use crate::controllers::pipeline::grants::CrossReference;
use crate::controllers::pipeline::pull_secrets::{BoundRegistry, PullSecrets};
use crate::controllers::pipeline::stored;
use crate::controllers::pipeline::target_plan::{BoundSources, MissingSource, TargetSources};
use crate::controllers::rendertask::RenderTasks;
use crate::runtime::{Cx, ObjectName};

pub(super) fn dereference(cx: &Cx, target: Target, is_strict: bool) -> TargetSources {
    TargetSources {
        registry: registry(cx, &target),
        pull_secrets: pull_secrets(cx, &target),
        bound: releases(cx, &target),
        numbers: numbers(cx, &target),
        is_strict,
        signing: None,
        target,
    }
}

/// Without a grant, its existence is not disclosed.
fn registry(cx: &Cx, target: &Target) -> Result<Registry, Reference> {
    let key = target.spec.render_registry_ref.resolved(target.namespace());
    let (from, to) = (target.namespace(), key.namespace.as_str());
    let reference = CrossReference::TargetToRegistry;
    if !stored::is_granted(cx, reference, from, to) {
        let missing = reference.missing(from, to, stored::cross_namespace(cx.stores()));
        return Err(Reference::NotGranted { missing });
    }
    let Some(registry) = stored::get::<RegistrySpec>(cx, &key) else {
        let kind = RegistrySpec::KIND;
        return Err(Reference::NotFound { kind, key });
    };
    if registry.spec.solar_secret_ref.is_none() {
        return Err(Reference::MissingSolarSecretRef(key));
    }
    Ok(registry)
}

fn pull_secrets(cx: &Cx, target: &Target) -> PullSecrets {
    let bindings = bindings_of::<_>(cx, target, CrossReference::RegistryBindingToTarget, |name| {
        cx.store::<RegistryBindings>().by(wakes::TARGET, name)
    });
    let bound: Vec<(ObjectKey, Registry)> = bindings
        .into_iter()
        .filter_map(|binding| {
            let registry = ObjectKey::new(binding.namespace(), &binding.spec.registry_ref.name);
            Some((binding.key(), stored::get::<RegistrySpec>(cx, &registry)?))
        })
        .collect();
    PullSecrets::new(bound.iter().map(|(binding, registry)| BoundRegistry {
        binding,
        registry: &registry.spec,
    }))
}

/// The numbers of its bootstrap charts.
fn numbers(cx: &Cx, target: &Target) -> Numbers {
    let repository = ObjectName::new(target.namespace(), &bootstrap::repository(target));
    let artifacts = cx.store::<Artifacts>().by(REPOSITORY, &repository);
    let pushed = artifacts.iter().filter_map(|artifact| artifact.view());
    let tasks = cx
        .store::<RenderTasks>()
        .by(TARGET, &ObjectName::new(target.namespace(), target.name()));
    let bootstraps = tasks.iter().filter_map(|task| {
        let labels = task.view()?.metadata.labels.as_ref()?;
        (!labels.bootstrap_input.is_empty()).then_some(&task.view()?.spec.tag)
    });
    Numbers {
        pushed: pushed
            .filter_map(|view| bootstrap::number_of_tag(&view.spec.tag))
            .collect(),
        newest_task: bootstraps.filter_map(|tag| bootstrap::number_of_tag(tag)).max(),
    }
}

fn releases(cx: &Cx, target: &Target) -> Vec<BoundSources> {
    let bindings =
        bindings_of::<ReleaseBindingSpec>(cx, target, CrossReference::ReleaseBindingToTarget, |name| {
            cx.store::<ReleaseBindings>().by(wakes::TARGET, name)
        });
    bindings.iter().map(|binding| bound(cx, binding)).collect()
}

/// The bindings that name a Target, in its own namespace and in those with a grant. One that is being deleted doesn't
/// count.
fn bindings_of<S: Spec>(
    cx: &Cx,
    target: &Target,
    reference: CrossReference,
    by_target: impl Fn(&ObjectName) -> Vec<stored::StoredObject<S>>,
) -> Vec<Object<S>> {
    let to = target.namespace();
    let all = by_target(&ObjectName::new(to, target.name()));
    let usable = all.iter().filter(|binding| {
        binding.metadata.deletion_timestamp.is_none()
            && stored::is_granted(cx, reference, binding.namespace(), to)
    });
    usable.filter_map(|binding| stored::whole(binding)).collect()
}

fn bound(cx: &Cx, binding: &ReleaseBinding) -> BoundSources {
    let key = ObjectKey::new(binding.namespace(), &binding.spec.release_ref.name);
    let found = match stored::get::<ReleaseSpec>(cx, &key) {
        None => Err(MissingSource {
            unique_name: None,
            message: format!("{} {key} doesn't exist", ReleaseSpec::KIND),
        }),
        Some(release) => with_version(cx, release),
    };
    BoundSources {
        binding: binding.key(),
        release: key,
        found,
    }
}

fn with_version(cx: &Cx, release: Release) -> Result<(Release, ComponentVersion), MissingSource> {
    let key = release.spec.component_version_ref.resolved(release.namespace());
    let (from, to) = (release.namespace(), key.namespace.as_str());
    let reference = CrossReference::ReleaseToComponentVersion;
    let missing = |message| MissingSource {
        unique_name: Some(release.spec.unique_name.clone()).filter(|name| !name.is_empty()),
        message,
    };
    if !stored::is_granted(cx, reference, from, to) {
        return Err(missing(reference.missing(
            from,
            to,
            stored::cross_namespace(cx.stores()),
        )));
    }
    match stored::get::<ComponentVersionSpec>(cx, &key) {
        Some(version) => Ok((release, version)),
        None => Err(missing(format!(
            "{} {key} doesn't exist",
            ComponentVersionSpec::KIND
        ))),
    }
}
