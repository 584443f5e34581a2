//! As in a Kubernetes Job: any UID, a root that can't be written, no HOME, the config at
//! its mount, SIGTERM to PID 1. Namespaces really take the write access away.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sha2::Digest as _;
use solar_render::reference::Digest;
use testbed::Registry;

use crate::{Run, binary, testdata, tree};

/// A shell in separate mount and PID namespaces; works as root and as any user.
fn namespace(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child"]);
    if !is_root() {
        command.arg("--map-root-user");
    }
    command.args(["sh", "-euc", script]);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// A root file system with the program, its libraries and a config; `$ROOT` is read-only, and
/// the command `$@` runs in it as user 12345 (without root, the only user of the namespace).
const POD: &str = r#"
    mount --make-rprivate /
    mount --bind "$ROOT" "$ROOT"
    for library in usr lib lib64; do
        mkdir -p "$ROOT/$library"
        mount --rbind "/$library" "$ROOT/$library"
    done
    mkdir -p "$ROOT/dev"
    touch "$ROOT/dev/termination-log" "$ROOT/solar-render"
    mount --bind "$LOG" "$ROOT/dev/termination-log"
    mount --bind "$PROGRAM" "$ROOT/solar-render"
    mount -o remount,bind,ro "$ROOT"
    exec unshare --root="$ROOT" $USER env -i POD_NAME=pod POD_NAMESPACE=ns $WITH /solar-render "$@"
"#;

struct Pod {
    folder: tempfile::TempDir,
}

impl Pod {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("root/etc/renderer");
        std::fs::create_dir_all(&config).unwrap();
        let text = std::fs::read_to_string(testdata().join("release.yaml")).unwrap();
        let source = solar_render::source::Source::new("t", text);
        let limits = solar_render::yaml::Limits::default();
        let node = solar_render::yaml::parse(&source, solar_render::diag::Class::Config, &limits).unwrap();
        std::fs::write(config.join("config.json"), node.to_value().to_json()).unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, "").unwrap();
        std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o666)).unwrap();
        for path in [folder.path().to_owned(), folder.path().join("root")] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder }
    }

    fn command(&self, with: &str, words: &[&str]) -> Command {
        let mut command = namespace(POD);
        command.arg("sh").args(words);
        command
            .env("ROOT", self.folder.path().join("root"))
            .env("LOG", self.folder.path().join("log"));
        command.env("PROGRAM", binary()).env("WITH", with);
        command.env(
            "USER",
            if is_root() {
                "--setuid=12345 --setgid=12345"
            } else {
                ""
            },
        );
        command
    }

    fn message(&self) -> serde_json::Value {
        let text = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_job_pushes_and_leaves_its_result_in_the_termination_message() {
    let registry = Registry::start();
    let pod = Pod::new();
    let url = format!("--url=oci://{}/prod/shop-frontend:1.4.2", registry.host());
    let words = ["/etc/renderer/config.json", &url, "--plain-http=true"];
    let run = Run::of(&mut pod.command("", &words));
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let message = pod.message();
    assert_eq!(message["outcome"], "created");
    let local = Run::of(
        crate::command()
            .arg("digest")
            .arg(testdata().join("release.yaml")),
    );
    assert_eq!(
        message["digest"],
        local.stdout.trim(),
        "the laptop's YAML and the Job's JSON agree"
    );
    // The clock of the build is the user's on a laptop; a Job must not depend on it.
    let run = Run::of(&mut pod.command("SOURCE_DATE_EPOCH=1 TZ=Asia/Tokyo", &words));
    assert_eq!(
        (run.code, pod.message()["outcome"].as_str()),
        (0, Some("unchanged")),
        "{}",
        run.stderr
    );
}

#[test]
fn a_failed_job_says_why_in_the_termination_message() {
    let pod = Pod::new();
    let words = [
        "/etc/renderer/config.json",
        "--url=oci://127.0.0.1:1/x/shop-frontend",
        "--plain-http",
        "--retries=0",
    ];
    let run = Run::of(&mut pod.command("", &words));
    assert_eq!(run.code, 5, "{}", run.stderr);
    let error = &pod.message()["error"];
    assert_eq!(
        (&error["class"], &error["transient"]),
        (&"network".into(), &true.into())
    );
}

/// A kubelet once mounted what a deleted namesake's Secret had held, and that was pushed as a success.
#[test]
fn another_config_than_the_job_expects_is_not_rendered_and_the_next_pod_may_try() {
    let pod = Pod::new();
    let config = std::fs::read(pod.folder.path().join("root/etc/renderer/config.json")).unwrap();
    let digest = Digest::from_sha256(&sha2::Sha256::digest(&config).into());
    let with = |hex: &str| format!("SOLAR_CONFIG_SHA256={hex}");
    let words = ["/etc/renderer/config.json", "--skip-push"];
    let run = Run::of(&mut pod.command(&with(digest.hex()), &words));
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let run = Run::of(&mut pod.command(&with(&"0".repeat(64)), &words));
    assert_eq!(run.code, 5, "{}{}", run.stdout, run.stderr);
    let error = &pod.message()["error"];
    assert_eq!(
        (&error["class"], &error["transient"]),
        (&"io".into(), &true.into())
    );
    assert!(run.stderr.contains("older content"), "{}", run.stderr);
}

#[test]
fn nothing_is_written_where_nothing_may_be() {
    let pod = Pod::new();
    let words = [
        "/etc/renderer/config.json",
        "--url=oci-layout:/layout",
        "-o",
        "json",
    ];
    let run = Run::of(&mut pod.command("", &words));
    assert_eq!(
        (run.code, &run.json()["error"]["class"]),
        (5, &"io".into()),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("/layout"), "{}", run.stderr);
}

/// The kernel's own list of children is an option not every kernel has.
fn child_of(parent: u32) -> Option<u32> {
    std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let after_name = stat.rsplit(") ").next()?;
        (after_name.split(' ').nth(1)?.parse() == Ok(parent)).then_some(pid)
    })
}

