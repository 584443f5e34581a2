//! The two clusters and the registry that the tests share, and a namespace for each test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testbed::{Cluster, ClusterSetup, Registry, Setup, cluster_api_crds, eventually, run, workspace_program};

use crate::fleet::Fleet;

/// How long anything may take: the machine may be busy.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
const GROUP: &str = "solar.opendefense.cloud";

/// An infrastructure that clusters of the tests refer to.
const INFRASTRUCTURE: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: testclusters.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: TestCluster, plural: testclusters}
  scope: Namespaced
  versions:
  - name: v1beta2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

/// The servers.
pub(crate) struct Bed {
    pub(crate) fleet: Fleet,
    pub(crate) workload: Cluster,
    pub(crate) registry: Registry,
}

pub(crate) static BED: LazyLock<Bed> = LazyLock::new(|| {
    let fleet = Fleet::start(
        false,
        &[],
        "clusterAddons.enabled=true,networkPolicy.enabled=false",
    );
    fleet.cluster.apply(&cluster_api_crds());
    fleet.cluster.apply(INFRASTRUCTURE);
    let established = ["--for=condition=Established", "crd", "--all", "--timeout=60s"];
    fleet.cluster.kubectl(&[&["wait"], &established[..]].concat());
    let bed = Bed {
        fleet,
        workload: Cluster::start(&ClusterSetup::default()),
        registry: Registry::with(&Setup {
            in_memory: true,
            ..Setup::default()
        }),
    };
    bed.start_operator("operator", "default");
    bed
});

impl Bed {
    /// An operator that reconciles what has the label `operator` with this value; `default`: what has none.
    pub(crate) fn start_operator(&self, name: &str, label: &str) {
        self.start_operator_with(name, label, &["--addon-deletion-timeout=3s"]);
    }

    /// One with flags of its own.
    pub(crate) fn start_operator_with(&self, name: &str, label: &str, own: &[&str]) {
        let selector = match label {
            "default" => "--label-selector=!operator".to_owned(),
            label => format!("--label-selector=operator={label}"),
        };
        let cache = format!("--chart-cache={}", self.cache(name).display());
        let flags = [
            "--cluster-addons",
            "--log-level=debug",
            "--metrics-bind-address=127.0.0.1:0",
            "--leader-elect=false",
            &selector,
            &cache,
        ];
        self.fleet.start_operator(name, &[&flags[..], own].concat());
    }

    /// The chart cache of an operator.
    pub(crate) fn cache(&self, name: &str) -> PathBuf {
        self.fleet.cluster.home().join(format!("charts-{name}"))
    }
}

/// A test's namespace of the management cluster.
pub(crate) struct Space {
    pub(crate) name: String,
    /// The value of the label `operator` of its objects.
    operator: Option<&'static str>,
}

impl Space {
    /// A new one.
    pub(crate) fn new(name: &str) -> Self {
        BED.fleet.cluster.kubectl(&["create", "namespace", name]);
        Self {
            name: name.to_owned(),
            operator: None,
        }
    }

    /// One that an operator of its own reconciles, which the test starts.
    pub(crate) fn for_operator(name: &str, operator: &'static str) -> Self {
        let mut space = Self::new(name);
        space.operator = Some(operator);
        space
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        BED.fleet
            .cluster
            .kubectl(&[&["-n", &self.name], arguments].concat())
    }

    pub(crate) fn apply(&self, object: &Value) {
        let mut object = object.clone();
        object["metadata"]["namespace"] = self.name.as_str().into();
        BED.fleet.cluster.apply(&object.to_string());
    }

    /// A Cluster with its infrastructure, whose control plane is initialized, with labels.
    pub(crate) fn cluster(&self, name: &str, labels: &Value) {
        self.cluster_without_start(name, labels);
        self.initialize(name);
        self.kubeconfig(name, &fs::read(BED.workload.kubeconfig()).unwrap());
    }

