//! `test`: suites of charts, and helm-unittest over its own repository's as the oracle.

mod ci;
mod edges;
mod peer;
mod snapshots;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testbed::{Tool, helm_unittest_charts};

use crate::dependency::chart;
use crate::{Run, command};

/// A chart `shop` with a suite.
fn shop(folder: &Path, suite: &str) -> PathBuf {
    let shop = folder.join("shop");
    chart(&shop, "shop", "1.0.0", &[]);
    fs::create_dir_all(shop.join("tests")).unwrap();
    let files = [
        ("values.yaml", "color: red\nports: [80, 443]\n"),
        (
            "templates/_labels.tpl",
            "{{ define \"labels\" -}}\nteam: a\ncolor: {{ .Values.color }}\n{{- end }}\n",
        ),
        (
            "templates/a.yaml",
            "kind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    {{- include \"labels\" . | nindent 4 }}\ndata:\n  color: {{ .Values.color }}\n  kube: {{ .Capabilities.KubeVersion }}\n",
        ),
        (
            "templates/b.yaml",
            "kind: Service\nports: {{ .Values.ports | toJson }}\n{{ if eq .Values.color \"none\" }}{{ fail \"no color\" }}{{ end }}\n",
        ),
        (
            "templates/c.yaml",
            "secret: {{ (lookup \"v1\" \"Secret\" \"n\" \"s\").data | toJson }}\nall: {{ len (default list (lookup \"v1\" \"Secret\" \"\" \"\").items) }}\n",
        ),
        ("tests/a_test.yaml", suite),
    ];
    for (path, text) in files {
        fs::write(shop.join(path), text).unwrap();
    }
    shop
}

pub(crate) fn test(chart: &Path, more: &[&str]) -> Run {
    let mut command = command();
    command.arg("test").arg(chart).args(more);
    Run::of(&mut command)
}

/// The verdicts of a run, by the test's name.
pub(crate) fn verdicts(chart: &Path, more: &[&str]) -> BTreeMap<String, String> {
    let run = test(chart, &[&["-o", "json"], more].concat());
    let json: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr));
    let suites = json["suites"]
        .as_array()
        .unwrap_or_else(|| panic!("{json}"))
        .iter();
    let tests = suites.flat_map(|suite| suite["tests"].as_array().unwrap());
    tests
        .map(|test| {
            let text = |key: &str| test[key].as_str().unwrap().to_owned();
            (text("name"), text("verdict"))
        })
        .collect()
}

const SUITE: &str = "\
suite: shop
templates: [a.yaml]
tests:
- it: passes
  asserts:
  - equal: {path: data.color, value: red}
- it: fails
  set: {color: blue}
  asserts:
  - equal: {path: metadata.labels.color, value: red}
";

#[test]
fn a_failure_shows_the_diff_and_the_template_s_line() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path(), SUITE);
    let run = test(&shop, &[]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let shown = run.stdout.replace(&shop.display().to_string(), "shop");
    let lines = [
        "FAIL  shop shop/tests/a_test.yaml",
        "  failed: fails",
        "    equal metadata.labels.color: expected to equal (shop/templates/a.yaml)",
        "      asserted at shop/tests/a_test.yaml:10:5",
        "      --> shop/templates/_labels.tpl:3:1",
        "          included as \"labels\" at shop/templates/a.yaml:5:9",
        "      - red",
        "      + blue",
        "1 suite, 2 tests: 1 passed, 1 failed",
    ];
    for line in lines {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    assert!(run.stderr.contains("1 of 2 tests do not pass"), "{}", run.stderr);
    let only = test(&shop, &["-k", "passes"]);
    assert_eq!(only.code, 0, "{}", only.stderr);
    assert_eq!(test(&shop, &["-k", "nothing"]).code, 2);
}

#[test]
fn each_test_has_its_own_values_cluster_and_versions() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "\
tests:
- it: defaults
  template: a.yaml
  asserts: [{equal: {path: data.kube, value: v1.20.0}}]
- it: version
  template: a.yaml
  capabilities: {minorVersion: 33}
  asserts: [{equal: {path: data.kube, value: v1.33.0}}]
- it: failure
  set: {color: none}
  template: b.yaml
  asserts: [{failedTemplate: {errorMessage: no color}}]
- it: unexpected failure
  set: {color: none}
  template: b.yaml
  asserts: [{isKind: {of: Service}}]
- it: objects
  template: c.yaml
  kubernetesProvider:
    objects:
    - {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: n}, data: {a: eA==}}
    - {apiVersion: v1, kind: Secret, metadata: {name: t, namespace: m}}
  asserts:
  - equal: {path: secret.a, value: eA==}
  - equal: {path: all, value: 2}
