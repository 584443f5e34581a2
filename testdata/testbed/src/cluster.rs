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
//! writes its end into its status, as a kubelet would. It takes about four seconds to start, and
//! many tests can share one, in a `static` too: its processes end with this one, however that ends.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::port::Port;
use crate::processes::Processes;
use crate::{Authority, Identity, Tool, run};

/// How long a server may take to be ready; most of it is for machines that do much else.
const START_LIMIT: Duration = Duration::from_secs(120);
/// The process's name.
const CONTROLLERS: &str = "kube-controller-manager";
/// The group that may do everything.
const ADMINISTRATORS: &str = "system:masters";
/// What is kept of requests: who did what to which object, not what was in it. Kubernetes's own
/// components are left out.
const AUDIT_POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: None, userGroups: ["system:serviceaccounts:kube-system", "system:nodes"]}
- {level: None, users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"]}
- {level: Metadata}
"#;

/// What kind of control plane to start.
#[derive(Debug, Default)]
pub struct ClusterSetup<'a> {
    /// Manifests of CRDs, which are established before the controllers start: the garbage
    /// collector finds owners of kinds that come later only half a minute afterwards.
    pub crds: &'a str,
    /// Keep who asked for what, for [`Cluster::requests`].
    pub audit: bool,
}

/// A running control plane; killed when dropped, and when this process ends.
#[derive(Debug)]
pub struct Cluster {
    processes: Processes,
    authority: Authority,
    url: String,
    admin: PathBuf,
    _ports: [Port; 3],
}

impl Cluster {
    /// Starts one, ready for pods to be created in the namespace `default`.
    pub fn start(setup: &ClusterSetup<'_>) -> Self {
        let processes = Processes::new();
        let authority = Authority::below(processes.folder());
        let ports = [Port::free(), Port::free(), Port::free()];
        let url = format!("https://127.0.0.1:{}", ports[2].number());
        start_etcd(&processes, &ports);
        start_apiserver(&processes, &authority, setup, &ports);
        let mut cluster = Self {
            processes,
            authority,
            url,
            admin: PathBuf::new(),
            _ports: ports,
        };
        cluster.admin = cluster.user("admin", Some(ADMINISTRATORS));
        cluster.processes.wait_for("kube-apiserver", START_LIMIT, || {
            let mut ready = cluster.kubectl_command(&["get", "--raw", "/readyz"]);
            ready.output().is_ok_and(|output| output.status.success())
        });
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

    /// Where the API is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A folder that lives as long as the cluster, for a tool's HOME.
    pub fn home(&self) -> &Path {
        self.processes.folder()
    }

    /// The kubeconfig of one who may do everything.
    pub fn kubeconfig(&self) -> &Path {
        &self.admin
    }

    /// The kubeconfig of a user with the rights that RBAC gives to the user or the group.
    pub fn user(&self, name: &str, group: Option<&str>) -> PathBuf {
        let identity = self.authority.issue(name, group, &[]);
        let data = |path: &Path| STANDARD.encode(fs::read(path).unwrap());
        let user = json!({
            "client-certificate-data": data(&identity.cert),
            "client-key-data": data(&identity.key),
        });
        self.write_kubeconfig(name, &user)
    }

    /// The kubeconfig of a service account, which is made if it isn't there.
    pub fn service_account(&self, namespace: &str, name: &str) -> PathBuf {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"namespace": namespace, "name": name},
        });
        self.apply(&account.to_string());
        let token = self.kubectl(&["-n", namespace, "create", "token", name, "--duration=24h"]);
        self.write_kubeconfig(&format!("{namespace}-{name}"), &json!({"token": token.trim()}))
    }

    /// Runs kubectl as the administrator, and gives what it printed.
    ///
    /// # Panics
    /// When it fails, with all it said.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        run(&mut self.kubectl_command(arguments))
    }

    /// kubectl as the administrator, to run with more settings or with another KUBECONFIG.
    pub fn kubectl_command(&self, arguments: &[&str]) -> Command {
        let mut command = Tool::Kubectl.command(self.home());
        command.env("KUBECONFIG", &self.admin).args(arguments);
        command
    }

    /// Applies manifests on the server's side: YAML, or JSON when it begins with a brace.
    ///
    /// # Panics
    /// When the API server refuses, with what it said.
    pub fn apply(&self, manifests: &str) {
        feed(
            &mut self.kubectl_command(&["apply", "--server-side", "-f", "-"]),
            manifests,
        );
    }

    /// Everything that was asked of the API so far, but by Kubernetes's own components: audit
    /// events, of level Metadata. The setup must have asked for it.
    pub fn requests(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.home().join("audit.log")).unwrap();
        // The server may be in the middle of writing the last line.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
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

    /// Kills the controller-manager: no Job makes pods, nothing is collected, until
    /// [`Cluster::start_controllers`].
    pub fn stop_controllers(&self) {
        self.processes.kill(CONTROLLERS);
    }

    /// Starts the controller-manager again.
    pub fn start_controllers(&self) {
        let kubeconfig = self.user("system:kube-controller-manager", None);
        let mut command = Tool::KubeControllerManager.command(self.home());
        command
            .arg(flag("kubeconfig", &kubeconfig))
            .arg(flag(
                "service-account-private-key-file",
                self.home().join("accounts.key"),
            ))
            .arg(flag("root-ca-file", &self.authority.ca))
            .args(["--use-service-account-credentials=true", "--leader-elect=false"])
            // Nobody asks it for anything.
            .arg("--secure-port=0")
            // The defaults are for a controller-manager among others, and slow Jobs down.
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
}

fn flag(name: &str, path: impl AsRef<Path>) -> String {
    format!("--{name}={}", path.as_ref().display())
}

fn start_etcd(processes: &Processes, ports: &[Port; 3]) {
    let [client, peer] = [0, 1].map(|index: usize| format!("http://127.0.0.1:{}", ports[index].number()));
    let mut command = Tool::Etcd.command(processes.folder());
    command
        .arg(flag("data-dir", processes.folder().join("etcd")))
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
    let help = run(Tool::Etcd.command(processes.folder()).arg("--help"));
    if help.contains("--unsafe-no-fsync") {
        command.arg("--unsafe-no-fsync");
    }
    processes.start("etcd", &mut command);
}

fn start_apiserver(
    processes: &Processes,
    authority: &Authority,
    setup: &ClusterSetup<'_>,
    ports: &[Port; 3],
) {
    let folder = processes.folder();
    let Identity { cert, key } = authority.issue(
        "kube-apiserver",
        None,
        &["localhost", "kubernetes.default.svc", "127.0.0.1"],
    );
    let (private, public) = (folder.join("accounts.key"), folder.join("accounts.pub"));
    let accounts = KeyPair::generate().unwrap();
    fs::write(&private, accounts.serialize_pem()).unwrap();
    fs::write(&public, accounts.public_key_pem()).unwrap();
    let mut command = Tool::KubeApiserver.command(folder);
    command
        .arg(format!("--etcd-servers=http://127.0.0.1:{}", ports[0].number()))
        .arg(format!("--secure-port={}", ports[2].number()))
        .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
        // Nobody reaches the API through the Service `kubernetes`.
        .args([
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.96.0.0/16",
        ])
        .args([flag("cert-dir", folder), flag("client-ca-file", &authority.ca)])
        .args([flag("tls-cert-file", cert), flag("tls-private-key-file", key)])
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
    processes.start("kube-apiserver", &mut command);
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
    // In a thread of its own: the command may write before it has read all.
    let writer = thread::spawn(move || {
        let _ = input.write_all(text.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}
