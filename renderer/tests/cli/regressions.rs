//! What once went wrong, or was left out, around registries; each test says what it was.

use std::fs;
use std::path::Path;

use testbed::Registry;

use crate::{Run, command, tree};

fn chart(folder: &Path, name: &str, version: &str, salt: &str) {
    let chart = folder.join(name);
    fs::create_dir_all(&chart).unwrap();
    fs::write(
        chart.join("Chart.yaml"),
        format!("apiVersion: v2\nname: {name}\nversion: {version}\n"),
    )
    .unwrap();
    fs::write(chart.join("salt"), salt).unwrap();
}

fn run(folder: &Path, words: &[&str]) -> Run {
    Run::of(command().current_dir(folder).args(words))
}

fn push(folder: &Path, name: &str, version: &str, host: &str) {
    chart(folder, name, version, "");
    let pushed = run(
        folder,
        &["push", name, &format!("oci://{host}/charts"), "--plain-http"],
    );
    assert_eq!(pushed.code, 0, "{}", pushed.stderr);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_pull_takes_ranges_and_several_charts() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    for version in ["1.0.0", "1.4.0", "1.5.0-rc.1", "2.0.0"] {
        push(folder.path(), "app", version, registry.host());
        push(folder.path(), "web", version, registry.host());
    }
    let of = |name: &str| format!("oci://{}/charts/{name}", registry.host());
    for (range, expected) in [
        ("^1", "1.4.0"),
        (">=1.4.1-0 <2", "1.5.0-rc.1"),
        ("*", "2.0.0"),
        ("1.x || 7", "1.4.0"),
    ] {
        let pulled = run(
            folder.path(),
            &[
                "pull",
                &of("app"),
                "--version",
                range,
                "--plain-http",
                "-o",
                "json",
                "-d",
                "out",
            ],
        );
        assert_eq!(pulled.code, 0, "{}", pulled.stderr);
        assert!(
            pulled.json()["reference"].as_str().unwrap().ends_with(expected),
            "{range}"
        );
    }
    let none = run(
        folder.path(),
        &["pull", &of("app"), "--version", "^3", "--plain-http"],
    );
    assert_eq!(none.code, 4, "{}", none.stderr);
    for words in [["1.0.0", "one of two"], ["^1", "exact"]] {
        let both = run(
            folder.path(),
            &[
                "pull",
                &format!("{}:2.0.0", of("app")),
                "--version",
                words[0],
                "--plain-http",
            ],
        );
        assert_eq!(both.code, 2, "{}", both.stderr);
    }
    assert_eq!(
        run(
            folder.path(),
            &["pull", &of("app"), "--version", "no range", "--plain-http"]
        )
        .code,
        2
    );
    let several = run(
        folder.path(),
        &[
            "pull",
            &of("app"),
            &of("web"),
            &of("none"),
            "--plain-http",
            "-o",
            "json",
            "-d",
            "several",
        ],
    );
    let results = several.json()["results"].clone();
    assert_eq!(
        (&results[0]["outcome"], &results[1]["outcome"]),
        (&"pulled".into(), &"pulled".into())
    );
    assert!(
        several.code == 4 && results[2]["error"]["class"] == "refused",
        "{}",
        several.stderr
    );
    assert_eq!(
        tree(&folder.path().join("several")).len(),
        2,
        "one that fails stops no other"
    );
}

