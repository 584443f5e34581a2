//! Pushed charts: their names, their bindings, and when a tag may be deleted.
//!
//! A RenderBinding is created before its RenderArtifact, so that an artifact without a binding is no longer needed. A
//! finalizer keeps the artifact until its tag is deleted, which never happens while a binding exists, and only with the
//! credentials of a Registry of the artifact's own host.

use std::time::Duration;

use kube::api::ObjectMeta;
use serde_json::json;

use super::canonical;
use super::conditions::Reason;
use super::grants::{CrossNamespace, CrossReference};
use super::pull_secrets::{host, normal};
use super::task_owner::finalizer;
use crate::api::KEEP_TAG_ANNOTATION;
use crate::api::pipeline::{
    ObjectKey, ObjectReference, ReferenceGrant, Registry, RenderArtifact, RenderArtifactSpec, RenderBinding,
};
use crate::runtime::conditions::{ConditionReason as _, READY, find};

/// How many hex digits of a hash an artifact's name has: a namespace may have tens of thousands of artifacts.
const HASH_DIGITS: usize = 16;
/// How long deleting an artifact's tag is retried while its namespace is being deleted: a failing registry must not
/// keep a namespace forever.
pub const GIVE_UP_AFTER: Duration = Duration::from_secs(300);

/// The finalizer that keeps an artifact until its tag is deleted.
pub fn artifact_finalizer() -> String {
    finalizer("render-artifact-finalizer")
}

/// The name of the artifact of a chart, in its Target's namespace: Targets that share a chart share it.
pub fn artifact_name(namespace: &str, base_url: &str, repository: &str, tag: &str) -> String {
    let hash = canonical::sha256(&json!([namespace, base_url, repository, tag]));
    format!("render-art-{}", hash.get(..HASH_DIGITS).unwrap_or(&hash))
}

/// The name of a Target's binding to an artifact.
pub fn binding_name(artifact: &str, target: &str) -> String {
    let hash = canonical::sha256(&json!([artifact, target]));
    format!("render-bind-{}", hash.get(..HASH_DIGITS).unwrap_or(&hash))
}

/// The chart's address: `oci://host/path:tag`.
pub fn chart_url(artifact: &RenderArtifactSpec) -> String {
    let RenderArtifactSpec {
        base_url,
        repository,
        tag,
        ..
    } = artifact;
    format!("oci://{}:{tag}", path(base_url, repository))
}

/// Joins host and path.
fn path(base_url: &str, below: &str) -> String {
    format!("{}/{}", normal(base_url), below.trim_matches('/'))
}

/// Whether the clean-up has begun. It doesn't see later bindings, so this is written to the status before the bindings
/// are listed.
pub fn is_cleaning(artifact: &RenderArtifact) -> bool {
    let status = artifact.status.as_ref();
    let ready = status.and_then(|status| find(&status.conditions, READY));
    let reasons = [Reason::Pending, Reason::AuthFailed, Reason::DeleteFailed];
    artifact.is_deleted()
        && ready.is_some_and(|ready| reasons.map(Reason::name).contains(&ready.reason.as_str()))
}

/// Whether a Target may bind to the artifact of a chart: not to one that is being deleted, whose tag may be deleted at
/// any moment. The chart must be pushed again afterwards.
pub fn may_bind(existing: Option<&RenderArtifact>) -> bool {
    existing.is_none_or(|artifact| !artifact.is_deleted())
}

/// The next step for an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactAction {
    /// Nothing.
    Keep,
    /// Adds its finalizer, before anything else.
    AddFinalizer,
    /// From now on, its credentials are those of another Registry.
    Pin(ObjectReference),
    /// No binding is left: the artifact is deleted.
    Delete,
    /// It is being deleted, but bindings are left: its tag is kept.
    Held {
        /// The bindings' names.
        by: Vec<String>,
    },
    /// Its tag is deleted.
    DeleteTag,
    /// It may go without its tag: somebody has asked for that.
    LeaveTag,
    /// Its tag is deleted, or given up: it may go.
    RemoveFinalizer,
}

