//! Kubernetes' control plane: etcd, kube-apiserver and kube-controller-manager.
//!
//! ```no_run
//! let cluster = testbed::Cluster::start(&testbed::ClusterSetup {
//!     crds: "…what `solar-operator crds` prints…",
//!     ..Default::default()
//! });
//! cluster.kubectl(&["create", "namespace", "tenant"]);
//! cluster.kubectl(&["-n", "tenant", "get", "serviceaccounts"]);
//! // For a client in this process: kube reads the file that KUBECONFIG names.
//! let admin = cluster.kubeconfig();
//! // With the rights of RBAC, and no others.
//! let restricted = cluster.service_account("tenant", "default");
//! ```
//!
//! Authorization is RBAC, and owner references that block deletion need the right to `update` the
//! owner's `finalizers`, as on `OpenShift`. There is no node: a pod stays Pending until the test
//! writes its end into its status, as a kubelet would. It takes about four seconds to start, and many tests can share
//! one, also in a `static`: its processes are killed when this one ends, for any reason.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use std::{fs, thread};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::network::Network;
use crate::port::Port;
use crate::processes::Processes;
use crate::tool::isolate;
use crate::{Authority, Identity, Tool, run};

/// How long a server may take to be ready; long enough for a loaded machine.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(120);
/// Where pods expect the API: at the port of the Service `kubernetes`.
const SERVICE_PORT: u16 = 443;
/// The process's name.
const APISERVER: &str = "kube-apiserver";
/// The process's name.
const CONTROLLERS: &str = "kube-controller-manager";
/// The group with all rights.
const ADMINISTRATORS: &str = "system:masters";
/// The audit policy: who did what to which object, without content. Requests of Kubernetes' own components are omitted.
const AUDIT_POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: None, userGroups: ["system:serviceaccounts:kube-system", "system:nodes"]}
- {level: None, users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"]}
- {level: Metadata}
"#;

/// The options of a control plane.
#[derive(Debug, Default)]
pub struct ClusterSetup<'a> {
    /// Manifests of CRDs, which are established before the controllers start: the garbage collector only finds owners
    /// of later kinds after half a minute.
    pub crds: &'a str,
    /// Whether to record requests for [`Cluster::requests`].
    pub audit: bool,
}

/// A running control plane; killed when dropped, and when this process ends.
#[derive(Debug)]
pub struct Cluster {
    processes: Processes,
    authority: Authority,
    network: Option<Network>,
    url: String,
    admin: PathBuf,
    ports: [Port; 3],
    /// The command that starts the API server.
    apiserver: Mutex<Option<Command>>,
}

impl Cluster {
    /// Starts one, ready for pods to be created in the namespace `default`.
    pub fn start(setup: &ClusterSetup<'_>) -> Self {
        Self::of(setup, Processes::new(), None)
    }

    /// Starts one for a node, with a scheduler, in a network namespace of its own.
    pub(crate) fn in_network(setup: &ClusterSetup<'_>) -> (Self, Network) {
        let processes = Processes::new();
        let network = Network::new(&processes);
        let cluster = Self::of(setup, processes, Some(network));
        cluster.start_scheduler();
        (cluster, network)
    }

    fn of(setup: &ClusterSetup<'_>, processes: Processes, network: Option<Network>) -> Self {
        let authority = Authority::below(processes.folder());
        let ports = [Port::free(), Port::free(), Port::free()];
        let port = network.map_or(ports[2].number(), |_| SERVICE_PORT);
        let mut cluster = Self {
            processes,
            authority,
            network,
            url: format!("https://127.0.0.1:{port}"),
            admin: PathBuf::new(),
            ports,
            apiserver: Mutex::new(None),
        };
        cluster.admin = cluster.user("admin", Some(ADMINISTRATORS));
        let etcd = cluster.start_etcd();
        let command = cluster.apiserver_command(setup, port, &etcd);
        cluster.apiserver = Mutex::new(Some(command));
        cluster.start_apiserver();
        if !setup.crds.is_empty() {
            cluster.apply(setup.crds);
            cluster.kubectl(&[
                "wait",
                "--for=condition=Established",
                "crd",
                "--all",
                "--timeout=60s",
            ]);
        }
        cluster.start_controllers();
        cluster
    }

    /// The URL of the API server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A folder that lives as long as the cluster, for a tool's HOME.
    pub fn home(&self) -> &Path {
        self.processes.folder()
    }