    /// Many at once.
    pub(crate) fn clusters(&self, names: &[String], stack: &str) {
        let kubeconfig = STANDARD.encode(fs::read(BED.workload.kubeconfig()).unwrap());
        let objects = names.iter().flat_map(|name| {
            [
                json!({
                    "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
                    "metadata": {"name": name, "namespace": self.name, "labels": {"stack": stack}},
                    "spec": {"clusterNetwork": {"pods": {"cidrBlocks": ["10.7.0.0/16"]}}},
                }),
                json!({
                    "apiVersion": "v1", "kind": "Secret",
                    "metadata": {"name": format!("{name}-kubeconfig"), "namespace": self.name},
                    "type": "cluster.x-k8s.io/secret", "data": {"value": kubeconfig},
                }),
            ]
        });
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects.collect::<Vec<_>>()});
        BED.fleet.cluster.apply(&list.to_string());
        for name in names {
            self.initialize(name);
        }
    }

    /// A cluster whose addon the space's own operator reconciles.
    pub(crate) fn cluster_for_operator(&self, name: &str, stack: &str) {
        self.cluster(name, &json!({"stack": stack}));
    }

    pub(crate) fn cluster_without_start(&self, name: &str, labels: &Value) {
        self.apply(&json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "TestCluster", "metadata": {"name": name},
            "spec": {"zone": format!("zone-of-{name}")},
        }));
        self.apply(&json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": name, "labels": labels},
            "spec": {
                "clusterNetwork": {"pods": {"cidrBlocks": ["10.7.0.0/16"]}},
                "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "TestCluster", "name": name},
            },
        }));
    }

    pub(crate) fn initialize(&self, name: &str) {
        let status = r#"{"status":{"initialization":{"controlPlaneInitialized":true}}}"#;
        let patch = ["--subresource=status", "--type=merge", "-p", status];
        self.kubectl(&[&["patch", "clusters.cluster.x-k8s.io", name], &patch[..]].concat());
    }

    /// The cluster's kubeconfig Secret.
    pub(crate) fn kubeconfig(&self, name: &str, text: &[u8]) {
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("{name}-kubeconfig")},
            "type": "cluster.x-k8s.io/secret", "data": {"value": STANDARD.encode(text)},
        }));
    }

    /// A stack for the clusters with the label `stack: <name>`, with some fields of its spec set.
    pub(crate) fn stack(&self, name: &str, chart: &Chart, spec: &Value) {
        let mut labels = json!({});
        if let Some(operator) = self.operator {
            labels["operator"] = operator.into();
        }
        let mut whole = json!({
            "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterStack",
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "clusterSelector": {"matchLabels": {"stack": name}},
                "chart": {"repository": chart.repository, "version": chart.version, "insecure": true},
                "releaseName": "shop", "namespace": self.name,
            },
        });
        for (field, value) in spec.as_object().unwrap() {
            whole["spec"][field] = value.clone();
        }
        self.apply(&whole);
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let text = self.kubectl(&["get", kind, name, "-o", "json", "--ignore-not-found"]);
        (!text.trim().is_empty()).then(|| serde_json::from_str(&text).unwrap())
    }

    pub(crate) fn addon(&self, cluster: &str) -> Option<Value> {
        self.get("clusteraddons", &format!("cluster-addon-{cluster}"))
    }

    /// Waits until a condition of a cluster's addon is as said; returns the addon.
    pub(crate) fn until(&self, cluster: &str, kind: &str, status: &str, reason: &str) -> Value {
        let what = format!("{cluster}: {kind}={status}/{reason}");
        let found = || {
            let addon = self.addon(cluster)?;
            let is =
                condition(&addon, kind).is_some_and(|one| one["status"] == status && one["reason"] == reason);
            is.then_some(addon)
        };
        wait(&what, found, || {
            format!("{:#}", self.addon(cluster).unwrap_or_default()["status"])
        })
    }

    /// Requests a reconcile of a cluster's addon, which compares its objects with the cluster's.
    pub(crate) fn request(&self, cluster: &str, value: &str) {
        self.kubectl(&[
            "annotate",
            "--overwrite",
            "clusteraddon",
            &format!("cluster-addon-{cluster}"),
            &format!("reconcile.fluxcd.io/requestedAt={value}"),
        ]);
    }

    /// Waits until a requested reconcile has ended in Ready.
    pub(crate) fn until_handled(&self, cluster: &str, value: &str) -> Value {
        let found = || {
            let addon = self.addon(cluster)?;
            let is_ready = condition(&addon, "Ready")?["status"] == "True";
            (is_ready && addon["status"]["lastHandledReconcileAt"] == value).then_some(addon)
        };
        wait(&format!("{cluster}: request {value} handled"), found, || {
            format!("{:#}", self.addon(cluster).unwrap_or_default()["status"])
        })
    }

    pub(crate) fn until_ready(&self, cluster: &str) -> Value {
        self.until(cluster, "Ready", "True", "Succeeded")
    }

    /// Waits until the addon has applied this version of its chart.
    pub(crate) fn until_version(&self, cluster: &str, version: &str) -> Value {
        let found = || {
            let addon = self.addon(cluster)?;
            let ready = condition(&addon, "Ready")?;
            let is_new = addon["spec"]["chart"]["version"] == version
                && addon["status"]["lastApplied"]["digest"] == addon["spec"]["chart"]["digest"];
            (is_new && ready["status"] == "True").then_some(addon)
        };
        wait(&format!("{cluster} at {version}"), found, || {
            format!("{:#}", self.addon(cluster).unwrap_or_default()["status"])
        })
    }

    pub(crate) fn until_no_addon(&self, cluster: &str) {
        let gone = || self.addon(cluster).is_none().then_some(());
        wait(&format!("{cluster} without an addon"), gone, || {
            format!("{:#}", self.addon(cluster).unwrap_or_default())
        });
    }

    /// Waits for an event with this reason, and returns its note.
    pub(crate) fn until_event(&self, reason: &str) -> String {
        let found = || {
            let selector = format!("--field-selector=reason={reason}");
            let text = self.kubectl(&["get", "events.events.k8s.io", &selector, "-o", "json"]);
            let list: Value = serde_json::from_str(&text).unwrap();
            list["items"][0]["note"].as_str().map(str::to_owned)
        };
        wait(&format!("an event {reason}"), found, || {
            self.kubectl(&["get", "events"])
        })
    }
}

