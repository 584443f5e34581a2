//! Programs that the tests call: named by a variable, on the PATH, or built once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

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
    /// Skopeo.
    Skopeo,
    /// Sigstore's command.
    Cosign,
}

struct Source {
    variable: &'static str,
    program: &'static str,
    /// A Go module with its version, or the Debian package that has it.
    from: From,
}

enum From {
    Module(&'static str),
    Package(&'static str),
}

impl Tool {
    fn source(self) -> Source {
        let (variable, program, from) = match self {
            Self::Helm => (
                "TESTBED_HELM",
                "helm",
                From::Module("helm.sh/helm/v4/cmd/helm@v4.3.1"),
            ),
            Self::Registry => (
                "TESTBED_REGISTRY",
                "registry",
                From::Module("github.com/distribution/distribution/v3/cmd/registry@v3.1.2"),
            ),
            Self::Crane => (
                "TESTBED_CRANE",
                "crane",
                From::Module("github.com/google/go-containerregistry/cmd/crane@v0.22.1"),
            ),
            Self::DockerRegistry => (
                "TESTBED_DOCKER_REGISTRY",
                "docker-registry",
                From::Package("docker-registry"),
            ),
            Self::Cosign => (
                "TESTBED_COSIGN",
                "cosign",
                From::Module("github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3"),
            ),
            Self::Skopeo => ("TESTBED_SKOPEO", "skopeo", From::Package("skopeo")),
        };
        Source {
            variable,
            program,
            from,
        }
    }

    /// Where the program is.
    ///
    /// # Panics
    /// When it can't be had, saying what to install.
    pub fn path(self) -> PathBuf {
        let Source {
            variable,
            program,
            from,
        } = self.source();
        if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            assert!(path.is_file(), "{variable} is {}: no file there", path.display());
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
            From::Module(module) => build(program, module),
            From::Package(package) => panic!(
                "the tests need `{program}`: install the package {package}, or name the program in {variable}"
            ),
        }
    }

    /// A command that runs it, in an environment without the user's settings.
    pub fn command(self, home: &Path) -> Command {
        let mut command = Command::new(self.path());
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("OTEL_TRACES_EXPORTER", "none")
            .current_dir(home);
        command
    }
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

/// The PATH, and where `go install` puts things.
fn search_dirs() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    dirs.extend(std::env::var_os("GOBIN").map(PathBuf::from));
    dirs.extend(std::env::var_os("GOPATH").map(|path| PathBuf::from(path).join("bin")));
    dirs.extend(std::env::var_os("HOME").map(|home| PathBuf::from(home).join("go/bin")));
    dirs
}

/// Builds it once for all tests and all runs, in the user's cache folder.
fn build(program: &str, module: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .expect("neither XDG_CACHE_HOME nor HOME is set: nowhere to build test programs");
    let folder = cache.join("solar-testbed");
    fs::create_dir_all(&folder).unwrap();
    let version = module.rsplit('@').next().unwrap();
    let path = folder.join(format!("{program}-{version}"));
    let lock = File::create(folder.join(format!(".{program}.lock"))).unwrap();
    lock.lock().unwrap();
    if path.is_file() {
        return path;
    }
    eprintln!("testbed: building {module} into {} (once)", folder.display());
    let fresh = tempfile::tempdir_in(&folder).unwrap();
    let mut go = Command::new("go");
    go.args(["install", module]).env("GOBIN", fresh.path());
    run(&mut go);
    fs::rename(fresh.path().join(program), &path).unwrap();
    path
}
