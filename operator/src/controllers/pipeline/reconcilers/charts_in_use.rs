//! The charts that a Target uses: a RenderBinding for each, and then its RenderArtifact, in the Target's namespace.
//!
//! A chart is bound when its task has pushed it, so that content that another client has pushed is never taken for it.
//! The task has the label [`ARTIFACT_LABEL`], by which the clean-up finds it: it is deleted before the tag.
//!
//! # Guarantees
//! A chart that [`bind`] has reported as bound is not deleted until [`release`] has deleted the binding.

use std::collections::BTreeMap;

use kube::Api;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams};
use serde_json::json;

use super::{Artifacts, RenderBindings};
use crate::api::pipeline::{
    ObjectKey, ObjectReference, RenderArtifact, RenderArtifactSpec, RenderBinding, RenderBindingSpec, Spec,
    TargetSpec,
};
use crate::api::{ARTIFACT_LABEL, DIGEST_ANNOTATION, LocalReference, api_version, pipeline};
use crate::controllers::pipeline::artifacts::{
    artifact_finalizer, artifact_name, binding_name, is_cleaning, may_bind,
};
use crate::controllers::pipeline::stored::{self, SpecAndStatus};
use crate::controllers::pipeline::task_owner;
use crate::names::MANAGER;
use crate::runtime::key::ObjectName;
use crate::runtime::views::{MetadataOnly, Object};
use crate::runtime::{Cx, Error, Watched as _, owned};

/// Whether a Target may use a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It is bound.
    Bound,
    /// Its tag is being deleted: it must be pushed and bound again afterwards.
    Deleting,
}

/// A chart of a Target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    target: ObjectKey,
    registry: ObjectReference,
    spec: RenderArtifactSpec,
    artifact: String,
    digest: Option<String>,
}

/// The destination of a chart.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// The registry, and maybe a path in it.
    pub base_url: &'a str,
    /// The path below it.
    pub repository: &'a str,
    /// The tag.
    pub tag: &'a str,
}

/// The name of the artifact of a Target's chart: the value of its task's label [`ARTIFACT_LABEL`].
pub fn artifact_of(target: &ObjectKey, destination: Destination<'_>) -> String {
    let Destination {
        base_url,
        repository,
        tag,
    } = destination;
    artifact_name(&target.namespace, base_url, repository, tag)
}

impl Chart {
    /// The chart of a task for a Target, which pushes to a Registry.
    pub fn new(target: &ObjectKey, registry: &ObjectKey, task: &str, destination: Destination<'_>) -> Self {
        let registry = ObjectReference {
            name: registry.name.clone(),
            namespace: registry.namespace.clone(),
        };
        Self {
            target: target.clone(),
            artifact: artifact_of(target, destination),
            digest: None,
            spec: RenderArtifactSpec {
                base_url: destination.base_url.to_owned(),
                repository: destination.repository.to_owned(),
                tag: destination.tag.to_owned(),
                render_task_ref: task.to_owned(),
                registry_ref: Some(registry.clone()),
            },
            registry,
        }
    }

    /// With the digest of what the task has pushed: other content at the tag is not deleted.
    pub fn with_digest(mut self, digest: &str) -> Self {
        self.digest = Some(digest.to_owned());
        self
    }

    /// The name of its binding.
    fn binding(&self) -> String {
        binding_name(&self.artifact, &self.target.name)
    }

    fn name(&self, name: &str) -> ObjectName {
        ObjectName::new(&self.target.namespace, name)
    }

    fn binding_object(&self) -> RenderBinding {
        let mut labels = task_owner::labels(&self.target, "");
        labels.remove(task_owner::OWNER_UID_LABEL);
        labels.insert(ARTIFACT_LABEL.to_owned(), self.artifact.clone());
        RenderBinding {
            api_version: Some(api_version()),
            kind: Some(RenderBindingSpec::KIND.to_owned()),
            metadata: self.metadata(self.binding(), labels, None),
            spec: RenderBindingSpec {
                render_artifact_ref: LocalReference {
                    name: self.artifact.clone(),
                },
                owner_kind: TargetSpec::KIND.to_owned(),
                owner_name: self.target.name.clone(),
                owner_namespace: self.target.namespace.clone(),
                registry_ref: Some(self.registry.clone()),
            },
            status: None,
        }
    }

