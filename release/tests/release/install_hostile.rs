//! The install script where something is missing, cut or broken, and in shells without GNU's tools.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testbed::{Answer, Response, Server};

use crate::{TARGET, VERSION, dist, said, serve};

/// A folder with links to these programs, as the whole PATH.
fn tools(folder: &Path, names: &[&str]) -> PathBuf {
    let bin = folder.join("tools");
    fs::create_dir(&bin).unwrap();
    for name in names {
        let found = ["/usr/bin", "/bin"].map(|at| Path::new(at).join(name));
        let found = found.iter().find(|path| path.exists());
        symlink(found.unwrap_or_else(|| panic!("no {name}")), bin.join(name)).unwrap();
    }
    bin
}

/// The script, in this shell and with this PATH alone.
fn install(shell: &[&str], path: &Path, url: &str, prefix: &Path) -> (Option<i32>, String) {
    let mut install = Command::new(shell[0]);
    install
        .args(&shell[1..])
        .arg(dist().join("install.sh"))
        .arg("--prefix")
        .arg(prefix);
    install
        .env_clear()
        .env("PATH", path)
        .env("SOLAR_DOWNLOADS", url)
        .env("TMPDIR", prefix.parent().unwrap());
    said(&install.output().unwrap())
}

/// What POSIX has, and macOS: no GNU option is used, and bash 3.2 is as POSIX as the shells here.
const POSIX: [&str; 17] = [
    "cat", "cp", "grep", "gzip", "head", "id", "ln", "mkdir", "mktemp", "mv", "rm", "sed", "sh", "tar", "tr",
    "uname", "printf",
];

/// A folder with BusyBox's programs alone.
fn busybox(folder: &Path) -> PathBuf {
    let busybox = folder.join("busybox");
    fs::create_dir(&busybox).unwrap();
    for name in POSIX.iter().chain(&["wget", "sha256sum"]) {
        symlink("/bin/busybox", busybox.join(name)).unwrap();
    }
    busybox
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn it_runs_in_posix_shells_with_the_tools_of_busybox_or_without_sha256sum() {
    let (_server, url) = serve(|_, bytes| Some(bytes));
    let folder = tempfile::tempdir().unwrap();
    let busybox = busybox(folder.path());
    let perls = tools(folder.path(), &[&POSIX[..], &["curl", "shasum"]].concat());
    for (number, (shell, path)) in [
        (&["/bin/busybox", "sh"][..], &busybox),
        (&["/bin/dash"], &perls),
        (&["/bin/bash", "--posix"], &perls),
    ]
    .into_iter()
    .enumerate()
    {
        let prefix = folder.path().join(format!("prefix {number}"));
        let (code, text) = install(shell, path, &url, &prefix);
        assert_eq!(code, Some(0), "{shell:?}: {text}");
        assert!(prefix.join("bin/solar-renderer").is_symlink());
        assert!(prefix.join("share/man/man1/solar-render.1").is_file());
        let mode = fs::metadata(prefix.join("bin/solar-render"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_missing_tool_is_named_and_nothing_installed() {
    let (_server, url) = serve(|_, bytes| Some(bytes));
    for (missing, expected) in [
        ("curl", "curl or wget is needed to download"),
        ("sha256sum", "sha256sum or shasum is needed"),
        ("tar", "tar is needed to unpack"),
        ("gzip", "gzip is needed to unpack"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut names = [&POSIX[..], &["curl", "sha256sum"]].concat();
        names.retain(|name| *name != missing);
        let prefix = folder.path().join("prefix");
        let (code, text) = install(&["/bin/sh"], &tools(folder.path(), &names), &url, &prefix);
        assert!(code == Some(1) && text.contains(expected), "{missing}: {text}");
        assert!(!prefix.exists(), "{missing}");
    }
}

/// `curl … | sh` runs what has come so far.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_script_that_was_cut_anywhere_runs_nothing() {
    let (server, url) = serve(|_, bytes| Some(bytes));
    let script = fs::read_to_string(dist().join("install.sh")).unwrap();
    let whole = script.trim_end().len();
    let lines = script.match_indices('\n').map(|(at, _)| at + 1);
    let last = whole.saturating_sub(20)..whole;
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("prefix");
    for cut in lines.filter(|at| *at < whole).chain(last) {
        // In the comments before the first command, a cut script is an empty one.
        let mut shell = Command::new("sh");
        shell
            .args(["-s", "--", "--prefix"])
            .arg(&prefix)
            .stdin(Stdio::piped());
        shell
            .env("SOLAR_DOWNLOADS", &url)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        // A shell that ends at once closes the pipe.
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), &script.as_bytes()[..cut]);
        let (code, text) = said(&child.wait_with_output().unwrap());
        assert!(
            code != Some(0) || cut <= script.find('{').unwrap(),
            "{cut}: {text}"
        );
        assert!(!prefix.exists(), "{cut}: {text}");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_cut_download_installs_nothing_and_leaves_nothing() {
    let server = Server::start(|_| Answer::bytes("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nshort"));
    let folder = tempfile::tempdir().unwrap();
    // Its wget tries once; curl would try again for seconds.
    let path = busybox(folder.path());
    let prefix = folder.path().join("prefix");
    let url = format!("http://{}", server.host());
    let (code, text) = install(&["/bin/sh"], &path, &url, &prefix);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("can't be downloaded") || text.contains("has the SHA-256"),
        "{text}"
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "only BusyBox is left"
    );
}

/// The old program once was replaced before the new one was tried.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_program_that_does_not_run_here_replaces_none() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("solar-render-{VERSION}-{TARGET}");
    let root = folder.path().join(&name);
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::create_dir_all(root.join("share/man")).unwrap();
    fs::write(root.join("bin/solar-render"), "#!/bin/sh\nexit 1\n").unwrap();
    testbed::run(
        Command::new("chmod")
            .arg("755")
            .arg(root.join("bin/solar-render")),
    );
    let archive = folder.path().join(format!("{name}.tar.gz"));
    testbed::run(
        Command::new("tar")
            .arg("-C")
            .arg(folder.path())
            .arg("-czf")
            .arg(&archive)
            .arg(&name),
    );
    let sum = testbed::run(Command::new("sha256sum").arg(&archive));
    let script = fs::read_to_string(dist().join("install.sh")).unwrap();
    let line = script
        .lines()
        .find(|line| line.ends_with(&format!("{name}.tar.gz")))
        .unwrap();
    let script = script.replace(line, &format!("{}  {name}.tar.gz", &sum[..64]));
    fs::write(folder.path().join("install.sh"), script).unwrap();
    let prefix = folder.path().join("prefix");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::write(prefix.join("bin/solar-render"), "old").unwrap();
    let bytes = fs::read(&archive).unwrap();
    let server = Server::start(move |_| Answer::from(Response::status(200).body(bytes.clone())));
    let mut install = Command::new("sh");
    install
        .arg(folder.path().join("install.sh"))
        .arg("--prefix")
        .arg(&prefix);
    install.env("SOLAR_DOWNLOADS", format!("http://{}", server.host()));
    let (code, text) = said(&install.output().unwrap());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("doesn't run here: nothing is installed"), "{text}");
    assert_eq!(fs::read(prefix.join("bin/solar-render")).unwrap(), b"old");
    assert_eq!(fs::read_dir(prefix.join("bin")).unwrap().count(), 1);
}
