//! `artifact`: artifacts of registries and layouts, which are copied.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use testbed::{Registry, Response, Server, Tool};

use super::{Hub, folder, import, sha256, two, web, weights};
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

/// Without a tag the highest version was once copied, as of a chart.
#[test]
fn a_source_without_tag_or_digest_is_refused() {
    let folder = folder();
    let layout = format!("oci-layout:{}", folder.path().join("out").display());
    for from in ["oci://127.0.0.1:1/acme/model", &layout] {
        let run = Run::of(&mut import(folder.path(), from, "raw"));
        assert_eq!(run.code, 2, "{from}: {}", run.stderr);
        assert!(
            run.stderr.contains("add :TAG or @DIGEST"),
            "{from}: {}",
            run.stderr
        );
    }
    let digest = format!("{layout}@sha256:{}", "a".repeat(64));
    let run = Run::of(&mut import(folder.path(), &digest, "raw"));
    assert!(run.stderr.contains("does not exist"), "{}", run.stderr);
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

/// A registry with one artifact at `v1` for each name, each with one file.
fn registry(contents: &[(&'static str, Vec<u8>)]) -> Server {
    let mut found: BTreeMap<String, (&str, Vec<u8>)> = BTreeMap::new();
    const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
    for (name, content) in contents {
        let (config, layer) = (sha256(b"{}"), sha256(content));
        let manifest = serde_json::json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": "application/vnd.unknown.artifact.v1",
            "config": {
                "mediaType": "application/vnd.oci.empty.v1+json", "digest": format!("sha256:{config}"), "size": 2
            },
            "layers": [{
                "mediaType": "application/octet-stream",
                "digest": format!("sha256:{layer}"),
                "size": content.len(),
            }],
        });
        let path = |kind: &str, last: &str| format!("/v2/{name}/{kind}/{last}");
        let bytes = "application/octet-stream";
        found.insert(
            path("manifests", "v1"),
            (MANIFEST, manifest.to_string().into_bytes()),
        );
        found.insert(
            path("blobs", &format!("sha256:{config}")),
            (bytes, b"{}".to_vec()),
        );
        found.insert(
            path("blobs", &format!("sha256:{layer}")),
            (bytes, content.clone()),
        );
    }
    Server::start(move |request| match found.get(request.path()) {
        Some((kind, body)) => Response::status(200)
            .header("Content-Type", *kind)
            .body(body.clone())
            .into(),
        None => Response::status(404).into(),
    })
}

fn copy_from(server: &Server, name: &str, folder: &Path, flags: &[&str]) -> Run {
    let from = format!("oci://{}/{name}:v1", server.host());
    let mut command = import(folder, &from, "raw");
    Run::of(
        command
            .args(["--plain-http", "--if-exists", "replace"])
            .args(flags),
    )
}

#[test]
fn a_copy_that_is_too_large_is_refused_before_a_blob_is_fetched() {
    let server = registry(&[("one", weights(1000))]);
    let folder = folder();
    let run = copy_from(&server, "one", folder.path(), &["--max-size", "1001"]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert_eq!(run.json()["error"]["class"], "refused");
    assert!(
        run.stderr.contains("has 1002 bytes, the limit is 1001"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("--max-size"), "{}", run.stderr);
    assert!(!server.lines().iter().any(|line| line.contains("/blobs/")));
    assert!(!folder.path().join("out").exists());
    let run = copy_from(&server, "one", folder.path(), &["--max-size", "1002"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // Of a layout, and a chart.
    let from = format!("oci-layout:{}:latest", folder.path().join("out").display());
    for format in ["raw", "model-pack"] {
        let elsewhere = super::folder();
        let run = Run::of(import(elsewhere.path(), &from, format).args(["--max-size", "9"]));
        assert_eq!(run.code, 4, "{format}: {}", run.stderr);
    }
    let made = command().current_dir(&folder).args(["create", "shop"]).status();
    assert!(made.unwrap().success());
    let target = format!("oci-layout:{}", folder.path().join("charts").display());
    let pushed = command()
        .current_dir(&folder)
        .args(["push", "shop", &target])
        .status();
    assert!(pushed.unwrap().success());
    let from = format!("oci-layout:{}:0.1.0", folder.path().join("charts/shop").display());
    let elsewhere = super::folder();
    let run = Run::of(import(elsewhere.path(), &from, "chart").args(["--max-size", "9"]));
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains("the limit is 9"), "{}", run.stderr);
}

#[test]
fn blobs_of_an_earlier_copy_are_removed() {
    let (one, two) = (weights(1000), weights(2000));
    let server = registry(&[("one", one.clone()), ("two", two.clone())]);
    let folder = folder();
    let blobs = folder.path().join("work/solar-render-import/blobs/sha256");
    let blob = |bytes: &[u8]| {
        let hex = sha256(bytes);
        blobs.join(&hex[..2]).join(hex)
    };
    let first = copy_from(&server, "one", folder.path(), &[]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(blob(&one).exists());
    // What a killed process left.
    let draft = blob(&one).with_file_name(".solar-render-abc");
    std::fs::write(&draft, "half").unwrap();
    let second = copy_from(&server, "two", folder.path(), &[]);
    assert_eq!(second.code, 0, "{}", second.stderr);
    assert!(blob(&two).exists());
    assert!(!blob(&one).exists() && !draft.exists());
    // The one that both have is still there, and was not fetched again.
    let config = format!("sha256:{}", sha256(b"{}"));
    let lines = server.lines();
    let fetched = lines
        .iter()
        .filter(|line| line.starts_with("GET") && line.contains(&config));
    assert_eq!(fetched.count(), 1);
}
