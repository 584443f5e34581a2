//! `sign` and `verify` of files: bundles that cosign accepts, and cosign's that we accept.

use std::path::Path;
use std::process::Command;

use testbed::Tool;

use crate::{Run, command, testdata};

const SLSA: &str = "https://slsa.dev/provenance/v1";

fn ours(folder: &Path, arguments: &[&str]) -> Run {
    let mut command = command();
    command.env("COSIGN_PASSWORD", "pw").current_dir(folder);
    Run::of(command.args(arguments).args(["-o", "json"]))
}

/// Two files, a predicate and keys.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("one", "1"), ("two", "2"), ("predicate.json", r#"{"a":1}"#)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for name in ["cosign.key", "cosign.pub", "other.pub"] {
        std::fs::copy(testdata().join("signing").join(name), folder.path().join(name)).unwrap();
    }
    folder
}

const SIGN: [&str; 6] = ["sign", "--key", "cosign.key", "--bundle", "bundle", "one"];
const ATTEST: [&str; 11] = [
    "sign",
    "one",
    "two",
    "--key",
    "cosign.key",
    "--bundle",
    "statement",
    "--predicate",
    "predicate.json",
    "--predicate-type",
    SLSA,
];

#[test]
fn a_file_is_verified_by_its_bundle_and_changed_ones_are_not() {
    let folder = folder();
    let at = folder.path();
    let signed = ours(at, &SIGN);
    assert_eq!(signed.code, 0, "{}", signed.stderr);
    assert_eq!(
        (&signed.json()["outcome"], &signed.json()["file"]),
        (&"signed".into(), &"bundle".into())
    );
    let attested = ours(at, &ATTEST);
    assert_eq!(attested.code, 0, "{}", attested.stderr);

    let verify = |file: &str, bundle: &str, rest: &[&str]| {
        let arguments = [&["verify", file, "--bundle", bundle], rest].concat();
        ours(at, &arguments)
    };
    let key = ["--key", "cosign.pub"];
    let verified = verify("one", "bundle", &key);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    assert_eq!(verified.json()["outcome"], "verified");
    let typed = [&key[..], &["--predicate-type", SLSA]].concat();
    for file in ["one", "two"] {
        assert_eq!(verify(file, "statement", &typed).code, 0);
    }
    assert_eq!(verify("one", "bundle", &typed).code, 3);
    assert_eq!(verify("one", "bundle", &["--key", "other.pub"]).code, 3);
    assert_eq!(verify("predicate.json", "statement", &key).code, 3);
    std::fs::write(at.join("one"), "changed").unwrap();
    for bundle in ["bundle", "statement"] {
        let changed = verify("one", bundle, &key);
        assert_eq!(
            (changed.code, &changed.json()["error"]["class"]),
            (3, &"signature".into())
        );
    }
}

#[test]
fn what_is_signed_must_be_one_chart_or_files_with_a_bundle() {
    let folder = folder();
    let key = ["sign", "--key", "cosign.key"];
    let table: [(&[&str], &str); 6] = [
        (&["one"], "requires --bundle"),
        (&["one", "two", "--bundle", "b"], "a signature is of one file"),
        (
            &["oci://localhost:1/a:1", "--bundle", "b"],
            "--bundle is for files",
        ),
        (
            &["oci://localhost:1/a:1", "one", "--bundle", "b"],
            "one chart is signed at a time",
        ),
        (&["three", "--bundle", "b"], "there is no such file"),
        (&["one", "--predicate", "predicate.json"], "--predicate-type"),
    ];
    for (arguments, expected) in table {
        let run = ours(folder.path(), &[&key[..], arguments].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
    }
    std::fs::write(folder.path().join("predicate.json"), "{").unwrap();
    let broken = ours(folder.path(), &ATTEST);
    assert!(
        broken.code == 2 && broken.stderr.contains("the predicate is not JSON"),
        "{}",
        broken.stderr
    );
    assert!(!folder.path().join("statement").exists());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn cosign_accepts_our_bundles_and_we_accept_its() {
    let folder = folder();
    let at = folder.path();
    let cosign = |arguments: &[&str]| -> Command {
        let mut cosign = Tool::Cosign.command(at);
        cosign.env("COSIGN_PASSWORD", "pw").args(arguments);
        cosign
    };
    assert_eq!(ours(at, &SIGN).code, 0);
    assert_eq!(ours(at, &ATTEST).code, 0);
    let blob = [
        "verify-blob",
        "--key",
        "cosign.pub",
        "--insecure-ignore-tlog",
        "--bundle",
        "bundle",
    ];
    testbed::run(cosign(&blob).arg("one"));
    assert!(!cosign(&blob).arg("two").output().unwrap().status.success());
    let statement = [
        "verify-blob-attestation",
        "--key",
        "cosign.pub",
        "--insecure-ignore-tlog",
        "--bundle",
        "statement",
        "--type",
        SLSA,
    ];
    for file in ["one", "two"] {
        testbed::run(cosign(&statement).arg(file));
    }
    let other = cosign(&statement).arg("predicate.json").output().unwrap();
    assert!(!other.status.success(), "{other:?}");

    let offline = [
        "--yes",
        "--tlog-upload=false",
        "--use-signing-config=false",
        "--key",
        "cosign.key",
    ];
    testbed::run(
        cosign(&["sign-blob", "--bundle", "theirs"])
            .args(offline)
            .arg("one"),
    );
    testbed::run(
        cosign(&[
            "attest-blob",
            "--bundle",
            "their-statement",
            "--predicate",
            "predicate.json",
        ])
        .args(["--type", SLSA])
        .args(offline)
        .arg("one"),
    );
    for bundle in ["theirs", "their-statement"] {
        let verify = |file| ours(at, &["verify", file, "--key", "cosign.pub", "--bundle", bundle]);
        assert_eq!(verify("one").code, 0, "{}", verify("one").stderr);
        assert_eq!(verify("two").code, 3);
    }
}
