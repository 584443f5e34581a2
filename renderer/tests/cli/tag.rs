//! `--tag`, repeated: one upload, one policy, every tag reported.

use std::path::Path;

use testbed::{Registry, Server, forward};

use crate::{Run, command, testdata};

fn chart(folder: &Path, version: &str) -> std::path::PathBuf {
    let chart = folder.join("demo");
    std::fs::create_dir_all(&chart).unwrap();
    let text = format!("apiVersion: v2\nname: demo\nversion: {version}\n");
    std::fs::write(chart.join("Chart.yaml"), text).unwrap();
    chart
}

fn push(chart: &Path, target: &str, rest: &[&str]) -> Run {
    let mut push = command();
    push.arg("push")
        .arg(chart)
        .args([target, "--plain-http", "-o", "json"]);
    Run::of(push.args(rest))
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_gets_several_tags_by_one_upload_and_each_by_the_policy() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let upstream = registry.host().to_owned();
    let server = Server::start(move |request| forward(request, &upstream).into());
    let layout = format!("oci-layout:{}", folder.path().join("layout").display());
    for target in [format!("oci://{}/charts", server.host()), layout] {
        let tags = [
            "--tag", "1.0", "--tag", "latest", "--tag", "1.0.0", "--tag", "latest",
        ];
        let run = push(&chart(folder.path(), "1.0.0"), &target, &tags);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let first = run.json();
        let expected = serde_json::json!([
            {"tag": "1.0", "outcome": "created"}, {"tag": "latest", "outcome": "created"},
        ]);
        assert_eq!(
            (&first["outcome"], &first["tags"]),
            (&"created".into(), &expected)
        );

        let next = chart(folder.path(), "1.1.0");
        let conflict = push(&next, &target, &["--tag", "1.1", "--tag", "latest"]);
        assert_eq!(conflict.code, 3, "{}", conflict.stderr);
        assert_eq!(conflict.json()["existingDigest"], first["digest"]);
        assert!(conflict.stderr.contains("latest") && conflict.stderr.contains("nothing was moved"));
        let names = Run::of(command().args(["tags", "--plain-http", &format!("{target}/demo")])).stdout;
        assert_eq!(names, "1.0.0\n1.0\nlatest\n", "nothing was moved");

        let moved = push(&next, &target, &["--tag", "latest", "--if-exists", "replace"]).json();
        assert_eq!(moved["outcome"], "created");
        let expected = serde_json::json!([
            {"tag": "latest", "outcome": "replaced", "existingDigest": first["digest"]},
        ]);
        assert_eq!(moved["tags"], expected);
        let again = push(&next, &target, &["--tag", "latest"]).json();
        assert_eq!(
            (&again["outcome"], &again["tags"][0]["outcome"]),
            (&"unchanged".into(), &"unchanged".into())
        );
    }
    assert_eq!(
        registry.crane_digest("charts/demo:latest"),
        registry.crane_digest("charts/demo:1.1.0")
    );
    assert_eq!(server.count("POST"), 4, "two charts of two blobs each");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_rendered_chart_gets_them_too_and_a_folder_has_none() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let mut render = command();
    render
        .arg(testdata().join("release.yaml"))
        .args(["--plain-http", "--tag", "stable", "--url"]);
    let run = Run::of(render.arg(format!("oci://{}/charts", registry.host())));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.ends_with("Tag: stable (created)\n"), "{}", run.stdout);
    let digest = registry.crane_digest("charts/shop-frontend:stable");
    assert!(run.stdout.contains(&digest));
    for (target, words) in [("file:out", "has no tags"), ("oci-layout:out", "is not a tag")] {
        let tag = if target == "file:out" { "x" } else { "a b" };
        let mut push = command();
        push.current_dir(folder.path())
            .arg("push")
            .arg(chart(folder.path(), "1.0.0"));
        let run = Run::of(push.args([target, "--tag", tag]));
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}

/// Floating tags once shared the version's policy: to move `latest` meant to let versions be replaced.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tag_that_moves_does_so_whatever_the_versions_policy_is() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let layout = format!("oci-layout:{}", folder.path().join("layout").display());
    for target in [format!("oci://{}/charts", registry.host()), layout] {
        let moving = ["--move-tag", "latest", "--move-tag", "1"];
        let first = push(&chart(folder.path(), "1.0.0"), &target, &moving);
        assert_eq!(first.code, 0, "{}", first.stderr);
        let next = chart(folder.path(), "1.1.0");
        let conflict = push(&next, &target, &["--tag", "latest"]);
        assert_eq!(conflict.code, 3);
        assert!(conflict.stderr.contains("--move-tag"), "{}", conflict.stderr);
        assert!(
            !conflict.stderr.contains("raise"),
            "it is no matter of versions: {}",
            conflict.stderr
        );
        let moved = push(&next, &target, &moving).json();
        let before = &first.json()["digest"];
        let expected = serde_json::json!([
            {"tag": "latest", "outcome": "replaced", "existingDigest": before},
            {"tag": "1", "outcome": "replaced", "existingDigest": before},
        ]);
        assert_eq!(
            (&moved["outcome"], &moved["tags"]),
            (&"created".into(), &expected)
        );
        // The version itself stays: nothing moves when it may not.
        std::fs::write(next.join("values.yaml"), "a: 1\n").unwrap();
        let conflict = push(&next, &target, &moving);
        assert_eq!(conflict.code, 3, "{}", conflict.stdout);
        assert!(
            conflict.stderr.contains("raise the chart's version"),
            "{}",
            conflict.stderr
        );
        std::fs::remove_file(next.join("values.yaml")).unwrap();
        let again = push(&next, &target, &moving).json();
        let expected = serde_json::json!([
            {"tag": "latest", "outcome": "unchanged"}, {"tag": "1", "outcome": "unchanged"},
        ]);
        assert_eq!(again["tags"], expected);
    }
}
