//! The install script of a release, and the steps of `action.yml`, which run it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::{VERSION, dist, root, said, serve};

/// Runs it with another place of the archives.
fn install(url: &str, home: &Path, arguments: &[&str]) -> Output {
    let mut install = Command::new("sh");
    install.arg(dist().join("install.sh")).args(arguments);
    install
        .env("SOLAR_DOWNLOADS", url)
        .env("HOME", home)
        .env("TMPDIR", home);
    install.output().unwrap()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_script_installs_program_manual_pages_and_completions_twice_over() {
    let (_server, url) = serve(|_, bytes| Some(bytes));
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("a prefix");
    for _ in 0..2 {
        let (code, text) = said(&install(
            &url,
            folder.path(),
            &["--prefix", prefix.to_str().unwrap()],
        ));
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("is not on the PATH"), "{text}");
    }
    for file in [
        "share/man/man1/solar-render.1",
        "share/bash-completion/completions/solar-render",
    ] {
        assert!(prefix.join(file).is_file(), "{file}");
    }
    for program in ["solar-render", "solar-renderer"] {
        let version = testbed::run(Command::new(prefix.join("bin").join(program)).arg("--version"));
        assert!(version.contains(VERSION), "{version}");
    }
    let other = [
        "--program",
        "solar-operator",
        "--prefix",
        prefix.to_str().unwrap(),
    ];
    let (code, text) = said(&install(&url, folder.path(), &other));
    assert_eq!(code, Some(0), "{text}");
    assert!(prefix.join("bin/solar-operator").is_file());
    // Nothing is left behind.
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["a prefix"]);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_changed_or_missing_archive_installs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("prefix");
    let arguments = ["--prefix", prefix.to_str().unwrap()];
    let (_server, changed) = serve(|_, mut bytes| {
        bytes.push(0);
        Some(bytes)
    });
    let (code, text) = said(&install(&changed, folder.path(), &arguments));
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("has the SHA-256") && text.contains("nothing is installed"),
        "{text}"
    );
    let (_server, missing) = serve(|_, _| None);
    let (code, text) = said(&install(&missing, folder.path(), &arguments));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("can't be downloaded"), "{text}");
    assert!(!prefix.exists());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_unknown_platform_is_refused_with_those_that_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(
        bin.join("uname"),
        "#!/bin/sh\n[ \"$1\" = -m ] && echo riscv64 || echo Plan9\n",
    )
    .unwrap();
    testbed::run(Command::new("chmod").arg("755").arg(bin.join("uname")));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut install = Command::new("sh");
    install.arg(dist().join("install.sh")).env("PATH", path);
    let (code, text) = said(&install.env("HOME", folder.path()).output().unwrap());
    assert_eq!(code, Some(1), "{text}");
    let expected = "there is no solar-render for Plan9 on riscv64; there is: x86_64-unknown-linux-gnu";
    assert!(text.contains(expected), "{text}");
    for wrong in [
        &["--program", "helm"][..],
        &["--prefix"],
        &["--prefix", ""],
        &["--prefix="],
        &["now"],
    ] {
        let (code, text) = said(&super::install::install(
            "http://127.0.0.1:1",
            folder.path(),
            wrong,
        ));
        assert_eq!(code, Some(1), "{text}");
    }
}

/// A user without rights: `HOME/.local` is the prefix, and a folder of root's is refused before anything is written.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_user_installs_below_home() {
    let (_server, url) = serve(|_, bytes| Some(bytes));
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    let script = folder.path().join("install.sh");
    fs::copy(dist().join("install.sh"), &script).unwrap();
    for path in [folder.path(), &script] {
        testbed::run(Command::new("chmod").arg("755").arg(path));
    }
    testbed::run(Command::new("chown").arg("65532:65532").arg(&home));
    let as_user = |arguments: &[&str]| {
        let mut user = Command::new("setpriv");
        user.args(["--reuid=65532", "--regid=65532", "--clear-groups", "sh"])
            .arg(&script)
            .args(arguments);
        user.env("SOLAR_DOWNLOADS", &url)
            .env("HOME", &home)
            .env("TMPDIR", &home);
        said(&user.output().unwrap())
    };
    let (code, text) = as_user(&["--prefix", "/usr/local/solar"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("--prefix names another folder"), "{text}");
    let (code, text) = as_user(&[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(home.join(".local/bin/solar-render").is_file());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_actions_steps_install_what_is_pinned_and_take_it_from_the_cache() {
    let (server, url) = serve(|_, bytes| Some(bytes));
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let sum = testbed::run(Command::new("sha256sum").arg(dist().join("install.sh")));
    let sum = &sum[..64];
    let place = at("self-hosted tools/solar-render").join(format!("{VERSION}-{sum}"));
    let step = |word: &str, version: &str, sha256: &str| {
        let mut step = Command::new(root().join("release/setup"));
        step.arg(word)
            .env("VERSION", version)
            .env("SHA256", sha256)
            .env("DOWNLOADS", &url)
            .env("INSTALL_PATH", &place)
            .env("RUNNER_TOOL_CACHE", at("self-hosted tools"))
            .env("GITHUB_OUTPUT", at("output"))
            .env("GITHUB_PATH", at("path"));
        said(&step.output().unwrap())
    };
    for (version, sha256) in [("v1; true", ""), (VERSION, "abc")] {
        let (code, text) = step("place", version, sha256);
        assert!(code == Some(1) && text.starts_with("::error"), "{text}");
    }
    assert_eq!(step("place", VERSION, sum).0, Some(0));
    let output = fs::read_to_string(at("output")).unwrap();
    assert_eq!(output, format!("path={}\n", place.display()));
    // What was installed without a digest, or from another script, is elsewhere.
    assert_eq!(step("place", VERSION, "").0, Some(0));
    let output = fs::read_to_string(at("output")).unwrap();
    assert!(output.ends_with(&format!("/{VERSION}-unpinned\n")), "{output}");

    let (code, text) = step("install", VERSION, &"0".repeat(64));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("nothing is installed") && !place.exists(), "{text}");
    let (code, text) = step("install", VERSION, sum);
    assert_eq!(code, Some(0), "{text}");
    let path = fs::read_to_string(at("path")).unwrap();
    assert_eq!(path, format!("{}\n", place.join("bin").display()));
    let requests = server.requests().len();
    assert_eq!(step("install", VERSION, sum).0, Some(0));
    assert_eq!(server.requests().len(), requests, "it was there");
    let names = fs::read_dir(place.parent().unwrap()).unwrap();
    assert_eq!(names.count(), 1, "temporary folders are left");
}
