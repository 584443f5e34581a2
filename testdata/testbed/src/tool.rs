//! Programs that the tests call: named by a variable, on the PATH, or built once.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{self, ETCD, HELM_DOCS, HELM_UNITTEST, HELMFILE, KUBERNETES, SOURCE_CONTROLLER, Wrapped};

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Helm 4.
    Helm,
    /// The CNCF registry, version 3.
    Registry,
    /// Debian's `docker-registry`, version 2.8.
    DockerRegistry,
    /// go-containerregistry's command.
    Crane,
    /// Kustomize, which calls `helm` for its helmCharts.
    Kustomize,
    /// Helmfile, which calls `helm` for everything.
    Helmfile,
    /// helm-unittest, the program of the plugin.
    HelmUnittest,
    /// Makes READMEs of charts; its footer names its version.
    HelmDocs,
    /// Skopeo.
    Skopeo,
    /// Validates manifests against JSON Schemas.
    Kubeconform,
    /// Compares YAML, and objects of Kubernetes.
    Dyff,
    /// Sigstore's command.
    Cosign,
    /// etcd 3.4 or newer.
    Etcd,
    /// Kubernetes' API server.
    KubeApiserver,
    /// Kubernetes' controllers: Jobs, garbage collection, service accounts …
    KubeControllerManager,
    /// Kubernetes' scheduler.
    KubeScheduler,
    /// Kubernetes' agent on a node.
    Kubelet,
    /// Kubernetes' command.
    Kubectl,
    /// The container runtime.
    Containerd,
    /// containerd's command.
    Ctr,
    /// What starts containers for containerd.
    Runc,
    /// Flux's controller that fetches charts.
    SourceController,
    /// Kubebuilder's command that makes CRDs from Go types.
    ControllerGen,
    /// Checks workflows and actions of GitHub.
    Actionlint,
    /// The browser.
    Chromium,
}

