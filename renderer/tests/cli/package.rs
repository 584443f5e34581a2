//! Packaging chart folders: the same bytes everywhere, and readers that take them.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use testbed::{Registry, Tool, run};

use crate::{Run, binary, command};

/// A chart with all that a chart can have.
fn write_chart(folder: &Path) {
    let files: &[(&str, &str)] = &[
        (
            "Chart.yaml",
            "# kept\napiVersion: v2\nname: demo\nversion: 1.2.3+b.4\nappVersion: 1.10\ndescription: 'a: b # <c> & d'\nhome: https://h\nsources: [https://s]\nmaintainers: [{name: Jo, email: jo@x}]\nannotations: {a: b}\n",
        ),
        ("values.yaml", "a: 1\n"),
        ("values.schema.json", "{}\n"),
        ("README.md", "# demo\n"),
        (".helmignore", "*.bak\n/secret\n"),
        ("secret/key", "k\n"),
        ("x.bak", "b\n"),
        (
            "templates/a.yaml",
            "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n",
        ),
        ("templates/_h.tpl", "{{- define \"x\" }}{{ end }}\n"),
        ("templates/.hidden", "no\n"),
        ("crds/c.yaml", "a: 1\n"),
        (
            "charts/sub/Chart.yaml",
            "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
        ),
        (
            "charts/sub/templates/s.yaml",
            "kind: ConfigMap\napiVersion: v1\nmetadata: {name: s}\n",
        ),
        ("charts/_left/Chart.yaml", "no\n"),
        ("charts/.left/Chart.yaml", "no\n"),
        ("files/ünï.txt", "u\n"),
    ];
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn digest_of(folder: &Path, run_in: &mut Command) -> String {
    let run = Run::of(run_in.arg("digest").arg(folder));
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_digest_does_not_depend_on_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first");
    write_chart(&first);
    let expected = digest_of(&first, &mut command());
    // Other times, modes, order of creation, and a folder of another name.
    let second = folder.path().join("elsewhere/other");
    write_chart(&second);
    let mut paths: Vec<_> = crate::tree(&second).into_iter().collect();
    paths.reverse();
    for (path, bytes) in paths {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_234_567);
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(old)
            .unwrap();
    }
    // What a killed `dependency update` left is no part of it.
    let left = second.join(".solar-render-abc123");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("part"), "half").unwrap();
    assert_eq!(digest_of(&second, &mut command()), expected);
    let environments = [
        vec![("TZ", "Asia/Tokyo"), ("LC_ALL", "C")],
        vec![
            ("TZ", "America/New_York"),
            ("LC_ALL", "tr_TR.UTF-8"),
            ("LANG", "tr_TR.UTF-8"),
            ("HOME", "/nonexistent"),
        ],
    ];
    for environment in environments {
        assert_eq!(digest_of(&second, command().envs(environment)), expected);
    }
    let script = format!(
        "umask 077; exec taskset 1 {} digest {}",
        binary().display(),
        second.display()
    );
    assert_eq!(
        Run::of(Command::new("sh").args(["-c", &script])).stdout,
        expected,
        "one processor, another umask"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_archive_is_plain_and_reproducible() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(&folder.path().join("demo"));
    let run = Run::of(
        command()
            .args(["package", "demo", "-o", "json"])
            .current_dir(folder.path()),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let bytes = std::fs::read(folder.path().join("demo-1.2.3+b.4.tgz")).unwrap();
    assert_eq!(
        &bytes[..10],
        [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff],
        "no time, no name"
    );
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
    let mut paths = Vec::new();
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        assert!(header.entry_type().is_file());
        assert_eq!(
            (
                header.mode().unwrap(),
                header.uid().unwrap(),
                header.gid().unwrap()
            ),
            (0o644, 0, 0)
        );
        assert_eq!(header.mtime().unwrap(), 315_532_800);
        assert_eq!(
            (header.username().unwrap(), header.groupname().unwrap()),
            (Some(""), Some(""))
        );
        paths.push(entry.path().unwrap().display().to_string());
    }
    let expected = [
        "demo/Chart.yaml",
        "demo/.helmignore",
        "demo/README.md",
        "demo/charts/sub/Chart.yaml",
        "demo/charts/sub/templates/s.yaml",
        "demo/crds/c.yaml",
        "demo/files/ünï.txt",
        "demo/templates/_h.tpl",
        "demo/templates/a.yaml",
        "demo/values.schema.json",
        "demo/values.yaml",
    ];
    assert_eq!(paths, expected);
    // What Helm keeps of the same folder, whatever its order.
    let helm = folder.path().join("helm");
    std::fs::create_dir(&helm).unwrap();
    run_helm(folder.path(), &["package", "demo", "-d", "helm"]);
    let bytes = std::fs::read(helm.join("demo-1.2.3+b.4.tgz")).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
    let mut theirs: Vec<String> = archive
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().display().to_string())
        .collect();
    theirs.sort();
    paths.sort();
    assert_eq!(theirs, paths);
}

