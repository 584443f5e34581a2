//! The pipeline's controllers on a real API server, with the rights that the install chart gives them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests stop at once when something isn't as it should be"
)]

#[path = "pipeline_controllers/artifacts.rs"]
mod artifacts;
#[path = "fleet/install_chart.rs"]
mod install_chart;
#[path = "pipeline_controllers/references.rs"]
mod references;

use std::fs::read_to_string;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};
use testbed::{Cluster, ClusterSetup, run};

const OPERATOR: &str = env!("CARGO_BIN_EXE_solar-operator");
const SYSTEM: &str = "solar-system";
const LIMIT: Duration = Duration::from_secs(120);

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| {
    let crds = run(Command::new(OPERATOR).arg("crds"));
    let cluster = Cluster::start(&ClusterSetup {
        crds: &crds,
        ..Default::default()
    });
    cluster.kubectl(&["create", "namespace", SYSTEM]);
    let sets = [
        "--set",
        "crds.install=false,pipeline.enabled=true,networkPolicy.enabled=false",
    ];
    cluster.apply(&run(install_chart::template("solar-operator", SYSTEM).args(sets)));
    let mut operator = Command::new(OPERATOR);
    operator
        .args([
            "--pipeline",
            "--renderer-image=h.example/renderer:1",
            "--log-level=debug",
            // Another operator's.
            "--label-selector=!closed",
        ])
        .args([
            "--metrics-bind-address=127.0.0.1:0",
            "--health-probe-bind-address=127.0.0.1:0",
        ])
        .env("KUBECONFIG", cluster.service_account(SYSTEM, "solar-operator"))
        .env("POD_NAMESPACE", SYSTEM)
        .env("POD_NAME", "operator-0");
    cluster.spawn("operator", &mut operator);
    cluster
});

fn log() -> String {
    read_to_string(CLUSTER.log("operator")).unwrap_or_default()
}

/// A test's namespaces.
struct Space {
    own: String,
    other: String,
}

impl Space {
    fn new(name: &str) -> Self {
        let space = Self {
            own: name.to_owned(),
            other: format!("{name}-other"),
        };
        for namespace in [&space.own, &space.other] {
            CLUSTER.kubectl(&["create", "namespace", namespace]);
        }
        space
    }

    fn apply(&self, namespace: &str, kind: &str, name: &str, labels: Value, spec: Value) {
        let object = json!({
            "apiVersion": "solar.opendefense.cloud/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": spec,
        });
        CLUSTER.apply(&object.to_string());
    }

    /// Kind `from` of our namespace may refer to kind `to` of the other.
    fn grant(&self, from: &str, to: &str) {
        let group = "solar.opendefense.cloud";
        let from = json!({"group": group, "kind": from, "namespace": self.own});
        let spec = json!({"from": [from], "to": [{"group": group, "kind": to}]});
        self.apply(&self.other, "ReferenceGrant", "grant", json!({}), spec);
    }

    fn revoke(&self) {
        CLUSTER.kubectl(&["-n", &self.other, "delete", "rg", "grant"]);
    }

    /// Until a field is so: by a watch.
    fn until(&self, object: &str, path: &str, value: &str) {
        let condition = format!("--for=jsonpath={path}={value}");
        let arguments = ["-n", &self.own, "wait", object, &condition, "--timeout=120s"];
        let output = CLUSTER.kubectl_command(&arguments).output().unwrap();
        if !output.status.success() {
            let now = CLUSTER.kubectl(&["-n", &self.own, "get", object, "-o", "yaml"]);
            panic!("{object} never had {path}={value}: {now}\n{}", log());
        }
    }

    fn until_reason(&self, object: &str, reason: &str) {
        self.until(
            object,
            r#"{.status.conditions[?(@.type=="Ready")].reason}"#,
            reason,
        );
    }

