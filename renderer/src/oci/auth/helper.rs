//! Docker's credential helpers: `docker-credential-NAME get|store|erase`, the host or JSON on
//! standard input, JSON on standard output. They run with a time limit, and in a process group of their own, so that a
//! helper is killed with all processes that it has started. Its output is never shown.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;

use crate::oci::auth::credentials::Credentials;
use crate::secret::Secret;
use crate::world::World;

/// The maximum time a helper may take: some ask the user, or a cloud service.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The maximum size of its output, in bytes.
const MAX_OUTPUT: usize = 1 << 20;
/// How often a silent helper is checked for its end.
const TICK: Duration = Duration::from_millis(20);
/// A helper's output if it has no credentials, by Docker's protocol.
const NOT_FOUND: &str = "credentials not found in native keychain";
/// The user name that marks an identity token.
pub(in crate::oci) const TOKEN_USER: &str = "<token>";

/// The running helpers, for the signal handler.
static RUNNING: Mutex<Running> = Mutex::new(Running {
    ended: false,
    groups: Vec::new(),
});

struct Running {
    /// Set when no more may be started.
    ended: bool,
    groups: Vec<Pid>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "Username")]
    username: String,
    #[serde(rename = "Secret")]
    secret: String,
}

/// Gets the credentials for `server` from helper `name`. `Err` is a short reason for the failure.
pub(in crate::oci) fn get(
    name: &str,
    server: &str,
    world: &dyn World,
    limit: Duration,
) -> Result<Option<Credentials>, String> {
    let (status, output) = run(name, "get", server, world, limit)?;
    if !status.success() {
        return if says_nothing(&output) {
            Ok(None)
        } else {
            Err(format!("failed ({status})"))
        };
    }
    let answer: Answer =
        serde_json::from_slice(&output).map_err(|_| "did not answer in the helper protocol".to_owned())?;
    let secret = Secret::new(answer.secret);
    Ok(Some(if answer.username == TOKEN_USER {
        Credentials::IdentityToken(secret)
    } else {
        Credentials::Basic {
            username: answer.username,
            password: secret,
        }
    }))
}

/// Stores credentials for `server` with helper `name`.
pub(in crate::oci) fn store(
    name: &str,
    server: &str,
    username: &str,
    secret: &Secret,
    world: &dyn World,
    limit: Duration,
) -> Result<(), String> {
    let entry = serde_json::json!({
        "ServerURL": server, "Username": username, "Secret": secret.expose(),
    });
    match run(name, "store", &entry.to_string(), world, limit)? {
        (status, _) if status.success() => Ok(()),
        (status, _) => Err(format!("failed ({status})")),
    }
}

/// Erases `server` from helper `name`; `false` if it had no credentials for it.
pub(in crate::oci) fn erase(
    name: &str,
    server: &str,
    world: &dyn World,
    limit: Duration,
) -> Result<bool, String> {
    match run(name, "erase", server, world, limit)? {
        (status, _) if status.success() => Ok(true),
        (_, output) if says_nothing(&output) => Ok(false),
        (status, _) => Err(format!("failed ({status})")),
    }
}

fn says_nothing(output: &[u8]) -> bool {
    output
        .windows(NOT_FOUND.len())
        .any(|part| part == NOT_FOUND.as_bytes())
}

fn run(
    name: &str,
    verb: &str,
    input: &str,
    world: &dyn World,
    limit: Duration,
) -> Result<(ExitStatus, Vec<u8>), String> {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if !plain {
        return Err("not a valid helper name".to_owned());
    }
    let mut command = Command::new(format!("docker-credential-{name}"));
    if let Some(path) = world.env("PATH") {
        command.env("PATH", path);
    }
    command
        .arg(verb)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    let mut child = start(&mut command)?;
    let answer = converse(&mut child, input.as_bytes(), limit.min(TIME_LIMIT));
    if answer.is_err() {
        // In either case none of its processes may stay behind.
        end(&mut child);
    }
    answer
}

