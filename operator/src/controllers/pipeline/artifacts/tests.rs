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
fn an_annotation_keeps_the_tag() {
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
        let error =
            credentials(&artifact, registry.as_ref(), &grants, CrossNamespace::Granted).expect_err(expected);
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
