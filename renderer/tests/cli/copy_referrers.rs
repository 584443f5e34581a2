//! `copy --referrers`: signatures come along, between registries and layouts, in both of cosign's forms.

use std::path::Path;

use testbed::{Registry, Setup, Tool};

use crate::{Run, command, testdata};

fn key(name: &str) -> String {
    testdata().join("signing").join(name).display().to_string()
}

fn run(words: &[&str]) -> Run {
    Run::of(
        command()
            .args(words)
            .args(["--plain-http", "-o", "json"])
            .env("COSIGN_PASSWORD", "pw"),
    )
}

fn push(folder: &Path, target: &str) {
    let chart = folder.join("demo");
    std::fs::create_dir_all(&chart).unwrap();
    std::fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
    )
    .unwrap();
    let run = run(&["push", chart.to_str().unwrap(), target]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

fn sign(chart: &str, key_name: &str, form: &str) {
    let run = run(&["sign", chart, "--key", &key(key_name), "--signature-form", form]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

fn is_signed(chart: &str, key_name: &str) -> bool {
    let run = run(&["verify", chart, "--key", &key(key_name)]);
    assert!(run.code == 0 || run.code == 3, "{}", run.stderr);
    run.code == 0
}

fn cosign_verifies(home: &Path, chart: &str) -> bool {
    let reference = chart.strip_prefix("oci://").unwrap();
    let output = Tool::Cosign
        .command(home)
        .args([
            "verify",
            "--insecure-ignore-tlog",
            "--allow-http-registry",
            "--key",
            &key("cosign.pub"),
            reference,
        ])
        .output()
        .unwrap();
    output.status.success()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn signatures_come_along_round_registries_and_layouts() {
    let (one, two) = (
        Registry::start(),
        Registry::with(&Setup {
            version_2: true,
            ..Setup::default()
        }),
    );
    let folder = tempfile::tempdir().unwrap();
    let layout = |name: &str| format!("oci-layout:{}", folder.path().join(name).display());
    let base = |registry: &Registry, name: &str| format!("oci://{}/{name}", registry.host());
    push(folder.path(), &base(&one, "a"));
    let first = format!("{}/demo:1.0.0", base(&one, "a"));
    sign(&first, "cosign.key", "bundle");
    sign(&first, "other.key", "simple");
    for (source, target, shown) in [
        (
            first.clone(),
            base(&two, "b"),
            format!("{}/demo:1.0.0", base(&two, "b")),
        ),
        (
            first.clone(),
            base(&one, "c"),
            format!("{}/demo:1.0.0", base(&one, "c")),
        ),
        (first.clone(), layout("x"), String::new()),
        (format!("{}/demo", layout("x")), layout("y"), String::new()),
        (
            format!("{}/demo:1.0.0", layout("y")),
            base(&two, "d"),
            format!("{}/demo:1.0.0", base(&two, "d")),
        ),
    ] {
        for outcome in ["created", "unchanged"] {
            let copied = run(&["copy", &source, &target, "--referrers"]);
            assert_eq!(copied.code, 0, "{source} {target}: {}", copied.stderr);
            let json = copied.json();
            assert_eq!(
                (&json["outcome"], &json["referrers"]),
                (&outcome.into(), &2.into()),
                "{target}"
            );
        }
        if shown.is_empty() {
            let there = format!("{target}/demo:1.0.0");
            assert!(
                is_signed(&there, "cosign.pub") && is_signed(&there, "other.pub"),
                "{there}"
            );
            let pull = ["pull", &there, "--verify-by", &key("cosign.pub"), "-d"];
            let pulled = run(&[&pull[..], &[folder.path().join("pulled").to_str().unwrap()]].concat());
            assert_eq!(pulled.code, 0, "{}", pulled.stderr);
        } else {
            assert!(
                is_signed(&shown, "cosign.pub") && is_signed(&shown, "other.pub"),
                "{shown}"
            );
            assert!(cosign_verifies(one.home(), &shown), "{shown}");
        }
    }
    // A copy without the signatures is not signed, also when it is in the same layout.
    let alone = layout("alone");
    assert_eq!(run(&["copy", &first, &alone]).code, 0);
    assert!(!is_signed(&format!("{alone}/demo:1.0.0"), "cosign.pub"));
    let nothing = run(&["verify", &format!("{alone}/demo"), "--key", &key("cosign.pub")]);
    assert_eq!(nothing.code, 2, "{}", nothing.stderr);
    // Without the flag they stay behind, and can be fetched afterwards.
    let target = base(&two, "e");
    let there = format!("{target}/demo:1.0.0");
    let copied = run(&["copy", &first, &target]).json();
    assert!(copied["referrers"].is_null() && !is_signed(&there, "cosign.pub"));
    assert_eq!(run(&["copy", &first, &target, "-r"]).json()["referrers"], 2);
    assert!(is_signed(&there, "cosign.pub"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn signatures_that_are_there_stay_and_what_another_chart_has_is_left_alone() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let base = |name: &str| format!("oci://{}/{name}", registry.host());
    let at = |name: &str| format!("{}/demo:1.0.0", base(name));
    push(folder.path(), &base("a"));
    sign(&at("a"), "cosign.key", "simple");
    sign(&at("a"), "cosign.key", "bundle");
    assert_eq!(run(&["copy", &at("a"), &base("b")]).code, 0);
    sign(&at("b"), "other.key", "simple");
    sign(&at("b"), "other.key", "bundle");
    let copied = run(&["copy", &at("a"), &base("b"), "--referrers"]);
    assert_eq!(copied.code, 0, "{}", copied.stderr);
    assert!(is_signed(&at("b"), "other.pub") && is_signed(&at("b"), "cosign.pub"));
    assert!(cosign_verifies(registry.home(), &at("b")));
    // Another chart at the tag: skipped, and none of this chart's referrers are copied.
    std::fs::create_dir_all(folder.path().join("demo/templates")).unwrap();
    std::fs::write(folder.path().join("demo/templates/x.yaml"), "a: 1\n").unwrap();
    push(folder.path(), &base("c"));
    let skipped = run(&["copy", &at("a"), &base("c"), "-r", "--if-exists", "skip"]);
    assert_eq!((&skipped.json()["outcome"], skipped.code), (&"skipped".into(), 0));
    assert!(skipped.json()["referrers"].is_null());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_signature_of_a_signature_comes_along() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let base = |name: &str| format!("oci://{}/{name}", registry.host());
    push(folder.path(), &base("a"));
    let first = format!("{}/demo:1.0.0", base("a"));
    sign(&first, "cosign.key", "bundle");
    // A signature of the signature: its digest is in the index of the referrers tag schema.
    let digest = registry.crane_digest("a/demo:1.0.0");
    let list = testbed::run(Tool::Crane.command(registry.home()).args([
        "manifest",
        "--insecure",
        &format!("{}/a/demo:{}", registry.host(), digest.replace(':', "-")),
    ]));
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let signature = list["manifests"][0]["digest"].as_str().unwrap();
    let of_signature = format!("{}/demo@{signature}", base("a"));
    sign(&of_signature, "other.key", "bundle");
    let copied = run(&["copy", &first, &base("b"), "-r"]);
    assert_eq!(copied.json()["referrers"], 2, "{}", copied.stderr);
    assert!(is_signed(&format!("{}/demo@{signature}", base("b")), "other.pub"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_copy_to_a_folder_is_the_archive_by_the_same_policy() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let base = format!("oci://{}/a", registry.host());
    push(folder.path(), &base);
    let to = folder.path().join("to");
    let target = format!("file:{}", to.display());
    let source = format!("{base}/demo:1.0.0");
    for outcome in ["created", "unchanged"] {
        let copied = run(&["copy", &source, &target]);
        assert_eq!(copied.json()["outcome"], outcome, "{}", copied.stderr);
    }
    let pulled = run(&["pull", &source, "-d", folder.path().to_str().unwrap()]);
    assert_eq!(pulled.code, 0, "{}", pulled.stderr);
    let bytes = std::fs::read(folder.path().join("demo-1.0.0.tgz")).unwrap();
    assert_eq!(std::fs::read(to.join("demo-1.0.0.tgz")).unwrap(), bytes);
    std::fs::write(to.join("demo-1.0.0.tgz"), "other").unwrap();
    let conflict = run(&["copy", &source, &target]);
    assert_eq!(conflict.code, 3, "{}", conflict.stderr);
    let with = run(&["copy", &source, &target, "-r"]);
    assert!(
        with.code == 2 && with.stderr.contains("nothing can refer"),
        "{}",
        with.stderr
    );
}
