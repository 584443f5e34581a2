//! `oci-layout:DIR[:tag]`.

use std::path::Path;

use solar_render::diag::Class;
use solar_render::oci::IfExists;
use solar_render::reference::Digest;
use solar_render::report::Outcome;
use testbed::{Tool, run};

use crate::support::*;

fn index(dir: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(dir.join("index.json")).unwrap()).unwrap()
}

fn skopeo_digest(home: &Path, dir: &Path, tag: &str) -> String {
    let reference = format!("oci:{}:{tag}", dir.display());
    let mut skopeo = Tool::Skopeo.command(home);
    let raw = run(skopeo.args(["inspect", "--raw", &reference]));
    sha256(raw.as_bytes()).to_string()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn created_unchanged_conflict_replace_and_skip_as_skopeo_sees_it() {
    let dir = tempfile::tempdir().unwrap();
    let layout = dir.path().join("out/app");
    let target = format!("oci-layout:{}/out", dir.path().display());
    let (first, second) = (chart("app", "1.0.0+b", "one"), chart("app", "1.0.0+b", "two"));
    let seen = || skopeo_digest(dir.path(), &layout, "1.0.0_b");

    let created = send(&first, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!(created.outcome, Outcome::Created);
    assert_eq!(
        created.reference,
        format!("oci-layout:{}:1.0.0_b", layout.display())
    );
    assert_eq!(seen(), first.digest.as_str());
    let written = std::fs::metadata(layout.join("index.json"))
        .unwrap()
        .modified()
        .unwrap();

    let again = send(&first, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged);
    let conflict = send(&second, &target, IfExists::Fail, &plain()).unwrap_err();
    assert_eq!(conflict.class(), Class::Conflict);
    assert_eq!(conflict.existing_digest(), Some(&first.digest));
    let skipped = send(&second, &target, IfExists::Skip, &plain()).unwrap();
    assert_eq!(skipped.outcome, Outcome::Skipped);
    assert_eq!(skipped.existing_digest, Some(first.digest.clone()));
    let now = std::fs::metadata(layout.join("index.json"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(now, written, "the index was not touched");

    let replaced = send(&second, &target, IfExists::Replace, &plain()).unwrap();
    assert_eq!(replaced.outcome, Outcome::Replaced);
    assert_eq!(replaced.existing_digest, Some(first.digest));
    assert_eq!(seen(), second.digest.as_str());
    let mut names: Vec<_> = std::fs::read_dir(&layout)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["blobs", "index.json", "oci-layout"]);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_explicit_tag_means_the_folder_itself_and_crane_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let layout = dir.path().join("any");
    let artifact = chart("app", "1.0.0", "one");
    let target = format!("oci-layout:{}:1.0.0", layout.display());
    send(&artifact, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!(
        skopeo_digest(dir.path(), &layout, "1.0.0"),
        artifact.digest.as_str()
    );
    let registry = testbed::Registry::start();
    let there = format!("{}/any:1.0.0", registry.host());
    run(Tool::Crane
        .command(dir.path())
        .args(["push", "--insecure", layout.to_str().unwrap(), &there]));
    assert_eq!(registry.crane_digest("any:1.0.0"), artifact.digest.as_str());
}

#[test]
fn what_others_wrote_into_the_index_stays() {
    let dir = tempfile::tempdir().unwrap();
    let layout = dir.path();
    write(
        &layout.join("index.json"),
        r#"{"schemaVersion":2,"annotations":{"a":"b"},"manifests":[{"mediaType":"x","digest":"sha512:00","size":1,"extra":[1],"annotations":{"org.opencontainers.image.ref.name":"other"}},{"digest":"sha256:11"}]}"#,
    );
    let artifact = chart("app", "1.0.0", "one");
    let target = format!("oci-layout:{}:1.0.0", layout.display());
    send(&artifact, &target, IfExists::Fail, &plain()).unwrap();
    let index = index(layout);
    assert_eq!(index["annotations"]["a"], "b");
    assert_eq!(index["manifests"][0]["extra"][0], 1);
    assert_eq!(index["manifests"][1]["digest"], "sha256:11");
    assert_eq!(index["manifests"][2]["digest"], artifact.digest.as_str());
    assert_eq!(index["manifests"][2]["size"], artifact.size());
}

#[test]
fn a_broken_or_foreign_layout_is_named_and_left_as_it_is() {
    let table = [
        ("index.json", "{\"schemaVersion\":2,\"manifests\":["),
        ("index.json", "[]"),
        ("index.json", ""),
        ("index.json", "{}"),
        ("index.json", "{\"schemaVersion\":2,\"manifests\":{}}"),
        ("index.json", "{\"schemaVersion\":2,\"manifests\":[1]}"),
        ("oci-layout", "{\"imageLayoutVersion\":\"2.0.0\"}"),
        ("oci-layout", "{}"),
        ("oci-layout", "x"),
    ];
    for (name, text) in table {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join(name), text);
        let target = format!("oci-layout:{}:1.0.0", dir.path().display());
        for if_exists in [IfExists::Fail, IfExists::Replace] {
            let failure = send(&chart("app", "1.0.0", "x"), &target, if_exists, &plain()).unwrap_err();
            assert_eq!(failure.class(), Class::Config, "{name} {text}");
            assert!(words(&failure).contains(name), "{}", words(&failure));
        }
        assert_eq!(std::fs::read_to_string(dir.path().join(name)).unwrap(), text);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "{name} {text}");
    }
}

#[test]
fn a_torn_or_missing_blob_is_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let artifact = chart("app", "1.0.0", "one");
    let target = format!("oci-layout:{}:1.0.0", dir.path().display());
    send(&artifact, &target, IfExists::Fail, &plain()).unwrap();
    let layer = artifact.layer().unwrap();
    let path = dir.path().join("blobs/sha256").join(layer.digest.hex());
    std::fs::write(&path, "torn").unwrap();
    let again = send(&artifact, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged);
    assert_eq!(sha256(&std::fs::read(&path).unwrap()), layer.digest);
    std::fs::remove_file(&path).unwrap();
    send(&artifact, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!(sha256(&std::fs::read(&path).unwrap()), layer.digest);
    // One of its length was taken for it.
    let mut damaged = std::fs::read(&path).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    send(&artifact, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!(sha256(&std::fs::read(&path).unwrap()), layer.digest);
}

#[test]
fn parallel_writers_lose_no_entry() {
    const WRITERS: usize = 8;
    const EACH: usize = 6;
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for number in 0..EACH {
                    let version = format!("{writer}.{number}.0");
                    let target = format!("oci-layout:{}:{version}", root.display());
                    let artifact = chart("app", &version, "x");
                    send(&artifact, &target, IfExists::Fail, &plain()).unwrap();
                }
            });
        }
    });
    let index = index(root);
    let entries = index["manifests"].as_array().unwrap();
    assert_eq!(entries.len(), WRITERS * EACH);
    for entry in entries {
        let digest: Digest = entry["digest"].as_str().unwrap().parse().unwrap();
        let bytes = std::fs::read(root.join("blobs/sha256").join(digest.hex())).unwrap();
        assert_eq!(sha256(&bytes), digest);
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_the_disks_fault() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("file"), "x");
    // Holds for root, too, whom permissions don't stop.
    let target = format!("oci-layout:{}/file:1.0.0", dir.path().display());
    let failure = send(&chart("app", "1.0.0", "x"), &target, IfExists::Fail, &plain()).unwrap_err();
    assert_eq!(failure.class(), Class::Io, "{}", words(&failure));
    assert!(words(&failure).contains("/file"), "{}", words(&failure));
}

