//! `package --sign`: what it writes is accepted by `verify`, Helm and GnuPG, and what it refuses.

use std::fs;
use std::path::Path;

use testbed::Tool;

use crate::dependency::chart;
use crate::provenance::{keyring, signing};
use crate::{Run, command};

/// Packs the chart in the folder and signs it.
fn packed(folder: &Path, key: &str, rest: &[&str]) -> Run {
    let mut command = command();
    command
        .current_dir(folder)
        .args(["package", "app", "--sign", "--key", key]);
    Run::of(command.args(rest))
}

#[test]
fn package_signs_what_verify_accepts() {
    let folder = tempfile::tempdir().unwrap();
    chart(&folder.path().join("app"), "app", "2.0.0+b", &[]);
    let secrets = signing("secrets.gpg");
    let secrets = secrets.to_str().unwrap();
    let run = packed(folder.path(), "p521", &["--keyring", secrets, "-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json = run.json();
    assert_eq!(json["provenance"]["signedBy"][0], "p521 <p521@example.com>");
    let verify = || {
        let mut command = command();
        command
            .current_dir(folder.path())
            .args(["verify", "app-2.0.0+b.tgz"]);
        Run::of(command.args(keyring("secrets-public.gpg")))
    };
    assert_eq!(verify().code, 0, "{}", verify().stderr);
    // The provenance file is a layer: what is pushed has the digest that was printed.
    let digest = Run::of(
        command()
            .current_dir(folder.path())
            .args(["digest", "app-2.0.0+b.tgz"]),
    );
    assert_eq!(digest.stdout.trim(), json["digest"].as_str().unwrap());
    // It was not written again where the archive was there already.
    let provenance = folder.path().join("app-2.0.0+b.tgz.prov");
    for _ in 0..2 {
        fs::write(&provenance, "old").unwrap();
        assert_eq!(packed(folder.path(), "p521", &["--keyring", secrets]).code, 0);
        assert_eq!(verify().code, 0, "{}", verify().stderr);
        fs::remove_file(&provenance).unwrap();
    }
    assert_eq!(packed(folder.path(), "p521", &["--keyring", secrets]).code, 0);
    assert_eq!(verify().code, 0, "{}", verify().stderr);
}

#[test]
fn package_asks_for_what_signing_needs() {
    let folder = tempfile::tempdir().unwrap();
    chart(&folder.path().join("app"), "app", "2.0.0", &[]);
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (right, wrong) = (
        file("right", "open sesame\nmore\n"),
        file("wrong", "open sesam\n"),
    );
    let secrets = signing("secrets.gpg");
    let public = signing("secrets-public.gpg");
    let (secrets, public) = (secrets.to_str().unwrap(), public.to_str().unwrap());
    for (key, ring, passphrase, code, expected) in [
        ("", secrets, None, 2, "--sign requires --key NAME"),
        ("locked", secrets, None, 2, "has a passphrase"),
        (
            "locked",
            secrets,
            Some(&wrong),
            1,
            "the passphrase of \"locked <locked@example.com>\" is wrong",
        ),
        (
            "nobody",
            secrets,
            None,
            1,
            "no key whose name contains \"nobody\"",
        ),
        (
            "example",
            secrets,
            None,
            1,
            "more than one key has a name that contains \"example\"",
        ),
        (
            "p521",
            public,
            None,
            1,
            "the secret half of the key of \"p521 <p521@example.com>\" is not in it",
        ),
        ("expired", secrets, None, 1, "its key expired on 2024-12-31"),
        ("p521", right.as_str(), None, 1, "not a keyring"),
    ] {
        let file = passphrase.map(|path: &String| ["--passphrase-file", path.as_str()]);
        let rest: Vec<&str> = file.into_iter().flatten().chain(["--keyring", ring]).collect();
        let run = packed(folder.path(), key, &rest);
        assert_eq!(run.code, code, "{key}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{key}: {}", run.stderr);
        assert!(!run.stderr.contains("sesam"), "{}", run.stderr);
    }
    assert!(!folder.path().join("app-2.0.0.tgz").exists());
    let given = ["--keyring", secrets, "--passphrase-file", right.as_str()];
    assert_eq!(packed(folder.path(), "locked", &given).code, 0);
    assert!(folder.path().join("app-2.0.0.tgz.prov").exists());
    // Without --sign the others count for nothing, as with Helm.
    let run = Run::of(
        command()
            .current_dir(folder.path())
            .args(["package", "app", "--key", "nobody"]),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = packed(
        folder.path(),
        "p521",
        &["--keyring", secrets, "--expect-digest", DIGEST],
    );
    assert_eq!(run.code, 2, "{}", run.stderr);
}

const DIGEST: &str = "sha256:3b9510634bc85a3ea75c2c92c5d9da5e8382a47af34e43ecf4f8ccfd325fd0bc";

/// GnuPG with a folder of its own.
struct Gnupg(tempfile::TempDir);

impl Gnupg {
    fn run(&self, rest: &[&str]) -> String {
        let mut command = std::process::Command::new("gpg");
        command.env("GNUPGHOME", self.0.path());
        command.args([
            "--batch",
            "--quiet",
            "--yes",
            "--no-tty",
            "--pinentry-mode",
            "loopback",
        ]);
        testbed::run(command.args(rest))
    }

    fn make(&self, name: &str, kind: &str, usage: &str, passphrase: &str) {
        let user = format!("{name} <{name}@example.com>");
        self.run(&[
            "--passphrase",
            passphrase,
            "--quick-gen-key",
            &user,
            kind,
            usage,
            "never",
        ]);
    }

    fn export(&self, to: &Path, rest: &[&str]) {
        let to = to.to_str().unwrap();
        self.run(&[&["--passphrase", "sesame", "--output", to], rest].concat());
    }
}

impl Drop for Gnupg {
    fn drop(&mut self) {
        let mut command = std::process::Command::new("gpgconf");
        let _ = command
            .env("GNUPGHOME", self.0.path())
            .args(["--kill", "all"])
            .status();
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn helm_and_gnupg_accept_what_package_signs() {
    let gnupg = Gnupg(tempfile::tempdir().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (secrets, public) = (folder.path().join("secret.gpg"), folder.path().join("public.gpg"));
    let app = folder.path().join("app");
    chart(&app, "app", "2.0.0", &[]);
    let text = "apiVersion: v2\nname: app\nversion: 2.0.0\nappVersion: '1.0'\ndescription: |\n  two  \n  - lines\nkeywords: [b, a]\n";
    fs::write(app.join("Chart.yaml"), text).unwrap();
    fs::write(folder.path().join("passphrase"), "sesame\n").unwrap();
    for (name, kind, usage, passphrase) in [
        ("rsa2048", "rsa2048", "sign", ""),
        ("rsa4096", "rsa4096", "sign", "sesame"),
        ("ed25519", "ed25519", "sign", "sesame"),
        ("p256", "nistp256", "sign", ""),
        ("p384", "nistp384", "sign", ""),
        ("p521", "nistp521", "sign", "sesame"),
        ("usual", "default", "default", "sesame"),
    ] {
        gnupg.make(name, kind, usage, passphrase);
    }
    gnupg.export(&secrets, &["--export-secret-keys"]);
    gnupg.export(&public, &["--export"]);
    for armored in [false, true] {
        if armored {
            gnupg.export(&secrets, &["--armor", "--export-secret-keys"]);
        }
        for name in ["rsa2048", "rsa4096", "ed25519", "p256", "p384", "p521", "usual"] {
            let rest = ["--keyring", "secret.gpg", "--passphrase-file", "passphrase"];
            let run = packed(folder.path(), name, &rest);
            assert_eq!(run.code, 0, "{name}: {}", run.stderr);
            accepted(&gnupg, folder.path(), name);
        }
    }
    let ours = fs::read_to_string(folder.path().join("app-2.0.0.tgz.prov")).unwrap();
    let mut helm = Tool::Helm.command(folder.path());
    helm.args([
        "package",
        "app",
        "--sign",
        "--key",
        "rsa2048",
        "--keyring",
        "secret.gpg",
    ]);
    testbed::run(&mut helm);
    let helms = fs::read_to_string(folder.path().join("app-2.0.0.tgz.prov")).unwrap();
    let shape = |text: &str| text.split_once("  app-2.0.0.tgz: sha256:").unwrap().0.to_owned();
    assert_eq!(shape(&ours), shape(&helms));
}

fn accepted(gnupg: &Gnupg, folder: &Path, name: &str) {
    let mut helm = Tool::Helm.command(folder);
    let text = testbed::run(helm.args(["verify", "app-2.0.0.tgz", "--keyring", "public.gpg"]));
    assert!(text.contains(&format!("Signed by: {name} <")), "{text}");
    let provenance = folder.join("app-2.0.0.tgz.prov");
    gnupg.run(&["--verify", provenance.to_str().unwrap()]);
    let mut ours = command();
    ours.current_dir(folder)
        .args(["verify", "app-2.0.0.tgz", "--keyring", "public.gpg"]);
    let run = Run::of(&mut ours);
    assert_eq!((run.code, run.stdout), (0, text), "{}", run.stderr);
}
