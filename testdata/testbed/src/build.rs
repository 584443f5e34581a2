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
    /// For the linker.
    flags: &'static str,
}

/// A version that the operator supports, with clients that are not too old for it.
pub(crate) const KUBERNETES: Wrapped = Wrapped {
    module: "k8s.io/kubernetes",
    version: "v1.34.4",
    package: "k8s.io/kubernetes/cmd/",
    staging: Some("v0.34.4"),
    // Without it the server can't say which version it is, and kubectl complains.
    flags: "-s -w -X k8s.io/component-base/version.gitVersion=v1.34.4",
};

/// The version that Kubernetes 1.34 is tested with.
pub(crate) const ETCD: Wrapped = Wrapped {
    module: "go.etcd.io/etcd/server/v3",
    version: "v3.6.5",
    package: "go.etcd.io/etcd/server/v3",
    staging: None,
    flags: "-s -w",
};

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
        let text = format!(
            "module testbed\n\ngo 1.24\n\n{required}\n{}",
            replaced.unwrap_or_default()
        );
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
