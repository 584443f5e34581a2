//! Targets on a real API server, with the rights that the install chart gives: from Releases and Registries to
//! RenderTasks and a bootstrap chart. Pods end as the test says, with what a registry would have said.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests stop at once when something isn't as it should be"
)]

mod fleet;
#[path = "pipeline_targets/in_flight.rs"]
mod in_flight;
#[path = "pipeline_targets/signing.rs"]
mod signing;
#[path = "pipeline_targets/suspended.rs"]
mod suspended;
#[path = "pipeline_targets/tenancy.rs"]
mod tenancy;

use std::fs::read_to_string;
use std::sync::LazyLock;
use std::time::Duration;

use fleet::{Fleet, Kubelet, Refusal};
use serde_json::{Value, json};

const SYSTEM: &str = fleet::NAMESPACE;
const GROUP: &str = "solar.opendefense.cloud";

/// Two operators: one refuses what no RegistryBinding is for, and reconciles what has the label `strict`.
static BED: LazyLock<(Fleet, Kubelet)> = LazyLock::new(|| {
    let fleet = Fleet::start(false, &[], "pipeline.enabled=true,networkPolicy.enabled=false");
    let kubelet = Kubelet::start(fleet.cluster.kubeconfig(), Duration::ZERO);
    fleet.start_operator("operator", &flags("--label-selector=!strict"));
    let strict = flags("--label-selector=strict");
    let strict = [&strict[..], &["--registry-binding-strict", "--lease-name=strict"]].concat();
    let lease = ["--verb=get,update", "--resource=leases", "--resource-name=strict"];
    let account = format!("--serviceaccount={SYSTEM}:solar-operator");
    for more in [
        &[&["create", "role", "strict"], &lease[..]].concat()[..],
        &["create", "rolebinding", "strict", "--role=strict", &account],
    ] {
        fleet.cluster.kubectl(&[&["-n", SYSTEM], more].concat());
    }
    fleet.start_operator("strict", &strict);
    let registry = json!({"hostname": "charts.example", "solarSecretRef": {"name": "push"},
        "targetPullSecretName": "flux-pull"});
    apply(&fleet, SYSTEM, "Registry", "charts", &json!({}), &registry);
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "push", "namespace": SYSTEM}});
    fleet.cluster.apply(&secret.to_string());
    (fleet, kubelet)
});

fn flags(selector: &str) -> Vec<&str> {
    vec![
        "--pipeline",
        "--metrics-bind-address=127.0.0.1:0",
        "--log-level=debug",
        "--max-concurrent-jobs=100",
        "--lease-duration=3s",
        "--renew-deadline=2s",
        "--retry-period=200ms",
        selector,
    ]
}

fn apply(fleet: &Fleet, namespace: &str, kind: &str, name: &str, labels: &Value, spec: &Value) {
    let object = json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": spec,
    });
    fleet.cluster.apply(&object.to_string());
}

/// A test's namespaces: one with Targets and Releases, one with more Releases. Registry and tasks are the platform's.
struct Space {
    own: String,
    other: String,
}

impl Space {
    /// With the grant for the Registry of the platform.
    fn new(name: &str) -> Self {
        let space = Self {
            own: name.to_owned(),
            other: format!("{name}-other"),
        };
        for namespace in [&space.own, &space.other] {
            BED.0.cluster.kubectl(&["create", "namespace", namespace]);
        }
        space.grant(SYSTEM, name, ("Target", &space.own), "Registry");
        space
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        BED.0.cluster.kubectl(&[&["-n", &self.own], arguments].concat())
    }

    fn apply(&self, kind: &str, name: &str, spec: &Value) {
        apply(&BED.0, &self.own, kind, name, &json!({}), spec);
    }

    /// In the namespace `to`.
    fn grant(&self, to: &str, name: &str, (kind, from): (&str, &str), referred: &str) {
        let spec = json!({
            "from": [{"group": GROUP, "kind": kind, "namespace": from}], "to": [{"group": GROUP, "kind": referred}],
        });
        apply(&BED.0, to, "ReferenceGrant", name, &json!({}), &spec);
    }

