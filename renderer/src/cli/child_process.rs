//! Runs a program to its end: its output, its exit code, and how long it took.
//!
//! It runs in a process group of its own, which is ended with it: at its time limit, when it prints too much, and when
//! the command is interrupted.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::compare::RenderRun;
use crate::fsio;
use crate::world::World;

/// How soon it is seen that it has ended.
const TICK: Duration = Duration::from_millis(1);

/// How much a run may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunLimits {
    /// Until it ends.
    pub(crate) time: Duration,
    /// Bytes of standard output, and of standard error.
    pub(crate) output: u64,
}

/// What a run printed, and how it ended.
#[derive(Debug)]
pub(crate) struct ProcessOutput {
    /// The exit code; none when a signal or a limit ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    /// The messages, with the limit that ended it.
    pub(crate) stderr: String,
    pub(crate) time: Duration,
}

/// A run, and how long it took.
#[derive(Debug)]
pub(crate) struct TimedRun {
    pub(crate) run: RenderRun,
    pub(crate) time: Duration,
}

/// Runs it. What reaches a limit counts as a run that a signal ended, and its messages say which.
///
/// # Errors
/// It can't be started.
pub(crate) fn run(
    command: &mut Command,
    limits: RunLimits,
    world: &dyn World,
    is_cancelled: &dyn Fn() -> bool,
) -> io::Result<TimedRun> {
    let output = run_with(command, Stdio::null(), limits, world, is_cancelled)?;
    let run = RenderRun {
        code: output.code,
        stdout: text(output.stdout),
        stderr: output.stderr,
    };
    Ok(TimedRun {
        run,
        time: output.time,
    })
}

/// As [`run`], with an input, for a program that prints bytes.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_with(
    command: &mut Command,
    stdin: Stdio,
    limits: RunLimits,
    world: &dyn World,
    is_cancelled: &dyn Fn() -> bool,
) -> io::Result<ProcessOutput> {
    // Files, so that nothing has to be read while it runs; they have no name, and go with the process.
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command
        .stdin(stdin)
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .process_group(0);
    let begin = world.uptime();
    let mut child = command.spawn()?;
    let ended = loop {
        if let Some(status) = child.try_wait()? {
            break Ok(status);
        }
        let length = |file: &File| file.metadata().map_or(0, |data| data.len());
        if length(&stdout).max(length(&stderr)) > limits.output {
            break Err(format!("printed more than {}", fsio::size(limits.output)));
        }
        if world.uptime().saturating_sub(begin) > limits.time {
            break Err(format!("did not end within {} s", limits.time.as_secs()));
        }
        if is_cancelled() {
            break Err("was interrupted".to_owned());
        }
        std::thread::sleep(TICK);
    };
    let time = world.uptime().saturating_sub(begin);
    let problem = end(&mut child, ended)?;
    let mut run = ProcessOutput {
        code: None,
        stdout: bytes(&mut stdout, limits.output)?,
        stderr: text(bytes(&mut stderr, limits.output)?),
        time,
    };
    match problem {
        Ok(status) => {
            run.code = status.code();
            if let Some(signal) = status.signal() {
                run.stderr.push_str(&format!("\nended: by signal {signal}\n"));
            }
        }
        Err(problem) => run.stderr.push_str(&format!("\nended: it {problem}\n")),
    }
    Ok(run)
}

fn end(child: &mut Child, ended: Result<ExitStatus, String>) -> io::Result<Result<ExitStatus, String>> {
    if ended.is_err() {
        // It may be gone already.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
        child.wait()?;
    }
    Ok(ended)
}

fn bytes(file: &mut File, most: u64) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::System;

    fn shell(script: &str, limits: RunLimits, cancelled: bool) -> RenderRun {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        run(&mut command, limits, &System, &|| cancelled).unwrap().run
    }

    const ENOUGH: RunLimits = RunLimits {
        time: Duration::from_secs(600),
        output: 1 << 20,
    };

    #[test]
    fn output_messages_and_code_are_kept() {
        let found = shell("echo out; echo err >&2; exit 3", ENOUGH, false);
        assert_eq!(
            (found.code, &*found.stdout, &*found.stderr),
            (Some(3), "out\n", "err\n")
        );
        // As the kernel does when memory runs out.
        let killed = shell("echo err >&2; kill -9 $$", ENOUGH, false);
        assert_eq!(
            (killed.code, &*killed.stderr),
            (None, "err\n\nended: by signal 9\n")
        );
        let missing = run(&mut Command::new("/nonexistent"), ENOUGH, &System, &|| false);
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_reaches_a_limit_is_ended() {
        let endless = "while :; do sleep 600; done";
        let time = Duration::ZERO;
        for (limits, cancelled, script, reason) in [
            (
                RunLimits { time, ..ENOUGH },
                false,
                endless,
                "did not end within 0 s",
            ),
            (
                RunLimits {
                    output: 1000,
                    ..ENOUGH
                },
                false,
                "while :; do echo aaaaaaaa; done",
                "printed more than 1000 bytes",
            ),
            (ENOUGH, true, endless, "was interrupted"),
        ] {
            let found = shell(script, limits, cancelled);
            assert_eq!(found.code, None);
            assert!(found.stderr.contains(reason), "{}", found.stderr);
        }
    }
}