/// The state of the Job that deletes the tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleanup {
    /// It has not finished.
    Open {
        /// How long the artifact has been deleted.
        since: Duration,
        /// Whether its namespace is being deleted too.
        is_namespace_terminating: bool,
        /// Whether no Job can delete the tag any more: the Registry's namespace is being deleted, with the credentials.
        is_hopeless: bool,
    },
    /// The tag is deleted, or never existed.
    Done,
}

/// Decides the next step for an artifact; `bindings` are those that name it.
pub fn decide(artifact: &RenderArtifact, bindings: &[RenderBinding], cleanup: Cleanup) -> ArtifactAction {
    let own = artifact_finalizer();
    let finalizers = artifact.metadata.finalizers.as_deref().unwrap_or_default();
    let has_finalizer = finalizers.contains(&own);
    let mut names: Vec<String> = bindings.iter().map(|binding| binding.name().to_owned()).collect();
    names.sort_unstable();
    match (artifact.is_deleted(), has_finalizer) {
        (true, false) => ArtifactAction::Keep,
        (true, true) if !names.is_empty() => ArtifactAction::Held { by: names },
        (true, true) if is_over(cleanup) => ArtifactAction::RemoveFinalizer,
        (true, true) if keeps_tag(&artifact.metadata) => ArtifactAction::LeaveTag,
        (true, true) => ArtifactAction::DeleteTag,
        (false, false) => ArtifactAction::AddFinalizer,
        (false, true) if names.is_empty() => ArtifactAction::Delete,
        (false, true) => pin(artifact, bindings).map_or(ArtifactAction::Keep, ArtifactAction::Pin),
    }
}

/// Whether the tag is to be left in the registry: the way out where nobody has credentials to delete it.
pub fn keeps_tag(metadata: &ObjectMeta) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(KEEP_TAG_ANNOTATION))
        .is_some_and(|value| value == "true")
}

fn is_over(cleanup: Cleanup) -> bool {
    match cleanup {
        Cleanup::Done => true,
        Cleanup::Open {
            since,
            is_namespace_terminating,
            is_hopeless,
        } => is_namespace_terminating && (is_hopeless || since >= GIVE_UP_AFTER),
    }
}

/// The Registry to pin an artifact to, if it changes: that of the binding with the smallest name. The current one is
/// kept while a binding names it, and if no binding names any: it may still delete the tag.
fn pin(artifact: &RenderArtifact, bindings: &[RenderBinding]) -> Option<ObjectReference> {
    let namespace = artifact.namespace();
    let present = artifact.spec.registry_ref.as_ref();
    let present = present.map(|reference| reference.resolved(namespace));
    let mut named: Vec<(&str, &ObjectReference)> = bindings
        .iter()
        .filter_map(|binding| Some((binding.name(), binding.spec.registry_ref.as_ref()?)))
        .collect();
    named.sort_unstable_by_key(|(name, _)| *name);
    let is_named = named
        .iter()
        .any(|(_, reference)| Some(reference.resolved(namespace)) == present);
    if is_named {
        return None;
    }
    named.first().map(|(_, reference)| (*reference).clone())
}

/// Why a tag can't be deleted with the credentials of the Registry that the artifact names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// The artifact names no Registry.
    #[error("no Registry is named, whose credentials could delete the tag")]
    NoRegistry,
    /// The Registry doesn't exist.
    #[error("Registry {registry} doesn't exist")]
    NotFound {
        /// The Registry.
        registry: ObjectKey,
    },
    /// The Registry's namespace doesn't grant the reference.
    #[error("{missing}")]
    NotGranted {
        /// The grant that is missing.
        missing: String,
    },
    /// The Registry is in another namespace, and the chart's path is not below the artifact's namespace.
    #[error(
        "Registry {registry} is in another namespace, and namespace {namespace} may only use its credentials for charts below {allowed}"
    )]
    OtherPath {
        /// The Registry.
        registry: ObjectKey,
        /// The artifact's namespace.
        namespace: String,
        /// The path that the chart must be below.
        allowed: String,
    },
    /// The Registry is for another host: its credentials are not sent elsewhere.
    #[error("Registry {registry} is for host {registry_host}, and the chart is at {host}")]
    OtherHost {
        /// The Registry.
        registry: ObjectKey,
        /// Its host.
        registry_host: String,
        /// The artifact's host.
        host: String,
    },
    /// The Registry names no Secret.
    #[error("Registry {registry} has no solarSecretRef")]
    NoSecret {
        /// The Registry.
        registry: ObjectKey,
    },
}

