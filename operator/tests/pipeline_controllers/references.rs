//! What keeps a Registry, a Release or a ComponentVersion, and that nothing keeps a namespace.

use std::process::Command;

use serde_json::json;

use crate::{CLUSTER, OPERATOR, Space, log, version};

impl Space {
    /// Deletes an object without waiting for the end of its deletion.
    pub(crate) fn delete(&self, namespace: &str, object: &str) {
        CLUSTER.kubectl(&["-n", namespace, "delete", object, "--wait=false"]);
    }

    pub(crate) fn until_gone(&self, namespace: &str, object: &str) {
        let arguments = ["-n", namespace, "wait", object, "--for=delete", "--timeout=120s"];
        let output = CLUSTER.kubectl_command(&arguments).output().unwrap();
        if !output.status.success() {
            let now = CLUSTER.kubectl(&["-n", namespace, "get", object, "-o", "yaml"]);
            panic!("{object} never went: {now}\n{}", log());
        }
    }

    pub(crate) fn message(&self, object: &str) -> String {
        let path = r#"jsonpath={.status.conditions[?(@.type=="Ready")].message}"#;
        CLUSTER.kubectl(&["-n", &self.own, "get", object, "-o", path])
    }

    fn finalizers(&self, object: &str) -> String {
        CLUSTER.kubectl(&[
            "-n",
            &self.own,
            "get",
            object,
            "-o",
            "jsonpath={.metadata.finalizers}",
        ])
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_is_referred_to_stays_and_says_why() {
    let space = Space::new("kept");
    let own = space.own.clone();
    space.apply(
        &own,
        "Registry",
        "charts",
        json!({}),
        json!({"hostname": "h.example"}),
    );
    space.until_reason("reg/charts", "Ready");
    assert_eq!(space.finalizers("reg/charts"), "", "nothing refers to it");
    let target = json!({"targetRef": {"name": "edge"}, "registryRef": {"name": "charts"}});
    space.apply(&own, "RegistryBinding", "b", json!({}), target);
    space.until(
        "reg/charts",
        "{.metadata.finalizers[0]}",
        "solar.opendefense.cloud/registry-ref",
    );
    space.delete(&own, "reg/charts");
    space.until_reason("reg/charts", "InUse");
    assert_eq!(
        space.message("reg/charts"),
        "it can't be deleted: RegistryBinding kept/b refers to it"
    );
    space.delete(&own, "rb/b");
    space.until_gone(&own, "reg/charts");

    // A Release by its binding, and the version by the Release.
    space.apply(&own, "ComponentVersion", "shop-1", json!({}), version("shop"));
    space.apply(
        &own,
        "Release",
        "shop",
        json!({}),
        json!({"componentVersionRef": {"name": "shop-1"}}),
    );
    let binding = json!({"targetRef": {"name": "edge"}, "releaseRef": {"name": "shop"}});
    space.apply(&own, "ReleaseBinding", "b", json!({}), binding);
    space.until(
        "rel/shop",
        "{.metadata.finalizers[0]}",
        "solar.opendefense.cloud/release-ref",
    );
    space.until(
        "cv/shop-1",
        "{.metadata.finalizers[0]}",
        "solar.opendefense.cloud/componentversion-ref",
    );
    space.delete(&own, "cv/shop-1");
    space.delete(&own, "rel/shop");
    space.until_reason("cv/shop-1", "InUse");
    space.until_reason("rel/shop", "InUse");
    assert!(space.message("cv/shop-1").contains("Release kept/shop"));
    assert!(space.message("rel/shop").contains("ReleaseBinding kept/b"));
    space.delete(&own, "rlb/b");
    space.until_gone(&own, "rel/shop");
    space.until_gone(&own, "cv/shop-1");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_reference_from_elsewhere_holds_while_it_is_granted() {
    let space = Space::new("lent");
    let (own, other) = (space.own.clone(), space.other.clone());
    let reference = json!({"name": "shop-1", "namespace": other});
    space.apply(
        &own,
        "Release",
        "shop",
        json!({}),
        json!({"componentVersionRef": reference}),
    );
    space.grant("Release", "ComponentVersion");
    space.apply(&other, "ComponentVersion", "shop-1", json!({}), version("shop"));
    space.until_reason("rel/shop", "Ready");
    let version = Space {
        own: other.clone(),
        other: own,
    };
    version.until(
        "cv/shop-1",
        "{.metadata.finalizers[0]}",
        "solar.opendefense.cloud/componentversion-ref",
    );
    space.delete(&other, "cv/shop-1");
    version.until_reason("cv/shop-1", "InUse");
    assert!(version.message("cv/shop-1").contains("Release lent/shop"));
    space.revoke();
    space.until_gone(&other, "cv/shop-1");
}

/// The finalizer of an object that a Target of another namespace names would keep its namespace for as long as that.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn no_finalizer_keeps_a_namespace() {
    let space = Space::new("leaving");
    let (own, other) = (space.own.clone(), space.other.clone());
    space.grant("Target", "Registry");
    let group = "solar.opendefense.cloud";
    let from = json!({"group": group, "kind": "Release", "namespace": own});
    let grant = json!({"from": [from], "to": [{"group": group, "kind": "ComponentVersion"}]});
    space.apply(&other, "ReferenceGrant", "releases", json!({}), grant);
    let registry = json!({"name": "charts", "namespace": other});
    space.apply(
        &own,
        "Target",
        "edge",
        json!({}),
        json!({"renderRegistryRef": registry}),
    );
    let reference = json!({"name": "shop-1", "namespace": other});
    space.apply(
        &own,
        "Release",
        "shop",
        json!({}),
        json!({"componentVersionRef": reference}),
    );
    space.apply(
        &other,
        "Registry",
        "charts",
        json!({}),
        json!({"hostname": "h.example"}),
    );
    space.apply(&other, "ComponentVersion", "shop-1", json!({}), version("shop"));
    let release = json!({"componentVersionRef": {"name": "shop-1"}});
    space.apply(&other, "Release", "near", json!({}), release);
    let binding = json!({"targetRef": {"name": "edge"}, "releaseRef": {"name": "near"}});
    space.apply(&other, "ReleaseBinding", "b", json!({}), binding);
    let there = Space {
        own: other.clone(),
        other: own,
    };
    for object in ["reg/charts", "cv/shop-1", "rel/near"] {
        let path = "{.metadata.finalizers[0]}";
        let finalizer = match object {
            "reg/charts" => "registry-ref",
            "rel/near" => "release-ref",
            _ => "componentversion-ref",
        };
        there.until(object, path, &format!("solar.opendefense.cloud/{finalizer}"));
    }
    CLUSTER.kubectl(&["delete", "namespace", &other, "--wait=false"]);
    let gone = ["wait", "namespace", &other, "--for=delete", "--timeout=120s"];
    let output = CLUSTER.kubectl_command(&gone).output().unwrap();
    let left = || CLUSTER.kubectl(&["-n", &other, "get", "reg,cv,rel,ra", "-o", "yaml"]);
    assert!(output.status.success(), "{}\n{}", left(), log());
}

/// Whoever may write grants in a namespace does not decide it any more.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn without_references_across_namespaces_grants_count_for_nothing() {
    let mut operator = Command::new(OPERATOR);
    operator
        .args([
            "--pipeline",
            "--no-cross-namespace-refs",
            "--label-selector=closed",
        ])
        .args([
            "--metrics-bind-address=0",
            "--health-probe-bind-address=127.0.0.1:0",
        ])
        .env("KUBECONFIG", CLUSTER.kubeconfig());
    CLUSTER.spawn("closed", &mut operator);
    let space = Space::new("closed");
    let spec = json!({"componentVersionRef": {"name": "shop-1", "namespace": space.other}});
    space.apply(
        &space.other,
        "ComponentVersion",
        "shop-1",
        json!({}),
        version("shop"),
    );
    space.grant("Release", "ComponentVersion");
    space.apply(&space.own, "Release", "open", json!({}), spec.clone());
    space.apply(&space.own, "Release", "closed", json!({"closed": "yes"}), spec);
    space.until_reason("rel/open", "Ready");
    space.until_reason("rel/closed", "NotGranted");
    let message = space.message("rel/closed");
    assert!(message.contains("--no-cross-namespace-refs"), "{message}");
}