    /// The kubeconfig of an administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.admin
    }

    /// The kubeconfig of a user with the rights that RBAC gives to the user or the group.
    pub fn user(&self, name: &str, group: Option<&str>) -> PathBuf {
        self.kubeconfig_of(name, &self.authority.issue(name, group, &[]))
    }

    /// The kubeconfig of a user with a certificate.
    pub(crate) fn kubeconfig_of(&self, name: &str, identity: &Identity) -> PathBuf {
        let data = |path: &Path| STANDARD.encode(fs::read(path).unwrap());
        let user = json!({
            "client-certificate-data": data(&identity.cert),
            "client-key-data": data(&identity.key),
        });
        self.write_kubeconfig(name, &user)
    }

    /// The kubeconfig of a service account, which is created if it doesn't exist.
    pub fn service_account(&self, namespace: &str, name: &str) -> PathBuf {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"namespace": namespace, "name": name},
        });
        self.apply(&account.to_string());
        let token = self.kubectl(&["-n", namespace, "create", "token", name, "--duration=24h"]);
        self.write_kubeconfig(&format!("{namespace}-{name}"), &json!({"token": token.trim()}))
    }

    /// Runs kubectl as the administrator, and returns its output.
    ///
    /// # Panics
    /// If it fails, with its output.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        run(&mut self.kubectl_command(arguments))
    }

    /// kubectl as the administrator, to run with more settings or with another KUBECONFIG.
    pub fn kubectl_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(Tool::Kubectl);
        command.env("KUBECONFIG", &self.admin).args(arguments);
        command
    }

    /// Applies manifests server-side: YAML, or JSON if it begins with a brace.
    ///
    /// # Panics
    /// If the API server refuses, with its message.
    pub fn apply(&self, manifests: &str) {
        feed(
            &mut self.kubectl_command(&["apply", "--server-side", "-f", "-"]),
            manifests,
        );
    }

    /// All requests to the API so far, except by Kubernetes' own components: audit events of level Metadata. The setup
    /// must enable `audit`.
    pub fn requests(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.home().join("audit.log")).unwrap();
        // The server may be in the middle of writing the last line.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub(crate) fn processes(&self) -> &Processes {
        &self.processes
    }

    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// A tool in the cluster's network.
    pub(crate) fn command(&self, tool: Tool) -> Command {
        let Some(network) = self.network else {
            return tool.command(self.home());
        };
        let mut command = network.command(&tool.path());
        isolate(&mut command, self.home());
        command
    }

    fn write_kubeconfig(&self, name: &str, user: &Value) -> PathBuf {
        let authority = STANDARD.encode(fs::read(&self.authority.ca).unwrap());
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "testbed",
                "cluster": {"server": self.url, "certificate-authority-data": authority},
            }],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": name}}],
            "current-context": "testbed",
        });
        let path = self.home().join(format!("{}.kubeconfig", name.replace(':', "-")));
        fs::write(&path, text.to_string()).unwrap();
        path
    }

    /// Starts a program that is killed with the cluster; its output is in [`Cluster::log`].
    pub fn spawn(&self, name: &str, command: &mut Command) {
        self.processes.start(name, command);
    }

    /// Kills a program that was started with [`Cluster::spawn`].
    pub fn kill(&self, name: &str) {
        self.processes.kill(name);
    }

    /// The process id of such a program.
    pub fn process_id(&self, name: &str) -> u32 {
        self.processes.id(name)
    }

    /// The log file of such a program, or of one of the cluster's own.
    pub fn log(&self, name: &str) -> PathBuf {
        self.processes.log(name)
    }

    /// Kills the controller-manager: no Job creates pods, nothing is garbage-collected, until
    /// [`Cluster::start_controllers`].
    pub fn stop_controllers(&self) {
        self.processes.kill(CONTROLLERS);
    }

    /// Starts the controller-manager again.
    pub fn start_controllers(&self) {
        let kubeconfig = self.user("system:kube-controller-manager", None);
        let mut command = self.command(Tool::KubeControllerManager);
        command
            .arg(flag("kubeconfig", &kubeconfig))
            .arg(flag(
                "service-account-private-key-file",
                self.home().join("accounts.key"),
            ))
            .arg(flag("root-ca-file", &self.authority.ca))
            .args(["--use-service-account-credentials=true", "--leader-elect=false"])
            // No client uses it.
            .arg("--secure-port=0")
            // The defaults are rate limits for a shared API server, and slow Jobs down.
            .args([
                "--kube-api-qps=300",
                "--kube-api-burst=500",
                "--concurrent-job-syncs=10",
            ]);
        self.processes.start(CONTROLLERS, &mut command);
        self.processes.wait_for(CONTROLLERS, START_LIMIT, || {
            let mut account = self.kubectl_command(&["get", "serviceaccount", "default"]);
            account.output().is_ok_and(|output| output.status.success())
        });
    }

    /// Kills the API server: requests get no response until [`Cluster::start_apiserver`].
    pub fn stop_apiserver(&self) {
        self.processes.kill(APISERVER);
    }

    /// Starts the API server again. Existing watches must be restarted.
    pub fn start_apiserver(&self) {
        if let Some(command) = self.apiserver.lock().unwrap().as_mut() {
            self.processes.start(APISERVER, command);
        }
        self.processes.wait_for(APISERVER, START_LIMIT, || {
            let mut ready = self.kubectl_command(&["get", "--raw", "/readyz"]);
            ready.output().is_ok_and(|output| output.status.success())
        });
    }

    fn start_scheduler(&self) {
        let kubeconfig = self.user("system:kube-scheduler", None);
        let mut command = self.command(Tool::KubeScheduler);
        command
            .arg(flag("kubeconfig", &kubeconfig))
            .args(["--leader-elect=false", "--secure-port=0"])
            .args(["--kube-api-qps=300", "--kube-api-burst=500"]);
        self.processes.start("kube-scheduler", &mut command);
    }

    fn start_etcd(&self) -> String {
        let url = |index: usize| format!("http://127.0.0.1:{}", self.ports[index].number());
        let (client, peer) = (url(0), url(1));
        let mut command = self.command(Tool::Etcd);
        command
            .arg(flag("data-dir", self.home().join("etcd")))
            .args(["--name=testbed", "--log-level=warn"])
            .args([
                format!("--listen-client-urls={client}"),
                format!("--advertise-client-urls={client}"),
            ])
            .args([
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
            ])
            .arg(format!("--initial-cluster=testbed={peer}"));
        if run(self.command(Tool::Etcd).arg("--help")).contains("--unsafe-no-fsync") {
            command.arg("--unsafe-no-fsync");
        }
        self.processes.start("etcd", &mut command);
        client
    }

    fn apiserver_command(&self, setup: &ClusterSetup<'_>, port: u16, etcd: &str) -> Command {
        let (folder, authority) = (self.home(), &self.authority);
        let names = [
            "localhost",
            "kubernetes.default.svc",
            "127.0.0.1",
            Network::NODE,
            Network::SERVICE,
        ];
        let Identity { cert, key } = authority.issue("kube-apiserver", None, &names);
        let client = authority.issue("kube-apiserver-kubelet-client", Some(ADMINISTRATORS), &[]);
        let (private, public) = (folder.join("accounts.key"), folder.join("accounts.pub"));
        let accounts = KeyPair::generate().unwrap();
        fs::write(&private, accounts.serialize_pem()).unwrap();
        fs::write(&public, accounts.public_key_pem()).unwrap();
        let mut command = self.command(Tool::KubeApiserver);
        command
            .arg(format!("--etcd-servers={etcd}"))
            .arg(format!("--secure-port={port}"))
            .args(self.network.map_or(
                ["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"],
                |_| ["--bind-address=0.0.0.0", "--advertise-address=10.88.0.1"],
            ))
            // There is no kube-proxy here.
            .args([
                "--endpoint-reconciler-type=none",
                "--service-cluster-ip-range=10.96.0.0/16",
            ])
            .args([flag("cert-dir", folder), flag("client-ca-file", &authority.ca)])
            .args([flag("tls-cert-file", cert), flag("tls-private-key-file", key)])
            .arg(flag("kubelet-client-certificate", client.cert))
            .arg(flag("kubelet-client-key", client.key))
            .arg(flag("kubelet-certificate-authority", &authority.ca))
            .arg("--kubelet-preferred-address-types=InternalIP")
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(flag("service-account-key-file", public))
            .arg(flag("service-account-signing-key-file", private))
            .arg("--authorization-mode=Node,RBAC")
            .arg("--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement");
        if setup.audit {
            let policy = folder.join("audit.yaml");
            fs::write(&policy, AUDIT_POLICY).unwrap();
            command
                .arg(flag("audit-policy-file", policy))
                .arg(flag("audit-log-path", folder.join("audit.log")));
        }
        command
    }
}

fn flag(name: &str, path: impl AsRef<Path>) -> String {
    format!("--{name}={}", path.as_ref().display())
}

/// Runs a command with this on its standard input.
fn feed(command: &mut Command, text: &str) -> String {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = text.to_owned();
    // In a separate thread: the command may write before it has read everything.
    let writer = thread::spawn(move || {
        let _ = input.write_all(text.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}
