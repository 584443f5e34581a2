//! A group of processes that end together, even if the test is killed.
//!
//! A value's destructor doesn't run for a `static` or after SIGKILL. So all of them are in one process group, and a
//! shell outside it reads from a pipe that only this process holds open: when the pipe closes, for whatever reason, the
//! shell kills the group and removes the folder.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// The polling interval of [`eventually`].
const INTERVAL: Duration = Duration::from_millis(50);
/// The number of log lines that a failure shows.
const SHOWN_LINES: usize = 20;

/// The shell's script. The file `cgroups` in the folder may list cgroups to remove. `--one-file-system`: mounted file
/// systems must not be emptied.
const GUARD: &str = r#"
trap "" INT TERM HUP
cat >/dev/null
kill -s KILL -- "-$1" 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
    left=
    while read -r cgroup; do
        find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null
        [ ! -d "$cgroup" ] || left=1
    done 2>/dev/null <"$2/cgroups"
    [ -n "$left" ] || ! rm -rf --one-file-system -- "$2" 2>/dev/null || exit 0
    sleep 0.2
done
"#;

/// A group of processes with their folder.
#[derive(Debug)]
pub(crate) struct Processes {
    folder: PathBuf,
    leader: Child,
    guard: Child,
    children: Mutex<Vec<(String, Child)>>,
}

impl Processes {
    /// An empty group, and a fresh folder.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("testbed-")
            .tempdir()
            .unwrap()
            .keep();
        // The group's first member: ends by itself when the pipe closes.
        let leader = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let guard = Command::new("sh")
            .args(["-c", GUARD, "testbed-guard", &leader.id().to_string()])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        Self {
            folder,
            leader,
            guard,
            children: Mutex::new(Vec::new()),
        }
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The process group's number.
    pub(crate) fn group(&self) -> i32 {
        i32::try_from(self.leader.id()).unwrap()
    }

    /// Starts one; its output is written to `NAME.log`.
    pub(crate) fn start(&self, name: &str, command: &mut Command) {
        let log = self.log(name);
        let file = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .process_group(self.group())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        self.children.lock().unwrap().push((name.to_owned(), child));
    }

    /// Kills one at once and waits for its end.
    pub(crate) fn kill(&self, name: &str) {
        let mut children = self.children.lock().unwrap();
        let index = children.iter().position(|(known, _)| known == name);
        let (_, mut child) = children.remove(index.unwrap_or_else(|| panic!("{name} was not started")));
        let _ = child.kill();
        let _ = child.wait();
    }

    /// The process id of one.
    pub(crate) fn id(&self, name: &str) -> u32 {
        let children = self.children.lock().unwrap();
        let found = children.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("{name} was not started")).1.id()
    }

    /// The path of a process's log.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Waits until `ready` holds; fails if the process ends before, or after `limit`.
    pub(crate) fn wait_for(&self, name: &str, limit: Duration, mut ready: impl FnMut() -> bool) {
        let end = Instant::now() + limit;
        while !ready() {
            let ended = self
                .children
                .lock()
                .unwrap()
                .iter_mut()
                .find_map(|(known, child)| (known == name).then(|| child.try_wait().unwrap()).flatten());
            if let Some(status) = ended {
                panic!("{name} ended with {status}:\n{}", self.tail(name));
            }
            assert!(
                Instant::now() < end,
                "{name} was not ready within {limit:?}:\n{}",
                self.tail(name)
            );
            thread::sleep(INTERVAL);
        }
    }

    fn tail(&self, name: &str) -> String {
        let Ok(file) = File::open(self.log(name)) else {
            return String::new();
        };
        let lines: Vec<String> = BufReader::new(file).lines().map_while(Result::ok).collect();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
        for (_, child) in self
            .children
            .get_mut()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
        {
            let _ = child.wait();
        }
        let _ = self.leader.wait();
    }
}

/// Polls until `done` returns a value.
///
/// # Panics
/// If it hasn't within `limit`, with what was waited for.
pub fn eventually<T>(what: &str, limit: Duration, mut done: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + limit;
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        thread::sleep(INTERVAL);
    }
}
