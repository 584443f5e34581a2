//! Docker's credential helpers: `docker-credential-NAME get`, the host on standard input, JSON
//! on standard output. Run with a time limit; what it prints is never shown.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
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
const TOKEN_USER: &str = "<token>";

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "Username")]
    username: String,
    #[serde(rename = "Secret")]
    secret: String,
}

/// Asks helper `name` for `server`. `Err` says in a few words why it was of no use.
pub(super) fn get(name: &str, server: &str, world: &dyn World) -> Result<Option<Credentials>, String> {
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
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("can't be run ({})", error.kind()))?;
    let output = converse(&mut child, server);
    if output.is_err() {
        // It may be gone already; either way it must not stay behind.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.kind().to_string())?;
    let output = output?;
    if !status.success() {
        let nothing = output
            .windows(NOT_FOUND.len())
            .any(|part| part == NOT_FOUND.as_bytes());
        return if nothing {
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

fn converse(child: &mut Child, server: &str) -> Result<Vec<u8>, String> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("has no standard input or output".to_owned());
    };
    // A helper may answer without reading.
    let _ = input.write_all(server.as_bytes());
    drop(input);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.take(MAX_OUTPUT).read_to_end(&mut bytes);
        // Nobody listens any more after the time limit.
        let _ = sender.send(read.map(|_| bytes));
    });
    match receiver.recv_timeout(TIME_LIMIT) {
        Ok(read) => read.map_err(|error| error.kind().to_string()),
        Err(_) => Err(format!("no answer in {} s", TIME_LIMIT.as_secs())),
    }
}