#[test]
fn a_layout_that_is_not_there_is_said_to_be_missing() {
    let folder = tempfile::tempdir().unwrap();
    let digest = format!("oci-layout:missing@sha256:{}", "a".repeat(64));
    for words in [
        ["tags", "oci-layout:missing"],
        ["pull", "oci-layout:missing:1.0.0"],
        ["pull", &digest],
    ] {
        let found = run(folder.path(), &words);
        assert_eq!(found.code, 2, "{}", found.stderr);
        assert!(
            found.stderr.contains("the layout missing does not exist"),
            "{}",
            found.stderr
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_conflict_at_another_tag_names_that_tag() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let target = format!("oci://{}/charts", registry.host());
    let push = |version, salt| {
        chart(folder.path(), "app", version, salt);
        let words = [
            "push",
            "app",
            &target,
            "--plain-http",
            "--tag",
            "latest",
            "-o",
            "json",
        ];
        run(folder.path(), &words)
    };
    let first = push("1.0.0", "one").json();
    let second = push("2.0.0", "two");
    assert_eq!(second.code, 3);
    let second = second.json();
    assert_eq!(second["existingDigest"], first["digest"]);
    assert!(
        second["reference"].as_str().unwrap().ends_with("/app:latest"),
        "{second}"
    );
}

#[test]
fn a_result_that_is_lost_is_no_success_for_who_reads_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    chart(folder.path(), "app", "1.0.0", "");
    for words in [&["digest", "app"][..], &["package", "app", "app"]] {
        let words = [words, &["-o", "json", "--result-file", "no/such/folder"]].concat();
        let lost = run(folder.path(), &words);
        assert_eq!(lost.code, 5, "{}", lost.stderr);
        assert_eq!(lost.json()["error"]["class"], "io", "{}", lost.stdout);
    }
}

#[test]
fn completions_and_manual_pages_are_results_too() {
    let folder = tempfile::tempdir().unwrap();
    let script = run(folder.path(), &["completion", "bash", "-o", "json"]).json();
    assert!(script["shell"] == "bash" && script["script"].as_str().unwrap().contains("solar-render"));
    let pages = run(
        folder.path(),
        &["man", "pages", "-o", "json", "--result-file", "r"],
    )
    .json();
    assert_eq!(pages["file"], "pages");
    assert!(folder.path().join("r").exists() && folder.path().join("pages").is_dir());
}

#[test]
fn patterns_that_no_shell_has_expanded_are_expanded() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["charts/a1", "charts/a2", "charts/b"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        let last = name.rsplit('/').next().unwrap();
        let text = format!("apiVersion: v2\nname: {last}\nversion: 1.0.0\n");
        fs::write(folder.path().join(name).join("Chart.yaml"), text).unwrap();
    }
    let published = run(folder.path(), &["publish", "charts/a*", "file:out", "-o", "json"]);
    assert_eq!(published.code, 0, "{}", published.stderr);
    assert_eq!(published.json()["results"].as_array().unwrap().len(), 2);
    let none = run(folder.path(), &["publish", "charts/x?", "file:out"]);
    assert!(
        none.code == 2 && none.stderr.contains("nothing matches"),
        "{}",
        none.stderr
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_archive_with_a_file_where_a_folder_must_be_is_a_wrong_chart_and_no_fault_of_the_disk() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    let yaml = "apiVersion: v2\nname: app\nversion: 1.0.0\n";
    for (path, text) in [("app/Chart.yaml", yaml), ("app/a", "x"), ("app/a/b", "y")] {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    fs::write(
        folder.path().join("app-1.0.0.tgz"),
        archive.into_inner().unwrap().finish().unwrap(),
    )
    .unwrap();
    let target = format!("oci://{}/charts", registry.host());
    assert_eq!(
        run(folder.path(), &["push", "app-1.0.0.tgz", &target, "--plain-http"]).code,
        0
    );
    let pulled = run(
        folder.path(),
        &[
            "pull",
            &format!("{target}/app"),
            "--plain-http",
            "--untar",
            "-o",
            "json",
        ],
    );
    assert_eq!(
        (pulled.code, &pulled.json()["error"]["class"]),
        (1, &"chart".into()),
        "{}",
        pulled.stderr
    );
    assert!(!folder.path().join("app").exists());
}

#[test]
fn help_says_of_login_what_login_does() {
    let folder = tempfile::tempdir().unwrap();
    let help = run(folder.path(), &["login", "--help"]).stdout;
    assert!(
        help.contains("The credentials file to write") && !help.contains("else the credential files"),
        "{help}"
    );
    let pull = run(folder.path(), &["pull", "--help"]).stdout;
    assert!(pull.contains("relative to the destination"), "{pull}");
    let copy = run(folder.path(), &["copy", "--help"]).stdout;
    let words: Vec<&str> = copy.split_whitespace().collect();
    assert!(words.join(" ").contains("Log in to each"), "{copy}");
}
