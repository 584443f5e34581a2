//! Flux beside a control plane: its source-controller, which fetches what `OCIRepositories` name, verifies signatures, and
//! serves the charts to whoever installs them. helm-controller can't be had as a Go module; its API can, and so the kind
//! `HelmRelease`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::build::{self, SOURCE_CONTROLLER};
use crate::cluster::START_LIMIT;
use crate::port::Port;
use crate::{Cluster, Tool, run};

/// helm-controller's API: the newest version that Go 1.26 takes.
const HELM_CONTROLLER_API: &str = "github.com/fluxcd/helm-controller/api@v1.6.5";
/// Names a file with the CRDs, for machines without Go.
const CRDS: &str = "TESTBED_FLUX_CRDS";
/// The process's name.
const NAME: &str = "source-controller";

/// The CRDs of Flux's source-controller and helm-controller, from their own modules.
///
/// # Panics
/// When they can't be had.
pub fn flux_crds() -> String {
    let named = std::env::var_os(CRDS).filter(|path| !path.is_empty());
    let path = named.map_or_else(make_crds, PathBuf::from);
    fs::read_to_string(path).unwrap()
}

fn make_crds() -> PathBuf {
    let name = "flux-crds";
    build::once(name, SOURCE_CONTROLLER.version(), name, |fresh| {
        let folder = build::module_folder(&SOURCE_CONTROLLER.name(), fresh).join("config/crd/bases");
        let mut paths: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        let mut texts: Vec<String> = paths
            .iter()
            .map(|path| fs::read_to_string(path).unwrap())
            .collect();
        texts.push(helm_releases(fresh));
        fs::write(fresh.join(name), texts.join("\n---\n")).unwrap();
    })
}

/// The CRD of `HelmReleases`, made from their Go types as Flux makes it.
fn helm_releases(fresh: &Path) -> String {
    let module = build::module_folder(HELM_CONTROLLER_API, fresh);
    let mut generate = Tool::ControllerGen.command(fresh);
    // Go's caches are where the user has them.
    for name in ["HOME", "GOPATH", "GOMODCACHE", "GOCACHE"] {
        generate.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    run(generate
        .args(["crd", "paths=./v2", "output:crd:stdout"])
        .current_dir(module))
}

/// A running source-controller. It ends with its cluster.
#[derive(Debug)]
pub struct SourceController {
    _ports: [Port; 2],
}

impl SourceController {
    /// Installs Flux's CRDs and starts it for all namespaces, where it reaches the API server and serves what it fetched on
    /// the loopback.
    ///
    /// # Panics
    /// When it doesn't start, with the end of its log.
    pub fn start(cluster: &Cluster) -> Self {
        cluster.apply(&flux_crds());
        let established = ["--for=condition=Established", "crd", "--all", "--timeout=60s"];
        cluster.kubectl(&[&["wait"], &established[..]].concat());
        let storage = cluster.home().join("source-controller");
        let temporary = storage.join("tmp");
        fs::create_dir_all(&temporary).unwrap();
        let ports = [Port::free(), Port::free()];
        let [artifacts, health] = ports
            .each_ref()
            .map(|port| format!("127.0.0.1:{}", port.number()));
        let mut command = cluster.command(Tool::SourceController);
        command
            .env("KUBECONFIG", cluster.kubeconfig())
            .env("TMPDIR", temporary)
            .arg(format!("--storage-path={}", storage.display()))
            .args([
                format!("--storage-addr={artifacts}"),
                format!("--storage-adv-addr={artifacts}"),
                format!("--health-addr={health}"),
            ])
            .args(["--metrics-addr=0", "--events-addr="])
            .args(["--watch-all-namespaces", "--enable-leader-election=false"]);
        cluster.spawn(NAME, &mut command);
        cluster.processes().wait_for(NAME, START_LIMIT, || {
            let server = format!("--server=http://{health}");
            let mut ready = cluster.kubectl_command(&["get", "--raw", "/readyz", &server]);
            ready.output().is_ok_and(|output| output.status.success())
        });
        Self { _ports: ports }
    }
}
