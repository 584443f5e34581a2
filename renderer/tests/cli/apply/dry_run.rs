//! What would change.

use serde_json::Value;

use super::{CLUSTER, SERVICE, Space};

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.dry.example.com}
spec:
  group: dry.example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
";

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn all_is_new_then_the_same_and_then_what_was_changed_by_hand_is_shown_with_its_line() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData: {password: hunter2}\n";
    let files = [
        ("templates/service.yaml", SERVICE),
        ("templates/secret.yaml", secret),
    ];
    let space = Space::new("dry-drift", &files);
    let run = space.dry(&[]);
    assert_eq!(run.code, 10, "{}{}", run.stdout, run.stderr);
    let head = "shop 1.0.0 in the cluster of testbed: 2 added, 0 unchanged\n";
    assert!(run.stdout.starts_with(head), "{}", run.stdout);
    let added = "added Service shop (v1, shop/templates/service.yaml)";
    assert!(run.stdout.contains(added), "{}", run.stdout);
    assert!(!run.stdout.contains("hunter2"), "{}", run.stdout);
    assert!(space.get("service", "shop").is_none(), "nothing was changed");
    space.applied(&[]);
    let run = space.dry(&[]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let same = "shop 1.0.0 in the cluster of testbed: no differences, 2 unchanged\n";
    assert_eq!(run.stdout, same);
    let patch = r#"{"spec": {"selector": {"app": "other"}}}"#;
    space.kubectl(&["patch", "service", "shop", "-p", patch]);
    let patch = r#"{"data": {"password": "bGVha2Vk"}}"#;
    space.kubectl(&["patch", "secret", "keys", "-p", patch]);
    let run = space.dry(&["--force-conflicts"]);
    assert_eq!(run.code, 10, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("2 changed, 0 unchanged"), "{}", run.stdout);
    let expected = "@@ spec.selector.app @@ shop/templates/service.yaml:6\n  - other\n  + shop\n";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
    for secret in ["hunter2", "aHVudGVyMg", "leaked", "bGVha2Vk"] {
        assert!(!run.stdout.contains(secret), "{}", run.stdout);
    }
    let run = space.dry(&["--force-conflicts", "-o", "json"]);
    let json = run.json();
    assert_eq!(json["total"]["changed"], 2, "{json}");
    assert_eq!(json["from"]["source"], "the cluster of testbed");
    let run = space.dry(&["--force-conflicts", "-o", "markdown"]);
    assert!(
        run.stdout.contains("**2 changed**, 0 unchanged"),
        "{}",
        run.stdout
    );
    let run = space.dry(&["--force-conflicts", "-o", "html"]);
    assert!(run.stdout.starts_with("<!doctype html>"), "{}", run.stdout);
}

/// The cluster's own version, its API versions and its objects are what templates see.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn templates_see_the_cluster() {
    let template = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: seen}