/// A Go module with its version, or the Debian package that has a program.
enum From {
    /// What `go install` takes.
    Module(&'static str),
    /// The same for a command whose module has replace directives, which `go install` refuses, or that the linker tells its
    /// version.
    Replaced(Wrapped),
    Package(&'static str),
}

impl Tool {
    /// Its name, and where it is from.
    fn source(self) -> (&'static str, From) {
        match self {
            Self::Helm => ("helm", From::Module("helm.sh/helm/v4/cmd/helm@v4.3.1")),
            Self::Registry => (
                "registry",
                From::Module("github.com/distribution/distribution/v3/cmd/registry@v3.1.2"),
            ),
            Self::Crane => (
                "crane",
                From::Module("github.com/google/go-containerregistry/cmd/crane@v0.22.1"),
            ),
            Self::Kustomize => (
                "kustomize",
                From::Module("sigs.k8s.io/kustomize/kustomize/v5@v5.8.1"),
            ),
            Self::Helmfile => ("helmfile", From::Replaced(HELMFILE)),
            Self::HelmUnittest => ("helm-unittest", From::Replaced(HELM_UNITTEST)),
            Self::HelmDocs => ("helm-docs", From::Replaced(HELM_DOCS)),
            Self::DockerRegistry => ("docker-registry", From::Package("docker-registry")),
            Self::Cosign => (
                "cosign",
                From::Module("github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3"),
            ),
            Self::Skopeo => ("skopeo", From::Package("skopeo")),
            Self::Containerd => ("containerd", From::Package("containerd")),
            Self::Ctr => ("ctr", From::Package("containerd")),
            Self::Runc => ("runc", From::Package("runc")),
            Self::Chromium => ("chromium", From::Package("chromium")),
            Self::Etcd => ("etcd", From::Replaced(ETCD)),
            Self::KubeApiserver => ("kube-apiserver", From::Replaced(KUBERNETES)),
            Self::KubeControllerManager => ("kube-controller-manager", From::Replaced(KUBERNETES)),
            Self::KubeScheduler => ("kube-scheduler", From::Replaced(KUBERNETES)),
            Self::Kubelet => ("kubelet", From::Replaced(KUBERNETES)),
            Self::Kubectl => ("kubectl", From::Replaced(KUBERNETES)),
            Self::SourceController => ("source-controller", From::Replaced(SOURCE_CONTROLLER)),
            Self::Kubeconform => (
                "kubeconform",
                From::Module("github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"),
            ),
            Self::Dyff => ("dyff", From::Module("github.com/homeport/dyff/cmd/dyff@v1.12.0")),
            Self::ControllerGen => (
                "controller-gen",
                From::Module("sigs.k8s.io/controller-tools/cmd/controller-gen@v0.20.1"),
            ),
            Self::Actionlint => (
                "actionlint",
                From::Module("github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"),
            ),
        }
    }

    /// Where the program is.
    ///
    /// # Panics
    /// When it can't be had, saying what to install.
    pub fn path(self) -> PathBuf {
        let (program, from) = self.source();
        if let Some(path) = named(program) {
            return path;
        }
        if let Some(path) = search_dirs()
            .iter()
            .map(|dir| dir.join(program))
            .find(|path| path.is_file())
        {
            return path;
        }
        match from {
            From::Module(module) => build::install(program, module),
            From::Replaced(module) => build::wrapped(program, &module),
            From::Package(package) => panic!(
                "the tests need `{program}`: install the package {package}, or name the program in {}",
                variable(program)
            ),
        }
    }

    /// A command that runs it, in an environment without the user's settings.
    pub fn command(self, home: &Path) -> Command {
        let mut command = Command::new(self.path());
        isolate(&mut command, home);
        command
    }
}

/// Takes the user's settings out of a command's environment.
pub(crate) fn isolate(command: &mut Command, home: &Path) {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("OTEL_TRACES_EXPORTER", "none")
        .current_dir(home);
}

/// The environment variable that names the program to take.
fn variable(program: &str) -> String {
    format!("TESTBED_{}", program.to_uppercase().replace('-', "_"))
}

/// The program that its variable names.
fn named(program: &str) -> Option<PathBuf> {
    let variable = variable(program);
    let path = PathBuf::from(std::env::var_os(&variable).filter(|path| !path.is_empty())?);
    assert!(path.is_file(), "{variable} is {}: no file there", path.display());
    Some(path)
}

/// A program of this workspace that the test's own package doesn't have, built as it is now, or the one that
/// `TESTBED_<NAME>` names: alone it has other features of its dependencies than with the tests, so that all of them are
/// compiled again.
///
/// # Panics
/// When it doesn't compile.
pub fn workspace_program(package: &str, name: &str) -> PathBuf {
    if let Some(path) = named(name) {
        return path;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args([
            "build",
            "--locked",
            "--message-format=json",
            "--package",
            package,
            "--bin",
            name,
        ])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let said = run(&mut build);
    let messages = said
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let made = messages.filter(|message| message["target"]["name"] == name);
    let mut paths = made.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    paths
        .next_back()
        .unwrap_or_else(|| panic!("cargo did not say where it put {name}"))
}

/// Runs a command and returns what it printed.
///
/// # Panics
/// When it fails, with all it said.
pub fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Where envtest keeps a control plane, the PATH (with the folders of Debian's daemons, which a
/// user's lacks), and where `go install` puts things.
fn search_dirs() -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = std::env::var_os("KUBEBUILDER_ASSETS")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    dirs.extend(std::env::split_paths(&path));
    dirs.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    dirs.extend(std::env::var_os("GOBIN").map(PathBuf::from));
    dirs.extend(std::env::var_os("GOPATH").map(|path| PathBuf::from(path).join("bin")));
    dirs.extend(std::env::var_os("HOME").map(|home| PathBuf::from(home).join("go/bin")));
    dirs
}
