//! A node: a control plane with scheduler, kubelet and containerd, which runs pods.
//!
//! It is in a network namespace of its own, so clients must be run with [`Node::command`]. It needs root
//! (namespaces, mounts and cgroups), and changes nothing on the machine except cgroups, which it creates and removes.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::image::{Image, PAUSE, pause};
use crate::network::Network;
use crate::tool::isolate;
use crate::{Cluster, ClusterSetup, Tool, run};

/// How long a node may take to be ready; long enough for a loaded machine.
const START_LIMIT: Duration = Duration::from_secs(180);
const NAME: &str = "node1";
/// The sysctls that the kubelet requires.
const TUNABLES: [(&str, &str); 6] = [
    ("vm.overcommit_memory", "1"),
    ("vm.panic_on_oom", "0"),
    ("kernel.panic", "10"),
    ("kernel.panic_on_oops", "1"),
    ("kernel.keys.root_maxkeys", "1000000"),
    ("kernel.keys.root_maxbytes", "25000000"),
];

/// A running node; everything on it is killed when it is dropped, and when this process ends.
#[derive(Debug)]
pub struct Node {
    cluster: Cluster,
    network: Network,
}

impl Node {
    /// Starts one with these images; others are not pulled.
    ///
    /// # Panics
    /// If the machine can't run one, with what is missing.
    pub fn start(setup: &ClusterSetup<'_>, images: &[Image]) -> Self {
        check();
        let (cluster, network) = Cluster::in_network(setup);
        let node = Self { cluster, network };
        let folder = node.cluster.home();
        for name in ["log", "cni", "images", "tunables", "kubelet"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        for (name, value) in TUNABLES {
            fs::write(folder.join("tunables").join(name), format!("{value}\n")).unwrap();
        }
        let pause = pause(folder);
        for (index, image) in std::iter::once(&pause).chain(images).enumerate() {
            image.write(&folder.join(format!("images/{index}.tar")));
        }
        let cgroup = node.make_cgroup();
        fs::write(folder.join("cni/10-testbed.conflist"), cni(folder).to_string()).unwrap();
        fs::write(folder.join("containerd.toml"), containerd(folder)).unwrap();
        node.start_kubelet(&cgroup);
        node
    }

    /// Its control plane.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The network it is in, for a registry.
    pub fn network(&self) -> Network {
        self.network
    }

    /// A program in the node's network, with only PATH and HOME in its environment.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = self.network.command(program);
        isolate(&mut command, self.cluster.home());
        command.env("KUBECONFIG", self.cluster.kubeconfig());
        command
    }

    /// Creates a cgroup in each hierarchy, listed in a file so that the guard removes them.
    fn make_cgroup(&self) -> String {
        let name = self
            .cluster
            .home()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let root = Path::new("/sys/fs/cgroup");
        let unified = root.join("cgroup.controllers");
        let roots: Vec<PathBuf> = if let Ok(controllers) = fs::read_to_string(unified) {
            for controller in controllers.split_whitespace() {
                // Some can't be delegated; the kubelet reports those it needs.
                let _ = fs::write(root.join("cgroup.subtree_control"), format!("+{controller}"));
            }
            vec![root.to_owned()]
        } else {
            let hierarchies = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
            hierarchies
                .filter(|path| path.is_dir() && !path.is_symlink())
                .collect()
        };
        let mut list = String::new();
        for root in roots {
            let path = root.join(&name);
            let _ = writeln!(list, "{}", path.display());
            fs::write(self.cluster.home().join("cgroups"), &list).unwrap();
            // With version 1's hierarchies, this one is only for the runtime, which creates it itself.
            if !root.ends_with("unified") {
                fs::create_dir(path).unwrap();
            }
        }
        name
    }

