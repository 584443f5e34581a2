//! Builds Go programs once for all tests and all runs, in the user's cache folder.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;

/// A module that is built from within another one, since it has replace directives, or for the linker's flags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wrapped {
    module: &'static str,
    version: &'static str,
    /// Prefix of the commands' packages; the program's name follows when it ends in a slash.
    package: &'static str,
    /// The version of the modules that it replaces by folders of its own.
    staging: Option<&'static str>,
    /// Its other replacements, as they stand in its go.mod.
    replaced: &'static [&'static str],
    /// For the linker.
    flags: &'static str,
}

impl Wrapped {
    /// The module with its version.
    pub(crate) fn name(&self) -> String {
        format!("{}@{}", self.module, self.version)
    }

    /// Its version.
    pub(crate) fn version(&self) -> &'static str {
        self.version
    }
}

/// A version that the operator supports, with clients that are not too old for it.
pub(crate) const KUBERNETES: Wrapped = Wrapped {
    module: "k8s.io/kubernetes",
    version: "v1.34.4",
    package: "k8s.io/kubernetes/cmd/",
    staging: Some("v0.34.4"),
    replaced: &[],
    // Without it the server can't say which version it is, and kubectl complains.
    flags: "-s -w -X k8s.io/component-base/version.gitVersion=v1.34.4",
};

/// The version that Kubernetes 1.34 is tested with.
pub(crate) const ETCD: Wrapped = Wrapped {
    module: "go.etcd.io/etcd/server/v3",
    version: "v3.6.5",
    package: "go.etcd.io/etcd/server/v3",
    staging: None,
    replaced: &[],
    flags: "-s -w",
};

pub(crate) const HELMFILE: Wrapped = Wrapped {
    module: "github.com/helmfile/helmfile",
    version: "v1.8.0",
    package: "github.com/helmfile/helmfile",
    staging: None,
    replaced: &[
        "k8s.io/api => k8s.io/api v0.35.4",
        "k8s.io/apimachinery => k8s.io/apimachinery v0.36.0",
        "k8s.io/client-go => k8s.io/client-go v0.35.4",
    ],
    flags: "-s -w",
};

pub(crate) const HELM_UNITTEST: Wrapped = Wrapped {
    module: "github.com/helm-unittest/helm-unittest",
    version: "v1.1.2",
    package: "github.com/helm-unittest/helm-unittest/cmd/helm-unittest",
    staging: None,
    replaced: &[
        "github.com/vmware-labs/yaml-jsonpath v0.3.2 => github.com/helm-unittest/yaml-jsonpath v0.4.0",
    ],
    flags: "-s -w",
};

pub(crate) const HELM_DOCS: Wrapped = Wrapped {
    module: "github.com/norwoodj/helm-docs",
    version: "v1.14.2",
    package: "github.com/norwoodj/helm-docs/cmd/helm-docs",
    staging: None,
    replaced: &[],
    // Without its version it writes no footer.
    flags: "-s -w -X main.version=1.14.2",
};

/// Flux's source-controller: the newest version that Go 1.26 takes.
pub(crate) const SOURCE_CONTROLLER: Wrapped = Wrapped {
    module: "github.com/fluxcd/source-controller",
    version: "v1.9.6",
    package: "github.com/fluxcd/source-controller",
    staging: None,
    replaced: &[
        // The module proxy refuses the version that it asks for.
        "github.com/fluxcd/pkg/artifact => github.com/fluxcd/pkg/artifact v0.18.1",
        "github.com/opencontainers/go-digest => github.com/opencontainers/go-digest v1.0.1-0.20220411205349-bde1400a84be",
    ],
    flags: "-s -w",
};

/// Where a module with its version is, below Go's module cache.
pub(crate) fn module_folder(module: &str, folder: &Path) -> PathBuf {
    let mut download = Command::new("go");
    download.args(["mod", "download", "-json", module]);
    let answer: serde_json::Value = serde_json::from_str(&run(download.current_dir(folder))).unwrap();
    PathBuf::from(answer["Dir"].as_str().unwrap())
}

/// `go install`.
pub(crate) fn install(program: &str, module: &str) -> PathBuf {
    let version = module.rsplit('@').next().unwrap();
    once(program, version, program, |fresh| {
        run(Command::new("go").args(["install", module]).env("GOBIN", fresh));
    })
}

/// `go build` within a module that repeats the replacements. The commands of one module are built
/// one after the other: they share most of what takes the time.
pub(crate) fn wrapped(program: &str, of: &Wrapped) -> PathBuf {
    let name = of.module.split('/').nth(1).unwrap();
    once(program, of.version, name, |fresh| {
        let package = if of.package.ends_with('/') {
            format!("{}{program}", of.package)
        } else {
            of.package.to_owned()
        };
        let replaced = of.staging.map(|version| replacements(of, version, fresh));
        let required = format!("require {} {}\n", of.module, of.version);
        let mut text = format!(
            "module testbed\n\ngo 1.24\n\n{required}\n{}",
            replaced.unwrap_or_default()
        );
        for line in of.replaced {
            let _ = writeln!(text, "replace {line}");
        }
        fs::write(fresh.join("go.mod"), text).unwrap();
        // Not made tidy before: that asks for what the tests of modules need, too, and not all of it can be had.
        let mut build = Command::new("go");
        build
            .args([
                "build",
                "-trimpath",
                "-ldflags",
                of.flags,
                "-o",
                program,
                &package,
            ])
            .current_dir(fresh)
            .env("CGO_ENABLED", "0")
            .env("GOFLAGS", "-mod=mod");
        run(&mut build);
    })
}

/// The module's replacements by folders of its own, as replacements by published modules.
fn replacements(of: &Wrapped, version: &str, fresh: &Path) -> String {
    let module = module_folder(&of.name(), fresh);
    let text = fs::read_to_string(module.join("go.mod")).unwrap();
    let mut out = String::new();
    for line in text.lines() {
        if let Some((name, _)) = line.trim().split_once(" => ./staging/") {
            let _ = writeln!(out, "replace {name} => {name} {version}");
        }
    }
    out
}

/// Makes `program` in a fresh folder, unless an earlier run has; one at a time of those that share
/// a `lock`.
pub(crate) fn once(program: &str, version: &str, lock: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .expect("neither XDG_CACHE_HOME nor HOME is set: nowhere to build test programs");
    let folder = cache.join("solar-testbed");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{program}-{version}"));
    let lock = File::create(folder.join(format!(".{lock}.lock"))).unwrap();
    lock.lock().unwrap();
    if path.is_file() {
        return path;
    }
    eprintln!(
        "testbed: building {program} {version} into {} (once)",
        folder.display()
    );
    let fresh = tempfile::tempdir_in(&folder).unwrap();
    make(fresh.path());
    fs::rename(fresh.path().join(program), &path).unwrap();
    path
}
