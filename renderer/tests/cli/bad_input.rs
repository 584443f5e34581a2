//! What users get wrong: a diagnostic, exit 1, nothing written.

use std::io::Write as _;
use std::process::Stdio;

use crate::{Run, command, testdata, tree};

/// Snapshots of our own words, over a folder of mistakes.
#[test]
fn every_mistake_is_explained_and_nothing_is_written() {
    insta::glob!("../../../testdata/bad", "*.{yaml,json}", |path| {
        let folder = tempfile::tempdir().unwrap();
        let target = format!("file:{}", folder.path().join("out").display());
        let name = path.file_name().unwrap();
        let mut render = command();
        let run = Run::of(
            render
                .current_dir(testdata().join("bad"))
                .arg(name)
                .arg("--url")
                .arg(target),
        );
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert_eq!(run.stdout, "");
        assert!(!run.stderr.contains("panicked") && !run.stderr.contains("backtrace"));
        assert!(tree(folder.path()).is_empty());
        insta::assert_snapshot!(run.stderr);
    });
}

#[test]
fn a_huge_config_is_refused_without_being_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.yaml");
    std::fs::File::create(&path).unwrap().set_len(100 << 20).unwrap();
    let run = Run::of(command().arg(&path));
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("is larger than 8 MiB"), "{}", run.stderr);
}

#[test]
fn a_huge_config_on_standard_input_is_refused() {
    let mut child = command()
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        // The reader stops at its limit and goes away.
        let chunk = vec![b'a'; 1 << 20];
        (0..100).try_for_each(|_| stdin.write_all(&chunk)).is_err()
    });
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("<stdin> is larger than 8 MiB"),
        "{}",
        run.stderr
    );
    assert!(writer.join().unwrap());
}

#[test]
fn deep_nesting_is_refused_at_its_limit() {
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", "")] {
        let text = format!("type: {}x{}\n", open.repeat(50_000), close.repeat(50_000));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep.yaml");
        std::fs::write(&path, text).unwrap();
        let run = Run::of(command().arg(&path));
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(
            run.stderr.lines().count() < 12 && run.stderr.len() < 2000,
            "{}",
            run.stderr
        );
    }
}

/// It once took 28 s and 10 GB: nodes were counted, what they hold was not.
#[test]
fn a_long_text_behind_many_aliases_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.yaml");
    let text = format!("a: &a {}\nb: [{}*a]\n", "x".repeat(100_000), "*a,".repeat(20_000));
    std::fs::write(&path, text).unwrap();
    let run = Run::of(command().arg(&path));
    assert!(
        run.code == 1 && run.stderr.contains("aliases expand the text beyond"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_target_that_does_not_fit_is_refused_before_any_network() {
    let config = testdata().join("release.yaml");
    // Nothing listens there: a connection would be exit 5.
    for (url, code) in [
        ("oci://127.0.0.1:1/a/shop-frontend:2.0.0", 1),
        ("oci://127.0.0.1:1/a/other:1.4.2", 1),
        ("oci-layout:x:2.0.0", 1),
        ("oci-layout:x:9", 1),
        ("oci://127.0.0.1:1/A:1.4.2", 2),
        ("docker://x", 2),
        ("oci://127.0.0.1:1/a@sha256:00", 2),
    ] {
        let run = Run::of(
            command()
                .arg(&config)
                .args(["--url", url, "--plain-http", "--retries", "0"]),
        );
        assert_eq!(run.code, code, "{url}: {}", run.stderr);
    }
}

#[test]
fn a_folder_that_is_no_chart_says_where_the_chart_may_be() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("demo")).unwrap();
    std::fs::write(
        folder.path().join("demo/Chart.yaml"),
        "name: demo\nversion: 1.0.0\n",
    )
    .unwrap();
    let run = Run::of(command().args(["package", "."]).current_dir(folder.path()));
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("did you mean ./demo?"), "{}", run.stderr);
}

#[test]
fn a_chart_yaml_that_is_ignored_is_not_called_missing() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0\n"),
        (".helmignore", "*.yaml\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for word in ["digest", "template", "lint", "images"] {
        let run = Run::of(command().arg(word).arg(folder.path()));
        let said = [run.stdout.as_str(), run.stderr.as_str()].concat();
        assert!(
            run.code == 1 && said.contains(".helmignore leaves out Chart.yaml"),
            "{word}: {said}"
        );
    }
}

#[test]
fn a_copy_from_disk_is_sent_to_push() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tgz");
    std::fs::write(&path, "").unwrap();
    let run = Run::of(command().arg("copy").arg(&path).arg("oci-layout:x"));
    assert!(
        run.code == 2
            && run
                .stderr
                .contains("`solar-render push` sends folders and archives"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_damaged_archive_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("demo");
    std::fs::create_dir(&chart).unwrap();
    std::fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
    )
    .unwrap();
    assert_eq!(
        Run::of(command().args(["package", "demo"]).current_dir(folder.path())).code,
        0
    );
    let path = folder.path().join("demo-1.0.0.tgz");
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 1, 10, whole.len() / 2, whole.len() - 8, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let run = Run::of(command().arg("digest").arg(&path));
        assert_eq!(run.code, 1, "{length} of {} bytes: {}", whole.len(), run.stdout);
    }
    let mut flipped = whole.clone();
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    std::fs::write(&path, flipped).unwrap();
    assert_eq!(
        Run::of(command().arg("digest").arg(&path)).code,
        1,
        "a wrong checksum"
    );
}

/// It once read as a file that does not exist.
#[test]
fn a_key_in_a_key_management_service_is_refused_by_name() {
    let chart =
        "oci://127.0.0.1:1/a/b@sha256:0000000000000000000000000000000000000000000000000000000000000000";
    let run = Run::of(command().args(["sign", chart, "--key", "awskms:///alias/charts"]));
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("key management service"), "{}", run.stderr);
}