/// Waits until the program runs and handles SIGTERM: then the signal can't come too early.
pub(crate) fn handled_child(parent: &Child) -> u32 {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        // From the top each time: the script's own children come and go.
        let pid = std::iter::successors(Some(parent.id()), |&pid| child_of(pid))
            .last()
            .unwrap();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
        if status.starts_with("Name:\tsolar-render\n") && caught & (1 << 14) != 0 {
            return pid;
        }
        std::thread::yield_now();
    }
    panic!("the program did not start");
}

pub(crate) fn kill(pid: u32, signal: &str) {
    assert!(
        Command::new("kill")
            .args([signal, &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn sigterm_ends_pid_1_with_a_result() {
    let pod = Pod::new();
    let mut command = pod.command("", &["-", "-o", "json"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Open until the end: the program waits for its config.
    let _stdin = child.stdin.take();
    kill(handled_child(&child), "-TERM");
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, 143, "{}", run.stderr);
    assert_eq!(run.json()["error"]["class"], "cancelled");
    assert_eq!(pod.message()["error"]["transient"], true);
}

/// Standard output is a pipe without a reader: the program blocks in `write`, and must still end.
#[test]
fn sigterm_ends_a_program_whose_output_has_no_reader() {
    // More results than any pipe holds.
    let charts = (0..2000).map(|count| format!("no-such-chart-with-a-rather-long-name-{count}"));
    let mut command = crate::command();
    command.arg("package").args(charts).args(["-o", "json"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _unread = child.stdout.take();
    kill(handled_child(&child), "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn an_interrupted_run_has_its_own_exit_code() {
    for (signal, code) in [("-INT", 130), ("-HUP", 143)] {
        // Tests that `nohup` started would pass on that they ignore one.
        let mut command = Command::new("env");
        let mut child = waiting(command.arg("--default-signal=HUP,INT").arg(crate::binary()));
        let _stdin = child.stdin.take();
        kill(handled_child(&child), signal);
        let run = Run::from(child.wait_with_output().unwrap());
        let class = &run.json()["error"]["class"];
        assert_eq!((run.code, class), (code, &"cancelled".into()), "{}", run.stderr);
    }
}

/// As `nohup` starts it.
#[test]
fn a_run_that_is_to_outlive_its_terminal_does() {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]);
    let mut child = waiting(command.arg(crate::binary()));
    let mut stdin = child.stdin.take().unwrap();
    kill(handled_child(&child), "-HUP");
    stdin.write_all(b"type: none\n").unwrap();
    drop(stdin);
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, 1, "it went on to read its config: {}", run.stdout);
}

/// A run that waits for its config.
fn waiting(command: &mut Command) -> Child {
    command.args(["-", "-o", "json"]).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// A chart whose archive has several MiB at any compression level.
fn large_chart(folder: &Path, bytes: usize) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(
        folder.join("Chart.yaml"),
        "apiVersion: v2\nname: large\nversion: 1.0.0\n",
    )
    .unwrap();
    let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join("data")).unwrap());
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..bytes / 8 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        file.write_all(&state.to_le_bytes()).unwrap();
    }
}

#[test]
fn a_full_disk_leaves_no_half_file() {
    let folder = tempfile::tempdir().unwrap();
    large_chart(&folder.path().join("large"), 4 << 20);
    let script = r#"
        mkdir -p out
        mount -t tmpfs -o size=1m tmpfs out
        code=0
        "$PROGRAM" package large -d out -q -o json || code=$?
        echo "$code"
        "$PROGRAM" push large oci-layout:out -q >/dev/null 2>&1 || echo "$?"
        find out -type f -size +0
    "#;
    let run = Run::of(
        namespace(script)
            .env("PROGRAM", binary())
            .current_dir(folder.path()),
    );
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines.len() >= 3, "{} {}", run.stdout, run.stderr);
    let error: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(
        (&error["error"]["class"], lines[1], lines[2]),
        (&"io".into(), "5", "5"),
        "{}",
        run.stderr
    );
    let strangers: Vec<&&str> = lines[3..]
        .iter()
        .filter(|path| !path.ends_with("/oci-layout"))
        .collect();
    assert!(
        strangers.iter().all(|path| path.contains("/blobs/sha256/")),
        "{strangers:?}"
    );
    assert!(
        !lines[3..]
            .iter()
            .any(|path| path.ends_with("index.json") || path.contains(".solar-render-")),
        "{lines:?}"
    );
}

#[test]
fn a_killed_run_leaves_no_file_under_its_final_name() {
    let folder = tempfile::tempdir().unwrap();
    large_chart(&folder.path().join("large"), 24 << 20);
    for _ in 0..3 {
        let mut command = crate::command();
        command
            .args(["package", "large", "-d", "out", "-q"])
            .current_dir(folder.path());
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = folder.path().join("out");
        // As soon as it writes anything, or is done.
        while child.try_wait().unwrap().is_none() && tree_or_nothing(&out) == 0 {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let archive = out.join("large-1.0.0.tgz");
        if archive.exists() {
            assert_eq!(
                Run::of(crate::command().arg("digest").arg(&archive)).code,
                0,
                "whole"
            );
            std::fs::remove_file(archive).unwrap();
        }
    }
}

fn tree_or_nothing(folder: &Path) -> usize {
    if folder.exists() { tree(folder).len() } else { 0 }
}

#[test]
fn memory_does_not_grow_with_the_chart() {
    let folder = tempfile::tempdir().unwrap();
    let peak = |name: &str, bytes: usize| {
        large_chart(&folder.path().join(name), bytes);
        let mut command = Command::new("/usr/bin/time");
        let run = Run::of(
            command
                .args(["-f", "%M"])
                .arg(binary())
                .args(["digest", "-q"])
                .arg(folder.path().join(name)),
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stderr.lines().last().unwrap().parse::<u64>().unwrap()
    };
    let (small, large) = (peak("small", 24 << 20), peak("big", 160 << 20));
    assert!(
        large < small + 8 * 1024,
        "{small} KiB for 24 MiB, {large} KiB for 160 MiB"
    );
    assert!(large < 48 * 1024, "{large} KiB");
}

/// The message once reported the interrupt without the registry that could not be reached.
#[test]
fn an_interrupted_push_names_what_it_waited_for() {
    use std::io::{BufRead as _, BufReader};
    let mut push = crate::command();
    push.arg(testdata().join("release.yaml"));
    // Nobody listens at port 1.
    push.args(["--url", "oci://127.0.0.1:1/charts", "--plain-http", "-o", "json"]);
    push.args(["--retries", "100"]);
    let mut child = push
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let waiting = lines.find(|line| line.starts_with("waiting: ")).unwrap();
    assert!(
        waiting.contains("127.0.0.1:1") && waiting.contains("refused"),
        "{waiting}"
    );
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let rest: Vec<String> = lines.collect();
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, 143, "{rest:?}");
    let notes = run.json()["error"]["notes"].to_string();
    assert!(
        notes.contains("waited for: ") && notes.contains("refused"),
        "{notes}"
    );
}