/// Kills all running helpers and prevents new ones, before a signal ends the process.
pub fn end_helpers() {
    let mut running = running();
    running.ended = true;
    for group in running.groups.drain(..) {
        // It may have ended already.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn running() -> MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(command: &mut Command) -> Result<Child, String> {
    let mut running = running();
    if running.ended {
        return Err("not run any more".to_owned());
    }
    let child = command
        .spawn()
        .map_err(|error| format!("can't be run ({})", error.kind()))?;
    running.groups.push(Pid::from_child(&child));
    Ok(child)
}

/// Its exit status, if it has ended. While the lock is held, no other process group can be mistaken for this one.
fn ended(child: &mut Child) -> Result<Option<ExitStatus>, String> {
    let mut running = running();
    let status = child.try_wait().map_err(|error| error.kind().to_string())?;
    if status.is_some() {
        let group = Pid::from_child(child);
        running.groups.retain(|one| *one != group);
    }
    Ok(status)
}

fn end(child: &mut Child) {
    let group = Pid::from_child(child);
    let mut running = running();
    running.groups.retain(|one| *one != group);
    if matches!(child.try_wait(), Ok(None)) {
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait();
    }
}

/// Writes and reads until it has ended: processes that it has started may go on, and keep its standard output open.
fn converse(child: &mut Child, words: &[u8], limit: Duration) -> Result<(ExitStatus, Vec<u8>), String> {
    let said = |error: io::Error| error.kind().to_string();
    let mut input = child.stdin.take();
    let mut output = child.stdout.take();
    let pipes = [
        input.as_ref().map(|pipe| ioctl_fionbio(pipe, true)),
        output.as_ref().map(|pipe| ioctl_fionbio(pipe, true)),
    ];
    for unblocked in pipes.into_iter().flatten() {
        unblocked.map_err(|error| said(error.into()))?;
    }
    let mut words = words;
    let mut bytes = Vec::new();
    let start = Instant::now();
    loop {
        // In this order: all it has written before its end can then be read.
        let status = ended(child)?;
        speak(&mut input, &mut words);
        listen(&mut output, &mut bytes).map_err(said)?;
        if bytes.len() > MAX_OUTPUT {
            return Err("its answer is too long".to_owned());
        }
        if let Some(status) = status {
            return Ok((status, bytes));
        }
        if start.elapsed() >= limit {
            return Err(format!("no answer in {limit:?}"));
        }
        wait(input.as_ref(), output.as_ref(), TICK.min(limit));
    }
}

/// Writes as much as it accepts now. A helper may answer without reading.
fn speak(input: &mut Option<ChildStdin>, words: &mut &[u8]) {
    while let Some(pipe) = input.as_mut().filter(|_| !words.is_empty()) {
        match pipe.write(words) {
            Ok(written) => *words = words.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => break,
        }
    }
    *input = None;
}

/// Reads as much as is available now.
fn listen(output: &mut Option<ChildStdout>, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut piece = [0; 4096];
    while let Some(pipe) = output.as_mut().filter(|_| bytes.len() <= MAX_OUTPUT) {
        match pipe.read(&mut piece) {
            Ok(0) => *output = None,
            Ok(read) => bytes.extend_from_slice(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits until it reads or writes, or for a moment.
fn wait(input: Option<&ChildStdin>, output: Option<&ChildStdout>, moment: Duration) {
    let moment = Timespec::try_from(moment).ok();
    let input = input.map(|pipe| PollFd::new(pipe, PollFlags::OUT));
    let output = output.map(|pipe| PollFd::new(pipe, PollFlags::IN));
    let mut pipes: Vec<PollFd<'_>> = input.into_iter().chain(output).collect();
    // If this fails, the next attempt only comes sooner.
    let _ = poll(&mut pipes, moment.as_ref());
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::world::Fixed;

    /// Installs this shell script as helper `name`; returns a world that finds it. `$0.pid` gets process ids.
    fn world_with(folder: &Path, name: &str, script: &str) -> Fixed {
        let path = folder.join(format!("docker-credential-{name}"));
        // Written by another process: while one of ours has the file open for writing, no fork may run it.
        let status = Command::new("sh")
            .args([
                "-c",
                r#"printf '#!/bin/sh\n%s\n' "$1" >"$2" && chmod 755 "$2""#,
                "sh",
            ])
            .arg(script)
            .arg(path)
            .status();
        assert!(status.unwrap().success());
        let mut world = Fixed::default();
        let dirs = format!("{}:/usr/bin:/bin", folder.display());
        world.env.insert("PATH".to_owned(), dirs);
        world
    }

    /// Whether any of the processes in the file is running. A zombie that its new parent has not reaped yet is not.
    fn runs(pids: &Path) -> bool {
        let text = std::fs::read_to_string(pids).unwrap();
        assert!(!text.is_empty());
        text.split_whitespace().any(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            status
                .lines()
                .any(|line| line.starts_with("State:") && !line.contains('Z'))
        })
    }

    #[test]
    fn a_helper_that_does_not_answer_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"sleep 60 & echo $$ $! > "$0.pid"; wait"#;
        let world = world_with(folder.path(), "slow", script);
        let start = Instant::now();
        let problem = run("slow", "get", "h", &world, Duration::from_millis(500)).unwrap_err();
        assert_eq!(problem, "no answer in 500ms");
        assert!(start.elapsed() < Duration::from_secs(20));
        let pids = folder.path().join("docker-credential-slow.pid");
        // Its children are dead by now, but init has to reap them.
        while runs(&pids) {
            assert!(start.elapsed() < Duration::from_secs(20), "it goes on");
            std::thread::yield_now();
        }
    }

    /// It once waited for the process that holds the pipe open, up to the time limit.
    #[test]
    fn an_answer_is_complete_when_the_helper_ends_whatever_it_leaves_running() {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"sleep 60 & echo $! > "$0.pid"; head -c 300000 /dev/zero; echo"#;
        let world = world_with(folder.path(), "forks", script);
        let (status, output) = run("forks", "get", "h", &world, Duration::from_secs(40)).unwrap();
        assert!(status.success() && output.len() == 300_001);
        let pids = folder.path().join("docker-credential-forks.pid");
        assert!(runs(&pids), "an agent may go on");
        let pid = std::fs::read_to_string(pids).unwrap();
        assert!(Command::new("kill").arg(pid.trim()).status().unwrap().success());
    }

    #[test]
    fn a_helper_that_reads_nothing_or_writes_endlessly_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let long = "x".repeat(500_000);
        let world = world_with(folder.path(), "deaf", "echo done");
        let (_, output) = run("deaf", "store", &long, &world, TIME_LIMIT).unwrap();
        assert_eq!(output, b"done\n");
        let world = world_with(folder.path(), "loud", "exec cat /dev/zero");
        let problem = run("loud", "get", "h", &world, TIME_LIMIT).unwrap_err();
        assert_eq!(problem, "its answer is too long");
        let world = world_with(folder.path(), "echo", "exec cat");
        let (_, output) = run("echo", "store", &long, &world, TIME_LIMIT).unwrap();
        assert_eq!(output.len(), long.len());
    }
}
