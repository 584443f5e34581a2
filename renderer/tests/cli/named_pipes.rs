//! Named pipes where files are expected, which once blocked a run for ever; and the pipes that are valid input.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Run, binary, command, testdata};

fn pipe(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Ends it when it waits.
fn limited(folder: &Path, words: &[&str]) -> Run {
    let mut limited = Command::new("timeout");
    limited
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir(folder);
    Run::of(limited.arg("60").arg(binary()).args(words))
}

#[test]
fn a_named_pipe_is_no_file_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let chart = testdata().join("helm/charts/basic");
    for (name, words) in [
        ("config.yaml", vec!["digest", "config.yaml"]),
        ("config.yaml", vec!["config.yaml", "--skip-push"]),
        ("config.yaml", vec!["publish", "config.yaml", "file:out"]),
        ("a.tgz", vec!["push", "a.tgz", "file:out"]),
        ("a.tgz", vec!["lint", "a.tgz"]),
        (
            "values.yaml",
            vec!["template", "x", chart.to_str().unwrap(), "-f", "values.yaml"],
        ),
        ("auth.json", vec!["logout", "h", "--registry-config", "auth.json"]),
        (
            "list.yaml",
            vec!["pull", "a/b", "--repository-config", "list.yaml"],
        ),
    ] {
        let path = pipe(folder, name);
        let run = limited(folder, &words);
        assert!(
            (1..=5).contains(&run.code),
            "{words:?}: {} {}",
            run.code,
            run.stderr
        );
        let said = run.stdout + &run.stderr;
        assert!(said.contains("pipe"), "{words:?}: {said}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_named_pipe_in_the_place_of_a_blob_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let config = testdata().join("release.yaml");
    let config = config.to_str().unwrap();
    assert_eq!(limited(folder, &[config, "--url", "oci-layout:out"]).code, 0);
    let digest = limited(folder, &["digest", config]).stdout;
    let blob = folder
        .join("out/shop-frontend/blobs/sha256")
        .join(digest.trim().trim_start_matches("sha256:"));
    std::fs::remove_file(&blob).unwrap();
    pipe(folder, blob.strip_prefix(folder).unwrap().to_str().unwrap());
    let run = limited(
        folder,
        &["pull", &format!("oci-layout:out/shop-frontend@{}", digest.trim())],
    );
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(run.stderr.contains("pipe"), "{}", run.stderr);
}

/// Shells substitute processes by such names. Two bytes were once lost of them, where archives are taken, too.
#[test]
fn a_pipe_of_the_shells_is_a_config() {
    let config = testdata().join("release.yaml");
    let expected = Run::of(command().arg("digest").arg(&config)).stdout;
    assert!(expected.starts_with("sha256:"), "{expected}");
    for name in ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"cat "$1" | "$0" digest "$2""#]).arg(binary());
        let run = Run::of(shell.arg(&config).arg(name));
        assert_eq!((run.code, &run.stdout), (0, &expected), "{name}: {}", run.stderr);
    }
}