/// Both once were saved under the name that the config gives.
#[test]
fn what_is_no_chart_or_another_is_not_pulled() {
    use solar_render::oci::{PullOptions, Silent, pull};
    use solar_render::package::artifact::Artifact;

    let dir = tempfile::tempdir().unwrap();
    let target = format!("oci-layout:{}/out", dir.path().display());
    let config = br#"{"name":"good","version":"7.0.0","apiVersion":"v2"}"#;
    let other = chart("evil", "1.0.0", "x").blobs.remove(1);
    for (number, layer) in [blob(Artifact::LAYER_TYPE, b"hello"), other]
        .into_iter()
        .enumerate()
    {
        let target = format!("{target}{number}");
        let wrong = artifact("good", "7.0.0", vec![blob(Artifact::CONFIG_TYPE, config), layer]);
        send(&wrong, &target, IfExists::Fail, &plain()).unwrap();
        let mut options = PullOptions::default();
        options.destination = dir.path().join("got");
        let from = format!("{target}/good:7.0.0").parse().unwrap();
        let problem = pull(&from, &options, &plain(), &world(&[]), &Silent).unwrap_err();
        assert_eq!(problem.class(), Class::Chart, "{problem}");
        assert_eq!(std::fs::read_dir(dir.path().join("got")).unwrap().count(), 0);
    }
}