    fn target(&self, labels: &Value, userdata: &Value) {
        let spec =
            json!({"renderRegistryRef": {"name": "charts", "namespace": SYSTEM}, "userdata": userdata});
        apply(&BED.0, &self.own, "Target", "edge", labels, &spec);
    }

    /// A Release with its ComponentVersion, bound to the Target.
    fn release(&self, namespace: &str, name: &str, spec: &Value) {
        let version = json!({
            "componentRef": {"name": name}, "tag": "1", "entrypoint": {"resourceName": "chart", "type": "helm"},
            "resources": {"chart": {"repository": format!("h.example/{name}"), "tag": "1"}},
        });
        apply(&BED.0, namespace, "ComponentVersion", name, &json!({}), &version);
        let mut release = json!({"componentVersionRef": {"name": name}});
        for (field, value) in spec.as_object().unwrap() {
            release[field] = value.clone();
        }
        apply(
            &BED.0,
            namespace,
            "Release",
            name,
            &json!({"name": name}),
            &release,
        );
        let binding =
            json!({"targetRef": {"name": "edge", "namespace": self.own}, "releaseRef": {"name": name}});
        apply(&BED.0, namespace, "ReleaseBinding", name, &json!({}), &binding);
    }

    fn get(&self) -> Value {
        serde_json::from_str(&self.kubectl(&["get", "tgt", "edge", "-o", "json"])).unwrap()
    }