fn run_helm(folder: &Path, words: &[&str]) -> String {
    let home = tempfile::tempdir().unwrap();
    run(Tool::Helm.command(home.path()).current_dir(folder).args(words))
}

fn manifest(registry: &Registry, path: &str) -> serde_json::Value {
    let home = tempfile::tempdir().unwrap();
    let reference = format!("{}/{path}", registry.host());
    let text = run(Tool::Crane
        .command(home.path())
        .args(["manifest", "--insecure", &reference]));
    serde_json::from_str(&text).unwrap()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn helm_crane_and_skopeo_read_what_was_pushed_and_see_the_same_digest() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(&folder.path().join("demo"));
    let registry = Registry::start();
    let target = format!("oci://{}/charts", registry.host());
    let digest = digest_of(&folder.path().join("demo"), &mut command());
    let pushed = Run::of(
        command()
            .args(["push", "demo", &target, "--plain-http", "-o", "json"])
            .current_dir(folder.path()),
    );
    assert_eq!(
        (pushed.code, pushed.json()["digest"].as_str()),
        (0, Some(digest.trim())),
        "{}",
        pushed.stderr
    );
    assert_eq!(
        pushed.json()["reference"],
        format!("{}/charts/demo:1.2.3_b.4", registry.host())
    );
    assert_eq!(registry.crane_digest("charts/demo:1.2.3_b.4"), digest.trim());
    let reference = format!("{target}/demo");
    let shown = run_helm(
        folder.path(),
        &[
            "show",
            "chart",
            &reference,
            "--version",
            "1.2.3+b.4",
            "--plain-http",
        ],
    );
    assert!(shown.contains("name: demo"), "{shown}");
    let text = run_helm(
        folder.path(),
        &[
            "template",
            "r",
            &reference,
            "--version",
            "1.2.3+b.4",
            "--plain-http",
        ],
    );
    assert!(text.contains("name: a") && text.contains("name: s"), "{text}");
    run_helm(
        folder.path(),
        &["pull", &reference, "--version", "1.2.3+b.4", "--plain-http"],
    );
    let pulled = folder.path().join("demo-1.2.3+b.4.tgz");
    assert_eq!(
        Run::of(command().arg("digest").arg(&pulled)).stdout,
        digest,
        "a pulled archive has the same digest"
    );
    let home = tempfile::tempdir().unwrap();
    let raw = run(Tool::Skopeo
        .command(home.path())
        .args(["inspect", "--raw", "--tls-verify=false"])
        .arg(format!("docker://{}/charts/demo:1.2.3_b.4", registry.host())));
    assert_eq!(raw.len() as u64, pushed.json()["size"].as_u64().unwrap());
    let copied = format!("oci:{}:x", folder.path().join("copied").display());
    let source = format!("docker://{}/charts/demo:1.2.3_b.4", registry.host());
    run(Tool::Skopeo
        .command(home.path())
        .args(["copy", "--src-tls-verify=false", &source, &copied]));
}

/// Flux's OCIRepository with `operation: copy` takes the layer of Helm's media type as it is,
/// and its Helm controller loads that file with Helm's loader.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn flux_finds_the_layer_by_its_media_type() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(&folder.path().join("demo"));
    let registry = Registry::start();
    let target = format!("oci://{}/charts", registry.host());
    Run::of(
        command()
            .args(["push", "demo", &target, "--plain-http"])
            .current_dir(folder.path()),
    );
    let manifest = manifest(&registry, "charts/demo:1.2.3_b.4");
    let layers = manifest["layers"].as_array().unwrap();
    let wanted = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
    let layer = layers.iter().find(|layer| layer["mediaType"] == wanted).unwrap();
    let home = tempfile::tempdir().unwrap();
    let blob = format!(
        "{}/charts/demo@{}",
        registry.host(),
        layer["digest"].as_str().unwrap()
    );
    let output = Tool::Crane
        .command(home.path())
        .args(["blob", "--insecure", &blob])
        .output()
        .unwrap();
    std::fs::write(folder.path().join("layer.tgz"), &output.stdout).unwrap();
    assert_eq!(output.stdout.len() as u64, layer["size"].as_u64().unwrap());
    assert!(run_helm(folder.path(), &["show", "chart", "layer.tgz"]).contains("version: 1.2.3+b.4"));
}

