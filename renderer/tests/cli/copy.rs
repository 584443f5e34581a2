//! `copy`: between registries and layouts, byte for byte.

use std::path::Path;

use testbed::{Auth, Registry, Server, Setup, TokenServer, forward};

use crate::{Run, command, tree};

/// Pushes a chart with a file of this many bytes that don't shrink, and a provenance file.
fn push(folder: &Path, target: &str, size: usize) -> serde_json::Value {
    let chart = folder.join("demo");
    std::fs::create_dir_all(&chart).unwrap();
    std::fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: demo\nversion: 1.0.0+b\n",
    )
    .unwrap();
    let noise = (0..size).scan(1u32, |state, _| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 24) as u8)
    });
    std::fs::write(chart.join("noise"), noise.collect::<Vec<u8>>()).unwrap();
    assert_eq!(
        Run::of(command().args(["package", "demo"]).current_dir(folder)).code,
        0
    );
    std::fs::write(folder.join("demo-1.0.0+b.tgz.prov"), "signed\n").unwrap();
    let mut push = command();
    push.arg("push").arg(folder.join("demo-1.0.0+b.tgz"));
    let run = Run::of(push.args([target, "--plain-http", "-o", "json"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.json()
}

fn copy(source: &str, target: &str, rest: &[&str]) -> Run {
    let mut copy = command();
    copy.args([
        "copy",
        source,
        target,
        "--plain-http",
        "--retries",
        "0",
        "-o",
        "json",
    ]);
    Run::of(copy.args(rest))
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_chart_keeps_its_digest_across_registries_and_layouts() {
    let (one, two) = (
        Registry::start(),
        Registry::with(&Setup {
            version_2: true,
            ..Setup::default()
        }),
    );
    let folder = tempfile::tempdir().unwrap();
    let layout = |name: &str| format!("oci-layout:{}", folder.path().join(name).display());
    // Larger than the in-memory limit: copied through a temporary file.
    let pushed = push(folder.path(), &format!("oci://{}/a", one.host()), 17 << 20);
    let digest = pushed["digest"].as_str().unwrap();
    let by_digest = format!("oci://{}/b/demo@{digest}", two.host());
    for (source, target) in [
        (
            format!("oci://{}/a/demo:1.0.0_b", one.host()),
            format!("oci://{}/b", two.host()),
        ),
        (by_digest, layout("first")),
        (format!("{}/demo", layout("first")), layout("second")),
        (
            format!("{}/demo:1.0.0_b", layout("second")),
            format!("oci://{}/c", one.host()),
        ),
    ] {
        let run = copy(&source, &target, &[]);
        assert_eq!(run.code, 0, "{source} {target}: {}", run.stderr);
        let report = run.json();
        assert_eq!(
            (&report["outcome"], &report["digest"]),
            (&"created".into(), &digest.into())
        );
        assert_eq!(report["layer"], pushed["layer"]);
        assert_eq!(copy(&source, &target, &[]).json()["outcome"], "unchanged");
    }
    assert_eq!(one.crane_digest("c/demo:1.0.0_b"), digest);
    assert_eq!(two.crane_digest("b/demo:1.0.0_b"), digest);
    let mut pull = command();
    pull.args([
        "pull",
        &format!("oci://{}/c/demo", one.host()),
        "--plain-http",
        "--prov",
        "-d",
    ]);
    assert_eq!(Run::of(pull.arg(folder.path().join("back"))).code, 0);
    let back = tree(&folder.path().join("back"));
    assert_eq!(back.len(), 2);
    for (path, bytes) in back {
        assert_eq!(
            std::fs::read(folder.path().join(path.file_name().unwrap())).unwrap(),
            bytes
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn within_a_registry_blobs_are_mounted_and_never_come_here() {
    let tokens = TokenServer::start("me", "hunter2", "refresh", 300);
    let registries = [
        Registry::start(),
        Registry::with(&Setup {
            auth: Auth::Token(&tokens),
            ..Setup::default()
        }),
    ];
    for registry in registries {
        let folder = tempfile::tempdir().unwrap();
        let upstream = registry.host().to_owned();
        let server = Server::start(move |request| forward(request, &upstream).into());
        let host = server.host();
        let user = ["--username", "me", "--password", "hunter2"];
        let mut first = command();
        let chart = folder.path().join("demo");
        std::fs::create_dir(&chart).unwrap();
        std::fs::write(
            chart.join("Chart.yaml"),
            "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
        )
        .unwrap();
        first
            .arg("push")
            .arg(&chart)
            .args([&format!("oci://{host}/a"), "--plain-http"])
            .args(user);
        assert_eq!(Run::of(&mut first).code, 0);
        let before = server.requests().len();
        let run = copy(&format!("oci://{host}/a/demo"), &format!("oci://{host}/b"), &user);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let requests = server.requests().split_off(before);
        let line = |request: &testbed::Request| format!("{} {}", request.method, request.target);
        let lines: Vec<String> = requests.iter().map(line).collect();
        assert!(
            !lines
                .iter()
                .any(|line| line.starts_with("PUT") && line.contains("blobs")),
            "{lines:#?}"
        );
        let mounts = lines
            .iter()
            .filter(|line| line.contains("mount=sha256") && line.contains("from=a%2Fdemo"));
        assert!(mounts.count() >= 2, "{lines:#?}");
        let read = lines
            .iter()
            .filter(|line| line.starts_with("GET") && line.contains("/blobs/"));
        assert_eq!(
            read.count(),
            1,
            "the config alone is read, for its names: {lines:#?}"
        );
        // Another tag only needs the manifest.
        let run = copy(
            &format!("oci://{host}/a/demo"),
            &format!("oci://{host}/a"),
            &[&user[..], &["--tag", "stable"]].concat(),
        );
        assert_eq!(
            (run.code, &run.json()["tags"][0]["outcome"]),
            (0, &"created".into()),
            "{}",
            run.stderr
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_policy_holds_and_nothing_is_fetched_for_a_conflict() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let upstream = registry.host().to_owned();
    let server = Server::start(move |request| forward(request, &upstream).into());
    let source = format!("oci://{}/a", server.host());
    push(folder.path(), &source, 10);
    let layout = format!("oci-layout:{}", folder.path().join("layout").display());
    let other = push(folder.path(), &layout, 20);
    let registry_target = format!("oci://{}/b", server.host());
    assert_eq!(copy(&format!("{layout}/demo"), &registry_target, &[]).code, 0);
    let chart = format!("{source}/demo");
    for target in [layout.as_str(), &registry_target] {
        let before = server.count("GET");
        let run = copy(&chart, target, &[]);
        assert_eq!(
            (run.code, &run.json()["existingDigest"]),
            (3, &other["digest"]),
            "{}",
            run.stderr
        );
        // What is at the destination is read where it is a registry: it must be a manifest.
        let there = usize::from(target.starts_with("oci:"));
        assert_eq!(
            server.count("GET") - before,
            3 + there,
            "tags, manifest and config"
        );
        assert_eq!(
            copy(&chart, target, &["--if-exists", "skip"]).json()["outcome"],
            "skipped"
        );
        let wrong = copy(
            &chart,
            target,
            &["--expect-digest", other["digest"].as_str().unwrap()],
        );
        assert_eq!(
            (wrong.code, &wrong.json()["error"]["class"]),
            (3, &"digest".into())
        );
        let mismatch = copy(&chart, &format!("{target}/demo:2.0.0"), &[]);
        assert_eq!(
            (mismatch.code, &mismatch.json()["error"]["class"]),
            (1, &"config".into())
        );
        let replaced = copy(&chart, target, &["--if-exists", "replace"]);
        assert_eq!(replaced.json()["outcome"], "replaced", "{}", replaced.stderr);
    }
}

#[test]
fn what_can_not_be_meant_is_said_before_any_network() {
    let (a, b) = ("oci://127.0.0.1:1/a", "oci://127.0.0.1:2/b");
    for (target, rest, words) in [
        (
            b,
            vec!["--username", "me", "--password", "hunter2"],
            "would go to both",
        ),
        ("oci://127.0.0.1:2/b@sha256:00", vec![], "names a digest"),
    ] {
        let run = copy(a, target, &rest);
        assert_eq!(
            (run.code, &run.json()["error"]["class"]),
            (2, &"usage".into()),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains(words) && !run.stderr.contains("hunter2"),
            "{}",
            run.stderr
        );
    }
    let mut copy = command();
    copy.env("REGISTRY_USERNAME", "me")
        .env("REGISTRY_PASSWORD", "hunter2");
    assert_eq!(Run::of(copy.args(["copy", a, b])).code, 2);
}