    /// Until a field of the Target is so: by a watch.
    fn until(&self, path: &str, value: &str) -> Value {
        let condition = format!("--for=jsonpath={path}={value}");
        let arguments = ["-n", &self.own, "wait", "tgt/edge", &condition, "--timeout=120s"];
        let output = BED.0.cluster.kubectl_command(&arguments).output().unwrap();
        let target = self.get();
        if !output.status.success() {
            let log = read_to_string(BED.0.cluster.log("operator")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().filter(|line| line.contains(&self.own)).collect();
            panic!(
                "never {path}={value}: {target:#}\n{}\n{}",
                self.tasks().join("\n"),
                lines.join("\n")
            );
        }
        target
    }

    /// Until a condition has a reason.
    fn until_reason(&self, kind: &str, reason: &str) -> Value {
        let path = format!("{{.status.conditions[?(@.type==\"{kind}\")].reason}}");
        self.until(&path, reason)
    }

    /// Waits until the bootstrap chart of this version exists.
    fn until_ready(&self, number: i64) -> Value {
        let url = format!("oci://charts.example/{0}/bootstrap-edge:v0.0.{number}", self.own);
        self.until("{.status.bootstrapChartURL}", &url);
        self.until_reason("Ready", "Ready")
    }

    /// The names of the Target's tasks and of what is at them, sorted.
    fn tasks(&self) -> Vec<String> {
        let path = "jsonpath={range .items[*]}{.spec.repository}:{.spec.tag}{\"\\n\"}{end}";
        let selector = format!("{GROUP}/owner-namespace={}", self.own);
        let text = BED
            .0
            .cluster
            .kubectl(&["-n", SYSTEM, "get", "rt", "-l", &selector, "-o", path]);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    }

    fn until_tasks(&self, count: usize) -> Vec<String> {
        testbed::eventually(
            &format!("{count} tasks, and not {:?}", self.tasks()),
            Duration::from_secs(120),
            || Some(self.tasks()).filter(|tasks| tasks.len() == count),
        )
    }
}

/// `state` of each Release by its name, and the tag of its chart.
fn states(target: &Value) -> Vec<String> {
    let releases = target["status"]["releases"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let text = |release: &Value, field: &str| release[field].as_str().unwrap_or("").to_owned();
    releases
        .iter()
        .map(|release| format!("{}={}", text(release, "release"), text(release, "state")))
        .collect()
}

fn tag_of(target: &Value, release: &str) -> String {
    let releases = target["status"]["releases"].as_array().unwrap();
    let found = releases
        .iter()
        .find(|one| one["release"].as_str().unwrap().ends_with(release));
    let url = found.unwrap()["chartURL"].as_str().unwrap();
    url.rsplit_once(':').unwrap().1.to_owned()
}

fn condition_of<'a>(target: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = target["status"]["conditions"].as_array().unwrap();
    conditions.iter().find(|one| one["type"] == kind)
}

fn message(target: &Value, kind: &str) -> String {
    let found = condition_of(target, kind);
    found.map_or(String::new(), |one| one["message"].as_str().unwrap().to_owned())
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn charts_of_releases_and_then_the_bootstrap_are_rendered_in_the_registrys_namespace() {
    let space = Space::new("happy");
    space.target(&json!({}), &json!({"zone": "a"}));
    space.until_reason("Ready", "NoReleaseBindings");
    // The first chart must not be pushed before the second Release is bound, or there is a bootstrap chart of one.
    BED.1.refuse("/happy/", Refusal::Hold);
    space.release(&space.own, "shop", &json!({"values": {"replicas": 1}}));
    space.release(&space.own, "db", &json!({}));
    space.until_tasks(2);
    BED.1.accept("/happy/");
    let target = space.until_ready(1);
    assert_eq!(states(&target), ["happy/db=Rendered", "happy/shop=Rendered"]);
    assert!(
        message(&target, "BootstrapReady")
            .starts_with("oci://charts.example/happy/bootstrap-edge:v0.0.1@sha256:")
    );
    assert_eq!(
        target["metadata"]["finalizers"],
        json!([format!("{GROUP}/target-finalizer")])
    );
    let tasks = space.tasks();
    assert_eq!(tasks.len(), 3, "{tasks:?}");
    let first = tag_of(&target, "shop");

    // Changed values are a new tag and the next number, and the old tasks go.
    space.release(&space.own, "shop", &json!({"values": {"replicas": 2}}));
    let target = space.until_ready(2);
    let second = tag_of(&target, "shop");
    assert!(
        first.starts_with("v0.0.1-") && second.starts_with("v0.0.2-"),
        "{first} {second}"
    );
    let tasks = space.until_tasks(3);
    assert!(
        tasks.contains(&"happy/bootstrap-edge:v0.0.2".to_owned()),
        "{tasks:?}"
    );
    // Userdata is an input of the bootstrap chart alone.
    space.target(&json!({}), &json!({"zone": "b"}));
    let target = space.until_ready(3);
    assert_eq!(tag_of(&target, "shop"), second);

    // Nothing is left of it.
    space.kubectl(&["delete", "tgt", "edge", "--timeout=120s"]);
    assert_eq!(space.until_tasks(0), Vec::<String>::new());
}

/// A ComponentVersion that changed under the same Release generation kept its tag once, and stale content shipped.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_changed_component_version_is_a_new_tag_under_the_same_generation() {
    let space = Space::new("version");
    space.target(&json!({}), &json!({}));
    space.release(&space.own, "shop", &json!({}));
    let first = tag_of(&space.until_ready(1), "shop");
    let patch = json!({"spec": {"resources": {"chart": {"repository": "h.example/shop", "tag": "2"}}}});
    space.kubectl(&["patch", "cv", "shop", "--type=merge", "-p", &patch.to_string()]);
    let second = tag_of(&space.until_ready(2), "shop");
    assert!(first.starts_with("v0.0.1-") && second.starts_with("v0.0.1-") && first != second);
}

/// One failed Release once hid the state of all others.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_failed_release_hides_no_other_and_the_last_good_bootstrap_stays() {
    let space = Space::new("failing");
    space.target(&json!({}), &json!({}));
    space.release(&space.own, "shop", &json!({}));
    space.until_ready(1);
    BED.1.refuse("failing/release-db", Refusal::Credentials);
    space.release(&space.own, "db", &json!({}));
    space.release(&space.own, "mail", &json!({}));
    space.release(
        &space.own,
        "gone",
        &json!({"componentVersionRef": {"name": "nothing"}}),
    );
    let target = space.until_reason("Ready", "ReleaseFailed");
    let reports = || states(&space.get());
    testbed::eventually("the others' states", Duration::from_secs(120), || {
        let expected = [
            "failing/gone=Missing",
            "failing/db=Failed",
            "failing/mail=Rendered",
            "failing/shop=Rendered",
        ];
        (reports() == expected).then_some(())
    });
    let rendered = message(&space.get(), "ReleasesRendered");
    assert!(
        rendered.contains("Release failing/db: AuthFailed") && rendered.contains("nothing doesn't exist")
    );
    assert!(
        target["status"]["bootstrapChartURL"]
            .as_str()
            .unwrap()
            .ends_with(":v0.0.1")
    );
    assert_eq!(target["status"]["bootstrapVersion"], 1);

