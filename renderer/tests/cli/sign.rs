//! `sign`, `verify`, `--sign-by` and `generate-key-pair`: cosign verifies what we sign, and we verify what
//! cosign signs, in both forms, with the referrers API and without.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use sha2::Digest as _;
use testbed::{Registry, Response, Server, Tool, forward};

use crate::{Run, command, testdata};

fn key(name: &str) -> PathBuf {
    testdata().join("signing").join(name)
}

/// Pushes a chart; its reference without a scheme, and its digest.
fn push(folder: &Path, host: &str, version: &str, rest: &[&str]) -> (String, serde_json::Value) {
    let chart = folder.join("demo");
    std::fs::create_dir_all(&chart).unwrap();
    let text = format!("apiVersion: v2\nname: demo\nversion: {version}\n");
    std::fs::write(chart.join("Chart.yaml"), text).unwrap();
    let mut push = command();
    push.arg("push").arg(&chart).arg(format!("oci://{host}/charts"));
    push.env("COSIGN_PASSWORD", "pw");
    let run = Run::of(push.args(["--plain-http", "-o", "json"]).args(rest));
    assert_eq!(run.code, 0, "{}", run.stderr);
    (format!("{host}/charts/demo:{version}"), run.json())
}

fn ours(word: &str, reference: &str, key_name: &str, rest: &[&str]) -> Run {
    let mut command = command();
    command.args([word, &format!("oci://{reference}"), "--plain-http", "-o", "json"]);
    command
        .env("COSIGN_PASSWORD", "pw")
        .arg("--key")
        .arg(key(key_name));
    Run::of(command.args(rest))
}

fn cosign(home: &Path) -> Command {
    let mut cosign = Tool::Cosign.command(home);
    cosign.env("COSIGN_PASSWORD", "pw");
    cosign
}

/// Offline, with the public key alone.
fn cosign_verifies(home: &Path, reference: &str) -> bool {
    let output = cosign(home)
        .args([
            "verify",
            "--insecure-ignore-tlog",
            "--allow-http-registry",
            "--key",
        ])
        .arg(key("cosign.pub"))
        .arg(reference)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success()
            || said.contains("no matching signatures")
            || said.contains("no signatures found"),
        "{said}"
    );
    output.status.success()
}

