//! What is packed, and that it is packed again with the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{HOME, TARGET, VERSION, binaries, dist, pack, root, said};

fn listed(command: &mut Command) -> BTreeSet<String> {
    let text = testbed::run(command);
    text.lines().map(str::to_owned).collect()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn archives_and_packages_hold_program_link_manual_pages_completions_and_licence() {
    let name = format!("solar-render-{VERSION}-{TARGET}");
    let archive = dist().join(format!("{name}.tar.gz"));
    let files = listed(Command::new("tar").arg("-tzf").arg(&archive));
    for file in [
        "bin/solar-render",
        "bin/solar-renderer",
        "share/man/man1/solar-render.1",
        "share/man/man1/solar-render-push.1",
        "share/bash-completion/completions/solar-render",
        "share/zsh/site-functions/_solar-render",
        "share/fish/vendor_completions.d/solar-render.fish",
        "share/doc/solar-render/LICENSE",
    ] {
        assert!(files.contains(&format!("{name}/{file}")), "{file}: {files:?}");
    }
    let package = dist().join(format!("solar-render_{VERSION}_amd64.deb"));
    let table = testbed::run(Command::new("dpkg-deb").arg("--contents").arg(&package));
    for file in [
        "./usr/bin/solar-render\n",
        "./usr/bin/solar-renderer -> solar-render\n",
        "./usr/share/man/man1/solar-render.1.gz\n",
        "./usr/share/bash-completion/completions/solar-render\n",
        "./usr/share/zsh/vendor-completions/_solar-render\n",
        "./usr/share/fish/vendor_completions.d/solar-render.fish\n",
        "./usr/share/doc/solar-render/copyright\n",
        "./usr/share/doc/solar-render/changelog.gz\n",
    ] {
        assert!(table.contains(&format!(" {file}")), "{file}: {table}");
    }
    assert!(table.lines().all(|line| line.contains(" root/root ")), "{table}");
    let fields = testbed::run(Command::new("dpkg-deb").arg("--field").arg(&package));
    for line in [
        "Package: solar-render\n",
        &format!("Version: {VERSION}\n"),
        "Architecture: amd64\n",
        &format!("Homepage: {HOME}\n"),
    ] {
        assert!(fields.contains(line), "{fields}");
    }
}

/// `cargo binstall` fills in names as `release/pack` gives them.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn binstalls_metadata_names_the_archives_and_the_programs_in_them() {
    for (folder, name) in [("renderer", "solar-render"), ("operator", "solar-operator")] {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let field = |key: &str| {
            let start = format!("{key} = \"");
            let line = manifest.lines().find_map(|line| line.strip_prefix(&start));
            let filled = [
                ("repo", HOME),
                ("version", VERSION),
                ("name", name),
                ("bin", name),
                ("target", TARGET),
                ("binary-ext", ""),
            ];
            let text = line.unwrap().trim_end_matches('"').to_owned();
            filled.iter().fold(text, |text, (key, value)| {
                text.replace(&format!("{{ {key} }}"), value)
            })
        };
        let downloads = format!("{HOME}/releases/download/v{VERSION}/");
        let url = field("pkg-url");
        let archive = dist().join(url.strip_prefix(&downloads).unwrap());
        let files = listed(Command::new("tar").arg("-tzf").arg(archive));
        assert!(files.contains(&field("bin-dir")), "{files:?}");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn every_file_has_its_checksum_and_the_formula_those_of_the_archives() {
    let sums = fs::read_to_string(dist().join("SHA256SUMS")).unwrap();
    testbed::run(
        Command::new("sha256sum")
            .args(["--check", "--strict", "SHA256SUMS"])
            .current_dir(dist()),
    );
    let summed: BTreeSet<&str> = sums.lines().filter_map(|line| line.split("  ").nth(1)).collect();
    for entry in fs::read_dir(dist()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let is_of_the_sums = name.starts_with("SHA256SUMS") || name == "provenance.sigstore.json";
        assert!(
            entry.path().is_dir() || is_of_the_sums || summed.contains(name.as_str()),
            "{name}"
        );
    }
    let archive = format!("solar-render-{VERSION}-{TARGET}.tar.gz");
    let line = sums.lines().find(|line| line.ends_with(&archive)).unwrap();
    let formula = fs::read_to_string(dist().join("solar-render.rb")).unwrap();
    let url = format!("url \"{HOME}/releases/download/v{VERSION}/{archive}\"");
    assert!(
        formula.contains(&url) && formula.contains(&format!("sha256 \"{}\"", &line[..64])),
        "{formula}"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn checksums_are_signed_and_the_provenance_is_about_every_file() {
    let program = binaries().join(TARGET).join("solar-render");
    let verify = |file: &str, bundle: &str, rest: &[&str]| {
        let mut verify = Command::new(&program);
        verify.args(["verify", file, "--bundle", bundle, "--key"]);
        verify.arg(root().join("testdata/signing/cosign.pub"));
        said(&verify.args(rest).current_dir(dist()).output().unwrap())
    };
    let (code, text) = verify("SHA256SUMS", "SHA256SUMS.sigstore.json", &[]);
    assert_eq!(code, Some(0), "{text}");
    let typed = ["--predicate-type", "https://slsa.dev/provenance/v1"];
    let sums = fs::read_to_string(dist().join("SHA256SUMS")).unwrap();
    for file in sums.lines().filter_map(|line| line.split("  ").nth(1)) {
        let (code, text) = verify(file, "provenance.sigstore.json", &typed);
        assert_eq!(code, Some(0), "{file}: {text}");
    }
    assert_eq!(
        verify("SHA256SUMS", "provenance.sigstore.json", &typed).0,
        Some(3)
    );
}

/// Every file below a folder, but for signatures: ECDSA's are random.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let text = testbed::run(
        Command::new("find")
            .args([".", "-type", "f", "-not", "-name", "*.sigstore.json"])
            .current_dir(folder),
    );
    text.lines()
        .map(|name| (name.to_owned(), fs::read(folder.join(name)).unwrap()))
        .collect()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_same_programs_are_packed_into_the_same_bytes_in_another_folder_and_with_another_umask() {
    let folder = tempfile::tempdir().unwrap();
    let again = folder.path().join("elsewhere/dist");
    fs::create_dir(again.parent().unwrap()).unwrap();
    let command = pack(&again);
    let mut masked = Command::new("sh");
    masked
        .args(["-c", "umask 027; exec \"$0\""])
        .arg(command.get_program());
    for (name, value) in command.get_envs() {
        masked.env(name, value.unwrap());
    }
    testbed::run(masked.env("TMPDIR", folder.path()));
    let (one, two) = (contents(dist()), contents(&again));
    assert!(one.len() > 20, "{:?}", one.keys());
    let names = |all: &BTreeMap<String, Vec<u8>>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&one), names(&two));
    for (name, bytes) in &one {
        assert!(two[name] == *bytes, "{name} differs");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn without_the_projects_url_nothing_is_packed() {
    let folder = tempfile::tempdir().unwrap();
    let dist = folder.path().join("dist");
    let (code, text) = said(&pack(&dist).env("RELEASE_HOME", "").output().unwrap());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("set RELEASE_HOME"), "{text}");
    assert!(!dist.exists());
}

/// `rm -rf` of whatever RELEASE_DIST named.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_folder_with_other_files_is_not_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("precious");
    fs::write(&precious, "").unwrap();
    let (code, text) = said(&pack(folder.path()).output().unwrap());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("has other files in it"), "{text}");
    assert!(precious.exists());
}
