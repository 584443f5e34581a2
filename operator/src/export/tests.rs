use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::object::ExportedObject;
use super::*;
use crate::controllers::pipeline::signing::NUMBER_ANNOTATION;
use crate::tests::{api, refusal, run};

#[derive(Default)]
struct Collected {
    yaml: String,
    notes: Vec<String>,
}

impl Output for Collected {
    fn yaml(&mut self, text: &str) -> io::Result<()> {
        self.yaml.push_str(text);
        Ok(())
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
}

fn kind(name: &str) -> ExportKind {
    let found = kinds::all().into_iter().find(|kind| kind.id.kind == name);
    found.expect("a kind")
}

fn object(kind_name: &str, object: &Value) -> (Value, Vec<String>) {
    match exported(&kind(kind_name), &object.to_string()) {
        Exported::Object(object) => (object.value, object.notes),
        other => panic!("{other:?}"),
    }
}

fn left_out(kind_name: &str, object: &Value) -> String {
    match exported(&kind(kind_name), &object.to_string()) {
        Exported::LeftOut(why) => why,
        other => panic!("{other:?}"),
    }
}

/// With all that an API server fills in.
fn metadata() -> Value {
    json!({
        "name": "shop", "namespace": "tenant", "uid": "u", "resourceVersion": "7", "generation": 3,
        "creationTimestamp": null, "selfLink": "/x", "generateName": "s", "finalizers": ["example.com/f"],
        "managedFields": [{"manager": "m"}], "labels": {"tier": "web"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "solar.opendefense.cloud/retry": "1",
            "reconcile.fluxcd.io/requestedAt": "2", "example.com/note": "kept"},
    })
}

#[test]
fn what_is_of_one_api_server_is_gone_and_users_data_stays() {
    let values = json!({"replicas": 2.0, "nothing": null, "list": [1, null]});
    let (value, notes) = object(
        "Release",
        &json!({
            "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": "Release", "metadata": metadata(),
            "spec": {"componentVersionRef": {"name": "v", "namespace": ""}, "targetNamespace": "", "uniqueName": null,
                "antiAffinity": null, "values": values, "priority": 0},
            "status": {"conditions": []},
        }),
    );
    assert_eq!(
        value,
        json!({
            "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": "Release",
            "metadata": {"name": "shop", "namespace": "tenant", "labels": {"tier": "web"},
                "annotations": {"example.com/note": "kept"}},
            "spec": {"componentVersionRef": {"name": "v"}, "values": values},
        })
    );
    assert_eq!(notes, Vec::<String>::new());
    // The CRD's default for data that SolAr leaves out.
    let target =
        json!({"metadata": metadata(), "spec": {"renderRegistryRef": {"name": "r"}, "userdata": {}}});
    let (target, _) = object("Target", &target);
    assert_eq!(target["spec"], json!({"renderRegistryRef": {"name": "r"}}));
    let mut text = String::new();
    yaml::write(&value, &mut text);
    assert!(
        text.contains("replicas: 2\n"),
        "as a CRD's API server has it: {text}"
    );
}

#[test]
fn what_an_owner_makes_again_is_left_out() {
    let owner = |kind: &str, group: &str| json!([{"apiVersion": format!("{group}/v1alpha1"), "kind": kind, "name": "all", "uid": "p", "controller": true}]);
    let with = |owners: Value, spec: Value| {
        let mut metadata = metadata();
        metadata["ownerReferences"] = owners;
        json!({"metadata": metadata, "spec": spec})
    };
    let binding = json!({"targetRef": {"name": "edge"}, "releaseRef": {"name": "shop"}});
    assert_eq!(
        left_out("ReleaseBinding", &with(owner("Profile", GROUP), binding.clone())),
        "ReleaseBinding tenant/shop is left out: Profile tenant/all makes it again"
    );
    // Of another group it is no Profile.
    let (value, notes) = object(
        "ReleaseBinding",
        &with(owner("Profile", "example.com"), binding.clone()),
    );
    assert_eq!(value["metadata"].get("ownerReferences"), None);
    assert_eq!(notes.len(), 1, "{notes:?}");
    let task = |kind: &str| {
        json!({"metadata": metadata(), "spec": {"ownerKind": kind, "ownerNamespace": "tenant", "ownerName": "edge",
            "type": "release", "repository": "a/b", "tag": "1", "baseURL": "h.example"}})
    };
    assert_eq!(
        left_out("RenderTask", &task("Target")),
        "RenderTask tenant/shop is left out: Target tenant/edge makes it again"
    );
    let (value, _) = object("RenderTask", &task("Config"));
    assert_eq!(value["spec"]["failedJobTTL"], 3600);
    // What was pushed for a Target is nobody's to make again, whoever owns it.
    let artifact = json!({"baseURL": "h.example", "repository": "a/b", "tag": "1", "renderTaskRef": "t"});
    object("RenderArtifact", &with(owner("Target", GROUP), artifact));
    let mut deleted = with(json!(null), binding);
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert!(left_out("ReleaseBinding", &deleted).ends_with("it is being deleted"));
}

#[test]
fn fields_that_are_not_known_here_are_named_and_defaults_are_not() {
    let registry = json!({"metadata": metadata(), "spec": {"hostname": "h.example", "mirrors": ["m"], "quota": 0,
        "solarSecretRef": {"name": "push", "optional": true}}});
    let (value, notes) = object("Registry", &registry);
    assert_eq!(
        value["spec"],
        json!({"hostname": "h.example", "solarSecretRef": {"name": "push"}})
    );
    assert_eq!(
        notes,
        [
            "Registry tenant/shop: spec.mirrors is left out: the kind has no such field here",
            "Registry tenant/shop: spec.solarSecretRef.optional is left out: the kind has no such field here"
        ]
    );
    // What has another form goes as it is.
    let (value, notes) = object(
        "Registry",
        &json!({"metadata": metadata(), "spec": {"hostname": 1}}),
    );
    assert_eq!(value["spec"], json!({"hostname": 1}));
    assert!(notes[0].contains("may be refused"), "{notes:?}");
}

/// An artifact whose bindings are not found is deleted.
#[test]
fn bindings_of_charts_are_found_by_the_labels_of_this_operator() {
    let spec = json!({"renderArtifactRef": {"name": "art"}, "ownerKind": "Target", "ownerName": "edge",
        "ownerNamespace": "tenant"});
    let (value, _) = object("RenderBinding", &json!({"metadata": metadata(), "spec": spec}));
    let labels = &value["metadata"]["labels"];
    assert_eq!(labels[crate::api::ARTIFACT_LABEL], "art");
    assert_eq!(labels["tier"], "web", "{labels}");
    let target = crate::api::pipeline::ObjectKey::new("tenant", "edge");
    for pair in crate::controllers::pipeline::task_owner::selector(&target).split(',') {
        let (key, value) = pair.split_once('=').expect("a pair");
        assert_eq!(labels[key], value, "{labels}");
    }
}

/// Another cluster's operator once made a pair that the Target's clusters refuse.
#[test]
fn the_key_pair_that_clusters_trust_is_named_and_goes_on() {
    let pair = |number: u32| {
        json!({"number": number, "publicKey": "k",
            "secretRef": {"namespace": "system", "name": format!("edge-cosign-{number}")}})
    };
    let spec = json!({"renderRegistryRef": {"name": "r"}, "signing": {"enabled": true}});
    let target =
        |signing: Value| json!({"metadata": metadata(), "spec": spec, "status": {"signing": signing}});
    let exported_of = |signing: Value| match exported(&kind("Target"), &target(signing).to_string()) {
        Exported::Object(object) => object,
        other => panic!("{other:?}"),
    };
    let number = |object: &ExportedObject| object.value["metadata"]["annotations"][NUMBER_ANNOTATION].clone();
    let found = exported_of(json!({"current": pair(3), "retired": [pair(2)]}));
    assert_eq!(number(&found), "3");
    let mut secrets = SecretNames::default();
    secrets.add("Target", &found.value, &found.key_pairs);
    assert_eq!(
        secrets.comment(),
        "---\n# Secret system/edge-cosign-3 with a key pair that clusters trust: not exported; Target tenant/shop refers to it\n"
    );
    // In the middle of a rotation the one before still signs what clusters verify.
    let found = exported_of(json!({"current": pair(3), "previous": pair(2)}));
    assert_eq!((number(&found), found.key_pairs.len()), (json!("2"), 2));
    for none in [json!(null), json!("<html>"), json!({}), json!([1])] {
        let found = exported_of(none);
        assert_eq!((number(&found), found.key_pairs.len()), (Value::Null, 0));
    }
}

/// A name once became an object of the file that somebody with more rights applies.
#[test]
fn a_name_does_not_end_the_comment_that_it_is_in() {
    let name = "x\u{2028}kind: ClusterRoleBinding\u{2029}a: b\u{85}c\nd\u{feff}#";
    let registry =
        json!({"metadata": {"name": "r", "namespace": "tenant"}, "spec": {"solarSecretRef": {"name": name}}});
    let mut secrets = SecretNames::default();
    secrets.add("Registry", &registry, &[]);
    assert_eq!(
        secrets.comment(),
        "---\n# Secret tenant/xkind: ClusterRoleBindinga: bcd#: not exported; Registry tenant/r refers to it\n"
    );
    assert_eq!(SecretNames::default().comment(), "");
}

#[test]
fn what_is_too_deep_to_be_read_is_reported() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let text = format!(r#"{{"metadata":{{"name":"shop"}},"spec":{{"values":{{"a":{deep}}}}}}}"#);
    let found = exported(&kind("Release"), &text);
    assert!(
        matches!(&found, Exported::Unreadable(why) if why.starts_with("Release shop")),
        "{found:?}"
    );
}

/// An API server with some Registries, in two pages.
fn two_pages(expires: bool) -> (Client, Arc<Mutex<usize>>) {
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let client = api(move |_, path, _| {
        let registry = |name: &str| {
            json!({"metadata": {"name": name, "namespace": "tenant"},
                "spec": {"hostname": "h.example", "solarSecretRef": {"name": "push"}, "targetPullSecretName": "pull"}})
        };
        if path == "/apis/solar.opendefense.cloud/v1alpha1" {
            let resource = |name: &str, kind: &str, namespaced: bool| json!({"name": name, "kind": kind, "namespaced": namespaced, "singularName": "", "verbs": ["list"]});
            let resources = [
                resource("registries", "Registry", true),
                resource("registries/status", "Registry", true),
                resource("discoveries", "Discovery", true),
                resource("rendertasks", "RenderTask", false),
            ];
            return Some((200, json!({"groupVersion": "v", "resources": resources})));
        }
        assert!(path.ends_with("/registries"), "{path}");
        let mut pages = count.lock().expect("a count");
        *pages += 1;
        Some(match (*pages, expires) {
            (1, _) => (
                200,
                json!({"metadata": {"continue": "next"}, "items": [registry("a")]}),
            ),
            (_, true) => refusal(410, "Expired"),
            (_, false) => (
                200,
                json!({"metadata": {"continue": ""}, "items": [registry("b")]}),
            ),
        })
    });
    (client, asked)
}

#[test]
fn lists_are_read_in_pages_and_secrets_and_what_is_missing_are_named() {
    let mut output = Collected::default();
    let (summary, pages) = run(async {
        let (client, pages) = two_pages(false);
        let summary = export(&client, &BTreeSet::new(), &mut output).await;
        (summary.expect("an export"), pages)
    });
    assert_eq!(summary.exported, [("Registry", 2)].into());
    assert_eq!(*pages.lock().expect("a count"), 2);
    let names: Vec<&str> = output
        .yaml
        .lines()
        .filter(|line| line.starts_with("  name: "))
        .collect();
    assert_eq!(names, ["  name: a", "  name: b"]);
    let secrets = "# Secret pull, on the targets: not exported; Registry tenant/a and 1 more refers to it\n\
                   # Secret tenant/push: not exported; Registry tenant/a and 1 more refers to it\n";
    assert!(output.yaml.ends_with(secrets), "{}", output.yaml);
    assert_eq!(
        output.notes[..2],
        [
            "Discovery is left out: this operator has no such kind",
            "RenderTask is left out: it is cluster-scoped there, and namespaced here"
        ]
    );
}

#[test]
fn a_list_that_expires_is_no_export() {
    let ended = run(async {
        let (client, _) = two_pages(true);
        export(&client, &BTreeSet::new(), &mut Collected::default()).await
    });
    assert!(
        matches!(ended, Err(ExportError::Expired { kind: "Registry" })),
        "{ended:?}"
    );
}

/// It was once read for ever.
#[test]
fn a_page_that_leads_to_itself_is_an_error() {
    let ended = run(async {
        let client = api(|_, path, _| {
            let registry = json!({"name": "registries", "kind": "Registry", "namespaced": true, "singularName": "", "verbs": ["list"]});
            Some(match path.ends_with("/registries") {
                true => (200, json!({"metadata": {"continue": "same"}, "items": []})),
                false => (200, json!({"groupVersion": "v", "resources": [registry]})),
            })
        });
        export(&client, &BTreeSet::new(), &mut Collected::default()).await
    });
    assert!(
        matches!(ended, Err(ExportError::Repeated { kind: "Registry" })),
        "{ended:?}"
    );
}

/// It was once exported, as an object that nobody can apply.
#[test]
fn an_object_without_a_name_cannot_be_read() {
    for metadata in [json!({}), json!({"name": "", "namespace": "tenant"})] {
        let text = json!({"metadata": metadata, "spec": {"hostname": "h.example"}}).to_string();
        match exported(&kind("Registry"), &text) {
            Exported::Unreadable(why) => assert!(why.contains("no metadata.name"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}
