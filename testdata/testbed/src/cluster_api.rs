//! Cluster API's CRDs, from its own module: Clusters, and the control planes of kubeadm.

use std::fs;
use std::path::PathBuf;

use crate::build;

/// Its module.
const MODULE: &str = "sigs.k8s.io/cluster-api";
/// v1beta1 and v1beta2 are served.
const VERSION: &str = "v1.14.0";
/// Names a file with the CRDs, for machines without Go.
const CRDS: &str = "TESTBED_CLUSTER_API_CRDS";
/// Their files in the module.
const FILES: [&str; 2] = [
    "core/config/crd/bases/cluster.x-k8s.io_clusters.yaml",
    "controlplane/kubeadm/config/crd/bases/controlplane.cluster.x-k8s.io_kubeadmcontrolplanes.yaml",
];

/// The CRDs of Clusters and `KubeadmControlPlanes`. No webhook converts between their versions.
///
/// # Panics
/// When they can't be had.
pub fn cluster_api_crds() -> String {
    let named = std::env::var_os(CRDS).filter(|path| !path.is_empty());
    let path = named.map_or_else(make_crds, PathBuf::from);
    fs::read_to_string(path).unwrap()
}

fn make_crds() -> PathBuf {
    let name = "cluster-api-crds";
    build::once(name, VERSION, name, |fresh| {
        let folder = build::module_folder(&format!("{MODULE}@{VERSION}"), fresh);
        let texts = FILES.map(|file| fs::read_to_string(folder.join(file)).unwrap());
        fs::write(fresh.join(name), texts.join("\n---\n")).unwrap();
    })
}
