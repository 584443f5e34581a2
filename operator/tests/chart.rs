//! The install chart: its CRDs, what it renders to here and in Helm, and what an API server makes of
//! it. All of it is rendered by `solar-render`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests stop at once when something isn't as it should be"
)]

mod fleet;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::time::Duration;

use fleet::{Fleet, Kubelet, Order, condition, install_chart, own_requests};
use testbed::{Cluster, ClusterSetup, Tool, eventually, run, workspace_program};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const NAMESPACE: &str = "solar-system";
const LIMIT: Duration = Duration::from_secs(60);

static RENDERER: LazyLock<PathBuf> = LazyLock::new(|| workspace_program("solar-render", "solar-render"));

fn chart() -> PathBuf {
    PathBuf::from(install_chart::CHART)
}

fn crds() -> String {
    fs::read_to_string(chart().join("files/crds.yaml")).unwrap()
}

/// Every file of values, by its name.
fn values() -> Vec<(String, PathBuf)> {
    let folder = Path::new(ROOT).join("testdata/operator/values");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    files.sort();
    assert!(files.len() >= 3);
    files
}

fn template(namespace: &str, arguments: &[&str]) -> Output {
    let mut command = install_chart::template("solar-operator", namespace);
    command.args(arguments).output().unwrap()
}