/// The manifest is Helm's, but for the archive and the clock; the config blob is Helm's to the byte.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_manifest_is_the_one_that_helm_pushes() {
    let folder = tempfile::tempdir().unwrap();
    let charts: BTreeMap<&str, &str> = BTreeMap::from([
        ("plain", "apiVersion: v2\nname: plain\nversion: 1.2.3\n"),
        ("old", "name: old\nversion: v1.2\n"),
        (
            "full",
            "apiVersion: v2\nname: full\nversion: 1.0.0\nappVersion: 1.10\ndescription: \"a: b # <c> & d\\n\\u200be\\u0301 \\u00a0x\"\nhome: https://h\nsources: [https://s1, https://s2]\nicon: https://i\nkeywords: [k1, 2, true, ~]\nmaintainers: [{name: Jo, email: jo@x, url: https://u}, {name: Al}, {email: a@b}]\nkubeVersion: '>=1.2'\ntype: application\ndeprecated: true\nannotations: {a: b, e: '', org.opencontainers.image.title: mine, org.opencontainers.image.licenses: MIT}\ncondition: foo\ntags: foo,bar\nunknown: x\n",
        ),
        (
            "case",
            "apiVersion: v2\nName: case\nVersion: 1.0.0\nappversion: yes\nkeywords: []\nannotations: {}\n",
        ),
    ]);
    let registry = Registry::start();
    for (name, text) in charts {
        let chart = folder.path().join(name);
        std::fs::create_dir(&chart).unwrap();
        if name == "old" {
            let sub = chart.join("charts/sub");
            std::fs::create_dir_all(&sub).unwrap();
            std::fs::write(sub.join("Chart.yaml"), "name: sub\nversion: 1.0.0\n").unwrap();
            let text = "dependencies:\n- {name: sub, version: 1.0.0, repository: 'https://x', tags: [a]}\n";
            std::fs::write(chart.join("requirements.yaml"), text).unwrap();
        }
        std::fs::write(chart.join("Chart.yaml"), text).unwrap();
        let ours = format!("oci://{}/ours", registry.host());
        let pushed = Run::of(
            command()
                .args(["push", name, &ours, "--plain-http", "-o", "json"])
                .current_dir(folder.path()),
        );
        assert_eq!(pushed.code, 0, "{}", pushed.stderr);
        let tag = pushed.json()["reference"]
            .as_str()
            .unwrap()
            .rsplit(':')
            .next()
            .unwrap()
            .to_owned();
        run_helm(folder.path(), &["package", name]);
        let archive = format!("{name}-{tag}.tgz");
        run_helm(
            folder.path(),
            &[
                "push",
                &archive,
                &format!("oci://{}/theirs", registry.host()),
                "--plain-http",
            ],
        );
        let mut ours = manifest(&registry, &format!("ours/{name}:{tag}"));
        let mut theirs = manifest(&registry, &format!("theirs/{name}:{tag}"));
        let created = theirs["annotations"]
            .as_object_mut()
            .unwrap()
            .remove("org.opencontainers.image.created");
        assert!(created.is_some());
        for manifest in [&mut ours, &mut theirs] {
            manifest["layers"][0]["digest"].take();
            manifest["layers"][0]["size"].take();
        }
        assert_eq!(ours, theirs, "{name}: the config blob's digest is among it");
        assert_eq!(ours.to_string(), theirs.to_string());
    }
}

