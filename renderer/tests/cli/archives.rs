//! Archives that others made: what Helm 4.3.1 renders of odd ones, and which are refused.

use std::path::Path;

use testbed::{Tool, run};

use crate::{Run, command};

/// A tar of these files, as they are named.
fn tar_of(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        // As it stands: the library would tidy it up.
        header.as_ustar_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut writer, bytes).unwrap();
    writer.finish().unwrap()
}

fn rendered(command: &mut std::process::Command, path: &Path) -> String {
    run(command.args(["template", "r"]).arg(path))
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn odd_archives_render_as_helm_renders_them() {
    let folder = tempfile::tempdir().unwrap();
    let chart = ("x/Chart.yaml", "apiVersion: v2\nname: x\nversion: 1.0.0\n");
    let template = ("x/templates/a.yaml", "kind: A\nvalue: {{ .Values.a }}\n");
    let plain = [chart, ("x/values.yaml", "a: 1\n"), template];
    let windows = [
        ("x\\Chart.yaml", chart.1),
        ("x\\values.yaml", "a: 1\n"),
        ("x\\templates\\a.yaml", template.1),
    ];
    let mixed = [chart, template, ("x/templates\\b.yaml", "kind: B\n")];
    let dots = [chart, ("x/./templates/./a.yaml", template.1)];
    let whole = gzip(&tar_of(&plain));
    let tar = tar_of(&plain);
    let (head, tail) = tar.split_at(700);
    let table: [(&str, Vec<u8>); 8] = [
        ("zeros behind it", [&whole[..], &[0; 100]].concat()),
        ("junk behind it", [&whole[..], b"junk"].concat()),
        ("an archive behind it", [&whole[..], &gzip(b"more")].concat()),
        (
            "junk behind the tar",
            gzip(&[&tar_of(&plain)[..], &[7; 900]].concat()),
        ),
        ("two members", [gzip(head), gzip(tail)].concat()),
        ("backslashes", gzip(&tar_of(&windows))),
        ("both kinds of slashes", gzip(&tar_of(&mixed))),
        ("dots", gzip(&tar_of(&dots))),
    ];
    for (what, bytes) in table {
        let path = folder.path().join("x.tgz");
        std::fs::write(&path, bytes).unwrap();
        let ours = rendered(&mut command(), &path);
        assert!(ours.contains("# Source: x/templates/a.yaml"), "{what}: {ours}");
        let theirs = rendered(&mut Tool::Helm.command(folder.path()), &path);
        assert_eq!(ours, theirs, "{what}");
        let unpacked = folder.path().join(what);
        let pushed = Run::of(
            command()
                .arg("push")
                .arg(&path)
                .arg(format!("oci-layout:{}", unpacked.display())),
        );
        assert_eq!(pushed.code, 0, "{what}: {}", pushed.stderr);
    }
}

#[test]
fn an_archive_that_is_cut_short_is_refused_wherever_it_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tgz");
    let chart = ("x/Chart.yaml", "apiVersion: v2\nname: x\nversion: 1.0.0\n");
    let whole = gzip(&tar_of(&[chart, ("x/templates/a.yaml", "kind: A\n")]));
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let run = Run::of(command().arg("digest").arg(&path));
        assert_eq!(run.code, 1, "{length} of {}: {}", whole.len(), run.stderr);
    }
}

#[test]
fn an_archive_that_names_two_charts_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tgz");
    for second in ["x/Chart.yaml", "y/Chart.yaml", "x//Chart.yaml", "x/./Chart.yaml"] {
        let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(
            Vec::new(),
            flate2::Compression::fast(),
        ));
        for (name, version) in [("x/Chart.yaml", 1), (second, 2)] {
            let text = format!("apiVersion: v2\nname: x\nversion: {version}.0.0\n");
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        std::fs::write(&path, builder.into_inner().unwrap().finish().unwrap()).unwrap();
        let run = Run::of(command().arg("digest").arg(&path));
        assert!(
            run.code == 1
                && (run.stderr.contains("Chart.yaml is in it twice") || run.stderr.contains("empty element")),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn hostile_archives_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tgz");
    let chart_yaml = "apiVersion: v2\nname: x\nversion: 1.0.0\n";
    type Entry = (&'static str, tar::EntryType);
    let cases: [(Entry, &str); 7] = [
        (("x/C:/evil", tar::EntryType::Regular), "is absolute"),
        (("x/../../evil", tar::EntryType::Regular), "leaves the chart"),
        (("/etc/passwd", tar::EntryType::Regular), "is absolute"),
        (("x/link", tar::EntryType::Symlink), "is a link"),
        (("x/hard", tar::EntryType::Link), "is a link"),
        (("x/dev", tar::EntryType::Char), "neither a file nor a folder"),
        (("loose", tar::EntryType::Regular), "is outside"),
    ];
    for ((name, kind), reason) in cases {
        let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(
            Vec::new(),
            flate2::Compression::fast(),
        ));
        let mut header = tar::Header::new_ustar();
        header.set_size(chart_yaml.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, "x/Chart.yaml", chart_yaml.as_bytes())
            .unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_size(0);
        header.set_entry_type(kind);
        header.as_ustar_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, std::io::empty()).unwrap();
        std::fs::write(&path, builder.into_inner().unwrap().finish().unwrap()).unwrap();
        let run = Run::of(command().arg("digest").arg(&path));
        assert!(
            run.code == 1 && run.stderr.contains(reason),
            "{name}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_dot_is_the_top_folder_as_in_helm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tgz");
    let files = [("./x/Chart.yaml", "apiVersion: v2\nname: x\nversion: 1.0.0\n")];
    std::fs::write(&path, gzip(&tar_of(&files))).unwrap();
    let run = Run::of(command().args(["template", "r"]).arg(&path));
    assert!(
        run.code == 1 && run.stderr.contains("Chart.yaml is one folder too deep"),
        "{}",
        run.stderr
    );
}

#[test]
fn archives_that_are_no_charts_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tgz");
    let text = "apiVersion: v2\nname: x\nversion: 1.0.0\n";
    let cases = [
        (tar_of(&[("x/Chart.yaml", text)]), "is not compressed", "`gzip -n"),
        (
            gzip(&tar_of(&[("./x/Chart.yaml", text)])),
            "one folder too deep",
            "tar -czf",
        ),
        (
            gzip(&tar_of(&[("Chart.yaml", text)])),
            "is outside the chart's folder",
            "tar -czf",
        ),
    ];
    for (bytes, reason, hint) in cases {
        std::fs::write(&path, bytes).unwrap();
        let run = Run::of(command().arg("template").arg(&path));
        assert!(
            run.code == 1 && run.stderr.contains(reason) && run.stderr.contains(hint),
            "{reason}: {}",
            run.stderr
        );
    }
}