/// Waits for something; a failure shows the state, and the end of the operator's log.
pub(crate) fn wait<T>(what: &str, found: impl FnMut() -> Option<T>, state: impl Fn() -> String) -> T {
    struct Report<F: Fn() -> String>(F);
    impl<F: Fn() -> String> Drop for Report<F> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                let log = fs::read_to_string(BED.fleet.cluster.log("operator")).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let end = lines[lines.len().saturating_sub(30)..].join("\n");
                eprintln!("{}\n{end}", (self.0)());
            }
        }
    }
    let _report = Report(state);
    eventually(what, LIMIT, found)
}

pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|one| one["type"] == kind)
}

/// An object of the workload cluster.
pub(crate) fn applied(namespace: &str, kind: &str, name: &str) -> Option<Value> {
    let arguments = [
        "-n",
        namespace,
        "get",
        kind,
        name,
        "-o",
        "json",
        "--ignore-not-found",
    ];
    let output = BED.workload.kubectl_command(&arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (!text.trim().is_empty()).then(|| serde_json::from_str(&text).unwrap())
}

pub(crate) fn until_gone(namespace: &str, kind: &str, name: &str) {
    eventually(&format!("{kind} {name} gone"), LIMIT, || {
        applied(namespace, kind, name).is_none().then_some(())
    });
}

/// A chart in the registry.
pub(crate) struct Chart {
    pub(crate) repository: String,
    pub(crate) version: String,
}

/// Pushes a chart of these files; Chart.yaml is made.
pub(crate) fn push(name: &str, version: &str, files: &[(&str, &str)]) -> Chart {
    push_with(name, version, files, &[])
}

/// Pushes with more flags.
pub(crate) fn push_with(name: &str, version: &str, files: &[(&str, &str)], flags: &[&str]) -> Chart {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join(name);
    let yaml = format!("{{apiVersion: v2, name: {name}, version: {version}}}");
    for (path, text) in files.iter().chain([&("Chart.yaml", yaml.as_str())]) {
        let path = chart.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    push_path_with(name, version, &chart, flags)
}

/// Pushes a chart's folder or archive.
pub(crate) fn push_path(name: &str, version: &str, chart: &Path) -> Chart {
    push_path_with(name, version, chart, &[])
}

/// Pushes with more flags.
pub(crate) fn push_path_with(name: &str, version: &str, chart: &Path, flags: &[&str]) -> Chart {
    let target = format!("oci://{}/charts", BED.registry.host());
    let mut command = Command::new(workspace_program("solar-render", "solar-render"));
    run(command
        .arg("push")
        .arg(chart)
        .args([&target, "--plain-http"])
        .args(flags));
    Chart {
        repository: format!("{target}/{name}"),
        version: version.to_owned(),
    }
}
