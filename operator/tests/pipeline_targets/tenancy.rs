//! The admin of a tenant's namespace tries to read the platform's Secrets, to make the operator send them to another
//! host, and to reach into other namespaces.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testbed::eventually;

use super::{BED, GROUP, SYSTEM, Space, apply, message};

const LIMIT: Duration = Duration::from_secs(120);

/// The admin of a test's first namespace.
struct Admin {
    kubeconfig: PathBuf,
}

impl Admin {
    fn of(space: &Space) -> Self {
        let kubeconfig = BED.0.cluster.service_account(&space.own, "admin");
        let account = format!("--serviceaccount={}:admin", space.own);
        space.kubectl(&["create", "rolebinding", "admin", "--clusterrole=admin", &account]);
        let admin = Self { kubeconfig };
        // The roles of the chart are aggregated to Kubernetes' own by a controller.
        for kind in ["targets", "referencegrants"] {
            let kind = format!("{kind}.{GROUP}");
            let may = ["auth", "can-i", "create", &kind, "-n", &space.own];
            eventually("the admin's rights", LIMIT, || {
                admin.kubectl(&may, "").status.success().then_some(())
            });
        }
        admin
    }

    fn kubectl(&self, arguments: &[&str], input: &str) -> Output {
        let mut kubectl = BED.0.cluster.kubectl_command(arguments);
        kubectl.env("KUBECONFIG", &self.kubeconfig);
        let piped = kubectl
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap()
    }

    fn is_forbidden(&self, arguments: &[&str], input: &str) {
        let output = self.kubectl(arguments, input);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?} {input}");
        assert!(stderr.contains("(Forbidden)"), "{arguments:?} {input}: {stderr}");
    }

    /// Applies an object with these rights.
    fn apply(&self, object: &Value) {
        let output = self.kubectl(&["apply", "-f", "-"], &object.to_string());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{object}: {stderr}");
    }
}

fn object(namespace: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind, "spec": spec,
        "metadata": {"name": name, "namespace": namespace},
    })
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tenants_admin_reads_and_writes_nothing_of_the_platform() {
    let space = Space::new("reading");
    let admin = Admin::of(&space);
    for what in [
        "secret/push",
        "secrets",
        "jobs",
        "pods",
        "rendertasks",
        "registries",
    ] {
        admin.is_forbidden(&["-n", SYSTEM, "get", what], "");
    }
    // A pod that mounts the Secret, a Job of the renderer for another host, a grant for themselves.
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "thief", "namespace": SYSTEM},
        "spec": {"containers": [{"name": "a", "image": "a"}]}});
    let host = json!({"hostname": "evil.example", "solarSecretRef": {"name": "push"}});
    let spec = json!({"from": [{"group": GROUP, "kind": "RenderArtifact", "namespace": space.own}],
        "to": [{"group": GROUP, "kind": "Registry"}]});
    for object in [
        pod,
        object(SYSTEM, "Registry", "evil", &host),
        object(SYSTEM, "ReferenceGrant", "evil", &spec),
    ] {
        admin.is_forbidden(&["create", "-f", "-"], &object.to_string());
    }
    admin.is_forbidden(&["-n", SYSTEM, "annotate", "secret", "push", "a=b"], "");
    admin.is_forbidden(&["get", "clusterrendertasks"], "");
}