    /// The Targets that ReleaseBindings name, sorted.
    fn bound(&self) -> String {
        let path = "jsonpath={range .items[*]}{.spec.targetRef.namespace}/{.spec.targetRef.name}={.spec.releaseRef.name}{\"\\n\"}{end}";
        let text = CLUSTER.kubectl(&["-n", &self.own, "get", "rlb", "-o", path]);
        let mut lines: Vec<&str> = text.split_whitespace().collect();
        lines.sort_unstable();
        lines.join(" ")
    }
}

fn version(component: &str) -> Value {
    json!({
        "componentRef": {"name": component}, "tag": "1", "entrypoint": {"resourceName": "chart", "type": "helm"},
        "resources": {"chart": {"repository": "h.example/c", "tag": "1"}},
    })
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_release_follows_its_component_version_and_the_grant_for_it() {
    let space = Space::new("release");
    let reference = json!({"name": "shop-1", "namespace": space.other});
    space.apply(
        &space.own,
        "Release",
        "shop",
        json!({}),
        json!({"componentVersionRef": reference}),
    );
    space.until_reason("rel/shop", "NotGranted");
    space.grant("Release", "ComponentVersion");
    space.until_reason("rel/shop", "NotFound");
    space.apply(
        &space.other,
        "ComponentVersion",
        "shop-1",
        json!({}),
        version("shop"),
    );
    space.until_reason("rel/shop", "Ready");
    space.until("rel/shop", "{.status.effectiveUniqueName}", "shop");
    // A ComponentVersion that changes is seen.
    space.apply(
        &space.other,
        "ComponentVersion",
        "shop-1",
        json!({}),
        version("store"),
    );
    space.until("rel/shop", "{.status.effectiveUniqueName}", "store");
    space.revoke();
    space.until_reason("rel/shop", "NotGranted");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn bindings_report_both_ends() {
    let space = Space::new("bindings");
    let target = json!({"name": "edge", "namespace": space.other});
    let release = json!({"targetRef": target, "releaseRef": {"name": "shop"}});
    let registry = json!({"targetRef": target, "registryRef": {"name": "charts"}});
    space.apply(&space.own, "ReleaseBinding", "b", json!({}), release);
    space.apply(&space.own, "RegistryBinding", "b", json!({}), registry);
    space.until_reason("rlb/b", "NotGranted");
    space.until_reason("rb/b", "NotGranted");
    space.grant("ReleaseBinding", "Target");
    space.until_reason("rlb/b", "NotFound");
    space.until_reason("rb/b", "NotGranted");
    let spec = json!({"renderRegistryRef": {"name": "charts"}});
    space.apply(&space.other, "Target", "edge", json!({}), spec);
    let spec = json!({"componentVersionRef": {"name": "shop-1"}});
    space.apply(&space.own, "Release", "shop", json!({}), spec);
    space.until_reason("rlb/b", "Ready");
    space.grant("RegistryBinding", "Target");
    space.until_reason("rlb/b", "NotGranted");
    space.until_reason("rb/b", "NotFound");
    space.apply(
        &space.own,
        "Registry",
        "charts",
        json!({}),
        json!({"hostname": "h.example"}),
    );
    space.until_reason("rb/b", "Ready");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_profile_binds_the_targets_that_match() {
    let space = Space::new("profile");
    let target = json!({"renderRegistryRef": {"name": "charts"}});
    let prod = json!({"env": "prod"});
    space.apply(&space.own, "Target", "near", prod.clone(), target.clone());
    space.apply(
        &space.own,
        "Target",
        "test",
        json!({"env": "test"}),
        target.clone(),
    );
    space.apply(&space.other, "Target", "far", prod.clone(), target.clone());
    let profile = |release: &str| json!({"releaseRef": {"name": release}, "targetSelector": {"matchLabels": {"env": "prod"}}});
    space.apply(&space.own, "Profile", "all", json!({}), profile("shop"));
    space.until_reason("prf/all", "NotFound");
    let release = json!({"componentVersionRef": {"name": "shop-1"}});
    space.apply(&space.own, "Release", "shop", json!({}), release);
    space.until_reason("prf/all", "Ready");
    space.until("prf/all", "{.status.matchedTargets}", "1");
    assert_eq!(space.bound(), "/near=shop");
    space.grant("Profile", "Target");
    space.until("prf/all", "{.status.matchedTargets}", "2");
    assert_eq!(space.bound(), "/near=shop profile-other/far=shop");
    // An added label, another Release, a deleted grant.
    space.apply(&space.own, "Target", "test", prod, target);
    space.until("prf/all", "{.status.matchedTargets}", "3");
    space.apply(&space.own, "Profile", "all", json!({}), profile("other"));
    space.until("prf/all", "{.status.observedGeneration}", "2");
    assert_eq!(space.bound(), "/near=other /test=other profile-other/far=other");
    space.revoke();
    space.until("prf/all", "{.status.matchedTargets}", "2");
    assert_eq!(space.bound(), "/near=other /test=other");
    // Its bindings are deleted with it.
    CLUSTER.kubectl(&["-n", &space.own, "delete", "prf", "all"]);
    let arguments = [
        "-n",
        &space.own,
        "wait",
        "rlb",
        "--all",
        "--for=delete",
        "--timeout=120s",
    ];
    CLUSTER.kubectl(&arguments);
    assert_eq!(space.bound(), "");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_suspended_profile_binds_nothing_until_it_is_no_longer() {
    let space = Space::new("idle");
    let target = json!({"renderRegistryRef": {"name": "charts"}});
    let apply = |kind, name, spec| space.apply(&space.own, kind, name, json!({}), spec);
    let profile =
        |release: &str, is_suspended: bool| json!({"releaseRef": {"name": release}, "suspend": is_suspended});
    apply(
        "Release",
        "shop",
        json!({"componentVersionRef": {"name": "shop-1"}}),
    );
    apply("Target", "one", target.clone());
    apply("Profile", "all", profile("shop", false));
    space.until_reason("prf/all", "Ready");
    apply("Profile", "all", profile("other", true));
    space.until(
        "prf/all",
        r#"{.status.conditions[?(@.type=="Suspended")].status}"#,
        "True",
    );
    space.until_reason("prf/all", "Ready");
    apply("Target", "two", target);
    // Another Profile has bound what the suspended one would have.
    apply("Profile", "witness", profile("shop", false));
    space.until("prf/witness", "{.status.matchedTargets}", "2");
    assert_eq!(space.bound(), "/one=shop /one=shop /two=shop");
    apply("Profile", "all", profile("shop", false));
    space.until("prf/all", "{.status.matchedTargets}", "2");
    assert_eq!(space.bound(), "/one=shop /one=shop /two=shop /two=shop");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn it_may_write_bindings_and_statuses_and_nothing_else() {
    let may = |what: &str| {
        let (verb, resource) = what.split_once(' ').unwrap();
        let resource = format!("{resource}.solar.opendefense.cloud");
        let account = format!("system:serviceaccount:{SYSTEM}:solar-operator");
        let arguments = [
            "auth", "can-i", verb, &resource, "--as", &account, "-n", "default",
        ];
        let output = CLUSTER.kubectl_command(&arguments).output().unwrap();
        output.stdout.starts_with(b"yes")
    };
    for what in [
        "list targets",
        "watch referencegrants",
        "create releasebindings",
        "delete releasebindings",
        "patch targets",
        "create rendertasks",
        "patch registries",
        "patch releases",
        "create renderartifacts",
        "delete renderbindings",
        "delete rendertasks",
    ] {
        assert!(may(what), "{what}");
    }
    for what in [
        "create targets",
        "delete targets",
        "delete releases",
        "create releases",
        "create referencegrants",
        "delete registries",
        "delete componentversions",
        "patch profiles",
        "delete registrybindings",
        "delete profiles",
    ] {
        assert!(!may(what), "{what}");
    }
}