    fn artifact_object(&self) -> RenderArtifact {
        let labels = crate::names::component_labels(crate::names::ARTIFACT_COMPONENT, &self.artifact);
        let digest = self.digest.iter();
        let annotations = digest.map(|digest| (DIGEST_ANNOTATION.to_owned(), digest.clone()));
        RenderArtifact {
            api_version: Some(api_version()),
            kind: Some(RenderArtifactSpec::KIND.to_owned()),
            metadata: ObjectMeta {
                annotations: Some(annotations.collect()),
                ..self.metadata(self.artifact.clone(), labels, Some(artifact_finalizer()))
            },
            spec: self.spec.clone(),
            status: None,
        }
    }

    fn metadata(
        &self,
        name: String,
        labels: BTreeMap<String, String>,
        finalizer: Option<String>,
    ) -> ObjectMeta {
        ObjectMeta {
            name: Some(name),
            namespace: Some(self.target.namespace.clone()),
            labels: Some(labels),
            finalizers: finalizer.map(|finalizer| vec![finalizer]),
            ..ObjectMeta::default()
        }
    }
}

/// Whether the chart is bound according to the stores: enough for one whose task exists.
pub fn is_bound(cx: &Cx, chart: &Chart) -> bool {
    let binding = cx.store::<RenderBindings>().get(&chart.name(&chart.binding()));
    let is_pinned = binding.is_some_and(|binding| {
        let reference = binding.view().and_then(|view| view.spec.registry_ref.as_ref());
        reference == Some(&chart.registry)
    });
    let artifact = cx.store::<Artifacts>().get(&chart.name(&chart.artifact));
    let artifact = artifact.and_then(|artifact| stored::whole::<RenderArtifactSpec>(&artifact));
    is_pinned && artifact.is_some_and(|artifact| !is_cleaning(&artifact))
}

/// Binds a chart that was pushed: the binding first, then the artifact. Always queries the API server, whatever the
/// stores have; they only save the creation of an object that exists, which would be refused.
pub async fn bind(cx: &Cx, chart: &Chart) -> Result<Use, Error> {
    let binding = chart.name(&chart.binding());
    let known = stored_artifact(cx, chart);
    let was_bound = cx.store::<RenderBindings>().get(&binding).is_some();
    if !was_bound && !may_bind(known.as_ref()) {
        return Ok(Use::Deleting);
    }
    let (metadata, is_new) = binding_of(cx, chart, was_bound).await?;
    // Read after the binding was created: the clean-up writes its status before it lists the bindings.
    let mut found = match known {
        Some(_) => read_artifact(cx, chart).await?,
        None => None,
    };
    if found.is_none() {
        let made = create(cx, &chart.artifact_object(), "creating a RenderArtifact").await?;
        if made.is_some() {
            return Ok(Use::Bound);
        }
        found = read_artifact(cx, chart).await?;
    }
    let found = found.ok_or(Error::Changed)?;
    // An artifact that a user deleted is kept by its existing bindings.
    if may_bind(Some(&found)) || (!is_new && !is_cleaning(&found)) {
        return Ok(Use::Bound);
    }
    delete(cx, &binding, metadata.uid.as_deref()).await?;
    Ok(Use::Deleting)
}

/// The binding of a chart with its Registry, and whether it was created now. `was_bound`: the store has it.
async fn binding_of(cx: &Cx, chart: &Chart, was_bound: bool) -> Result<(ObjectMeta, bool), Error> {
    if was_bound && let Some(there) = pin(cx, chart).await? {
        return Ok((there, false));
    }
    if let Some(made) = create(cx, &chart.binding_object(), "creating a RenderBinding").await? {
        return Ok((made, true));
    }
    let there = pin(cx, chart).await?;
    Ok((there.ok_or(Error::Changed)?, false))
}

async fn read_artifact(cx: &Cx, chart: &Chart) -> Result<Option<RenderArtifact>, Error> {
    let key = Artifacts::ID.key(chart.name(&chart.artifact));
    let found = cx
        .api::<SpecAndStatus<RenderArtifactSpec>>(&key)
        .get_opt(&key.name)
        .await;
    let found = found.map_err(Error::api("reading a RenderArtifact"))?;
    Ok(found.as_ref().and_then(stored::whole))
}

fn stored_artifact(cx: &Cx, chart: &Chart) -> Option<RenderArtifact> {
    let artifact = cx.store::<Artifacts>().get(&chart.name(&chart.artifact))?;
    stored::whole(&artifact)
}