/// What the tenant may write itself names the platform's Secret and another host.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tenants_admin_makes_the_operator_send_no_secret_to_another_host() {
    let space = Space::new("sending");
    space.grant(
        SYSTEM,
        "sending-artifacts",
        ("RenderArtifact", &space.own),
        "Registry",
    );
    let admin = Admin::of(&space);
    // Even with rights that the chart gives to nobody.
    let artifacts = format!("--resource=renderartifacts.{GROUP}");
    space.kubectl(&["create", "role", "artifacts", "--verb=*", &artifacts]);
    let account = format!("--serviceaccount={}:admin", space.own);
    space.kubectl(&["create", "rolebinding", "artifacts", "--role=artifacts", &account]);
    let own = |kind: &str, name: &str, spec: &Value| admin.apply(&object(&space.own, kind, name, spec));
    // A Registry of its own with the name of the platform's Secret: that one is looked for in its own namespace.
    let evil = json!({"hostname": "evil.example", "solarSecretRef": {"name": "push"}});
    own("Registry", "evil", &evil);
    space.release(&space.own, "shop", &json!({}));
    own("Target", "edge", &json!({"renderRegistryRef": {"name": "evil"}}));
    eventually("its Secret is missing", LIMIT, || {
        let text = message(&space.get(), "ReleasesRendered");
        text.contains("PushSecretNotFound").then_some(())
    });
    // Artifacts whose tags are to be deleted with the platform's credentials: at another host, of another tenant.
    let registry = json!({"name": "charts", "namespace": SYSTEM});
    let artifact = |host: &str, repository: &str| {
        json!({"baseURL": host, "repository": repository, "tag": "1",
        "renderTaskRef": "x", "registryRef": registry})
    };
    own(
        "RenderArtifact",
        "host",
        &artifact("evil.example", "sending/shop"),
    );
    own(
        "RenderArtifact",
        "other",
        &artifact("charts.example", "somebody/shop"),
    );
    for (name, expected) in [
        (
            "host",
            "is for host charts.example, and the chart is at evil.example",
        ),
        (
            "other",
            "may only use its credentials for charts below charts.example/sending",
        ),
    ] {
        eventually(expected, LIMIT, || {
            let path = "jsonpath={.status.conditions[?(@.type==\"OCICleanup\")].message}";
            let text = space.kubectl(&["get", "ra", name, "-o", path]);
            text.contains(expected).then_some(())
        });
    }
    let of_tenant = format!("{GROUP}/owner-namespace={}", space.own);
    let jobs = ["-n", SYSTEM, "get", "rt,jobs", "-l", &of_tenant, "-o", "name"];
    assert_eq!(BED.0.cluster.kubectl(&jobs), "");
    assert_eq!(space.kubectl(&["get", "jobs", "-o", "name"]), "");
}

/// Of somebody else: a Registry, a Release and a Target.
fn others_objects(space: &Space) {
    let registry = json!({"hostname": "other.example", "solarSecretRef": {"name": "push"}});
    apply(&BED.0, &space.other, "Registry", "charts", &json!({}), &registry);
    space.release(&space.other, "shop", &json!({}));
    let target = json!({"renderRegistryRef": {"name": "charts"}});
    apply(
        &BED.0,
        &space.other,
        "Target",
        "theirs",
        &json!({"env": "prod"}),
        &target,
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tenants_admin_reaches_no_other_namespace_without_its_grant() {
    let space = Space::new("reaching");
    others_objects(&space);
    let admin = Admin::of(&space);
    let own = |kind: &str, name: &str, spec: &Value| admin.apply(&object(&space.own, kind, name, spec));
    let theirs = |name: &str| json!({"name": name, "namespace": space.other});
    own("Target", "edge", &json!({"renderRegistryRef": theirs("charts")}));
    own(
        "Release",
        "stolen",
        &json!({"componentVersionRef": theirs("shop")}),
    );
    own(
        "ReleaseBinding",
        "pushed",
        &json!({"targetRef": theirs("theirs"), "releaseRef": {"name": "stolen"}}),
    );
    own("Registry", "own", &json!({"hostname": "h.example"}));
    own(
        "RegistryBinding",
        "pushed",
        &json!({"targetRef": theirs("theirs"), "registryRef": {"name": "own"}}),
    );
    let selector = json!({"matchLabels": {"env": "prod"}});
    own(
        "Profile",
        "all",
        &json!({"releaseRef": {"name": "stolen"}, "targetSelector": selector}),
    );
    for object in ["tgt/edge", "rel/stolen", "rlb/pushed", "rb/pushed"] {
        let not_granted = "--for=jsonpath={.status.conditions[?(@.type==\"Ready\")].reason}=NotGranted";
        space.kubectl(&["wait", object, not_granted, "--timeout=120s"]);
    }
    space.kubectl(&[
        "wait",
        "prf/all",
        "--for=jsonpath={.status.matchedTargets}=0",
        "--timeout=120s",
    ]);
    let unbound =
        "--for=jsonpath={.status.conditions[?(@.type==\"ReleasesResolved\")].reason}=NoReleaseBindings";
    let wait = [
        "-n",
        &space.other,
        "wait",
        "tgt/theirs",
        unbound,
        "--timeout=120s",
    ];
    BED.0.cluster.kubectl(&wait);
    // The other side alone may grant it.
    admin.is_forbidden(
        &["-n", &space.other, "create", "-f", "-"],
        &object(&space.other, "ReferenceGrant", "evil", &json!({
            "from": [{"group": GROUP, "kind": "Target", "namespace": space.own}], "to": [{"group": GROUP, "kind": "Registry"}],
        })).to_string(),
    );
}