    // Whoever has mended it asks at the Target.
    BED.1.accept("failing/release-db");
    space.kubectl(&["delete", "rlb", "gone"]);
    space.kubectl(&["annotate", "tgt", "edge", &format!("{GROUP}/retry=1")]);
    space.until_ready(2);
}

/// A Target that was made again counted from 0, and took old charts for its own.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn numbers_whose_tags_are_taken_are_skipped() {
    let space = Space::new("taken");
    for number in [1, 2] {
        BED.1.occupy(&format!(
            "oci://charts.example/taken/bootstrap-edge:v0.0.{number}"
        ));
    }
    space.release(&space.own, "shop", &json!({}));
    space.target(&json!({}), &json!({}));
    let target = space.until_ready(4);
    assert_eq!(target["status"]["bootstrapVersion"], 4);
}

/// The charts of an earlier Target of the name are deleted: what the new one pushes is not to go with them.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_target_that_is_made_again_waits_until_its_tags_are_deleted() {
    let space = Space::new("again");
    space.release(&space.own, "shop", &json!({}));
    space.target(&json!({}), &json!({}));
    let first = space.until_ready(1);
    let release = first["status"]["releases"][0]["chartURL"].as_str().unwrap();
    space.kubectl(&["delete", "tgt", "edge", "--timeout=120s"]);
    space.until_tasks(0);
    space.target(&json!({}), &json!({}));
    // Nobody grants the use of the Registry for deleting.
    testbed::eventually("it waits", Duration::from_secs(120), || {
        let message = message(&space.get(), "ReleasesRendered");
        message.contains("waits until its tag is deleted").then_some(())
    });
    space.grant(
        SYSTEM,
        "again-artifacts",
        ("RenderArtifact", &space.own),
        "Registry",
    );
    let target = space.until_reason("Ready", "Ready");
    let bootstrap = target["status"]["bootstrapChartURL"].as_str().unwrap();
    assert!(BED.1.holds(release) && BED.1.holds(bootstrap), "{bootstrap}");
    assert_eq!(states(&target), ["again/shop=Rendered"]);
}