    fn start_kubelet(&self, cgroup: &str) {
        let folder = self.cluster.home();
        let identity = self.cluster.authority().issue(
            &format!("system:node:{NAME}"),
            Some("system:nodes"),
            &[NAME, Network::NODE, "127.0.0.1"],
        );
        let kubeconfig = self
            .cluster
            .kubeconfig_of(&format!("system:node:{NAME}"), &identity);
        let config = kubelet(
            folder,
            cgroup,
            &self.cluster.authority().ca,
            &identity.cert,
            &identity.key,
        );
        fs::write(folder.join("kubelet.json"), config.to_string()).unwrap();
        fs::write(folder.join("node.sh"), include_str!("node.sh")).unwrap();
        let mut command = self.command(Path::new("unshare"));
        command
            .args([
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--propagation=private",
            ])
            .args(["sh", "node.sh"])
            .args([folder, Path::new(NAME), &kubeconfig])
            .env("CONTAINERD", Tool::Containerd.path())
            .env("CTR", Tool::Ctr.path())
            .env("KUBELET", Tool::Kubelet.path())
            .current_dir(folder);
        let processes = self.cluster.processes();
        processes.start("node", &mut command);
        let ready = "jsonpath={.status.conditions[?(@.type=='Ready')].status}{.spec.taints}";
        processes.wait_for("node", START_LIMIT, || {
            let output = self
                .cluster
                .kubectl_command(&["get", "node", NAME, "-o", ready])
                .output();
            output.is_ok_and(|output| output.stdout == b"True")
        });
    }
}

/// Fails with instructions if this machine can't run a node.
fn check() {
    for (program, package) in [
        ("unshare", "util-linux"),
        ("nsenter", "util-linux"),
        ("ip", "iproute2"),
    ] {
        let found = Command::new(program).arg("-V").output();
        assert!(
            found.is_ok(),
            "a node needs `{program}`: install the package {package}"
        );
    }
    assert!(
        cni_plugins().join("bridge").is_file(),
        "a node needs the CNI plugins: install the package containernetworking-plugins"
    );
    Tool::Containerd.path();
    Tool::Runc.path();
    let tried = Command::new("unshare")
        .args([
            "--net", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt",
        ])
        .output()
        .unwrap();
    assert!(
        tried.status.success(),
        "a node needs network, mount and process namespaces, and root in them: run the test as root, \
         in a container with `--privileged` ({})",
        String::from_utf8_lossy(&tried.stderr).trim()
    );
}

/// The folders of the CNI plugins in distributions.
fn cni_plugins() -> PathBuf {
    let known = ["/usr/lib/cni", "/opt/cni/bin"].map(PathBuf::from);
    let found = known.iter().find(|folder| folder.join("bridge").is_file());
    found.unwrap_or(&known[0]).clone()
}

fn cni(folder: &Path) -> Value {
    json!({
        "cniVersion": "1.0.0",
        "name": "testbed",
        "plugins": [{
            "type": "bridge", "bridge": Network::BRIDGE, "isGateway": false, "ipMasq": false,
            "ipam": {
                "type": "host-local",
                "dataDir": folder.join("cni/addresses"),
                "ranges": [[{"subnet": "10.88.0.0/16", "rangeStart": "10.88.1.1", "gateway": Network::NODE}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    })
}

fn containerd(folder: &Path) -> String {
    let on = run(Command::new("stat").args(["-f", "-c", "%T"]).arg(folder));
    // An overlay can't be mounted on an overlay, such as a container's root.
    let snapshotter = if on.trim() == "overlayfs" {
        "native"
    } else {
        "overlayfs"
    };
    let (root, cni) = (folder.join("containerd"), folder.join("cni"));
    let (plugins, runc) = (cni_plugins(), Tool::Runc.path());
    // Without the right to lower a score, runc can't start anything unless scores are restricted.
    format!(
        r#"version = 2
root = {root:?}
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = {PAUSE:?}
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = {plugins:?}
    conf_dir = {cni:?}
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = {snapshotter:?}
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = {runc:?}
        SystemdCgroup = false
"#
    )
}

fn kubelet(folder: &Path, cgroup: &str, authority: &Path, cert: &Path, key: &Path) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": Network::NODE,
        "readOnlyPort": 0,
        "tlsCertFile": cert,
        "tlsPrivateKeyFile": key,
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": authority},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{cgroup}"),
        "cgroupsPerQOS": true,
        "enforceNodeAllocatable": ["pods"],
        "failCgroupV1": false,
        "failSwapOn": false,
        "makeIPTablesUtilChains": false,
        "enableControllerAttachDetach": false,
        // A full disk would make it remove the images and evict the pods.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {
            "memory.available": "1Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
            "imagefs.available": "0%", "imagefs.inodesFree": "0%",
        },
        "oomScoreAdj": 0,
        // Names are not resolved: there is no DNS, and external servers must not be used.
        "resolvConf": "",
        "podLogsDir": "/var/log/pods",
        "volumePluginDir": folder.join("kubelet/plugins"),
    })
}
