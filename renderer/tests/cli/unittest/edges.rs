//! `test` where suites and charts are unusual.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dependency::chart;
use crate::unittest::{test, verdicts};

/// A chart `edge` with files.
pub(super) fn edge(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
    let root = folder.join("edge");
    chart(&root, "edge", "1.0.0", &[]);
    fs::write(root.join("values.yaml"), "mode: \"\"\nlist: [1]\n").unwrap();
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

pub(super) const A: (&str, &str) = (
    "templates/a.yaml",
    "kind: A\nl: [1, 2]\nm: [3]\nzero: -0.0\nset: {{ .Values.deep | toJson }}\n",
);
pub(super) const B: (&str, &str) = (
    "templates/b.yaml",
    r#"{{ if eq .Values.mode "fail" }}{{ fail "set l[0] (must) be a+b; values (foo a|b what? {x} * " }}{{ end -}}
{{ if eq .Values.mode "required" }}{{ required "need it" .Values.none }}{{ end -}}
{{ if eq .Values.mode "nil" }}{{ .Values.none.x.y }}{{ end -}}
{{ if eq .Values.mode "index" }}{{ index .Values.list 9 }}{{ end -}}
{{ if eq .Values.mode "tpl" }}{{ tpl "{{ fail \"in tpl\" }}" . }}{{ end -}}
{{ if eq .Values.mode "helper" }}{{ include "h" . }}{{ end -}}
{{ if eq .Values.mode "break" }}{{ fail "boom\n" }}{{ end -}}
{{ if eq .Values.mode "lines" }}{{ fail "\nvalues:\n two\n" }}{{ end -}}
kind: B
"#,
);
pub(super) const S: (&str, &str) = (
    "templates/s.yaml",
    r#"release: {{ toJson .Release }}
kube: {{ .Capabilities.KubeVersion }}
chart: {{ .Chart.Version }} {{ .Chart.AppVersion }}
values: {{ toJson .Values }}
text: "x \ny"
breaks: " \n \na \r\nb\r\nc"
base64: eCAKeQ==
big: 18446744073709551615
metadata: {name: n, namespace: ""}
m: {a: 1, b: {c: 2}}
l: [1, {x: 2}]
"#,
);
pub(super) const VALUES: (&str, &str) = ("tests/v.yaml", "a: yes\nb: [on, No, 010, 1.0]\n---\nc: 1\n");
pub(super) const TWICE: (&str, &str) = ("tests/twice.yaml", "a: 1\na: 2\n");
pub(super) const HELPER: (&str, &str) = (
    "templates/_h.tpl",
    "{{ define \"h\" }}{{ fail \"in helper\" }}{{ end }}\n",
);
pub(super) const NOTES: (&str, &str) = ("templates/NOTES.txt", "Hello\n");
pub(super) const NOTHING: (&str, &str) = (
    "templates/nothing.yaml",
    "{{ if .Values.never }}kind: C{{ end }}\n",
);

pub(super) const SNAPSHOTS: &str = "tests/__snapshot__/a_test.yaml.snap";

#[test]
fn a_failed_template_is_found_without_its_name() {
    let folder = tempfile::tempdir().unwrap();
    for header in [
        "",
        "templates: ['*']\n",
        "templates: ['**']\n",
        "templates: ['*.yaml']\n",
    ] {
        for (mode, text) in [
            ("required", "need it"),
            ("helper", "in helper"),
            ("tpl", "in tpl"),
        ] {
            let suite = format!(
                "{header}tests:\n- it: t\n  set: {{mode: {mode}}}\n  asserts: [{{failedTemplate: {{errorPattern: {text}}}}}]\n"
            );
            let chart = edge(folder.path(), &[A, B, HELPER, ("tests/a_test.yaml", &suite)]);
            assert_eq!(verdicts(&chart, &[])["t"], "passed", "{suite}");
        }
    }
}

/// It ended with a stack overflow.
#[test]
fn a_key_of_set_with_very_many_steps_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let suite = |steps: usize| {
        let (key, open, close) = (vec!["deep"; steps].join("."), "[".repeat(900), "]".repeat(900));
        format!(
            "templates: [a.yaml]\ntests:\n- it: t\n  set:\n    ? {key}\n    : {open}{close}\n  asserts: [{{isKind: {{of: A}}}}]\n"
        )
    };
    let chart = edge(folder.path(), &[A, ("tests/a_test.yaml", &suite(10_000))]);
    let run = test(&chart, &[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stderr.contains("the key has more than 1000 steps"),
        "{}",
        run.stderr
    );
    fs::write(chart.join("tests/a_test.yaml"), suite(1000)).unwrap();
    let run = test(&chart, &[]);
    assert!(
        [0, 1].contains(&run.code) && run.stdout.contains("1 test:"),
        "{}{}",
        run.stdout,
        run.stderr
    );
}

/// The first assertions vanished, also with `--strict`.
#[test]
fn a_key_that_is_twice_in_a_suite_is_an_error_with_both_lines() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "templates: [a.yaml]\ntests:\n- it: t\n  asserts: [{isKind: {of: B}}]\n  asserts: [{isKind: {of: A}}]\n";
    let chart = edge(folder.path(), &[A, ("tests/a_test.yaml", suite)]);
    let run = test(&chart, &[]);
    assert_eq!(run.code, 1);
    let message = "duplicate key `asserts`: it is already on line 4";
    assert!(run.stderr.contains(message), "{}", run.stderr);
    assert!(run.stderr.contains("a_test.yaml:5:3"), "{}", run.stderr);
}