fn cosign_signs(home: &Path, reference: &str, bundle: bool) {
    let form = format!("--new-bundle-format={bundle}");
    testbed::run(
        cosign(home)
            .args(["sign", "--yes", "--allow-http-registry", "--tlog-upload=false"])
            .args(["--use-signing-config=false", &form, "--key"])
            .arg(key("cosign.key"))
            .arg(reference),
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn cosign_verifies_what_we_sign_in_both_forms() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    for (version, form) in [("1.0.0", "bundle"), ("2.0.0", "simple")] {
        let (reference, pushed) = push(folder.path(), registry.host(), version, &[]);
        assert!(!cosign_verifies(registry.home(), &reference));
        let unsigned = ours("verify", &reference, "cosign.pub", &[]);
        assert_eq!(
            (unsigned.code, &unsigned.json()["error"]["class"]),
            (3, &"signature".into())
        );
        let signed = ours("sign", &reference, "cosign.key", &["--signature-form", form]);
        assert_eq!(signed.code, 0, "{}", signed.stderr);
        assert_eq!(signed.json()["outcome"], "signed");
        assert_eq!(signed.json()["digest"], pushed["digest"]);
        assert!(cosign_verifies(registry.home(), &reference));
        let verified = ours("verify", &reference, "cosign.pub", &[]);
        assert_eq!(verified.code, 0, "{}", verified.stderr);
        assert_eq!(verified.json()["outcome"], "verified");
        let again = ours("sign", &reference, "cosign.key", &["--signature-form", form]);
        assert_eq!(again.json()["outcome"], "unchanged");
        let strange = ours("verify", &reference, "other.pub", &[]);
        assert_eq!(strange.code, 3);
        assert!(
            strange.stderr.contains("another key made it"),
            "{}",
            strange.stderr
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn we_verify_what_cosign_signs_and_add_ours_to_it() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    for (version, bundle, form) in [("1.0.0", true, "bundle"), ("2.0.0", false, "simple")] {
        let (reference, pushed) = push(folder.path(), registry.host(), version, &[]);
        let digest = pushed["digest"].as_str().unwrap();
        let exact = format!("{}/charts/demo@{digest}", registry.host());
        cosign_signs(registry.home(), &exact, bundle);
        for name in [&reference, &exact] {
            let verified = ours("verify", name, "cosign.pub", &[]);
            assert_eq!(verified.code, 0, "{}", verified.stderr);
        }
        assert_eq!(ours("verify", &reference, "other.pub", &[]).code, 3);
        let second = ours("sign", &reference, "other.key", &["--signature-form", form]);
        assert_eq!(second.json()["outcome"], "signed", "{}", second.stderr);
        assert_eq!(ours("verify", &reference, "other.pub", &[]).code, 0);
        assert!(cosign_verifies(registry.home(), &reference), "both are there");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_push_signs_what_it_has_pushed_and_nothing_else() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let key_path = key("cosign.key").display().to_string();
    let by = ["--sign-by", key_path.as_str()];
    let (reference, pushed) = push(folder.path(), registry.host(), "1.0.0", &by);
    assert_eq!(
        (&pushed["outcome"], &pushed["signature"]),
        (&"created".into(), &"signed".into())
    );
    assert!(cosign_verifies(registry.home(), &reference));
    let (_, again) = push(folder.path(), registry.host(), "1.0.0", &by);
    assert_eq!(
        (&again["outcome"], &again["signature"]),
        (&"unchanged".into(), &"unchanged".into())
    );
    // What is left there is another chart: it is not ours to sign.
    std::fs::write(folder.path().join("demo/new"), "x").unwrap();
    let skip = ["--sign-by", &key_path, "--if-exists", "skip"];
    let (_, skipped) = push(folder.path(), registry.host(), "1.0.0", &skip);
    assert_eq!(
        (&skipped["outcome"], skipped.get("signature")),
        (&"skipped".into(), None)
    );
    let mut publish = command();
    publish
        .arg("publish")
        .arg(folder.path())
        .arg(format!("oci://{}/all", registry.host()));
    publish.env("COSIGN_PASSWORD", "pw");
    let published = Run::of(publish.args(["--plain-http", "-o", "json"]).args(by));
    assert_eq!(
        published.json()["results"][0]["signature"],
        "signed",
        "{}",
        published.stderr
    );
    assert!(cosign_verifies(
        registry.home(),
        &format!("{}/all/demo:1.0.0", registry.host())
    ));
}

#[test]
fn a_key_that_can_not_be_decrypted_is_reported_before_any_request() {
    let server = Server::start(|_| Response::status(500).into());
    let folder = tempfile::tempdir().unwrap();
    let text = "apiVersion: v2\nname: demo\nversion: 1.0.0\n";
    std::fs::write(folder.path().join("Chart.yaml"), text).unwrap();
    let to = format!("oci://{}/charts", server.host());
    let push = |key_name: &str, password: &str, target: &str| {
        let mut push = command();
        push.arg("push")
            .arg(folder.path())
            .args([target, "--plain-http", "--sign-by"]);
        Run::of(push.arg(key(key_name)).env("COSIGN_PASSWORD", password))
    };
    let wrong = push("cosign.key", "hunter2", &to);
    assert_eq!(wrong.code, 1, "{}", wrong.stderr);
    assert!(
        wrong.stderr.contains("its password is another one"),
        "{}",
        wrong.stderr
    );
    assert!(!wrong.stderr.contains("hunter2"));
    assert_eq!(push("cosign.pub", "pw", &to).code, 1);
    assert_eq!(push("none.key", "pw", &to).code, 2);
    assert_eq!(push("cosign.key", "pw", "oci-layout:nowhere").code, 2);
    assert_eq!(server.requests().len(), 0);
    for (word, reference) in [("verify", "h/charts/demo"), ("sign", "h/charts/demo")] {
        let guess = ours(
            word,
            reference,
            if word == "sign" {
                "cosign.key"
            } else {
                "cosign.pub"
            },
            &[],
        );
        assert_eq!(guess.code, 2, "neither tag nor digest: {}", guess.stderr);
    }
}

/// A proxy that adds the referrers API to a registry without it.
fn with_referrers(upstream: String) -> Server {
    type Known = BTreeMap<String, Vec<serde_json::Value>>;
    let known: Arc<Mutex<Known>> = Arc::default();
    Server::start(move |request| {
        if let Some((_, subject)) = request.path().split_once("/referrers/") {
            let list = known.lock().unwrap().get(subject).cloned().unwrap_or_default();
            let index = serde_json::json!({"schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": list});
            return Response::status(200)
                .header("content-type", "application/vnd.oci.image.index.v1+json")
                .body(index.to_string())
                .into();
        }
        let mut response = forward(request, &upstream);
        if request.method == "PUT" && request.path().contains("/manifests/") && response.status == 201 {
            let manifest: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
            if let Some(subject) = manifest["subject"]["digest"].as_str() {
                let hash = sha2::Sha256::digest(&request.body);
                let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                let entry = serde_json::json!({"mediaType": manifest["mediaType"], "size": request.body.len(),
                    "digest": format!("sha256:{hex}"), "artifactType": manifest["artifactType"]});
                known
                    .lock()
                    .unwrap()
                    .entry(subject.to_owned())
                    .or_default()
                    .push(entry);
                response = response.header("OCI-Subject", subject);
            }
        }
        response.into()
    })
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn with_the_referrers_api_no_tag_is_made() {
    let registry = Registry::start();
    let front = with_referrers(registry.host().to_owned());
    let folder = tempfile::tempdir().unwrap();
    let key_path = key("cosign.key").display().to_string();
    let (reference, pushed) = push(folder.path(), &front.host(), "1.0.0", &["--sign-by", &key_path]);
    assert_eq!(pushed["signature"], "signed");
    assert!(cosign_verifies(registry.home(), &reference));
    assert_eq!(ours("verify", &reference, "cosign.pub", &[]).code, 0);
    let tags = Run::of(command().args([
        "tags",
        &format!("oci://{}/charts/demo", front.host()),
        "--plain-http",
    ]));
    assert_eq!(tags.stdout, "1.0.0\n");
    let (reference, _) = push(folder.path(), &front.host(), "2.0.0", &[]);
    cosign_signs(registry.home(), &reference, true);
    assert_eq!(ours("verify", &reference, "cosign.pub", &[]).code, 0);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_pull_can_ask_for_a_signature_and_writes_nothing_without() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let (reference, _) = push(folder.path(), registry.host(), "1.0.0", &[]);
    let pull = |key_name: &str| {
        let mut pull = command();
        pull.args([
            "pull",
            &format!("oci://{reference}"),
            "--plain-http",
            "--verify-by",
        ]);
        Run::of(pull.arg(key(key_name)).arg("-d").arg(folder.path()))
    };
    assert_eq!(pull("cosign.pub").code, 3);
    assert_eq!(ours("sign", &reference, "cosign.key", &[]).code, 0);
    assert_eq!(pull("other.pub").code, 3);
    let archive = folder.path().join("demo-1.0.0.tgz");
    assert!(!archive.exists());
    assert_eq!(pull("cosign.pub").code, 0);
    assert!(archive.exists());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_pair_of_ours_is_one_that_cosign_signs_with() {
    use std::os::unix::fs::PermissionsExt as _;
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let make = || {
        let mut make = command();
        make.args(["generate-key-pair", "--key-password-file", "-", "-o", "json"]);
        let mut child = make
            .current_dir(folder.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // A run that refuses before it reads has closed its end: that is its right.
        match std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"pw\n") {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => panic!("{error}"),
            _ => {}
        }
        Run::from(child.wait_with_output().unwrap())
    };
    let made = make();
    assert_eq!(
        (made.code, made.json()),
        (
            0,
            serde_json::json!({"schema": 1, "outcome": "created", "file": "cosign.pub", "privateKey": "cosign.key"})
        ),
        "{}",
        made.stderr
    );
    let private = folder.path().join("cosign.key");
    assert_eq!(
        std::fs::metadata(&private).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let again = make();
    assert_eq!(again.code, 2, "a key is never written over: {}", again.stderr);
    let (reference, _) = push(folder.path(), registry.host(), "1.0.0", &[]);
    testbed::run(
        cosign(registry.home())
            .args(["sign", "--yes", "--allow-http-registry", "--tlog-upload=false"])
            .args(["--use-signing-config=false", "--key"])
            .arg(&private)
            .arg(&reference),
    );
    let mut verify = command();
    verify.args(["verify", &format!("oci://{reference}"), "--plain-http", "--key"]);
    let text = std::fs::read_to_string(folder.path().join("cosign.pub")).unwrap();
    let run = Run::of(
        verify
            .arg("env://COSIGN_PUBLIC_KEY")
            .env("COSIGN_PUBLIC_KEY", text),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
}
