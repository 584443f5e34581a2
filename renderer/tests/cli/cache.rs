//! The cache: a chart that was fetched once is not fetched again, also with concurrent users.

use std::path::{Path, PathBuf};

use testbed::{Registry, Server, forward};

use crate::{Run, command, tree};

struct ArtifactStore {
    _registry: Registry,
    front: Server,
    folder: tempfile::TempDir,
}

/// A chart in a real registry, behind a server that counts.
fn place() -> ArtifactStore {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("demo");
    std::fs::create_dir(&chart).unwrap();
    std::fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
    )
    .unwrap();
    let mut push = command();
    push.arg("push")
        .arg(&chart)
        .arg(format!("oci://{}/charts", registry.host()));
    assert_eq!(Run::of(push.arg("--plain-http")).code, 0);
    let upstream = registry.host().to_owned();
    let front = Server::start(move |request| forward(request, &upstream).into());
    ArtifactStore {
        _registry: registry,
        front,
        folder,
    }
}

impl ArtifactStore {
    fn pull(&self, to: &str, env: &[(&str, &Path)], rest: &[&str]) -> (Run, PathBuf) {
        let to = self.folder.path().join(to);
        let mut pull = command();
        pull.args([
            "pull",
            &format!("oci://{}/charts/demo:1.0.0", self.front.host()),
            "--plain-http",
        ]);
        let run = Run::of(pull.arg("-d").arg(&to).args(rest).envs(env.iter().copied()));
        assert_eq!(run.code, 0, "{}", run.stderr);
        (run, to.join("demo-1.0.0.tgz"))
    }

    fn blobs(&self) -> usize {
        self.front
            .lines()
            .iter()
            .filter(|line| line.contains("GET") && line.contains("/blobs/"))
            .count()
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_second_pull_gets_no_blob() {
    let place = place();
    let home = place.folder.path().join("home");
    let env = [("HOME", home.as_path())];
    let (_, first) = place.pull("a", &env, &[]);
    assert_eq!(place.blobs(), 2);
    let (_, second) = place.pull("b", &env, &[]);
    assert_eq!(place.blobs(), 2, "config and archive come from the cache");
    assert_eq!(std::fs::read(first).unwrap(), std::fs::read(second).unwrap());
    place.pull("c", &env, &["--untar"]);
    assert_eq!(place.blobs(), 2);
    place.pull("d", &env, &["--no-cache"]);
    assert_eq!(place.blobs(), 4);
    for file in tree(&home.join(".cache/solar-render")).keys() {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            file.metadata().unwrap().permissions().mode() & 0o77,
            0,
            "{}",
            file.display()
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_damaged_blob_is_fetched_again_and_a_cache_that_can_not_be_written_is_no_error() {
    let place = place();
    let home = place.folder.path().join("home");
    let env = [("SOLAR_RENDER_CACHE", home.as_path())];
    let (_, first) = place.pull("a", &env, &[]);
    for file in tree(&home).keys() {
        std::fs::write(file, "damaged").unwrap();
    }
    let (_, second) = place.pull("b", &env, &[]);
    assert_eq!(place.blobs(), 4);
    assert_eq!(std::fs::read(first).unwrap(), std::fs::read(second).unwrap());
    let file = place.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    place.pull("c", &[("SOLAR_RENDER_CACHE", file.as_path())], &[]);
    place.pull("d", &[], &[]);
    assert_eq!(place.blobs(), 8, "without a home there is no cache");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn many_processes_share_it() {
    let place = place();
    let home = place.folder.path().join("home");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (place, home) = (&place, &home);
            scope.spawn(move || place.pull(&number.to_string(), &[("HOME", home)], &[]));
        }
    });
    let before = place.blobs();
    place.pull("last", &[("HOME", &home)], &[]);
    assert_eq!(place.blobs(), before);
    let blobs = tree(&home.join(".cache/solar-render"));
    assert_eq!(blobs.len(), 2, "nothing unfinished is left: {:?}", blobs.keys());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn it_says_what_it_holds_and_can_be_emptied() {
    let place = place();
    let home = place.folder.path().join("home");
    place.pull("a", &[("HOME", &home)], &[]);
    let cache = |words: &[&str]| {
        let mut cache = command();
        Run::of(cache.arg("cache").args(words).env("HOME", &home))
    };
    let info = cache(&["info", "-o", "json"]).json();
    assert_eq!(info["cache"]["files"], 2);
    assert!(
        info["cache"]["dir"]
            .as_str()
            .unwrap()
            .ends_with("home/.cache/solar-render")
    );
    let pruned = cache(&["prune", "-o", "json"]).json();
    assert_eq!(
        (&pruned["cache"]["removed"], &pruned["cache"]["files"]),
        (&0.into(), &2.into())
    );
    assert_eq!(
        cache(&["prune", "--max-size", "0"]).stdout,
        format!(
            "Removed: 2 blobs, {} bytes\nLeft: 0 blobs, 0 bytes\n",
            info["cache"]["size"]
        )
    );
    let none = Run::of(command().args(["cache", "info"]));
    assert_eq!(none.code, 2, "{}", none.stderr);
}