- it: lists
  set: {'ports[1]': 8443}
  template: b.yaml
  asserts:
  - contains: {path: ports, content: 8443}
  - notContains: {path: ports, content: 80}
- it: skipped
  skip: {reason: later}
  asserts: [{isKind: {of: X}}]
- it: another program
  postRenderer: {cmd: cat}
  asserts: [{isKind: {of: X}}]
";
    let shop = shop(folder.path(), suite);
    let found = verdicts(&shop, &[]);
    let expected = [
        ("defaults", "passed"),
        ("version", "passed"),
        ("failure", "passed"),
        ("unexpected failure", "errored"),
        ("objects", "passed"),
        ("lists", "passed"),
        ("skipped", "skipped"),
        ("another program", "errored"),
    ];
    for (name, verdict) in expected {
        assert_eq!(found[name], verdict, "{name}");
    }
}

#[test]
fn snapshots_are_written_compared_and_updated() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "\
templates: [b.yaml]
tests:
- it: whole
  asserts:
  - matchSnapshot: {}
  - matchSnapshot: {path: 'ports[*]'}
";
    let shop = shop(folder.path(), suite);
    let file = shop.join("tests/__snapshot__/a_test.yaml.snap");
    assert_eq!(test(&shop, &[]).code, 0);
    let first = "whole:\n  1: |\n    kind: Service\n    ports:\n      - 80\n      - 443\n  2: |\n    80\n  3: |\n    443\n";
    assert_eq!(fs::read_to_string(&file).unwrap(), first);
    fs::write(shop.join("values.yaml"), "color: red\nports: [80]\n").unwrap();
    let changed = test(&shop, &[]);
    assert_eq!(changed.code, 1, "{}", changed.stdout);
    assert!(changed.stderr.contains("--update"), "{}", changed.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), first);
    assert_eq!(test(&shop, &["--update"]).code, 0);
    let second = "whole:\n  1: |\n    kind: Service\n    ports:\n      - 80\n  2: |\n    80\n";
    assert_eq!(fs::read_to_string(&file).unwrap(), second);
}

/// The results were once lost with the snapshots.
#[test]
fn results_are_printed_when_snapshots_and_junit_cant_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "\
templates: [b.yaml]
tests:
- it: has a snapshot
  asserts:
  - matchSnapshot: {}
- it: fails
  asserts:
  - isType: {path: ports, type: list}
";
    let shop = shop(folder.path(), suite);
    // Nothing can be written below a file.
    fs::write(shop.join("tests/__snapshot__"), "").unwrap();
    let run = test(
        &shop,
        &["--junit", shop.join("Chart.yaml/x.xml").to_str().unwrap()],
    );
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("a_test.yaml.snap"), "{}", run.stderr);
    assert!(run.stderr.contains("x.xml"), "{}", run.stderr);
    assert!(
        run.stdout.contains("2 tests: 1 passed, 1 failed"),
        "{}",
        run.stdout
    );
    let type_of = "expected to be of type; it is of type '[]interface {}'";
    assert!(run.stdout.contains(type_of), "{}", run.stdout);
    let passing = test(&shop, &["-k", "has a snapshot"]);
    assert_eq!(passing.code, 5, "{}", passing.stderr);
    assert!(passing.stdout.contains("1 test: 1 passed"), "{}", passing.stdout);
}

#[test]
fn mistakes_in_suites_are_reported_together_before_any_test() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "\
tests:
- it: one
  asserts:
  - equals: {path: a}
- it: two
  assert: []
- it: three
  set: {'a[x]': 1}
  asserts:
  - isKind: {of: 1}
