//! Docker's credential helpers: `docker-credential-NAME get|store|erase`, the host or JSON on
//! standard input, JSON on standard output. Run with a time limit; what it prints is never shown.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::Deserialize;

use super::credentials::Credentials;
use super::secret::Secret;
use crate::world::World;

/// How long a helper may take: some ask the user, or a cloud.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The most that is read from it, in bytes.
const MAX_OUTPUT: u64 = 1 << 20;
/// What a helper says when it has nothing, by Docker's protocol.
const NOT_FOUND: &str = "credentials not found in native keychain";
/// The user name that marks an identity token.
pub(super) const TOKEN_USER: &str = "<token>";

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "Username")]
    username: String,
    #[serde(rename = "Secret")]
    secret: String,
}

/// Asks helper `name` for `server`. `Err` says in a few words why it was of no use.
pub(super) fn get(name: &str, server: &str, world: &dyn World) -> Result<Option<Credentials>, String> {
    let (status, output) = run(name, "get", server, world, TIME_LIMIT)?;
    if !status.success() {
        return if says_nothing(&output) {
            Ok(None)
        } else {
            Err(format!("failed ({status})"))
        };
    }
    let answer: Answer =
        serde_json::from_slice(&output).map_err(|_| "did not answer as a helper does".to_owned())?;
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

/// Has helper `name` keep them for `server`.
pub(super) fn store(
    name: &str,
    server: &str,
    username: &str,
    secret: &Secret,
    world: &dyn World,
) -> Result<(), String> {
    let entry = serde_json::json!({
        "ServerURL": server, "Username": username, "Secret": secret.expose(),
    });
    match run(name, "store", &entry.to_string(), world, TIME_LIMIT)? {
        (status, _) if status.success() => Ok(()),
        (status, _) => Err(format!("failed ({status})")),
    }
}

/// Has helper `name` forget `server`; `false` when it knew nothing of it.
pub(super) fn erase(name: &str, server: &str, world: &dyn World) -> Result<bool, String> {
    match run(name, "erase", server, world, TIME_LIMIT)? {
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
        return Err("not a helper's name".to_owned());
    }
    let mut command = Command::new(format!("docker-credential-{name}"));
    if let Some(path) = world.env("PATH") {
        command.env("PATH", path);
    }
    let mut child = command
        .arg(verb)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("can't be run ({})", error.kind()))?;
    let output = converse(&mut child, input, limit);
    if output.is_err() {
        // It may be gone already; either way it must not stay behind.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.kind().to_string())?;
    Ok((status, output?))
}

fn converse(child: &mut Child, words: &str, limit: Duration) -> Result<Vec<u8>, String> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("has no standard input or output".to_owned());
    };
    // A helper may answer without reading.
    let _ = input.write_all(words.as_bytes());
    drop(input);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.take(MAX_OUTPUT).read_to_end(&mut bytes);
        // Nobody listens any more after the time limit.
        let _ = sender.send(read.map(|_| bytes));
    });
    match receiver.recv_timeout(limit) {
        Ok(read) => read.map_err(|error| error.kind().to_string()),
        Err(_) => Err(format!("no answer in {limit:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Fixed;

    #[test]
    fn a_helper_that_does_not_answer_is_given_up_and_ended() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docker-credential-slow");
        let trace = folder.path().join("pid");
        let script = format!("#!/bin/sh\necho $$ > {}\nexec sleep 60\n", trace.display());
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut world = Fixed::default();
        let dirs = format!("{}:/usr/bin:/bin", folder.path().display());
        world.env.insert("PATH".to_owned(), dirs);
        let limit = Duration::from_millis(500);
        let start = std::time::Instant::now();
        let problem = run("slow", "get", "h", &world, limit).unwrap_err();
        assert_eq!(problem, "no answer in 500ms");
        assert!(start.elapsed() < Duration::from_secs(20));
        let pid = std::fs::read_to_string(trace).unwrap();
        let proc = format!("/proc/{}", pid.trim());
        assert!(
            !std::path::Path::new(&proc).exists(),
            "it was ended and waited for"
        );
    }
}
