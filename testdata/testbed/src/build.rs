//! Builds Go programs once for all tests and all runs, in the user's cache folder.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;

/// A module that can only be built from within another one, since it has replace directives.
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

/// Flux's source-controller: the newest version that Go 1.26 takes. Only its CRDs: the program doesn't build where its
/// module `github.com/fluxcd/pkg/artifact` is not to be had.
const SOURCE_CONTROLLER: (&str, &str) = ("github.com/fluxcd/source-controller", "v1.9.6");
/// Names a file with the CRDs, for machines without Go.
const SOURCE_CONTROLLER_CRDS: &str = "TESTBED_SOURCE_CONTROLLER_CRDS";

/// The CRDs of Flux's source-controller, as its module has them.
///
/// # Panics
/// When they can't be had.
pub fn source_controller_crds() -> String {
    if let Some(path) = std::env::var_os(SOURCE_CONTROLLER_CRDS).filter(|path| !path.is_empty()) {
        return fs::read_to_string(path).unwrap();
    }
    let (module, version) = SOURCE_CONTROLLER;
    let name = "source-controller-crds";
    let path = once(name, version, name, |fresh| {
        let mut download = Command::new("go");
        download.args(["mod", "download", "-json", &format!("{module}@{version}")]);
        let answer: serde_json::Value = serde_json::from_str(&run(download.current_dir(fresh))).unwrap();
        let folder = Path::new(answer["Dir"].as_str().unwrap()).join("config/crd/bases");
        let mut paths: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        let texts: Vec<String> = paths
            .iter()
            .map(|path| fs::read_to_string(path).unwrap())
            .collect();
        fs::write(fresh.join(name), texts.join("\n---\n")).unwrap();
    });
    fs::read_to_string(path).unwrap()
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
        let go = |arguments: &[&str]| {
            let mut go = Command::new("go");
            go.args(arguments)
                .current_dir(fresh)
                .env("CGO_ENABLED", "0")
                .env("GOFLAGS", "-mod=mod");
            run(&mut go)
        };
        let tools = format!("//go:build tools\n\npackage tools\n\nimport _ {package:?}\n");
        fs::write(fresh.join("tools.go"), tools).unwrap();
        fs::write(fresh.join("go.mod"), "module testbed\n").unwrap();
        let replaced = of.staging.map(|version| replacements(of, version, &go));
        let required = format!("require {} {}\n", of.module, of.version);
        let mut text = format!(
            "module testbed\n\ngo 1.24\n\n{required}\n{}",
            replaced.unwrap_or_default()
        );
        for line in of.replaced {
            let _ = writeln!(text, "replace {line}");
        }
        fs::write(fresh.join("go.mod"), text).unwrap();
        go(&["mod", "tidy"]);
        go(&[
            "build",
            "-trimpath",
            "-ldflags",
            of.flags,
            "-o",
            program,
            &package,
        ]);
    })
}

/// The module's replacements by folders of its own, as replacements by published modules.
fn replacements(of: &Wrapped, version: &str, go: &impl Fn(&[&str]) -> String) -> String {
    let module = format!("{}@{}", of.module, of.version);
    let answer: serde_json::Value =
        serde_json::from_str(&go(&["mod", "download", "-json", &module])).unwrap();
    let text = fs::read_to_string(answer["GoMod"].as_str().unwrap()).unwrap();
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
fn once(program: &str, version: &str, lock: &str, make: impl FnOnce(&Path)) -> PathBuf {
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