/// Whether a task may push a chart: not while its tag is being deleted.
pub async fn may_push(cx: &Cx, target: &ObjectKey, artifact: &str) -> Result<bool, Error> {
    let key = Artifacts::ID.key(ObjectName::new(&target.namespace, artifact));
    let found = cx.api::<MetadataOnly>(&key).get_opt(artifact).await;
    let found = found.map_err(Error::api("reading a RenderArtifact"))?;
    Ok(found.is_none_or(|found| found.metadata.deletion_timestamp.is_none()))
}

/// Deletes a Target's binding to an artifact.
pub async fn release(cx: &Cx, target: &ObjectKey, artifact: &str) -> Result<(), Error> {
    let name = binding_name(artifact, &target.name);
    let key = RenderBindings::ID.key(ObjectName::new(&target.namespace, &name));
    match cx
        .api::<MetadataOnly>(&key)
        .delete(&name, &DeleteParams::default())
        .await
    {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(Error::api("deleting a RenderBinding")(error)),
    }
}

/// Deletes all bindings of a Target that is being deleted, including those that no store has yet.
pub async fn release_all(cx: &Cx, target: &ObjectKey) -> Result<(), Error> {
    let api: Api<Object<SpecAndStatus<RenderBindingSpec>>> =
        cx.api_in(RenderBindings::ID, Some(&target.namespace));
    let list = ListParams::default().labels(&task_owner::selector(target));
    let found = api
        .list(&list)
        .await
        .map_err(Error::api("listing RenderBindings"))?;
    for binding in found.items {
        let spec = binding.view().map(|view| &view.spec);
        // A label only has the prefix of a long name.
        if spec.is_some_and(|spec| owner(spec) == Some(target.clone())) {
            delete(cx, &binding.name(), binding.metadata.uid.as_deref()).await?;
        }
    }
    Ok(())
}

/// The Target that a binding was created for.
pub fn owner(binding: &RenderBindingSpec) -> Option<ObjectKey> {
    let is_target = binding.owner_kind == TargetSpec::KIND;
    is_target.then(|| ObjectKey::new(&binding.owner_namespace, &binding.owner_name))
}

/// Updates the Registry of an existing binding, which may have been another one. `None`: there is no such binding.
async fn pin(cx: &Cx, chart: &Chart) -> Result<Option<ObjectMeta>, Error> {
    let name = chart.name(&chart.binding());
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    // The API server doesn't write a patch that changes nothing.
    let patch = Patch::Merge(json!({"spec": {"registryRef": chart.registry}}));
    let api = cx.api::<MetadataOnly>(&RenderBindings::ID.key(name.clone()));
    match api.patch(&name.name, &params, &patch).await {
        Ok(binding) => Ok(Some(binding.metadata)),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(Error::api("changing a RenderBinding")(error)),
    }
}

/// Creates an object and returns its metadata; `None`: the name exists already.
async fn create<S: Spec>(
    cx: &Cx,
    object: &pipeline::Object<S>,
    doing: &'static str,
) -> Result<Option<ObjectMeta>, Error> {
    match owned::create(cx, object.namespace(), object).await {
        Ok(made) => Ok(Some(made)),
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(None),
        Err(error) => Err(Error::api(doing)(error)),
    }
}

