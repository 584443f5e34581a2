//! `test --ci`: renderings beside their snapshots.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::test;
use crate::dependency::chart;

/// A chart with two values files for tests, and none of suites.
fn shop(folder: &Path) -> PathBuf {
    let shop = folder.join("shop");
    chart(&shop, "shop", "1.0.0", &[]);
    fs::create_dir(shop.join("ci")).unwrap();
    let files = [
        ("values.yaml", "color: red\nmore: false\n"),
        ("ci/a-values.yaml", "more: true\n"),
        ("ci/b-values.yaml", "color: blue\n"),
        (
            "templates/_color.tpl",
            "{{ define \"color\" }}color: {{ .Values.color }}\n{{ end }}",
        ),
        (
            "templates/x.yaml",
            "kind: A\n{{ include \"color\" . }}password: {{ randAlphaNum 8 }}\ntime: {{ now | unixEpoch }}\n",
        ),
        (
            "templates/y.yaml",
            "{{ if .Values.more }}kind: B\n---\nkind: C\nmore: 1\n{{ end }}",
        ),
    ];
    for (path, text) in files {
        fs::write(shop.join(path), text).unwrap();
    }
    shop
}

fn snapshots(shop: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(shop.join("ci/__snapshot__")) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn renderings_with_ci_values_are_compared_with_their_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path());
    // Without the flag nothing is rendered, and nothing written.
    assert_eq!(test(&shop, &[]).code, 2);
    assert!(snapshots(&shop).is_empty());
    let first = test(&shop, &["--ci"]);
    assert_eq!((first.code, &*first.stderr), (0, ""), "{}", first.stdout);
    assert!(
        first
            .stdout
            .contains("2 suites, 2 tests: 2 passed; snapshots: 2 new"),
        "{}",
        first.stdout
    );
    assert_eq!(snapshots(&shop), ["a-values.yaml.snap", "b-values.yaml.snap"]);
    let stored = fs::read_to_string(shop.join("ci/__snapshot__/b-values.yaml.snap")).unwrap();
    assert!(
        stored.starts_with("---\n# Source: shop/templates/x.yaml\nkind: A\ncolor: blue\n"),
        "{stored}"
    );
    let again = test(&shop, &["--ci"]);
    assert!(
        again.code == 0 && again.stdout.contains("snapshots: 2 same"),
        "{}",
        again.stdout
    );

    fs::write(shop.join("values.yaml"), "color: green\nmore: false\n").unwrap();
    let changed = test(&shop, &["--ci"]);
    assert_eq!(changed.code, 1, "{}", changed.stdout);
    let shown = changed.stdout.replace(&shop.display().to_string(), "shop");
    for line in [
        "FAIL  renderings shop/ci/a-values.yaml",
        "  failed: ci/a-values.yaml",
        "    matchSnapshot: expected to be shop/ci/__snapshot__/a-values.yaml.snap (shop/templates/x.yaml)",
        "      --> shop/templates/_color.tpl:1:2",
        "      - color: red",
        "      + color: green",
        "PASS  renderings shop/ci/b-values.yaml",
        "2 suites, 2 tests: 1 passed, 1 failed; snapshots: 1 same, 1 changed",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    assert!(
        changed.stderr.contains("--update writes the snapshots"),
        "{}",
        changed.stderr
    );
    // The second manifest of a template.
    let template = "{{ if .Values.more }}kind: B\n---\nkind: C\nmore: 2\n{{ end }}";
    fs::write(shop.join("templates/y.yaml"), template).unwrap();
    let changed = test(&shop, &["--ci", "-k", "a-values"]);
    assert!(
        changed.stdout.contains("templates/y.yaml:4:1"),
        "{}",
        changed.stdout
    );
    let updated = test(&shop, &["--ci", "--update"]);
    assert!(
        updated.code == 0 && updated.stdout.contains("1 same, 1 updated"),
        "{}",
        updated.stdout
    );
    assert_eq!(test(&shop, &["--ci"]).code, 0);
}

#[test]
fn a_chart_without_ci_files_is_rendered_with_its_own_values() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path());
    fs::remove_dir_all(shop.join("ci")).unwrap();
    let run = test(&shop, &["--ci"]);
    assert!(
        run.code == 0 && run.stdout.contains("1 new"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    assert_eq!(snapshots(&shop), ["values.yaml.snap"]);
}

#[test]
fn snapshots_without_a_values_file_are_reported_and_removed_by_update() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path());
    assert_eq!(test(&shop, &["--ci"]).code, 0);
    fs::remove_file(shop.join("ci/b-values.yaml")).unwrap();
    let run = test(&shop, &["--ci"]);
    assert!(
        run.code == 0
            && run
                .stderr
                .contains("b-values.yaml.snap has no values file any more"),
        "{}",
        run.stderr
    );
    assert_eq!(snapshots(&shop).len(), 2);
    // Of a run of some tests nobody knows which are used.
    assert_eq!(test(&shop, &["--ci", "-k", "a-values"]).stderr, "");
    let run = test(&shop, &["--ci", "--update"]);
    assert!(
        run.code == 0 && run.stdout.contains("1 removed"),
        "{}",
        run.stdout
    );
    assert_eq!(snapshots(&shop), ["a-values.yaml.snap"]);
}

#[test]
fn json_and_junit_have_the_renderings_and_what_can_t_be_rendered() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path());
    fs::write(shop.join("ci/c-values.yaml"), "a: [\n").unwrap();
    fs::write(
        shop.join("templates/z.yaml"),
        "{{ if eq .Values.color \"blue\" }}{{ fail \"no blue\" }}{{ end }}",
    )
    .unwrap();
    let junit = folder.path().join("out.xml");
    let run = test(&shop, &["--ci", "-o", "json", "--junit", junit.to_str().unwrap()]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    let suites = json["suites"].as_array().unwrap();
    let verdicts: Vec<&str> = suites
        .iter()
        .map(|suite| suite["tests"][0]["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["passed", "errored", "errored"], "{json}");
    assert_eq!(json["total"]["snapshots"]["new"], 1, "{json}");
    let xml = fs::read_to_string(junit).unwrap();
    assert!(
        xml.contains("ci/b-values.yaml") && xml.contains("no blue"),
        "{xml}"
    );
    assert_eq!(snapshots(&shop), ["a-values.yaml.snap"]);
}

#[test]
fn a_snapshot_folder_that_leads_out_of_the_chart_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path());
    fs::create_dir(folder.path().join("outside")).unwrap();
    std::os::unix::fs::symlink("../../outside", shop.join("ci/__snapshot__")).unwrap();
    // The chart is loaded without the folder, which would be refused else.
    fs::write(shop.join(".helmignore"), "ci/\n").unwrap();
    let run = test(&shop, &["--ci"]);
    assert!(
        run.code == 1 && run.stderr.contains("is a link to outside of the chart"),
        "{}",
        run.stderr
    );
    assert_eq!(fs::read_dir(folder.path().join("outside")).unwrap().count(), 0);
}

#[test]
fn snapshots_that_can_t_be_written_take_no_results_away() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path());
    fs::write(shop.join("ci/__snapshot__"), "a file").unwrap();
    let run = test(&shop, &["--ci"]);
    assert_eq!(run.code, 5, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.contains("2 suites, 2 tests: 2 passed\n"),
        "{}",
        run.stdout
    );
    assert!(run.stderr.contains("can't write"), "{}", run.stderr);
}