";
    let shop = shop(folder.path(), suite);
    let run = test(&shop, &[]);
    assert_eq!(run.code, 1);
    for words in [
        "there is no assertion `equals`",
        "did you mean `equal`?",
        "tests[1] has no `asserts`",
        "`[x]` is no index",
        "must be a string",
    ] {
        assert!(run.stderr.contains(words), "{words}\n{}", run.stderr);
    }
    let misspelt = SUITE.replace("set:", "sett:");
    let shop = self::shop(folder.path(), &misspelt);
    let run = test(&shop, &["-k", "passes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("did you mean `set`?"), "{}", run.stderr);
    assert_eq!(test(&shop, &["--strict"]).code, 1);
}

#[test]
fn junit_has_each_test_and_its_failures() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path(), SUITE);
    let file = folder.path().join("results.xml");
    test(&shop, &["--junit", file.to_str().unwrap()]);
    let text = fs::read_to_string(file).unwrap();
    for part in [
        "<testsuites name=\"solar-render test\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\">",
        "<testcase name=\"passes\" classname=\"shop\"/>",
        "<failure message=\"equal metadata.labels.color: expected to equal (shop/templates/a.yaml)\">",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// The charts of helm-unittest that are not compared, and why.
const OTHERS: &[(&str, &str)] = &[
    ("with-post-renderer", "postRenderer is refused"),
    (
        "invalidbasic",
        "a wrong suite file ends helm-unittest's whole run without results",
    ),
    (
        "with-samenamesubsubcharts",
        "helm-unittest passes over the suites of subcharts that have their parent's name",
    ),
];

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => fs::write(&target, fs::read(entry.path()).unwrap()).unwrap(),
        }
    }
}

/// The snapshot files below a folder, by path.
fn snapshots(folder: &Path) -> BTreeMap<PathBuf, String> {
    let pattern = folder.join("**/*.snap");
    let found = glob::glob(pattern.to_str().unwrap()).unwrap().flatten();
    let path = |path: &Path| path.strip_prefix(folder).unwrap().to_owned();
    found
        .map(|found| (path(&found), fs::read_to_string(&found).unwrap()))
        .collect()
}

/// A name without XML's escapes, of which Go writes others.
fn unescaped(name: &str) -> String {
    let pairs = [
        ("&#39;", "'"),
        ("&#34;", "\""),
        ("&quot;", "\""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    pairs
        .iter()
        .fold(name.to_owned(), |name, (escape, char)| name.replace(escape, char))
}

/// The tests by suite file and name that passed, and those that did not, in JUnit's format.
pub(crate) fn junit_verdicts(text: &str) -> Vec<(String, bool)> {
    let cases = text.split("<testcase").skip(1);
    let verdicts = cases.map(|case| {
        let name = case.split(" name=\"").nth(1).unwrap().split('"').next().unwrap();
        (
            unescaped(name),
            !case.contains("<failure") && !case.contains("<error"),
        )
    });
    let mut all: Vec<_> = verdicts.collect();
    all.sort();
    all
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_suites_of_helm_unittest_have_its_verdicts_and_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let charts = helm_unittest_charts(folder.path());
    let mut compared = 0;
    for entry in fs::read_dir(&charts)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir())
    {
        let name = entry.file_name().into_string().unwrap();
        for files in ["tests/**/*_test.yaml", "tests_failed/*_test.yaml"] {
            if OTHERS.iter().any(|(chart, _)| *chart == name) {
                continue;
            }
            let [theirs, ours] = ["theirs", "ours"].map(|side| {
                let to = folder.path().join(side).join(&name);
                copy(&entry.path(), &to);
                to
            });
            let [their_file, our_file] = ["theirs.xml", "ours.xml"].map(|file| folder.path().join(file));
            let mut peer = Tool::HelmUnittest.command(folder.path());
            peer.current_dir(theirs.parent().unwrap());
            peer.args(["-f", files, "-t", "JUnit", "-o"])
                .arg(&their_file)
                .arg(&name);
            let peer = peer.output().unwrap();
            let own = test(&ours, &["-f", files, "--junit", our_file.to_str().unwrap()]);
            let Ok(text) = fs::read_to_string(&their_file) else {
                continue;
            };
            let expected = junit_verdicts(&text);
            if expected.is_empty() {
                continue;
            }
            let found = junit_verdicts(
                &fs::read_to_string(&our_file).unwrap_or_else(|_| panic!("{name}: {}", own.stderr)),
            );
            let shown = String::from_utf8_lossy(&peer.stdout);
            assert_eq!(found, expected, "{name} {files}\n{}\n{shown}", own.stdout);
            assert_eq!(snapshots(&ours), snapshots(&theirs), "{name} {files}");
            compared += expected.len();
            fs::remove_file(&their_file).unwrap();
            let _ = fs::remove_file(&our_file);
        }
    }
    assert!(compared > 150, "{compared}");
}