async fn delete(cx: &Cx, binding: &ObjectName, uid: Option<&str>) -> Result<(), Error> {
    let (namespace, name) = (&binding.namespace, &binding.name);
    let deleted = owned::delete::<RenderBinding>(cx, namespace, name, uid.unwrap_or("")).await;
    deleted
        .map(|_| ())
        .map_err(Error::api("deleting a RenderBinding"))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use super::*;
    use crate::controllers::pipeline::test_objects::Fixture;
    use crate::names::is_name;
    use crate::runtime::{Health, Identity, Metrics};
    use crate::tests::{api, refusal, run};

    fn chart(target: &str) -> Chart {
        let mut fixture = Fixture::new();
        fixture.target = ObjectKey::new("tenant", target);
        let planned = fixture.release_task(false).expect("a task");
        let destination = Destination {
            base_url: &planned.spec.base_url,
            repository: &planned.spec.repository,
            tag: &planned.spec.tag,
        };
        let registry = ObjectKey::new("solar-system", "charts");
        Chart::new(&fixture.target, &registry, "t", destination).with_digest("sha256:1")
    }

    #[test]
    fn the_binding_names_the_artifact_and_both_the_registry() {
        let chart = chart("edge");
        let (binding, artifact) = (chart.binding_object(), chart.artifact_object());
        assert_eq!(binding.spec.render_artifact_ref.name, artifact.name());
        assert_eq!(binding.spec.registry_ref, artifact.spec.registry_ref);
        assert_eq!(owner(&binding.spec), Some(ObjectKey::new("tenant", "edge")));
        assert_eq!([binding.namespace(), artifact.namespace()], ["tenant", "tenant"]);
        assert!(is_name(binding.name()) && is_name(artifact.name()));
        let registry = artifact.spec.registry_ref.as_ref().expect("a Registry");
        assert_eq!(
            registry.resolved("tenant"),
            ObjectKey::new("solar-system", "charts")
        );
        let annotations = artifact.metadata.annotations.as_ref().expect("annotations");
        assert_eq!(annotations[DIGEST_ANNOTATION], "sha256:1");
        // From creation on, or it could be deleted while its tag is kept.
        assert_eq!(artifact.metadata.finalizers, Some(vec![artifact_finalizer()]));
    }

    /// The selectors must match the labels: the clean-up uses the one label, a deleted Target the others.
    #[test]
    fn labels_select_what_they_mark() {
        let chart = chart("edge");
        let labels = chart.binding_object().metadata.labels.expect("labels");
        let selector = format!(
            "{},{ARTIFACT_LABEL}={}",
            task_owner::selector(&ObjectKey::new("tenant", "edge")),
            chart.artifact
        );
        for pair in selector.split(',') {
            let (key, value) = pair.split_once('=').expect("a pair");
            assert_eq!(labels.get(key).map(String::as_str), Some(value), "{key}");
        }
        assert!(
            labels
                .values()
                .all(|value| !value.is_empty() && value.len() <= 63),
            "{labels:?}"
        );
    }

    /// Targets of a namespace share artifacts: 1,800 creations were once refused while 100 Targets rendered.
    #[test]
    fn what_the_store_has_is_not_created_again() {
        let (create, read, pin) = (
            "POST renderartifacts",
            "GET renderartifacts",
            "PATCH renderbindings",
        );
        let bind_first = "POST renderbindings";
        // The store has binding, artifact; the API server has the artifact; the requests.
        let table: [(bool, bool, bool, &[&str]); 5] = [
            (false, false, false, &[bind_first, create]),
            (false, true, true, &[bind_first, read]),
            (true, true, true, &[pin, read]),
            (true, false, false, &[pin, create]),
            // The store is behind.
            (false, true, false, &[bind_first, read, create]),
        ];
        for (binding, artifact, exists, expected) in table {
            run(async {
                let chart = chart("edge");
                let requests = Arc::new(Mutex::new(Vec::new()));
                let (seen, there) = (Arc::clone(&requests), object(&chart.artifact_object()));
                let client = api(move |method, path, body| {
                    let plural = path.split('/').find(|part| part.starts_with("render"));
                    let request = format!("{method} {}", plural.unwrap_or(path));
                    seen.lock().expect("the requests").push(request);
                    Some(match method {
                        "GET" if !exists => refusal(404, "NotFound"),
                        "POST" => (201, body),
                        _ => (200, there.clone()),
                    })
                });
                let cx = Cx::new(client, Identity::default(), Metrics::default(), Health::default());
                let decode = |value: Value| value.to_string();
                if binding {
                    let text = decode(object(&chart.binding_object()));
                    let stored = serde_json::from_str(&text).expect("a binding");
                    cx.store::<RenderBindings>().put_for_test(stored);
                }
                if artifact {
                    let text = decode(object(&chart.artifact_object()));
                    let stored = serde_json::from_str(&text).expect("an artifact");
                    cx.store::<Artifacts>().put_for_test(stored);
                }
                assert_eq!(bind(&cx, &chart).await.expect("bound"), Use::Bound);
                assert_eq!(*requests.lock().expect("the requests"), expected);
            });
        }
    }

    fn object(object: &impl serde::Serialize) -> Value {
        serde_json::to_value(object).expect("JSON")
    }

    #[test]
    fn each_target_binds_for_itself() {
        assert_ne!(chart("edge-1").binding(), chart("edge-2").binding());
    }
}
