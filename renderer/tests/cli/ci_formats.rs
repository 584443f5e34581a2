//! `lint` and `test` in the formats of CI systems.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{Run, command};

const SUITE: &str = "\
suite: shop
templates: [templates/a.yaml]
tests:
- it: is blue
  asserts:
  - equal: {path: data.color, value: blue}
- it: is a map
  asserts:
  - isKind: {of: ConfigMap}
- it: fails
  set: {color: none}
  asserts:
  - isKind: {of: ConfigMap}
- it: has no data
  asserts:
  - notExists: {path: data.none}
  - exists: {path: data.size}
- it: has two documents
  asserts:
  - hasDocuments: {count: 2}
";

/// A chart with a suite of which two tests fail and one can't be rendered, and with a value that nothing defines.
fn shop(folder: &Path) {
    let template = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata:\n  {{- if eq .Values.color \"none\" }}{{ fail \"no color\" }}{{ end }}\n  color: {{ .Values.color }}\n  other: {{ .Values.colour | quote }}\n";
    let files = [
        ("Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n"),
        ("values.yaml", "color: red\n"),
        ("templates/a.yaml", template),
        ("tests/a_test.yaml", SUITE),
    ];
    for (path, text) in files {
        let path = folder.join("shop").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn printed(words: &[&str], format: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    shop(folder.path());
    fs::create_dir(folder.path().join("empty")).unwrap();
    let mut command = command();
    // There is nothing twice: the annotations are on standard output.
    command.current_dir(folder.path()).env("GITHUB_ACTIONS", "true");
    Run::of(command.args(words).args(["-o", format]))
}

fn places(words: &[&str]) -> Vec<String> {
    let run = printed(words, "sarif");
    assert_eq!(run.code, 1, "{}", run.stderr);
    let sarif: Value = serde_json::from_str(&run.stdout).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let place = |one: &Value| {
        let place = &one["locations"][0]["physicalLocation"];
        let (file, line) = (&place["artifactLocation"]["uri"], &place["region"]["startLine"]);
        format!("{} {} {}:{line}", one["level"], one["ruleId"], file).replace('"', "")
    };
    results.iter().map(place).collect()
}

#[test]
fn tests_that_do_not_pass_are_at_the_line_of_the_template_or_of_the_suite() {
    assert_eq!(
        places(&["test", "shop"]),
        [
            "error test-failure shop/templates/a.yaml:6",
            "error test-error shop/templates/a.yaml:5",
            "error test-failure shop/templates/a.yaml:1",
            "error test-failure shop/tests/a_test.yaml:20",
        ]
    );
    insta::assert_snapshot!("test_github", printed(&["test", "shop"], "github").stdout);
}

#[test]
fn findings_of_lint_are_at_their_lines_and_warnings_of_ours_do_not_fail() {
    assert_eq!(
        places(&["lint", "shop", "empty"]),
        [
            "warning undefined-value shop/templates/a.yaml:7",
            "error chart empty/Chart.yaml:1",
        ]
    );
    insta::assert_snapshot!(
        "lint_github",
        printed(&["lint", "shop", "empty"], "github").stdout
    );
    insta::assert_snapshot!("lint_junit", printed(&["lint", "shop", "empty"], "junit").stdout);
    let good = printed(&["lint", "shop"], "gitlab");
    assert_eq!((good.code, good.stderr.as_str()), (0, ""));
    let gitlab: Value = serde_json::from_str(&good.stdout).unwrap();
    assert_eq!(gitlab[0]["check_name"], "undefined-value");
}

#[test]
fn junit_of_tests_is_that_of_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    shop(folder.path());
    let mut both = command();
    both.current_dir(folder.path())
        .args(["test", "shop", "--junit", "a.xml", "-o", "junit"]);
    let run = Run::of(&mut both);
    assert_eq!(
        run.stdout,
        fs::read_to_string(folder.path().join("a.xml")).unwrap()
    );
    assert!(run.stdout.contains("<failure"), "{}", run.stdout);
}

#[test]
fn the_table_of_rules_has_no_such_format() {
    let run = Run::of(command().args(["lint", "--rules", "-o", "sarif"]));
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
}
