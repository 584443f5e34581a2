//! Helm's provenance files: `verify`, and `--verify` wherever charts are fetched. What each file is worth is
//! compared with Helm in the library; here it is about who asks, and what is left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use testbed::{Registry, Tool};

use crate::dependency::{chart, names, ours, web};
use crate::{Run, command, testdata, tree};

const SIGNER: &str = "rsa <rsa@example.com>";

pub(crate) fn signing(name: &str) -> PathBuf {
    testdata().join("signing/provenance").join(name)
}

/// An archive with the provenance file of a case beside it.
fn signed(folder: &Path, case: &str) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let archive = folder.join("demo-1.0.0.tgz");
    fs::copy(signing("demo-1.0.0.tgz"), &archive).unwrap();
    fs::copy(
        signing(&format!("{case}.prov")),
        folder.join("demo-1.0.0.tgz.prov"),
    )
    .unwrap();
    archive
}

fn run(words: &[&str], rest: &[&str]) -> Run {
    Run::of(command().args(words).args(rest))
}

pub(crate) fn keyring(name: &str) -> [String; 2] {
    ["--keyring".to_owned(), signing(name).display().to_string()]
}

/// Fetches, with a keyring.
fn verified(words: &[&str], ring: &str) -> Run {
    let mut command = command();
    command
        .args(words)
        .args(["--verify", "--plain-http"])
        .args(keyring(ring));
    Run::of(&mut command)
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn verify_says_what_helm_says_of_an_archive_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let archive = signed(folder.path(), "rsa");
    let archive = archive.to_str().unwrap();
    let ring = keyring("keyring.gpg");
    let ring = [ring[0].as_str(), ring[1].as_str()];
    let ours = run(&["verify", archive], &ring);
    assert_eq!(ours.code, 0, "{}", ours.stderr);
    let helm = testbed::run(
        Tool::Helm
            .command(folder.path())
            .args(["verify", archive])
            .args(ring),
    );
    assert_eq!(ours.stdout, helm);
    let json = run(&["verify", archive, "-o", "json"], &ring).json();
    assert_eq!(
        (&json["outcome"], &json["provenance"]["signedBy"][0]),
        (&"verified".into(), &SIGNER.into())
    );
    assert!(json["layer"]["digest"].as_str().unwrap().starts_with("sha256:"));
    // GnuPG's own folder, without a word.
    let home = folder.path().join("home");
    fs::create_dir_all(home.join(".gnupg")).unwrap();
    fs::copy(signing("keyring.gpg"), home.join(".gnupg/pubring.gpg")).unwrap();
    assert_eq!(
        Run::of(command().args(["verify", archive]).env("HOME", &home)).code,
        0
    );
    let gnupg = home.join(".gnupg");
    assert_eq!(
        Run::of(command().args(["verify", archive]).env("GNUPGHOME", &gnupg)).code,
        0
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn verify_takes_what_helm_signs() {
    let folder = tempfile::tempdir().unwrap();
    chart(&folder.path().join("app"), "app", "2.0.0+b", &[]);
    testbed::run(
        Tool::Helm
            .command(folder.path())
            .args([
                "package",
                "app",
                "--sign",
                "--key",
                "rsa@example.com",
                "--keyring",
            ])
            .arg(signing("secret.gpg")),
    );
    let archive = folder.path().join("app-2.0.0+b.tgz");
    let mut verify = command();
    let run = Run::of(verify.arg("verify").arg(&archive).args(keyring("keyring.asc")));
    assert_eq!(run.code, 0, "{}", run.stderr);
    fs::write(&archive, [fs::read(&archive).unwrap(), vec![0]].concat()).unwrap();
    let run = Run::of(&mut verify);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("is not the archive"), "{}", run.stderr);
}

#[test]
fn what_is_not_signed_well_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |archive: &str, ring: &str, code: i32, reason: &str| {
        let ring = keyring(ring);
        let run = run(&["verify", archive, "-o", "json"], &[&ring[0], &ring[1]]);
        assert_eq!(run.code, code, "{archive}: {}", run.stderr);
        assert!(run.stderr.contains(reason), "{archive}: {}", run.stderr);
        assert!(run.json()["error"]["class"].is_string());
    };
    for (case, ring, reason) in [
        ("tampered", "keyring.gpg", "the text or the signature was changed"),
        ("rsa", "ed25519.gpg", "signed by no key of the keyring"),
        ("expired", "keyring.gpg", "its key expired on 2024-12-31"),
        ("other-name", "keyring.gpg", "does not list demo-1.0.0.tgz"),
        ("no-message", "keyring.gpg", "is not a provenance file"),
        ("rsa-sha1", "keyring.gpg", "SHA-1"),
    ] {
        let archive = signed(&folder.path().join(case), case);
        refused(archive.to_str().unwrap(), ring, 3, reason);
    }
    let renamed = folder.path().join("renamed.tgz");
    fs::copy(signing("demo-1.0.0.tgz"), &renamed).unwrap();
    refused(
        renamed.to_str().unwrap(),
        "keyring.gpg",
        3,
        "has no provenance file",
    );
    fs::copy(signing("rsa.prov"), folder.path().join("renamed.tgz.prov")).unwrap();
    refused(
        renamed.to_str().unwrap(),
        "keyring.gpg",
        3,
        "does not list renamed.tgz",
    );
    refused(
        folder.path().to_str().unwrap(),
        "keyring.gpg",
        2,
        "only archives are signed",
    );
    refused("no-such.tgz", "keyring.gpg", 1, "no-such.tgz");
    refused(renamed.to_str().unwrap(), "no-such.gpg", 1, "gpg --export");
    refused(renamed.to_str().unwrap(), "rsa.prov", 1, "not a keyring");
    let nobody = run(&["verify", renamed.to_str().unwrap()], &[]);
    assert!(
        nobody.code == 2 && nobody.stderr.contains("--keyring FILE"),
        "{}",
        nobody.stderr
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_pull_verifies_before_it_fetches_the_archive_and_leaves_nothing_else() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    for case in ["rsa", "stranger"] {
        let archive = signed(&folder.path().join(case), case);
        let target = format!("oci://{}/{case}", registry.host());
        let run = run(&["push", archive.to_str().unwrap(), &target], &["--plain-http"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let unsigned = folder.path().join("demo-1.0.0.tgz");
    fs::copy(signing("demo-1.0.0.tgz"), &unsigned).unwrap();
    let target = format!("oci://{}/unsigned", registry.host());
    assert_eq!(
        run(
            &["push", unsigned.to_str().unwrap(), &target, "--plain-http"],
            &[]
        )
        .code,
        0
    );

    let reference = |case: &str| format!("oci://{}/{case}/demo:1.0.0", registry.host());
    let pull = |case: &str, rest: &[&str]| {
        let to = folder.path().join("to").join(case).join(rest.concat());
        let mut words = vec![
            "pull",
            "-d",
            to.to_str().unwrap(),
            "-v",
            "-o",
            "json",
            "--no-cache",
        ];
        let reference = reference(case);
        words.push(&reference);
        words.extend(rest);
        (verified(&words, "keyring.gpg"), to)
    };
    let (good, to) = pull("rsa", &[]);
    assert_eq!(good.code, 0, "{}", good.stderr);
    assert_eq!(good.json()["provenance"]["signedBy"][0], SIGNER);
    let left: Vec<PathBuf> = tree(&to).into_keys().collect();
    assert_eq!(left, [to.join("demo-1.0.0.tgz"), to.join("demo-1.0.0.tgz.prov")]);
    let (good, to) = pull("rsa", &["--untar"]);
    assert_eq!(good.code, 0, "{}", good.stderr);
    assert_eq!(
        tree(&to).into_keys().collect::<Vec<_>>(),
        [to.join("demo/Chart.yaml")]
    );
    for (case, reason) in [
        ("stranger", "signed by no key of the keyring"),
        ("unsigned", "has no provenance file"),
    ] {
        let (bad, to) = pull(case, &[]);
        assert_eq!(bad.code, 3, "{}", bad.stderr);
        assert_eq!(bad.json()["error"]["class"], "signature");
        assert!(bad.stderr.contains(reason), "{}", bad.stderr);
        assert!(!to.exists());
    }
    // Commands that only read a chart verify it too, also without any dependency to fetch.
    for words in [vec!["template", "x"], vec!["show", "chart"], vec!["images"]] {
        for (case, code) in [("rsa", 0), ("stranger", 3)] {
            let reference = reference(case);
            let words: Vec<&str> = words.iter().copied().chain([reference.as_str()]).collect();
            let run = verified(&words, "keyring.gpg");
            assert_eq!(run.code, code, "{words:?} {case}: {}", run.stderr);
        }
    }
    let ring = keyring("keyring.gpg");
    let there = run(
        &["verify", &reference("rsa"), "--plain-http", "-o", "json"],
        &[&ring[0], &ring[1]],
    );
    assert_eq!(there.code, 0, "{}", there.stderr);
    assert_eq!(there.json()["provenance"]["signedBy"][0], SIGNER);
    assert_eq!(there.json()["reference"], reference("rsa")["oci://".len()..]);
    let neither = run(&["verify", &reference("rsa"), "--plain-http"], &[]);
    assert!(
        neither.code == 2 && neither.stderr.contains("--key cosign.pub"),
        "{}",
        neither.stderr
    );
}

#[test]
fn charts_on_disk_are_verified_before_they_are_rendered() {
    let folder = tempfile::tempdir().unwrap();
    let archive = signed(folder.path(), "rsa");
    let archive = archive.to_str().unwrap();
    for (words, ring, code) in [
        (&["template", "x", archive][..], "keyring.gpg", 0),
        (&["template", "x", archive], "ed25519.gpg", 3),
        (&["show", "values", archive], "ed25519.gpg", 3),
        (&["template", folder.path().to_str().unwrap()], "keyring.gpg", 2),
    ] {
        let run = verified(words, ring);
        assert_eq!(run.code, code, "{words:?}: {}", run.stderr);
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn dependencies_are_verified_from_registries_and_web_servers() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    let archive = signed(&folder.path().join("signed"), "rsa");
    let at = format!("oci://{}/signed", registry.host());
    assert_eq!(
        run(&["push", archive.to_str().unwrap(), &at, "--plain-http"], &[]).code,
        0
    );
    let files = |case: Option<&str>| {
        let index = "entries: {demo: [{version: 1.0.0, urls: [demo-1.0.0.tgz]}]}\n";
        let mut files = BTreeMap::from([
            ("/index.yaml".to_owned(), index.as_bytes().to_vec()),
            (
                "/demo-1.0.0.tgz".to_owned(),
                fs::read(signing("demo-1.0.0.tgz")).unwrap(),
            ),
        ]);
        files.extend(case.map(|case| {
            let text = fs::read(signing(&format!("{case}.prov"))).unwrap();
            ("/demo-1.0.0.tgz.prov".to_owned(), text)
        }));
        files
    };
    let (good, bad, none) = (
        web(files(Some("rsa")), None),
        web(files(Some("tampered")), None),
        web(files(None), None),
    );
    let top = folder.path().join("top");
    let cache = folder.path().join("cache");
    let cache = ["--cache-dir", cache.to_str().unwrap()];
    let ring = keyring("keyring.gpg");
    let rest = [&["--verify", &ring[0], &ring[1]][..], &cache].concat();
    for (repository, code, reason) in [
        (at, 0, ""),
        (format!("http://{}", good.host()), 0, ""),
        (format!("http://{}", bad.host()), 3, "was changed"),
        (format!("http://{}", none.host()), 3, "has no provenance file"),
    ] {
        let dependency = format!("{{name: demo, version: ^1, repository: '{repository}'}}");
        chart(&top, "top", "1.0.0", &[dependency]);
        let run = ours("update", &top, &rest);
        assert_eq!(run.code, code, "{repository}: {}", run.stderr);
        assert!(run.stderr.contains(reason), "{repository}: {}", run.stderr);
        assert_eq!(top.join("charts").exists(), code == 0, "{repository}");
        if code != 0 {
            continue;
        }
        assert_eq!(names(&top), ["demo-1.0.0.tgz"]);
        fs::remove_dir_all(top.join("charts")).unwrap();
        // A locked archive that is in the cache is no more signed than any other.
        let strange = keyring("ed25519.gpg");
        let rest = [&["--verify", &strange[0], &strange[1]][..], &cache].concat();
        let run = ours("build", &top, &rest);
        assert!(
            run.code == 3 && run.stderr.contains("no key of the keyring"),
            "{}",
            run.stderr
        );
        fs::remove_file(top.join("Chart.lock")).unwrap();
    }
}

/// The recorded verdicts decide what ours may be: they are Helm's still.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_recorded_verdicts_are_helms() {
    let folder = tempfile::tempdir().unwrap();
    let verdicts = fs::read_to_string(signing("verdicts.txt")).unwrap();
    let mut count = 0;
    for line in verdicts.lines().filter(|line| line.contains(": ")) {
        let (case, verdict) = line.split_once(": ").unwrap();
        let (name, ring) = case.split_once(' ').unwrap();
        let archive = signed(folder.path(), name);
        let mut helm = Tool::Helm.command(folder.path());
        let output = helm
            .arg("verify")
            .arg(&archive)
            .args(keyring(ring))
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        match verdict.strip_prefix("good, ") {
            Some(fingerprint) => assert!(stdout.contains(fingerprint), "{case}: {stdout}"),
            None => assert!(!output.status.success(), "{case}: {stdout}"),
        }
        count += 1;
    }
    assert!(count > 30, "{count}");
}
