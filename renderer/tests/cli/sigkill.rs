//! SIGKILL at any moment: no file under its final name that is not whole, no tag on a wrong manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use testbed::{Registry, Server, forward};

use crate::{Run, command, tree};

/// Kills of each command.
const KILLS: u64 = 8;

struct Ground {
    registry: Registry,
    /// The same, slower: there are more moments in which something is half done.
    slow: Server,
    folder: tempfile::TempDir,
    digests: Vec<String>,
}

impl Ground {
    fn new() -> Self {
        let registry = Registry::start();
        let upstream = registry.host().to_owned();
        let slow = Server::start(move |request| {
            std::thread::sleep(Duration::from_millis(3));
            forward(request, &upstream).into()
        });
        let folder = tempfile::tempdir().unwrap();
        let digests = (0..4)
            .map(|number| chart(&folder.path().join(format!("in/c{number}")), number))
            .collect();
        Self {
            registry,
            slow,
            folder,
            digests,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs it to some moment, ever later, and then looks.
    fn kill_at_random(&self, words: &[&str], look: impl Fn()) {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64 ^ words.len() as u64;
        let whole = {
            let start = std::time::Instant::now();
            let mut child = self.start(words);
            child.wait().unwrap();
            look();
            self.clean();
            start.elapsed()
        };
        for kill in 0..KILLS {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            // Somewhere in each part of the whole run.
            let part = whole / u32::try_from(KILLS).unwrap();
            let within = part.mul_f64((bits % 1000) as f64 / 1000.0);
            let mut child = self.start(words);
            std::thread::sleep(part * u32::try_from(kill).unwrap() + within);
            child.kill().unwrap();
            child.wait().unwrap();
            look();
            if kill % 2 == 0 {
                self.clean();
            }
        }
        // The files that the killed run left don't prevent the next one.
        let mut child = self.start(words);
        assert!(child.wait().unwrap().success());
        look();
    }

    fn start(&self, words: &[&str]) -> std::process::Child {
        let mut run: Command = command();
        run.args(words).args(["-q"]).current_dir(self.folder.path());
        run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn clean(&self) {
        let _ = fs::remove_dir_all(self.path("out"));
    }

    /// Every chart that has a tag is whole: all of it is read, and checked against its digests.
    fn check_place(&self, place: &str) {
        for (number, digest) in self.digests.iter().enumerate() {
            let name = format!("{place}/c{number}");
            let listed = Run::of(
                command()
                    .args(["tags", &name, "--plain-http"])
                    .current_dir(self.folder.path()),
            );
            if !listed.stdout.contains("1.0.0") {
                continue;
            }
            let check = self.path("check");
            let mut pull = command();
            pull.args([
                "pull",
                &format!("{name}:1.0.0"),
                "--plain-http",
                "--expect-digest",
                digest,
                "-d",
            ]);
            let run = Run::of(pull.arg(&check).current_dir(self.folder.path()));
            assert_eq!(run.code, 0, "{}", run.stderr);
            fs::remove_dir_all(check).unwrap();
        }
    }

    /// Every archive with its final name has its digest.
    fn check_archives(&self, folder: &Path) {
        if !folder.exists() {
            return;
        }
        for path in tree(folder)
            .keys()
            .filter(|path| path.extension().is_some_and(|end| end == "tgz"))
        {
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.starts_with('.') || path.display().to_string().contains("/.solar-render-") {
                continue;
            }
            let number: usize = name[1..2].parse().unwrap();
            let run = Run::of(command().arg("digest").arg(path));
            assert_eq!(run.stdout.trim(), self.digests[number], "{name}: {}", run.stderr);
        }
    }
}

/// A chart that takes a moment, and its digest.
fn chart(folder: &Path, number: u32) -> String {
    fs::create_dir_all(folder).unwrap();
    fs::write(
        folder.join("Chart.yaml"),
        format!("apiVersion: v2\nname: c{number}\nversion: 1.0.0\n"),
    )
    .unwrap();
    let noise: Vec<u8> = (0..1_000_000_u32)
        .map(|at| (at + number).wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    fs::write(folder.join("noise"), noise).unwrap();
    Run::of(command().arg("digest").arg(folder))
        .stdout
        .trim()
        .to_owned()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_push_to_a_registry_or_many() {
    let ground = Ground::new();
    for (number, words) in [["push", "in/c0"], ["publish", "in"]].into_iter().enumerate() {
        let there = format!("oci://{}/charts{number}", ground.registry.host());
        let to = format!("oci://{}/charts{number}", ground.slow.host());
        ground.kill_at_random(&[words[0], words[1], &to, "--plain-http"], || {
            ground.check_place(&there)
        });
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_push_or_a_copy_to_a_layout() {
    let ground = Ground::new();
    ground.kill_at_random(&["publish", "in", "oci-layout:out"], || {
        ground.check_place("oci-layout:out")
    });
    ground.clean();
    let place = format!("oci://{}/charts", ground.registry.host());
    let pushed = ground
        .start(&["push", "in/c0", &place, "--plain-http"])
        .wait()
        .unwrap();
    assert!(pushed.success());
    let from = format!("oci://{}/charts/c0:1.0.0", ground.slow.host());
    ground.kill_at_random(&["copy", &from, "oci-layout:out", "--plain-http"], || {
        ground.check_place("oci-layout:out")
    });
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_pull_or_a_push_to_a_folder() {
    let ground = Ground::new();
    ground.kill_at_random(&["publish", "in", "file:out"], || {
        ground.check_archives(&ground.path("out"))
    });
    ground.clean();
    let place = format!("oci://{}/charts", ground.registry.host());
    let pushed = ground
        .start(&["push", "in/c0", &place, "--plain-http"])
        .wait()
        .unwrap();
    assert!(pushed.success());
    let from = format!("oci://{}/charts/c0:1.0.0", ground.slow.host());
    let pull = ["pull", &from, "-d", "out", "--plain-http"];
    ground.kill_at_random(&pull, || ground.check_archives(&ground.path("out")));
    ground.clean();
    let expected = tree(&ground.path("in/c0"));
    let whole = || {
        let folder = ground.path("out/c0");
        if folder.exists() {
            let found = tree(&folder);
            assert!(found.values().eq(expected.values()), "{:?}", found.keys());
            fs::remove_dir_all(folder).unwrap();
        }
    };
    ground.kill_at_random(&[&pull[..], &["--untar"]].concat(), whole);
}