#[test]
fn source_date_epoch_gives_a_folder_its_time() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(&folder.path().join("demo"));
    let plain = digest_of(&folder.path().join("demo"), &mut command());
    let dated = digest_of(
        &folder.path().join("demo"),
        command().env("SOURCE_DATE_EPOCH", "1700000000"),
    );
    assert_ne!(plain, dated);
    let bad = Run::of(
        command()
            .env("SOURCE_DATE_EPOCH", "yesterday")
            .arg("digest")
            .arg(folder.path().join("demo")),
    );
    assert_eq!(bad.code, 2, "{}", bad.stderr);
    let config = crate::testdata().join("release.yaml");
    assert_eq!(
        digest_of(&config, command().env("SOURCE_DATE_EPOCH", "1700000000")),
        digest_of(&config, &mut command()),
        "never a config's"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn versions_can_be_given_and_comments_stay() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(&folder.path().join("demo"));
    let words = ["package", "demo", "--version", "2.0.0", "--app-version", "3"];
    assert_eq!(Run::of(command().args(words).current_dir(folder.path())).code, 0);
    let shown = run_helm(folder.path(), &["show", "chart", "demo-2.0.0.tgz"]);
    assert!(
        shown.contains("version: 2.0.0") && shown.contains("appVersion: \"3\""),
        "{shown}"
    );
    let source = std::fs::read_to_string(folder.path().join("demo/Chart.yaml")).unwrap();
    assert!(source.contains("1.2.3+b.4"), "the source is not touched");
    let bytes = std::fs::read(folder.path().join("demo-2.0.0.tgz")).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
    let mut text = String::new();
    std::io::Read::read_to_string(
        &mut archive.entries().unwrap().next().unwrap().unwrap(),
        &mut text,
    )
    .unwrap();
    assert!(text.starts_with("# kept\n"), "{text}");
    let bad = Run::of(
        command()
            .args(["package", "demo", "--version", "x"])
            .current_dir(folder.path()),
    );
    // It is the flag that is wrong, not the chart.
    assert_eq!(bad.code, 2, "{}", bad.stderr);
    assert!(bad.stderr.contains("--version"), "{}", bad.stderr);
}

#[test]
fn links_inside_are_followed_and_links_out_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("demo");
    write_chart(&chart);
    let copied = folder.path().join("copied");
    write_chart(&copied);
    symlink("README.md", chart.join("LINK.md")).unwrap();
    std::fs::copy(copied.join("README.md"), copied.join("LINK.md")).unwrap();
    assert_eq!(
        digest_of(&chart, &mut command()),
        digest_of(&copied, &mut command())
    );
    symlink("..", chart.join("templates/up")).unwrap();
    let cycle = Run::of(command().arg("digest").arg(&chart));
    assert!(
        cycle.code == 1 && cycle.stderr.contains("is a link to a folder that holds it"),
        "{}",
        cycle.stderr
    );
    std::fs::remove_file(chart.join("templates/up")).unwrap();
    symlink("/etc/hostname", chart.join("out")).unwrap();
    let out = Run::of(command().arg("digest").arg(&chart));
    assert!(
        out.code == 1 && out.stderr.contains("is a link that leaves the chart"),
        "{}",
        out.stderr
    );
    std::fs::write(chart.join(".helmignore"), "out\n").unwrap();
    assert_eq!(
        Run::of(command().arg("digest").arg(&chart)).code,
        0,
        "an ignored link does no harm"
    );
}

#[test]
fn a_dependency_of_requirements_yaml_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("old");
    std::fs::create_dir(&chart).unwrap();
    std::fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v1\nname: old\nversion: 1.0.0\n",
    )
    .unwrap();
    std::fs::write(
        chart.join("requirements.yaml"),
        "dependencies: [{name: loki, version: 1.0.0}]\n",
    )
    .unwrap();
    let run = Run::of(command().arg("digest").arg(&chart));
    assert!(
        run.code == 1 && run.stderr.contains("declares the dependency `loki`"),
        "{}",
        run.stderr
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_provenance_file_travels_with_its_archive() {
    let folder = tempfile::tempdir().unwrap();
    write_chart(&folder.path().join("demo"));
    Run::of(command().args(["package", "demo"]).current_dir(folder.path()));
    let archive = folder.path().join("demo-1.2.3+b.4.tgz");
    let without = Run::of(command().arg("digest").arg(&archive)).stdout;
    std::fs::write(folder.path().join("demo-1.2.3+b.4.tgz.prov"), "signed\n").unwrap();
    let with = Run::of(command().arg("digest").arg(&archive)).stdout;
    assert_ne!(without, with);
    let registry = Registry::start();
    let target = format!("oci://{}/charts", registry.host());
    let pushed = Run::of(
        command()
            .arg("push")
            .arg(&archive)
            .args([&target, "--plain-http", "-o", "json"]),
    );
    assert_eq!(pushed.json()["digest"], with.trim());
    let manifest = manifest(&registry, "charts/demo:1.2.3_b.4");
    assert_eq!(
        manifest["layers"][1]["mediaType"],
        "application/vnd.cncf.helm.chart.provenance.v1.prov"
    );
}
