//! `artifact`: artifacts of registries and layouts, which are copied.

use std::process::Command;

use testbed::{Registry, Tool};

use super::{Hub, folder, import, sha256, two, web};
use crate::{Run, command};

#[test]
fn an_artifact_of_a_layout_is_copied_as_it_is_and_must_be_of_its_format() {
    let hub = Hub::start(two());
    let folder = folder();
    let first = Run::of(&mut hub.import(folder.path()));
    let from = format!("oci-layout:{}:latest", folder.path().join("out").display());
    let elsewhere = tempfile::tempdir().unwrap();
    let copied = Run::of(&mut import(elsewhere.path(), &from, "model-pack"));
    assert_eq!(copied.code, 0, "{}", copied.stderr);
    assert_eq!(copied.json()["digest"], first.json()["digest"]);
    assert_eq!(copied.json()["content"], first.json()["content"]);
    let chart = Run::of(&mut import(elsewhere.path(), &from, "chart"));
    assert_eq!(chart.code, 1, "{}", chart.stderr);
    // A file is no model.
    let (web, _storage) = web(b"content".to_vec());
    let third = tempfile::tempdir().unwrap();
    let url = format!("http://{}/a", web.host());
    assert_eq!(
        Run::of(import(third.path(), &url, "raw").args(["--sha256", &sha256(b"content")])).code,
        0
    );
    let from = format!("oci-layout:{}:latest", third.path().join("out").display());
    let run = Run::of(&mut import(elsewhere.path(), &from, "model-pack"));
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(
        run.stderr.contains("expected was \"application/vnd.cncf.model"),
        "{}",
        run.stderr
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_real_registry_takes_it_and_crane_reads_it_byte_for_byte() {
    let hub = Hub::start(two());
    let folder = folder();
    let registry = Registry::start();
    let target = format!("oci://{}/models/tiny:v1", registry.host());
    let run = |from: &str, to: &str| {
        let mut command = command();
        command.args(["artifact", "-o", "json", "--format", "model-pack", "--plain-http"]);
        command
            .args(["--from", from, "--to", to])
            .arg("--workdir")
            .arg(folder.path());
        Run::of(command.env("HF_ENDPOINT", format!("http://{}", hub.api.host())))
    };
    let pushed = run("hf://acme/tiny", &target);
    assert_eq!(pushed.json()["outcome"], "created", "{}", pushed.stderr);
    assert_eq!(run("hf://acme/tiny", &target).json()["outcome"], "unchanged");
    let reference = format!("{}/models/tiny:v1", registry.host());
    let crane = |words: &[&str]| {
        let output = Command::new(Tool::Crane.path()).args(words).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    };
    let digest = crane(&["digest", "--insecure", &reference]);
    assert_eq!(String::from_utf8(digest).unwrap().trim(), pushed.json()["digest"]);
    for (_, body) in two() {
        let blob = format!("{}/models/tiny@sha256:{}", registry.host(), sha256(&body));
        assert_eq!(crane(&["blob", "--insecure", &blob]), body);
    }
    // Within the registry and out of it.
    let copied = run(&target, &format!("oci://{}/other/tiny", registry.host()));
    assert_eq!(
        copied.json()["digest"],
        pushed.json()["digest"],
        "{}",
        copied.stderr
    );
    assert!(
        copied.json()["reference"]
            .as_str()
            .unwrap()
            .ends_with("/other/tiny:latest")
    );
    let out = format!("oci-layout:{}:v1", folder.path().join("out").display());
    assert_eq!(run(&target, &out).json()["digest"], pushed.json()["digest"]);
}
