//! Many tasks on one control plane: operators as processes with the rights that the chart gives
//! them, and pods whose ends are written as a kubelet would. For tests and benchmarks.
#![allow(
    clippy::unwrap_used,
    reason = "tests stop at once when something isn't as it should be"
)]
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "every test that includes it needs another part of it"
)]

pub mod install_chart;
mod kubelet;
pub mod measure;
pub mod pipeline;
mod renderer;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, Config};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testbed::{Cluster, ClusterSetup, run};
use tokio::runtime::{Builder, Runtime};

#[allow(
    unused_imports,
    reason = "every test that includes it needs another part of it"
)]
pub use kubelet::Kubelet;
#[allow(
    unused_imports,
    reason = "every test that includes it needs another part of it"
)]
pub use kubelet::Refusal;

/// Where the operator and cluster tasks' Jobs are.
pub const NAMESPACE: &str = "solar-system";
/// How many requests go out at the same time.
const PARALLEL: usize = 16;

/// A control plane in which the chart is installed, but for its pods.
pub struct Fleet {
    pub cluster: Cluster,
    pub runtime: Runtime,
    pub client: Client,
    account: PathBuf,
}

/// A task to be made: a `RenderTask` in a namespace, or a `ClusterRenderTask` without one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    pub namespace: Option<String>,
    pub name: String,
}

impl Fleet {
    /// With some namespaces more, and values for the chart as `--set` takes them.
    pub fn start(audit: bool, namespaces: &[&str], values: &str) -> Self {
        let crds = Path::new(install_chart::CHART).join("files/crds.yaml");
        let crds = fs::read_to_string(crds).unwrap();
        let cluster = Cluster::start(&ClusterSetup { crds: &crds, audit });
        for namespace in namespaces.iter().chain([&NAMESPACE]) {
            cluster.kubectl(&["create", "namespace", namespace]);
        }
        let mut template = install_chart::template("solar-operator", NAMESPACE);
        template.args(["--set", "replicas=0,crds.install=false", "--set", values]);
        cluster.apply(&run(&mut template));
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(client(cluster.kubeconfig()));
        let account = cluster.service_account(NAMESPACE, "solar-operator");
        Self {
            cluster,
            runtime,
            client,
            account,
        }
    }

    /// Starts an operator; its servers listen on ports that the system chooses, unless ports are given.
    pub fn start_operator(&self, name: &str, arguments: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_solar-operator"));
        command
            .env_clear()
            .env("KUBECONFIG", &self.account)
            .env("POD_NAMESPACE", NAMESPACE)
            .env("POD_NAME", name)
            .arg("--renderer-image=localhost/renderer:test")
            .args(["--health-probe-bind-address=127.0.0.1:0"])
            .args(arguments);
        if !arguments
            .iter()
            .any(|argument| argument.starts_with("--leader-elect"))
        {
            command.arg("--leader-elect=true");
        }
        self.cluster.spawn(name, &mut command);
    }

    /// Makes tasks, several at a time.
    pub fn order(&self, orders: &[Order]) {
        let made = stream::iter(orders).map(|order| async move {
            let object: DynamicObject = serde_json::from_value(order.object()).unwrap();
            order
                .api(&self.client)
                .create(&PostParams::default(), &object)
                .await
        });
        let made = made.buffer_unordered(PARALLEL).try_for_each(async |_| Ok(()));
        self.runtime.block_on(made).unwrap();
    }

    /// Every task there is, of both kinds.
    pub fn tasks(&self) -> Vec<Value> {
        let kinds = ["RenderTask", "ClusterRenderTask"];
        let lists = kinds.map(|kind| Api::<DynamicObject>::all_with(self.client.clone(), &resource(kind)));
        let mut tasks = Vec::new();
        for api in lists {
            let list = self.runtime.block_on(api.list(&ListParams::default())).unwrap();
            tasks.extend(list.items.iter().map(|task| serde_json::to_value(task).unwrap()));
        }
        tasks
    }

    /// How many objects of a kind the operator has made and are still there.
    pub fn left(&self, plural: &str) -> usize {
        let managed = "app.kubernetes.io/managed-by=solar-operator";
        let names = self
            .cluster
            .kubectl(&["get", plural, "-A", "-l", managed, "-o", "name"]);
        names.lines().count()
    }
}

impl Order {
    /// The URL that the renderer pushes to.
    pub fn url(&self) -> String {
        format!("oci://registry.test/charts/{}:1.0.0", self.name)
    }

    fn api(&self, client: &Client) -> Api<DynamicObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource("RenderTask")),
            None => Api::all_with(client.clone(), &resource("ClusterRenderTask")),
        }
    }

    fn object(&self) -> Value {
        let kind = if self.namespace.is_some() {
            "RenderTask"
        } else {
            "ClusterRenderTask"
        };
        json!({
            "apiVersion": "solar.opendefense.cloud/v1alpha1",
            "kind": kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "type": "release",
                "release": {
                    "chart": {"name": self.name, "version": "1.0.0", "description": "", "appVersion": ""},
                    "input": {
                        "component": {"name": "component"},
                        "resources": {"chart": {"repository": "registry.test/charts/x", "tag": "1.0.0"}},
                        "entrypoint": {"resourceName": "chart", "type": "helm"},
                    },
                    "values": {},
                },
                "baseURL": "oci://registry.test/charts",
                "repository": self.name,
                "tag": "1.0.0",
                "ownerKind": "Release",
                "ownerName": self.name,
                "ownerNamespace": self.namespace.as_deref().unwrap_or("platform"),
            },
        })
    }
}

/// What was asked for by the operators, from the cluster's audit events.
///
/// # Panics
/// When something was refused: the chart gives all the rights that are needed.
pub fn own_requests(requests: &[Value]) -> Vec<&Value> {
    let account = "system:serviceaccount:solar-system:solar-operator";
    let own = requests
        .iter()
        .filter(|event| event["user"]["username"] == account);
    let own: Vec<&Value> = own.collect();
    for event in &own {
        let code = &event["responseStatus"]["code"];
        assert!(code != 401 && code != 403, "refused: {event:#}");
        let agent = event["userAgent"].as_str().unwrap();
        assert!(agent.starts_with("solar-operator/"), "who asks: {event:#}");
    }
    own
}

/// The status of a task's condition; empty when it has none.
pub fn condition<'a>(task: &'a Value, kind: &str) -> &'a str {
    let conditions = task["status"]["conditions"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let found = conditions.iter().find(|condition| condition["type"] == kind);
    found
        .and_then(|condition| condition["status"].as_str())
        .unwrap_or("")
}

/// The digest that the pods report for a push to a URL.
pub fn digest_of(url: &str) -> String {
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(url) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        "solar.opendefense.cloud",
        "v1alpha1",
        kind,
    ))
}

async fn client(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.unwrap()).unwrap()
}