fn manifests(namespace: &str, arguments: &[&str]) -> String {
    let output = template(namespace, arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn its_crds_are_those_that_the_operator_prints() {
    let printed = run(Command::new(env!("CARGO_BIN_EXE_solar-operator")).arg("crds"));
    assert!(
        crds() == printed,
        "the chart's CRDs are old: solar-operator crds > charts/solar-operator/files/crds.yaml"
    );
}

#[test]
fn the_pipelines_kinds_are_installed_when_they_are_switched_on() {
    let kinds = |set: &str| {
        let text = manifests(NAMESPACE, &["--set", set]);
        text.matches("kind: CustomResourceDefinition\n").count()
    };
    assert_eq!(kinds("pipeline.enabled=false"), 2);
    assert_eq!(kinds("pipeline.enabled=true"), 13);
    assert_eq!(kinds("artifacts.enabled=true"), 3);
    assert_eq!(kinds("pipeline.enabled=true,artifacts.enabled=true"), 14);
    assert_eq!(kinds("clusterAddons.enabled=true"), 4);
    assert_eq!(kinds("pipeline.enabled=true,crds.install=false"), 0);
    for (set, is_on) in [
        ("clusterAddons.enabled=false", false),
        ("clusterAddons.enabled=true", true),
        ("clusterAddons.enabled=true,watchNamespaces={a,b}", true),
    ] {
        let text = manifests(NAMESPACE, &["--set", set, "--set", "crds.install=false"]);
        for part in [
            "- \"--cluster-addons\"",
            "infrastructure.cluster.x-k8s.io",
            "solar-operator-cluster-addons",
            "mountPath: /var/cache/solar-operator",
            "memory: 1Gi",
        ] {
            assert_eq!(text.contains(part), is_on, "{part} with {set}");
        }
    }
    for (set, is_on) in [
        ("artifacts.enabled=false", false),
        ("artifacts.enabled=true", true),
    ] {
        let text = manifests(NAMESPACE, &["--set", set, "--set", "crds.install=false"]);
        for part in ["- \"--artifacts\"", "persistentvolumeclaims", "artifacts/status"] {
            assert_eq!(text.contains(part), is_on, "{part} with {set}");
        }
    }
    for (set, is_on) in [("pipeline.enabled=false", false), ("pipeline.enabled=true", true)] {
        let text = manifests(NAMESPACE, &["--set", set, "--set", "crds.install=false"]);
        for part in ["- \"--pipeline\"", "releasebindings"] {
            assert_eq!(text.contains(part), is_on, "{part} with {set}");
        }
    }
}

#[test]
fn our_lint_has_nothing_to_say_against_it() {
    for (name, path) in values() {
        let mut lint = Command::new(&*RENDERER);
        let output = lint
            .args(["lint", "--strict", "-f"])
            .arg(&path)
            .arg(chart())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !stderr.contains("warning"),
            "{name}: {stderr}"
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn helm_renders_the_same_bytes() {
    let home = tempfile::tempdir().unwrap();
    for (name, path) in values() {
        let values = path.to_str().unwrap();
        let mut helm = Tool::Helm.command(home.path());
        helm.args(["template", "solar-operator"]).arg(chart());
        let helms = run(helm.args(["-n", NAMESPACE, "-f", values]));
        let ours = manifests(NAMESPACE, &["-f", values]);
        assert!(ours == helms, "{name}: Helm renders something else");
    }
}

/// The operator has defaults for flags that are not set.
#[test]
fn limits_that_are_taken_away_are_away() {
    let text = manifests(
        NAMESPACE,
        &[
            "--set",
            "renderer.resources.limits=null,renderer.resources.requests=null",
        ],
    );
    for flag in ["- \"--renderer-limits=\"", "- \"--renderer-requests=\""] {
        assert!(text.contains(flag), "{flag} is not in {text}");
    }
}

#[test]
fn values_that_are_not_there_are_refused_by_name() {
    for (set, named) in [
        ("replica=3", "replica"),
        ("renderer.image.digest=latest", "digest"),
        ("watchNamespaces={Team}", "Team"),
        ("networkPolicy.apiServerPorts={0}", "apiServerPorts"),
        ("renderer.args={a\\,b}", "args"),
        ("allowedHosts.Team={h}", "Team"),
        ("allowedHosts.team={h/path}", "allowedHosts"),
        // What the operator would refuse when it starts, again and again.
        ("nameOverride=A_b", "nameOverride"),
        ("fullnameOverride=Bad_Name", "fullnameOverride"),
        ("renderer.image.repository=a b", "repository"),
        ("renderer.resources.limits.memory=much", "memory"),
        ("resources.requests.cpu=-1", "cpu"),
        ("renderer.deadlineSeconds=90000", "deadlineSeconds"),
        ("maxConcurrentJobs=100001", "maxConcurrentJobs"),
        (
            "maxConcurrentJobsPerNamespace=-1",
            "maxConcurrentJobsPerNamespace",
        ),
        (
            "leaderElection.leaseDurationSeconds=11",
            "leaseDurationSeconds must be at least 1.2 times",
        ),
        (
            "leaderElection.retryPeriodSeconds=9",
            "renewDeadlineSeconds must be at least 1.2 times",
        ),
        ("podDisruptionBudget.minAvailable=x", "minAvailable"),
        ("renderer.caConfigMap=a..b", "caConfigMap"),
        // No image has such a name, and no object the same label twice.
        ("image.tag=1 0", "tag"),
        ("renderer.image.tag=:1", "tag"),
        ("podLabels.app\\.kubernetes\\.io/name=mine", "podLabels"),
        ("podLabels.app\\.kubernetes\\.io/managed-by=me", "podLabels"),
    ] {
        let output = template(NAMESPACE, &["--set", set]);
        assert!(!output.status.success(), "{set} was taken");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(named), "{set}: {stderr}");
    }
}

#[test]
fn one_replica_has_no_budget_that_keeps_its_node_from_being_drained() {
    let budgets = |set: &str| {
        manifests(NAMESPACE, &["--set", set])
            .matches("kind: PodDisruptionBudget")
            .count()
    };
    assert_eq!((budgets("replicas=1"), budgets("replicas=2")), (0, 1));
}

#[test]
fn quantities_and_selectors_that_kubernetes_takes_are_taken() {
    for set in [
        "renderer.resources.limits.memory=1Ei",
        "renderer.resources.limits.cpu=0.5",
        "renderer.resources.requests.cpu=1e-1",
        "resources.limits.cpu=2",
        "podDisruptionBudget.minAvailable=50%",
    ] {
        manifests(NAMESPACE, &["--set", set]);
    }
    let one_port = manifests(NAMESPACE, &["--set", "metricsPort=8081"]);
    assert_eq!(one_port.matches("containerPort").count(), 1);
}

#[test]
fn every_argument_is_one_whatever_is_in_it() {
    let path = Path::new(ROOT).join("testdata/operator/values/everything.yaml");
    let json = manifests(NAMESPACE, &["-f", path.to_str().unwrap(), "-o", "json"]);
    for argument in [
        r#""--renderer-args=with \"quotes\" and: a colon""#,
        r#""--renderer-args=--x=y""#,
        r#""--label-selector=a=b,c in (d)""#,
        r#""--allowed-hosts=team=h.example:5000""#,
        r#""--allowed-hosts=*=""#,
        r#""--permanent-exit-codes=""#,
        r#""--renderer-limits=cpu=2,memory=64Mi""#,
    ] {
        assert!(json.contains(argument), "{argument} in {json}");
    }
}

/// One API server for what follows; the chart is in it twice: with all namespaces, and with some.
fn cluster() -> &'static Cluster {
    static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| {
        let cluster = Cluster::start(&ClusterSetup {
            crds: &crds(),
            audit: false,
        });
        for name in [NAMESPACE, "narrow", "jobs", "team-a", "team-b", "shop"] {
            cluster.kubectl(&["create", "namespace", name]);
        }
        let restricted = "pod-security.kubernetes.io/enforce=restricted";
        cluster.kubectl(&["label", "namespace", NAMESPACE, restricted]);
        cluster.apply(&manifests(NAMESPACE, &["--set", "crds.install=false"]));
        let some = Path::new(ROOT).join("testdata/operator/values/namespaces.yaml");
        let set = "crds.install=false,fullnameOverride=narrow";
        cluster.apply(&manifests(
            "narrow",
            &["-f", some.to_str().unwrap(), "--set", set],
        ));
        cluster
    });
    &CLUSTER
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_api_server_takes_everything_in_it() {
    let cluster = cluster();
    let folder = tempfile::tempdir().unwrap();
    for (name, path) in values() {
        let file = folder.path().join(format!("{name}.yaml"));
        // Not where it is installed: a Deployment's selector can't be changed.
        fs::write(&file, manifests("shop", &["-f", path.to_str().unwrap()])).unwrap();
        let dry = [
            "apply",
            "--server-side",
            "--dry-run=server",
            "--force-conflicts",
            "-f",
        ];
        let output = cluster.kubectl_command(&dry).arg(&file).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && stderr.is_empty(), "{name}: {stderr}");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_api_server_takes_the_examples() {
    let cluster = cluster();
    for entry in fs::read_dir(chart().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.to_str().unwrap();
        let arguments = ["create", "--dry-run=server", "--validate=strict", "-f", file];
        let output = cluster.kubectl_command(&arguments).output().unwrap();
        assert!(
            output.status.success(),
            "{file}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// The sample of an admission policy: in a tenant's namespace, no object names another registry host.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_admission_policy_refuses_registry_hosts_in_tenants_namespaces_alone() {
    let cluster = cluster();
    let policy = chart().join("examples/admissionpolicy.yaml");
    cluster.apply(&fs::read_to_string(policy).unwrap());
    for namespace in ["policy-tenant", "policy-platform"] {
        cluster.kubectl(&["create", "namespace", namespace]);
    }
    let label = "solar.opendefense.cloud/tenant=a";
    cluster.kubectl(&["label", "namespace", "policy-tenant", label]);
    let registry = |namespace: &str, host: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("registry.yaml");
        let text = format!(
            "apiVersion: solar.opendefense.cloud/v1alpha1\nkind: Registry\n\
             metadata: {{name: charts, namespace: {namespace}}}\nspec: {{hostname: \"{host}\"}}\n"
        );
        fs::write(&file, text).unwrap();
        let create = ["create", "--dry-run=server", "-f", file.to_str().unwrap()];
        let output = cluster.kubectl_command(&create).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    eventually("the policy is in force", LIMIT, || {
        let refusal = registry("policy-tenant", "oci://evil.example/charts");
        refusal
            .contains("registry host evil.example is not allowed")
            .then_some(())
    });
    for (namespace, host) in [
        ("policy-tenant", "REGISTRY.example.com:5000/charts"),
        ("policy-platform", "evil.example"),
    ] {
        assert_eq!(registry(namespace, host), "", "{namespace} {host}");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn its_pods_pass_pod_security_restricted() {
    let selector = "app.kubernetes.io/name=solar-operator";
    eventually("two pods", LIMIT, || {
        let pods = cluster().kubectl(&["-n", NAMESPACE, "get", "pods", "-l", selector, "-o", "name"]);
        (pods.lines().count() == 2).then_some(())
    });
}

/// What the operator must be allowed where Jobs are.
const JOBS: [&str; 12] = [
    "get jobs.batch",
    "list jobs.batch",
    "watch jobs.batch",
    "create jobs.batch",
    "delete jobs.batch",
    "list pods",
    "watch pods",
    "get secrets",
    "create secrets",
    "delete secrets",
    "list events",
    "get configmaps/registry-ca",
];

/// What it is allowed nowhere.
const NEVER: [&str; 19] = [
    "list secrets",
    "watch secrets",
    "update secrets",
    "patch secrets",
    "deletecollection secrets",
    "get configmaps/other",
    "list configmaps",
    "create pods",
    "get pods",
    "get pods/log",
    "patch events.events.k8s.io",
    "patch leases.coordination.k8s.io/solar-operator",
    "get events",
    "watch events",
    "create pods/exec",
    "patch jobs.batch",
    "create rendertasks.solar.opendefense.cloud",
    "delete clusterrendertasks.solar.opendefense.cloud",
    "create serviceaccounts/token",
];

/// Whether an account may do it: `verb resource`, or `verb resource/name`, or `verb resource/subresource`.
fn may(account: &str, namespace: &str, what: &str) -> bool {
    let (verb, resource) = what.split_once(' ').unwrap();
    let mut arguments = vec!["auth", "can-i", verb, "-n", namespace, "--as", account];
    match resource.split_once('/') {
        Some((kind, below @ ("status" | "finalizers" | "log" | "exec" | "token"))) => {
            arguments.extend([kind, "--subresource", below]);
        }
        _ => arguments.push(resource),
    }
    let output = cluster().kubectl_command(&arguments).output().unwrap();
    match String::from_utf8_lossy(&output.stdout).trim() {
        "yes" => true,
        "no" => false,
        _ => panic!("{what}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn with_all_namespaces_it_may_do_what_it_needs_and_not_list_secrets() {
    let account = "system:serviceaccount:solar-system:solar-operator";
    for kind in ["rendertasks", "clusterrendertasks"] {
        for what in [
            "get X",
            "list X",
            "watch X",
            "patch X/status",
            "update X/finalizers",
        ] {
            let what = what.replace('X', &format!("{kind}.solar.opendefense.cloud"));
            assert!(may(account, "shop", &what), "{what}");
        }
    }
    // No ConfigMap is named in these values.
    for what in JOBS.iter().filter(|what| !what.contains("configmaps")) {
        assert!(may(account, "shop", what), "{what}");
    }
    assert!(may(account, "default", "create events.events.k8s.io"));
    assert!(!may(account, "default", "patch events.events.k8s.io"));
    for what in [
        "create leases.coordination.k8s.io",
        "update leases.coordination.k8s.io/solar-operator",
    ] {
        assert!(may(account, NAMESPACE, what), "{what}");
    }
    for what in NEVER {
        assert!(!may(account, NAMESPACE, what), "{what}");
    }
    for what in [
        "get leases.coordination.k8s.io/other",
        "list leases.coordination.k8s.io",
    ] {
        assert!(!may(account, NAMESPACE, what), "{what}");
    }
    assert!(!may(
        account,
        "shop",
        "get leases.coordination.k8s.io/solar-operator"
    ));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn with_some_namespaces_it_may_do_that_there_only() {
    let account = "system:serviceaccount:narrow:narrow";
    for namespace in ["team-a", "jobs"] {
        for what in JOBS {
            assert!(may(account, namespace, what), "{what} in {namespace}");
        }
        for what in NEVER {
            assert!(!may(account, namespace, what), "{what} in {namespace}");
        }
    }
    for what in JOBS {
        assert!(!may(account, "shop", what), "{what}");
    }
    assert!(may(account, "team-b", "list rendertasks.solar.opendefense.cloud"));
    assert!(!may(account, "shop", "list rendertasks.solar.opendefense.cloud"));
    assert!(may(
        account,
        "shop",
        "list clusterrendertasks.solar.opendefense.cloud"
    ));
    assert!(may(account, "default", "create events.events.k8s.io"));
    assert!(!may(account, "shop", "create events.events.k8s.io"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn who_may_edit_a_namespace_may_edit_its_tasks_and_no_cluster_tasks() {
    let binding = [
        "create",
        "rolebinding",
        "edit",
        "--clusterrole=edit",
        "--user=ann",
        "-n",
        "shop",
    ];
    cluster().kubectl(&binding);
    // A controller puts the roles together.
    eventually("the right to edit tasks", LIMIT, || {
        let verbs = ["get", "create", "delete"];
        let may = |verb: &str| {
            may(
                "ann",
                "shop",
                &format!("{verb} rendertasks.solar.opendefense.cloud"),
            )
        };
        verbs.into_iter().all(may).then_some(())
    });
    assert!(!may(
        "ann",
        "shop",
        "get clusterrendertasks.solar.opendefense.cloud"
    ));
    assert!(!may(
        "ann",
        "shop",
        "patch rendertasks.solar.opendefense.cloud/status"
    ));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn with_some_namespaces_the_rights_there_are_all_that_the_operator_needs() {
    let fleet = Fleet::start(
        true,
        &["jobs", "team", "other"],
        "jobNamespace=jobs,watchNamespaces={team}",
    );
    let _kubelet = Kubelet::start(fleet.cluster.kubeconfig(), Duration::ZERO);
    let orders = ["team", "other", ""].map(|namespace| Order {
        namespace: Some(namespace.to_owned()).filter(|name| !name.is_empty()),
        name: format!("task{namespace}"),
    });
    fleet.order(&orders);
    let narrow = [
        "--job-namespace=jobs",
        "--watch-namespaces=team",
        "--metrics-bind-address=0",
    ];
    fleet.start_operator("operator", &narrow);
    let ready = eventually("two tasks are ready", LIMIT, || {
        let mut tasks = fleet.tasks();
        tasks.retain(|task| condition(task, "Ready") == "True");
        (tasks.len() == 2).then_some(tasks)
    });
    let namespaces: Vec<_> = ready
        .iter()
        .map(|task| task["metadata"]["namespace"].as_str())
        .collect();
    assert_eq!(namespaces, [Some("team"), None]);
    assert!(!own_requests(&fleet.cluster.requests()).is_empty());
}

/// The quota is only reported in events, which the chart once gave no permission to read.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn with_the_charts_rights_a_quota_on_pods_is_reported() {
    let fleet = Fleet::start(true, &["team"], "");
    let quota = ["-n", "team", "create", "quota", "none", "--hard=pods=0"];
    fleet.cluster.kubectl(&quota);
    eventually("the quota counts", LIMIT, || {
        let hard = [
            "-n",
            "team",
            "get",
            "quota",
            "none",
            "-o",
            "jsonpath={.status.hard}",
        ];
        (!fleet.cluster.kubectl(&hard).is_empty()).then_some(())
    });
    fleet.order(&[Order {
        namespace: Some("team".to_owned()),
        name: "task".to_owned(),
    }]);
    fleet.start_operator("operator", &["--metrics-bind-address=0"]);
    eventually("the quota is told", LIMIT, || {
        let path = "jsonpath={.items[0].status.conditions[?(@.type==\"JobScheduled\")].message}";
        let message = fleet
            .cluster
            .kubectl(&["-n", "team", "get", "rendertasks", "-o", path]);
        message.contains("exceeded quota").then_some(())
    });
    own_requests(&fleet.cluster.requests());
}
