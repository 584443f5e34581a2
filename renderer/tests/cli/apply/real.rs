//! What is applied.

use std::path::PathBuf;

use serde_json::json;
use testbed::eventually;

use super::{CLUSTER, SERVICE, Space};
use crate::Run;

/// A CRD of a group of its own.
fn crd(group: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.{group}}}
spec:
  group: {group}
  names: {{kind: Widget, plural: widgets}}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"
    )
}

/// The kubeconfig of a service account that may do this in a namespace.
fn limited(space: &Space, name: &str, verbs: &str, resources: &str) -> PathBuf {
    let kubeconfig = CLUSTER.service_account(&space.namespace, name);
    let [verbs, resources] = [format!("--verb={verbs}"), format!("--resource={resources}")];
    space.kubectl(&["create", "role", name, &verbs, &resources]);
    let account = format!("--serviceaccount={}:{name}", space.namespace);
    let role = format!("--role={name}");
    space.kubectl(&["create", "rolebinding", name, &role, &account]);
    kubeconfig
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn crds_come_before_their_objects_and_lists_and_namespaces_are_as_the_chart_has_them() {
    let widget = "apiVersion: real.example.com/v1\nkind: Widget\nmetadata: {name: one}\nspec: {size: 1}\n";
    let list = "\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: first}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: second, namespace: real-other}
";
    let templated = crd("real.example.com");
    let files = [
        ("templates/crd.yaml", templated.as_str()),
        ("templates/a-widget.yaml", widget),
        ("templates/list.yaml", list),
        (
            "templates/other.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: real-other}\n",
        ),
        ("templates/service.yaml", SERVICE),
    ];
    let space = Space::without_namespace("real-crd", &files);
    let text = space.applied(&["--create-namespace"]);
    // A List comes after the kinds that Helm knows, and its objects with it.
    let expected = "\
created   Namespace real-crd
created   Namespace real-other
created   CustomResourceDefinition.apiextensions.k8s.io widgets.real.example.com
created   Service real-crd/shop
created   ConfigMap real-crd/first
created   ConfigMap real-other/second
created   Widget.real.example.com real-crd/one
shop 1.0.0 in the cluster of testbed: 7 created, 0 changed, 0 unchanged; nothing was deleted
";
    assert_eq!(text, expected);
    let managers = [
        "get",
        "service",
        "shop",
        "-o",
        "jsonpath={.metadata.managedFields[*].manager}",
    ];
    assert_eq!(space.kubectl(&managers), "solar-render");
    space.write("values.yaml", "port: 81\n");
    let run = space.run(&["-o", "json"]);
    let json = run.json();
    let total = json!({"created": 0, "changed": 1, "unchanged": 5, "failed": 0, "notTried": 0});
    assert_eq!(json["total"], total, "{json}");
    let service = json["objects"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["kind"] == "Service");
    let expected = json!({"apiVersion": "v1", "kind": "Service", "namespace": "real-crd", "name": "shop",
        "outcome": "changed", "template": "shop/templates/service.yaml"});
    assert_eq!(service, Some(&expected));
    assert_eq!(
        space.get("service", "shop").unwrap()["spec"]["ports"][0]["port"],
        81
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn fields_of_another_manager_are_conflicts_unless_they_are_taken_over() {
    let space = Space::new("real-conflict", &[("templates/service.yaml", SERVICE)]);
    space.applied(&[]);
    let own = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"},
        "spec": {"selector": {"app": "other"}}});
    let path = space.write("own.json", &own.to_string());
    let manager = ["--field-manager=somebody", "--server-side", "--force-conflicts"];
    space.kubectl(&[&["apply", "-f", path.to_str().unwrap()], &manager[..]].concat());
    for flags in [&["--dry-run"][..], &[]] {
        let run = space.run(flags);
        assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
        let expected = [
            "conflict with \"somebody\"",
            "shop/templates/service.yaml:6",
            "--force-conflicts",
        ];
        for text in expected {
            assert!(run.stderr.contains(text), "{text}: {}", run.stderr);
        }
    }
    let text = space.applied(&["--force-conflicts"]);
    assert!(text.contains("1 changed"), "{text}");
    assert_eq!(
        space.get("service", "shop").unwrap()["spec"]["selector"]["app"],
        "shop"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn objects_that_are_refused_hold_up_no_others() {
    let files = [
        (
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Wrong_Name}\n",
        ),
        (
            "templates/b.yaml",
            "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: u}\n",
        ),
        ("templates/service.yaml", SERVICE),
    ];
    let space = Space::new("real-refused", &files);
    let run = space.run(&[]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let expected = "\
failed    ConfigMap real-refused/Wrong_Name
created   Service real-refused/shop
failed    Unknown.example.com u
shop 1.0.0 in the cluster of testbed: 1 created, 0 changed, 0 unchanged, 2 failed; nothing was deleted
";
    assert_eq!(run.stdout, expected);
    let expected = [
        "shop/templates/a.yaml:3",
        "the cluster has no kind Unknown of example.com/v1",
        "shop/templates/b.yaml:1",
    ];
    for text in expected {
        assert!(run.stderr.contains(text), "{text}: {}", run.stderr);
    }
    assert!(space.get("service", "shop").is_some());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_user_may_do_what_it_has_rights_for() {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\n";
    let files = [
        ("templates/config.yaml", config),
        ("templates/service.yaml", SERVICE),
    ];
    let space = Space::new("real-rights", &files);
    let kubeconfig = limited(&space, "reader", "get,list,create,patch", "configmaps");
    for flags in [&["--dry-run"][..], &[]] {
        let run = Run::of(&mut space.command_as(&kubeconfig, flags));
        assert_eq!(run.code, 4, "{}{}", run.stdout, run.stderr);
        let expected = ["services \"shop\" is forbidden", "shop/templates/service.yaml:1"];
        for text in expected {
            assert!(run.stderr.contains(text), "{text}: {}", run.stderr);
        }
    }
    assert!(space.get("configmap", "config").is_some() && space.get("service", "shop").is_none());
}

/// What a killed apply has left behind is no obstacle.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_killed_apply_is_started_again() {
    let many =
        "{{ range until 400 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c{{ . }}}\n{{ end }}";
    let space = Space::new("real-killed", &[("templates/many.yaml", many)]);
    let mut child = space.command(&[]).spawn().unwrap();
    let count = || {
        space
            .kubectl(&["get", "configmaps", "-o", "name"])
            .lines()
            .count()
    };
    eventually("some objects", std::time::Duration::from_secs(60), || {
        (count() > 20).then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let before = count();
    let run = space.run(&["-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let total = &run.json()["total"];
    let [created, unchanged] = [&total["created"], &total["unchanged"]].map(|one| one.as_u64().unwrap());
    assert_eq!(created + unchanged, 400, "{total}");
    assert!(unchanged > 20 && before > 20, "{total}");
}