data:
  version: {{ .Capabilities.KubeVersion.Version }}
  has: {{ .Capabilities.APIVersions.Has \"apps/v1/Deployment\" | quote }}
  not: {{ .Capabilities.APIVersions.Has \"extensions/v1beta1\" | quote }}
  found: {{ (lookup \"v1\" \"ConfigMap\" .Release.Namespace \"kept\").data.token | default \"none\" }}
  missing: {{ lookup \"v1\" \"ConfigMap\" .Release.Namespace \"missing\" | toJson | quote }}
  cluster: {{ (lookup \"v1\" \"Namespace\" \"\" \"default\").metadata.name }}
  listed: {{ len (lookup \"v1\" \"ConfigMap\" .Release.Namespace \"\").items | quote }}
  random: {{ randAlphaNum 8 }}
";
    let space = Space::new("dry-lookup", &[("templates/a.yaml", template)]);
    space.kubectl(&[
        "create",
        "configmap",
        "kept",
        "--from-literal=token=of-the-cluster",
    ]);
    // The controllers make kube-root-ca.crt at some time.
    let root = [
        "wait",
        "--for=create",
        "configmap/kube-root-ca.crt",
        "--timeout=60s",
    ];
    space.kubectl(&root);
    let json = space.dry(&["-o", "json"]).json();
    let data = &json["objects"][0]["content"]["data"];
    let version: Value = serde_json::from_str(&CLUSTER.kubectl(&["version", "-o", "json"])).unwrap();
    assert_eq!(data["version"], version["serverVersion"]["gitVersion"]);
    let expected = [
        ("has", "true"),
        ("not", "false"),
        ("found", "of-the-cluster"),
        ("missing", "{}"),
        ("cluster", "default"),
        ("listed", "2"),
    ];
    for (key, value) in expected {
        assert_eq!(data[key], value, "{key} of {data}");
    }
    let line = "data:\n  version: {{ (lookup \"example.com/v1\" \"Widget\" \"\" \"a\").spec }}\n";
    space.write(
        "templates/a.yaml",
        &format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n{line}"),
    );
    let run = space.dry(&[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let expected = "the cluster has no kind Widget of example.com/v1";
    assert!(
        run.stderr.contains(expected) && run.stderr.contains("a.yaml:5"),
        "{}",
        run.stderr
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_needs_a_new_crd_or_a_new_namespace_is_shown_unchecked() {
    let gadget = "apiVersion: dry.example.com/v1\nkind: Gadget\nmetadata: {name: one}\nspec: {size: 1}\n";
    let elsewhere = "\
apiVersion: v1
kind: Namespace
metadata: {name: dry-new-inner}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inner, namespace: dry-new-inner}
";
    let files = [
        ("crds/gadgets.yaml", CRD),
        ("templates/gadget.yaml", gadget),
        ("templates/inner.yaml", elsewhere),
        ("templates/service.yaml", SERVICE),
    ];
    let space = Space::without_namespace("dry-new", &files);
    let run = space.dry(&[]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    let refused = "the cluster of the context \"testbed\" has no namespace \"dry-new\"";
    assert!(
        run.stderr.contains(refused) && run.stderr.contains("--create-namespace"),
        "{}",
        run.stderr
    );
    let run = space.dry(&["--create-namespace"]);
    assert_eq!(run.code, 10, "{}{}", run.stdout, run.stderr);
    let expected = [
        "5 added, 0 unchanged",
        "note: the namespace dry-new would be created first",
        "since the cluster does not have its CRD yet: Gadget.dry.example.com dry-new/one\n",
        "since the cluster does not have its namespace yet: ConfigMap dry-new-inner/inner, Service dry-new/shop\n",
        "(apiextensions.k8s.io/v1, crds folder, shop/crds/gadgets.yaml)",
    ];
    for text in expected {
        assert!(run.stdout.contains(text), "{text}: {}", run.stdout);
    }
    let run = space.dry(&["--create-namespace", "-o", "json"]);
    assert_eq!(run.json()["notes"].as_array().map(Vec::len), Some(3));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_the_api_server_refuses_is_an_error_at_its_template_and_the_rest_is_shown() {
    let wrong = "\
apiVersion: v1
kind: Service
metadata:
  name: wrong
spec:
  ports:
  - name: web
    port: {{ .Values.wrong }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: more}
dota: {}
";
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\ndata: {password: 4711}\n";
    let files = [
        ("templates/a.yaml", wrong),
        ("templates/secret.yaml", secret),
        ("templates/service.yaml", SERVICE),
    ];
    let space = Space::new("dry-refused", &files);
    let run = space.dry(&["--set", "wrong=99999999"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("1 added"), "{}", run.stdout);
    let expected = [
        "Service \"wrong\" is invalid",
        "shop/templates/a.yaml:8:5",
        "ConfigMap more",
        "dota",
        "Secret keys",
    ];
    for text in expected {
        assert!(run.stderr.contains(text), "{text}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("4711"), "{}", run.stderr);
}

/// A hook that is not due is not named.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn hooks_are_named_and_not_run() {
    let hooks = "\
apiVersion: batch/v1
kind: Job
metadata: {name: prepare, annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}}
---
apiVersion: v1
kind: Pod
metadata: {name: check, annotations: {helm.sh/hook: test}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: after, annotations: {helm.sh/hook: post-upgrade}}
";
    let files = [
        ("templates/hooks.yaml", hooks),
        ("templates/service.yaml", SERVICE),
    ];
    let space = Space::new("dry-hooks", &files);
    let run = space.dry(&[]);
    let named = "note: 1 hook is not run by apply: Job prepare (pre-install)\n";
    assert!(run.stdout.contains(named), "{}", run.stdout);
    let run = space.dry(&["--is-upgrade"]);
    let named = "2 hooks are not run by apply: Job prepare (pre-upgrade), Job after (post-upgrade)\n";
    assert!(run.stdout.contains(named), "{}", run.stdout);
    let run = space.run(&[]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(run.stderr.contains("Job prepare (pre-install)"), "{}", run.stderr);
    assert!(space.get("service", "shop").is_none(), "nothing was applied");
    space.applied(&["--no-hooks"]);
    assert!(space.get("service", "shop").is_some() && space.get("job", "prepare").is_none());
}