impl CredentialsError {
    /// The reason of the condition OCICleanup.
    pub fn reason(&self) -> Reason {
        Reason::AuthFailed
    }
}

/// The Registry's Secret for deleting an artifact's tag; `registry` is the one that the artifact names, if it exists.
pub fn credentials<'a>(
    artifact: &RenderArtifact,
    registry: Option<&'a Registry>,
    grants: &[ReferenceGrant],
    cross: CrossNamespace,
) -> Result<&'a str, CredentialsError> {
    let RenderArtifactSpec {
        base_url,
        registry_ref,
        ..
    } = &artifact.spec;
    let reference = registry_ref.as_ref().ok_or(CredentialsError::NoRegistry)?;
    let key = reference.resolved(artifact.namespace());
    let (from, to) = (artifact.namespace(), key.namespace.as_str());
    if !CrossReference::ArtifactToRegistry.is_granted(from, to, grants) {
        let missing = CrossReference::ArtifactToRegistry.missing(from, to, cross);
        return Err(CredentialsError::NotGranted { missing });
    }
    let Some(registry) = registry.filter(|registry| registry.key() == key) else {
        return Err(CredentialsError::NotFound { registry: key });
    };
    let (own, other) = (host(base_url), host(&registry.spec.hostname));
    if own != other {
        return Err(CredentialsError::OtherHost {
            registry: key,
            registry_host: other,
            host: own,
        });
    }
    // Otherwise anyone who may write artifacts could delete the charts of other namespaces with it.
    let allowed = path(&registry.spec.hostname, from);
    let chart = path(base_url, &artifact.spec.repository);
    if from != to && !chart.starts_with(&format!("{allowed}/")) {
        return Err(CredentialsError::OtherPath {
            registry: key,
            namespace: from.to_owned(),
            allowed,
        });
    }
    let secret = registry.spec.solar_secret_ref.as_ref();
    secret
        .map(|secret| secret.name.as_str())
        .ok_or(CredentialsError::NoSecret { registry: key })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GROUP;
    use crate::controllers::pipeline::test_objects::object;

    const OPEN: Cleanup = Cleanup::Open {
        since: Duration::ZERO,
        is_namespace_terminating: false,
        is_hopeless: false,
    };

    fn artifact(registry: Option<(&str, &str)>, finalized: bool, deleted: bool) -> RenderArtifact {
        let mut json = json!({
            "metadata": {"name": "art", "namespace": "tenant"},
            "spec": {"baseURL": "h.example:5000", "repository": "tenant/bootstrap-edge", "tag": "v0.0.1",
                "renderTaskRef": "t"},
        });
        if let Some((namespace, name)) = registry {
            json["spec"]["registryRef"] = json!({"namespace": namespace, "name": name});
        }
        if finalized {
            json["metadata"]["finalizers"] = json!([artifact_finalizer()]);
        }
        if deleted {
            json["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        object(json)
    }

    fn binding(name: &str, registry: Option<&str>) -> RenderBinding {
        let mut json = json!({
            "metadata": {"name": name, "namespace": "tenant"},
            "spec": {"renderArtifactRef": {"name": "art"}, "ownerKind": "Target", "ownerName": name,
                "ownerNamespace": "tenant"},
        });
        if let Some(registry) = registry {
            json["spec"]["registryRef"] = json!({"name": registry});
        }
        object(json)
    }

    fn registry(hostname: &str, secret: bool) -> Registry {
        let mut json = json!({
            "metadata": {"name": "charts", "namespace": "system"}, "spec": {"hostname": hostname},
        });
        if secret {
            json["spec"]["solarSecretRef"] = json!({"name": "push"});
        }
        object(json)
    }

    /// A grant for the namespace `tenant` to refer to Registries.
    fn grant(kind: &str) -> ReferenceGrant {
        object(json!({
            "metadata": {"name": "g", "namespace": "system"},
            "spec": {"from": [{"group": GROUP, "kind": kind, "namespace": "tenant"}],
                "to": [{"group": GROUP, "kind": "Registry"}]},
        }))
    }

    /// A tag that nobody can delete once kept its artifact, and a Target made again, for ever.
    #[test]
    fn somebody_may_ask_to_leave_the_tag() {
        let annotated = |deleted: bool, value: &str| {
            let mut artifact = artifact(None, true, deleted);
            let annotation = (KEEP_TAG_ANNOTATION.to_owned(), value.to_owned());
            artifact.metadata.annotations = Some([annotation].into());
            artifact
        };
        let bound = [binding("b", None)];
        assert_eq!(
            decide(&annotated(true, "true"), &[], OPEN),
            ArtifactAction::LeaveTag
        );
        assert_eq!(
            decide(&annotated(true, "false"), &[], OPEN),
            ArtifactAction::DeleteTag
        );
        assert_eq!(
            decide(&annotated(false, "true"), &bound, OPEN),
            ArtifactAction::Keep
        );
        let held = decide(&annotated(true, "true"), &bound, OPEN);
        assert!(matches!(held, ArtifactAction::Held { .. }), "{held:?}");
    }

    fn reference(name: &str) -> ObjectReference {
        ObjectReference {
            name: name.into(),
            namespace: String::new(),
        }
    }

    #[test]
    #[allow(clippy::too_many_lines, reason = "one table")]
    fn a_tag_is_deleted_only_when_no_binding_is_left() {
        let own = Some(("", "a"));
        let open = |seconds, is_namespace_terminating| Cleanup::Open {
            since: Duration::from_secs(seconds),
            is_namespace_terminating,
            is_hopeless: false,
        };
        let hopeless = |is_namespace_terminating| Cleanup::Open {
            since: Duration::ZERO,
            is_namespace_terminating,
            is_hopeless: true,
        };
        let late = GIVE_UP_AFTER.as_secs();
        // Case; whether it has its finalizer, is being deleted, is bound; the clean-up; the expected action.
        let table = [
            ("new", false, false, true, OPEN, "AddFinalizer"),
            ("bound", true, false, true, OPEN, "Keep"),
            ("unbound", true, false, false, OPEN, "Delete"),
            ("unbound, no finalizer", false, false, false, OPEN, "AddFinalizer"),
            ("deleted by hand", true, true, true, OPEN, "Held"),
            (
                "bound after the tag went",
                true,
                true,
                true,
                Cleanup::Done,
                "Held",
            ),
            ("going", true, true, false, OPEN, "DeleteTag"),
            ("gone", true, true, false, Cleanup::Done, "RemoveFinalizer"),
            ("finished", false, true, false, Cleanup::Done, "Keep"),
            (
                "refused for long",
                true,
                true,
                false,
                open(late, false),
                "DeleteTag",
            ),
            (
                "refused, and its namespace goes",
                true,
                true,
                false,
                open(late - 1, true),
                "DeleteTag",
            ),
            ("given up", true, true, false, open(late, true), "RemoveFinalizer"),
            (
                "without a way",
                true,
                true,
                false,
                hopeless(true),
                "RemoveFinalizer",
            ),
            (
                "without a way for now",
                true,
                true,
                false,
                hopeless(false),
                "DeleteTag",
            ),
        ];
        for (what, finalized, deleted, is_bound, cleanup, expected) in table {
            let bindings: Vec<_> = is_bound.then(|| binding("b1", Some("a"))).into_iter().collect();
            let action = decide(&artifact(own, finalized, deleted), &bindings, cleanup);
            assert!(format!("{action:?}").starts_with(expected), "{what}: {action:?}");
            if let ArtifactAction::Held { by } = action {
                assert_eq!(by, ["b1"]);
            }
        }
        assert!(may_bind(None) && may_bind(Some(&artifact(own, true, false))));
        assert!(
            !may_bind(Some(&artifact(own, true, true))),
            "never to one that goes"
        );
    }

    #[test]
    fn credentials_are_pinned_to_a_registry_that_a_binding_names() {
        use ArtifactAction as Action;
        let pinned = |registry| artifact(registry, true, false);
        let table = [
            (
                "named",
                pinned(Some(("", "a"))),
                vec![binding("b1", Some("a"))],
                Action::Keep,
            ),
            (
                "named with the namespace",
                pinned(Some(("tenant", "a"))),
                vec![binding("b1", Some("a"))],
                Action::Keep,
            ),
            (
                "its binding went",
                pinned(Some(("", "a"))),
                vec![binding("b3", Some("c")), binding("b2", Some("b"))],
                Action::Pin(reference("b")),
            ),
            (
                "another binding still names it",
                pinned(Some(("", "c"))),
                vec![binding("b3", Some("c")), binding("b2", Some("b"))],
                Action::Keep,
            ),
            (
                "bindings without a Registry",
                pinned(Some(("", "a"))),
                vec![binding("b1", None)],
                Action::Keep,
            ),
            (
                "not pinned yet",
                pinned(None),
                vec![binding("b1", None), binding("b2", Some("b"))],
                Action::Pin(reference("b")),
            ),
        ];
        for (what, artifact, bindings, expected) in table {
            assert_eq!(decide(&artifact, &bindings, OPEN), expected, "{what}");
        }
    }

    #[test]
    #[allow(clippy::too_many_lines, reason = "one table")]
    fn credentials_come_from_a_registry_of_the_same_host_through_a_grant_for_artifacts() {
        let own = registry("oci://H.example:5000/", true);
        let pinned = artifact(Some(("system", "charts")), true, true);
        let own_path = |base_url: &str, repository: &str| {
            let mut artifact = pinned.clone();
            artifact.spec.base_url = base_url.into();
            artifact.spec.repository = repository.into();
            artifact
        };
        let granted = [grant("RenderArtifact")];
        assert_eq!(
            credentials(&pinned, Some(&own), &granted, CrossNamespace::Granted),
            Ok("push")
        );
        // The artifact, the Registry, the grants, and words of the message.
        let table = [
            (
                artifact(None, true, true),
                Some(own.clone()),
                vec![grant("RenderArtifact")],
                "no Registry is named",
            ),
            (
                pinned.clone(),
                None,
                vec![grant("RenderArtifact")],
                "system/charts doesn't exist",
            ),
            (
                pinned.clone(),
                Some(own.clone()),
                vec![],
                "no ReferenceGrant in namespace system",
            ),
            // The Target's own grant is not enough: anyone who may write artifacts could use its credentials.
            (
                pinned.clone(),
                Some(own.clone()),
                vec![grant("Target")],
                "kind RenderArtifact",
            ),
            (
                pinned.clone(),
                Some(registry("evil.example", true)),
                vec![grant("RenderArtifact")],
                "is for host evil.example",
            ),
            (
                pinned.clone(),
                Some(registry("h.example", true)),
                vec![grant("RenderArtifact")],
                "the chart is at h.example:5000",
            ),
            // The chart of another namespace, in different spellings.
            (
                own_path("h.example:5000", "other/bootstrap-edge"),
                Some(own.clone()),
                vec![grant("RenderArtifact")],
                "charts below h.example:5000/tenant",
            ),
            (
                own_path("h.example:5000/other", "tenant/release-shop"),
                Some(own.clone()),
                vec![grant("RenderArtifact")],
                "charts below h.example:5000/tenant",
            ),
            (
                own_path("h.example:5000", "tenant-2/bootstrap-edge"),
                Some(own.clone()),
                vec![grant("RenderArtifact")],
                "charts below h.example:5000/tenant",
            ),
            (
                pinned,
                Some(registry("h.example:5000", false)),
                vec![grant("RenderArtifact")],
                "no solarSecretRef",
            ),
        ];
        for (artifact, registry, grants, expected) in table {
            let error = credentials(&artifact, registry.as_ref(), &grants, CrossNamespace::Granted)
                .expect_err(expected);
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.reason(), Reason::AuthFailed);
        }
    }

    #[test]
    fn targets_that_share_a_chart_share_its_artifact_and_not_the_binding() {
        let one = artifact_name("tenant", "h", "tenant/a/release-shop", "v0.0.1-0a1b2c3d");
        assert_eq!(one.len(), "render-art-".len() + HASH_DIGITS);
        assert_ne!(
            one,
            artifact_name("other", "h", "tenant/a/release-shop", "v0.0.1-0a1b2c3d")
        );
        assert_ne!(
            one,
            artifact_name("tenant", "h/tenant", "a/release-shop", "v0.0.1-0a1b2c3d")
        );
        assert_ne!(binding_name(&one, "edge-1"), binding_name(&one, "edge-2"));
    }
}
