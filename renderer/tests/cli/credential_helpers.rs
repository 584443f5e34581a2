//! Credential helpers that hang: they end with the run, or before it at the time limit.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testbed::{Response, Server};

use crate::kubernetes_job::kill;
use crate::{Run, command};

/// A registry that asks who we are.
fn asking() -> Server {
    Server::start(|_| {
        let answer = Response::status(401);
        answer.header("WWW-Authenticate", "Basic realm=x").into()
    })
}

/// A run that waits for a helper and for what that one has started; their process ids come into `pids`.
fn start(folder: &Path, server: &Server, rest: &[&str]) -> Child {
    let script = "sleep 60 & echo $$ $! >pids.new; mv pids.new pids; wait";
    let mut install = Command::new("sh");
    install.current_dir(folder).args([
        "-c",
        r#"printf '#!/bin/sh\n%s\n' "$0" >docker-credential-slow && chmod 755 docker-credential-slow"#,
    ]);
    assert!(install.arg(script).status().unwrap().success());
    std::fs::write(folder.join("config.json"), r#"{"credsStore":"slow"}"#).unwrap();
    let mut tags = command();
    tags.current_dir(folder)
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .env("DOCKER_CONFIG", folder)
        .args([
            "tags",
            &format!("oci://{}/charts/app", server.host()),
            "--plain-http",
        ])
        .args(rest);
    tags.stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until it is so, for at most a time that no machine needs.
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

/// Zombie processes don't count as running.
fn nothing_runs(pids: &Path) -> bool {
    std::fs::read_to_string(pids)
        .unwrap()
        .split_whitespace()
        .all(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            !status
                .lines()
                .any(|line| line.starts_with("State:") && !line.contains('Z'))
        })
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_helper_ends_with_the_run_that_a_signal_ends() {
    let (folder, server) = (tempfile::tempdir().unwrap(), asking());
    let pids = folder.path().join("pids");
    let child = start(folder.path(), &server, &[]);
    wait_for("the helper runs", || pids.exists());
    kill(child.id(), "-TERM");
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, 143, "{}", run.stderr);
    wait_for("nothing of it is left", || nothing_runs(&pids));
}

#[test]
fn the_time_limit_of_the_run_holds_for_helpers() {
    let (folder, server) = (tempfile::tempdir().unwrap(), asking());
    let child = start(folder.path(), &server, &["--timeout", "1s", "--retries", "0"]);
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(
        run.stderr.contains("docker-credential-slow: no answer in 1s"),
        "{}",
        run.stderr
    );
    wait_for("nothing of it is left", || {
        nothing_runs(&folder.path().join("pids"))
    });
}