/// Tags of earlier bootstrap charts and Releases go while the Target stays, and all of them with it.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn charts_that_are_no_longer_used_are_deleted_in_the_registry() {
    let space = Space::new("unused");
    space.grant(
        SYSTEM,
        "unused-artifacts",
        ("RenderArtifact", &space.own),
        "Registry",
    );
    space.release(&space.own, "shop", &json!({}));
    space.target(&json!({}), &json!({"zone": "a"}));
    let first = space.until_ready(1);
    let release = first["status"]["releases"][0]["chartURL"].as_str().unwrap();
    space.target(&json!({}), &json!({"zone": "b"}));
    space.until_ready(2);
    let bootstrap = |number: i64| format!("oci://charts.example/unused/bootstrap-edge:v0.0.{number}");
    let gone = |url: &str| {
        testbed::eventually(&format!("no {url}"), Duration::from_secs(120), || {
            (!BED.1.holds(url)).then_some(())
        });
    };
    gone(&bootstrap(1));
    assert!(BED.1.holds(&bootstrap(2)) && BED.1.holds(release));
    space.kubectl(&["delete", "tgt", "edge", "--timeout=120s"]);
    gone(&bootstrap(2));
    gone(release);
    testbed::eventually("no artifacts", Duration::from_secs(120), || {
        let left = space.kubectl(&["get", "ra,rbin", "-o", "name"]);
        left.is_empty().then_some(())
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_revoked_grant_shows_and_a_new_one_counts() {
    let space = Space::new("grants");
    space.target(&json!({}), &json!({}));
    space.release(&space.own, "shop", &json!({}));
    // Two Releases of one name in two namespaces.
    space.release(&space.other, "shop", &json!({"uniqueName": "second"}));
    assert_eq!(states(&space.until_ready(1)), ["grants/shop=Rendered"]);
    space.grant(&space.own, "bindings", ("ReleaseBinding", &space.other), "Target");
    let target = space.until_ready(2);
    assert_eq!(
        states(&target),
        ["grants-other/shop=Rendered", "grants/shop=Rendered"]
    );
    assert_ne!(
        target["status"]["releases"][0]["chartURL"],
        target["status"]["releases"][1]["chartURL"]
    );
    space.kubectl(&["delete", "rg", "bindings"]);
    assert_eq!(states(&space.until_ready(3)), ["grants/shop=Rendered"]);
    BED.0.cluster.kubectl(&["-n", SYSTEM, "delete", "rg", "grants"]);
    let target = space.until_reason("RegistryResolved", "NotGranted");
    assert!(message(&target, "Ready").contains("ReferenceGrant"));
    space.grant(SYSTEM, "grants", ("Target", &space.own), "Registry");
    space.until_reason("Ready", "Ready");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn of_one_unique_name_the_highest_priority_is_deployed_and_anti_affinity_excludes() {
    let space = Space::new("resolver");
    space.target(&json!({}), &json!({}));
    space.release(&space.own, "a", &json!({"uniqueName": "one"}));
    space.release(&space.own, "b", &json!({"uniqueName": "one", "priority": 5}));
    let selector = json!({"matchLabels": {"name": "b"}});
    space.release(&space.own, "c", &json!({"antiAffinity": selector}));
    let expected = [
        "resolver/c=Filtered",
        "resolver/a=Filtered",
        "resolver/b=Rendered",
    ];
    testbed::eventually("what is filtered", Duration::from_secs(120), || {
        let target = space.get();
        (states(&target) == expected && target["status"]["bootstrapChartURL"].is_string()).then_some(())
    });
    let target = space.until_reason("ReleasesResolved", "Resolved");
    let why = message(&target, "ReleasesResolved");
    assert!(
        why.contains("unique name one is taken by Release resolver/b with priority 5"),
        "{why}"
    );
    assert!(
        why.contains("its antiAffinity excludes Release resolver/b"),
        "{why}"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn with_strict_bindings_a_host_that_nothing_is_bound_for_is_refused() {
    let space = Space::new("strict");
    space.target(&json!({"strict": "yes"}), &json!({}));
    space.release(&space.own, "shop", &json!({}));
    let target = space.until_reason("ReleasesRendered", "MissingRegistryBinding");
    assert!(message(&target, "ReleasesRendered").contains("for host h.example, which resource chart"));
    assert_eq!(space.tasks(), Vec::<String>::new());
    let registry = json!({"hostname": "h.example", "targetPullSecretName": "pull"});
    space.apply("Registry", "source", &registry);
    let binding = json!({"targetRef": {"name": "edge"}, "registryRef": {"name": "source"}});
    space.apply("RegistryBinding", "source", &binding);
    space.until_tasks(1);
    let path = "jsonpath={.items[*].spec.release.input.resources.chart.pullSecretName}";
    let selector = format!("{GROUP}/owner-namespace=strict");
    let secrets = BED
        .0
        .cluster
        .kubectl(&["-n", SYSTEM, "get", "rt", "-l", &selector, "-o", path]);
    assert_eq!(secrets, "pull");
}

/// Those of other namespaces were not collected, and their resources pulled anonymously.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_registry_binding_of_another_namespace_counts_once_it_is_granted() {
    let space = Space::new("shared");
    space.target(&json!({"strict": "yes"}), &json!({}));
    space.release(&space.own, "shop", &json!({}));
    let registry = json!({"hostname": "h.example", "targetPullSecretName": "shared-pull"});
    apply(&BED.0, &space.other, "Registry", "source", &json!({}), &registry);
    let target = json!({"name": "edge", "namespace": space.own});
    let binding = json!({"targetRef": target, "registryRef": {"name": "source"}});
    apply(
        &BED.0,
        &space.other,
        "RegistryBinding",
        "source",
        &json!({}),
        &binding,
    );
    space.until_reason("ReleasesRendered", "MissingRegistryBinding");
    space.grant(&space.own, "sources", ("RegistryBinding", &space.other), "Target");
    space.until_tasks(1);
    let path = "jsonpath={.items[*].spec.release.input.resources.chart.pullSecretName}";
    let selector = format!("{GROUP}/owner-namespace=shared");
    let tasks = ["-n", SYSTEM, "get", "rt", "-l", &selector, "-o", path];
    assert_eq!(BED.0.cluster.kubectl(&tasks), "shared-pull");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_foreign_task_under_a_planned_name_is_neither_used_nor_deleted() {
    let space = Space::new("foreign");
    space.target(&json!({}), &json!({}));
    space.release(&space.own, "shop", &json!({}));
    let target = space.until_ready(1);
    let name = target["status"]["releases"][0]["renderTask"].as_str().unwrap();
    let name = name.split_once('/').unwrap().1.to_owned();
    let get = ["-n", SYSTEM, "get", "rt", &name, "-o", "json"];
    let task: Value = serde_json::from_str(&BED.0.cluster.kubectl(&get)).unwrap();
    space.kubectl(&["delete", "tgt", "edge", "--timeout=120s"]);
    space.until_tasks(0);
    // The same task, made by hand.
    apply(&BED.0, SYSTEM, "RenderTask", &name, &json!({}), &task["spec"]);
    space.target(&json!({}), &json!({}));
    let target = space.until_reason("Ready", "ReleaseFailed");
    assert!(message(&target, "Ready").contains("exists and was not made for this Target"));
    space.kubectl(&["delete", "tgt", "edge", "--timeout=120s"]);
    assert_eq!(
        BED.0
            .cluster
            .kubectl(&["-n", SYSTEM, "get", "rt", &name, "-o", "name"])
            .lines()
            .count(),
        1
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_namespace_that_is_deleted_takes_its_target_along() {
    let space = Space::new("going");
    space.target(&json!({}), &json!({}));
    space.release(&space.own, "shop", &json!({}));
    BED.1.refuse("going/", Refusal::Hold);
    space.until_tasks(1);
    BED.0
        .cluster
        .kubectl(&["delete", "namespace", "going", "--timeout=120s"]);
    assert_eq!(space.until_tasks(0), Vec::<String>::new());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_operator_that_is_killed_midway_continues_from_the_existing_objects() {
    let space = Space::new("killed");
    space.target(&json!({}), &json!({}));
    BED.1.refuse("killed/", Refusal::Hold);
    space.release(&space.own, "shop", &json!({}));
    space.release(&space.own, "db", &json!({}));
    space.until_tasks(2);
    BED.0.cluster.kill("operator");
    // While it is away, one Release changes and the pods end.
    space.release(&space.own, "db", &json!({"values": {"replicas": 2}}));
    BED.1.accept("killed/");
    BED.0
        .start_operator("operator", &flags("--label-selector=!strict"));
    let target = space.until_ready(1);
    assert!(tag_of(&target, "db").starts_with("v0.0.2-"));
    let tasks = space.until_tasks(3);
    assert!(
        tasks.contains(&"killed/bootstrap-edge:v0.0.1".to_owned()),
        "{tasks:?}"
    );
}
