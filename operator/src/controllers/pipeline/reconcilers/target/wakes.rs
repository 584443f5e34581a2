//! Which Targets are reconciled when another object has changed. Only by indexes, so that the cost of a change is
//! proportional to the objects that depend on it.

use super::super::{
    Artifacts, ComponentVersions, Grants, Registries, RegistryBindings, ReleaseBindings, Releases, Targets,
    wakes,
};
use super::TargetController;
use crate::api::pipeline::{
    ComponentVersionSpec, ReferenceGrantSpec, RegistryBindingSpec, RegistrySpec, ReleaseBindingSpec,
    ReleaseSpec, RenderArtifactSpec, Spec as _, TargetSpec,
};
use crate::controllers::pipeline::stored::SpecAndStatus;
use crate::controllers::rendertask::{RenderTasks, TaskView};
use crate::names::MANAGER;
use crate::runtime::views::Object;
use crate::runtime::{Controllers, ObjectName, Stores};

/// The index of RenderTasks by the Target that they were created for.
pub(super) const TARGET: &str = "target";
/// The index of RenderArtifacts by their namespace and the path of their charts.
pub(super) const REPOSITORY: &str = "repository";

/// Adds the controller of Targets to the list.
pub(in super::super) fn add(controllers: Controllers, is_strict: bool) -> Controllers {
    controllers
        .kind(TargetController::new(is_strict))
        .index::<Targets>(wakes::REGISTRY, registry_of_target)
        .index::<RenderTasks>(TARGET, target_of_task)
        .index::<Artifacts>(REPOSITORY, repository_of)
        .wake::<RenderTasks, TargetController>(|task, _| target_of_task(task))
        .wake::<ReleaseBindings, TargetController>(|binding, _| target_of_release_binding(binding))
        .wake::<RegistryBindings, TargetController>(|binding, _| target_of_registry_binding(binding))
        .wake::<Releases, TargetController>(of_release)
        .wake::<ComponentVersions, TargetController>(of_component_version)
        .wake::<Registries, TargetController>(of_registry)
        .wake::<Grants, TargetController>(of_grant)
}

fn repository_of(artifact: &Object<SpecAndStatus<RenderArtifactSpec>>) -> Vec<ObjectName> {
    let spec = artifact.view().map(|view| &view.spec);
    let name = spec.map(|spec| ObjectName::new(artifact.namespace(), &spec.repository));
    name.into_iter().collect()
}

fn registry_of_target(target: &Object<SpecAndStatus<TargetSpec>>) -> Vec<ObjectName> {
    wakes::reference::<TargetSpec>(|target, namespace| target.render_registry_ref.resolved(namespace))(target)
}

fn target_of_release_binding(binding: &Object<SpecAndStatus<ReleaseBindingSpec>>) -> Vec<ObjectName> {
    wakes::reference::<ReleaseBindingSpec>(|binding, namespace| binding.target_ref.resolved(namespace))(
        binding,
    )
}

fn target_of_registry_binding(binding: &Object<SpecAndStatus<RegistryBindingSpec>>) -> Vec<ObjectName> {
    wakes::reference::<RegistryBindingSpec>(|binding, namespace| binding.target_ref.resolved(namespace))(
        binding,
    )
}

fn component_version_of(release: &Object<SpecAndStatus<ReleaseSpec>>) -> Vec<ObjectName> {
    wakes::reference::<ReleaseSpec>(|release, namespace| release.component_version_ref.resolved(namespace))(
        release,
    )
}

fn target_of_task(task: &Object<TaskView>) -> Vec<ObjectName> {
    let view = task.view().filter(|view| {
        let labels = view.metadata.labels.as_ref();
        view.spec.owner_kind == TargetSpec::KIND && labels.is_some_and(|labels| labels.managed_by == MANAGER)
    });
    let name = view.map(|view| ObjectName::new(&view.spec.owner_namespace, &view.spec.owner_name));
    name.into_iter().collect()
}

fn of_release(release: &Object<SpecAndStatus<ReleaseSpec>>, stores: &Stores) -> Vec<ObjectName> {
    of_release_name(&release.name(), stores)
}

fn of_release_name(release: &ObjectName, stores: &Stores) -> Vec<ObjectName> {
    let bindings = stores.of::<ReleaseBindings>().by(wakes::RELEASE, release);
    let targets = bindings.iter();
    targets
        .flat_map(|binding| target_of_release_binding(binding))
        .collect()
}

fn of_component_version(
    version: &Object<SpecAndStatus<ComponentVersionSpec>>,
    stores: &Stores,
) -> Vec<ObjectName> {
    let releases = stores
        .of::<Releases>()
        .by(wakes::COMPONENT_VERSION, &version.name());
    let releases = releases.iter();
    releases
        .flat_map(|release| of_release_name(&release.name(), stores))
        .collect()
}

fn of_registry(registry: &Object<SpecAndStatus<RegistrySpec>>, stores: &Stores) -> Vec<ObjectName> {
    let name = registry.name();
    let targets = stores.of::<Targets>().by(wakes::REGISTRY, &name);
    let bindings = stores.of::<RegistryBindings>().by(wakes::REGISTRY, &name);
    let bound = bindings
        .iter()
        .flat_map(|binding| target_of_registry_binding(binding));
    targets.iter().map(|target| target.name()).chain(bound).collect()
}

/// The objects in the namespaces that a grant names that refer to its own namespace.
fn of_grant(grant: &Object<SpecAndStatus<ReferenceGrantSpec>>, stores: &Stores) -> Vec<ObjectName> {
    let to = grant.namespace();
    let from = grant.view().map(|view| view.spec.from.as_slice());
    let mut targets = Vec::new();
    for from in from.unwrap_or_default() {
        let namespace = from.namespace.as_str();
        match from.kind.as_str() {
            TargetSpec::KIND => {
                let all = stores.of::<Targets>().in_namespace(namespace);
                let refer = all.iter().filter(|target| is_in(&registry_of_target(target), to));
                targets.extend(refer.map(|target| target.name()));
            }
            ReleaseBindingSpec::KIND => {
                let all = stores.of::<ReleaseBindings>().in_namespace(namespace);
                let named = all.iter().flat_map(|one| target_of_release_binding(one));
                targets.extend(named.filter(|target| target.namespace == to));
            }
            RegistryBindingSpec::KIND => {
                let all = stores.of::<RegistryBindings>().in_namespace(namespace);
                let named = all.iter().flat_map(|one| target_of_registry_binding(one));
                targets.extend(named.filter(|target| target.namespace == to));
            }
            ReleaseSpec::KIND => {
                let all = stores.of::<Releases>().in_namespace(namespace);
                let refer = all.iter().filter(|one| is_in(&component_version_of(one), to));
                targets.extend(refer.flat_map(|release| of_release_name(&release.name(), stores)));
            }
            _ => {}
        }
    }
    targets
}

fn is_in(names: &[ObjectName], namespace: &str) -> bool {
    names.iter().any(|name| name.namespace == namespace)
}
