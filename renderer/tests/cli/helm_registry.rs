//! Registries that Helm has pushed to: its charts exist already when we push.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::Digest as _;
use testbed::{Registry, Tool};

use crate::{Run, command};

/// A chart with all that Helm writes again when it packs: comments, unsorted keys, a packed subchart, modes.
fn chart(folder: &Path) -> PathBuf {
    let app = folder.join("app");
    let write = |path: &str, text: &str| {
        let path = app.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "Chart.yaml",
        "# ours\nversion: 1.0.0\nname: app\napiVersion: v2\nmaintainers:\n- {name: me}\nannotations: {team: a}\n\
         dependencies:\n- {name: sub, version: 0.1.0}\n",
    );
    write("values.yaml", "# one\na: 1\n");
    write("templates/a.yaml", "a: {{ .Values.a }}\n");
    write(".helmignore", "*.bak\n");
    write("x.bak", "left out");
    write("README.md", "hello\n");
    write(
        "charts/sub/Chart.yaml",
        "# sub\napiVersion: v2\nversion: 0.1.0\nname: sub\n",
    );
    write("charts/sub/templates/b.yaml", "b: 1\n");
    app
}

fn helm(home: &Path, words: &[&str]) -> String {
    testbed::run(Tool::Helm.command(home).args(words))
}

fn ours(words: &[&str]) -> Run {
    Run::of(command().args(words).args(["--plain-http", "-o", "json"]))
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_helm_pushed_is_unchanged_and_what_is_other_conflicts() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let home = folder.path();
    let app = chart(home);
    let target = format!("oci://{}/charts", registry.host());
    helm(home, &["package", "app", "-d", "."]);
    helm(home, &["push", "app-1.0.0.tgz", &target, "--plain-http"]);
    let there = registry.crane_digest("charts/app:1.0.0");
    let archive = home.join("app-1.0.0.tgz");
    let (archive, app) = (archive.to_str().unwrap(), app.to_str().unwrap());

    let table: [(&[&str], &str); 5] = [
        (
            &["push", archive],
            "same config and archive, pushed by another tool",
        ),
        (
            &["push", archive, "--if-exists", "skip"],
            "same config and archive, pushed by another tool",
        ),
        (&["push", app], "same files, packaged by another tool"),
        (&["publish", app], "same files, packaged by another tool"),
        (
            &["publish", "--check", app],
            "same files, packaged by another tool",
        ),
    ];
    for (words, note) in table {
        let run = ours(&[words, &[&target]].concat());
        assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
        let json = run.json();
        let one = json.get("results").map_or(&json, |all| &all[0]);
        let outcome = one.get("outcome").or_else(|| one.get("would"));
        assert_eq!(outcome, Some(&json!("unchanged")), "{words:?}: {json}");
        assert_eq!(one["digest"], json!(there), "what is there is reported: {json}");
        assert_eq!(one["existingDigest"], json!(there), "{json}");
        assert_eq!(one["note"], json!(note), "{words:?}");
    }
    let text = Run::of(command().args(["push", app, &target, "--plain-http"]));
    let expected = format!("Digest: {there}\nNote: same files, packaged by another tool\n");
    assert!(text.stdout.ends_with(&expected), "{}", text.stdout);
    assert_eq!(
        registry.crane_digest("charts/app:1.0.0"),
        there,
        "nothing was moved"
    );

    // Who names a digest gets that one, or none.
    let digest = Run::of(command().args(["digest", archive])).stdout;
    let run = ours(&["push", archive, &target, "--expect-digest", digest.trim()]);
    assert_eq!((run.code, &run.json()["error"]["class"]), (3, &json!("conflict")));

    // With `skip`, this was once reported as unchanged.
    fs::write(home.join("app/values.yaml"), "a: 2\n").unwrap();
    let run = ours(&["push", app, &target]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(run.json()["existingDigest"], json!(there));
    let run = ours(&["push", app, &target, "--if-exists", "skip"]);
    assert_eq!(run.json()["outcome"], json!("skipped"));
    let run = ours(&["push", app, &target, "--if-exists", "replace"]);
    assert_eq!(run.json()["outcome"], json!("replaced"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn tags_beside_a_version_that_helm_pushed_agree_with_it() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let home = folder.path();
    let app = chart(home);
    let target = format!("oci://{}/charts", registry.host());
    helm(home, &["package", "app", "-d", "."]);
    helm(home, &["push", "app-1.0.0.tgz", &target, "--plain-http"]);
    let there = registry.crane_digest("charts/app:1.0.0");
    let run = ours(&[
        "push",
        app.to_str().unwrap(),
        &target,
        "--tag",
        "1.0",
        "--move-tag",
        "latest",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        run.json()["tags"][1],
        json!({"tag": "latest", "outcome": "created"})
    );
    for tag in ["1.0", "latest"] {
        assert_eq!(
            registry.crane_digest(&format!("charts/app:{tag}")),
            there,
            "{tag}"
        );
    }
}

/// With a provenance file Helm's layers are in the order of their digests; ours once were not.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_signed_archives_manifest_is_helms_but_for_the_time() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let home = folder.path();
    chart(home);
    let target = format!("oci://{}/charts", registry.host());
    helm(home, &["package", "app", "-d", "."]);
    let sha256 = |bytes: &[u8]| sha2::Sha256::digest(bytes).to_vec();
    let layer = sha256(&fs::read(home.join("app-1.0.0.tgz")).unwrap());
    let text = |salt: u32| format!("signed {salt}");
    let before = (0..).find(|salt| sha256(text(*salt).as_bytes()) < layer).unwrap();
    let after = (0..).find(|salt| sha256(text(*salt).as_bytes()) > layer).unwrap();
    let mut orders = std::collections::BTreeSet::new();
    for salt in [before, after] {
        fs::write(home.join("app-1.0.0.tgz.prov"), text(salt)).unwrap();
        helm(home, &["push", "app-1.0.0.tgz", &target, "--plain-http"]);
        let layout = home.join(format!("layout{salt}"));
        let place = format!("oci-layout:{}", layout.display());
        let archive = home.join("app-1.0.0.tgz");
        let run = Run::of(command().args(["push", archive.to_str().unwrap(), &place]));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let digest = run.stdout.split("sha256:").nth(1).unwrap().trim();
        let text = fs::read(layout.join("app/blobs/sha256").join(digest)).unwrap();
        let ours: Value = serde_json::from_slice(&text).unwrap();
        let url = format!("{}/charts/app:1.0.0", registry.host());
        let text = testbed::run(Tool::Crane.command(home).args(["manifest", "--insecure", &url]));
        let theirs: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(ours["layers"], theirs["layers"], "{salt}");
        orders.insert(ours["layers"][0]["mediaType"].as_str().unwrap().to_owned());
    }
    assert_eq!(orders.len(), 2, "both orders occur: {orders:?}");
}