#[test]
fn words_of_yaml_1_1_are_keys_of_set() {
    let folder = tempfile::tempdir().unwrap();
    let template = (
        "templates/a.yaml",
        "on: {{ .Values.on | toJson }}\nno: {{ .Values.no | toJson }}\n",
    );
    let suite = "templates: [a.yaml]\ntests:\n- it: t\n  set: {on: 1, no: {yes: 2}}\n  asserts:\n  - equal: {path: on, value: 1}\n  - equal: {path: no.yes, value: 2}\n";
    let chart = edge(folder.path(), &[template, ("tests/a_test.yaml", suite)]);
    let run = test(&chart, &[]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
}

/// The results of the last run stayed.
#[test]
fn junit_has_the_mistakes_for_which_no_test_was_run() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "tests:\n- it: t\n  asserts: [{isKin: {of: A}}]\n- it: u\n";
    let chart = edge(folder.path(), &[A, ("tests/a_test.yaml", suite)]);
    let file = folder.path().join("results.xml");
    fs::write(&file, "of the last run").unwrap();
    assert_eq!(test(&chart, &["--junit", file.to_str().unwrap()]).code, 1);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains(
            "<testsuites name=\"solar-render test\" tests=\"2\" failures=\"0\" errors=\"2\" skipped=\"0\">"
        ),
        "{text}"
    );
    assert!(text.contains("a_test.yaml:3:"), "{text}");
    assert!(
        text.contains("<error message=\"tests[0].asserts[0]: there is no assertion `isKin`\">"),
        "{text}"
    );
    fs::write(chart.join("tests/a_test.yaml"), "").unwrap();
    let run = test(&chart, &["--junit", file.to_str().unwrap()]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("a_test.yaml holds no suite"),
        "{}",
        run.stderr
    );
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("there is no test to run")
    );
}

#[test]
fn texts_of_suites_and_templates_are_no_commands() {
    let folder = tempfile::tempdir().unwrap();
    let suite = r#"suite: "s\e[2J"
templates: [a.yaml]
tests:
- it: "t\nPASS forged"
  asserts: [{equal: {path: kind, value: "x\n::warning::y\e[1m"}}, {equal: {path: text, value: "x\n y"}}]
- it: skipped
  skip: {reason: "r\e[3m\n::error::forged"}
  asserts: [{isKind: {of: A}}]
"#;
    let template = ("templates/a.yaml", "kind: A\ntext: \"x\\n::warning::z\\n y\"\n");
    let chart = edge(folder.path(), &[template, ("tests/a_test.yaml", suite)]);
    let run = test(&chart, &[]);
    assert_eq!(run.code, 1);
    assert!(!run.stdout.contains('\u{1b}'), "{:?}", run.stdout);
    for line in run.stdout.lines() {
        let text = line.trim_start();
        assert!(
            !text.starts_with("::") && !text.starts_with("PASS forged"),
            "{line}"
        );
    }
    assert!(run.stdout.contains(r"failed: t\nPASS forged"), "{}", run.stdout);
}

#[test]
fn the_error_of_an_output_is_at_the_template_s_line() {
    let folder = tempfile::tempdir().unwrap();
    let template = (
        "templates/a.yaml",
        "{{- range until 20 }}\nk{{ . }}: 1\n{{- end }}\nbad: {{ .Values.bad }}\n",
    );
    let suite =
        "templates: [a.yaml]\ntests:\n- it: t\n  set: {bad: 'a: b: c'}\n  asserts: [{isKind: {of: A}}]\n";
    let chart = edge(folder.path(), &[template, ("tests/a_test.yaml", suite)]);
    let run = test(&chart, &[]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("templates/a.yaml:4:"), "{}", run.stdout);
    assert!(
        run.stdout.contains("line 22 of what it renders to"),
        "{}",
        run.stdout
    );
}

/// It once ran twice, and wrote its snapshots twice.
#[test]
fn a_chart_that_is_given_in_two_spellings_is_tested_once() {
    let folder = tempfile::tempdir().unwrap();
    let suite = "tests:\n- it: t\n  template: a.yaml\n  asserts: [{isKind: {of: A}}]\n";
    let chart = edge(folder.path(), &[A, ("tests/a_test.yaml", suite)]);
    let run = test(&chart, &[chart.join("templates/..").to_str().unwrap()]);
    assert!(run.stdout.contains("1 suite, 1 test: 1 passed"), "{}", run.stdout);
}
